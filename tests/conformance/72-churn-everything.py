"""Everything that comes goes again: connections, channels, queues, memory."""
import random
import threading

from raw import *
from node import Node

HAVE = 'ringtail' if BINARY else 'no program'


def start(*flags, **options):
    return Node(BINARY, *flags, slow=SLOW, **options)


def descriptors(node):
    return len(os.listdir('/proc/%d/fd' % node.pid))


def reset(conn):
    conn.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    conn.close_socket()


def until(condition, conn, what):
    """Awaits a condition; each try is a round trip on `conn`."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, what
        conn.rpc(1, 'basic.qos')


@case(only=HAVE)
def connections_that_end_in_any_state_leave_nothing():
    chance = random.Random(71)
    script = HEADER + b''.join(frame(METHOD, channel, encode_method(name, **fields))
                               for channel, name, fields in (
        (0, 'connection.start-ok', {'mechanism': 'PLAIN', 'response': plain()}),
        (0, 'connection.tune-ok', {'channel_max': 10, 'frame_max': 131072}),
        (0, 'connection.open', {'virtual_host': '/'}),
        (1, 'channel.open', {}),
        (1, 'queue.declare', {'exclusive': True}),
        (1, 'basic.consume', {'no_ack': True}),
        (1, 'basic.publish', {'routing_key': 'nowhere', 'mandatory': True})))
    script += content(1, b'x' * 500) + frame(METHOD, 0, encode_method('connection.close'))
    with start('--log-level', 'none') as node:
        witness = connect(port=node.port)
        connect(port=node.port).close()  # what is made once is made
        before = descriptors(node)
        for number in range(600):
            conn = dial(port=node.port)
            if number % 5 == 4:
                conn.send(bytes(chance.randrange(256) for _ in range(chance.randrange(1, 100))))
            else:
                conn.send(script[:chance.randrange(len(script) + 1)])
            (reset if number % 2 else Conn.close_socket)(conn)
        until(lambda: descriptors(node) <= before + 2, witness,
              '%d descriptors before, %d after' % (before, descriptors(node)))
        equal(node.stop(), 0, 'exit code')


@case(only=HAVE)
def exclusive_queues_go_with_connections_that_are_reset():
    with start() as node:
        witness = connect(port=node.port)
        names = []
        for _ in range(20):
            conn = connect(port=node.port)
            names += [conn.queue(1) for _ in range(5)]
            reset(conn)
        deadline = time.monotonic() + DEADLINE
        while names:
            witness.method(1, 'queue.declare', queue=names[-1], passive=True)
            got = witness.expect('channel.close', 1)
            witness.method(1, 'channel.close-ok')
            witness.open_channel(1)
            if got.reply_code == 404:
                names.pop()
            assert time.monotonic() < deadline, '%d exclusive queues are left' % len(names)


@case(only=HAVE)
def a_channel_forgets_queues_that_were_deleted():
    with start() as node:
        conn = connect(port=node.port)

        def declare_and_delete(count):
            for number in range(count):
                conn.method(1, 'queue.declare', queue='q%d' % number, nowait=True)
                conn.method(1, 'queue.delete', queue='q%d' % number, nowait=True)
                if number % 100 == 99:
                    conn.rpc(1, 'basic.qos')
        declare_and_delete(1000)
        before = node.rss_kib()
        declare_and_delete(6000)
        grown = node.rss_kib() - before
        assert SLOW != 1 or grown < 4096, '6000 deleted queues hold %d KiB' % grown


@case(only=HAVE)
def channels_that_open_and_close_leave_nothing():
    with start() as node:
        conn = connect(port=node.port)
        pair = (frame(METHOD, 2, encode_method('channel.open'))
                + frame(METHOD, 2, encode_method('channel.close')))

        def churn(count):
            for _ in range(count // 500):
                conn.send(pair * 500)
                for _ in range(500):
                    conn.expect('channel.open-ok', 2)
                    conn.expect('channel.close-ok', 2)
        churn(1000)
        before = node.rss_kib()
        churn(10000)
        grown = node.rss_kib() - before
        assert SLOW != 1 or grown < 1024, '10000 closed channels hold %d KiB' % grown


@case(only=HAVE)
def memory_of_a_long_queue_goes_back_to_the_kernel():
    with start() as node:
        conn = connect(port=node.port)
        queue = conn.queue(1)
        message = frame(METHOD, 1, encode_method('basic.publish', routing_key=queue)) + content(
            1, b'x' * 100)
        for _ in range(400):
            conn.send(message * 1000)
        conn.counts(1, queue, 400000)
        full = node.rss_kib()
        conn.rpc(1, 'queue.purge', queue=queue)
        if SLOW == 1:
            until(lambda: node.rss_kib() < full // 3, conn,
                  '%d KiB resident with 400000 messages, %d KiB without' % (
                      full, node.rss_kib()))


@case(only=HAVE)
def sigterm_under_load():
    with start() as node:
        conns = [connect(port=node.port) for _ in range(4)]
        queue = conns[0].queue(1, durable=False, queue='load')
        data = (frame(METHOD, 1, encode_method('basic.publish', routing_key=queue))
                + content(1, b'x' * 100)) * 200
        threads, codes = [], []

        def write(conn):
            try:
                while True:
                    conn.send(data)
            except (Eof, AssertionError):
                pass  # the node has closed

        def read(conn):
            while True:
                got = conn.read()
                if got.name == 'connection.close':
                    codes.append(got.reply_code)
                    conn.method(0, 'connection.close-ok')
                    return
        for conn in conns:
            conn.consume(1, queue, no_ack=True)
        for conn in conns:
            threads += [threading.Thread(target=work, args=(conn,), daemon=True)
                        for work in (write, read)]
        for thread in threads:
            thread.start()
        connect(port=node.port).rpc(1, 'basic.qos')
        equal(node.stop(), 0, 'exit code')
        for thread in threads:
            thread.join(DEADLINE)
        # Whoever is far behind with reading may be cut off before the close reaches it.
        assert set(codes) <= {320}, codes


run_cases()
