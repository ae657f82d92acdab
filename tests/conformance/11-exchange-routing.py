"""Which queues get a message: the four types and the default exchange."""
from raw import *


def setup(kind, bindings):
    """An exchange of this type with one queue per binding: (conn, exchange, {binding: queue})."""
    conn = connect()
    exchange = conn.exchange(1, kind)
    queues = {}
    for binding in bindings:
        queues[binding] = conn.queue(1)
        conn.bind(1, queues[binding], exchange, binding)
    return conn, exchange, queues


def reached(conn, queues):
    return sorted(binding for binding, queue in queues.items() for _ in conn.drain(1, queue))


@case
def the_default_exchange_routes_by_queue_name():
    conn = connect()
    queue = conn.queue(1)
    for key in (queue, queue + 'x', queue[:-1], ''):
        conn.publish(1, '', key, key)
    equal(conn.drain(1, queue), [queue.encode()], 'queue')


@case
def direct_compares_the_whole_key():
    conn, exchange, queues = setup('direct', ['a', 'a.b', '', 'A', '*', '#', 'é'])
    for key in ('a', 'a.b', '', 'b', 'A', '*', '#', 'é'):
        conn.publish(1, exchange, key, 'x')
        equal(reached(conn, queues), [b for b in queues if b == key], 'queues of key %r' % key)


@case
def direct_copies_to_every_queue_with_the_key():
    conn = connect()
    exchange, queues = conn.exchange(1, 'direct'), [conn.queue(1) for _ in range(5)]
    for queue in queues:
        conn.bind(1, queue, exchange, 'k')
    conn.publish(1, exchange, 'k', 'x')
    equal([conn.drain(1, queue) for queue in queues], [[b'x']] * 5, 'queues')


@case
def a_queue_bound_twice_gets_one_copy():
    conn = connect()
    queue = conn.queue(1)
    for kind, keys in (('direct', ['k', 'k']), ('topic', ['a.*', 'a.#', '#']), ('fanout', 'ab')):
        exchange = conn.exchange(1, kind)
        for key in keys:
            conn.bind(1, queue, exchange, key)
        conn.publish(1, exchange, 'k' if kind == 'direct' else 'a.b', 'x')
        equal(conn.drain(1, queue), [b'x'], kind)


@case
def fanout_ignores_keys():
    conn, exchange, queues = setup('fanout', ['a', 'b', ''])
    conn.publish(1, exchange, 'zzz', 'x')
    equal(reached(conn, queues), ['', 'a', 'b'], 'queues')


TOPIC = {
    'a.b.c': ['#', '#.#', '#.c', '*.*.*', '*.b.*', 'a.#', 'a.#.c', 'a.*.c', 'a.b.#', 'a.b.#.c',
              'a.b.c'],
    'a.c': ['#', '#.#', '#.c', '*.*', 'a.#', 'a.#.c'],
    'a': ['#', '#.#', '*', 'a', 'a.#'],
    '': ['', '#', '#.#'],  # an empty key is no word at all
    'a.b': ['#', '#.#', '*.*', 'a.#', 'a.b.#'],
    '.': ['#', '#.#', '*.*', '.'],
    'a..b': ['#', '#.#', '*.*.*', 'a.#', 'a..b'],
    'a.b.c.d': ['#', '#.#', 'a.#', 'a.b.#'],
    'b.b.c': ['#', '#.#', '#.c', '*.*.*', '*.b.*'],
    'ab': ['#', '#.#', '*'],
    '*.*': ['#', '#.#', '*.*'],
    'x.y.z.c': ['#', '#.#', '#.c'],
    'a.b.x.y.c': ['#', '#.#', '#.c', 'a.#', 'a.#.c', 'a.b.#', 'a.b.#.c'],
}


@case
def topic_matches_words_stars_and_hashes():
    patterns = sorted({p for hits in TOPIC.values() for p in hits} | {'A', '**', 'a*', '#a'})
    conn, exchange, queues = setup('topic', patterns)
    for key, hits in TOPIC.items():
        conn.publish(1, exchange, key, 'x')
        equal(reached(conn, queues), sorted(hits), 'patterns for key %r' % key)


@case
def topic_forgets_patterns_that_are_unbound():
    conn, exchange, queues = setup('topic', ['a.#', 'a.*', 'a.b', '#'])
    for pattern in list(queues):
        conn.publish(1, exchange, 'a.b', 'x')
        equal(reached(conn, queues), sorted(queues), 'queues')
        conn.rpc(1, 'queue.unbind', queue=queues.pop(pattern), exchange=exchange,
                 routing_key=pattern)
    conn.method(1, 'basic.publish', exchange=exchange, routing_key='a.b', mandatory=True)
    conn.send(content(1, b'x'))
    conn.expect('basic.return', 1, reply_code=312)


