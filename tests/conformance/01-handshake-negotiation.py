"""Protocol header, connection.start, tune and open."""
from raw import *


@case
def a_wrong_protocol_header_is_answered_with_ours():
    headers = [b'AMQP\x00\x01\x00\x00', b'AMQP\x03\x01\x00\x00', b'AMQP\x00\x00\x09\x02',
               b'AMQP\x00\x00\x08\x01', b'GET / HTTP/1.1\r\n\r\n',
               b'\x16\x03\x01\x02\x00\x01\x00\x01', b'\0' * 8, b'amqp\x00\x00\x09\x01']
    # RabbitMQ still speaks 0-8 and 0-9; we do not.
    headers += on(ringtail=[b'AMQP\x01\x01\x08\x00', b'AMQP\x01\x01\x00\x09'], rabbitmq=[])
    for header in headers:
        conn = dial()
        conn.send(header)
        equal(conn.rest(), HEADER, 'answer to %r' % header)


@case
def a_protocol_header_may_come_in_pieces():
    conn = dial()
    for octet in HEADER:
        conn.send(bytes([octet]))
    conn.expect('connection.start', 0, version_major=0, version_minor=9)


@case
def nothing_is_sent_before_the_protocol_header():
    conn = dial()
    conn.half_close()
    equal(conn.rest(), b'', 'what the broker sent')


@case
def start_announces_mechanisms_and_locale():
    start = greet().start
    equal(set(start.mechanisms.split(' ')), {'PLAIN', 'AMQPLAIN'}, 'mechanisms')
    equal(start.locales, 'en_US', 'locales')


@case
def server_properties_name_product_version_and_capabilities():
    got = greet().start.server_properties
    equal(got['product'], on(ringtail='Ringtail', rabbitmq='RabbitMQ'), 'product')
    for key in ('version', 'cluster_name', 'platform', 'copyright', 'information'):
        assert isinstance(got.get(key), str) and got[key], '%s is %r' % (key, got.get(key))
    equal(got['capabilities'], dict.fromkeys((
        'publisher_confirms', 'exchange_exchange_bindings', 'basic.nack', 'consumer_cancel_notify',
        'connection.blocked', 'consumer_priorities', 'authentication_failure_close',
        'per_consumer_qos', 'direct_reply_to'), True), 'capabilities')


@case
def tune_offers_the_defaults():
    tune = greet().tune
    equal((tune.channel_max, tune.frame_max, tune.heartbeat), (2047, 131072, 60), 'tune')


def _tune(channel_max=2047, frame_max=131072, heartbeat=0):
    conn = greet()
    conn.method(0, 'connection.tune-ok', channel_max=channel_max, frame_max=frame_max,
                heartbeat=heartbeat)
    conn.method(0, 'connection.open', virtual_host='/')
    return conn


@case
def tune_ok_beyond_the_limits_is_refused():
    high = 'negotiated %s = %d is higher than the maximum allowed value (%d)'
    waiting = [
        (_tune(frame_max=131073), high % ('frame_max', 131073, 131072)),
        (_tune(channel_max=2048), high % ('channel_max', 2048, 2047)),
        (_tune(channel_max=65535), high % ('channel_max', 65535, 2047)),
        # 0 is no limit, so more than there is.
        (_tune(frame_max=0), high % ('frame_max', 0, 131072)),
        (_tune(channel_max=0), 'negotiated channel_max = 0 (no limit) is higher than the maximum '
                               'allowed value (2047)'),
        (_tune(frame_max=4095),
         'negotiated frame_max = 4095 is lower than the minimum allowed value (4096)'),
        (_tune(frame_max=1),
         'negotiated frame_max = 1 is lower than the minimum allowed value (4096)')]
    for conn, text in waiting:
        if BROKER == 'rabbitmq':  # it has the same words, but only for its log
            conn.expect_eof()
        else:
            conn.expect_close(0, 530, 'NOT_ALLOWED - ' + text)


@case
def the_smallest_frame_max_is_kept_both_ways():
    conn = connect(frame_max=4096)
    queue = conn.queue(1)
    body = bytes(range(256)) * 100
    conn.publish(1, '', queue, body)
    equal(conn.rpc(1, 'basic.get', queue=queue).body, body, 'body')  # Conn checks each frame's size
    # Clients exist that mean the payload by frame_max; RabbitMQ lets them have the 8 octets.
    conn.method(1, 'basic.publish', routing_key=queue)
    conn.send(content_header(1, 4096) + frame(BODY, 1, b'x' * 4096))
    equal(conn.rpc(1, 'basic.get', queue=queue).body, b'x' * 4096, 'body')
    conn.method(1, 'basic.publish', routing_key=queue)
    conn.send(content_header(1, 4097) + frame(BODY, 1, b'x' * 4097))
    conn.expect_close(0, 501, 'FRAME_ERROR - ', 0, 0, starts=True)


