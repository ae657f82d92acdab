"""The largest messages there are, and such that are only announced."""
from raw import *
from node import Node

HAVE = 'ringtail' if BINARY else 'no program'
MIB = 1024  # KiB


def start(*flags, **options):
    return Node(BINARY, *flags, slow=SLOW, **options)


@case(only=HAVE)
def large_bodies_announced_and_not_sent():
    with start() as node:
        conn = connect(port=node.port, channels=0)
        before = node.rss_kib()
        for channel in range(1, 201):
            conn.open_channel(channel)
            conn.send(frame(METHOD, channel, encode_method('basic.publish', routing_key='q'))
                      + content_header(channel, 100 * 1024 * 1024)
                      + frame(BODY, channel, b'x' * 100))
        conn.open_channel(201)
        grown = node.rss_kib() - before
        assert SLOW != 1 or grown < 16 * MIB, '200 announced bodies hold %d KiB' % grown
        connect(port=node.port).rpc(1, 'basic.qos')


@case(only=HAVE)
def the_largest_message_goes_in_and_out():
    with start() as node:
        conn = connect(port=node.port)
        queue = conn.queue(1)
        body = os.urandom(1024 * 1024) * 128
        conn.publish(1, '', queue, body)
        got = conn.rpc(1, 'basic.get', queue=queue, no_ack=True)
        assert got.body == body, 'the body is another one'
        conn.method(1, 'basic.publish', routing_key=queue)
        conn.send(content_header(1, len(body) + 1))
        conn.expect_close(1, 406, 'PRECONDITION_FAILED - message size 134217729 is larger than '
                                  'configured max size 134217728', 'basic.publish')


run_cases()
