"""Alternate exchanges, by argument and by policy."""
from management import *
from raw import *


def pair(conn, kind='direct', second='fanout'):
    """(exchange with an alternate one, that one, a queue bound to that one)"""
    alternate = conn.exchange(1, second)
    queue = conn.queue(1)
    conn.bind(1, queue, alternate)
    return conn.exchange(1, kind, arguments={'alternate-exchange': alternate}), alternate, queue


def arrives(conn, queue, body):
    conn.counts(1, queue, 1)
    got = conn.rpc(1, 'basic.get', queue=queue, no_ack=True)
    equal(got.body, body.encode(), 'body')
    return got


@case
def what_finds_no_queue_goes_there():
    conn = connect()
    for kind in ('direct', 'fanout', 'topic', 'headers'):
        exchange, _, queue = pair(conn, kind)
        conn.publish(1, exchange, 'key', 'x', mandatory=True)
        got = arrives(conn, queue, 'x')
        equal((got.exchange, got.routing_key), (exchange, 'key'), 'delivery')
        own = conn.queue(1)
        conn.bind(1, own, exchange, 'key')
        conn.publish(1, exchange, 'key', 'y')
        arrives(conn, own, 'y')
        equal(conn.drain(1, queue), [], 'the other queue')


@case
def mandatory_comes_back_only_if_the_last_has_no_queue_either():
    conn = connect()
    alternate = conn.exchange(1, 'direct')
    exchange = conn.exchange(1, 'direct', arguments={'alternate-exchange': alternate})
    conn.publish(1, exchange, 'key', 'x', mandatory=True)
    equal(conn.expect('basic.return', 1).exchange, exchange, 'exchange')
    queue = conn.queue(1)
    conn.bind(1, queue, alternate, 'key')
    conn.publish(1, exchange, 'key', 'y', mandatory=True)
    arrives(conn, queue, 'y')


@case
def one_may_lead_to_the_next_and_in_a_circle():
    conn = connect()
    names = [unique('x') for _ in range(3)]
    for n, name in enumerate(names):
        conn.rpc(1, 'exchange.declare', exchange=name, type='direct',
                 arguments={'alternate-exchange': names[(n + 1) % 3]})
    queue = conn.queue(1)
    conn.publish(1, names[0], 'key', 'nowhere', mandatory=True)
    conn.expect('basic.return', 1)
    conn.bind(1, queue, names[2], 'key')
    for name in names:
        conn.publish(1, name, 'key', name)
        arrives(conn, queue, name)


@case
def one_may_be_its_own():
    conn = connect()
    name = unique('x')
    conn.rpc(1, 'exchange.declare', exchange=name, type='direct',
             arguments={'alternate-exchange': name})
    conn.publish(1, name, 'key', 'x', mandatory=True)
    conn.expect('basic.return', 1)


@case
def one_that_does_not_exist_is_none():
    conn = connect()
    missing = unique('x')
    exchange = conn.exchange(1, 'direct', arguments={'alternate-exchange': missing})
    conn.publish(1, exchange, 'key', 'x', mandatory=True)
    conn.expect('basic.return', 1)
    conn.rpc(1, 'exchange.declare', exchange=missing, type='fanout')
    queue = conn.queue(1)
    conn.bind(1, queue, missing)
    conn.publish(1, exchange, 'key', 'y', mandatory=True)
    arrives(conn, queue, 'y')
    conn.rpc(1, 'exchange.delete', exchange=missing)
    conn.publish(1, exchange, 'key', 'x', mandatory=True)
    conn.expect('basic.return', 1)


@case
def the_default_exchange_is_none():
    conn = connect()
    queue = conn.queue(1)
    exchange = conn.exchange(1, 'direct', arguments={'alternate-exchange': ''})
    conn.publish(1, exchange, queue, 'x', mandatory=True)
    conn.expect('basic.return', 1)


@case
def a_bound_exchange_without_queues_counts_as_no_route():
    conn = connect()
    exchange, _, queue = pair(conn)
    empty = conn.exchange(1, 'fanout')
    conn.rpc(1, 'exchange.bind', destination=empty, source=exchange, routing_key='key')
    conn.publish(1, exchange, 'key', 'x', mandatory=True)
    equal((conn.read().name, conn.passive(1, queue)[0]), ('basic.return', 0), 'what happened')