@case
def a_lower_channel_max_is_kept():
    conn = connect(channels=2, channel_max=2)
    conn.method(3, 'channel.open')
    conn.expect_close(0, 530, 'NOT_ALLOWED - number of channels opened (2) has reached the '
                              'negotiated channel_max (2)', 0, 0)


@case
def all_channels_up_to_channel_max_open_and_no_more():
    conn = connect(channels=0)
    conn.send(b''.join(frame(METHOD, n, encode_method('channel.open')) for n in range(1, 2048)))
    opened = {conn.expect('channel.open-ok').channel for _ in range(2047)}
    equal(opened, set(range(1, 2048)), 'opened channels')
    conn.rpc(2000, 'channel.close', reply_code=200)
    conn.open_channel(2000)
    conn.method(2048, 'channel.open')
    conn.expect_close(0, 530, 'NOT_ALLOWED - number of channels opened (2047) has reached the '
                              'negotiated channel_max (2047)', 0, 0)


@case
def channel_numbers_up_to_65535_are_asked_for():
    conn = connect(channels=0)
    try:
        conn.send(b''.join(frame(METHOD, n, encode_method('channel.open'))
                           for n in range(1, 65536)))
    except Eof:
        pass  # the broker may have closed by then
    for _ in range(2047):
        conn.expect('channel.open-ok')
    conn.expect_close(0, 530, 'NOT_ALLOWED - number of channels opened (2047) has reached the '
                              'negotiated channel_max (2047)', 0, 0, answer=False)


@case
def an_unknown_vhost_is_530():
    for vhost in ('nope', '', '/nope', 'v' * 200):
        conn = greet()
        conn.method(0, 'connection.tune-ok', channel_max=10, frame_max=8192)
        conn.method(0, 'connection.open', virtual_host=vhost)
        conn.expect_close(0, 530, 'NOT_ALLOWED - vhost %s not found' % vhost, 'connection.open')


@case
def a_reply_text_is_cut_to_255_bytes():
    conn = greet()
    conn.method(0, 'connection.tune-ok', channel_max=10, frame_max=8192)
    conn.method(0, 'connection.open', virtual_host='v' * 255)
    text = 'NOT_ALLOWED - vhost %s not found' % ('v' * 255)
    conn.expect_close(0, 530, text[:252] + '...', 'connection.open')


@case
def the_whole_handshake_may_come_in_one_piece():
    conn = dial()
    conn.send(HEADER + b''.join(frame(METHOD, number, encode_method(name, **fields))
                                for number, name, fields in (
        (0, 'connection.start-ok', {'mechanism': 'PLAIN', 'response': plain(), 'locale': 'en_US'}),
        (0, 'connection.tune-ok', {'channel_max': 5, 'frame_max': 4096}),
        (0, 'connection.open', {'virtual_host': '/'}),
        (1, 'channel.open', {}))))
    for name in ('connection.start', 'connection.tune', 'connection.open-ok', 'channel.open-ok'):
        conn.expect(name)


@case
def another_locale_is_not_an_error():
    conn = dial()
    conn.send(HEADER)
    conn.expect('connection.start', 0)
    conn.method(0, 'connection.start-ok', mechanism='PLAIN', response=plain(), locale='de_DE')
    conn.expect('connection.tune', 0)


@case
def methods_out_of_order_in_the_handshake_are_refused():
    # RabbitMQ ends the connection without a word here; either is right.
    conns = []
    for name, fields in (('connection.open', {'virtual_host': '/'}), ('connection.tune-ok', {}),
                         ('connection.close-ok', {}), ('channel.open', {})):
        conn = dial()
        conn.send(HEADER)
        conn.expect('connection.start', 0)
        conn.method(0, name, **fields)
        conns.append(conn)
    for name, fields in (('connection.open', {'virtual_host': '/'}), ('channel.open', {}),
                         ('connection.start-ok', {'mechanism': 'PLAIN', 'response': plain()})):
        conn = greet()
        conn.method(0, name, **fields)
        conns.append(conn)
    conn = greet()
    conn.method(0, 'connection.tune-ok', channel_max=10, frame_max=8192)
    conn.method(1, 'channel.open')
    conns.append(conn)
    for index, conn in enumerate(conns):
        try:
            got = conn.expect('connection.close', 0)
            assert got.reply_code in (501, 503, 504, 505, 530), 'case %d: %r' % (index, got)
        except Eof:
            pass


run_cases()
