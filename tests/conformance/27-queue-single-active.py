"""x-single-active-consumer: one consumer gets everything, the next takes over when it goes."""
from raw import *


def single(conn, **flags):
    return conn.queue(1, **dict(flags or {'exclusive': True},
                                arguments={'x-single-active-consumer': True}))


def fill(conn, queue, count, first=0):
    for n in range(first, first + count):
        conn.publish(1, '', queue, str(n))


@case
def the_first_consumer_gets_everything():
    conn = connect(channels=4)
    queue = single(conn)
    for channel in (2, 3, 4):
        conn.consume(channel, queue, no_ack=True)
    fill(conn, queue, 50)
    for n in range(50):
        conn.deliver(2, str(n))
    equal(conn.passive(1, queue), (0, 3), 'counts')


@case
def the_next_takes_over_in_order_of_registration():
    conn = connect(channels=4)
    queue = single(conn)
    for channel in (2, 3, 4):
        conn.consume(channel, queue, consumer_tag='c%d' % channel, no_ack=True)
    for n, channel in enumerate((2, 3, 4)):
        conn.publish(1, '', queue, str(n))
        conn.deliver(channel, str(n))
        conn.rpc(channel, 'basic.cancel', consumer_tag='c%d' % channel)
    conn.publish(1, '', queue, 'left')
    conn.counts(1, queue, 1, 0)


@case
def a_closed_channel_and_a_lost_connection_hand_over_and_requeue():
    conn, lost = connect(channels=3), connect()
    queue = single(conn, durable=False)
    lost.consume(1, queue)
    conn.consume(2, queue)
    conn.consume(3, queue, no_ack=True)
    fill(conn, queue, 3)
    for n in range(3):
        lost.deliver(1, str(n), redelivered=False)
    lost.close_socket()
    for n in range(3):
        conn.deliver(2, str(n), redelivered=True)
    conn.method(2, 'channel.close', reply_code=200)
    got = [conn.read() for _ in range(4)]
    equal(sorted(m.name for m in got), ['basic.deliver'] * 3 + ['channel.close-ok'], 'answers')
    equal([m.body for m in got if m.name == 'basic.deliver'], [b'0', b'1', b'2'], 'bodies')


@case
def who_waits_stays_waiting_though_the_active_one_is_full():
    conn = connect(channels=3)
    queue = single(conn)
    conn.rpc(2, 'basic.qos', prefetch_count=1)
    conn.consume(2, queue)
    conn.consume(3, queue)
    fill(conn, queue, 3)
    for n in range(3):
        tag = conn.deliver(2, str(n)).delivery_tag
        conn.fence(1, queue)
        conn.method(2, 'basic.ack', delivery_tag=tag)


@case
def priority_does_not_take_over_from_an_active_consumer():
    conn = connect(channels=3)
    queue = single(conn)
    conn.consume(2, queue, no_ack=True, consumer_tag='low', arguments={'x-priority': -1})
    conn.consume(3, queue, no_ack=True, consumer_tag='high', arguments={'x-priority': 10})
    fill(conn, queue, 3)
    for n in range(3):
        conn.deliver(2, str(n))


@case
def priority_chooses_the_next():
    conn = connect(channels=4)
    queue = single(conn)
    conn.consume(2, queue, no_ack=True, consumer_tag='active')
    conn.consume(3, queue, no_ack=True, arguments={'x-priority': 1})
    conn.consume(4, queue, no_ack=True, arguments={'x-priority': 5})
    conn.rpc(2, 'basic.cancel', consumer_tag='active')
    fill(conn, queue, 3)
    for n in range(3):
        conn.deliver(4, str(n))


@case
def one_that_comes_back_waits_behind():
    conn = connect(channels=3)
    queue = single(conn)
    conn.consume(2, queue, no_ack=True, consumer_tag='a')
    conn.consume(3, queue, no_ack=True, consumer_tag='b')
    conn.rpc(2, 'basic.cancel', consumer_tag='a')
    conn.consume(2, queue, no_ack=True, consumer_tag='a')
    fill(conn, queue, 3)
    for n in range(3):
        conn.deliver(3, str(n))


@case
def an_exclusive_consumer_is_refused():
    conn = connect(channels=2)
    queue = single(conn)
    text = "ACCESS_REFUSED - queue '%s' in vhost '/' in exclusive use" % queue
    refuse(conn, 403, text, 'basic.consume', queue=queue, exclusive=True)
    conn.consume(2, queue)
    refuse(conn, 403, text, 'basic.consume', queue=queue, exclusive=True)


@case
def get_goes_beside():
    conn = connect(channels=2)
    queue = single(conn)
    conn.rpc(2, 'basic.qos', prefetch_count=1)
    conn.consume(2, queue)
    fill(conn, queue, 2)
    conn.deliver(2, '0')
    conn.counts(1, queue, 1, 1)
    equal(conn.drain(1, queue), [b'1'], 'got')


@case
def with_auto_delete_the_last_consumer_takes_the_queue_along():
    conn = connect(channels=3)
    queue = conn.queue(1, auto_delete=True, arguments={'x-single-active-consumer': True})
    for channel in (2, 3):
        conn.consume(channel, queue, consumer_tag='t')
    conn.rpc(2, 'basic.cancel', consumer_tag='t')
    conn.passive(1, queue)
    conn.rpc(3, 'basic.cancel', consumer_tag='t')
    refuse(conn, 404, "NOT_FOUND - no queue '%s' in vhost '/'" % queue, 'queue.declare',
           queue=queue, passive=True)


@case
def false_is_an_ordinary_queue():
    conn = connect(channels=3)
    queue = conn.queue(1, exclusive=True, arguments={'x-single-active-consumer': False})
    conn.consume(2, queue, no_ack=True)
    conn.consume(3, queue, no_ack=True)
    fill(conn, queue, 10)
    equal(sorted(conn.deliver().channel for _ in range(10)), [2] * 5 + [3] * 5, 'channels')


def handed_over_while_full(conn):
    queue = single(conn)
    conn.rpc(2, 'basic.qos', prefetch_count=1)
    conn.consume(2, queue, consumer_tag='a')
    conn.consume(3, queue, no_ack=True)
    fill(conn, queue, 3)
    tag = conn.deliver(2, '0').delivery_tag
    conn.rpc(2, 'basic.cancel', consumer_tag='a')
    return queue, tag


@case(only='ringtail')  # RabbitMQ 3.10's queue process fails here
def a_full_consumer_that_cancels_hands_over():
    conn = connect(channels=3)
    queue, tag = handed_over_while_full(conn)
    conn.deliver(3, '1')
    conn.deliver(3, '2')
    conn.method(2, 'basic.reject', delivery_tag=tag, requeue=True)
    conn.deliver(3, '0', redelivered=True)
    equal(conn.passive(1, queue), (0, 1), 'counts')


run_cases()
