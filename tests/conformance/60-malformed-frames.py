"""Frames and methods that are not AMQP: the specified close, or the end of the connection."""
from raw import *
from node import rss_kib

QOS = encode_method('basic.qos')
# What follows is a dump of Erlang terms on RabbitMQ; ours are words of our own.
FRAME_ERROR = 'FRAME_ERROR - '


def closed(conn, codes):
    """The broker closes with one of these codes, or ends the connection without a word."""
    try:
        got = conn.read()
    except Eof:
        return
    assert got.name == 'connection.close', 'answer %r' % got
    assert got.reply_code in codes, 'reply %d %r' % (got.reply_code, got.reply_text)
    try:
        conn.method(0, 'connection.close-ok')
    except Eof:
        pass
    conn.expect_eof()


def frame_error(data):
    conn = connect()
    conn.send(data)
    conn.expect_close(0, 501, FRAME_ERROR, 0, 0, starts=True, answer=False)
    if BROKER != 'rabbitmq':  # which waits for a close-ok that it is unable to see
        conn.half_close()
        conn.expect_eof()


@case
def unknown_frame_types_are_501():
    for kind in (0, 4, 5, 6, 7, 9, 255):
        frame_error(frame(kind, 1, b'abc'))
        frame_error(frame(kind, 0, b''))


@case
def a_wrong_end_octet_is_501():
    for end in (0, 0xCD, 0xCF, 0xFF):
        for kind, payload in ((METHOD, QOS), (BODY, b'abc'), (HEARTBEAT, b'')):
            frame_error(frame(kind, 1 if payload else 0, payload, end=end))


@case
def a_frame_above_frame_max_is_501_before_it_has_come():
    for kind in (METHOD, CONTENT_HEADER, BODY):
        for size in (131073, 2**24, 2**31, 2**32 - 1):
            frame_error(struct.pack('>BHI', kind, 1, size))


@case
def a_heartbeat_has_no_payload_and_no_channel():
    frame_error(frame(HEARTBEAT, 0, b'abc'))
    conn = connect()
    conn.send(frame(HEARTBEAT, 1, b''))
    conn.expect_close(0, 505, 'UNEXPECTED_FRAME - ', 0, 0, starts=True)


@case
def a_method_frame_holds_at_least_two_ids():
    for payload in (b'', b'\0', b'\0\x32', b'\0\x32\0'):
        frame_error(frame(METHOD, 1, payload))


@case
def unknown_classes_and_methods_are_refused():
    # RabbitMQ ends the connection without a word.
    for class_id, method_id in ((0x99, 10), (50, 99), (50, 0), (0, 0), (0xFFFF, 0xFFFF), (10, 99),
                                (60, 22), (91, 10)):
        for channel in (0, 1):
            conn = connect()
            conn.send(frame(METHOD, channel, struct.pack('>HH', class_id, method_id) + b'\0' * 20))
            closed(conn, (501, 502, 503, 504, 540, 541))


@case
def truncated_arguments_are_501():
    whole = encode_method('queue.declare', queue='conf.truncated', exclusive=True,
                          arguments={'x': 'abc'})
    for size in range(4, len(whole)):
        conn = connect()
        conn.send(frame(METHOD, 1, whole[:size]))
        closed(conn, (501, 502))


@case
def octets_after_the_arguments_are_501():
    for name in ('queue.declare', 'basic.qos', 'channel.open', 'tx.select', 'basic.ack',
                 'basic.publish'):
        conn = connect()
        conn.send(frame(METHOD, 2 if name == 'channel.open' else 1, encode_method(name) + b'zz'))
        conn.expect_close(0, 501, FRAME_ERROR, name, starts=True)


@case
def malformed_utf8_in_names_is_501():
    for name in (b'\xff\xfe', b'\xc3', b'a\x80', b'\xc0\xaf', b'\xf8\x88\x80\x80\x80'):
        for method, field in (('queue.declare', 'queue'), ('exchange.declare', 'exchange'),
                              ('basic.consume', 'consumer_tag'), ('queue.bind', 'routing_key')):
            conn = connect()
            conn.method(1, method, **{field: name})
            conn.expect_close(0, 501, 'FRAME_ERROR - Malformed UTF-8 in shortstr', 0, 0)


