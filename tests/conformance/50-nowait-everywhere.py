"""no-wait: the effect without the answer; an error still closes."""
from raw import *


@case
def declaring_binding_and_deleting_without_answers():
    conn = connect()
    source, target, queue = unique('x'), unique('x'), unique('q')
    for exchange in (source, target):
        conn.method(1, 'exchange.declare', exchange=exchange, type='fanout', nowait=True)
    conn.method(1, 'queue.declare', queue=queue, exclusive=True, nowait=True)
    conn.method(1, 'queue.bind', queue=queue, exchange=target, nowait=True)
    conn.method(1, 'exchange.bind', destination=target, source=source, nowait=True)
    conn.publish(1, source, '', 'bound')
    equal(conn.drain(1, queue), [b'bound'], 'queue')
    conn.method(1, 'exchange.unbind', destination=target, source=source, nowait=True)
    conn.publish(1, source, '', 'unbound')
    conn.publish(1, target, '', 'purged')
    conn.method(1, 'queue.purge', queue=queue, nowait=True)
    equal(conn.drain(1, queue), [], 'queue')
    conn.method(1, 'queue.delete', queue=queue, nowait=True)
    refuse(conn, 404, "NOT_FOUND - no queue '%s' in vhost '/'" % queue, 'queue.declare',
           queue=queue, passive=True)
    for exchange in (source, target):
        conn.method(1, 'exchange.delete', exchange=exchange, nowait=True)
        refuse(conn, 404, "NOT_FOUND - no exchange '%s' in vhost '/'" % exchange,
               'exchange.declare', exchange=exchange, passive=True)


@case
def passive_declares_without_answers():
    conn = connect()
    queue = conn.queue(1)
    conn.method(1, 'queue.declare', queue=queue, passive=True, nowait=True)
    conn.method(1, 'exchange.declare', exchange='amq.direct', passive=True, nowait=True)
    conn.rpc(1, 'basic.qos')


@case
def consuming_and_cancelling_without_answers():
    conn = connect()
    queue = conn.queue(1)
    conn.method(1, 'basic.consume', queue=queue, consumer_tag='t', no_ack=True, nowait=True)
    conn.publish(1, '', queue, 'x')
    conn.deliver(1, 'x', consumer_tag='t')
    conn.method(1, 'basic.cancel', consumer_tag='t', nowait=True)
    conn.fence(1, queue)
    conn.publish(1, '', queue, 'y')
    conn.counts(1, queue, 1, 0)
    conn.method(1, 'basic.cancel', consumer_tag='unknown', nowait=True)
    conn.rpc(1, 'basic.qos')


@case
def a_server_named_queue_without_an_answer_is_the_last_one():
    conn = connect()
    conn.method(1, 'queue.declare', exclusive=True, nowait=True)
    conn.method(1, 'queue.bind', exchange='amq.direct', routing_key=unique('k'), nowait=True)
    equal(conn.rpc(1, 'queue.purge').message_count, 0, 'purged')


@case
def confirm_select_without_an_answer():
    conn = connect()
    conn.method(1, 'confirm.select', nowait=True)
    conn.publish(1, '', 'conf.nowhere', 'x')
    conn.expect('basic.ack', 1, delivery_tag=1)


@case
def errors_are_answered_all_the_same():
    conn = connect()
    refuse(conn, 403, "ACCESS_REFUSED - queue name 'amq.x' contains reserved prefix 'amq.*'",
           'queue.declare', queue='amq.x', nowait=True)
    refuse(conn, 404, "NOT_FOUND - no queue 'nope' in vhost '/'", 'basic.consume', queue='nope',
           consumer_tag='t', nowait=True)
    refuse(conn, 404, "NOT_FOUND - no exchange 'nope' in vhost '/'", 'exchange.bind',
           destination='amq.direct', source='nope', nowait=True)
    refuse(conn, 404, "NOT_FOUND - no queue 'nope' in vhost '/'", 'queue.purge', queue='nope',
           nowait=True)


@case
def pipelined_methods_are_answered_in_order():
    conn = connect()
    queue, out = unique('q'), b''
    names = ['queue.declare', 'queue.bind', 'queue.purge', 'basic.qos', 'queue.unbind',
             'confirm.select', 'queue.delete'] * 30
    for name in names:
        fields = {'queue': queue} if name.startswith('queue.') else {}
        if name == 'queue.declare':
            fields['exclusive'] = True
        if 'bind' in name:
            fields['exchange'] = 'amq.direct'
        out += frame(METHOD, 1, encode_method(name, **fields))
    conn.send(out)
    for name in names:
        conn.expect(name + '-ok', 1)


run_cases()
