"""The memory watermark: publishers wait, consumers go on, nothing is lost."""
import threading

from raw import *
from node import Node

HAVE = 'ringtail' if BINARY else 'no program'
COUNT, SIZE = 20000, 1000
LIMIT = ('--memory-high-watermark', '8MiB')


def start(*flags, **options):
    return Node(BINARY, *flags, slow=SLOW, **options)


def publish_until_blocked(conn, queue, count=COUNT):
    """Publishes `count` messages of SIZE bytes in a thread; returns when connection.blocked came.
    What came before it is in the result's `early`."""
    data = (frame(METHOD, 1, encode_method('basic.publish', routing_key=queue))
            + content(1, b'x' * SIZE)) * 500

    def run():
        try:
            for _ in range(count // 500):
                send_whole(conn, data)
        except OSError:
            pass  # the case closed the socket
    sender = threading.Thread(target=run, daemon=True)
    sender.early = []
    sender.start()
    while True:
        got = conn.read()
        if got.name == 'connection.blocked':
            equal((got.channel, got.reason), (0, 'low on memory'), 'connection.blocked')
            return sender
        sender.early.append(got)


def publish_until_told(conn, queue):
    """Publishes one by one until connection.blocked comes: the shards of a node hear of the alarm
    one after the other. How many there were."""
    count = 0
    while True:
        count += 1
        conn.publish(1, '', queue, 'y')
        conn.method(1, 'basic.qos')
        if conn.read().name == 'connection.blocked':
            return count


def expect_past_replies(conn, name):
    """`name`, after replies to what publish_until_told() asked last."""
    got = conn.read()
    while got.name == 'basic.qos-ok':
        got = conn.read()
    equal(got.name, name, 'method')


def hang_up(conn):
    try:
        conn.socket.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the broker was faster
    conn.close_socket()


@case(only=HAVE)
def publishers_wait_consumers_go_on_and_nothing_is_lost():
    with start(*LIMIT) as node:
        publisher, other, consumer = (connect(port=node.port) for _ in range(3))
        queue, second = (consumer.queue(1, unique('q'), durable=True) for _ in range(2))
        publisher.rpc(1, 'confirm.select')
        sender = publish_until_blocked(publisher, queue)
        ready = consumer.passive(1, queue)[0]
        assert 4000 < ready < COUNT, '%d messages were taken' % ready
        waiting = publish_until_told(other, second)
        consumer.rpc(1, 'basic.qos', prefetch_count=200)
        tag = consumer.consume(1, queue)
        for count in range(1, COUNT + 1):
            got = consumer.read()
            equal((got.name, got.redelivered), ('basic.deliver', False), 'delivery')
            if count % 100 == 0:
                consumer.method(1, 'basic.ack', delivery_tag=got.delivery_tag, multiple=True)
        confirmed, told = 0, ['connection.blocked']
        for got in sender.early:
            confirmed = max(confirmed, got.delivery_tag)
        while confirmed < COUNT or told[-1] == 'connection.blocked':
            got = publisher.read()
            if got.name == 'basic.ack':
                confirmed = max(confirmed, got.delivery_tag)
            else:
                assert got.name != told[-1], 'told twice: %s' % got.name
                told.append(got.name)
        expect_past_replies(other, 'connection.unblocked')
        consumer.counts(1, second, waiting)
        consumer.rpc(1, 'basic.cancel', consumer_tag=tag)
        consumer.counts(1, queue, 0)
        sender.join(DEADLINE)


@case(only=HAVE)
def blocked_publishers_that_leave():
    with start(*LIMIT) as node:
        conn, first = connect(port=node.port), connect(port=node.port)
        queue = conn.queue(1, unique('q'), durable=True)
        more = [connect(port=node.port) for _ in range(6)]
        owned = [publisher.queue(1) for publisher in more]
        sender = publish_until_blocked(first, queue)
        for publisher in more:
            publish_until_told(publisher, queue)
        hang_up(first)
        sender.join(DEADLINE)
        for index, publisher in enumerate(more):
            if index % 2:  # a reset
                publisher.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                            struct.pack('ii', 1, 0))
            publisher.close_socket()
        conn.rpc(1, 'queue.purge', queue=queue)
        # Who was blocked is read again: their ends are seen, their exclusive queues go.
        deadline = time.monotonic() + DEADLINE
        while owned:
            conn.method(1, 'queue.declare', queue=owned[-1], passive=True)
            got = conn.expect('channel.close', 1)
            conn.method(1, 'channel.close-ok')
            conn.open_channel(1)
            if got.reply_code == 404:
                owned.pop()
            assert time.monotonic() < deadline, 'exclusive queues outlive their connections'
        fresh = connect(port=node.port)
        fresh.publish(1, '', queue, 'goes through')
        fresh.rpc(1, 'basic.qos')


@case(only=HAVE)
def a_client_that_cannot_hear_of_it_waits_in_silence():
    with start(*LIMIT) as node:
        conn, loud = connect(port=node.port), connect(port=node.port)
        queue = conn.queue(1, unique('q'), durable=True)
        sender = publish_until_blocked(loud, queue)
        quiet = connect(port=node.port, capabilities={})
        quiet.publish(1, '', queue, 'last')
        quiet.method(1, 'basic.qos')
        conn.rpc(1, 'queue.purge', queue=queue)
        quiet.expect('basic.qos-ok', 1)  # nothing before it
        hang_up(loud)
        sender.join(DEADLINE)


@case(only=HAVE)
def sigterm_reaches_blocked_publishers():
    with start(*LIMIT) as node:
        publisher = connect(port=node.port)
        queue = publisher.queue(1, unique('q'), durable=True)
        sender = publish_until_blocked(publisher, queue)
        node.process.terminate()
        publisher.expect_close(0, 320, 'CONNECTION_FORCED', starts=True, answer=False)
        sender.join(DEADLINE)
        publisher.method(0, 'connection.close-ok')
        equal(node.stop(), 0, 'exit code')


@case(only=HAVE)
def the_entries_of_many_queues_count_too():
    """One small message in very many queues is mostly entries."""
    with start(*LIMIT) as node:
        conn, publisher = connect(port=node.port), connect(port=node.port)
        for number in range(200):
            conn.method(1, 'queue.declare', queue='many.%d' % number, nowait=True)
            conn.method(1, 'queue.bind', queue='many.%d' % number, exchange='amq.fanout',
                        nowait=True)
        conn.rpc(1, 'basic.qos')
        publish = (frame(METHOD, 1, encode_method('basic.publish', exchange='amq.fanout'))
                   + content(1, b'x')) * 500
        blocked = False
        for _ in range(16):  # 8000 messages: 1 MB, and 1.6 million entries: 25 MB
            publisher.send(publish)
            publisher.method(1, 'basic.qos')
            got = publisher.read()
            blocked = blocked or got.name == 'connection.blocked'
            if blocked:
                break
        assert blocked, '1.6 million entries in 200 queues do not count as memory'


run_cases()