BAD_TABLES = {
    'length beyond the frame': b'\0\0\0\1', 'huge length': b'\xff\xff\xff\xff',
    'unknown type': longstr(b'\x01aZ\0'), 'type octet missing': longstr(b'\x01a'),
    'key beyond the table': longstr(b'\x50a'),
    'string beyond the table': longstr(b'\x01aS\0\0\0\x09abc'),
    'huge string': longstr(b'\x01aS\xff\xff\xff\xffabc'),
    'huge array': longstr(b'\x01aA\xff\xff\xff\xff'),
    'huge inner table': longstr(b'\x01aF\xff\xff\xff\xff'),
    'inner table beyond the table': longstr(b'\x01aF\0\0\0\5\x01bV'),
    'huge octets': longstr(b'\x01ax\xff\xff\xff\xff'), 'short integer': longstr(b'\x01aI\0\0'),
    'array with an unknown type': longstr(b'\x01aA\0\0\0\2Z\0'),
    'half a double': longstr(b'\x01ad\0\0\0\0'), 'half a decimal': longstr(b'\x01aD\1\0\0')}


@case
def malformed_tables_are_refused():
    # RabbitMQ ends the connection without a word for most of these.
    for what, data in BAD_TABLES.items():
        conn = connect()
        conn.method(1, 'queue.declare', queue=unique('q'), exclusive=True, arguments=data)
        try:
            closed(conn, (501, 502, 541))
        except AssertionError as error:
            raise AssertionError('%s: %s' % (what, error))


def nested(depth, tag=b'F'):
    """A table of this depth, or of one array of that depth."""
    head = b'\x01aF' if tag == b'F' else tag
    data = b''
    for _ in range(depth):
        data = head + struct.pack('>I', len(data)) + data
    return longstr(data if tag == b'F' else b'\x01a' + data)


@case
def tables_nest_to_a_useful_depth_and_no_depth_does_harm():
    for tag in (b'F', b'A'):
        conn = connect()
        conn.queue(1, exclusive=True, arguments=nested(50, tag))
        for depth in (100, 5000, 16000):
            conn = connect()
            conn.method(1, 'queue.declare', queue=unique('q'), exclusive=True,
                        arguments=nested(depth, tag))
            try:
                got = conn.read()
                if got.name != 'queue.declare-ok':
                    assert got.name == 'connection.close' and got.reply_code in (501, 502), got
            except Eof:
                pass


@case
def garbage_instead_of_frames_ends_the_connection():
    for data in (b'\0' * 64, b'\xff' * 64, b'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
                 HEADER * 4):
        conn = connect()
        conn.send(data)
        closed(conn, (501, 502, 503, 504, 505))


@case
def frames_before_the_handshake_is_done_are_bounded():
    conn = dial()
    conn.send(HEADER)
    conn.expect('connection.start', 0)
    conn.send(struct.pack('>BHI', METHOD, 0, 2**32 - 1))
    closed(conn, (501,))
    conn = dial()
    conn.send(HEADER)
    conn.expect('connection.start', 0)
    conn.send(frame(BODY, 0, b'x' * 100) + content_header(0, 5))
    closed(conn, (501, 503, 504, 505))


@case
def memory_does_not_grow_with_unfinished_frames():
    if not PID or SLOW != 1:
        return
    before = rss_kib(PID)
    conns = [connect() for _ in range(100)]
    for conn in conns:  # a promise of 128 KiB each, of which little comes
        conn.send(frame(METHOD, 1, encode_method('basic.publish'))
                  + content_header(1, 2**62) + struct.pack('>BHI', BODY, 1, 131064) + b'x' * 10)
    connect().close()
    growth = rss_kib(PID) - before
    assert growth < 20 * 1024, '100 unfinished bodies took %d KiB' % growth


run_cases()
