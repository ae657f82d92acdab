"""ack, nack, reject, recover: what they settle, what comes back, in which order."""
from raw import *

UNKNOWN = 'PRECONDITION_FAILED - unknown delivery tag %d'


def filled(conn, count):
    queue = conn.queue(1)
    for n in range(count):
        conn.publish(1, '', queue, str(n))
    return queue


def get(conn, queue, count):
    return [conn.rpc(1, 'basic.get', queue=queue).delivery_tag for _ in range(count)]


def left(conn, queue):
    """What is in the queue when all unacknowledged messages are back."""
    conn.rpc(1, 'channel.close', reply_code=200)
    conn.open_channel(1)
    return [int(body) for body in conn.drain(1, queue)]


@case
def ack_settles_one():
    conn = connect()
    queue = filled(conn, 4)
    get(conn, queue, 4)
    conn.method(1, 'basic.ack', delivery_tag=3)
    conn.method(1, 'basic.ack', delivery_tag=1)
    equal(left(conn, queue), [1, 3], 'queue')


@case
def ack_multiple_settles_up_to():
    conn = connect()
    queue = filled(conn, 5)
    get(conn, queue, 5)
    conn.method(1, 'basic.ack', delivery_tag=2)
    conn.method(1, 'basic.ack', delivery_tag=3, multiple=True)
    equal(left(conn, queue), [3, 4], 'queue')


@case
def ack_multiple_of_0_settles_all():
    conn = connect()
    queue = filled(conn, 5)
    conn.method(1, 'basic.ack', delivery_tag=0, multiple=True)  # nothing to settle
    get(conn, queue, 3)
    conn.method(1, 'basic.ack', delivery_tag=0, multiple=True)
    equal(left(conn, queue), [3, 4], 'queue')


@case
def unknown_delivery_tags_are_406():
    conn = connect()
    for tag in (5, 1, 2**63, 0):
        for name in ('basic.ack', 'basic.nack', 'basic.reject'):
            refuse(conn, 406, UNKNOWN % tag, name, delivery_tag=tag)
    for name in ('basic.ack', 'basic.nack'):
        refuse(conn, 406, UNKNOWN % 5, name, delivery_tag=5, multiple=True)
        conn.method(1, name, delivery_tag=0, multiple=True)
        conn.rpc(1, 'basic.qos')


@case
def acknowledging_twice_is_406():
    settled = [('basic.ack', {}), ('basic.nack', {'requeue': True}), ('basic.reject', {})]
    for first, flags in settled:
        for second, _ in settled:
            conn = connect()
            queue = filled(conn, 2)
            get(conn, queue, 2)
            conn.method(1, first, delivery_tag=1, **flags)
            refuse(conn, 406, UNKNOWN % 1, second, delivery_tag=1)


@case
def a_multiple_of_a_settled_tag_is_406():
    conn = connect()
    queue = filled(conn, 3)
    get(conn, queue, 3)
    conn.method(1, 'basic.ack', delivery_tag=2, multiple=True)
    refuse(conn, 406, UNKNOWN % 2, 'basic.ack', delivery_tag=2, multiple=True)
    queue = filled(conn, 3)
    get(conn, queue, 2)
    refuse(conn, 406, UNKNOWN % 9, 'basic.ack', delivery_tag=9, multiple=True)


@case
def no_ack_deliveries_cannot_be_acknowledged():
    conn = connect()
    queue = filled(conn, 1)
    conn.rpc(1, 'basic.get', queue=queue, no_ack=True)
    refuse(conn, 406, UNKNOWN % 1, 'basic.ack', delivery_tag=1)


@case
def tags_belong_to_their_channel():
    conn = connect(channels=2)
    queue = filled(conn, 1)
    get(conn, queue, 1)
    refuse(conn, 406, UNKNOWN % 1, 'basic.ack', channel=2, delivery_tag=1)
    conn.method(1, 'basic.ack', delivery_tag=1)
    conn.rpc(1, 'basic.qos')


@case
def a_wrong_tag_requeues_what_the_channel_held():
    conn = connect()
    queue = filled(conn, 3)
    get(conn, queue, 2)
    refuse(conn, 406, UNKNOWN % 7, 'basic.ack', delivery_tag=7)
    equal([int(b) for b in conn.drain(1, queue)], [0, 1, 2], 'queue')


@case
def reject_and_nack_without_requeue_drop():
    conn = connect()
    queue = filled(conn, 5)
    get(conn, queue, 4)
    conn.method(1, 'basic.reject', delivery_tag=1)
    conn.method(1, 'basic.nack', delivery_tag=3, multiple=True)
    equal(left(conn, queue), [3, 4], 'queue')


@case
def requeued_messages_go_back_to_their_place():
    conn = connect()
    queue = filled(conn, 6)
    get(conn, queue, 4)
    conn.method(1, 'basic.reject', delivery_tag=3, requeue=True)
    conn.method(1, 'basic.nack', delivery_tag=1, requeue=True)
    got = [conn.rpc(1, 'basic.get', queue=queue) for _ in range(4)]
    equal([(m.body, m.redelivered) for m in got],
          [(b'0', True), (b'2', True), (b'4', False), (b'5', False)], 'messages')
    conn.method(1, 'basic.nack', delivery_tag=0, multiple=True, requeue=True)
    equal([int(b) for b in conn.drain(1, queue)], [0, 1, 2, 3, 4, 5], 'queue')


