"""Bindings: refusals, unbinding, exchange to exchange, alternate exchanges, carbon copies."""
from raw import *

NO_QUEUE = "NOT_FOUND - no queue '%s' in vhost '/'"
NO_EXCHANGE = "NOT_FOUND - no exchange '%s' in vhost '/'"


@case
def binding_needs_both_ends():
    conn = connect()
    queue = conn.queue(1)
    refuse(conn, 404, NO_QUEUE % 'nope.q', 'queue.bind', queue='nope.q', exchange='amq.direct')
    refuse(conn, 404, NO_EXCHANGE % 'nope.x', 'queue.bind', queue=queue, exchange='nope.x')
    refuse(conn, 404, NO_EXCHANGE % 'nope.x', 'queue.bind', queue='nope.q', exchange='nope.x')
    refuse(conn, 404, NO_EXCHANGE % 'nope.x', 'exchange.bind', destination='nope.x',
           source='amq.direct')
    refuse(conn, 404, NO_EXCHANGE % 'nope.x', 'exchange.bind', destination='amq.direct',
           source='nope.x')
    refuse(conn, 404, NO_EXCHANGE % 'nope.y', 'exchange.bind', destination='nope.x',
           source='nope.y')


@case
def unbinding_what_is_absent_succeeds():
    conn = connect()
    queue = conn.queue(1)
    for fields in ({'queue': 'nope.q', 'exchange': 'amq.direct'},
                   {'queue': queue, 'exchange': 'nope.x'},
                   {'queue': 'nope.q', 'exchange': 'nope.x'},
                   {'queue': queue, 'exchange': 'amq.direct', 'routing_key': 'never bound'}):
        conn.rpc(1, 'queue.unbind', **fields)
    for fields in ({'destination': 'nope.x', 'source': 'amq.direct'},
                   {'destination': 'amq.direct', 'source': 'nope.x'},
                   {'destination': 'amq.fanout', 'source': 'amq.direct'}):
        conn.rpc(1, 'exchange.unbind', **fields)


@case
def a_binding_is_its_key_and_its_arguments():
    conn = connect()
    exchange, queue = conn.exchange(1, 'direct'), conn.queue(1)
    conn.bind(1, queue, exchange, 'k')
    conn.bind(1, queue, exchange, 'k')
    conn.bind(1, queue, exchange, 'k', arguments={'a': 1})
    conn.rpc(1, 'queue.unbind', queue=queue, exchange=exchange, routing_key='other')
    conn.rpc(1, 'queue.unbind', queue=queue, exchange=exchange, routing_key='k')
    conn.publish(1, exchange, 'k', 'still')
    conn.rpc(1, 'queue.unbind', queue=queue, exchange=exchange, routing_key='k', arguments={'a': 2})
    conn.publish(1, exchange, 'k', 'bound')
    conn.rpc(1, 'queue.unbind', queue=queue, exchange=exchange, routing_key='k', arguments={'a': 1})
    conn.publish(1, exchange, 'k', 'gone')
    equal(conn.drain(1, queue), [b'still', b'bound'], 'queue')


@case
def deleting_a_queue_drops_its_bindings():
    conn = connect()
    exchange, queue = conn.exchange(1, 'fanout'), conn.queue(1)
    conn.bind(1, queue, exchange)
    conn.rpc(1, 'queue.delete', queue=queue)
    conn.queue(1, queue)
    conn.publish(1, exchange, '', 'x')
    equal(conn.drain(1, queue), [], 'queue')
    conn.rpc(1, 'exchange.delete', exchange=exchange, if_unused=True)


@case
def exchanges_route_to_exchanges():
    conn = connect()
    first, second, third = conn.exchange(1, 'topic'), conn.exchange(1, 'direct'), conn.exchange(
        1, 'fanout')
    queue = conn.queue(1)
    conn.rpc(1, 'exchange.bind', destination=second, source=first, routing_key='a.#')
    conn.rpc(1, 'exchange.bind', destination=third, source=second, routing_key='a.b')
    conn.bind(1, queue, third)
    for key in ('a.b', 'a.c', 'b'):
        conn.publish(1, first, key, key)
    got = conn.rpc(1, 'basic.get', queue=queue, no_ack=True)
    equal((got.body, got.exchange, got.routing_key), (b'a.b', first, 'a.b'), 'message')
    equal(conn.drain(1, queue), [], 'queue')
    conn.rpc(1, 'exchange.unbind', destination=second, source=first, routing_key='a.#')
    conn.publish(1, first, 'a.b', 'x')
    equal(conn.drain(1, queue), [], 'queue after unbind')


