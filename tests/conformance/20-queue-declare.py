"""queue.declare: names, equivalence with exact texts, passive, exclusive, auto-delete."""
import re

from raw import *

NO_QUEUE = "NOT_FOUND - no queue '%s' in vhost '/'"
NO_LAST = 'NOT_FOUND - no previously declared queue'


def other(queue, arg, received, current):
    return ("PRECONDITION_FAILED - inequivalent arg '%s' for queue '%s' in vhost '/': received %s "
            "but current is %s" % (arg, queue, received, current))


@case
def declaring_again_alike_returns_the_counts():
    conn = connect()
    queue = unique('q')
    conn.rpc(1, 'confirm.select')  # on RabbitMQ a declare may overtake a publish
    for n in range(3):
        got = conn.rpc(1, 'queue.declare', queue=queue, auto_delete=True)
        equal((got.queue, got.message_count, got.consumer_count), (queue, n, 0), 'declare-ok')
        conn.publish(1, '', queue, 'x')
        conn.expect('basic.ack', 1)


@case(only='ringtail')
def a_declare_counts_what_was_published_before_it():
    conn = connect()
    queue = conn.queue(1)
    for n in range(100):
        equal(conn.passive(1, queue), (n, 0), 'counts')
        conn.publish(1, '', queue, 'x')


@case
def counts_are_of_ready_messages_and_all_consumers():
    conn = connect(channels=2)
    queue = conn.queue(1)
    for _ in range(5):
        conn.publish(1, '', queue, 'x')
    conn.rpc(1, 'basic.get', queue=queue)
    conn.counts(1, queue, 4, 0)
    conn.rpc(2, 'basic.qos', prefetch_count=1)
    conn.consume(2, queue)
    conn.deliver(2)
    conn.consume(2, queue)
    conn.deliver(2)
    conn.fence(1, queue)
    conn.counts(1, queue, 2, 2)


@case
def redeclaring_otherwise_is_406():
    conn = connect()
    queue = conn.queue(1, durable=False)
    refuse(conn, 406, other(queue, 'durable', "'true'", "'false'"), 'queue.declare', queue=queue,
           durable=True)
    refuse(conn, 406, other(queue, 'auto_delete', "'true'", "'false'"), 'queue.declare',
           queue=queue, auto_delete=True)
    refuse(conn, 406, other(queue, 'durable', "'true'", "'false'"), 'queue.declare', queue=queue,
           durable=True, auto_delete=True, arguments={'x-message-ttl': 5})
    refuse(conn, 405, locked(queue), 'queue.declare', queue=queue, exclusive=True, durable=True)
    queue = conn.queue(1, durable=True)
    refuse(conn, 406, other(queue, 'durable', "'false'", "'true'"), 'queue.declare', queue=queue)
    queue = conn.queue(1, auto_delete=True)
    refuse(conn, 406, other(queue, 'auto_delete', "'false'", "'true'"), 'queue.declare',
           queue=queue)
    queue = conn.queue(1)
    refuse(conn, 405, locked(queue), 'queue.declare', queue=queue)


# arguments that are compared: a value, another value, the name of the type
COMPARED = [('x-message-ttl', 20000, 20001, 'signedint'),
            ('x-expires', 100000, 100001, 'signedint'),
            ('x-max-length', 5, 6, 'signedint'), ('x-max-length-bytes', 500, 501, 'signedint'),
            ('x-max-priority', 5, 6, 'signedint'),
            ('x-overflow', 'reject-publish', 'drop-head', 'longstr'),
            ('x-dead-letter-exchange', 'dlx', 'other', 'longstr'),
            ('x-single-active-consumer', True, False, 'bool'),
            ('x-queue-mode', 'lazy', 'default', 'longstr'), ('x-queue-version', 2, 1, 'signedint'),
            ('x-queue-master-locator', 'client-local', 'random', 'longstr')]
# RabbitMQ 3 has forgotten this one; we honour it.
COMPARED += on(ringtail=[('x-ha-policy', 'all', 'nodes', 'longstr')], rabbitmq=[])


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


