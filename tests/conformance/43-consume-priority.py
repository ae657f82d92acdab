"""Consumer arguments and what consumers are told: priorities, exclusive use, queues that go."""
from raw import *


def fill(conn, queue, count, first=0):
    for n in range(first, first + count):
        conn.publish(1, '', queue, str(n))


@case
def priorities_of_all_widths_and_signs():
    conn = connect(channels=2)
    queue = conn.queue(1)
    for tag, priority in (('a', Typed('b', -128)), ('b', -2**31), ('c', Typed('l', -2**63)),
                          ('d', Typed('l', 2**63 - 1)), ('e', Typed('B', 255)), ('f', 0)):
        conn.consume(2, queue, consumer_tag=tag, no_ack=True, arguments={'x-priority': priority})
    fill(conn, queue, 5)
    for n in range(5):
        conn.deliver(2, str(n), consumer_tag='d')
    for tag in 'debf'[:3]:
        conn.rpc(2, 'basic.cancel', consumer_tag=tag)
    fill(conn, queue, 3)
    for n in range(3):
        conn.deliver(2, str(n), consumer_tag='f')


@case
def a_priority_of_another_type_is_406():
    conn = connect()
    queue = conn.queue(1)
    for value, kind in (('1', 'longstr'), (1.5, 'double'), (True, 'bool'), (None, 'void'),
                        ([], 'array'), ({}, 'table')):
        refuse(conn, 406, "PRECONDITION_FAILED - invalid arg 'x-priority' for queue '%s' in vhost "
               "'/': \"expected integer, got %s\"" % (queue, kind), 'basic.consume', queue=queue,
               arguments={'x-priority': value})


@case
def other_consumer_arguments_are_taken():
    conn = connect()
    queue = conn.queue(1)
    for arguments in ({'x-cancel-on-ha-failover': True}, {'x-cancel-on-ha-failover': False},
                      {'x-unknown': [1]}, {'priority': 'high'}):
        conn.consume(1, queue, arguments=arguments)


@case
def a_later_higher_priority_takes_over():
    conn = connect(channels=3)
    queue = conn.queue(1)
    conn.consume(2, queue, no_ack=True)
    fill(conn, queue, 2)
    for n in range(2):
        conn.deliver(2, str(n))
    conn.consume(3, queue, consumer_tag='high', no_ack=True, arguments={'x-priority': 1})
    fill(conn, queue, 2)
    for n in range(2):
        conn.deliver(3, str(n))
    conn.rpc(3, 'basic.cancel', consumer_tag='high')
    fill(conn, queue, 2)
    for n in range(2):
        conn.deliver(2, str(n))


@case
def a_high_priority_that_is_full_leaves_the_rest_to_the_low():
    conn = connect(channels=3)
    queue = conn.queue(1)
    conn.rpc(2, 'basic.qos', prefetch_count=2)
    conn.consume(2, queue, arguments={'x-priority': 9})
    conn.consume(3, queue, no_ack=True, arguments={'x-priority': -9})
    got = []
    for n in range(5):
        conn.publish(1, '', queue, str(n))
        got.append(conn.deliver(body=str(n)).channel)
    equal(got, [2, 2, 3, 3, 3], 'channels')


@case
def a_message_put_back_by_the_low_goes_to_the_high():
    conn = connect(channels=3)
    queue = conn.queue(1)
    conn.consume(2, queue)
    conn.publish(1, '', queue, 'x')
    tag = conn.deliver(2, 'x').delivery_tag
    conn.consume(3, queue, no_ack=True, arguments={'x-priority': 3})
    conn.method(2, 'basic.reject', delivery_tag=tag, requeue=True)
    conn.deliver(3, 'x', redelivered=True)


@case
def exclusive_use_ends_with_its_channel():
    conn, other = connect(channels=2), connect()
    queue = conn.queue(1, durable=False)
    conn.consume(2, queue, exclusive=True)
    text = "ACCESS_REFUSED - queue '%s' in vhost '/' in exclusive use" % queue
    refuse(other, 403, text, 'basic.consume', queue=queue)
    equal(other.rpc(1, 'basic.get', queue=queue).name, 'basic.get-empty', 'get')  # no consumer
    conn.rpc(2, 'channel.close', reply_code=200)
    other.consume(1, queue, exclusive=True)
    refuse(conn, 403, text, 'basic.consume', queue=queue)


def cancelled(conn, channel, *tags):
    got = set()
    for _ in tags:
        method = conn.expect('basic.cancel', channel, nowait=True)
        got.add(method.consumer_tag)
    equal(got, set(tags), 'tags')


