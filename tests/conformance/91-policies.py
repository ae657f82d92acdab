"""Policies through the HTTP API: what is refused, which one acts, and that it acts at once."""
from management import *
from raw import *

NAME = unique('policy')


def exactly(name):
    return '^%s$' % name.replace('.', '[.]')


def invalid(why, definition, kind='policies', **more):
    body = dict({'pattern': 'x', 'definition': definition}, **more)
    refused('Validation failed\n\n%s' % why, 'PUT', kind, '/', NAME, body=body)


def accepted(definition, kind='policies', **more):
    put(kind, '/', NAME, body=dict({'pattern': '^conf[.]nothing$', 'definition': definition},
                                   **more))


# --- what is refused ---

@managed
def a_policy_needs_a_pattern_and_a_definition():
    for body, missing in (({'pattern': 'x'}, '[{key_missing,definition}]'),
                          ({'definition': {'max-length': 1}}, '[{key_missing,pattern}]'),
                          ({}, '[{key_missing,pattern},{key_missing,definition}]')):
        refused(missing, 'PUT', 'policies', '/', NAME, body=body)
    invalid('no policy provided', {})
    refused('not_json', 'PUT', 'policies', '/', NAME, body='{bad')
    equal(call('PUT', 'policies', 'conf.no.vhost', NAME, body={
        'pattern': 'x', 'definition': {'max-length': 1}})[0], 404, 'status')


@managed
def patterns_are_regular_expressions():
    for pattern, why in (('(', '{"missing )",1}'),):
        invalid('pattern should be regular expression but is invalid: %s' % why,
                {'max-length': 1}, pattern=pattern)
    invalid('pattern should be a binary but was 5', {'max-length': 1}, pattern=5)
    for pattern in ('^a+(b|c){2}$', '[a-z]*\\.x', '(?!amq[.]).*nothing'):
        accepted({'max-length': 1}, pattern=pattern + '^conf-never')


@managed
def unknown_keys_are_refused():
    for key, value, text in (('bogus', 1, '1'), ('max-priority', 5, '5'),
                             ('single-active-consumer', True, 'true'),
                             ('x-max-length', 5, '5'), ('bogus', 'text', '<<"text">>')):
        invalid('[{<<"%s">>,%s}] are not recognised policy settings' % (key, text), {key: value})


VALUES = [
    ('max-length', 'a valid maximum length', (0, 5), (-1, '5', 1.5)),
    ('max-length-bytes', 'a valid maximum length in bytes', (0, 5), (-1, '5')),
    ('message-ttl', 'a valid message TTL', (0, 5), (-1, 'a')),
    ('expires', 'a valid queue expiry', (1, 5), (0, -1, 'x')),
    ('overflow', 'a valid overflow value', ('drop-head', 'reject-publish', 'reject-publish-dlx'),
     ('bad', '', 5)),
    ('dead-letter-exchange', 'a valid dead letter exchange name', ('', 'dlx'), (5, True)),
    ('dead-letter-routing-key', 'a valid dead letter routing key', ('', 'key'), (5,)),
    ('queue-mode', 'a valid queue-mode value', ('default', 'lazy'), ('bad', 5)),
    ('queue-version', 'a valid queue-version value', (1, 2), (3, 0)),
    ('alternate-exchange', 'a valid alternate exchange name', ('', 'ae'), (5,)),
    ('delivery-limit', 'a valid delivery limit', (0, 5), (-1, 'a')),
]


def term(value):
    if isinstance(value, bool):
        return str(value).lower()
    return '<<"%s">>' % value if isinstance(value, str) and value else (
        '<<>>' if value == '' else str(value))


@managed
def values_are_checked():
    for key, what, good, bad in VALUES:
        for value in good:
            accepted({key: value})
        for value in bad:
            invalid('%s is not %s' % (term(value), what), {key: value})


