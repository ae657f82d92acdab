"""A data directory that outlives its nodes, for scripts that stop a node and start the next one."""
import hashlib
import os
import select
import struct
import tempfile
import time

from node import Node
from raw import BINARY, DEADLINE, SLOW, close_all, connect, equal, properties

HAVE = 'ringtail' if BINARY else 'no program'
PERSISTENT = properties(delivery_mode=2)
_DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'


class Lasting:
    """`with Lasting() as kept:` starts a node; kept.again() ends it and starts another."""

    def __init__(self, *flags, **options):
        self._dir = tempfile.TemporaryDirectory(prefix='ringtail-lasting-')
        self.flags, self.options = flags, options
        self.path = self._dir.name + '/data'
        self.node = None

    def start(self, *flags, **options):
        self.node = Node(BINARY, *(flags or self.flags), slow=SLOW, data_dir=self.path,
                         logs_to=self._dir.name + '/output', **(options or self.options))
        self.node.__enter__()
        return self.node

    def stop(self, kill=False):
        if kill:
            self.node.process.kill()
            self.node.process.wait()
            return
        self.node.process.terminate()
        close_all()  # nobody answers its connection.close, and it need not wait for that
        equal(self.node.process.wait(20 * SLOW), 0, 'exit code')

    def again(self, *flags, kill=False, **options):
        """A connection to the node that follows."""
        self.stop(kill)
        self.start(*flags, **options)
        return self.connect()

    def connect(self, **options):
        return connect(port=self.node.port, **options)

    def log(self):
        with open(self._dir.name + '/output', encoding='utf-8', errors='replace') as log:
            return log.read()

    def queue_path(self, queue, vhost='/'):
        return '%s/queues/%s' % (self.path, directory_name(queue, vhost))

    def segments(self, queue):
        """Paths of the queue's segments, ascending; none where it has no directory."""
        path = self.queue_path(queue)
        names = sorted(os.listdir(path)) if os.path.isdir(path) else []
        return [path + '/' + name for name in names if name.endswith('.seg')]

    def __enter__(self):
        try:
            self.start()
        except AssertionError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.node:
            self.node.__exit__()
        self._dir.cleanup()


def wait_for(what, condition):
    """Waits until the condition holds: for what the node does on its own, in files."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, what
        select.select([], [], [], 0.01)


def directory_name(queue, vhost='/'):
    """RabbitMQ 3.6's name of a queue's directory, made here from the term's grammar: the MD5 of
    term_to_binary({resource, VHost, queue, Name}) in base 36."""
    def atom(text):
        return b'd' + struct.pack('>H', len(text)) + text

    def binary(text):
        data = text.encode()
        return b'm' + struct.pack('>I', len(data)) + data
    term = b'\x83h\x04' + atom(b'resource') + binary(vhost) + atom(b'queue') + binary(queue)
    number, out = int.from_bytes(hashlib.md5(term).digest(), 'big'), ''
    while number:
        number, digit = divmod(number, 36)
        out = _DIGITS[digit] + out
    return out or '0'


def confirmed(conn, channel, count):
    """Awaits that many confirms on a channel in confirm mode, all of them positive. `conn.acked` is
    the highest tag so far."""
    acked = getattr(conn, 'acked', {})
    conn.acked = acked
    wanted = acked.get(channel, 0) + count
    open_tags = set(range(acked.get(channel, 0) + 1, wanted + 1))
    while open_tags:
        got = conn.expect('basic.ack', channel, seconds=20 * SLOW)
        if got.multiple:
            open_tags = {tag for tag in open_tags if tag > got.delivery_tag}
        else:
            open_tags.remove(got.delivery_tag)
    acked[channel] = wanted


def publish_all(conn, channel, messages):
    """(exchange, key, body, properties) each, and their confirms."""
    if channel not in getattr(conn, 'confirming', set()):
        conn.rpc(channel, 'confirm.select')
        conn.confirming = getattr(conn, 'confirming', set()) | {channel}
    at = 0
    while at < len(messages):  # in parts, so that neither side's socket fills up
        part = messages[at:at + 500]
        for exchange, key, body, props in part:
            conn.publish(channel, exchange, key, body, props)
        confirmed(conn, channel, len(part))
        at += len(part)


def publish(conn, channel, queue, bodies, props=PERSISTENT):
    publish_all(conn, channel, [('', queue, body, props) for body in bodies])


def durable(conn, channel, queue, **arguments):
    """Declares a durable queue; x_max_length=5 means the argument x-max-length."""
    conn.rpc(channel, 'queue.declare', queue=queue, durable=True,
             arguments={name.replace('_', '-'): value for name, value in arguments.items()})
    return queue


def take_all(conn, channel, queue, no_ack=True):
    """The messages of the queue, by basic.get."""
    messages = []
    while True:
        got = conn.rpc(channel, 'basic.get', queue=queue, no_ack=no_ack)
        if got.name == 'basic.get-empty':
            return messages
        messages.append(got)


def bodies(messages):
    return [message.body.decode() for message in messages]
