"""exchange.declare and exchange.delete: types, equivalence, names, refusals."""
from raw import *

DEFAULT = 'ACCESS_REFUSED - operation not permitted on the default exchange'


def other(exchange, arg, received, current):
    return ("PRECONDITION_FAILED - inequivalent arg '%s' for exchange '%s' in vhost '/': received "
            "%s but current is %s" % (arg, exchange, received, current))


@case
def all_types_are_declared_and_deleted():
    conn = connect()
    for kind in ('direct', 'fanout', 'topic', 'headers'):
        for durable in (False, True):
            name = conn.exchange(1, kind, durable=durable)
            conn.rpc(1, 'exchange.declare', exchange=name, type=kind, durable=durable)
            conn.rpc(1, 'exchange.declare', exchange=name, passive=True)
            conn.rpc(1, 'exchange.delete', exchange=name)
            refuse(conn, 404, "NOT_FOUND - no exchange '%s' in vhost '/'" % name,
                   'exchange.declare', exchange=name, passive=True)


@case
def unknown_types_are_503():
    # RabbitMQ says "invalid" for a word that it has heard for whatever reason: these are new.
    for kind in (unique('bogus'), *on(['Direct'], []), 'x-' + unique('not'), unique('x' * 80)):
        hard(connect(), 503, "COMMAND_INVALID - unknown exchange type '%s'" % kind,
             'exchange.declare', exchange=unique('x'), type=kind)
    hard(connect(), 503, "COMMAND_INVALID - invalid exchange type ''", 'exchange.declare',
         exchange=unique('x'), type='')


@case
def the_predeclared_exchanges_are_there():
    conn = connect()
    for name, kind in (('amq.direct', 'direct'), ('amq.fanout', 'fanout'), ('amq.topic', 'topic'),
                       ('amq.headers', 'headers'), ('amq.match', 'headers')):
        conn.rpc(1, 'exchange.declare', exchange=name, type=kind, durable=True)
        wrong = 'fanout' if kind != 'fanout' else 'direct'
        refuse(conn, 406, other(name, 'type', "'%s'" % wrong, "'%s'" % kind), 'exchange.declare',
               exchange=name, type=wrong, durable=True)


@case
def redeclaring_otherwise_is_406():
    conn = connect()
    name = conn.exchange(1, 'direct')
    for arg, flags in (('durable', {'durable': True}), ('auto_delete', {'auto_delete': True}),
                       ('internal', {'internal': True})):
        refuse(conn, 406, other(name, arg, "'true'", "'false'"), 'exchange.declare', exchange=name,
               type='direct', **flags)
    refuse(conn, 406, other(name, 'type', "'fanout'", "'direct'"), 'exchange.declare',
           exchange=name, type='fanout', durable=True)
    for flag in ('durable', 'auto_delete', 'internal'):
        name = conn.exchange(1, 'topic', **{flag: True})
        conn.rpc(1, 'exchange.declare', exchange=name, type='topic', **{flag: True})
        refuse(conn, 406, other(name, flag, "'false'", "'true'"), 'exchange.declare',
               exchange=name, type='topic')


@case
def redeclaring_with_another_alternate_exchange_is_406():
    conn = connect()
    name = conn.exchange(1, 'direct')
    foo, aaa = ("the value '%s' of type 'longstr'" % v for v in ('foo', 'aaa'))
    refuse(conn, 406, other(name, 'alternate-exchange', foo, 'none'), 'exchange.declare',
           exchange=name, type='direct', arguments={'alternate-exchange': 'foo'})
    name = conn.exchange(1, 'direct', arguments={'alternate-exchange': 'aaa'})
    conn.rpc(1, 'exchange.declare', exchange=name, type='direct',
             arguments={'alternate-exchange': 'aaa'})
    refuse(conn, 406, other(name, 'alternate-exchange', 'none', aaa), 'exchange.declare',
           exchange=name, type='direct')
    for received in ('bbb', 7):
        refuse(conn, 406, other(name, 'alternate-exchange', "'%s'" % received, "'aaa'"),
               'exchange.declare', exchange=name, type='direct',
               arguments={'alternate-exchange': received})


@case
def other_arguments_are_kept_but_not_compared():
    conn = connect()
    name = conn.exchange(1, 'direct', arguments={'x-mine': 1})
    for arguments in ({}, {'x-mine': 2}, {'other': 'x', 'more': [1, {'a': None}]}):
        conn.rpc(1, 'exchange.declare', exchange=name, type='direct', arguments=arguments)


@case
def an_alternate_exchange_is_named_by_a_string():
    name = unique('x')
    refuse(connect(), 406, "PRECONDITION_FAILED - invalid type 'signedint' for arg "
           "'alternate-exchange' in exchange '%s' in vhost '/'" % name, 'exchange.declare',
           exchange=name, type='direct', arguments={'alternate-exchange': 5})


@case
def passive_asks_only_whether_it_exists():
    conn = connect()
    name = conn.exchange(1, 'direct')
    conn.rpc(1, 'exchange.declare', exchange=name, type='fanout', passive=True, durable=True)
    conn.rpc(1, 'exchange.declare', exchange=name, type='bogus', passive=True)
    name = unique('x')
    refuse(conn, 404, "NOT_FOUND - no exchange '%s' in vhost '/'" % name, 'exchange.declare',
           exchange=name, type='direct', passive=True)


