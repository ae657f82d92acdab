"""x-max-length, x-max-length-bytes and what x-overflow does with the rest."""
from raw import *


def limited(conn, channel=1, **arguments):
    return conn.queue(channel, exclusive=True, arguments={
        'x-' + key.replace('_', '-'): value for key, value in arguments.items()})


def lettered(conn, channel=1, **arguments):
    """A limited queue whose dead letters `channel` consumes."""
    letters = conn.queue(channel)
    conn.consume(channel, letters, no_ack=True)
    return limited(conn, channel, dead_letter_exchange='', dead_letter_routing_key=letters,
                   **arguments)


def fill(conn, queue, count, first=0, size=0, channel=1):
    for n in range(first, first + count):
        conn.publish(channel, '', queue, str(n).rjust(size))


def numbers(bodies):
    return [int(body) for body in bodies]


def answers(conn, count, channel=1, aside=None):
    """The answers to the next `count` publishes: 'a' for an ack, 'n' for a nack, by number; they
    may come in any order. Deliveries go to `aside`."""
    got = {}
    while len(got) < count:
        m = conn.read()
        if aside is not None and m.name == 'basic.deliver':
            aside.append(m)
            continue
        assert m.name in ('basic.ack', 'basic.nack') and m.channel == channel, 'got %r' % m
        first = min(n for n in range(1, 10000) if n not in got) if m.multiple else m.delivery_tag
        for n in range(first, m.delivery_tag + 1):
            got.setdefault(n, m.name[6])
    return ''.join(got[n] for n in sorted(got))


@case
def the_oldest_give_way():
    conn = connect()
    queue = limited(conn, max_length=5)
    fill(conn, queue, 20)
    conn.counts(1, queue, 5)
    equal(numbers(conn.drain(1, queue)), [15, 16, 17, 18, 19], 'queue')


@case
def dropped_messages_are_dead_lettered_in_order():
    conn = connect()
    queue = lettered(conn, max_length=5)
    fill(conn, queue, 50)
    for n in range(45):
        got = conn.deliver(1, str(n))
        death = got.properties['headers']['x-death'][0]
        equal((death['reason'], death['queue'], death['count']), ('maxlen', queue, 1), 'death')
    equal(numbers(conn.drain(1, queue)), [45, 46, 47, 48, 49], 'queue')


@case
def a_length_of_zero_keeps_nothing_that_nobody_waits_for():
    conn = connect(channels=2)
    queue = lettered(conn, max_length=0)
    conn.publish(1, '', queue, 'lost')
    conn.deliver(1, 'lost')
    conn.rpc(2, 'basic.qos', prefetch_count=1)
    conn.consume(2, queue)
    conn.publish(1, '', queue, 'awaited')
    tag = conn.deliver(2, 'awaited').delivery_tag
    conn.publish(1, '', queue, 'too many')
    conn.deliver(1, 'too many')
    conn.method(2, 'basic.ack', delivery_tag=tag)
    conn.fence(2, queue)
    conn.publish(1, '', queue, 'again')
    conn.deliver(2, 'again')


@case
def bytes_are_those_of_bodies():
    conn = connect()
    queue = limited(conn, max_length_bytes=100)
    for n in range(10):
        conn.publish(1, '', queue, str(n) * 30, properties(headers={'long': 'x' * 500}))
    equal([b[:1] for b in conn.drain(1, queue)], [b'7', b'8', b'9'], 'queue')
    for n in range(10):
        conn.publish(1, '', queue, str(n) * 50)
    equal([b[:1] for b in conn.drain(1, queue)], [b'8', b'9'], 'queue')
    for _ in range(500):
        conn.publish(1, '', queue, '')
    conn.counts(1, queue, 500)


@case
def a_body_above_the_limit_drops_all_and_itself():
    conn = connect()
    queue = lettered(conn, max_length_bytes=100)
    for body in ('a' * 40, 'b' * 40, 'c' * 101):
        conn.publish(1, '', queue, body)
    for first in 'abc':
        equal(conn.deliver(1).body[:1].decode(), first, 'dead letter')
    conn.counts(1, queue, 0, 0)


