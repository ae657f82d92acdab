"""x-max-priority: the order of messages."""
from raw import *


def priority_queue(conn, highest=10, **arguments):
    return conn.queue(1, exclusive=True, arguments=dict({'x-max-priority': highest}, **arguments))


def put(conn, queue, *messages, **more):
    """Publishes 'a5', 'b0' ...: the digits are the priority; a plain letter has none."""
    for message in messages:
        props = dict(more, priority=int(message[1:])) if message[1:] else more
        conn.publish(1, '', queue, message, properties(**props))


def bodies(conn, queue, channel=1):
    return ' '.join(b.decode() for b in conn.drain(channel, queue))


@case
def the_highest_comes_first_and_equals_in_order():
    conn = connect()
    queue = priority_queue(conn)
    put(conn, queue, 'a1', 'b5', 'c1', 'd10', 'e5', 'f0', 'g10', 'h1')
    conn.counts(1, queue, 8)
    equal(bodies(conn, queue), 'd10 g10 b5 e5 a1 c1 h1 f0', 'queue')


@case
def no_priority_is_zero():
    conn = connect()
    queue = priority_queue(conn)
    put(conn, queue, 'a0', 'b', 'c1', 'd0', 'e')
    equal(bodies(conn, queue), 'c1 a0 b d0 e', 'queue')


@case
def above_the_highest_is_the_highest():
    conn = connect()
    queue = priority_queue(conn, 3)
    put(conn, queue, 'a2', 'b3', 'c200', 'd4', 'e255')
    equal(bodies(conn, queue), 'b3 c200 d4 e255 a2', 'queue')


@case
def the_property_is_delivered_as_it_came():
    conn = connect()
    queue = priority_queue(conn, 3)
    put(conn, queue, 'a200')
    equal(conn.rpc(1, 'basic.get', queue=queue, no_ack=True).properties, {'priority': 200},
          'properties')


@case
def a_highest_priority_of_zero_and_of_255():
    conn = connect()
    queue = priority_queue(conn, 0)
    put(conn, queue, 'a0', 'b5', 'c', 'd255')
    equal(bodies(conn, queue), 'a0 b5 c d255', 'queue')
    queue = priority_queue(conn, Typed('B', 255))
    put(conn, queue, *('x%d' % n for n in range(256)))
    equal(bodies(conn, queue), ' '.join('x%d' % n for n in range(255, -1, -1)), 'queue')


@case
def without_the_argument_priorities_mean_nothing():
    conn = connect()
    queue = conn.queue(1)
    put(conn, queue, 'a1', 'b5', 'c0')
    equal(bodies(conn, queue), 'a1 b5 c0', 'queue')


@case
def a_consumer_gets_them_by_priority():
    conn = connect(channels=2)
    queue = priority_queue(conn)
    put(conn, queue, 'a0', 'b5', 'c9', 'd5')
    conn.counts(1, queue, 4)
    conn.rpc(2, 'basic.qos', prefetch_count=1)
    conn.consume(2, queue)
    for n, body in enumerate(('c9', 'b5', 'e7', 'd5', 'a0')):
        conn.deliver(2, body)
        if body == 'b5':  # what comes meanwhile is next
            put(conn, queue, 'e7')
            conn.fence(1, queue)
        conn.method(2, 'basic.ack', delivery_tag=n + 1)


@case
def a_message_put_back_finds_its_place():
    conn = connect(channels=2)
    queue = priority_queue(conn)
    put(conn, queue, 'a1', 'b5', 'c5', 'd9')
    conn.counts(1, queue, 4)
    equal([conn.rpc(2, 'basic.get', queue=queue).body for _ in range(3)], [b'd9', b'b5', b'c5'],
          'got')
    put(conn, queue, 'e9', 'f5')
    conn.method(2, 'basic.reject', delivery_tag=2, requeue=True)
    conn.method(2, 'basic.reject', delivery_tag=1, requeue=True)
    conn.counts(1, queue, 5)
    equal(bodies(conn, queue), 'd9 e9 b5 f5 a1', 'queue')


