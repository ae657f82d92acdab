"""Peers that do not read, or ask for more than they read: memory stays bounded, others go on."""
import threading

from raw import *
from node import Node

HAVE = 'ringtail' if BINARY else 'no program'
MIB = 1024  # KiB


def start(*flags, **options):
    return Node(BINARY, *flags, slow=SLOW, **options)


def publishes(queue, size, count):
    return (frame(METHOD, 1, encode_method('basic.publish', routing_key=queue))
            + content(1, b'x' * size)) * count


def fill(conn, queue, size, count):
    for _ in range(count // 500):
        conn.send(publishes(queue, size, 500))
    conn.counts(1, queue, count // 500 * 500)


def rss_at_most(node, kib, what):
    """Resident memory says nothing under a sanitizer."""
    if SLOW == 1:
        got = node.rss_kib()
        assert got <= kib, '%s: %d KiB resident, allowed are %d' % (what, got, kib)


def answers(node):
    """Another client gets what it asks for."""
    other = connect(port=node.port)
    queue = other.queue(1)
    other.consume(1, queue, no_ack=True)
    other.publish(1, '', queue, 'still here')
    other.deliver(1, 'still here')
    other.close()


def send_in_background(conn, data, times):
    """Sends until all is sent or the connection ends; join() the result."""
    def run():
        try:
            for _ in range(times):
                send_whole(conn, data)
        except OSError:
            pass  # the case closes the socket under it
    sender = threading.Thread(target=run, daemon=True)
    sender.start()
    return sender


def hang_up(conn):
    """Ends a connection that another thread writes to."""
    try:
        conn.socket.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the broker was faster


@case(only=HAVE)
def consumers_that_do_not_read():
    with start('--memory-high-watermark', '1GiB') as node:
        filler = connect(port=node.port)
        queue = filler.queue(1, durable=True)
        fill(filler, queue, 2000, 20000)
        for no_ack in (False, True):
            mute = connect(port=node.port)
            for _ in range(10):
                mute.method(1, 'basic.consume', queue=queue, no_ack=no_ack, nowait=True)
            mute.read_frame()  # deliveries have begun
            answers(node)
            deadline = time.monotonic() + DEADLINE
            ready, consumers = filler.passive(1, queue)
            while consumers < 10:
                assert time.monotonic() < deadline, '%d consumers of 10' % consumers
                ready, consumers = filler.passive(1, queue)
            assert ready > 5000, '%d messages left of 20000' % ready
            rss_at_most(node, 100 * MIB, '40 MB queued, 10 consumers that do not read')
            hang_up(mute)
            mute.close_socket()
            if not no_ack:
                filler.counts(1, queue, 20000)


@case(only=HAVE)
def requests_without_reading_the_replies():
    with start('--memory-high-watermark', '1GiB') as node:
        conn = connect(port=node.port)
        queue = conn.queue(1, durable=True)
        fill(conn, queue, 4000, 1000)
        mute = connect(port=node.port)
        ask = frame(METHOD, 1, encode_method('basic.get', queue=queue)) + frame(
            METHOD, 1, encode_method('basic.nack', multiple=True, requeue=True))
        sender = send_in_background(mute, ask * 500, 100)
        mute.read_frame()
        for _ in range(20):
            answers(node)
        rss_at_most(node, 200 * MIB, '50000 messages of 4 KB asked for and not read')
        hang_up(mute)
        sender.join(DEADLINE)
        # A node that reads nothing because nothing is taken does not see a half-closed peer.
        mute.close_socket()
        conn.counts(1, queue, 1000)


@case(only=HAVE)
def a_consumer_that_starts_again_and_again_without_reading():
    with start('--memory-high-watermark', '1GiB') as node:
        conn = connect(port=node.port)
        queue = conn.queue(1, durable=True)
        fill(conn, queue, 1000, 1000)
        mute = connect(port=node.port)
        again = b''.join(frame(METHOD, 1, encode_method(name, **fields)) for name, fields in (
            ('basic.consume', {'queue': queue, 'consumer_tag': 't', 'nowait': True}),
            ('basic.cancel', {'consumer_tag': 't', 'nowait': True}),
            ('basic.nack', {'multiple': True, 'requeue': True})))
        sender = send_in_background(mute, again * 100, 5)
        mute.read_frame()
        for _ in range(20):
            answers(node)
        rss_at_most(node, 200 * MIB, '1 MB in the queue, 500 consumers that came and went')
        hang_up(mute)
        sender.join(DEADLINE)
        conn.counts(1, queue, 1000)


@case(only=HAVE)
def more_frames_than_answers_do_not_cost_more_each():
    """The processor time of pipelined declares grows with their number, not with its square."""
    def seconds_of_cpu(node):
        with open('/proc/%d/stat' % node.pid, encoding='ascii') as stat:
            fields = stat.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    with start('--shards', '1') as node:
        conn = connect(port=node.port)
        queue = conn.queue(1)
        bind = frame(METHOD, 1, encode_method('queue.bind', queue=queue, exchange='amq.direct',
                                              routing_key='k' * 40, nowait=True))
        costs = []
        for depth in (500, 20000):
            before = seconds_of_cpu(node)
            for _ in range(20000 // depth):
                conn.send(bind * depth)
                conn.method(1, 'basic.qos')
                conn.expect('basic.qos-ok', 1, 4 * DEADLINE)
            costs.append(seconds_of_cpu(node) - before)
        assert costs[1] < 4 * costs[0] + 0.1 * SLOW, \
            '20000 binds: %.2f s in parts of 500, %.2f s in one part' % tuple(costs)


run_cases()