@managed
def mirroring_keys_are_checked():
    for definition in ({'ha-mode': 'all'}, {'ha-mode': 'exactly', 'ha-params': 2},
                       {'ha-mode': 'nodes', 'ha-params': ['a@b']},
                       {'ha-mode': 'all', 'ha-sync-mode': 'automatic'},
                       {'ha-mode': 'all', 'ha-sync-mode': 'manual', 'ha-sync-batch-size': 10},
                       {'ha-mode': 'all', 'ha-promote-on-shutdown': 'always',
                        'ha-promote-on-failure': 'when-synced'}):
        accepted(definition)
    invalid('<<"bad">> is not a valid ha-mode value', {'ha-mode': 'bad'})
    invalid('ha-mode="exactly" takes an integer, none given', {'ha-mode': 'exactly'})
    invalid('ha-mode="exactly" takes an integer, <<"2">> given',
            {'ha-mode': 'exactly', 'ha-params': '2'})
    for key, value in (('ha-params', 2), ('ha-sync-mode', 'automatic')):
        invalid('ha-mode must be specified to specify ha-params, ha-sync-mode or '
                'ha-promote-on-shutdown', {key: value})
    invalid('ha-sync-mode must be "manual" or "automatic", got <<"bad">>',
            {'ha-mode': 'all', 'ha-sync-mode': 'bad'})


@managed
def apply_to_and_priority_are_checked():
    for value in ('bad', '', 'Queues'):
        invalid("apply-to '%s' unrecognised; should be 'queues', 'exchanges' or 'all'" % value,
                {'max-length': 1}, **{'apply-to': value})
    for value, text in (('1', '<<"1">>'), (None, 'null')):
        invalid('priority should be a number, actually was %s' % text, {'max-length': 1},
                priority=value)
    for value in (-5, 0, 2**31):
        accepted({'max-length': 1}, priority=value)
    for value in ('queues', 'exchanges', 'all'):
        accepted({'max-length': 1}, **{'apply-to': value})


@managed
def operator_policies_know_fewer_keys():
    for key, value in (('max-length', 5), ('max-length-bytes', 5), ('message-ttl', 5),
                       ('expires', 5), ('delivery-limit', 5)):
        accepted({key: value}, kind='operator-policies', **{'apply-to': 'queues'})
    for key, value in (('dead-letter-exchange', 'a'), ('queue-mode', 'lazy'), ('bogus', 5)):
        invalid('[{<<"%s">>,%s}] are not recognised policy settings' % (key, term(value)),
                {key: value}, kind='operator-policies', **{'apply-to': 'queues'})
    invalid('-1 is not a valid maximum length', {'max-length': -1}, kind='operator-policies')


@managed
def a_policy_is_read_back_changed_and_deleted():
    name = unique('policy')
    for kind in ('policies', 'operator-policies'):
        for definition, priority in (({'max-length': 5, 'expires': 100000}, 3),
                                     ({'message-ttl': 7}, 0)):
            policy('^conf[.]nothing', definition, apply_to='queues', priority=priority, name=name,
                   kind=kind)
            wanted = {'vhost': '/', 'name': name, 'pattern': '^conf[.]nothing',
                      'apply-to': 'queues', 'definition': definition, 'priority': priority}
            equal(get(kind, '/', name), wanted, 'policy')
            assert wanted in get(kind, '/') and wanted in get(kind), 'it is not listed'
        delete(kind, '/', name)
        for method in ('GET', 'DELETE'):
            equal(call(method, kind, '/', name)[0], 404, 'status')


@managed
def defaults_are_all_and_zero():
    name = unique('policy')
    put('policies', '/', name, body={'pattern': '^conf[.]nothing',
                                     'definition': {'max-length': 5}})
    got = get('policies', '/', name)
    equal((got['apply-to'], got['priority']), ('all', 0), 'defaults')


# --- what acts ---

def fill(conn, queue, count, channel=1):
    for n in range(count):
        conn.publish(channel, '', queue, str(n))


