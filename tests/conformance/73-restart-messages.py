"""What a restart does to messages: which are there again, and as what."""
from raw import *
from lasting import *

BOTH_ENDS = (False, True)  # SIGTERM, SIGKILL

HEADERS = {'text': 'ütf', 'bytes': b'\0\xff', 'yes': True, 'small': Typed('b', -3),
           'int': 70000, 'long': 2**40, 'float': 1.5, 'list': [1, 'two', {'three': 3}],
           'table': {'inner': {'deep': None}}, 'decimal': Typed('D', (2, 314)),
           'time': Typed('T', 1700000000), 'none': None}
EVERYTHING = properties(
    content_type='text/plain', content_encoding='utf-8', headers=HEADERS, delivery_mode=2,
    priority=3, correlation_id='c-1', reply_to='answers', expiration='3600000', message_id='m-1',
    timestamp=1700000001, type='kind', user_id='guest', app_id='app', cluster_id='cluster')


@case(only=HAVE)
def persistent_messages_of_durable_queues_come_back_in_order_once():
    for kill in BOTH_ENDS:
        with Lasting() as kept:
            conn = kept.connect()
            queue = durable(conn, 1, 'orders')
            wanted = ['%d' % number for number in range(300)]
            publish(conn, 1, queue, wanted)
            conn = kept.again(kill=kill)
            equal(conn.passive(1, queue), (300, 0), 'counts')
            got = take_all(conn, 1, queue)
            equal(bodies(got), wanted, 'bodies')
            equal([m.redelivered for m in got], [False] * 300, 'redelivered')
            # What is on the disk when the node ends is all that came before this confirm.
            publish(conn, 1, queue, ['last'])
            conn = kept.again(kill=kill)
            equal(bodies(take_all(conn, 1, queue)), ['last'], 'what was not taken')


@case(only=HAVE)
def a_message_comes_back_with_all_it_had():
    for kill in BOTH_ENDS:
        with Lasting() as kept:
            conn = kept.connect()
            durable(conn, 1, 'whole')
            conn.rpc(1, 'exchange.declare', exchange='logs', type='topic', durable=True)
            conn.bind(1, 'whole', 'logs', 'a.#')
            publish_all(conn, 1, [('logs', 'a.b.c', b'\0body\xff', EVERYTHING),
                                  ('logs', 'a', b'', PERSISTENT)])
            conn = kept.again(kill=kill)
            first, second = take_all(conn, 1, 'whole')
            equal(first.raw_properties, EVERYTHING, 'properties')
            equal((first.exchange, first.routing_key, first.body),
                  ('logs', 'a.b.c', b'\0body\xff'), 'message')
            equal(first.properties['headers'], HEADERS, 'headers')
            equal((second.routing_key, second.body, second.raw_properties),
                  ('a', b'', PERSISTENT), 'message')


@case(only=HAVE)
def transient_messages_and_queues_that_are_not_durable_are_gone():
    for kill in BOTH_ENDS:
        with Lasting() as kept:
            conn = kept.connect()
            durable(conn, 1, 'durable')
            conn.rpc(1, 'queue.declare', queue='passing')
            conn.rpc(1, 'queue.declare', queue='own', durable=True, exclusive=True)
            publish_all(conn, 1, [
                ('', 'durable', 'kept 1', PERSISTENT), ('', 'durable', 'lost', NO_PROPERTIES),
                ('', 'durable', 'kept 2', PERSISTENT),
                ('', 'durable', 'lost', properties(delivery_mode=1)),
                ('', 'passing', 'lost', PERSISTENT), ('', 'own', 'lost', PERSISTENT)])
            conn = kept.again(kill=kill)
            equal(bodies(take_all(conn, 1, 'durable')), ['kept 1', 'kept 2'], 'bodies')
            for queue in ('passing', 'own'):
                refuse(conn, 404, "NOT_FOUND - no queue '%s' in vhost '/'" % queue,
                       'queue.declare', queue=queue, passive=True)


