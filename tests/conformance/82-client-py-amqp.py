"""Python py-amqp: the whole round."""
import amqp

from raw import *


def connection(**options):
    conn = amqp.Connection(host='%s:%d' % (HOST, PORT), userid=USER, password=PASSWORD, **options)
    conn.connect()
    return conn


def drain_until(conn, done):
    until = time.monotonic() + DEADLINE * 2
    while not done():
        assert time.monotonic() < until, 'not done in time'
        conn.drain_events(timeout=DEADLINE)


@case
def declare_bind_publish_get_and_acknowledge():
    with connection(login_method='AMQPLAIN') as conn:
        ch = conn.channel()
        exchange, queue = unique('x'), unique('q')
        ch.exchange_declare(exchange, 'headers', auto_delete=False, durable=True)
        ch.queue_declare(queue, exclusive=True)
        ch.queue_bind(queue, exchange, arguments={'x-match': 'all', 'n': 1})
        headers = {'n': 1, 'f': 1.5, 'b': True, 'v': None, 's': 'x', 'l': [1, 'a'], 't': {'k': 2}}
        ch.basic_publish(amqp.Message('body', application_headers=headers, priority=3,
                                      content_type='text/plain'), exchange, 'k')
        got = ch.basic_get(queue)
        equal((got.body, got.headers, got.priority), ('body', headers, 3), 'message')
        ch.basic_reject(got.delivery_tag, requeue=True)
        got = ch.basic_get(queue)
        assert got.delivery_info['redelivered'], 'not redelivered'
        ch.basic_ack(got.delivery_tag)
        equal(ch.basic_get(queue), None, 'empty queue')
        ch.queue_unbind(queue, exchange, arguments={'x-match': 'all', 'n': 1})
        other = unique('x')
        ch.exchange_declare(other, 'fanout', auto_delete=False)
        ch.exchange_bind(exchange, other)
        ch.exchange_unbind(exchange, other)
        ch.exchange_delete(other)
        ch.exchange_delete(exchange)
        equal(ch.queue_purge(queue), 0, 'purged')
        ch.queue_delete(queue)
        ch.close()


@case
def confirms_and_returns():
    with connection(confirm_publish=True) as conn:
        ch = conn.channel()
        queue = ch.queue_declare('', exclusive=True).queue
        for n in range(20):
            ch.basic_publish(amqp.Message('x' * n * 10000), '', queue)
        returned = []
        ch.events['basic_return'].add(lambda *args: returned.append(args))
        ch.basic_publish(amqp.Message('lost'), '', 'conf.nowhere', mandatory=True)
        equal(len(returned), 1, 'returned messages')
        equal((returned[0][0].reply_code, returned[0][3].body), (312, 'lost'), 'return')
        equal(ch.queue_declare(queue, passive=True).message_count, 20, 'messages')


@case
def consume_ack_nack_cancel():
    with connection() as conn:
        ch = conn.channel()
        queue = ch.queue_declare('', exclusive=True).queue
        ch.basic_qos(0, 4, False)
        got, again = [], []

        def on_message(message):
            if message.body == '5' and not again:
                again.append(message.body)
                ch.basic_reject(message.delivery_tag, requeue=True)
                return
            got.append(int(message.body))
            ch.basic_ack(message.delivery_tag)

        tag = ch.basic_consume(queue, callback=on_message)
        for n in range(30):
            ch.basic_publish(amqp.Message(str(n)), '', queue)
        drain_until(conn, lambda: len(got) == 30)
        equal(sorted(got), list(range(30)), 'messages')
        ch.basic_cancel(tag)
        ch.basic_recover(requeue=True)


@case
def transactions():
    with connection() as conn:
        ch = conn.channel()
        queue = ch.queue_declare('', exclusive=True).queue
        ch.tx_select()
        ch.basic_publish(amqp.Message('rolled back'), '', queue)
        ch.tx_rollback()
        ch.basic_publish(amqp.Message('committed'), '', queue)
        ch.tx_commit()
        equal(ch.basic_get(queue, no_ack=True).body, 'committed', 'body')


@case
def errors_have_their_classes():
    with connection() as conn:
        for error, call in (
                (amqp.NotFound, lambda c: c.queue_declare('conf.nowhere', passive=True)),
                (amqp.AccessRefused, lambda c: c.queue_declare('amq.mine')),
                (amqp.PreconditionFailed,
                 lambda c: c.exchange_declare('amq.direct', 'fanout', durable=True,
                                              auto_delete=False))):
            try:
                call(conn.channel())
                raise AssertionError('no %s' % error.__name__)
            except error:
                pass
    try:
        connection(virtual_host='conf.nowhere')
        raise AssertionError('an unknown vhost was opened')
    except amqp.NotAllowed:
        pass


@case
def heartbeats():
    with connection(heartbeat=2) as conn:
        equal(conn.heartbeat, 2, 'heartbeat')
        conn.send_heartbeat()
        conn.heartbeat_tick()
        conn.channel().close()


run_cases()