@case
def nack_multiple_of_0_requeues_all():
    conn = connect()
    queue = filled(conn, 4)
    get(conn, queue, 3)
    conn.method(1, 'basic.nack', delivery_tag=0, multiple=True, requeue=True)
    got = [conn.rpc(1, 'basic.get', queue=queue, no_ack=True) for _ in range(4)]
    equal([(m.body, m.redelivered) for m in got],
          [(b'0', True), (b'1', True), (b'2', True), (b'3', False)], 'messages')


@case
def nack_multiple_covers_several_queues():
    conn = connect()
    first, second = filled(conn, 2), filled(conn, 2)
    get(conn, first, 1)
    get(conn, second, 2)
    get(conn, first, 1)
    conn.method(1, 'basic.nack', delivery_tag=3, multiple=True, requeue=True)
    equal(([int(b) for b in conn.drain(1, first)], [int(b) for b in conn.drain(1, second)]),
          ([0], [0, 1]), 'queues')
    conn.method(1, 'basic.ack', delivery_tag=4)
    conn.rpc(1, 'basic.qos')


@case
def a_closed_channel_and_a_lost_connection_requeue():
    conn, loser = connect(), connect()
    queue = conn.queue(1, durable=False)
    for n in range(6):
        conn.publish(1, '', queue, str(n))
    conn.fence(1, queue)
    loser.rpc(1, 'basic.get', queue=queue)
    get(conn, queue, 2)
    loser.rpc(1, 'basic.get', queue=queue)
    loser.close()
    equal(left(conn, queue), [0, 1, 2, 3, 4, 5], 'queue')


@case(only='ringtail')  # 3.10.8 closes first and gives back later
def who_hears_close_ok_finds_the_messages_back():
    """Also on another connection, which another thread of the broker may serve."""
    watcher = connect()
    queue = watcher.queue(1, durable=False)
    for n in range(40):
        watcher.publish(1, '', queue, str(n))
    watcher.fence(1, queue)
    for _ in range(60):
        loser = connect()
        get(loser, queue, 40)
        loser.rpc(1, 'channel.close', reply_code=200)
        equal(watcher.rpc(1, 'queue.declare', queue=queue, passive=True).message_count, 40,
              'messages after channel.close-ok')
        loser.open_channel(1)
        get(loser, queue, 40)
        loser.close()
        equal(watcher.rpc(1, 'queue.declare', queue=queue, passive=True).message_count, 40,
              'messages after connection.close-ok')


@case(only='ringtail')
def a_channel_opened_without_waiting_for_close_ok():
    conn = connect()
    queue = filled(conn, 3)
    get(conn, queue, 3)
    conn.method(1, 'channel.close', reply_code=200)
    conn.method(1, 'channel.open')
    conn.expect('channel.close-ok', 1)
    conn.expect('channel.open-ok', 1)
    equal(conn.drain(1, queue), [b'0', b'1', b'2'], 'queue')


@case
def a_requeued_message_may_go_to_another_consumer():
    conn = connect(channels=3)
    queue = conn.queue(1)
    for channel in (2, 3):
        conn.rpc(channel, 'basic.qos', prefetch_count=1)
    conn.consume(2, queue, consumer_tag='two')
    conn.publish(1, '', queue, 'x')
    conn.deliver(2, 'x')
    conn.consume(3, queue, consumer_tag='three')
    conn.rpc(2, 'basic.cancel', consumer_tag='two')
    conn.method(2, 'basic.nack', delivery_tag=1, requeue=True)
    conn.deliver(3, 'x', consumer_tag='three', redelivered=True)


@case
def recover_redelivers_all_of_the_channel():
    conn = connect()
    queue = filled(conn, 3)
    conn.consume(1, queue, consumer_tag='t')
    for n in range(3):
        conn.deliver(1, str(n), redelivered=False)
    conn.method(1, 'basic.ack', delivery_tag=2)
    conn.method(1, 'basic.recover', requeue=True)
    got = [conn.read() for _ in range(3)]  # recover-ok and two deliveries, in any order
    equal(sorted(m.name for m in got), ['basic.deliver'] * 2 + ['basic.recover-ok'], 'answers')
    equal([(m.body, m.delivery_tag, m.redelivered) for m in got if m.name == 'basic.deliver'],
          [(b'0', 4, True), (b'2', 5, True)], 'deliveries')
    refuse(conn, 406, UNKNOWN % 1, 'basic.ack', delivery_tag=1)


@case
def recover_async_does_the_same_without_an_answer():
    conn = connect()
    queue = filled(conn, 2)
    get(conn, queue, 2)
    conn.method(1, 'basic.recover-async', requeue=True)
    equal([int(b) for b in conn.drain(1, queue)], [0, 1], 'queue')


@case
def recover_without_requeue_is_540():
    for name in ('basic.recover', 'basic.recover-async'):
        hard(connect(), 540, 'NOT_IMPLEMENTED - requeue=false', name, requeue=False)


@case
def a_prefetch_size_is_540():
    for size in (10, 2**32 - 1):
        hard(connect(), 540, 'NOT_IMPLEMENTED - prefetch_size!=0 (%d)' % size, 'basic.qos',
             prefetch_size=size)


@case
def a_flood_of_acknowledgements_settles_all():
    conn = connect()
    queue = filled(conn, 2000)
    conn.consume(1, queue, consumer_tag='t')
    for n in range(2000):
        conn.deliver(1, delivery_tag=n + 1)
    order = list(range(1, 2001, 2)) + list(range(2000, 0, -2))
    conn.send(b''.join(frame(METHOD, 1, encode_method('basic.ack', delivery_tag=n)) for n in order))
    conn.rpc(1, 'basic.cancel', consumer_tag='t')
    equal(left(conn, queue), [], 'queue')


run_cases()
