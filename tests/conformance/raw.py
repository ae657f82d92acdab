"""AMQP 0-9-1 by hand, for the conformance scripts.

Frames are built and read here byte by byte, with a codec that shares nothing with the broker, so a
mistake cannot hide on both sides. Nothing here sleeps: a script awaits a frame, or the end of the
stream, each with a deadline. A case is a function marked @case; run_cases() runs them and prints
`ok NAME` or `not ok NAME: why`, one line each.

The broker under test comes from the environment (run.py sets it):
  CONFORMANCE_URL     amqp://user:password@host:port, default amqp://guest:guest@127.0.0.1:5672
  CONFORMANCE_BROKER  ringtail (default) or rabbitmq, the referee
  CONFORMANCE_MANAGEMENT  http://user:password@host:port of its HTTP listener; empty: unknown
  CONFORMANCE_PID     process id of the broker, if run.py started it
  CONFORMANCE_BINARY  the broker's program, for scripts that start nodes of their own
  CONFORMANCE_BUILD   where fetched client libraries lie
  CONFORMANCE_SLOW    factor for every deadline (sanitizers), default 1
"""
import select
import os
import signal
import socket
import struct
import sys
import time
import traceback
from urllib.parse import urlsplit, unquote

URL = os.environ.get('CONFORMANCE_URL', 'amqp://guest:guest@127.0.0.1:5672')
BROKER = os.environ.get('CONFORMANCE_BROKER', 'ringtail')
MANAGEMENT = os.environ.get('CONFORMANCE_MANAGEMENT', '')
PID = int(os.environ.get('CONFORMANCE_PID') or 0)
BINARY = os.environ.get('CONFORMANCE_BINARY', '')
SLOW = float(os.environ.get('CONFORMANCE_SLOW', '1'))
DEADLINE = 5.0 * SLOW        # for one awaited frame
CASE_DEADLINE = 30.0 * SLOW  # for one case

_url = urlsplit(URL)
HOST = _url.hostname or '127.0.0.1'
PORT = _url.port or 5672
USER = unquote(_url.username or 'guest')
PASSWORD = unquote(_url.password or 'guest')

HEADER = b'AMQP\x00\x00\x09\x01'
METHOD, CONTENT_HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
FRAME_END = 0xCE
NO_PROPERTIES = b'\0\0'

