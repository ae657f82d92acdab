"""Dead lettering: the x-death table, its counts, cycles, keys, and what a message keeps."""
from raw import *

WORK, DEAD = 1, 2  # channels: one that works, one that consumes dead letters


def bench(conn, key=None, kind='topic', name=None, **arguments):
    """(exchange, queue, dead letter exchange): what is rejected in the queue comes on DEAD."""
    exchange, dlx = conn.exchange(WORK, 'direct'), conn.exchange(WORK, kind)
    letters = conn.queue(WORK)
    conn.bind(WORK, letters, dlx, '#')
    conn.consume(DEAD, letters, no_ack=True)
    arguments = dict({'x-dead-letter-exchange': dlx}, **arguments)
    if key is not None:
        arguments['x-dead-letter-routing-key'] = key
    queue = conn.queue(WORK, name, exclusive=True, arguments=arguments)
    conn.bind(WORK, queue, exchange, 'key')
    return exchange, queue, dlx


def take(conn, queue):
    """Gets the message that is there or on its way."""
    deadline = time.monotonic() + DEADLINE
    while True:
        got = conn.rpc(WORK, 'basic.get', queue=queue)
        if got.name == 'basic.get-ok':
            return got
        assert time.monotonic() < deadline, 'nothing comes into %s' % queue


def reject(conn, queue):
    conn.method(WORK, 'basic.reject', delivery_tag=take(conn, queue).delivery_tag)


def rejected(conn, exchange, queue, props=NO_PROPERTIES, body='x'):
    """Publishes, rejects, and gives the dead letter."""
    conn.publish(WORK, exchange, 'key', body, props)
    reject(conn, queue)
    return conn.deliver(DEAD, body)


def headers(message):
    return message.properties['headers']


def deaths(message):
    return [(d['queue'], d['reason'], d['count']) for d in headers(message)['x-death']]


def alive(conn, queue):
    """Asks so that everything before it has been done: nothing has died if nothing else comes."""
    conn.fence(WORK, queue)
    conn.fence(WORK, queue)


@case
def the_table_of_a_rejected_message():
    conn = connect(channels=2)
    exchange, queue, dlx = bench(conn)
    before = int(time.time())
    got = rejected(conn, exchange, queue)
    equal((got.exchange, got.routing_key, got.redelivered), (dlx, 'key', False), 'delivery')
    table = headers(got)
    when = table['x-death'][0].pop('time')
    assert isinstance(when, Typed) and when.tag == 'T', 'time is %r' % when
    assert before - 5 <= when.value <= time.time() + 5, 'time is %r' % when
    equal(table, {'x-death': [{'count': 1, 'reason': 'rejected', 'queue': queue,
                               'exchange': exchange, 'routing-keys': ['key']}],
                  'x-first-death-exchange': exchange, 'x-first-death-queue': queue,
                  'x-first-death-reason': 'rejected'}, 'headers')


@case
def the_count_is_a_64_bit_integer():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn)
    got = rejected(conn, exchange, queue)
    data = got.raw_properties
    at = data.index(b'\x05count') + 6
    equal(data[at:at + 9], b'l' + struct.pack('>q', 1), 'count')


@case
def nack_without_requeue_is_a_rejection_too():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn)
    for n in range(10):
        conn.publish(WORK, exchange, 'key', str(n))
    for n in range(10):
        tag = take(conn, queue).delivery_tag
    conn.method(WORK, 'basic.nack', delivery_tag=tag, multiple=True)
    for n in range(10):
        equal(deaths(conn.deliver(DEAD, str(n))), [(queue, 'rejected', 1)], 'deaths')


@case
def requeueing_and_acknowledging_are_no_deaths():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn)
    for method, flags in (('basic.reject', {'requeue': True}), ('basic.nack', {'requeue': True}),
                          ('basic.ack', {})):
        conn.publish(WORK, exchange, 'key', 'x')
        conn.method(WORK, method, delivery_tag=take(conn, queue).delivery_tag, **flags)
        alive(conn, queue)
        conn.rpc(WORK, 'queue.purge', queue=queue)