@case
def both_limits_count():
    conn = connect()
    queue = limited(conn, max_length=3, max_length_bytes=100)
    fill(conn, queue, 10, size=10)
    equal(numbers(conn.drain(1, queue)), [7, 8, 9], 'queue')
    fill(conn, queue, 10, size=45)
    equal(numbers(conn.drain(1, queue)), [8, 9], 'queue')
    queue = limited(conn, max_length=100, max_length_bytes=0)
    conn.publish(1, '', queue, '')
    conn.publish(1, '', queue, 'x')
    conn.publish(1, '', queue, '')
    equal(conn.drain(1, queue), [b''], 'queue')


@case
def unacknowledged_messages_do_not_count():
    conn = connect(channels=2)
    queue = limited(conn, max_length=3)
    fill(conn, queue, 3)
    conn.counts(1, queue, 3)
    for n in range(3):
        equal(conn.rpc(2, 'basic.get', queue=queue).body, b'%d' % n, 'got')
    fill(conn, queue, 3, first=3)
    conn.counts(1, queue, 3)
    equal(numbers(conn.drain(1, queue)), [3, 4, 5], 'queue')


@case
def putting_back_above_the_limit_drops_the_oldest():
    conn = connect(channels=2)
    queue = lettered(conn, max_length=3)
    fill(conn, queue, 3)
    conn.counts(1, queue, 3)
    for n in range(3):
        equal(conn.rpc(2, 'basic.get', queue=queue).body, b'%d' % n, 'got')
    fill(conn, queue, 2, first=3)
    conn.counts(1, queue, 2)
    conn.method(2, 'basic.nack', delivery_tag=3, multiple=True, requeue=True)
    for n in (0, 1):
        conn.deliver(1, str(n))
    conn.counts(1, queue, 3)
    equal(numbers(conn.drain(2, queue)), [2, 3, 4], 'queue')


@case
def dropped_messages_are_confirmed():
    conn = connect()
    queue = limited(conn, max_length=1)
    conn.rpc(1, 'confirm.select')
    fill(conn, queue, 10)
    equal(answers(conn, 10), 'a' * 10, 'answers')


@case
def drop_head_by_name_is_the_same():
    conn = connect()
    queue = limited(conn, max_length=2, overflow='drop-head')
    fill(conn, queue, 5)
    equal(numbers(conn.drain(1, queue)), [3, 4], 'queue')


@case
def a_limit_of_a_durable_queue_with_persistent_messages():
    conn = connect()
    queue = conn.queue(1, durable=True, arguments={'x-max-length': 3})
    conn.rpc(1, 'confirm.select')
    for n in range(10):
        conn.publish(1, '', queue, str(n), properties(delivery_mode=2))
    equal(answers(conn, 10), 'a' * 10, 'answers')
    equal(numbers(conn.drain(1, queue)), [7, 8, 9], 'queue')


# --- reject-publish ---

@case
def reject_publish_answers_by_a_nack():
    conn = connect()
    queue = limited(conn, max_length=3, overflow='reject-publish')
    conn.rpc(1, 'confirm.select')
    for n in range(6):  # one by one
        conn.publish(1, '', queue, str(n))
        conn.expect('basic.ack' if n < 3 else 'basic.nack', 1, delivery_tag=n + 1)
    equal(conn.rpc(1, 'basic.get', queue=queue, no_ack=True).body, b'0', 'got')
    conn.publish(1, '', queue, '6')
    conn.expect('basic.ack', 1, delivery_tag=7)
    equal(numbers(conn.drain(1, queue)), [1, 2, 6], 'queue')


@case
def reject_publish_in_a_burst():
    conn = connect()
    queue = limited(conn, max_length=10, overflow='reject-publish')
    conn.rpc(1, 'confirm.select')
    fill(conn, queue, 30)
    equal(answers(conn, 30), 'a' * 10 + 'n' * 20, 'answers')
    equal(numbers(conn.drain(1, queue)), list(range(10)), 'queue')


@case
def reject_publish_without_confirms_drops_the_newest():
    conn = connect()
    queue = lettered(conn, max_length=3, overflow='reject-publish')
    fill(conn, queue, 6)
    conn.counts(1, queue, 3)
    conn.fence(1, queue)  # nothing is dead-lettered
    equal(numbers(conn.drain(1, queue)), [0, 1, 2], 'queue')


