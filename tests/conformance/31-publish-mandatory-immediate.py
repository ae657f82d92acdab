"""basic.return, its order with confirms, and publishes that are refused."""
from raw import *


@case
def mandatory_returns_what_has_no_queue():
    conn = connect()
    exchange = conn.exchange(1, 'direct')
    props = properties(headers={'a': [1, None]}, message_id='m')
    body = bytes(range(256)) * 1000
    for name, key in (('', 'conf.nowhere'), (exchange, 'k'), (exchange, ''), ('amq.topic', 'é')):
        conn.publish(1, name, key, body, props, mandatory=True)
        got = conn.expect('basic.return', 1, reply_code=312, reply_text='NO_ROUTE', exchange=name,
                          routing_key=key)
        assert got.body == body, 'the body came back changed'
        equal(got.raw_properties, props, 'properties')


@case
def without_mandatory_it_is_dropped():
    conn = connect()
    for name in ('', 'amq.direct', 'amq.headers'):
        conn.publish(1, name, 'conf.nowhere', 'x')
    conn.rpc(1, 'basic.qos')


@case
def mandatory_says_nothing_when_a_queue_takes_it():
    conn = connect()
    queue = conn.queue(1)
    conn.publish(1, '', queue, 'x', mandatory=True)
    equal(conn.drain(1, queue), [b'x'], 'queue')


@case
def an_empty_message_is_returned_too():
    conn = connect()
    conn.publish(1, '', 'conf.nowhere', b'', mandatory=True)
    equal(conn.expect('basic.return', 1).body, b'', 'body')


@case
def the_return_comes_before_the_confirm():
    conn = connect()
    queue = conn.queue(1)
    conn.rpc(1, 'confirm.select')
    for n in range(50):
        conn.publish(1, '', 'conf.nowhere', str(n), mandatory=True)
        conn.publish(1, '', queue, 'x', mandatory=True)
    returned, confirmed = {}, set()
    while len(confirmed) < 100:
        got = conn.read()
        if got.name == 'basic.return':
            number = 2 * int(got.body) + 1
            assert number not in confirmed, 'publish %d confirmed before it was returned' % number
            returned[number] = len(returned)
            continue
        equal(got.name, 'basic.ack', 'method')
        confirmed |= set(range(1 if got.multiple else got.delivery_tag, got.delivery_tag + 1))
    equal(list(returned), list(range(1, 100, 2)), 'returned publishes in order')


@case
def immediate_is_540():
    for mandatory in (False, True):
        conn = connect()
        queue = conn.queue(1)
        conn.publish(1, '', queue, 'x', immediate=True, mandatory=mandatory)
        conn.expect_close(0, 540, 'NOT_IMPLEMENTED - immediate=true', 'basic.publish')


@case
def publishing_to_a_missing_exchange_closes_the_channel():
    for mandatory in (False, True):
        conn = connect()
        conn.publish(1, 'conf.no.exchange', 'k', b'x' * 200000, mandatory=mandatory)
        conn.expect_close(1, 404, "NOT_FOUND - no exchange 'conf.no.exchange' in vhost '/'",
                          'basic.publish')
        conn.open_channel(1)


@case
def publishing_to_the_trace_exchange_is_403():
    conn = connect()
    conn.publish(1, 'amq.rabbitmq.trace', 'k', 'x')
    conn.expect_close(1, 403, "ACCESS_REFUSED - cannot publish to internal exchange "
                              "'amq.rabbitmq.trace' in vhost '/'", 'basic.publish')


run_cases()
