"""Declarations, bindings and deletions sent without waiting: done, and answered, one by one."""
from raw import *

NO_QUEUE = "NOT_FOUND - no queue '%s' in vhost '/'"


def pipeline(conn, methods):
    """All in one write: (name, fields) each."""
    conn.send(b''.join(frame(METHOD, 1, encode_method(name, **fields))
                       for name, fields in methods))


@case
def everything_is_answered_in_order():
    conn = connect(channels=2)
    exchange = conn.exchange(1, 'direct')
    queues = [unique('q') for _ in range(400)]
    pipeline(conn, [('queue.declare', {'queue': queue, 'exclusive': True}) for queue in queues])
    for queue in queues:
        conn.expect('queue.declare-ok', 1, queue=queue, message_count=0, consumer_count=0)
    pipeline(conn, [('queue.bind', {'queue': queue, 'exchange': exchange, 'routing_key': queue})
                    for queue in queues])
    conn.publish(1, exchange, queues[-1], 'behind the bindings')
    for _ in queues:
        conn.expect('queue.bind-ok', 1)
    equal(conn.drain(1, queues[-1]), [b'behind the bindings'], 'the last queue')
    conn.publish(1, '', queues[7], 'counted')
    pipeline(conn, [('queue.delete', {'queue': queue}) for queue in queues + ['nope', queues[0]]])
    for queue in queues:
        conn.expect('queue.delete-ok', 1, message_count=1 if queue == queues[7] else 0)
    for _ in range(2):
        conn.expect('queue.delete-ok', 1, message_count=0)


@case
def queues_that_are_there_are_answered_among_those_that_are_not():
    conn = connect()
    there = conn.queue(1)
    conn.publish(1, '', there, 'one')
    conn.fence(1, there)
    order = [unique('q'), there, unique('q'), there]
    pipeline(conn, [('queue.declare', {'queue': queue, 'exclusive': True}) for queue in order])
    for queue in order:
        conn.expect('queue.declare-ok', 1, queue=queue, message_count=int(queue == there))


@case
def the_same_name_twice_is_one_queue():
    conn = connect()
    queue = unique('q')
    pipeline(conn, 3 * [('queue.declare', {'queue': queue, 'exclusive': True})])
    for _ in range(3):
        conn.expect('queue.declare-ok', 1, queue=queue, message_count=0)


@case
def the_last_of_server_named_queues_is_the_current_one():
    conn = connect()
    pipeline(conn, 5 * [('queue.declare', {'exclusive': True})] +
             [('queue.bind', {'exchange': 'amq.direct', 'routing_key': 'k' + unique('')})])
    names = [conn.expect('queue.declare-ok', 1).queue for _ in range(5)]
    equal(len(set(names)), 5, 'different names')
    conn.expect('queue.bind-ok', 1)
    conn.publish(1, '', names[-1], 'x')
    equal(conn.rpc(1, 'queue.purge').message_count, 1, 'purged')


@case
def a_passive_declaration_sees_those_before_it():
    conn = connect()
    queue, exchange = unique('q'), unique('x')
    pipeline(conn, [('queue.declare', {'queue': queue, 'exclusive': True}),
                    ('queue.declare', {'queue': queue, 'passive': True}),
                    ('exchange.declare', {'exchange': exchange, 'type': 'fanout'}),
                    ('exchange.declare', {'exchange': exchange, 'passive': True}),
                    ('exchange.delete', {'exchange': exchange})])
    for _ in range(2):
        conn.expect('queue.declare-ok', 1, queue=queue)
    for _ in range(2):
        conn.expect('exchange.declare-ok', 1)
    conn.expect('exchange.delete-ok', 1)


@case
def what_fails_is_told_behind_what_came_before_it():
    conn = connect()
    there = conn.queue(1)
    before = [unique('q') for _ in range(20)]
    behind = unique('q')
    pipeline(conn, [('queue.declare', {'queue': queue, 'exclusive': True}) for queue in before] +
             [('queue.declare', {'queue': there, 'exclusive': True, 'auto_delete': True}),
              ('queue.declare', {'queue': behind, 'exclusive': True})])
    for queue in before:
        conn.expect('queue.declare-ok', 1, queue=queue)
    conn.expect_close(1, 406, "PRECONDITION_FAILED - inequivalent arg 'auto_delete' for queue '%s' "
                      "in vhost '/': received 'true' but current is 'false'" % there,
                      'queue.declare')
    conn.open_channel()
    refuse(conn, 404, NO_QUEUE % behind, 'queue.declare', queue=behind, passive=True)


@case
def a_binding_of_nothing_is_told_behind_those_before_it():
    conn = connect()
    queue = conn.queue(1)
    pipeline(conn, [('queue.bind', {'queue': queue, 'exchange': 'amq.direct', 'routing_key': key})
                    for key in 'abc'] +
             [('queue.bind', {'queue': queue, 'exchange': 'nope', 'routing_key': 'd'}),
              ('queue.bind', {'queue': queue, 'exchange': 'amq.direct', 'routing_key': 'e'})])
    for _ in range(3):
        conn.expect('queue.bind-ok', 1)
    conn.expect_close(1, 404, "NOT_FOUND - no exchange 'nope' in vhost '/'", 'queue.bind')


@case
def a_channel_that_closes_behind_declarations_has_made_them():
    conn = connect()
    queues = [unique('q') for _ in range(50)]
    pipeline(conn, [('queue.declare', {'queue': queue, 'exclusive': True, 'nowait': True})
                    for queue in queues] +
             [('channel.close', {'reply_code': 200, 'reply_text': '', 'class_id': 0,
                                 'method_id': 0})])
    conn.expect('channel.close-ok', 1)
    conn.open_channel()
    for queue in queues:
        equal(conn.passive(1, queue), (0, 0), queue)


run_cases()
