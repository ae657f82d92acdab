"""What several consumers do to one queue keeps its order and loses nothing."""
import random
import threading

from raw import *
from node import Node

HAVE = 'ringtail' if BINARY else 'no program'


def start(*flags, **options):
    return Node(BINARY, *flags, slow=SLOW, **options)


def reset(conn):
    conn.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    conn.close_socket()


@case
def a_global_prefetch_keeps_the_order_of_other_consumers():
    limited, other = connect(), connect()
    queue = limited.queue(1, unique('q'), auto_delete=True)
    limited.rpc(1, 'basic.qos', prefetch_count=1, global_=True)
    for _ in range(2):
        limited.consume(1, queue)
    other.consume(1, queue, no_ack=True)
    publisher = connect()
    count = 300
    publisher.send(b''.join(frame(METHOD, 1, encode_method('basic.publish', routing_key=queue))
                            + content(1, b'%d' % number) for number in range(count)))
    first = int(limited.deliver(1).body)
    got = []
    while len(got) < count - 1:
        message = other.deliver(1)
        equal(message.redelivered, False, 'redelivered')
        got.append(int(message.body))
    equal(sorted(got + [first]), list(range(count)), 'messages')
    late = [b for a, b in zip(got, got[1:]) if b < a]
    assert not late, 'first deliveries out of order: %s came after larger ones' % late[:5]


class Account:
    """What became of each message, over all clients of a case."""

    def __init__(self):
        self.lock, self.confirmed, self.seen, self.acked, self.faults = (
            threading.Lock(), set(), set(), set(), [])

    def delivered(self, key, redelivered):
        with self.lock:
            if key in self.acked:
                self.faults.append('%s comes after it was acknowledged' % key)
            if key in self.seen and not redelivered:
                self.faults.append('%s comes again without redelivered' % key)
            self.seen.add(key)


def publish_confirmed(conn, queue, name, count, account):
    conn.rpc(1, 'confirm.select')
    conn.send(b''.join(frame(METHOD, 1, encode_method('basic.publish', routing_key=queue))
                       + content(1, b'%s.%d' % (name.encode(), number))
                       for number in range(1, count + 1)))
    awaited = set(range(1, count + 1))
    while awaited:
        got = conn.expect('basic.ack', 1)
        done = ({n for n in awaited if n <= got.delivery_tag} if got.multiple
                else {got.delivery_tag})
        assert done <= awaited, 'confirmed twice: %s' % sorted(done - awaited)[:5]
        awaited -= done
    with account.lock:
        account.confirmed.update('%s.%d' % (name, n) for n in range(1, count + 1))


def consume_some(port, queue, chance, account, total):
    """One connection of a consumer: acks, requeues, ends somehow. False: all is done."""
    conn, held, last = connect(port=port), [], {}
    conn.rpc(1, 'basic.qos', prefetch_count=chance.choice((1, 10, 100)))
    conn.method(1, 'basic.consume', queue=queue, nowait=True)
    for _ in range(chance.randrange(20, 400)):
        while not conn.buffer:
            with account.lock:
                if len(account.acked) == total or account.faults:
                    return False
            conn.socket.settimeout(0.05)
            try:
                data = conn.socket.recv(262144)
            except socket.timeout:
                continue
            assert data, 'the broker has ended the connection'
            conn.buffer += data
        got = conn.deliver(1)
        key = got.body.decode()
        account.delivered(key, got.redelivered)
        name, number = key.split('.')
        if not got.redelivered:
            if last.get(name, 0) > int(number):
                account.faults.append('%s after %d' % (key, last[name]))
            last[name] = int(number)
        held.append((got.delivery_tag, key))
        act = chance.random()
        if act < 0.2:
            tag, _ = held.pop(chance.randrange(len(held)))
            conn.method(1, chance.choice(('basic.nack', 'basic.reject')), delivery_tag=tag,
                        requeue=True)
        elif act < 0.5 or len(held) == 1:
            tag, key = held.pop(chance.randrange(len(held)))
            conn.method(1, 'basic.ack', delivery_tag=tag)
            with account.lock:
                account.acked.add(key)
    # What is not acknowledged here comes again, as redelivered.
    conn.method(1, 'basic.qos')
    while True:
        got = conn.read()
        if got.name == 'basic.qos-ok':
            break
        account.delivered(got.body.decode(), got.redelivered)
    chance.choice((reset, Conn.close_socket, Conn.close))(conn)
    return True


@case(only=HAVE)
def every_message_is_accounted_for():
    producers, count = 3, 800
    account, total = Account(), producers * count
    with start() as node:
        setup = connect(port=node.port)
        queue = setup.queue(1, 'account', durable=True)

        def consumer(seed):
            chance = random.Random(seed)
            try:
                while consume_some(node.port, queue, chance, account, total):
                    pass
            except (AssertionError, Eof, OSError) as error:
                account.faults.append('consumer: %s' % error)

        threads = [threading.Thread(target=consumer, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        try:
            for number in range(producers):
                publish_confirmed(connect(port=node.port), queue, 'p%d' % number, count, account)
        finally:
            deadline = time.monotonic() + 3 * DEADLINE
            for thread in threads:
                thread.join(max(0.1, deadline - time.monotonic()))
            if any(thread.is_alive() for thread in threads):
                account.faults.append('%d of %d are acknowledged, no more comes' % (
                    len(account.acked), total))
        assert not account.faults, '; '.join(account.faults[:3])
        equal(account.acked, account.confirmed, 'what was consumed')
        for thread in threads:
            thread.join()
        close_all()
        connect(port=node.port).counts(1, queue, 0)


run_cases()
