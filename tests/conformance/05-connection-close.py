"""The end of connections, and methods of a running one."""
from raw import *


@case
def close_is_answered_whatever_is_open():
    conn = connect(channels=3)
    queue = conn.queue(1)
    conn.consume(2, queue)
    conn.publish(3, '', queue, 'x')
    conn.close()


@case
def what_follows_close_is_ignored():
    watcher = connect()
    queue = watcher.queue(1, durable=False)
    conn = connect()
    conn.method(0, 'connection.close', reply_code=200)
    conn.publish(1, '', queue, 'late')
    conn.method(1, 'queue.declare', queue='amq.bad')
    conn.expect('connection.close-ok', 0)
    conn.half_close()
    conn.expect_eof()
    equal(watcher.drain(1, queue), [], 'queue')


@case
def what_follows_a_hard_error_is_ignored():
    watcher = connect()
    queue = watcher.queue(1, durable=False)
    conn = connect(channels=2)
    conn.method(1, 'channel.open')
    conn.publish(1, '', queue, 'late')
    conn.expect_close(0, 504, "CHANNEL_ERROR - second 'channel.open' seen", 'channel.open',
                      answer=False)
    try:
        conn.publish(2, '', queue, 'later')
        conn.method(0, 'connection.close-ok')
    except Eof:
        pass
    conn.expect_eof()
    watcher.fence(1, queue)
    equal(watcher.drain(1, queue), [], 'queue')


@case
def both_sides_may_close_at_once():
    conn = connect()
    conn.method(1, 'channel.open')
    conn.expect('connection.close', 0)
    conn.method(0, 'connection.close', reply_code=200)
    conn.expect('connection.close-ok', 0)
    conn.half_close()
    conn.expect_eof()
    # In one piece RabbitMQ may drop what follows the error; close-ok or nothing is right.
    conn = connect()
    conn.send(frame(METHOD, 1, encode_method('channel.open'))
              + frame(METHOD, 0, encode_method('connection.close', reply_code=200)))
    conn.expect('connection.close', 0)
    conn.method(0, 'connection.close-ok')
    conn.half_close()
    assert conn.rest() in (b'', frame(METHOD, 0, encode_method('connection.close-ok')))


@case
def a_lost_connection_requeues_and_drops_exclusive_queues():
    watcher = connect()
    shared = watcher.queue(1, durable=False)
    watcher.publish(1, '', shared, 'x')
    watcher.fence(1, shared)
    conn = connect()
    exclusive = conn.queue(1)
    conn.consume(1, shared, consumer_tag='t')
    conn.deliver(1)
    conn.close_socket()
    watcher.consume(1, shared)
    equal(watcher.deliver(1).redelivered, True, 'redelivered')
    # Delivered again, so the broker has seen the end; the exclusive queue goes with the connection.
    for _ in range(100):
        watcher.method(1, 'queue.declare', queue=exclusive, passive=True)
        got = watcher.expect('channel.close', 1)
        watcher.method(1, 'channel.close-ok')
        watcher.open_channel(1)
        if got.reply_code == 404:
            return
    raise AssertionError('the exclusive queue is still there: %r' % got)


@case
def update_secret_is_accepted():
    conn = connect()
    conn.rpc(0, 'connection.update-secret', new_secret='another', reason='why not')
    conn.rpc(1, 'basic.qos')


@case
def heartbeats_are_allowed_with_heartbeats_off():
    conn = connect(heartbeat=0)
    conn.send(frame(HEARTBEAT, 0, b'') * 3)
    conn.rpc(1, 'basic.qos')


@case
def an_abrupt_end_in_the_middle_of_a_message_does_no_harm():
    for data in (b'', HEADER[:4], frame(METHOD, 1, encode_method('basic.publish'))[:9],
                 frame(METHOD, 1, encode_method('basic.publish', routing_key='x')),
                 frame(METHOD, 1, encode_method('basic.publish', routing_key='x'))
                 + content_header(1, 100000) + frame(BODY, 1, b'x' * 50)[:-9]):
        conn = connect()
        conn.send(data)
        conn.half_close()
        conn.expect_eof()
    connect().close()


run_cases()