@case
def purge_delete_and_a_lost_consumer_are_no_deaths():
    conn, other = connect(channels=2), connect()
    exchange, dlx = conn.exchange(WORK, 'direct'), conn.exchange(WORK, 'fanout')
    letters = conn.queue(WORK)
    conn.bind(WORK, letters, dlx)
    conn.consume(DEAD, letters, no_ack=True)
    queue = conn.queue(WORK, durable=False, arguments={'x-dead-letter-exchange': dlx})
    conn.bind(WORK, queue, exchange, 'key')
    conn.publish(WORK, exchange, 'key', 'x')
    conn.counts(WORK, queue, 1)
    equal(other.rpc(1, 'basic.get', queue=queue).body, b'x', 'got')
    other.close_socket()
    conn.counts(WORK, queue, 1)
    equal(conn.rpc(WORK, 'queue.purge', queue=queue).message_count, 1, 'purged')
    conn.publish(WORK, exchange, 'key', 'x')
    conn.counts(WORK, queue, 1)
    equal(conn.rpc(WORK, 'queue.delete', queue=queue).message_count, 1, 'deleted')
    alive(conn, letters)


@case
def properties_headers_and_body_stay():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn)
    given = {'content_type': 'text/plain', 'content_encoding': 'utf-8', 'delivery_mode': 2,
             'priority': 7, 'correlation_id': 'c', 'reply_to': 'r', 'message_id': 'm',
             'timestamp': 12345, 'type': 't', 'user_id': USER, 'app_id': 'a'}
    body = 'body' * 50000
    got = rejected(conn, exchange, queue, properties(
        headers={'mine': [1, {'a': None}], 'x-other': Typed('b', -1)}, **given), body)
    kept = got.properties
    table = kept.pop('headers')
    equal(kept, given, 'properties')
    equal((table['mine'], table['x-other']), ([1, {'a': None}], Typed('b', -1)), 'headers')


@case
def the_expiration_moves_into_the_table():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn)
    got = rejected(conn, exchange, queue, properties(expiration='60000'))
    assert 'expiration' not in got.properties
    equal(headers(got)['x-death'][0]['original-expiration'], '60000', 'original expiration')
    conn.publish(WORK, exchange, 'key', 'x', properties(expiration='1'))
    got = conn.deliver(DEAD, 'x')
    equal(deaths(got), [(queue, 'expired', 1)], 'deaths')
    assert 'expiration' not in got.properties
    equal(headers(got)['x-death'][0]['original-expiration'], '1', 'original expiration')


@case
def reasons_expired_and_maxlen():
    for argument, reason in (({'x-message-ttl': 1}, 'expired'), ({'x-message-ttl': 0}, 'expired'),
                             ({'x-max-length': 0}, 'maxlen'), ({'x-max-length-bytes': 0}, 'maxlen'),
                             ({'x-max-length': 0, 'x-overflow': 'reject-publish-dlx'}, 'maxlen')):
        conn = connect(channels=2)
        exchange, queue, dlx = bench(conn, **argument)
        conn.publish(WORK, exchange, 'key', 'x')
        got = conn.deliver(DEAD, 'x')
        equal(deaths(got), [(queue, reason, 1)], 'deaths')
        equal((headers(got)['x-first-death-reason'], headers(got)['x-first-death-queue'],
               headers(got)['x-first-death-exchange'], got.exchange),
              (reason, queue, exchange, dlx), 'first death')
        assert 'original-expiration' not in headers(got)['x-death'][0]


# --- routing keys ---

@case
def the_own_keys_route_unless_the_queue_names_another():
    conn = connect(channels=2)
    exchange, queue, dlx = bench(conn)
    direct = conn.queue(WORK)
    conn.bind(WORK, direct, dlx, 'cc')
    got = rejected(conn, exchange, queue, properties(headers={'CC': ['cc'], 'BCC': ['bcc']}))
    equal(got.routing_key, 'key', 'routing key')
    equal(headers(got)['CC'], ['cc'], 'CC')
    equal(headers(got)['x-death'][0]['routing-keys'], ['key', 'cc'], 'keys of the death')
    assert 'BCC' not in headers(got)
    equal(take(conn, direct).routing_key, 'key', 'routing key of the one that came by CC')