# class method name field:type ...   B octet, H short, L long, Q longlong, s shortstr, S longstr,
# F table, t bit. Reserved fields are written too; they default to 0, '' and {}.
_METHODS = '''
10 10 connection.start version_major:B version_minor:B server_properties:F mechanisms:S locales:S
10 11 connection.start-ok client_properties:F mechanism:s response:S locale:s
10 20 connection.secure challenge:S
10 21 connection.secure-ok response:S
10 30 connection.tune channel_max:H frame_max:L heartbeat:H
10 31 connection.tune-ok channel_max:H frame_max:L heartbeat:H
10 40 connection.open virtual_host:s capabilities:s insist:t
10 41 connection.open-ok known_hosts:s
10 50 connection.close reply_code:H reply_text:s class_id:H method_id:H
10 51 connection.close-ok
10 60 connection.blocked reason:s
10 61 connection.unblocked
10 70 connection.update-secret new_secret:S reason:s
10 71 connection.update-secret-ok
20 10 channel.open out_of_band:s
20 11 channel.open-ok channel_id:S
20 20 channel.flow active:t
20 21 channel.flow-ok active:t
20 40 channel.close reply_code:H reply_text:s class_id:H method_id:H
20 41 channel.close-ok
30 10 access.request realm:s exclusive:t passive:t active:t write:t read:t
30 11 access.request-ok ticket:H
40 10 exchange.declare ticket:H exchange:s type:s passive:t durable:t auto_delete:t internal:t \
nowait:t arguments:F
40 11 exchange.declare-ok
40 20 exchange.delete ticket:H exchange:s if_unused:t nowait:t
40 21 exchange.delete-ok
40 30 exchange.bind ticket:H destination:s source:s routing_key:s nowait:t arguments:F
40 31 exchange.bind-ok
40 40 exchange.unbind ticket:H destination:s source:s routing_key:s nowait:t arguments:F
40 51 exchange.unbind-ok
50 10 queue.declare ticket:H queue:s passive:t durable:t exclusive:t auto_delete:t nowait:t \
arguments:F
50 11 queue.declare-ok queue:s message_count:L consumer_count:L
50 20 queue.bind ticket:H queue:s exchange:s routing_key:s nowait:t arguments:F
50 21 queue.bind-ok
50 30 queue.purge ticket:H queue:s nowait:t
50 31 queue.purge-ok message_count:L
50 40 queue.delete ticket:H queue:s if_unused:t if_empty:t nowait:t
50 41 queue.delete-ok message_count:L
50 50 queue.unbind ticket:H queue:s exchange:s routing_key:s arguments:F
50 51 queue.unbind-ok
60 10 basic.qos prefetch_size:L prefetch_count:H global_:t
60 11 basic.qos-ok
60 20 basic.consume ticket:H queue:s consumer_tag:s no_local:t no_ack:t exclusive:t nowait:t \
arguments:F
60 21 basic.consume-ok consumer_tag:s
60 30 basic.cancel consumer_tag:s nowait:t
60 31 basic.cancel-ok consumer_tag:s
60 40 basic.publish ticket:H exchange:s routing_key:s mandatory:t immediate:t
60 50 basic.return reply_code:H reply_text:s exchange:s routing_key:s
60 60 basic.deliver consumer_tag:s delivery_tag:Q redelivered:t exchange:s routing_key:s
60 70 basic.get ticket:H queue:s no_ack:t
60 71 basic.get-ok delivery_tag:Q redelivered:t exchange:s routing_key:s message_count:L
60 72 basic.get-empty cluster_id:s
60 80 basic.ack delivery_tag:Q multiple:t
60 90 basic.reject delivery_tag:Q requeue:t
60 100 basic.recover-async requeue:t
60 110 basic.recover requeue:t
60 111 basic.recover-ok
60 120 basic.nack delivery_tag:Q multiple:t requeue:t
85 10 confirm.select nowait:t
85 11 confirm.select-ok
90 10 tx.select
90 11 tx.select-ok
90 20 tx.commit
90 21 tx.commit-ok
90 30 tx.rollback
90 31 tx.rollback-ok
'''
BY_NAME, BY_ID = {}, {}
for _line in _METHODS.strip().splitlines():
    _class, _method, _name, *_fields = _line.split()
    _spec = (int(_class), int(_method), _name, [f.rsplit(':', 1) for f in _fields])
    BY_NAME[_name] = BY_ID[_spec[0], _spec[1]] = _spec

# Basic content properties, highest flag bit first; T timestamp.
PROPERTIES = [p.split(':') for p in (
    'content_type:s content_encoding:s headers:F delivery_mode:B priority:B correlation_id:s '
    'reply_to:s expiration:s message_id:s timestamp:T type:s user_id:s app_id:s '
    'cluster_id:s').split()]

_FORMATS = {'B': '>B', 'H': '>H', 'L': '>I', 'Q': '>Q', 'T': '>Q'}


class Eof(Exception):
    """The broker ended the TCP connection."""


class Typed:
    """A table value with its type octet, where Python's own type does not say which is meant."""

    def __init__(self, tag, value):
        self.tag, self.value = tag, value

    def __repr__(self):
        return 'Typed(%r, %r)' % (self.tag, self.value)

    def __eq__(self, other):
        return isinstance(other, Typed) and (self.tag, self.value) == (other.tag, other.value)


# --- codec ---

def shortstr(text):
    data = text.encode() if isinstance(text, str) else text
    return struct.pack('>B', len(data)) + data


def longstr(text):
    data = text.encode() if isinstance(text, str) else text
    return struct.pack('>I', len(data)) + data


