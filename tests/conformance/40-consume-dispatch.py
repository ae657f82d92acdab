"""Who gets which message: round robin, prefetch, priorities, exclusive consumers, cancel."""
import re

from raw import *


def fill(conn, queue, count, first=0):
    for n in range(first, first + count):
        conn.publish(1, '', queue, str(n))


def nothing_more(conn, channel, queue):
    """Fails if a delivery is on its way to `conn`."""
    conn.fence(channel, queue)


@case
def the_broker_names_consumers_itself():
    conn = connect()
    queue = conn.queue(1)
    tags = {conn.consume(1, queue) for _ in range(10)}
    equal(len(tags), 10, 'number of different tags')
    for tag in tags:
        assert re.fullmatch(r'amq\.ctag-[A-Za-z0-9_-]{22}', tag), 'tag %r' % tag


@case
def deliveries_carry_tag_number_exchange_and_key():
    conn = connect()
    queue = conn.queue(1)
    conn.bind(1, queue, 'amq.topic', 'a.*')
    conn.consume(1, queue, consumer_tag='tag ünïcødé')
    for n in range(3):
        conn.publish(1, 'amq.topic', 'a.b', str(n))
        conn.deliver(1, str(n), consumer_tag='tag ünïcødé', delivery_tag=n + 1, redelivered=False,
                     exchange='amq.topic', routing_key='a.b')


@case
def messages_go_round_the_consumers():
    conn = connect(channels=3)
    queue = conn.queue(1)
    for channel, tag in ((2, 'a'), (2, 'b'), (3, 'c')):
        conn.consume(channel, queue, consumer_tag=tag, no_ack=True)
    got = {tag: [] for tag in 'abc'}
    fill(conn, queue, 30)
    for _ in range(30):
        message = conn.deliver()
        got[message.consumer_tag].append(int(message.body))
    for tag, numbers in got.items():
        equal(numbers, list(range(numbers[0], 30, 3)), 'messages of consumer %s' % tag)


@case
def a_queue_is_delivered_in_order():
    conn = connect()
    queue = conn.queue(1)
    fill(conn, queue, 200)
    conn.consume(1, queue, no_ack=True)
    fill(conn, queue, 200, 200)
    for n in range(400):
        conn.deliver(1, str(n), delivery_tag=n + 1)


@case
def prefetch_counts_for_each_later_consumer():
    conn = connect()
    queue = conn.queue(1)
    conn.rpc(1, 'basic.qos', prefetch_count=2)
    conn.consume(1, queue, consumer_tag='two')
    conn.rpc(1, 'basic.qos', prefetch_count=3)
    conn.consume(1, queue, consumer_tag='three')
    fill(conn, queue, 10)
    tags = {'two': [], 'three': []}
    for _ in range(5):
        got = conn.deliver(1)
        tags[got.consumer_tag].append(got.delivery_tag)
    equal((len(tags['two']), len(tags['three'])), (2, 3), 'deliveries')
    nothing_more(conn, 1, queue)
    for tag, count in (('two', 2), ('three', 3), ('two', 1)):
        numbers = [tags[tag].pop(0) for _ in range(min(count, len(tags[tag])))]
        for number in numbers:
            conn.method(1, 'basic.ack', delivery_tag=number)
        for _ in numbers:
            got = conn.deliver(1)
            equal(got.consumer_tag, tag, 'consumer')
            tags[tag].append(got.delivery_tag)
        nothing_more(conn, 1, queue)
        if conn.passive(1, queue)[0] == 0:
            break


@case
def global_prefetch_is_shared_by_the_channel():
    conn = connect(channels=2)
    first, second = conn.queue(1), conn.queue(1)
    conn.rpc(2, 'basic.qos', prefetch_count=3, global_=True)
    conn.consume(2, first)
    conn.consume(2, second)
    fill(conn, first, 5)
    fill(conn, second, 5)
    tags = [conn.deliver(2).delivery_tag for _ in range(3)]
    nothing_more(conn, 1, first)
    nothing_more(conn, 1, second)
    equal(conn.passive(1, first)[0] + conn.passive(1, second)[0], 7, 'ready messages')
    conn.method(2, 'basic.ack', delivery_tag=tags[-1], multiple=True)
    tags = [conn.deliver(2).delivery_tag for _ in range(3)]
    nothing_more(conn, 1, first)
    nothing_more(conn, 1, second)
    conn.rpc(2, 'basic.qos', prefetch_count=0, global_=True)  # no limit: the rest comes
    for _ in range(4):
        conn.deliver(2)


@case
def both_prefetch_limits_hold_together():
    conn = connect(channels=2)
    queue = conn.queue(1)
    conn.rpc(2, 'basic.qos', prefetch_count=2)
    conn.rpc(2, 'basic.qos', prefetch_count=3, global_=True)
    conn.consume(2, queue, consumer_tag='a')
    conn.consume(2, queue, consumer_tag='b')
    fill(conn, queue, 10)
    for _ in range(3):
        conn.deliver(2)
    nothing_more(conn, 1, queue)
    conn.counts(1, queue, 7, 2)


@case
def no_ack_deliveries_do_not_count():
    conn = connect()
    queue = conn.queue(1)
    conn.rpc(1, 'basic.qos', prefetch_count=1)
    conn.consume(1, queue, no_ack=True)
    fill(conn, queue, 20)
    for n in range(20):
        conn.deliver(1, str(n))


@case
def a_get_does_not_use_up_the_prefetch_of_a_consumer():
    conn = connect()
    queue = conn.queue(1)
    fill(conn, queue, 3)
    conn.rpc(1, 'basic.qos', prefetch_count=1)
    conn.rpc(1, 'basic.get', queue=queue)
    conn.consume(1, queue)
    conn.deliver(1, '1')
    nothing_more(conn, 1, queue)