@case
def another_key_replaces_all_of_them():
    conn = connect(channels=2)
    for key in ('other', ''):
        exchange, queue, dlx = bench(conn, key=key)
        got = rejected(conn, exchange, queue, properties(headers={'CC': ['cc'], 'BCC': ['bcc']}))
        equal(got.routing_key, key, 'routing key')
        assert 'CC' not in headers(got) and 'BCC' not in headers(got), headers(got)
        equal(headers(got)['x-death'][0]['routing-keys'], ['key', 'cc'], 'keys of the death')


@case
def a_blind_copy_is_dead_lettered_by_the_open_keys():
    conn = connect(channels=2)
    exchange, queue, dlx = bench(conn)
    conn.publish(WORK, exchange, 'nowhere', 'x', properties(headers={'BCC': ['key']}))
    reject(conn, queue)
    got = conn.deliver(DEAD, 'x')
    equal(got.routing_key, 'nowhere', 'routing key')
    equal(headers(got)['x-death'][0]['routing-keys'], ['nowhere'], 'keys of the death')


@case
def the_default_exchange_serves():
    conn = connect(channels=2)
    letters = conn.queue(WORK)
    conn.consume(DEAD, letters, no_ack=True)
    queue = conn.queue(WORK, exclusive=True, arguments={
        'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': letters})
    got = rejected_by_name(conn, queue)
    equal((got.exchange, got.routing_key), ('', letters), 'delivery')
    equal(headers(got)['x-death'][0]['exchange'], '', 'exchange of the death')
    equal(headers(got)['x-first-death-exchange'], '', 'exchange of the first death')


def rejected_by_name(conn, queue):
    conn.publish(WORK, '', queue, 'x')
    reject(conn, queue)
    return conn.deliver(DEAD, 'x')


# --- where they go ---

@case
def without_an_exchange_they_are_gone():
    conn = connect(channels=2)
    dlx = unique('x')
    queue = conn.queue(WORK, exclusive=True, arguments={'x-dead-letter-exchange': dlx})
    conn.publish(WORK, '', queue, 'lost')
    reject(conn, queue)
    conn.fence(WORK, queue)
    equal(conn.passive(WORK, queue), (0, 0), 'counts')
    conn.rpc(WORK, 'exchange.declare', exchange=dlx, type='fanout')  # from here on there is one
    letters = conn.queue(WORK)
    conn.bind(WORK, letters, dlx)
    conn.consume(DEAD, letters, no_ack=True)
    rejected_by_name(conn, queue)
    conn.rpc(WORK, 'exchange.delete', exchange=dlx)
    conn.publish(WORK, '', queue, 'lost')
    reject(conn, queue)
    alive(conn, queue)


@case
def a_dead_letter_goes_to_every_bound_queue_once():
    conn = connect(channels=2)
    exchange, queue, dlx = bench(conn)
    others = [conn.queue(WORK) for _ in range(3)]
    for other in others:
        conn.bind(WORK, other, dlx, 'key')
        conn.bind(WORK, other, dlx, '*')
    rejected(conn, exchange, queue)
    for other in others:
        equal(take(conn, other).message_count, 0, 'messages left')


@case
def an_internal_exchange_serves():
    conn = connect(channels=2)
    dlx = conn.exchange(WORK, 'fanout', internal=True)
    letters = conn.queue(WORK)
    conn.bind(WORK, letters, dlx)
    conn.consume(DEAD, letters, no_ack=True)
    queue = conn.queue(WORK, exclusive=True, arguments={'x-dead-letter-exchange': dlx})
    rejected_by_name(conn, queue)


@case
def headers_and_bound_exchanges_route_dead_letters():
    conn = connect(channels=2)
    dlx = conn.exchange(WORK, 'headers')
    second = conn.exchange(WORK, 'fanout')
    letters = conn.queue(WORK)
    conn.rpc(WORK, 'exchange.bind', destination=second, source=dlx,
             arguments={'x-first-death-reason': 'rejected', 'x-match': 'all-with-x'})
    conn.bind(WORK, letters, second)
    conn.consume(DEAD, letters, no_ack=True)
    queue = conn.queue(WORK, exclusive=True, arguments={'x-dead-letter-exchange': dlx})
    rejected_by_name(conn, queue)  # the headers are those of the dead letter
    other = conn.queue(WORK, exclusive=True, arguments={'x-dead-letter-exchange': dlx,
                                                        'x-message-ttl': 0})
    conn.publish(WORK, '', other, 'x')
    alive(conn, other)


