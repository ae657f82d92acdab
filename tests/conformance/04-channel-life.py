"""Opening, closing and misusing channels."""
from raw import *

STATE = 'CHANNEL_ERROR - unexpected method in connection state running'
EXPECTED_OPEN = "CHANNEL_ERROR - expected 'channel.open'"
UNIMPLEMENTED = 'COMMAND_INVALID - unimplemented method'


@case
def a_second_open_is_504():
    hard(connect(), 504, "CHANNEL_ERROR - second 'channel.open' seen", 'channel.open')


@case
def a_method_on_a_channel_that_is_not_open_is_504():
    for name in ('queue.declare', 'basic.qos', 'channel.close', 'channel.close-ok', 'basic.ack',
                 'channel.flow', 'connection.close'):
        hard(connect(), 504, EXPECTED_OPEN, name, channel=7)


@case
def a_closed_channel_is_not_open():
    conn = connect()
    conn.rpc(1, 'channel.close', reply_code=200, reply_text='done')
    hard(conn, 504, EXPECTED_OPEN, 'basic.qos')


@case
def content_on_a_channel_that_is_not_open_is_504():
    conn = connect()
    conn.publish(7, '', 'x', 'body')
    conn.expect_close(0, 504, EXPECTED_OPEN, 'basic.publish')


@case
def channel_methods_on_channel_0_are_504():
    for name in ('channel.open', 'queue.declare', 'basic.publish', 'tx.select', 'channel.close'):
        hard(connect(), 504, STATE, name, channel=0)


@case
def connection_methods_of_other_states_are_504():
    for name in ('connection.start', 'connection.start-ok', 'connection.secure-ok',
                 'connection.tune', 'connection.tune-ok', 'connection.open', 'connection.open-ok',
                 'connection.close-ok', 'connection.blocked', 'connection.unblocked'):
        hard(connect(), 504, STATE, name, channel=0)


@case
def connection_methods_on_a_channel_are_503():
    for name in ('connection.open', 'connection.close', 'connection.tune-ok'):
        hard(connect(), 503, UNIMPLEMENTED, name)


@case
def methods_that_only_a_broker_sends_are_503():
    for name in ('channel.open-ok', 'channel.flow-ok', 'channel.close-ok', 'access.request-ok',
                 'exchange.declare-ok', 'exchange.bind-ok', 'queue.declare-ok', 'queue.purge-ok',
                 'basic.qos-ok', 'basic.consume-ok', 'basic.cancel-ok', 'basic.get-empty',
                 'basic.recover-ok', 'tx.select-ok', 'tx.commit-ok', 'confirm.select-ok'):
        hard(connect(), 503, UNIMPLEMENTED, name)


@case
def content_methods_that_only_a_broker_sends_are_503():
    for name in ('basic.deliver', 'basic.return', 'basic.get-ok'):
        conn = connect()
        conn.method(1, name)
        conn.send(content(1, b'abc'))
        conn.expect_close(0, 503, UNIMPLEMENTED, name)


@case
def a_number_can_be_used_again_after_either_side_closed():
    conn = connect()
    for _ in range(3):
        conn.rpc(1, 'channel.close', reply_code=200)
        conn.open_channel(1)
        refuse(conn, 404, "NOT_FOUND - no queue 'missing' in vhost '/'", 'queue.purge',
               queue='missing')


@case
def a_soft_error_leaves_other_channels_alone():
    conn = connect(channels=2)
    refuse(conn, 404, "NOT_FOUND - no queue 'missing' in vhost '/'", 'queue.purge', queue='missing')
    conn.rpc(2, 'basic.qos')


@case
def what_follows_an_error_is_ignored_until_close_ok():
    conn = connect(channels=2)
    queue = conn.queue(2)
    conn.method(1, 'queue.purge', queue='missing')
    for _ in range(100):
        conn.publish(1, '', queue, b'x' * 300)
    conn.method(1, 'queue.delete', queue=queue)
    conn.method(1, 'queue.purge', queue='missing2')
    conn.expect_close(1, 404, "NOT_FOUND - no queue 'missing' in vhost '/'", 'queue.purge')
    conn.open_channel(1)
    equal(conn.drain(1, queue), [], 'queue')


@case
def half_a_message_before_close_ok_does_no_harm():
    conn = connect()
    conn.method(1, 'queue.purge', queue='missing')
    conn.method(1, 'basic.publish', routing_key='x')
    conn.send(content_header(1, 10))
    conn.expect_close(1, 404, "NOT_FOUND - no queue 'missing' in vhost '/'", 'queue.purge')
    conn.method(1, 'channel.open')
    got = conn.read()
    if got.name == 'channel.open-ok':
        conn.rpc(1, 'basic.qos')
    else:  # RabbitMQ still waits for the body; the specification says to discard
        equal((got.name, got.reply_code), ('connection.close', 505), 'answer')


@case
def a_message_may_be_abandoned_by_nothing_but_a_hard_error():
    conn = connect()
    conn.method(1, 'basic.publish', routing_key='x')
    conn.send(content_header(1, 10) + frame(BODY, 1, b'12345'))
    conn.method(1, 'channel.close', reply_code=200)
    conn.expect_close(0, 505, 'UNEXPECTED_FRAME - expected content body, got non content body '
                              'frame instead', 'basic.publish')


@case
def both_sides_may_close_at_once():
    conn = connect()
    conn.method(1, 'queue.purge', queue='missing')
    conn.method(1, 'channel.close', reply_code=200)
    conn.expect_close(1, 404, "NOT_FOUND - no queue 'missing' in vhost '/'", 'queue.purge',
                      answer=False)
    conn.expect('channel.close-ok', 1)
    conn.method(1, 'channel.close-ok')
    conn.open_channel(1)


@case
def a_channel_closes_while_deliveries_come():
    conn = connect(channels=2)
    queue = conn.queue(2)
    for n in range(500):
        conn.publish(2, '', queue, b'x' * 100)
    conn.consume(1, queue)
    conn.deliver(1)
    conn.method(1, 'channel.close', reply_code=200)
    while conn.read().name != 'channel.close-ok':
        pass
    conn.fence(2, queue)
    conn.counts(2, queue, 500, 0)
    conn.open_channel(1)
    equal(conn.rpc(1, 'basic.get', queue=queue).redelivered, True, 'redelivered')


@case
def delivery_tags_start_again_with_the_channel():
    conn = connect()
    queue = conn.queue(1)
    conn.publish(1, '', queue, 'a')
    equal(conn.rpc(1, 'basic.get', queue=queue, no_ack=True).delivery_tag, 1, 'delivery tag')
    conn.rpc(1, 'channel.close', reply_code=200)
    conn.open_channel(1)
    conn.publish(1, '', queue, 'a')
    equal(conn.rpc(1, 'basic.get', queue=queue, no_ack=True).delivery_tag, 1, 'delivery tag')


@case
def flow_true_is_acknowledged_and_flow_false_is_540():
    conn = connect()
    equal(conn.rpc(1, 'channel.flow', active=True).active, True, 'active')
    hard(conn, 540, 'NOT_IMPLEMENTED - active=false', 'channel.flow', active=False)


@case
def access_request_is_granted():
    equal(connect().rpc(1, 'access.request', realm='/data', read=True).ticket, 1, 'ticket')


run_cases()