@case
def a_deleted_queue_cancels_its_consumers():
    conn, other = connect(channels=3), connect()
    queue = conn.queue(1, durable=False)
    for channel in (2, 3):
        conn.consume(channel, queue, consumer_tag='t%d' % channel)
    other.consume(1, queue, consumer_tag='theirs')
    conn.method(1, 'queue.delete', queue=queue)
    got = sorted((m.name, m.channel) for m in (conn.read(), conn.read(), conn.read()))
    equal(got, [('basic.cancel', 2), ('basic.cancel', 3), ('queue.delete-ok', 1)], 'answers')
    cancelled(other, 1, 'theirs')
    other.rpc(1, 'basic.cancel', consumer_tag='theirs')  # it is no error that it has gone


@case
def a_cancelled_tag_is_free_again():
    conn = connect(channels=2)
    for _ in range(3):
        queue = conn.queue(1)
        conn.consume(2, queue, consumer_tag='same')
        conn.method(1, 'queue.delete', queue=queue)
        names = sorted([conn.read().name, conn.read().name])
        equal(names, ['basic.cancel', 'queue.delete-ok'], 'answers')


@case
def an_exclusive_queue_takes_no_others_along():
    conn, watcher = connect(channels=2), connect()
    queue, shared = conn.queue(1), watcher.queue(1, durable=False)
    conn.consume(2, queue)
    watcher.consume(1, shared, consumer_tag='t')
    conn.close_socket()
    watcher.publish(1, '', shared, 'x')
    watcher.deliver(1, 'x', consumer_tag='t')


@case
def without_the_capability_nobody_is_told():
    conn, other = connect(channels=2, capabilities={}), connect()
    queue = conn.queue(1, durable=False)
    conn.consume(2, queue, consumer_tag='t')
    other.rpc(1, 'queue.delete', queue=queue)
    conn.rpc(1, 'basic.qos')
    conn.rpc(2, 'basic.qos')
    conn.rpc(2, 'basic.cancel', consumer_tag='t')


@case
def messages_of_a_deleted_queue_may_still_be_acknowledged():
    conn = connect(channels=2)
    for method, flags in (('basic.ack', {}), ('basic.reject', {'requeue': True}),
                          ('basic.nack', {'requeue': False})):
        queue = conn.queue(1)
        conn.consume(2, queue)
        conn.publish(1, '', queue, 'x')
        tag = conn.deliver(2, 'x').delivery_tag
        conn.method(1, 'queue.delete', queue=queue)
        names = sorted([conn.read().name, conn.read().name])
        equal(names, ['basic.cancel', 'queue.delete-ok'], 'answers')
        conn.method(2, method, delivery_tag=tag, **flags)
        conn.rpc(2, 'basic.qos')


@case
def an_expired_queue_has_no_consumers_to_cancel_but_its_channel_lives():
    conn = connect(channels=2)
    queue = conn.queue(1, durable=False, arguments={'x-expires': 50})
    tag = conn.consume(2, queue)
    conn.publish(1, '', queue, 'x')
    got = conn.deliver(2, 'x')
    conn.rpc(2, 'basic.cancel', consumer_tag=tag)
    deadline = time.monotonic() + DEADLINE
    while True:  # the queue goes though its message is with a client
        conn.publish(1, '', queue, '', properties(expiration='0'), mandatory=True)
        conn.method(1, 'basic.qos')
        if conn.read().name == 'basic.return':
            conn.expect('basic.qos-ok', 1)
            break
        assert time.monotonic() < deadline, 'the queue does not go'
    conn.method(2, 'basic.ack', delivery_tag=got.delivery_tag)
    conn.rpc(2, 'basic.qos')


# --- direct reply-to ---

REPLY_TO = 'amq.rabbitmq.reply-to'


def caller(conn, channel=2):
    conn.rpc(channel, 'basic.consume', queue=REPLY_TO, no_ack=True, consumer_tag='replies')


@case
def a_request_and_its_reply():
    conn, server = connect(channels=2), connect()
    requests = server.queue(1, durable=False)
    server.consume(1, requests, no_ack=True)
    caller(conn)
    for n in range(20):
        conn.publish(2, '', requests, 'ask %d' % n, properties(reply_to=REPLY_TO,
                                                              correlation_id=str(n)))
        got = server.deliver(1, 'ask %d' % n)
        address = got.properties['reply_to']
        assert address.startswith(REPLY_TO + '.'), 'reply_to is %r' % address
        server.publish(1, '', address, 'answer %d' % n, properties(correlation_id=str(n)))
        reply = conn.deliver(2, 'answer %d' % n, consumer_tag='replies', exchange='',
                             routing_key=address, redelivered=False)
        equal(reply.properties, {'correlation_id': str(n)}, 'properties')