@case
def an_alternate_exchange_takes_what_the_first_cannot_route():
    conn = connect(channels=2)
    alternate = conn.exchange(WORK, 'fanout')
    dlx = conn.exchange(WORK, 'direct', arguments={'alternate-exchange': alternate})
    letters = conn.queue(WORK)
    conn.bind(WORK, letters, alternate)
    conn.consume(DEAD, letters, no_ack=True)
    queue = conn.queue(WORK, exclusive=True, arguments={'x-dead-letter-exchange': dlx})
    equal(rejected_by_name(conn, queue).exchange, dlx, 'exchange')


@case
def a_dead_letter_is_never_returned():
    conn = connect(channels=2)
    queue = conn.queue(WORK, exclusive=True, arguments={
        'x-dead-letter-exchange': 'amq.direct', 'x-message-ttl': 0})
    conn.rpc(WORK, 'confirm.select')
    conn.publish(WORK, '', queue, 'x', mandatory=True)
    conn.expect('basic.ack', WORK)
    alive(conn, queue)


@case
def a_full_queue_refuses_dead_letters():
    conn = connect(channels=2)
    letters = conn.queue(WORK, exclusive=True, arguments={
        'x-max-length': 2, 'x-overflow': 'reject-publish'})
    queue = conn.queue(WORK, exclusive=True, arguments={
        'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': letters, 'x-message-ttl': 0})
    for n in range(5):
        conn.publish(WORK, '', queue, str(n))
    conn.counts(WORK, letters, 2)
    conn.fence(WORK, letters)
    equal(conn.drain(WORK, letters), [b'0', b'1'], 'letters')


@case
def a_transaction_rejects_at_its_commit():
    conn = connect(channels=3)
    exchange, queue, _ = bench(conn)
    conn.publish(WORK, exchange, 'key', 'x')
    conn.counts(WORK, queue, 1)
    conn.rpc(3, 'tx.select')
    got = conn.rpc(3, 'basic.get', queue=queue)
    conn.method(3, 'basic.reject', delivery_tag=got.delivery_tag)
    alive(conn, queue)
    conn.rpc(3, 'tx.rollback')
    conn.method(3, 'basic.reject', delivery_tag=got.delivery_tag)
    conn.method(3, 'tx.commit')
    got = [conn.read(), conn.read()]
    equal(sorted(m.name for m in got), ['basic.deliver', 'tx.commit-ok'], 'answers')


@case
def confirms_do_not_wait_for_the_second_life():
    conn = connect(channels=2)
    letters = conn.queue(WORK, exclusive=True, arguments={
        'x-max-length': 0, 'x-overflow': 'reject-publish'})
    queue = conn.queue(WORK, exclusive=True, arguments={
        'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': letters, 'x-message-ttl': 0})
    conn.rpc(WORK, 'confirm.select')
    for n in range(1, 6):
        conn.publish(WORK, '', queue, 'x')
        conn.expect('basic.ack', WORK, delivery_tag=n)


@case
def order_is_kept():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn, **{'x-max-length': 10})
    for n in range(300):
        conn.publish(WORK, exchange, 'key', str(n))
    for n in range(290):
        conn.deliver(DEAD, str(n))


# --- more than one death ---

@case
def a_chain_has_the_latest_death_first_and_turns_the_others_around():
    conn = connect(channels=2)
    last = conn.queue(WORK)
    conn.consume(DEAD, last, no_ack=True)
    names = [last]
    for ttl in (1, 1, 1):
        names.insert(0, conn.queue(WORK, exclusive=True, arguments={
            'x-message-ttl': ttl, 'x-dead-letter-exchange': '',
            'x-dead-letter-routing-key': names[0]}))
    conn.publish(WORK, '', names[0], 'x', properties(expiration='100000'))
    got = conn.deliver(DEAD, 'x')
    order = (names[2], names[0], names[1])
    equal(deaths(got), [(name, 'expired', 1) for name in order], 'deaths')
    equal([d['routing-keys'] for d in headers(got)['x-death']], [[name] for name in order], 'keys')
    equal([d['queue'] for d in headers(got)['x-death'] if 'original-expiration' in d], [names[0]],
          'queue of the original expiration')
    equal(headers(got)['x-first-death-queue'], names[0], 'first death')