@case(only=HAVE)
def what_was_acknowledged_stays_away_and_the_rest_comes_back_redelivered():
    for kill in BOTH_ENDS:
        with Lasting() as kept:
            conn = kept.connect(channels=2)
            durable(conn, 1, 'work')
            publish(conn, 1, 'work', ['%d' % number for number in range(20)])
            conn.rpc(2, 'basic.qos', prefetch_count=10)
            conn.consume(2, 'work')
            tags = [conn.deliver(2).delivery_tag for _ in range(10)]
            for tag in tags[:4] + tags[6:7]:
                conn.method(2, 'basic.ack', delivery_tag=tag)
            for _ in range(5):  # instead of those
                conn.deliver(2)
            publish(conn, 1, 'work', ['last'])
            conn = kept.again(kill=kill)
            got = take_all(conn, 1, 'work')
            left = [str(number) for number in range(20) if number not in (0, 1, 2, 3, 6)]
            equal(bodies(got), left + ['last'], 'bodies')
            equal([m.redelivered for m in got[:10]], [True] * 10, 'redelivered')


@case(only=HAVE)
def what_was_taken_without_acknowledgement_stays_away():
    with Lasting() as kept:
        conn = kept.connect(channels=2)
        durable(conn, 1, 'work')
        publish(conn, 1, 'work', ['a', 'b', 'c', 'd'])
        equal(conn.rpc(1, 'basic.get', queue='work', no_ack=True).body, b'a', 'body')
        got = conn.rpc(1, 'basic.get', queue='work')
        conn.method(1, 'basic.reject', delivery_tag=got.delivery_tag, requeue=False)
        got = conn.rpc(1, 'basic.get', queue='work')
        conn.method(1, 'basic.reject', delivery_tag=got.delivery_tag, requeue=True)
        publish(conn, 1, 'work', ['e'])
        conn = kept.again(kill=True)
        got = take_all(conn, 1, 'work')
        equal(bodies(got), ['c', 'd', 'e'], 'bodies')
        equal(got[0].redelivered, True, 'redelivered')


@case(only=HAVE)
def a_transaction_that_was_committed_comes_back():
    with Lasting() as kept:
        conn = kept.connect(channels=2)
        durable(conn, 1, 'work')
        publish(conn, 1, 'work', ['old'])
        conn.rpc(2, 'tx.select')
        got = conn.rpc(2, 'basic.get', queue='work')
        conn.method(2, 'basic.ack', delivery_tag=got.delivery_tag)
        conn.publish(2, '', 'work', 'new', PERSISTENT)
        conn.rpc(2, 'tx.commit')
        conn.publish(2, '', 'work', 'never', PERSISTENT)
        conn = kept.again(kill=True)
        equal(bodies(take_all(conn, 1, 'work')), ['new'], 'bodies')


@case(only=HAVE)
def time_to_live_goes_on_over_a_restart():
    short, long = 3 * SLOW, 7 * SLOW
    for kill in BOTH_ENDS:
        with Lasting() as kept:
            conn = kept.connect(channels=2)
            durable(conn, 1, 'dead')
            for queue in ('first', 'second'):
                durable(conn, 1, queue, x_dead_letter_exchange='',
                        x_dead_letter_routing_key='dead')
            durable(conn, 1, 'third', x_message_ttl=int(1000 * long), x_dead_letter_exchange='',
                    x_dead_letter_routing_key='dead')
            begin = time.monotonic()
            publish_all(conn, 1, [
                ('', queue, queue, properties(delivery_mode=2, expiration='%d' % (1000 * ttl)))
                for queue, ttl in (('first', short), ('second', long), ('third', 2 * long))])
            conn.consume(2, 'dead', no_ack=True)
            equal(conn.expect('basic.deliver', 2, short + DEADLINE).body, b'first', 'body')
            conn = kept.again(kill=kill)
            up = time.monotonic()
            conn.consume(1, 'dead', no_ack=True)
            got = {}
            # After a kill the first one may die once more: that it left was perhaps not kept.
            while not {'second', 'third'} <= set(got):
                message = conn.expect('basic.deliver', 1, long + DEADLINE)
                got.setdefault(message.body.decode(), time.monotonic())
            for queue in ('second', 'third'):
                assert got[queue] - begin > long - 0.05, '%s was early' % queue
                # The first one had died before the restart, so at most this was left.
                assert got[queue] - up < long - short + 2 * SLOW, \
                    '%s: its time began again with the restart' % queue