@case
def redeclaring_with_other_arguments_is_406():
    conn = connect()
    bare = conn.queue(1, durable=False)
    for arg, value, another, kind in COMPARED:
        queue = conn.queue(1, durable=False, arguments={arg: value})
        conn.rpc(1, 'queue.declare', queue=queue, arguments={arg: value})
        typed = "the value '%s' of type '%s'" % (_text(value), kind)
        refuse(conn, 406, other(queue, arg, "'%s'" % _text(another), "'%s'" % _text(value)),
               'queue.declare', queue=queue, arguments={arg: another})
        refuse(conn, 406, other(queue, arg, 'none', typed), 'queue.declare', queue=queue)
        refuse(conn, 406, other(bare, arg, typed, 'none'), 'queue.declare', queue=bare,
               arguments={arg: value})


@case(only='ringtail')
def mirrors_asked_for_by_argument():
    """x-ha-policy, with the texts of the releases that had it; and what was never compared."""
    conn = connect()
    for arguments, detail in (
            ({'x-ha-policy': 5}, '{unacceptable_type,signedint}'),
            ({'x-ha-policy': 'some'}, '{invalid_ha_policy,<<"some">>}'),
            ({'x-ha-policy': 'nodes'}, "{require,'x-ha-policy-params'}"),
            ({'x-ha-policy': 'nodes', 'x-ha-policy-params': 'a'},
             '{ha_nodes_policy_params_not_array_of_longstr,longstr}'),
            ({'x-ha-policy': 'nodes', 'x-ha-policy-params': []},
             '{require_non_empty_list_of_nodes_for_ha}'),
            ({'x-ha-policy': 'nodes', 'x-ha-policy-params': ['a', 1]},
             '{require_node_list_as_longstrs_for_ha,[{longstr,<<"a">>},{signedint,1}]}')):
        queue = unique('q')
        refuse(conn, 406, "PRECONDITION_FAILED - invalid arg 'x-ha-policy' for queue '%s' in vhost "
               "'/': %s" % (queue, detail), 'queue.declare', queue=queue, arguments=arguments)
    queue = unique('q')
    refuse(conn, 406, "PRECONDITION_FAILED - invalid arg 'x-ha-policy-params' for queue '%s' in "
           "vhost '/': \"node 'nobody@nowhere' is not running\"" % queue, 'queue.declare',
           queue=queue,
           arguments={'x-ha-policy': 'nodes', 'x-ha-policy-params': ['nobody@nowhere', 'x@y']})
    # The list counts with "nodes" alone, and is compared with every policy.
    queue = conn.queue(1, durable=False,
                       arguments={'x-ha-policy': 'all', 'x-ha-policy-params': ['x@y']})
    typed = "the value '[{longstr,<<\"x@y\">>}]' of type 'array'"
    refuse(conn, 406, other(queue, 'x-ha-policy-params', 'none', typed), 'queue.declare',
           queue=queue, arguments={'x-ha-policy': 'all'})


@case
def a_dead_letter_routing_key_is_compared():
    conn = connect()
    arguments = {'x-dead-letter-exchange': 'dlx', 'x-dead-letter-routing-key': 'rk'}
    queue = conn.queue(1, durable=False, arguments=arguments)
    refuse(conn, 406, other(queue, 'x-dead-letter-routing-key', "'other'", "'rk'"), 'queue.declare',
           queue=queue, arguments=dict(arguments, **{'x-dead-letter-routing-key': 'other'}))
    refuse(conn, 406, other(queue, 'x-dead-letter-routing-key', 'none',
                            "the value 'rk' of type 'longstr'"), 'queue.declare', queue=queue,
           arguments={'x-dead-letter-exchange': 'dlx'})


@case
def integers_compare_by_value_and_are_named_by_width():
    conn = connect()
    for tag, kind in (('b', 'byte'), ('B', 'unsignedbyte'), ('s', 'short'), ('u', 'unsignedshort'),
                      ('I', 'signedint'), ('i', 'unsignedint'), ('l', 'long')):
        queue = conn.queue(1, durable=False, arguments={'x-max-length': Typed(tag, 100)})
        for same in 'bBsuIil':
            conn.rpc(1, 'queue.declare', queue=queue, arguments={'x-max-length': Typed(same, 100)})
        typed = "the value '100' of type '%s'" % kind
        refuse(conn, 406, other(queue, 'x-max-length', 'none', typed), 'queue.declare', queue=queue)