# Table values as RabbitMQ types them (t b B s u I i l f d D S A T F V x).
_VALUE_FORMATS = {'b': '>b', 'B': '>B', 's': '>h', 'u': '>H', 'I': '>i', 'i': '>I', 'l': '>q',
                  'f': '>f', 'd': '>d', 'T': '>Q', 't': '>B'}


def _tag_of(value):
    if value is None:
        return 'V'
    if isinstance(value, bool):
        return 't'
    if isinstance(value, int):
        return 'I' if -2**31 <= value < 2**31 else 'l'
    for kind, tag in ((str, 'S'), (bytes, 'x'), (dict, 'F'), (list, 'A'), (float, 'd')):
        if isinstance(value, kind):
            return tag
    raise TypeError(value)


def table_value(value):
    typed = value if isinstance(value, Typed) else Typed(_tag_of(value), value)
    tag, inner = typed.tag, typed.value
    if tag in _VALUE_FORMATS:
        data = struct.pack(_VALUE_FORMATS[tag], inner)
    elif tag in 'Sx':
        data = longstr(inner)
    elif tag == 'D':
        data = struct.pack('>BI', *inner)
    elif tag == 'A':
        data = longstr(b''.join(table_value(v) for v in inner))
    elif tag == 'F':
        data = table(inner)
    else:
        data = b''
    return tag.encode() + data


def table(fields):
    if isinstance(fields, bytes):
        return fields
    return longstr(b''.join(shortstr(k) + table_value(v) for k, v in fields.items()))