@case
def retries_count_up_and_the_table_does_not_grow():
    conn = connect(channels=2)
    work, retry = unique('work'), unique('retry')
    conn.queue(WORK, work, exclusive=True, arguments={
        'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': retry})
    conn.queue(WORK, retry, exclusive=True, arguments={
        'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': work, 'x-message-ttl': 5})
    conn.publish(WORK, '', work, 'x')
    first = None
    for n in range(1, 6):
        reject(conn, work)
        got = take(conn, work)
        equal(deaths(got), [(retry, 'expired', n), (work, 'rejected', n)], 'deaths')
        times = [d['time'] for d in headers(got)['x-death']]
        first = first or times
        equal(times, first, 'times')
        equal((headers(got)['x-first-death-queue'], headers(got)['x-first-death-reason']),
              (work, 'rejected'), 'first death')
        conn.method(WORK, 'basic.reject', delivery_tag=got.delivery_tag, requeue=True)


@case
def one_queue_and_two_reasons_are_two_entries():
    conn = connect(channels=2)
    queue = unique('self')
    conn.queue(WORK, queue, exclusive=True, arguments={
        'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': queue, 'x-message-ttl': 300})
    conn.publish(WORK, '', queue, 'x')
    reject(conn, queue)
    got = take(conn, queue)
    equal(deaths(got), [(queue, 'rejected', 1)], 'deaths')
    conn.method(WORK, 'basic.reject', delivery_tag=got.delivery_tag, requeue=True)
    conn.counts(WORK, queue, 0)  # expired: and the cycle ends, see below


@case
def a_cycle_of_rejections_goes_on():
    conn = connect(channels=2)
    queue = unique('self')
    conn.queue(WORK, queue, exclusive=True, arguments={'x-dead-letter-exchange': ''})
    conn.publish(WORK, '', queue, 'x')
    for n in range(1, 8):
        reject(conn, queue)
        got = take(conn, queue)
        equal((deaths(got), got.redelivered), ([(queue, 'rejected', n)], False), 'deaths')
        conn.method(WORK, 'basic.reject', delivery_tag=got.delivery_tag, requeue=True)


@case
def a_cycle_without_a_rejection_ends():
    conn = connect(channels=2)
    queue = unique('self')
    for argument in ({'x-message-ttl': 1}, {'x-message-ttl': 0}, {'x-max-length': 0}):
        conn.queue(WORK, queue, exclusive=True, arguments=dict(
            {'x-dead-letter-exchange': ''}, **argument))
        conn.rpc(DEAD, 'confirm.select')
        conn.publish(DEAD, '', queue, 'x')
        conn.expect('basic.ack', DEAD)
        conn.counts(WORK, queue, 0)
        conn.rpc(WORK, 'queue.delete', queue=queue)


@case
def a_longer_cycle_without_a_rejection_ends_at_the_first_return():
    conn = connect(channels=2)
    first, second, spy = unique('q'), unique('q'), conn.queue(WORK)
    dlx = conn.exchange(WORK, 'direct')
    conn.consume(DEAD, spy, no_ack=True)
    for queue, target in ((first, second), (second, first)):
        conn.queue(WORK, queue, exclusive=True, arguments={
            'x-dead-letter-exchange': dlx, 'x-dead-letter-routing-key': target,
            'x-message-ttl': 5})
    for queue in (first, second, spy):
        conn.bind(WORK, queue, dlx, queue)
    conn.bind(WORK, spy, dlx, first)
    conn.bind(WORK, spy, dlx, second)
    conn.publish(WORK, '', first, 'x')
    equal(deaths(conn.deliver(DEAD, 'x')), [(first, 'expired', 1)], 'deaths')
    # Back to the first it may not go; other queues get it.
    equal(deaths(conn.deliver(DEAD, 'x')), [(second, 'expired', 1), (first, 'expired', 1)],
          'deaths')
    conn.counts(WORK, first, 0)
    conn.counts(WORK, second, 0)


