"""Bodies and properties arrive as they were sent."""
import random

from raw import *

EVERY_TYPE = {
    'bool': True, 'no': False, 'byte': Typed('b', -128), 'octet': Typed('B', 255),
    'short': Typed('s', -32768), 'ushort': Typed('u', 65535), 'int': -2**31,
    'uint': Typed('i', 2**32 - 1), 'long': -2**63, 'float': Typed('f', 1.5), 'double': -2.25e300,
    'zero': 0.0, 'decimal': Typed('D', (3, 123456)), 'string': 'ünïcødé',
    'empty': '', 'array': [1, 'two', None, [True, []], {'k': [1.5]}], 'empty array': [],
    'time': Typed('T', 2**40), 'table': {'deep': {'deeper': {'deepest': 1}}}, 'empty table': {},
    'void': None, 'binary': bytes(range(256)), '': 'a key without a name'}


def round_trip(conn, queue, body, props, consume=False):
    conn.publish(1, '', queue, body, props)
    got = conn.deliver(1) if consume else conn.rpc(1, 'basic.get', queue=queue, no_ack=True)
    assert got.body == body, 'a body of %d octets came back changed (%d)' % (
        len(body), len(got.body))
    equal(got.raw_properties, props, 'property octets')
    return got


@case
def bodies_of_every_size_around_the_frame_limits():
    conn = connect(frame_max=4096)
    queue = conn.queue(1)
    data = random.Random(1).randbytes(300000)
    for size in (0, 1, 2, 255, 256, 4087, 4088, 4089, 4095, 4096, 8176, 8177, 16384, 65536, 262144,
                 300000):
        round_trip(conn, queue, data[:size], NO_PROPERTIES)
    conn = connect()
    queue = conn.queue(1)
    conn.consume(1, queue, no_ack=True)
    for size in (0, 1, 131063, 131064, 131065, 262128, 262129, 300000):
        round_trip(conn, queue, data[:size], NO_PROPERTIES, consume=True)


@case
def a_body_of_eight_mebibytes():
    conn = connect()
    queue = conn.queue(1)
    round_trip(conn, queue, random.Random(2).randbytes(8 << 20), NO_PROPERTIES)


@case
def bodies_pass_between_connections_of_different_frame_max():
    small, large = connect(frame_max=4096), connect()
    queue = small.queue(1, durable=False)
    body = random.Random(3).randbytes(50001)
    for sender, receiver in ((small, large), (large, small)):
        sender.publish(1, '', queue, body)
        sender.fence(1, queue)
        assert receiver.rpc(1, 'basic.get', queue=queue, no_ack=True).body == body, 'body changed'


@case
def a_body_may_come_in_frames_of_any_size():
    conn = connect()
    queue = conn.queue(1)
    body = bytes(range(200))
    conn.method(1, 'basic.publish', routing_key=queue)
    conn.send(content_header(1, 200))
    for octet in body[:100]:
        conn.send(frame(BODY, 1, bytes([octet])))
    conn.send(frame(BODY, 1, b'') + frame(BODY, 1, body[100:]))
    equal(conn.rpc(1, 'basic.get', queue=queue).body, body, 'body')


@case
def messages_of_two_channels_may_be_interleaved():
    conn = connect(channels=2)
    queue = conn.queue(1)
    for channel in (1, 2):
        conn.method(channel, 'basic.publish', routing_key=queue)
    for channel in (2, 1):
        conn.send(content_header(channel, 6))
    for part in (b'abc', b'def'):
        for channel in (1, 2):
            conn.send(frame(BODY, channel, part if channel == 1 else part.upper()))
    # The channels are independent, so the order in the queue is open until channel 2 is asked.
    conn.fence(2, queue)
    equal(sorted(conn.drain(1, queue)), [b'ABCDEF', b'abcdef'], 'queue')


@case
def every_property_alone_and_all_together():
    conn = connect()
    queue = conn.queue(1)
    values = {'content_type': 'text/plain', 'content_encoding': 'gzip', 'headers': {'a': 1},
              'delivery_mode': 2, 'priority': 9, 'correlation_id': 'c' * 255, 'reply_to': 'r',
              'expiration': '60000', 'message_id': 'ünïcødé', 'timestamp': 2**40, 'type': 't',
              'user_id': USER, 'app_id': '', 'cluster_id': 'cl'}
    for name, value in values.items():
        round_trip(conn, queue, b'body', properties(**{name: value}))
    got = round_trip(conn, queue, b'body', properties(**values))
    equal(got.properties, values, 'properties')


@case
def headers_of_every_type_come_back_octet_by_octet():
    conn = connect()
    queue = conn.queue(1)
    got = round_trip(conn, queue, b'body', properties(headers=EVERY_TYPE))
    equal(got.properties['headers'], EVERY_TYPE, 'headers')
    round_trip(conn, queue, b'', properties(headers={}))
    round_trip(conn, queue, b'', properties(headers={'k%d' % n: 'v' * 50 for n in range(1000)}))


@case
def properties_survive_routing_by_headers_and_requeue():
    conn = connect()
    exchange, queue = conn.exchange(1, 'headers'), conn.queue(1)
    conn.bind(1, queue, exchange, arguments={'x-match': 'all', 'int': -2**31})
    props = properties(headers=EVERY_TYPE, content_type='x', timestamp=5)
    conn.publish(1, exchange, 'some key', b'body', props)
    tag = conn.rpc(1, 'basic.get', queue=queue).delivery_tag
    conn.method(1, 'basic.reject', delivery_tag=tag, requeue=True)
    got = conn.rpc(1, 'basic.get', queue=queue)
    equal((got.raw_properties, got.body, got.redelivered, got.routing_key, got.exchange),
          (props, b'body', True, 'some key', exchange), 'message')


@case
def routing_keys_of_255_octets():
    conn = connect()
    exchange, queue = conn.exchange(1, 'fanout'), conn.queue(1)
    conn.bind(1, queue, exchange)
    for key in ('k' * 255, '', 'é' * 127):
        conn.publish(1, exchange, key, 'x')
        equal(conn.rpc(1, 'basic.get', queue=queue).routing_key, key, 'routing key')


@case
def a_user_id_must_be_the_own_name():
    conn = connect()
    queue = conn.queue(1)
    conn.publish(1, '', queue, 'x', properties(user_id='bob'))
    conn.expect_close(1, 406, "PRECONDITION_FAILED - user_id property set to 'bob' but "
                              "authenticated user was '%s'" % USER, 'basic.publish')
    conn.open_channel(1)
    equal(conn.drain(1, queue), [], 'queue')


run_cases()