class Reader:
    """Takes values off the front of `data`."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        assert self.at + count <= len(self.data), 'broker sent a short frame'
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, fmt):
        return struct.unpack(fmt, self.take(struct.calcsize(fmt)))[0]

    def value(self, kind):
        if kind in _FORMATS:
            return self.number(_FORMATS[kind])
        if kind == 's':
            return self.take(self.number('>B')).decode('utf-8', 'surrogateescape')
        if kind == 'S':
            return self.take(self.number('>I')).decode('utf-8', 'surrogateescape')
        return self.table()

    def table(self):
        inner = Reader(self.take(self.number('>I')))
        fields = {}
        while inner.at < len(inner.data):
            key = inner.value('s')
            fields[key] = inner.table_value()
        return fields

    def table_value(self):
        tag = self.take(1).decode('latin1')
        if tag == 't':
            return self.number('>B') != 0
        if tag in 'SF':
            return self.value(tag)
        if tag in 'Ild':
            return self.number(_VALUE_FORMATS[tag])
        if tag in _VALUE_FORMATS:
            return Typed(tag, self.number(_VALUE_FORMATS[tag]))
        if tag == 'A':
            inner, items = Reader(self.take(self.number('>I'))), []
            while inner.at < len(inner.data):
                items.append(inner.table_value())
            return items
        if tag == 'x':
            return self.take(self.number('>I'))
        if tag == 'D':
            return Typed('D', (self.number('>B'), self.number('>I')))
        assert tag == 'V', 'broker sent a table value of unknown type %r' % tag
        return None


def encode_method(name, **values):
    class_id, method_id, _, fields = BY_NAME[name]
    out, bits, bit_count = struct.pack('>HH', class_id, method_id), 0, 0
    for field, kind in fields:
        if kind == 't':
            bits |= bool(values.pop(field, False)) << bit_count
            bit_count += 1
            continue
        if bit_count:
            out, bits, bit_count = out + struct.pack('>B', bits), 0, 0
        value = values.pop(field, {'s': '', 'S': '', 'F': {}}.get(kind, 0))
        out += {'s': shortstr, 'S': longstr, 'F': table}.get(
            kind, lambda v, k=kind: struct.pack(_FORMATS[k], v))(value)
    assert not values, 'no such field: %s' % values
    return out + (struct.pack('>B', bits) if bit_count else b'')


class Method:
    """A method from the broker; its fields are attributes."""

    def __init__(self, channel, payload):
        reader = Reader(payload)
        ids = reader.number('>H'), reader.number('>H')
        assert ids in BY_ID, 'broker sent unknown method %s' % (ids,)
        self.channel, self.name, self.fields, bit = channel, BY_ID[ids][2], {}, 8
        for field, kind in BY_ID[ids][3]:
            if kind != 't':
                self.fields[field], bit = reader.value(kind), 8
                continue
            if bit == 8:
                bits, bit = reader.number('>B'), 0
            self.fields[field] = bool(bits >> bit & 1)
            bit += 1
        assert reader.at == len(payload), 'broker sent %s with bytes left over' % self.name

    def __getattr__(self, name):
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name)

    def __repr__(self):
        return '%s on channel %d %s' % (self.name, self.channel, self.fields)


def properties(**values):
    """The property part of a content header: flags, then the values present."""
    flags, out = 0, b''
    for index, (name, kind) in enumerate(PROPERTIES):
        if name not in values:
            continue
        flags |= 1 << 15 - index
        value = values.pop(name)
        out += {'s': shortstr, 'F': table}.get(
            kind, lambda v, k=kind: struct.pack(_FORMATS[k], v))(value)
    assert not values, 'no such property: %s' % values
    return struct.pack('>H', flags) + out


def decode_properties(data):
    reader = Reader(data)
    flags = reader.number('>H')
    return {name: reader.value(kind) for index, (name, kind) in enumerate(PROPERTIES)
            if flags >> 15 - index & 1}


def frame(kind, channel, payload, end=FRAME_END):
    return struct.pack('>BHI', kind, channel, len(payload)) + payload + bytes([end])


def content_header(channel, size, props=NO_PROPERTIES, class_id=60, weight=0):
    return frame(CONTENT_HEADER, channel, struct.pack('>HHQ', class_id, weight, size) + props)


def content(channel, body, props=NO_PROPERTIES, frame_max=131072):
    step = frame_max - 8
    return content_header(channel, len(body), props) + b''.join(
        frame(BODY, channel, body[at:at + step]) for at in range(0, len(body), step))


# --- connections ---

class Message:
    """A content method (basic.deliver, get-ok, return) with its header and body."""

    def __init__(self, method, props, body):
        self.method, self.raw_properties, self.body = method, props, body

    @property
    def properties(self):
        return decode_properties(self.raw_properties)

    def __getattr__(self, name):
        return getattr(self.method, name)

    def __repr__(self):
        return '%r body %r' % (self.method, self.body[:60])


_open_connections = []


class Conn:
    """One TCP connection. dial() gives a bare one, connect() one that has done the handshake."""

    def __init__(self, host=None, port=None):
        self.socket = socket.create_connection((host or HOST, port or PORT), DEADLINE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.frame_max = 131072
        self.start = self.tune = None
        _open_connections.append(self)

    # Writing.

    def send(self, data):
        self.socket.settimeout(DEADLINE)
        try:
            self.socket.sendall(data)
        except socket.timeout:
            raise AssertionError('broker does not read')
        except OSError:
            raise Eof('broker closed the connection while data was sent')

    def method(self, channel, name, **values):
        self.send(frame(METHOD, channel, encode_method(name, **values)))

    def publish(self, channel, exchange, routing_key, body=b'', props=NO_PROPERTIES, **flags):
        body = body.encode() if isinstance(body, str) else body
        method = encode_method('basic.publish', exchange=exchange, routing_key=routing_key,
                               **flags)
        self.send(frame(METHOD, channel, method)
                  + content(channel, body, props, self.frame_max))

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def close_socket(self):
        self.socket.close()

    # Reading.

    def _read(self, count, deadline):
        while len(self.buffer) < count:
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError('nothing from the broker within the deadline')
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(262144)
            except socket.timeout:
                continue
            except OSError:
                data = b''
            if not data:
                raise Eof('broker closed the connection')
            self.buffer += data
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def read_bytes(self, count, seconds=None):
        return self._read(count, time.monotonic() + (seconds or DEADLINE))

    def read_frame(self, seconds=None, heartbeats=False):
        """(type, channel, payload); heartbeats are passed over unless asked for."""
        deadline = time.monotonic() + (seconds or DEADLINE)
        while True:
            kind, channel, size = struct.unpack('>BHI', self._read(7, deadline))
            data = self._read(size + 1, deadline)
            assert data[-1] == FRAME_END, 'broker sent a frame with end octet %#x' % data[-1]
            assert size + 8 <= self.frame_max, 'broker sent a frame above frame_max'
            if kind != HEARTBEAT or heartbeats:
                return kind, channel, data[:-1]

    def read(self, seconds=None):
        """The next method, with its content if it carries one."""
        kind, channel, payload = self.read_frame(seconds)
        assert kind == METHOD, 'broker sent frame type %d, not a method' % kind
        method = Method(channel, payload)
        if method.name not in ('basic.deliver', 'basic.get-ok', 'basic.return'):
            return method
        kind, where, payload = self.read_frame(seconds)
        assert (kind, where) == (CONTENT_HEADER, channel), 'no content header after %r' % method
        class_id, weight, size = struct.unpack('>HHQ', payload[:12])
        assert (class_id, weight) == (60, 0), 'bad content header after %r' % method
        body = bytearray()
        while len(body) < size:
            kind, where, part = self.read_frame(seconds)
            assert (kind, where) == (BODY, channel), 'no body frame after %r' % method
            assert part, 'broker sent an empty body frame'
            body += part
        assert len(body) == size, 'broker sent a body longer than announced'
        return Message(method, payload[12:], bytes(body))

    def expect(self, name, channel=None, seconds=None, **fields):
        got = self.read(seconds)
        method = got.method if isinstance(got, Message) else got
        assert method.name == name and channel in (None, method.channel), \
            'awaited %s on channel %s, got %r' % (name, channel, got)
        for field, value in fields.items():
            equal(getattr(method, field), value, '%s of %s' % (field, name))
        return got

    def deliver(self, channel=None, body=None, **fields):
        got = self.expect('basic.deliver', channel, **fields)
        if body is not None:
            equal(got.body, body.encode() if isinstance(body, str) else body, 'body')
        return got

    def rpc(self, channel, name, **values):
        """Sends `name`, returns its -ok."""
        self.method(channel, name, **values)
        if name == 'basic.get':
            got = self.read()
            assert got.name in ('basic.get-ok', 'basic.get-empty'), 'get answered by %r' % got
            return got
        return self.expect(name + '-ok', channel)

    def expect_close(self, channel, code, text, class_id=None, method_id=None, starts=False,
                     answer=True):
        """channel.close, or connection.close for channel 0, and answers it. class and method may
        be given as one name, 'queue.declare'."""
        if isinstance(class_id, str):
            class_id, method_id = BY_NAME[class_id][:2]
        name = 'channel.close' if channel else 'connection.close'
        got = self.expect(name, channel)
        if starts:
            assert got.reply_text.startswith(text), \
                'reply text %r does not start with %r' % (got.reply_text, text)
            equal(got.reply_code, code, 'reply code')
        else:
            equal((got.reply_code, got.reply_text), (code, text), 'reply')
        if class_id is not None:
            equal((got.class_id, got.method_id), (class_id, method_id), 'class and method id')
        if answer:
            self.method(channel, name + '-ok')
            if not channel:
                self.expect_eof()
        return got

    def expect_eof(self, seconds=None):
        try:
            got = self.read_frame(seconds)
        except Eof:
            return
        raise AssertionError('awaited the end of the connection, got frame %r' % (got,))

    def rest(self, seconds=None):
        """All that comes until the broker ends the connection, as bytes."""
        deadline = time.monotonic() + (seconds or DEADLINE)
        out = b''
        try:
            while True:
                out += self._read(1, deadline) + bytes(self.buffer)
                self.buffer.clear()
        except Eof:
            return out

    def ended_within(self, seconds):
        """True if the broker ends the connection within this time, whatever it sends before."""
        try:
            self.rest(seconds)
            return True
        except AssertionError:
            return False

    # Whole exchanges.

    def open_channel(self, channel=1):
        self.rpc(channel, 'channel.open')
        return channel

    def queue(self, channel, queue=None, **flags):
        """Declares a queue, exclusive unless flags say more; its name."""
        name = unique('q') if queue is None else queue
        return self.rpc(channel, 'queue.declare', queue=name,
                        **(flags or {'exclusive': True})).queue

    def exchange(self, channel, kind, **flags):
        name = unique('x')
        self.rpc(channel, 'exchange.declare', exchange=name, type=kind, **flags)
        return name

    def bind(self, channel, queue, exchange, key='', **arguments):
        self.rpc(channel, 'queue.bind', queue=queue, exchange=exchange, routing_key=key,
                 **arguments)

    def consume(self, channel, queue, **flags):
        return self.rpc(channel, 'basic.consume', queue=queue, **flags).consumer_tag

    def passive(self, channel, queue):
        """(messages ready, consumers)."""
        got = self.rpc(channel, 'queue.declare', queue=queue, passive=True)
        return got.message_count, got.consumer_count

    def counts(self, channel, queue, ready, consumers=0):
        """Waits until the queue has these counts. RabbitMQ lets a passive declare overtake a
        publish of the same channel, and nobody promises an order between channels."""
        deadline = time.monotonic() + DEADLINE
        while True:
            got = self.passive(channel, queue)
            if got == (ready, consumers):
                return
            assert time.monotonic() < deadline, \
                'ready messages and consumers are %s, not %s' % (got, (ready, consumers))

    def fence(self, channel, queue):
        """After this nothing that the broker already decided about `queue` is still on its way: the
        first round trip passes the queue, the second what the queue had sent to the channel."""
        self.passive(channel, queue)
        self.passive(channel, queue)

    def drain(self, channel, queue):
        """Bodies left in the queue, in order."""
        bodies = []
        while True:
            got = self.rpc(channel, 'basic.get', queue=queue, no_ack=True)
            if got.name == 'basic.get-empty':
                return bodies
            bodies.append(got.body)

    def close(self):
        """The client's close handshake. The broker may leave ending the stream to the client."""
        self.method(0, 'connection.close', reply_code=200, reply_text='bye')
        while self.read().name != 'connection.close-ok':
            pass  # what was on its way
        self.half_close()
        self.expect_eof()