def settles_at(conn, queue, length):
    """Publishes until the queue's limit is `length`: a policy reaches a queue in its own time."""
    deadline = time.monotonic() + DEADLINE
    conn.rpc(1, 'queue.purge', queue=queue)
    while True:
        fill(conn, queue, 20)
        conn.fence(1, queue)
        conn.fence(1, queue)
        got = conn.passive(1, queue)[0]
        conn.rpc(1, 'queue.purge', queue=queue)
        if got == length:
            return
        assert time.monotonic() < deadline, 'the queue keeps %d, not %d' % (got, length)


@managed
def a_limit_trims_a_live_queue_at_once():
    conn = connect()
    queue = conn.queue(1, durable=False)
    fill(conn, queue, 10)
    conn.counts(1, queue, 10)
    policy(exactly(queue), {'max-length': 3}, apply_to='queues')
    conn.counts(1, queue, 3)
    equal([int(b) for b in conn.drain(1, queue)], [7, 8, 9], 'queue')


@managed
def a_policy_that_goes_lifts_its_limit():
    conn = connect()
    queue = conn.queue(1, durable=False)
    name = policy(exactly(queue), {'max-length': 3})
    settles_at(conn, queue, 3)
    policy(exactly(queue), {'max-length': 5}, name=name)
    settles_at(conn, queue, 5)
    policy(exactly(queue) + '^', {'max-length': 5}, name=name)  # matches no more
    settles_at(conn, queue, 20)
    policy(exactly(queue), {'max-length': 4}, name=name)
    settles_at(conn, queue, 4)
    delete('policies', '/', name)
    settles_at(conn, queue, 20)


@managed
def a_policy_acts_on_queues_that_come_later():
    conn = connect()
    stem = unique('later')
    policy('^%s' % stem.replace('.', '[.]'), {'max-length': 3})
    for n in range(3):
        queue = conn.queue(1, '%s.%d' % (stem, n), exclusive=True)
        settles_at(conn, queue, 3)


@managed
def a_pattern_matches_anywhere_unless_anchored():
    conn = connect()
    mark = os.urandom(5).hex()
    policy('x%s.' % mark, {'max-length': 2})
    one = conn.queue(1, unique('a') + 'x%s-' % mark + 'b', exclusive=True)
    two = conn.queue(1, unique('a') + 'x%s' % mark, exclusive=True)
    settles_at(conn, one, 2)
    settles_at(conn, two, 20)


@managed
def the_highest_priority_alone_acts():
    conn = connect()
    queue = conn.queue(1, durable=False)
    policy(exactly(queue), {'max-length': 3, 'message-ttl': 3600000}, priority=1)
    high = policy(exactly(queue), {'message-ttl': 3600001}, priority=2)
    settles_at(conn, queue, 20)  # nothing of the lower one is merged in
    policy(exactly(queue), {'max-length': 5}, priority=2, name=high)
    settles_at(conn, queue, 5)
    policy(exactly(queue), {'max-length': 5}, priority=-1, name=high)
    settles_at(conn, queue, 3)
    policy(exactly(queue), {'max-length': 5}, priority=10, name=high)
    settles_at(conn, queue, 5)
    delete('policies', '/', high)
    settles_at(conn, queue, 3)


@managed
def a_policy_with_a_key_of_another_type_of_queue_is_passed_over():
    conn = connect()
    stem = unique('types')
    classic = conn.queue(1, stem + '.classic', durable=True)
    conn.rpc(1, 'queue.declare', queue=stem + '.quorum', durable=True,
             arguments={'x-queue-type': 'quorum'})
    low = policy('^%s' % stem.replace('.', '[.]'), {'max-length': 8}, apply_to='queues')
    try:
        for key, value, on_classic, on_quorum in (
                ('delivery-limit', 2, False, True),
                ('dead-letter-strategy', 'at-most-once', False, True),
                ('max-age', '1D', False, False), ('queue-mode', 'lazy', True, False),
                ('message-ttl', 3600000, True, True)):
            high = policy('^%s' % stem.replace('.', '[.]'), {'max-length': 5, key: value},
                          apply_to='queues', priority=9)
            for queue, on in ((classic, on_classic), (stem + '.quorum', on_quorum)):
                wanted = high if on else low
                deadline = time.monotonic() + 4 * DEADLINE
                while get('queues', '/', queue).get('policy') != wanted:
                    assert time.monotonic() < deadline, '%s on %s: %s, not %s' % (
                        key, queue, get('queues', '/', queue).get('policy'), wanted)
            delete('policies', '/', high)
    finally:
        for queue in (classic, stem + '.quorum'):
            conn.rpc(1, 'queue.delete', queue=queue)


