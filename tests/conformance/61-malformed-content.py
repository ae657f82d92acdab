"""Content headers and bodies in the wrong place, of the wrong size, or broken."""
from raw import *

EXPECTED_METHOD = 'UNEXPECTED_FRAME - expected method frame, got non method frame instead'
EXPECTED_HEADER = ('UNEXPECTED_FRAME - expected content header for class 60, got non content '
                   'header frame instead')
EXPECTED_BODY = 'UNEXPECTED_FRAME - expected content body, got non content body frame instead'
PUBLISH = frame(METHOD, 1, encode_method('basic.publish', routing_key='conf.nowhere'))
QOS = frame(METHOD, 1, encode_method('basic.qos'))


def refused(data, text, method='basic.publish', starts=False):
    conn = connect()
    conn.send(data)
    if method:
        conn.expect_close(0, 505, text, method, starts=starts)
    else:
        conn.expect_close(0, 505, text, 0, 0, starts=starts)


@case
def content_without_a_publish_is_505():
    refused(content_header(1, 3), EXPECTED_METHOD, None)
    refused(frame(BODY, 1, b'abc'), EXPECTED_METHOD, None)
    refused(frame(BODY, 1, b''), EXPECTED_METHOD, None)


@case
def content_on_a_channel_that_is_not_open_is_505():
    refused(content_header(9, 3), EXPECTED_METHOD, None)
    refused(frame(BODY, 9, b'abc'), EXPECTED_METHOD, None)


@case
def content_frames_on_channel_0_are_505():
    refused(content_header(0, 3), 'UNEXPECTED_FRAME - ', None, starts=True)
    refused(frame(BODY, 0, b'abc'), 'UNEXPECTED_FRAME - ', None, starts=True)


@case
def something_else_instead_of_the_header_is_505():
    refused(PUBLISH + QOS, EXPECTED_HEADER)
    refused(PUBLISH + PUBLISH, EXPECTED_HEADER)
    refused(PUBLISH + frame(BODY, 1, b'abc'), EXPECTED_HEADER)


@case
def something_else_instead_of_the_body_is_505():
    refused(PUBLISH + content_header(1, 3) + QOS, EXPECTED_BODY)
    refused(PUBLISH + content_header(1, 3) + PUBLISH, EXPECTED_BODY)
    refused(PUBLISH + content_header(1, 3) + content_header(1, 3), EXPECTED_BODY)
    refused(PUBLISH + content_header(1, 6) + frame(BODY, 1, b'abc') + QOS, EXPECTED_BODY)


@case
def a_body_longer_than_announced_is_505():
    # RabbitMQ notices only at the next frame, and then complains of that one.
    for data in (content_header(1, 3) + frame(BODY, 1, b'abcdef'),
                 content_header(1, 4) + frame(BODY, 1, b'abc') + frame(BODY, 1, b'de')):
        conn = connect()
        conn.send(PUBLISH + data + QOS)
        got = conn.expect('connection.close', 0)
        assert got.reply_code in (501, 505), got
        equal((got.class_id, got.method_id), (60, 40), 'class and method id')
    refused(PUBLISH + content_header(1, 0) + frame(BODY, 1, b'abc'), EXPECTED_METHOD, None)
    refused(PUBLISH + content_header(1, 3) + frame(BODY, 1, b'abc') + frame(BODY, 1, b'd'),
            EXPECTED_METHOD, None)


@case
def a_header_of_another_class_is_505():
    for class_id in (50, 10, 0, 0xFFFF):
        refused(PUBLISH + content_header(1, 3, class_id=class_id),
                'UNEXPECTED_FRAME - expected content header for class 60, got one for class %d '
                'instead' % class_id)


@case
def a_header_with_a_weight_is_505():
    for weight in (1, 0xFFFF):
        refused(PUBLISH + content_header(1, 3, weight=weight) + frame(BODY, 1, b'abc'),
                EXPECTED_HEADER)


@case
def a_header_that_is_too_short_is_501():
    for size in (0, 1, 4, 11):
        conn = connect()
        conn.send(PUBLISH + frame(CONTENT_HEADER, 1, struct.pack('>HHQ', 60, 0, 3)[:size]))
        conn.expect_close(0, 501, 'FRAME_ERROR - ', 0, 0, starts=True)


BROKEN = {
    'no flags': b'', 'half the flags': b'\x80', 'flags without value': b'\x80\0',
    'string beyond the header': b'\x80\0\x05ab', 'octets left over': b'\x80\0\x01azz',
    'octets without flags': b'\0\0abc', 'table beyond the header': b'\x20\0\0\0\0\x09ab',
    'huge table': b'\x20\0\xff\xff\xff\xffab', 'table of an unknown type': b'\x20\0' + longstr(
        b'\x01aZ\0'), 'table with a huge string': b'\x20\0' + longstr(b'\x01aS\xff\xff\xff\xffx'),
    'half a timestamp': b'\0\x40\0\0\0\0', 'more flags promised': b'\0\1\x80\0\x01a',
    'all flags, no values': b'\xff\xfc'}


@case
def broken_properties_do_no_harm():
    # RabbitMQ looks late, and ends with 541 where it trips; a frame or syntax error says it better.
    # A broker that never looks passes the octets on: then the publish just succeeds.
    for what, props in BROKEN.items():
        conn = connect()
        conn.send(PUBLISH + content_header(1, 3, props) + frame(BODY, 1, b'abc') + QOS)
        try:
            got = conn.read()
        except Eof:
            continue
        if got.name != 'basic.qos-ok':
            assert got.name == 'connection.close' and got.reply_code in (501, 502, 505, 541), \
                '%s: %r' % (what, got)
    connect().close()


@case
def a_huge_announced_size_alone_does_no_harm():
    for size in (2**27 + 1, 2**31, 2**63, 2**64 - 1):
        conn = connect(channels=2)
        conn.send(PUBLISH + content_header(1, size) + frame(BODY, 1, b'abc'))
        conn.method(2, 'basic.qos')
        try:
            got = conn.read()
        except Eof:
            continue
        if got.name == 'channel.close':  # refused as too large, at once
            equal(got.reply_code, 406, 'reply code')
        elif got.name == 'connection.close':
            assert got.reply_code in (311, 501, 502, 505), got
        else:  # waits for the rest
            equal((got.name, got.channel), ('basic.qos-ok', 2), 'answer')


@case
def other_channels_go_on_while_one_waits_for_its_body():
    conn = connect(channels=2)
    queue = conn.queue(2)
    conn.send(frame(METHOD, 1, encode_method('basic.publish', routing_key=queue))
              + content_header(1, 6) + frame(BODY, 1, b'abc'))
    conn.publish(2, '', queue, 'second')
    equal(conn.drain(2, queue), [b'second'], 'queue')
    conn.send(frame(BODY, 1, b'def'))
    equal(conn.drain(1, queue), [b'abcdef'], 'queue')


run_cases()