def refuse(conn, code, text, name, channel=1, **fields):
    """`name` with these fields is a soft error: the channel closes, its number serves again."""
    conn.method(channel, name, **fields)
    conn.expect_close(channel, code, text, name)
    conn.open_channel(channel)


def hard(conn, code, text, name, channel=1, **fields):
    """`name` with these fields is a hard error: the connection is closed."""
    conn.method(channel, name, **fields)
    conn.expect_close(0, code, text, name)


def locked(queue):
    return ("RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '%s' in vhost '/'. "
            "It could be originally declared on another connection or the exclusive property value "
            "does not match that of the original declaration." % queue)


def plain(user=None, password=None):
    return '\0%s\0%s' % (user or USER, PASSWORD if password is None else password)


CAPABILITIES = {'publisher_confirms': True, 'exchange_exchange_bindings': True, 'basic.nack': True,
                'consumer_cancel_notify': True, 'connection.blocked': True,
                'authentication_failure_close': True}


def dial(**where):
    return Conn(**where)


def greet(capabilities=CAPABILITIES, user=None, password=None, **where):
    """Up to connection.tune."""
    conn = dial(**where)
    conn.send(HEADER)
    conn.start = conn.expect('connection.start', 0)
    conn.method(0, 'connection.start-ok', client_properties={'capabilities': capabilities},
                mechanism='PLAIN', response=plain(user, password), locale='en_US')
    conn.tune = conn.expect('connection.tune', 0)
    return conn