@case
def a_rejection_in_a_cycle_lets_it_go_on():
    conn = connect(channels=2)
    wait, work = unique('wait'), unique('work')
    conn.queue(WORK, wait, exclusive=True, arguments={
        'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': work, 'x-message-ttl': 1})
    conn.queue(WORK, work, exclusive=True, arguments={
        'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': wait})
    conn.publish(WORK, '', wait, 'x')
    for n in range(1, 5):
        got = take(conn, work)
        equal(deaths(got), [(wait, 'expired', n)] + [(work, 'rejected', n - 1)] * (n > 1),
              'deaths')
        conn.method(WORK, 'basic.reject', delivery_tag=got.delivery_tag)


# --- x-death from clients ---

@case
def a_republished_table_goes_on():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn)
    got = rejected(conn, exchange, queue, properties(headers={'mine': 1}, expiration='60000'))
    for n in range(2, 5):
        before = headers(got)['x-death'][0]
        got = rejected(conn, exchange, queue, got.raw_properties)
        equal(headers(got)['x-death'], [dict(before, count=n)], 'x-death')
        equal(headers(got)['mine'], 1, 'other header')


@case
def a_clients_table_counts():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn)
    entry = {'queue': queue, 'reason': 'rejected'}
    for given, count in (({'count': Typed('l', 7)}, 8), ({'count': 7}, 8), ({}, 1)):
        got = rejected(conn, exchange, queue, properties(headers={'x-death': [
            dict(entry, **given)]}))
        equal(headers(got), {'x-death': [dict(entry, count=count)]}, 'headers')
    odd = dict(entry, count=1, exchange=5, extra=[1], time=Typed('T', 1),
               **{'routing-keys': 'none'})
    got = rejected(conn, exchange, queue, properties(headers={'x-death': [odd]}))
    equal(headers(got), {'x-death': [dict(odd, count=2)]}, 'headers')


@case
def an_entry_that_is_counted_moves_to_the_front():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn)
    given = [{'queue': queue, 'reason': 'expired', 'count': 1},
             {'queue': queue, 'reason': 'rejected', 'count': 3},
             {'queue': 'other', 'reason': 'rejected', 'count': 4}]
    got = rejected(conn, exchange, queue, properties(headers={'x-death': given}))
    equal(deaths(got)[0], (queue, 'rejected', 4), 'first')
    equal(sorted(deaths(got)[1:]), sorted([(queue, 'expired', 1), ('other', 'rejected', 4)]),
          'the others')


@case
def another_queues_entry_stays_behind():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn)
    got = rejected(conn, exchange, queue, properties(headers={'x-death': [
        {'queue': 'other', 'reason': 'expired', 'count': 9}]}))
    equal(deaths(got), [(queue, 'rejected', 1), ('other', 'expired', 9)], 'deaths')
    assert 'x-first-death-queue' not in headers(got), 'headers are %r' % headers(got)


@case
def a_header_that_is_no_table_is_replaced():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn)
    for bad in ('text', 5, {}, None, True, []):
        got = rejected(conn, exchange, queue, properties(headers={'x-death': bad}))
        equal(deaths(got), [(queue, 'rejected', 1)], 'deaths')
        equal(sorted(headers(got)), ['x-death'], 'headers')


@case
def first_death_headers_of_clients():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn)
    got = rejected(conn, exchange, queue, properties(headers={
        'x-first-death-queue': 'mine', 'x-first-death-reason': 5}))
    equal({key: value for key, value in headers(got).items() if key != 'x-death'},
          {'x-first-death-exchange': exchange, 'x-first-death-queue': queue,
           'x-first-death-reason': 'rejected'}, 'headers')


@case(only='ringtail')  # RabbitMQ's queue fails here and the message is gone
def a_bad_entry_harms_nothing():
    conn = connect(channels=2)
    exchange, queue, _ = bench(conn)
    for bad in ([5], ['text', None], [[]], [{'queue': 5, 'reason': [], 'count': 'x'}],
                [{'queue': queue, 'reason': 'rejected', 'count': 'x'}],
                [{'queue': queue, 'reason': 'rejected', 'count': Typed('l', 2**63 - 1)}]):
        got = rejected(conn, exchange, queue, properties(headers={'x-death': bad}))
        equal(headers(got)['x-death'][0]['queue'], queue, 'queue of the death')


run_cases()