@case(only=HAVE)
def priorities_and_limits_hold_after_a_restart():
    with Lasting() as kept:
        conn = kept.connect()
        durable(conn, 1, 'ranked', x_max_priority=5)
        durable(conn, 1, 'short', x_max_length=5)
        durable(conn, 1, 'full', x_max_length=2, x_overflow='reject-publish')
        durable(conn, 1, 'octets', x_max_length_bytes=100)
        publish_all(conn, 1, [
            ('', 'ranked', '%d.%d' % (rank, turn), properties(delivery_mode=2, priority=rank))
            for turn in range(40) for rank in (2, 5, 0, 9, 1)])
        publish(conn, 1, 'short', list('abcdef'))
        publish(conn, 1, 'full', list('ab'))
        publish(conn, 1, 'octets', ['x' * 50, 'y' * 50])
        for kill in BOTH_ENDS:
            conn = kept.again(kill=kill)
            publish(conn, 1, 'short', ['g' if kill else 'h'])
            conn.publish(1, '', 'full', 'refused', PERSISTENT)
            conn.expect('basic.nack', 1)
            conn.acked[1] += 1
            publish(conn, 1, 'octets', [('1' if kill else '0') * 50])
        ranked = sorted(((rank, turn) for turn in range(40) for rank in (2, 5, 0, 9, 1)),
                        key=lambda one: (-min(one[0], 5),))
        equal(bodies(take_all(conn, 1, 'ranked')), ['%d.%d' % one for one in ranked], 'order')
        equal(bodies(take_all(conn, 1, 'short')), list('defhg'), 'short')
        equal(bodies(take_all(conn, 1, 'full')), list('ab'), 'full')
        equal(bodies(take_all(conn, 1, 'octets')), ['0' * 50, '1' * 50], 'octets')


@case(only=HAVE)
def dead_lettering_works_after_a_restart_and_outlives_one():
    with Lasting('--shards', '1') as kept:
        conn = kept.connect()
        conn.rpc(1, 'exchange.declare', exchange='dlx', type='fanout', durable=True)
        durable(conn, 1, 'dead')
        durable(conn, 1, 'fence')
        conn.bind(1, 'dead', 'dlx')
        durable(conn, 1, 'work', x_dead_letter_exchange='dlx')
        publish(conn, 1, 'work', ['a', 'b'])
        for kill, body in ((False, 'a'), (True, 'b')):
            conn = kept.again(kill=kill)
            got = conn.rpc(1, 'basic.get', queue='work')
            equal(got.body.decode(), body, 'body')
            conn.method(1, 'basic.reject', delivery_tag=got.delivery_tag, requeue=False)
            conn.counts(1, 'dead', 1 if body == 'a' else 2)
            publish(conn, 1, 'fence', [body])  # confirmed: so is on the disk what came before it
        conn = kept.again()
        got = take_all(conn, 1, 'dead')
        equal(bodies(got), ['a', 'b'], 'dead letters')
        for message in got:
            death = message.properties['headers']['x-death'][0]
            equal((death['queue'], death['reason'], death['count']), ('work', 'rejected', 1),
                  'x-death')
        equal(conn.passive(1, 'work'), (0, 0), 'work')


@case(only=HAVE)
def dead_letters_of_a_start_come_behind_what_was_there():
    with Lasting('--shards', '2') as kept:
        conn = kept.connect()
        count = 40
        for at in range(count):
            durable(conn, 1, 'target%d' % at)
            durable(conn, 1, 'source%d' % at, x_message_ttl=1500, x_dead_letter_exchange='',
                    x_dead_letter_routing_key='target%d' % (at * 7 % count))
            publish(conn, 1, 'target%d' % at, ['old %d' % number for number in range(5)])
        for at in range(count):
            publish(conn, 1, 'source%d' % at, ['new %d' % number for number in range(5)])
        kept.stop(kill=True)
        # All of them expire while no node is there.
        expired = time.monotonic() + 1.6
        wait_for('the time', lambda: time.monotonic() > expired)
        kept.start()
        conn = kept.connect()
        for at in range(count):
            wait_for('the dead letters', lambda at=at: conn.passive(1, 'target%d' % at) == (10, 0))
        # When this is confirmed, what came before it is on the disk, too.
        for at in range(count):
            publish(conn, 1, 'target%d' % at, ['last'])
        # Numbers given twice would show at the next start only.
        conn = kept.again(kill=True)
        wanted = ['%s %d' % (age, number) for age in ('old', 'new') for number in range(5)]
        wanted.append('last')
        for at in range(count):
            equal(bodies(take_all(conn, 1, 'target%d' % at)), wanted, 'target%d' % at)


run_cases()