@case
def counts_and_purge_are_of_all_priorities():
    conn = connect()
    queue = priority_queue(conn)
    put(conn, queue, 'a1', 'b5', 'c0', 'd9')
    conn.counts(1, queue, 4)
    got = conn.rpc(1, 'basic.get', queue=queue)
    equal((got.body, got.message_count), (b'd9', 3), 'got')
    equal(conn.rpc(1, 'queue.purge', queue=queue).message_count, 3, 'purged')
    conn.counts(1, queue, 0)
    conn.method(1, 'basic.reject', delivery_tag=1, requeue=True)
    conn.counts(1, queue, 1)
    put(conn, queue, 'e1', 'f3')
    conn.counts(1, queue, 3)
    equal(conn.rpc(1, 'queue.delete', queue=queue).message_count, 3, 'deleted')


@case
def a_limit_drops_the_head_which_is_the_highest_priority():
    conn = connect()
    queue = priority_queue(conn, **{'x-max-length': 3})
    put(conn, queue, 'a5', 'b1', 'c9', 'd1', 'e5', 'f9')
    conn.counts(1, queue, 3)
    equal(bodies(conn, queue), 'e5 b1 d1', 'queue')


@case
def dropped_messages_come_in_order_of_dropping():
    conn = connect()
    letters = conn.queue(1)
    conn.consume(1, letters, no_ack=True)
    queue = priority_queue(conn, **{'x-max-length': 2, 'x-dead-letter-exchange': '',
                                    'x-dead-letter-routing-key': letters})
    put(conn, queue, 'a5', 'b1', 'c9', 'd1', 'e5', 'f9')
    equal([conn.deliver(1).body for _ in range(4)], [b'c9', b'a5', b'e5', b'f9'], 'dead letters')
    equal(bodies(conn, queue), 'b1 d1', 'queue')


@case
def only_the_head_of_all_priorities_expires():
    conn = connect(channels=2)
    letters = conn.queue(1)
    conn.consume(1, letters, no_ack=True)
    dead = {'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': letters}
    queue, clock = priority_queue(conn, **dead), priority_queue(conn, **dead)
    put(conn, queue, 'a5', 'b9')
    put(conn, queue, 'c1', 'd5', expiration='1')
    put(conn, clock, 'x', expiration='50')
    conn.deliver(1, 'x')
    conn.fence(1, queue)
    conn.counts(1, queue, 4)
    for body in (b'b9', b'a5'):
        equal(conn.rpc(2, 'basic.get', queue=queue, no_ack=True).body, body, 'got')
    for body in ('d5', 'c1'):
        got = conn.deliver(1, body)
        equal(got.properties['headers']['x-death'][0]['reason'], 'expired', 'reason')
        assert 'priority' in got.properties and 'expiration' not in got.properties
    equal(bodies(conn, queue, 2), '', 'queue')


@case
def a_queue_time_expires_all_priorities():
    conn = connect()
    queue = priority_queue(conn, **{'x-message-ttl': 50})
    conn.rpc(1, 'confirm.select')
    put(conn, queue, 'a5')
    conn.expect('basic.ack', 1)
    put(conn, queue, 'b9', 'c', 'd0', 'e5')
    while conn.expect('basic.ack', 1).delivery_tag != 5:
        pass
    conn.counts(1, queue, 0)


@case
def durable_and_persistent_ones_too():
    conn = connect()
    queue = conn.queue(1, durable=True, arguments={'x-max-priority': 5})
    conn.rpc(1, 'confirm.select')
    put(conn, queue, 'a1', 'b5', 'c3', delivery_mode=2)
    confirmed = 0
    while confirmed < 3:
        confirmed = max(confirmed, conn.expect('basic.ack', 1).delivery_tag)
    equal(bodies(conn, queue), 'b5 c3 a1', 'queue')


@case
def reject_publish_does_not_look_at_priorities():
    conn = connect()
    queue = priority_queue(conn, **{'x-max-length': 1, 'x-overflow': 'reject-publish'})
    conn.rpc(1, 'confirm.select')
    put(conn, queue, 'a1')
    conn.expect('basic.ack', 1)
    put(conn, queue, 'b9')
    conn.expect('basic.nack', 1)
    equal(bodies(conn, queue), 'a1', 'queue')


run_cases()