@case
def the_alternate_of_a_bound_exchange_serves():
    conn = connect()
    exchange, _, queue = pair(conn)
    source = conn.exchange(1, 'fanout')
    conn.rpc(1, 'exchange.bind', destination=exchange, source=source)
    conn.publish(1, source, 'key', 'x', mandatory=True)
    arrives(conn, queue, 'x')


@case
def an_internal_alternate_serves():
    conn = connect()
    alternate = conn.exchange(1, 'fanout', internal=True)
    queue = conn.queue(1)
    conn.bind(1, queue, alternate)
    exchange = conn.exchange(1, 'direct', arguments={'alternate-exchange': alternate})
    conn.publish(1, exchange, 'key', 'x')
    arrives(conn, queue, 'x')


@case
def cc_goes_along():
    conn = connect()
    alternate = conn.exchange(1, 'direct')
    queue = conn.queue(1)
    conn.bind(1, queue, alternate, 'copy')
    exchange = conn.exchange(1, 'direct', arguments={'alternate-exchange': alternate})
    conn.publish(1, exchange, 'key', 'x', properties(headers={'CC': ['copy']}))
    arrives(conn, queue, 'x')


@case
def another_type_of_argument_is_406():
    conn = connect()
    for value, kind in ((5, 'signedint'), (True, 'bool'), (None, 'void'), ([], 'array'),
                        ({}, 'table'), (b'x', 'binary')):
        name = unique('x')
        refuse(conn, 406, "PRECONDITION_FAILED - invalid type '%s' for arg 'alternate-exchange' in "
               "exchange '%s' in vhost '/'" % (kind, name), 'exchange.declare', exchange=name,
               type='direct', arguments={'alternate-exchange': value})


def retry_until(conn, exchange, wanted, mandatory=True):
    """Publishes until the message goes ('routed') or comes back ('returned'): a policy is told to
    exchanges in its own time."""
    deadline = time.monotonic() + DEADLINE
    while True:
        conn.publish(1, exchange, 'key', 'x', mandatory=mandatory)
        conn.method(1, 'basic.qos')
        got = conn.read().name
        if got == 'basic.return':
            conn.expect('basic.qos-ok', 1)
        if ('returned' if got == 'basic.return' else 'routed') == wanted:
            return
        assert time.monotonic() < deadline, 'it is not %s' % wanted


@managed
def a_policy_gives_one_at_once():
    conn = connect()
    exchange, alternate = conn.exchange(1, 'direct'), conn.exchange(1, 'fanout')
    queue = conn.queue(1)
    conn.bind(1, queue, alternate)
    retry_until(conn, exchange, 'returned')
    for apply_to in ('exchanges', 'all'):
        name = policy('^%s$' % exchange.replace('.', '[.]'), {'alternate-exchange': alternate},
                      apply_to=apply_to)
        retry_until(conn, exchange, 'routed')
        delete('policies', '/', name)
        retry_until(conn, exchange, 'returned')


@managed
def an_argument_wins_over_a_policy():
    conn = connect()
    exchange, _, queue = pair(conn)
    second = conn.exchange(1, 'fanout')
    other = conn.queue(1)
    conn.bind(1, other, second)
    policy('^%s$' % exchange, {'alternate-exchange': second}, apply_to='exchanges')
    eventually(lambda: get('exchanges', '/', exchange).get('policy') is not None, True, 'policy')
    conn.publish(1, exchange, 'key', 'x')
    arrives(conn, queue, 'x')
    equal(conn.drain(1, other), [], 'the other queue')


@managed
def a_policy_for_queues_does_not_act_on_exchanges():
    conn = connect()
    exchange, alternate = conn.exchange(1, 'direct'), conn.exchange(1, 'fanout')
    queue, other = conn.queue(1), conn.exchange(1, 'direct')
    conn.bind(1, queue, alternate)
    # The second policy acts: by then the first would have, too.
    policy('^%s$' % exchange, {'alternate-exchange': alternate}, apply_to='queues')
    policy('^%s$' % other, {'alternate-exchange': alternate}, apply_to='exchanges')
    retry_until(conn, other, 'routed')
    retry_until(conn, exchange, 'returned')


run_cases()