# binding arguments, then headers that match and headers that do not
HEADERS = [
    ({'x-match': 'all', 'a': 1, 'b': 'x'}, [{'a': 1, 'b': 'x'}, {'a': 1, 'b': 'x', 'c': 2}],
     [{}, {'a': 1}, {'a': 1, 'b': 'y'}, {'b': 'x', 'c': 1}]),
    ({'a': 1, 'b': 'x'}, [{'a': 1, 'b': 'x'}], [{'a': 1}, {}]),
    ({'x-match': 'any', 'a': 1, 'b': 'x'}, [{'a': 1}, {'b': 'x'}, {'a': 2, 'b': 'x'}],
     [{}, {'a': 2}, {'c': 1}]),
    ({'x-match': 'all', 'a': None}, [{'a': 1}, {'a': 'x'}, {'a': None}], [{}, {'b': 1}]),
    ({'x-match': 'all'}, [{}, {'a': 1}], []),
    ({}, [{}, {'a': 1}], []),
    ({'x-match': 'any'}, [], [{}, {'a': 1}]),
    ({'x-match': 'all', 'x-a': 1, 'b': 2}, [{'b': 2}, {'b': 2, 'x-a': 9}], [{'x-a': 1}]),
    ({'x-match': 'any', 'x-a': 1, 'b': 2}, [{'b': 2}], [{'x-a': 1}, {}]),
    ({'x-match': 'all-with-x', 'x-a': 1, 'b': 2}, [{'b': 2, 'x-a': 1}], [{'b': 2}, {'x-a': 1}]),
    ({'x-match': 'any-with-x', 'x-a': 1, 'b': 2}, [{'b': 2}, {'x-a': 1}], [{}, {'x-a': 2}]),
    ({'a': True}, [{'a': True}], [{'a': False}, {'a': 'true'}]),
    ({'a': 'A'}, [{'a': 'A'}], [{'a': 'a'}, {'A': 'A'}]),
    ({'a': Typed('l', 5)}, [{'a': 5}, {'a': Typed('s', 5)}, {'a': Typed('b', 5)}], [{'a': '5'}]),
    ({'a': {'b': 1}}, [{'a': {'b': 1}}], [{'a': {'b': 2}}]),
]


@case
def headers_match_by_arguments():
    conn = connect()
    for arguments, hits, misses in HEADERS:
        exchange, queue = conn.exchange(1, 'headers'), conn.queue(1)
        conn.bind(1, queue, exchange, 'ignored', arguments=arguments)
        for headers in hits + misses:
            conn.publish(1, exchange, 'other', 'x', properties(headers=headers))
            equal(conn.drain(1, queue), [b'x'] if headers in hits else [],
                  'binding %s, message %s' % (arguments, headers))


@case
def a_message_without_headers_is_one_with_none():
    conn = connect()
    exchange, both, some = conn.exchange(1, 'headers'), conn.queue(1), conn.queue(1)
    conn.bind(1, both, exchange, arguments={'x-match': 'all'})
    conn.bind(1, some, exchange, arguments={'a': 1})
    conn.publish(1, exchange, '', 'x')
    equal((conn.drain(1, both), conn.drain(1, some)), ([b'x'], []), 'queues')


@case
def wrong_x_match_is_406():
    conn = connect()
    exchange, queue = conn.exchange(1, 'headers'), conn.queue(1)
    refuse(conn, 406, 'PRECONDITION_FAILED - Invalid x-match field value <<"some">>; expected all, '
           'any, all-with-x, or any-with-x', 'queue.bind', queue=queue, exchange=exchange,
           arguments={'x-match': 'some'})
    refuse(conn, 406, 'PRECONDITION_FAILED - Invalid x-match field type signedint (value 5); '
           'expected longstr', 'queue.bind', queue=queue, exchange=exchange,
           arguments={'x-match': 5})


@case
def the_order_of_one_publisher_is_kept_in_every_queue():
    conn = connect()
    exchange, queues = conn.exchange(1, 'fanout'), [conn.queue(1) for _ in range(3)]
    for queue in queues:
        conn.bind(1, queue, exchange)
    for n in range(300):
        conn.publish(1, exchange, '', str(n))
    wanted = [str(n).encode() for n in range(300)]
    for queue in queues:
        equal(conn.drain(1, queue), wanted, 'queue')


run_cases()
