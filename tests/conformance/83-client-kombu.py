"""Python kombu: producers, consumers and simple queues."""
import kombu

from raw import *


def connection(**options):
    return kombu.Connection(URL.replace('amqp://', 'pyamqp://') + '//', **options)


def drain_until(conn, done):
    until = time.monotonic() + DEADLINE * 2
    while not done():
        assert time.monotonic() < until, 'not done in time'
        conn.drain_events(timeout=DEADLINE)


@case
def a_producer_declares_and_a_consumer_acknowledges():
    with connection(transport_options={'confirm_publish': True}) as conn:
        exchange = kombu.Exchange(unique('x'), 'topic', durable=False)
        queue = kombu.Queue(unique('q'), exchange, routing_key='job.#', durable=False,
                            exclusive=True)
        got, requeued = [], []

        def on_message(body, message):
            if body['n'] == 3 and not requeued:
                requeued.append(3)
                message.requeue()
            elif body['n'] == 4:
                message.reject()
                got.append(4)
            else:
                got.append(body['n'])
                message.ack()

        with conn.Consumer(queue, callbacks=[on_message], accept=['json']) as consumer:
            consumer.qos(prefetch_count=2)
            producer = conn.Producer(serializer='json')
            for n in range(10):
                producer.publish({'n': n, 'text': 'ünïcødé'}, exchange=exchange,
                                 routing_key='job.%d' % n, declare=[queue], retry=True,
                                 compression='zlib' if n % 2 else None)
            drain_until(conn, lambda: len(got) == 10)
        equal(sorted(got), list(range(10)), 'messages')


@case
def global_and_per_consumer_qos():
    for apply_global in (False, True):
        with connection() as conn:
            ch = conn.channel()
            queue = kombu.Queue(unique('q'), durable=False, exclusive=True)(ch)
            queue.declare()
            producer = kombu.Producer(ch)
            for n in range(5):
                producer.publish(str(n), routing_key=queue.name)
            got = []
            consumer = kombu.Consumer(ch, queue, callbacks=[lambda b, m: got.append(m)])
            consumer.qos(prefetch_count=2, apply_global=apply_global)
            consumer.consume()
            drain_until(conn, lambda: len(got) == 2)
            ch.queue_declare(queue.name, passive=True)
            equal(len(got), 2, 'unacknowledged messages')
            got[0].ack()
            drain_until(conn, lambda: len(got) == 3)
            consumer.cancel()


@case
def simple_queues():
    with connection() as conn:
        name = unique('simple')
        queue = conn.SimpleQueue(name, queue_opts={'durable': False},
                                 exchange_opts={'durable': False})
        for n in range(5):
            queue.put({'n': n})
        until = time.monotonic() + DEADLINE
        while queue.qsize() != 5:  # on RabbitMQ the question may overtake the messages
            assert time.monotonic() < until, 'size is %d, not 5' % queue.qsize()
        for n in range(5):
            message = queue.get(timeout=DEADLINE)
            equal(message.payload, {'n': n}, 'payload')
            message.ack()
        equal(queue.clear(), 0, 'cleared')
        queue.close()
        queue.queue.delete()


@case
def errors_reach_the_caller():
    with connection() as conn:
        queue = kombu.Queue('amq.mine', durable=False)
        try:
            queue(conn.channel()).declare()
            raise AssertionError('a reserved name was declared')
        except conn.channel_errors as error:
            equal(error.reply_code, 403, 'reply code')
        equal(kombu.Connection(URL.replace(':' + PASSWORD + '@', ':wrong@')).connected, False,
              'connected')


run_cases()