def connect(channels=1, heartbeat=0, frame_max=None, channel_max=None, vhost='/', **options):
    """An open connection with channels 1 .. `channels` open."""
    conn = greet(**options)
    conn.method(0, 'connection.tune-ok',
                channel_max=conn.tune.channel_max if channel_max is None else channel_max,
                frame_max=conn.tune.frame_max if frame_max is None else frame_max,
                heartbeat=heartbeat)
    conn.method(0, 'connection.open', virtual_host=vhost)
    conn.expect('connection.open-ok', 0)
    if frame_max:
        conn.frame_max = frame_max
    for channel in range(1, channels + 1):
        conn.open_channel(channel)
    return conn


# --- cases ---

def equal(got, wanted, what):
    assert got == wanted, '%s is %r, not %r' % (what, got, wanted)


def on(ringtail, rabbitmq):
    """What to expect, where the project decided otherwise than the referee."""
    return rabbitmq if BROKER == 'rabbitmq' else ringtail


_names = []


def unique(stem):
    """A name no other run uses; a queue or an exchange of this name is deleted at the end."""
    name = 'conf.%s.%s.%d' % (stem, os.urandom(5).hex(), os.getpid())
    _names.append(name)
    return name


_cases = []


def case(function=None, only=None, lacks=''):
    """Marks a case; `only` names the broker that it is for. One that `lacks` something is skipped,
    and says so: that is neither passed nor failed."""
    def add(f):
        if only in (None, BROKER):
            _cases.append(f)
            f.lacks = lacks
        return f
    return add(function) if function else add