def address_of(conn, server):
    """The address of a caller on channel 2."""
    caller(conn)
    queue = server.queue(1, durable=False)
    conn.publish(2, '', queue, 'x', properties(reply_to=REPLY_TO))
    server.consume(1, queue, no_ack=True)
    return server.deliver(1, 'x').properties['reply_to']


@case(only='rabbitmq')  # here a reply that arrives is not returned
def a_mandatory_reply_is_returned_though_it_arrives():
    conn, server = connect(channels=2), connect()
    server.publish(1, '', address_of(conn, server), 'answer', mandatory=True)
    equal(server.expect('basic.return', 1).reply_text, 'NO_ROUTE', 'text')
    conn.deliver(2, 'answer')


@case
def a_mandatory_reply_to_nobody_is_returned():
    conn, server = connect(channels=2), connect()
    address = address_of(conn, server)
    conn.rpc(2, 'channel.close', reply_code=200)
    # RabbitMQ closes the connection by 541 for what it cannot read; here a reply to somebody who
    # has gone is dropped.
    for key in on(ringtail=[REPLY_TO + '.' + bad for bad in ('nonsense', '', 'a.b')],
                  rabbitmq=[address]):
        server.publish(1, '', key, 'answer', mandatory=True)
        equal(server.expect('basic.return', 1).reply_text, 'NO_ROUTE', 'text')


@case
def a_reply_keeps_its_properties_and_may_be_large():
    conn, server = connect(channels=2), connect()
    address = address_of(conn, server)
    given = {'content_type': 'a/b', 'headers': {'h': [1, 'x']}, 'reply_to': 'me', 'priority': 3}
    server.publish(1, '', address, 'x' * 300000, properties(**given))
    equal(conn.deliver(2, 'x' * 300000).properties, given, 'properties')


@case
def wrong_uses_are_406():
    conn = connect()
    refuse(conn, 406, 'PRECONDITION_FAILED - reply consumer cannot acknowledge', 'basic.consume',
           queue=REPLY_TO)
    conn.publish(1, '', 'q', 'x', properties(reply_to=REPLY_TO))
    conn.expect_close(1, 406, 'PRECONDITION_FAILED - fast reply consumer does not exist',
                      'basic.publish')
    conn.open_channel(1)
    caller(conn, 1)
    refuse(conn, 406, 'PRECONDITION_FAILED - reply consumer already set', 'basic.consume',
           queue=REPLY_TO, no_ack=True)


@case
def an_address_can_be_asked_for():
    conn, server = connect(channels=2), connect()
    address = address_of(conn, server)
    for passive in (True, False):
        got = server.rpc(1, 'queue.declare', queue=address, passive=passive)
        equal((got.queue, got.message_count, got.consumer_count), (address, 0, 1), 'declare-ok')
    conn.rpc(2, 'channel.close', reply_code=200)
    refuse(server, 404, "NOT_FOUND - no queue '%s' in vhost '/'" % address, 'queue.declare',
           queue=address, passive=True)
    server.rpc(1, 'confirm.select')
    server.publish(1, '', address, 'too late')
    server.expect('basic.ack', 1)


@case
def the_name_itself_is_no_queue():
    conn = connect()
    got = conn.rpc(1, 'queue.declare', queue=REPLY_TO, passive=True)
    equal((got.message_count, got.consumer_count), (0, 1), 'counts')


@case
def a_cancelled_reply_consumer_gets_nothing():
    conn, server = connect(channels=2), connect()
    address = address_of(conn, server)
    conn.rpc(2, 'basic.cancel', consumer_tag='replies')
    server.rpc(1, 'confirm.select')
    server.publish(1, '', address, 'late', mandatory=True)
    got = server.read()
    if got.name == 'basic.return':
        got = server.read()
    equal(got.name, 'basic.ack', 'answer')
    conn.rpc(2, 'basic.qos')
    conn.publish(2, '', 'q', 'x', properties(reply_to=REPLY_TO))
    conn.expect_close(2, 406, 'PRECONDITION_FAILED - fast reply consumer does not exist',
                      'basic.publish')


run_cases()
