"""x-delivery-limit: how often a message may come back. RabbitMQ has it on quorum queues only, we
have it on every queue."""
from raw import *

KINDS = [({'durable': True}, {'x-queue-type': 'quorum'})]
KINDS += on(ringtail=[({'durable': False}, {}), ({'durable': True}, {}), ({'exclusive': True}, {})],
            rabbitmq=[])
QUORUM = KINDS[0]


def limited(conn, kind, limit, letters=None):
    flags, arguments = kind
    arguments = dict(arguments, **{'x-delivery-limit': limit})
    if letters:
        arguments.update({'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': letters})
    return conn.queue(1, arguments=arguments, **flags)


def letters_on(conn, channel=2):
    letters = conn.queue(1)
    conn.consume(channel, letters, no_ack=True)
    return letters


def deliveries(conn, kind, queue, give_back):
    """How often the one message comes on channel 3, until it is a dead letter on channel 2."""
    conn.rpc(3, 'basic.qos', prefetch_count=1)
    conn.consume(3, queue, consumer_tag='t')
    count = 0
    while True:
        got = conn.expect('basic.deliver')
        if got.channel == 2:
            conn.rpc(3, 'basic.cancel', consumer_tag='t')
            return count, got
        equal(got.redelivered, count > 0, 'redelivered')
        if kind is QUORUM:
            seen = got.properties.get('headers', {}).get('x-delivery-count')
            equal(seen, None if count == 0 else count, 'x-delivery-count')
        count += 1
        assert count < 50, 'it comes on and on'
        give_back(got.delivery_tag)


@case
def a_message_comes_once_more_than_the_limit():
    for kind in KINDS:
        for limit in (0, 1, 3):
            conn = connect(channels=3)
            queue = limited(conn, kind, limit, letters_on(conn))
            conn.publish(1, '', queue, 'x')
            count, got = deliveries(conn, kind, queue, lambda tag, c=conn: c.method(
                3, 'basic.reject', delivery_tag=tag, requeue=True))
            equal(count, limit + 1, 'deliveries')
            death = got.properties['headers']['x-death'][0]
            equal((death['reason'], death['queue'], death['count']), ('delivery_limit', queue, 1),
                  'death')
            equal(got.properties['headers']['x-first-death-reason'], 'delivery_limit', 'reason')


@case
def nack_and_a_closed_channel_count():
    for kind in KINDS:
        conn = connect(channels=3)

        def close(tag):
            if tag == 1 and state.pop('closes', None):
                conn.method(3, 'channel.close', reply_code=200)
                while conn.read().name != 'channel.close-ok':
                    pass
                conn.open_channel(3)
                conn.rpc(3, 'basic.qos', prefetch_count=1)
                conn.method(3, 'basic.consume', queue=queue, consumer_tag='t')
                conn.expect('basic.consume-ok')
            else:
                conn.method(3, 'basic.nack', delivery_tag=tag, requeue=True)

        state = {'closes': True}
        queue = limited(conn, kind, 2, letters_on(conn))
        conn.publish(1, '', queue, 'x')
        count, _ = deliveries(conn, kind, queue, close)
        equal(count, 3, 'deliveries')


@case
def get_counts_too():
    for kind in KINDS:
        conn = connect(channels=3)
        queue = limited(conn, kind, 1, letters_on(conn))
        conn.publish(1, '', queue, 'x')
        conn.counts(1, queue, 1)
        for n in range(2):
            got = conn.rpc(3, 'basic.get', queue=queue)
            equal(got.body, b'x', 'got')
            conn.method(3, 'basic.nack', delivery_tag=got.delivery_tag, requeue=True)
            if n == 0:
                conn.counts(3, queue, 1)
        conn.deliver(2, 'x')


@case
def without_a_dead_letter_exchange_it_is_dropped():
    for kind in KINDS:
        conn = connect(channels=2)
        queue = limited(conn, kind, 0)
        conn.publish(1, '', queue, 'x')
        conn.publish(1, '', queue, 'y')
        conn.counts(1, queue, 2)
        equal(conn.rpc(2, 'basic.get', queue=queue).body, b'x', 'got')
        conn.method(2, 'basic.reject', delivery_tag=1, requeue=True)
        conn.counts(1, queue, 1)
        equal(conn.drain(1, queue), [b'y'], 'queue')


@case
def a_rejection_without_requeue_is_a_rejection():
    for kind in KINDS:
        conn = connect(channels=3)
        queue = limited(conn, kind, 5, letters_on(conn))
        conn.publish(1, '', queue, 'x')
        count, got = deliveries(conn, kind, queue, lambda tag, c=conn: c.method(
            3, 'basic.reject', delivery_tag=tag))
        equal(count, 1, 'deliveries')
        equal(got.properties['headers']['x-death'][0]['reason'], 'rejected', 'reason')


run_cases()