@managed
def apply_to_exchanges_leaves_queues_alone():
    conn = connect()
    queue = conn.queue(1, durable=False)
    policy(exactly(queue), {'max-length': 3}, apply_to='queues', priority=1)
    name = policy(exactly(queue), {'max-length': 5}, apply_to='exchanges', priority=2)
    settles_at(conn, queue, 3)
    policy(exactly(queue), {'max-length': 5}, apply_to='all', priority=2, name=name)
    settles_at(conn, queue, 5)


@managed
def a_policy_acts_in_its_vhost_only():
    conn, other = connect(), connect(vhost=vhost())
    queue = conn.queue(1, durable=False)
    other.queue(1, queue, exclusive=True)
    policy(exactly(queue), {'max-length': 3})
    settles_at(conn, queue, 3)
    settles_at(other, queue, 20)


@managed
def of_an_argument_and_a_policy_the_smaller_limit_counts():
    conn = connect()
    for argument, value, wanted in ((5, 3, 3), (3, 5, 3), (0, 5, 0), (5, 0, 0)):
        queue = conn.queue(1, durable=False, arguments={'x-max-length': argument})
        policy(exactly(queue), {'max-length': value})
        settles_at(conn, queue, wanted)
    queue = conn.queue(1, durable=False, arguments={'x-max-length-bytes': 10})
    policy(exactly(queue), {'max-length': 4, 'max-length-bytes': 4})
    settles_at(conn, queue, 2)  # 18 and 19


@managed
def arguments_win_over_a_policy_where_nothing_is_smaller():
    conn = connect(channels=2)
    letters, others = conn.queue(1), conn.queue(1)
    conn.consume(2, letters, no_ack=True)
    queue = conn.queue(1, durable=False, arguments={
        'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': letters,
        'x-overflow': 'drop-head'})
    policy(exactly(queue), {'dead-letter-exchange': 'amq.fanout', 'max-length': 2,
                            'dead-letter-routing-key': others, 'overflow': 'reject-publish'})
    fill(conn, queue, 5)
    for n in range(3):
        conn.deliver(2, str(n))
    equal([int(b) for b in conn.drain(1, queue)], [3, 4], 'queue')
    equal(conn.passive(1, others), (0, 0), 'the other queue')


@managed
def a_time_to_live_by_policy_is_for_messages_that_come():
    conn = connect()
    queue = conn.queue(1, durable=False)
    conn.rpc(1, 'confirm.select')
    conn.publish(1, '', queue, 'before')
    conn.expect('basic.ack', 1)
    conn.rpc(1, 'basic.get', queue=queue)
    policy(exactly(queue), {'message-ttl': 1})
    deadline = time.monotonic() + DEADLINE
    while True:
        conn.publish(1, '', queue, 'after')
        conn.expect('basic.ack', 1)
        if not conn.passive(1, queue)[0]:
            break
        assert time.monotonic() < deadline, 'nothing expires'
        conn.rpc(1, 'queue.purge', queue=queue)
    conn.method(1, 'basic.reject', delivery_tag=1, requeue=True)
    conn.counts(1, queue, 1)
    equal(conn.drain(1, queue), [b'before'], 'queue')


@managed
def a_policy_with_expires_takes_a_live_queue():
    conn = connect()
    queue = conn.queue(1, durable=False)
    policy(exactly(queue), {'expires': 50})
    deadline = time.monotonic() + DEADLINE
    while True:
        conn.publish(1, '', queue, '', mandatory=True)
        conn.method(1, 'basic.qos')
        if conn.read().name == 'basic.return':
            conn.expect('basic.qos-ok', 1)
            break
        assert time.monotonic() < deadline, 'the queue does not go'
    refuse(conn, 404, "NOT_FOUND - no queue '%s' in vhost '/'" % queue, 'queue.declare',
           queue=queue, passive=True)