@case
def unknown_arguments_are_kept_but_not_compared():
    conn = connect()
    every = {'bool': True, 'byte': Typed('b', -1), 'octet': Typed('B', 255),
             'short': Typed('s', -2), 'ushort': Typed('u', 65535), 'int': -3,
             'uint': Typed('i', 4000000000), 'long': Typed('l', -2**40),
             'float': Typed('f', 1.5), 'double': 2.5,
             'decimal': Typed('D', (2, 100)), 'string': 's', 'array': [1, 'x', [], {}],
             'time': Typed('T', 1 << 33), 'table': {'a': {'b': [None]}}, 'void': None,
             'binary': b'\0\xff', 'x-unknown': 5}
    for first in ({}, every):
        queue = conn.queue(1, durable=False, arguments=first)
        for arguments in ({}, every, {'x-unknown': 'other'}):
            conn.rpc(1, 'queue.declare', queue=queue, arguments=arguments)


@case
def queue_type_classic_is_the_same_as_none():
    conn = connect()
    queue = conn.queue(1, durable=False)
    conn.rpc(1, 'queue.declare', queue=queue, arguments={'x-queue-type': 'classic'})
    queue = conn.queue(1, durable=False, arguments={'x-queue-type': 'classic'})
    conn.rpc(1, 'queue.declare', queue=queue)


@case
def passive_asks_only_whether_it_exists():
    conn = connect()
    queue = conn.queue(1, durable=False)
    conn.rpc(1, 'queue.declare', queue=queue, passive=True, durable=True, auto_delete=True,
             arguments={'x-message-ttl': 20})
    for name in (unique('q'), 'amq.foo'):
        refuse(conn, 404, NO_QUEUE % name, 'queue.declare', queue=name, passive=True)
    refuse(conn, 404, NO_QUEUE % '', 'queue.declare', queue='', passive=True)
    conn.queue(1)
    refuse(conn, 404, NO_QUEUE % '', 'queue.declare', queue='', passive=True)


@case
def reserved_names_are_403():
    for name in ('amq.foo', 'amq.', 'amq.gen-mine'):
        refuse(connect(), 403, "ACCESS_REFUSED - queue name '%s' contains reserved prefix 'amq.*'"
               % name, 'queue.declare', queue=name)


@case
def the_broker_names_queues_itself():
    conn = connect()
    names = {conn.queue(1, '', exclusive=True) for _ in range(20)}
    equal(len(names), 20, 'number of different names')
    for name in names:
        assert re.fullmatch(r'amq\.gen-[A-Za-z0-9_-]{22}', name), 'name %r' % name
        conn.rpc(1, 'queue.declare', queue=name, passive=True)
        # Reserved is reserved, even for one that exists.
        refuse(conn, 403, "ACCESS_REFUSED - queue name '%s' contains reserved prefix 'amq.*'"
               % name, 'queue.declare', queue=name, exclusive=True)


@case
def an_empty_name_means_the_queue_declared_last():
    conn = connect(channels=2)
    name = conn.queue(1, '')
    conn.bind(1, '', 'amq.direct', name)
    conn.publish(1, 'amq.direct', name, 'x')
    equal(conn.drain(1, ''), [b'x'], 'queue')
    conn.publish(1, '', name, 'x')
    equal(conn.rpc(1, 'queue.purge', queue='').message_count, 1, 'purged')
    conn.rpc(1, 'queue.unbind', queue='', exchange='amq.direct', routing_key=name)
    tag = conn.consume(1, '')
    conn.rpc(1, 'basic.cancel', consumer_tag=tag)
    second = conn.queue(1)
    conn.publish(1, '', second, 'to the second')
    equal(conn.drain(1, ''), [b'to the second'], 'queue')
    equal(conn.rpc(1, 'queue.delete', queue='').message_count, 0, 'deleted')
    refuse(conn, 404, NO_QUEUE % second, 'queue.declare', queue=second, passive=True)
    conn.passive(1, name)


