"""Python pika, BlockingConnection: the whole round."""
import pika

from raw import *

pika_url = pika.URLParameters(URL + '/%2F')


def channel():
    connection = pika.BlockingConnection(pika_url)
    return connection, connection.channel()


@case
def declare_bind_publish_get_and_acknowledge():
    connection, ch = channel()
    exchange, queue = unique('x'), unique('q')
    ch.exchange_declare(exchange, 'topic', auto_delete=True)
    ch.queue_declare(queue, exclusive=True, arguments={'x-unknown': 1})
    ch.queue_bind(queue, exchange, 'a.#')
    ch.basic_publish(exchange, 'a.b', b'body', pika.BasicProperties(
        content_type='text/plain', headers={'n': 1, 's': 'x', 'l': [1, 2], 't': {'k': None}},
        delivery_mode=2, message_id='m'))
    method, props, body = ch.basic_get(queue)
    equal((body, method.routing_key, method.exchange, method.redelivered, props.message_id,
           props.headers), (b'body', 'a.b', exchange, False, 'm',
                            {'n': 1, 's': 'x', 'l': [1, 2], 't': {'k': None}}), 'message')
    ch.basic_nack(method.delivery_tag, requeue=True)
    method, _, _ = ch.basic_get(queue)
    equal(method.redelivered, True, 'redelivered')
    ch.basic_ack(method.delivery_tag)
    equal(ch.basic_get(queue), (None, None, None), 'empty queue')
    ch.queue_unbind(queue, exchange, 'a.#')
    ch.queue_purge(queue)
    ch.queue_delete(queue)
    ch.close()
    connection.close()


@case
def confirms_and_returns():
    connection, ch = channel()
    queue = ch.queue_declare('', exclusive=True).method.queue
    ch.confirm_delivery()
    for n in range(20):
        ch.basic_publish('', queue, b'x' * n * 10000, mandatory=True)
    try:
        ch.basic_publish('', 'conf.nowhere', b'lost', mandatory=True)
        raise AssertionError('the unroutable message was not returned')
    except pika.exceptions.UnroutableError as error:
        equal(error.messages[0].body, b'lost', 'returned body')
        equal(error.messages[0].method.reply_code, 312, 'reply code')
    equal(ch.queue_declare(queue, passive=True).method.message_count, 20, 'messages')
    connection.close()


@case
def consuming_with_callbacks():
    connection, ch = channel()
    queue = ch.queue_declare('', exclusive=True).method.queue
    ch.basic_qos(prefetch_count=5)
    got, rejected = [], set()

    def on_message(_, method, props, body):
        if body == b'7' and body not in rejected:
            rejected.add(body)
            ch.basic_reject(method.delivery_tag, requeue=True)
            return
        got.append((body, method.redelivered))
        ch.basic_ack(method.delivery_tag)
        if len(got) == 50:
            ch.stop_consuming()

    ch.basic_consume(queue, on_message)
    for n in range(50):
        ch.basic_publish('', queue, str(n))
    connection.call_later(int(DEADLINE) * 2, ch.stop_consuming)
    ch.start_consuming()
    equal(sorted(int(b) for b, _ in got), list(range(50)), 'messages')
    equal([b for b, again in got if again], [b'7'], 'redelivered')
    connection.close()


@case
def consuming_with_a_generator():
    connection, ch = channel()
    queue = ch.queue_declare('', exclusive=True).method.queue
    for n in range(10):
        ch.basic_publish('', queue, str(n))
    got = []
    for method, _, body in ch.consume(queue, inactivity_timeout=DEADLINE):
        assert method, 'only %d messages came' % len(got)
        got.append(int(body))
        ch.basic_ack(method.delivery_tag)
        if len(got) == 10:
            break
    equal(got, list(range(10)), 'messages')
    equal(ch.cancel(), 0, 'requeued')
    connection.close()


@case
def errors_have_their_codes():
    connection, ch = channel()
    for call, code in ((lambda c: c.queue_declare('conf.nowhere', passive=True), 404),
                       (lambda c: c.queue_declare('amq.mine'), 403),
                       (lambda c: c.exchange_declare('amq.direct', 'fanout', durable=True), 406),
                       (lambda c: c.basic_ack(99) or c.basic_qos(), 406)):
        try:
            call(connection.channel())
            raise AssertionError('no error %d' % code)
        except pika.exceptions.ChannelClosedByBroker as error:
            equal(error.reply_code, code, 'reply code')
    assert ch.is_open, 'another channel was closed too'
    connection.close()


@case
def a_wrong_password_is_told():
    wrong = pika.URLParameters(URL.replace(':' + PASSWORD + '@', ':wrong@') + '/%2F')
    try:
        pika.BlockingConnection(wrong)
        raise AssertionError('the login succeeded')
    except pika.exceptions.ProbableAuthenticationError as error:
        assert '403' in str(error), error


@case
def transactions_and_recover():
    connection, ch = channel()
    queue = ch.queue_declare('', exclusive=True).method.queue
    ch.tx_select()
    ch.basic_publish('', queue, b'rolled back')
    ch.tx_rollback()
    ch.basic_publish('', queue, b'committed')
    ch.tx_commit()
    _, _, body = ch.basic_get(queue)
    equal(body, b'committed', 'body')
    ch.basic_recover(requeue=True)
    method, _, _ = ch.basic_get(queue)
    equal(method.redelivered, True, 'redelivered')
    connection.close()


@case
def a_deleted_queue_cancels_its_consumers():
    connection, ch = channel()
    queue = ch.queue_declare('', exclusive=True).method.queue
    cancelled = []
    ch.add_on_cancel_callback(lambda frame_: cancelled.append(frame_.method.consumer_tag))
    tag = ch.basic_consume(queue, lambda *_: None)
    connection.channel().queue_delete(queue)
    until = time.monotonic() + DEADLINE
    while not cancelled and time.monotonic() < until:
        connection.process_data_events(0.1)
    equal(cancelled, [tag], 'cancelled')
    connection.close()


run_cases()