def first_letter(conn, queue):
    """Publishes into `queue` until a dead letter comes: the policy acts in its own time."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        conn.publish(1, '', queue, 'x')
        conn.method(1, 'basic.qos')
        got = conn.read()
        if got.name == 'basic.deliver':
            return got
    raise AssertionError('no dead letter')


@managed
def dead_lettering_by_policy():
    conn = connect(channels=2)
    dlx = conn.exchange(1, 'direct')
    letters = conn.queue(1)
    conn.bind(1, letters, dlx, 'dead')
    conn.consume(2, letters, no_ack=True)
    queue = conn.queue(1, durable=False)
    policy(exactly(queue), {'dead-letter-exchange': dlx, 'dead-letter-routing-key': 'dead',
                            'max-length': 0})
    got = first_letter(conn, queue)
    equal((got.routing_key, got.properties['headers']['x-death'][0]['reason']),
          ('dead', 'maxlen'), 'dead letter')


@managed
def reject_publish_by_policy():
    conn = connect()
    queue = conn.queue(1, durable=False)
    policy(exactly(queue), {'max-length': 1, 'overflow': 'reject-publish'})
    settles_at(conn, queue, 1)
    conn.rpc(1, 'confirm.select')
    for n, answer in ((1, 'basic.ack'), (2, 'basic.nack')):
        conn.publish(1, '', queue, str(n))
        conn.expect(answer, 1, delivery_tag=n)


@managed
def an_operator_policy_makes_limits_smaller_only():
    conn = connect()
    queue = conn.queue(1, durable=False)
    user_policy = policy(exactly(queue), {'max-length': 5})
    settles_at(conn, queue, 5)
    operator = policy(exactly(queue), {'max-length': 3}, apply_to='queues',
                      kind='operator-policies')
    settles_at(conn, queue, 3)
    policy(exactly(queue), {'max-length': 8}, apply_to='queues', kind='operator-policies',
           name=operator)
    settles_at(conn, queue, 5)
    delete('policies', '/', user_policy)
    settles_at(conn, queue, 8)
    delete('operator-policies', '/', operator)
    settles_at(conn, queue, 20)


@managed
def an_operator_policy_adds_to_what_a_policy_says():
    conn = connect(channels=2)
    letters = conn.queue(1)
    conn.consume(2, letters, no_ack=True)
    queue = conn.queue(1, durable=False)
    policy(exactly(queue), {'dead-letter-exchange': '', 'dead-letter-routing-key': letters})
    policy(exactly(queue), {'max-length': 0}, apply_to='queues', kind='operator-policies')
    first_letter(conn, queue)


@managed
def a_queue_says_which_policy_it_has():
    conn = connect()
    queue = conn.queue(1, durable=False)
    name = policy(exactly(queue), {'max-length': 5, 'message-ttl': 600000})
    operator = policy(exactly(queue), {'max-length': 3}, apply_to='queues',
                      kind='operator-policies')
    keys = ('policy', 'operator_policy', 'effective_policy_definition')
    eventually(lambda: [get('queues', '/', queue).get(key) for key in keys],
               [name, operator, {'max-length': 3, 'message-ttl': 600000}], 'what it says')


@managed
def the_equivalence_of_a_declare_is_of_arguments_only():
    conn = connect()
    queue = conn.queue(1, durable=False)
    policy(exactly(queue), {'max-length': 2})
    settles_at(conn, queue, 2)
    conn.rpc(1, 'queue.declare', queue=queue)
    typed = "the value '2' of type 'signedint'"
    refuse(conn, 406, "PRECONDITION_FAILED - inequivalent arg 'x-max-length' for queue '%s' in "
           "vhost '/': received %s but current is none" % (queue, typed), 'queue.declare',
           queue=queue, arguments={'x-max-length': 2})


run_cases()