@case
def cycles_of_exchanges_end_and_give_one_copy():
    conn = connect()
    exchanges, queue = [conn.exchange(1, 'fanout') for _ in range(3)], conn.queue(1)
    for n, exchange in enumerate(exchanges):
        conn.rpc(1, 'exchange.bind', destination=exchanges[(n + 1) % 3], source=exchange)
        conn.rpc(1, 'exchange.bind', destination=exchange, source=exchange)
        conn.bind(1, queue, exchange)
    for exchange in exchanges:
        conn.publish(1, exchange, '', exchange)
    equal(conn.drain(1, queue), [e.encode() for e in exchanges], 'queue')


@case
def deleting_an_exchange_drops_bindings_from_and_to_it():
    conn = connect()
    source, middle, queue = conn.exchange(1, 'fanout'), conn.exchange(1, 'fanout'), conn.queue(1)
    conn.rpc(1, 'exchange.bind', destination=middle, source=source)
    conn.bind(1, queue, middle)
    conn.rpc(1, 'exchange.delete', exchange=middle)
    conn.publish(1, source, '', 'x', mandatory=True)
    conn.expect('basic.return', 1, reply_code=312)
    conn.rpc(1, 'exchange.delete', exchange=source, if_unused=True)
    equal(conn.drain(1, queue), [], 'queue')


@case
def an_alternate_exchange_gets_what_matches_nothing():
    conn = connect()
    alternate, queue, spill = conn.exchange(1, 'fanout'), conn.queue(1), conn.queue(1)
    main = conn.exchange(1, 'direct', arguments={'alternate-exchange': alternate})
    conn.bind(1, queue, main, 'k')
    conn.bind(1, spill, alternate)
    for key in ('k', 'other'):
        conn.publish(1, main, key, key, mandatory=True)
    equal(conn.drain(1, queue), [b'k'], 'queue')
    got = conn.rpc(1, 'basic.get', queue=spill, no_ack=True)
    equal((got.body, got.exchange, got.routing_key), (b'other', main, 'other'), 'spilt message')


@case
def alternate_exchanges_form_chains_and_loops():
    conn = connect()
    names = [unique('x') for _ in range(3)]
    for n, name in enumerate(names):
        conn.rpc(1, 'exchange.declare', exchange=name, type='direct',
                 arguments={'alternate-exchange': names[(n + 1) % 3]})
    queue = conn.queue(1)
    conn.bind(1, queue, names[2], 'k')
    conn.publish(1, names[0], 'k', 'x', mandatory=True)
    equal(conn.drain(1, queue), [b'x'], 'queue')
    conn.publish(1, names[0], 'other', 'y', mandatory=True)
    equal(conn.expect('basic.return', 1, reply_code=312, exchange=names[0]).body, b'y', 'body')


@case
def an_alternate_exchange_may_be_absent():
    conn = connect()
    main = conn.exchange(1, 'direct', arguments={'alternate-exchange': unique('never')})
    conn.publish(1, main, 'k', 'x', mandatory=True)
    conn.expect('basic.return', 1, reply_code=312, routing_key='k')
    conn.rpc(1, 'basic.qos')


@case
def a_bound_exchange_that_routes_nowhere_spills_to_its_own_alternate():
    conn = connect()
    alternate, spill = conn.exchange(1, 'fanout'), conn.queue(1)
    conn.bind(1, spill, alternate)
    inner = conn.exchange(1, 'direct', arguments={'alternate-exchange': alternate})
    outer = conn.exchange(1, 'fanout')
    conn.rpc(1, 'exchange.bind', destination=inner, source=outer)
    conn.publish(1, outer, 'nothing', 'x')
    equal(conn.drain(1, spill), [b'x'], 'queue')


@case
def carbon_copies_go_by_more_keys():
    conn = connect()
    queues = [conn.queue(1) for _ in range(3)]
    conn.publish(1, '', queues[0], 'x', properties(headers={'CC': [queues[1]], 'BCC': [queues[2]]}))
    for queue in queues:
        got = conn.rpc(1, 'basic.get', queue=queue, no_ack=True)
        equal((got.body, got.routing_key, got.properties['headers']),
              (b'x', queues[0], {'CC': [queues[1]]}), 'message')
    conn.publish(1, '', queues[0], 'x', properties(headers={'CC': [queues[0], queues[0]]}))
    equal(conn.drain(1, queues[0]), [b'x'], 'queue named twice')
    conn.publish(1, '', 'x', 'x', properties(headers={'CC': 5}))
    conn.expect_close(1, 406, 'PRECONDITION_FAILED - invalid message: '
                              '{unacceptable_type_in_header,"CC",signedint}', 'basic.publish')


run_cases()