@case
def requeueing_and_rejecting_free_the_prefetch():
    conn = connect()
    queue = conn.queue(1)
    conn.rpc(1, 'basic.qos', prefetch_count=1)
    conn.consume(1, queue)
    fill(conn, queue, 3)
    tag = conn.deliver(1, '0').delivery_tag
    conn.method(1, 'basic.reject', delivery_tag=tag)
    tag = conn.deliver(1, '1').delivery_tag
    conn.method(1, 'basic.nack', delivery_tag=tag, requeue=True)
    conn.deliver(1, '1', redelivered=True)


@case
def higher_priority_is_served_first_until_its_prefetch_is_full():
    conn = connect(channels=4)
    queue = conn.queue(1)
    for channel, tag, arguments in ((2, 'low', {'x-priority': -5}), (3, 'high', {'x-priority': 10}),
                                    (4, 'none', {})):
        conn.rpc(channel, 'basic.qos', prefetch_count=2)
        conn.consume(channel, queue, consumer_tag=tag, arguments=arguments)
    got = []
    for n in range(6):
        conn.publish(1, '', queue, str(n))
        got.append(conn.deliver(body=str(n)).consumer_tag)
    equal(got, ['high', 'high', 'none', 'none', 'low', 'low'], 'consumers')
    conn.method(3, 'basic.ack', delivery_tag=1)
    conn.method(2, 'basic.ack', delivery_tag=2, multiple=True)
    conn.fence(2, queue)
    conn.fence(3, queue)
    conn.publish(1, '', queue, '6')
    equal(conn.deliver(body='6').consumer_tag, 'high', 'consumer')


@case
def consumers_of_the_same_priority_take_turns():
    conn = connect()
    queue = conn.queue(1)
    for tag, priority in (('low', 0), ('a', 1), ('b', 1)):
        conn.consume(1, queue, consumer_tag=tag, no_ack=True, arguments={'x-priority': priority})
    got = []
    for n in range(6):
        conn.publish(1, '', queue, 'x')
        got.append(conn.deliver(1).consumer_tag)
    assert got in (['a', 'b'] * 3, ['b', 'a'] * 3), 'consumers %s' % got


@case
def a_priority_is_an_integer():
    conn = connect()
    queue = conn.queue(1)
    refuse(conn, 406, "PRECONDITION_FAILED - invalid arg 'x-priority' for queue '%s' in vhost '/': "
           '"expected integer, got longstr"' % queue, 'basic.consume', queue=queue,
           arguments={'x-priority': 'high'})


@case
def an_exclusive_consumer_is_alone():
    conn, stranger = connect(), connect()
    queue = conn.queue(1, durable=False)
    text = "ACCESS_REFUSED - queue '%s' in vhost '/' in exclusive use" % queue
    tag = conn.consume(1, queue, exclusive=True)
    for other in (conn, stranger):
        other.open_channel(2)
        refuse(other, 403, text, 'basic.consume', channel=2, queue=queue)
        refuse(other, 403, text, 'basic.consume', channel=2, queue=queue, exclusive=True)
    conn.rpc(1, 'basic.cancel', consumer_tag=tag)
    stranger.consume(2, queue)
    refuse(conn, 403, text, 'basic.consume', queue=queue, exclusive=True)


@case
def a_tag_in_use_is_530():
    conn = connect(channels=2)
    queue = conn.queue(1)
    conn.consume(1, queue, consumer_tag='t')
    conn.consume(2, queue, consumer_tag='t')  # tags are per channel
    hard(conn, 530, "NOT_ALLOWED - attempt to reuse consumer tag 't'", 'basic.consume', queue=queue,
         consumer_tag='t')


@case
def a_cancelled_tag_is_free():
    conn = connect()
    queue = conn.queue(1)
    for n in range(3):
        conn.consume(1, queue, consumer_tag='t', no_ack=True)
        conn.publish(1, '', queue, str(n))
        conn.deliver(1, str(n), consumer_tag='t')
        equal(conn.rpc(1, 'basic.cancel', consumer_tag='t').consumer_tag, 't', 'tag')


@case
def cancelling_an_unknown_tag_succeeds():
    conn = connect()
    equal(conn.rpc(1, 'basic.cancel', consumer_tag='nobody').consumer_tag, 'nobody', 'tag')


@case
def after_cancel_deliveries_stop_and_unacknowledged_ones_stay():
    conn = connect()
    queue = conn.queue(1)
    conn.rpc(1, 'basic.qos', prefetch_count=2)
    fill(conn, queue, 4)
    conn.consume(1, queue, consumer_tag='t')
    tags = [conn.deliver(1).delivery_tag for _ in range(2)]
    conn.rpc(1, 'basic.cancel', consumer_tag='t')
    conn.method(1, 'basic.ack', delivery_tag=tags[0])
    conn.fence(1, queue)
    conn.counts(1, queue, 2, 0)
    conn.method(1, 'basic.nack', delivery_tag=tags[1], requeue=True)
    equal(conn.drain(1, queue), [b'1', b'2', b'3'], 'queue')


@case
def a_consumer_that_does_not_read_holds_up_no_one_else():
    conn, lazy = connect(channels=2), connect()
    queue = conn.queue(1, durable=False)
    lazy.consume(1, queue, consumer_tag='lazy')
    body = b'x' * 50000
    for n in range(400):
        conn.publish(1, '', queue, body)
    conn.consume(2, queue, no_ack=True)
    for _ in range(10):
        conn.publish(1, '', queue, body)
    # Half of what is new at least is for the one that reads.
    for _ in range(5):
        conn.deliver(2)
    lazy.close_socket()


run_cases()
