"""basic.get."""
from raw import *


@case
def an_empty_queue_answers_empty():
    conn = connect()
    equal(conn.rpc(1, 'basic.get', queue=conn.queue(1)).name, 'basic.get-empty', 'answer')


@case
def get_ok_carries_everything():
    conn = connect()
    queue = conn.queue(1)
    conn.bind(1, queue, 'amq.direct', queue)
    for n in range(3):
        conn.publish(1, 'amq.direct', queue, str(n), properties(message_id=str(n)))
    for n in range(3):
        got = conn.rpc(1, 'basic.get', queue=queue)
        equal((got.body, got.delivery_tag, got.redelivered, got.exchange, got.routing_key,
               got.message_count, got.properties),
              (str(n).encode(), n + 1, False, 'amq.direct', queue, 2 - n, {'message_id': str(n)}),
              'message')
    equal(conn.rpc(1, 'basic.get', queue=queue).name, 'basic.get-empty', 'answer')


@case
def with_no_ack_the_message_is_settled():
    conn = connect()
    queue = conn.queue(1)
    conn.publish(1, '', queue, 'x')
    conn.rpc(1, 'basic.get', queue=queue, no_ack=True)
    conn.rpc(1, 'channel.close', reply_code=200)
    conn.open_channel(1)
    equal(conn.drain(1, queue), [], 'queue')


@case
def a_message_that_was_got_is_redelivered():
    conn = connect()
    queue = conn.queue(1)
    conn.publish(1, '', queue, 'x')
    for attempt in range(3):
        got = conn.rpc(1, 'basic.get', queue=queue)
        equal((got.delivery_tag, got.redelivered), (attempt + 1, attempt > 0), 'message')
        conn.method(1, 'basic.nack', delivery_tag=got.delivery_tag, requeue=True)


@case
def delivery_tags_count_gets_and_deliveries_together():
    conn = connect()
    first, second = conn.queue(1), conn.queue(1)
    conn.consume(1, first)
    conn.publish(1, '', first, 'x')
    conn.deliver(1, delivery_tag=1)
    conn.publish(1, '', second, 'x')
    equal(conn.rpc(1, 'basic.get', queue=second).delivery_tag, 2, 'delivery tag')
    conn.publish(1, '', first, 'x')
    conn.deliver(1, delivery_tag=3)


@case
def many_gets_may_be_on_their_way():
    conn = connect()
    queue = conn.queue(1)
    for n in range(50):
        conn.publish(1, '', queue, str(n))
    for _ in range(60):
        conn.method(1, 'basic.get', queue=queue, no_ack=True)
    for n in range(50):
        equal(conn.expect('basic.get-ok', 1).body, str(n).encode(), 'body')
    for n in range(10):
        conn.expect('basic.get-empty', 1)


run_cases()