def close_all():
    for conn in _open_connections:
        conn.close_socket()
    _open_connections.clear()


def _sweep():
    """Deletes what the cases left behind."""
    try:
        conn = connect()
        for name in _names:
            conn.method(1, 'queue.delete', queue=name, nowait=True)
            conn.method(1, 'exchange.delete', exchange=name, nowait=True)
        conn.close()
    except (AssertionError, Eof, OSError):
        pass  # the cases have said what is wrong


def _why(error):
    where = [f for f in traceback.extract_tb(error.__traceback__)
             if os.path.abspath(f.filename) == os.path.abspath(sys.argv[0])]
    text = '%s' % error if isinstance(error, AssertionError) else '%s: %s' % (
        type(error).__name__, error)
    text = ' '.join(text.split())[:600]
    return text + (' (line %d)' % where[-1].lineno if where else '')


def _out_of_time(*_):
    raise AssertionError('the case took longer than %d s' % CASE_DEADLINE)


def send_whole(conn, data):
    """Sends from a thread beside the one that reads. Leaves the socket's timeout alone: that is one
    for both, and changing it under a read makes the read fail as if the broker had gone."""
    descriptor, left = conn.socket.fileno(), memoryview(data)
    writable = select.poll()
    writable.register(descriptor, select.POLLOUT)
    while left:
        writable.poll()
        try:
            left = left[os.write(descriptor, left[:65536]):]
        except BlockingIOError:
            pass


def run_cases():
    """Runs the cases, or those whose names hold an argument of the command line; exits."""
    signal.signal(signal.SIGALRM, _out_of_time)
    failed = 0
    if not _cases:
        print('# nothing here is for this broker')
    for function in _cases:
        title = function.__name__.replace('_', ' ')
        if sys.argv[1:] and not any(a in title for a in sys.argv[1:]):
            continue
        if function.lacks:
            print('skip %s: %s' % (title, function.lacks), flush=True)
            continue
        signal.setitimer(signal.ITIMER_REAL, CASE_DEADLINE)
        try:
            function()
            print('ok %s' % title, flush=True)
        except Exception as error:  # whatever it was, the case failed
            failed += 1
            print('not ok %s: %s' % (title, _why(error)), flush=True)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            close_all()
    _sweep()
    sys.exit(1 if failed else 0)