@case
def reject_publish_dlx_dead_letters_what_it_refuses():
    conn = connect(channels=2)
    queue = lettered(conn, channel=2, max_length=3, overflow='reject-publish-dlx')
    conn.rpc(1, 'confirm.select')
    fill(conn, queue, 6)
    equal(answers_on(conn, 6), 'aaannn', 'answers')
    for n in (3, 4, 5):
        got = _letters.pop(0) if _letters else conn.deliver(2)
        equal(got.body, b'%d' % n, 'dead letter')
        equal(got.properties['headers']['x-death'][0]['reason'], 'maxlen', 'reason')
    equal(numbers(conn.drain(1, queue)), [0, 1, 2], 'queue')


_letters = []


def answers_on(conn, count):
    """As answers(); deliveries in between are put aside."""
    return answers(conn, count, aside=_letters)


@case
def reject_publish_returns_nothing():
    conn = connect()
    queue = limited(conn, max_length=1, overflow='reject-publish')
    conn.rpc(1, 'confirm.select')
    for n, answer in ((1, 'basic.ack'), (2, 'basic.nack')):
        conn.publish(1, '', queue, 'x', mandatory=True)
        conn.expect(answer, 1, delivery_tag=n)


@case
def one_full_queue_of_two_nacks_and_the_other_keeps():
    conn = connect()
    full = limited(conn, max_length=0, overflow='reject-publish')
    free = conn.queue(1)
    exchange = conn.exchange(1, 'fanout')
    conn.bind(1, full, exchange)
    conn.bind(1, free, exchange)
    conn.rpc(1, 'confirm.select')
    conn.publish(1, exchange, '', 'x')
    conn.expect('basic.nack', 1, delivery_tag=1)
    equal(conn.drain(1, free), [b'x'], 'the free queue')
    equal(conn.drain(1, full), [], 'the full queue')


@case
def reject_publish_by_bytes():
    conn = connect()
    queue = limited(conn, max_length_bytes=100, overflow='reject-publish')
    conn.rpc(1, 'confirm.select')
    for size in (60, 39, 2, 1, 0, 1):
        conn.publish(1, '', queue, 'x' * size)
    equal(answers(conn, 6), 'aanaan', 'answers')
    equal([len(b) for b in conn.drain(1, queue)], [60, 39, 1, 0], 'sizes')


@case
def a_message_put_back_into_a_full_queue_stays():
    conn = connect(channels=2)
    queue = limited(conn, max_length=2, overflow='reject-publish')
    fill(conn, queue, 2)
    conn.counts(1, queue, 2)
    conn.rpc(2, 'basic.get', queue=queue)
    fill(conn, queue, 1, first=2)
    conn.counts(1, queue, 2)
    conn.method(2, 'basic.nack', delivery_tag=1, requeue=True)
    conn.counts(1, queue, 3)
    equal(numbers(conn.drain(2, queue)), [0, 1, 2], 'queue')


@case
def a_waiting_consumer_is_no_room_in_a_queue_that_refuses():
    conn = connect(channels=2)
    queue = limited(conn, max_length=0, overflow='reject-publish')
    conn.rpc(1, 'confirm.select')
    conn.consume(2, queue, no_ack=True)
    conn.publish(1, '', queue, 'x')
    conn.expect('basic.nack', 1, delivery_tag=1)
    queue = limited(conn, max_length=1, overflow='reject-publish')
    conn.consume(2, queue, no_ack=True)
    for n in range(5):
        conn.publish(1, '', queue, str(n))
        got = {conn.read().name, conn.read().name}
        equal(got, {'basic.ack', 'basic.deliver'}, 'answers')


@case
def a_commit_that_a_full_queue_refuses_in_part_is_406():
    conn = connect(channels=2)
    queue = limited(conn, max_length=1, overflow='reject-publish')
    conn.rpc(1, 'tx.select')
    fill(conn, queue, 3)
    conn.method(1, 'tx.commit')
    conn.expect_close(1, 406, 'PRECONDITION_FAILED - partial tx completion', 'tx.commit')
    equal(numbers(conn.drain(2, queue)), [0], 'queue')


run_cases()