@case
def the_default_exchange_is_left_alone():
    conn = connect()
    queue = conn.queue(1)
    for name, fields in (
            ('exchange.declare', {'type': 'direct'}), ('exchange.delete', {}),
            ('exchange.declare', {'type': 'direct', 'passive': True}),
            ('queue.bind', {'queue': queue}), ('queue.unbind', {'queue': queue}),
            ('exchange.bind', {'source': 'amq.direct'}),
            ('exchange.bind', {'destination': 'amq.direct'}),
            ('exchange.unbind', {'source': 'amq.direct'}),
            ('exchange.unbind', {'destination': 'amq.direct'})):
        refuse(conn, 403, DEFAULT, name, **fields)


@case
def reserved_names_are_403():
    conn = connect()
    for name in ('amq.foo', 'amq.'):
        refuse(conn, 403, "ACCESS_REFUSED - exchange name '%s' contains reserved prefix 'amq.*'"
               % name, 'exchange.declare', exchange=name, type='direct')
    for name in ('amq.direct', 'amq.topic', 'amq.nothing'):
        refuse(conn, 403, "ACCESS_REFUSED - deletion of system exchange '%s' in vhost '/' not "
               "allowed" % name, 'exchange.delete', exchange=name)


@case
def names_hold_up_to_255_bytes_and_lose_line_ends():
    conn = connect()
    name = (unique('long') + 'x' * 255)[:255]
    conn.rpc(1, 'exchange.declare', exchange=name, type='direct', auto_delete=True)
    conn.rpc(1, 'exchange.delete', exchange=name)
    name = unique('line')
    conn.rpc(1, 'exchange.declare', exchange=name[:5] + '\r\n' + name[5:] + '\n', type='direct')
    conn.rpc(1, 'exchange.declare', exchange=name, passive=True)
    name = unique('ünïcødé-✓')
    conn.rpc(1, 'exchange.declare', exchange=name, type='direct')
    conn.rpc(1, 'exchange.delete', exchange=name)


@case
def deleting_what_is_absent_succeeds():
    connect().rpc(1, 'exchange.delete', exchange=unique('x'))


@case
def if_unused_keeps_an_exchange_with_bindings():
    conn = connect()
    source, queue = conn.exchange(1, 'topic'), conn.queue(1)
    conn.bind(1, queue, source, 'k')
    in_use = "PRECONDITION_FAILED - exchange '%s' in vhost '/' in use" % source
    refuse(conn, 406, in_use, 'exchange.delete', exchange=source, if_unused=True)
    conn.rpc(1, 'queue.unbind', queue=queue, exchange=source, routing_key='k')
    target = conn.exchange(1, 'fanout')
    conn.rpc(1, 'exchange.bind', destination=target, source=source, routing_key='k')
    refuse(conn, 406, in_use, 'exchange.delete', exchange=source, if_unused=True)
    conn.rpc(1, 'exchange.delete', exchange=target, if_unused=True)  # a destination is not in use
    conn.rpc(1, 'exchange.delete', exchange=source, if_unused=True)


@case
def deleting_an_exchange_drops_its_bindings():
    conn = connect()
    name, queue = conn.exchange(1, 'fanout'), conn.queue(1)
    conn.bind(1, queue, name)
    conn.rpc(1, 'exchange.delete', exchange=name)
    conn.rpc(1, 'exchange.declare', exchange=name, type='fanout')
    conn.publish(1, name, '', 'x')
    equal(conn.drain(1, queue), [], 'queue')


def _gone(conn, name):
    refuse(conn, 404, "NOT_FOUND - no exchange '%s' in vhost '/'" % name, 'exchange.declare',
           exchange=name, passive=True)


@case
def auto_delete_goes_with_the_last_binding():
    conn = connect()
    name, queues = conn.exchange(1, 'direct', auto_delete=True), [conn.queue(1) for _ in 'ab']
    conn.rpc(1, 'exchange.declare', exchange=name, passive=True)  # never bound: stays
    for queue in queues:
        conn.bind(1, queue, name, 'k')
    conn.rpc(1, 'queue.unbind', queue=queues[0], exchange=name, routing_key='k')
    conn.rpc(1, 'exchange.declare', exchange=name, passive=True)
    conn.rpc(1, 'queue.unbind', queue=queues[1], exchange=name, routing_key='k')
    _gone(conn, name)


@case
def auto_delete_goes_with_the_last_bound_queue():
    conn = connect()
    name, queue = conn.exchange(1, 'direct', auto_delete=True), conn.queue(1)
    conn.bind(1, queue, name, 'k')
    conn.rpc(1, 'queue.delete', queue=queue)
    _gone(conn, name)


@case
def auto_delete_goes_on_along_exchange_bindings():
    conn = connect()
    first, second = (conn.exchange(1, 'fanout', auto_delete=True) for _ in range(2))
    queue = conn.queue(1)
    conn.rpc(1, 'exchange.bind', destination=second, source=first)
    conn.bind(1, queue, second)
    conn.rpc(1, 'queue.delete', queue=queue)
    _gone(conn, second)
    _gone(conn, first)


@case
def an_internal_exchange_takes_no_publishes_but_routes():
    conn = connect()
    inner, outer = conn.exchange(1, 'fanout', internal=True), conn.exchange(1, 'fanout')
    queue = conn.queue(1)
    conn.bind(1, queue, inner)
    conn.rpc(1, 'exchange.bind', destination=inner, source=outer)
    conn.publish(1, outer, '', 'through')
    equal(conn.drain(1, queue), [b'through'], 'queue')
    conn.publish(1, inner, '', 'no')
    conn.expect_close(1, 403, "ACCESS_REFUSED - cannot publish to internal exchange '%s' in vhost "
                              "'/'" % inner, 'basic.publish')


run_cases()