@case
def an_empty_routing_key_means_the_queue_name_when_the_queue_is_unnamed_too():
    conn = connect()
    name = conn.queue(1, '')
    conn.bind(1, '', 'amq.direct', '')
    conn.publish(1, 'amq.direct', name, 'by name')
    equal(conn.drain(1, name), [b'by name'], 'queue')


@case
def an_empty_name_without_a_declared_queue_is_404():
    conn = connect()
    for name, fields in (('queue.bind', {'exchange': 'amq.direct'}), ('basic.consume', {}),
                         ('queue.unbind', {'exchange': 'amq.direct'}), ('basic.get', {}),
                         ('queue.purge', {}), ('queue.delete', {})):
        refuse(conn, 404, NO_LAST, name, **fields)
    conn = connect(channels=2)
    conn.queue(1)
    refuse(conn, 404, NO_LAST, 'queue.purge', channel=2)


@case
def names_hold_up_to_255_bytes_and_lose_line_ends():
    conn = connect()
    name = (unique('long') + 'x' * 255)[:255]
    equal(conn.queue(1, name, exclusive=True), name, 'name')
    name = unique('line')
    equal(conn.queue(1, name[:5] + '\r\n' + name[5:] + '\r', exclusive=True), name, 'name')
    name = unique('ünïcødé-✓')
    equal(conn.queue(1, name, exclusive=True), name, 'name')
    conn.publish(1, '', name, 'x')
    equal(conn.rpc(1, 'basic.get', queue=name).routing_key, name, 'routing key')


@case
def an_exclusive_queue_is_its_connections_own():
    conn, stranger = connect(channels=2), connect()
    queue = conn.queue(1)
    conn.rpc(2, 'queue.declare', queue=queue, exclusive=True)
    for name, fields in (('queue.declare', {}), ('queue.declare', {'exclusive': True}),
                         ('queue.declare', {'passive': True}), ('basic.get', {}),
                         ('queue.bind', {'exchange': 'amq.direct'}), ('basic.consume', {}),
                         ('queue.purge', {}), ('queue.delete', {})):
        refuse(stranger, 405, locked(queue), name, queue=queue, **fields)
    stranger.rpc(1, 'confirm.select')
    stranger.publish(1, '', queue, 'anyone may publish', mandatory=True)
    stranger.expect('basic.ack', 1)
    equal(conn.drain(1, queue), [b'anyone may publish'], 'queue')


@case
def an_exclusive_queue_goes_with_its_connection():
    for flags in ({'exclusive': True}, {'exclusive': True, 'durable': True}):
        conn, watcher = connect(), connect()
        queue = conn.queue(1, **flags)
        exchange = watcher.exchange(1, 'fanout', auto_delete=True)
        conn.bind(1, queue, exchange)
        conn.rpc(1, 'channel.close', reply_code=200)
        conn.open_channel(1)
        conn.passive(1, queue)  # it does not go with its channel
        conn.close()
        watcher.method(1, 'queue.declare', queue=queue, passive=True)
        watcher.expect_close(1, 404, NO_QUEUE % queue, 'queue.declare')


@case
def auto_delete_goes_with_the_last_consumer():
    conn = connect(channels=3)
    queue = conn.queue(1, auto_delete=True)
    conn.passive(1, queue)  # never consumed: stays
    first = conn.consume(1, queue)
    conn.consume(2, queue)
    conn.rpc(1, 'basic.cancel', consumer_tag=first)
    conn.passive(1, queue)
    conn.rpc(2, 'channel.close', reply_code=200)
    refuse(conn, 404, NO_QUEUE % queue, 'queue.declare', queue=queue, passive=True)
    queue = conn.queue(1, auto_delete=True)
    conn.publish(1, '', queue, 'x')
    conn.rpc(1, 'basic.get', queue=queue)
    conn.passive(1, queue)  # get is not a consumer
    tag = conn.consume(1, queue)
    conn.rpc(1, 'basic.cancel', consumer_tag=tag)
    refuse(conn, 404, NO_QUEUE % queue, 'queue.declare', queue=queue, passive=True)


run_cases()
