"""Arguments of queue.declare: types, values and their texts, the order of checks, queue types."""
from raw import *

INTEGERS = ['x-message-ttl', 'x-expires', 'x-max-length', 'x-max-length-bytes', 'x-max-priority',
            'x-queue-version']
NOT_INTEGERS = [('5', 'longstr'), (5.0, 'double'), (Typed('f', 5.0), 'float'), (True, 'bool'),
                (None, 'void'), ([1], 'array'), ({'a': 1}, 'table'), (b'x', 'binary'),
                (Typed('T', 5), 'timestamp'), (Typed('D', (0, 5)), 'decimal')]
NOT_STRINGS = [(5, 'signedint'), (Typed('l', 5), 'long'), (True, 'bool'), (None, 'void'),
               (b'x', 'binary'), ([], 'array'), ({}, 'table'), (5.0, 'double')]
WIDTHS = [Typed('b', 2), Typed('B', 2), Typed('s', 2), Typed('u', 2), 2, Typed('i', 2),
          Typed('l', 2)]
DAY = 86400 * 1000


def invalid(queue, arg, why):
    return "PRECONDITION_FAILED - invalid arg '%s' for queue '%s' in vhost '/': %s" % (
        arg, queue, why)


def other(queue, arg, received, current):
    return ("PRECONDITION_FAILED - inequivalent arg '%s' for queue '%s' in vhost '/': received %s "
            "but current is %s" % (arg, queue, received, current))


def wrong(conn, arg, value, why, **flags):
    """Declaring with this argument is 406 for the reason `why`, and leaves no queue behind."""
    queue = unique('q')
    arguments = dict(flags.pop('arguments', {}), **{arg: value})
    refuse(conn, 406, invalid(queue, arg, why), 'queue.declare', queue=queue, arguments=arguments,
           **flags)
    refuse(conn, 404, "NOT_FOUND - no queue '%s' in vhost '/'" % queue, 'queue.declare',
           queue=queue, passive=True)


def fine(conn, **arguments_and_flags):
    """Declares, deletes."""
    queue = conn.queue(1, **dict({'durable': False}, **arguments_and_flags))
    conn.rpc(1, 'queue.delete', queue=queue)


@case
def integers_must_be_integers():
    conn = connect()
    for arg in INTEGERS:
        for value, kind in NOT_INTEGERS:
            wrong(conn, arg, value, '"expected integer, got %s"' % kind)


@case
def integers_may_have_any_width():
    conn = connect()
    for arg in INTEGERS:
        for value in WIDTHS:
            fine(conn, arguments={arg: value})


@case
def negative_integers_are_406():
    conn = connect()
    for arg in INTEGERS:
        for value, text in ((-1, '-1'), (Typed('b', -5), '-5'),
                            (Typed('l', -2**40), '-1099511627776')):
            wrong(conn, arg, value, '{value_negative,%s}' % text)


@case
def a_ttl_may_be_zero_and_up_to_a_limit():
    conn = connect()
    for value in (0, 1, 2**32 - 1, Typed('l', 2**32), 10 * 365 * DAY):
        fine(conn, arguments={'x-message-ttl': value})
    for value in (10 * 366 * DAY, Typed('l', 2**40), Typed('l', 2**62)):
        text = value.value if isinstance(value, Typed) else value
        wrong(conn, 'x-message-ttl', value, '{value_too_large,%d}' % text)


@case
def the_limit_of_times_is_exact():
    conn = connect()
    limit = 10 * 365 * DAY
    for arg in ('x-message-ttl', 'x-expires'):
        fine(conn, arguments={arg: limit})
        wrong(conn, arg, limit + 1, '{value_too_large,%d}' % (limit + 1))


@case
def expires_must_be_positive():
    conn = connect()
    for value in (0, Typed('l', 0), Typed('b', 0)):
        wrong(conn, 'x-expires', value, '{value_zero,0}')
    for value in (2**31 - 1, Typed('l', 2**32)):
        fine(conn, arguments={'x-expires': value})


@case
def lengths_may_be_zero_and_have_no_upper_limit():
    conn = connect()
    for arg in ('x-max-length', 'x-max-length-bytes'):
        for value in (0, 1, Typed('l', 2**40), Typed('l', 2**63 - 1)):
            fine(conn, arguments={arg: value})


@case
def priorities_go_up_to_255():
    conn = connect()
    for value in (0, 1, 10, Typed('B', 255)):
        fine(conn, arguments={'x-max-priority': value})
    for value in (256, 257, Typed('s', 300), Typed('l', 2**40)):
        text = value.value if isinstance(value, Typed) else value
        wrong(conn, 'x-max-priority', value, '{max_value_exceeded,%d}' % text)


@case
def queue_versions_are_1_and_2():
    conn = connect()
    for value in (1, 2):
        fine(conn, arguments={'x-queue-version': value})
    for value in (0, 3, 255, Typed('l', 2**40)):
        text = value.value if isinstance(value, Typed) else value
        wrong(conn, 'x-queue-version', value, '"unsupported queue version \'%d\'"' % text)


@case
def strings_must_be_strings():
    conn = connect()
    for value, kind in NOT_STRINGS:
        for arg in ('x-overflow', 'x-queue-mode', 'x-queue-type'):
            wrong(conn, arg, value, '{unacceptable_type,%s}' % kind)
        wrong(conn, 'x-dead-letter-routing-key', value, '{unacceptable_type,%s}' % kind,
              arguments={'x-dead-letter-exchange': 'dlx'})
        wrong(conn, 'x-dead-letter-routing-key', value, '{unacceptable_type,%s}' % kind)
        queue = unique('q')
        refuse(conn, 406, "PRECONDITION_FAILED - invalid type '%s' for arg "
               "'x-dead-letter-exchange' in queue '%s' in vhost '/'" % (kind, queue),
               'queue.declare', queue=queue, arguments={'x-dead-letter-exchange': value})


@case
def single_active_consumer_must_be_a_bool():
    conn = connect()
    for value in (True, False):
        fine(conn, arguments={'x-single-active-consumer': value})
    for value, kind in (('true', 'longstr'), (1, 'signedint'), (None, 'void'), ([], 'array')):
        wrong(conn, 'x-single-active-consumer', value, '{unacceptable_type,%s}' % kind)


@case
def overflow_is_one_of_three():
    conn = connect()
    for value in ('drop-head', 'reject-publish', 'reject-publish-dlx'):
        fine(conn, arguments={'x-overflow': value})
    for value in ('', 'drop-tail', 'Drop-Head', 'reject-publish '):
        wrong(conn, 'x-overflow', value, 'invalid_overflow')


@case
def queue_mode_is_default_or_lazy():
    conn = connect()
    for value in ('default', 'lazy'):
        fine(conn, arguments={'x-queue-mode': value})
        fine(conn, durable=True, arguments={'x-queue-mode': value})
    for value in ('', 'Lazy', 'eager', 'x' * 30):
        wrong(conn, 'x-queue-mode', value, '"unsupported queue mode \'%s\'"' % value)


@case
def queue_type_is_one_that_is_known():
    conn = connect()
    for value in ('', 'Classic', 'mirrored', 'rabbit_classic_queue', 'x' * 30):
        wrong(conn, 'x-queue-type', value, '"unsupported queue type \'%s\'"' % value)


@case
def a_dead_letter_routing_key_needs_an_exchange():
    conn = connect()
    for value in ('key', ''):
        wrong(conn, 'x-dead-letter-routing-key', value, 'routing_key_but_no_dlx_defined')
        for exchange in ('', 'amq.direct', 'conf.not.there'):
            fine(conn, arguments={'x-dead-letter-exchange': exchange,
                                  'x-dead-letter-routing-key': value})


@case
def a_dead_letter_exchange_need_not_exist():
    conn = connect()
    for exchange in ('', 'conf.not.there', 'amq.direct', 'x' * 255, 'x' * 300):
        fine(conn, arguments={'x-dead-letter-exchange': exchange})


@case
def the_first_bad_argument_is_named_in_a_fixed_order():
    conn = connect()
    steps = [('x-queue-type', 'bad', '"unsupported queue type \'bad\'"'),
             ('x-expires', 0, '{value_zero,0}'), ('x-message-ttl', -1, '{value_negative,-1}'),
             ('x-dead-letter-routing-key', 5, '{unacceptable_type,signedint}'),
             ('x-max-length', -1, '{value_negative,-1}'),
             ('x-max-length-bytes', -1, '{value_negative,-1}'),
             ('x-max-priority', -1, '{value_negative,-1}'),
             ('x-overflow', 'bad', 'invalid_overflow'),
             ('x-queue-mode', 'bad', '"unsupported queue mode \'bad\'"'),
             ('x-queue-version', 0, '"unsupported queue version \'0\'"'),
             ('x-single-active-consumer', 5, '{unacceptable_type,signedint}')]
    left = {arg: value for arg, value, _ in reversed(steps)}
    queue = unique('q')
    refuse(conn, 406, "PRECONDITION_FAILED - invalid type 'signedint' for arg "
           "'x-dead-letter-exchange' in queue '%s' in vhost '/'" % queue, 'queue.declare',
           queue=queue, arguments=dict(left, **{'x-dead-letter-exchange': 5}))
    for arg, value, why in steps:
        del left[arg]
        wrong(conn, arg, value, why, arguments=left)


@case
def a_queue_that_is_there_is_compared_before_the_values_are_looked_at():
    conn = connect()
    queue = conn.queue(1, durable=False)
    refuse(conn, 406, other(queue, 'durable', "'true'", "'false'"), 'queue.declare', queue=queue,
           durable=True, arguments={'x-message-ttl': -1})
    refuse(conn, 406, other(queue, 'x-message-ttl', "the value '-1' of type 'signedint'", 'none'),
           'queue.declare', queue=queue, arguments={'x-message-ttl': -1})
    refuse(conn, 406, other(queue, 'x-overflow', "the value 'bad' of type 'longstr'", 'none'),
           'queue.declare', queue=queue, arguments={'x-overflow': 'bad'})
    refuse(conn, 405, locked(queue), 'queue.declare', queue=queue, exclusive=True,
           arguments={'x-message-ttl': -1})
    conn.rpc(1, 'queue.declare', queue=queue, passive=True, arguments={'x-message-ttl': -1})


@case
def the_first_other_argument_is_named_in_a_fixed_order():
    conn = connect()
    bare = conn.queue(1, durable=False)
    given = {'x-max-priority': 5, 'x-max-length-bytes': 6, 'x-max-length': 7,
             'x-dead-letter-exchange': 'a', 'x-message-ttl': 80000, 'x-expires': 90000}
    for arg in ('x-expires', 'x-message-ttl', 'x-dead-letter-exchange', 'x-max-length',
                'x-max-length-bytes', 'x-max-priority'):
        kind = 'longstr' if isinstance(given[arg], str) else 'signedint'
        refuse(conn, 406, other(bare, arg, "the value '%s' of type '%s'" % (given[arg], kind),
                                'none'), 'queue.declare', queue=bare, arguments=given)
        del given[arg]


@case
def a_default_that_is_said_is_not_the_same_as_none():
    conn = connect()
    for arg, value, kind in (('x-overflow', 'drop-head', 'longstr'),
                             ('x-queue-mode', 'default', 'longstr'),
                             ('x-max-priority', 0, 'signedint'),
                             ('x-single-active-consumer', False, 'bool')):
        queue = conn.queue(1, durable=False, arguments={arg: value})
        text = str(value).lower() if isinstance(value, bool) else value
        refuse(conn, 406, other(queue, arg, 'none', "the value '%s' of type '%s'" % (text, kind)),
               'queue.declare', queue=queue)


@case
def unknown_arguments_may_be_anything():
    conn = connect()
    for value, _ in NOT_STRINGS + NOT_INTEGERS:
        fine(conn, arguments={'x-consumer-timeout': value, 'x-unknown': value,
                              'alternate-exchange': value, 'X-Message-TTL': value,
                              'message-ttl': value, 'x-cancel-on-ha-failover': value})


# --- arguments of queue types ---

def not_of(queue, arg, kind):
    return "PRECONDITION_FAILED - invalid arg '%s' for queue '%s' in vhost '/' of queue type %s" % (
        arg, queue, kind)


@case
def arguments_of_streams_are_406_on_a_classic_queue():
    conn = connect()
    for arg, value in (('x-max-age', '1h'), ('x-stream-max-segment-size-bytes', 1000),
                       ('x-initial-cluster-size', 1)):
        queue = unique('q')
        refuse(conn, 406, not_of(queue, arg, 'rabbit_classic_queue'), 'queue.declare', queue=queue,
               arguments={arg: value})


# RabbitMQ keeps these for quorum queues; here every queue honours a delivery limit, and the rest
# are hints that harm nothing.
OF_QUORUM = [('x-delivery-limit', 3), ('x-dead-letter-strategy', 'at-most-once'),
             ('x-queue-leader-locator', 'client-local')]


@case
def arguments_of_quorum_queues_on_a_classic_queue():
    conn = connect()
    for arg, value in OF_QUORUM:
        queue = unique('q')
        if BROKER == 'rabbitmq':
            refuse(conn, 406, not_of(queue, arg, 'rabbit_classic_queue'), 'queue.declare',
                   queue=queue, arguments={arg: value})
        else:
            conn.rpc(1, 'queue.declare', queue=queue, arguments={arg: value})


@case(only='ringtail')  # RabbitMQ takes anything there, on quorum queues
def a_delivery_limit_must_be_an_integer_and_a_negative_one_is_none():
    conn = connect()
    fine(conn, arguments={'x-delivery-limit': -1})
    for value, kind in NOT_INTEGERS:
        wrong(conn, 'x-delivery-limit', value, '"expected integer, got %s"' % kind)


@case
def a_quorum_queue_takes_a_delivery_limit():
    conn = connect()
    for value in (0, 1, Typed('l', 2**40)):
        queue = conn.queue(1, durable=True, arguments={'x-queue-type': 'quorum',
                                                       'x-delivery-limit': value})
        conn.rpc(1, 'queue.delete', queue=queue)


@case
def a_quorum_queue_keeps_its_type():
    conn = connect()
    queue = conn.queue(1, durable=True, arguments={'x-queue-type': 'quorum'})
    conn.rpc(1, 'queue.declare', queue=queue, durable=True, arguments={'x-queue-type': 'quorum'})
    refuse(conn, 406, other(queue, 'x-queue-type', 'none', "the value 'quorum' of type 'longstr'"),
           'queue.declare', queue=queue, durable=True)
    refuse(conn, 406, other(queue, 'x-queue-type', "'classic'", "'quorum'"), 'queue.declare',
           queue=queue, durable=True, arguments={'x-queue-type': 'classic'})
    queue = conn.queue(1, durable=True)
    refuse(conn, 406, other(queue, 'x-queue-type', "the value 'quorum' of type 'longstr'", 'none'),
           'queue.declare', queue=queue, durable=True, arguments={'x-queue-type': 'quorum'})
    queue = conn.queue(1, durable=True, arguments={'x-queue-type': 'classic'})
    refuse(conn, 406, other(queue, 'x-queue-type', "'quorum'", "'classic'"), 'queue.declare',
           queue=queue, durable=True, arguments={'x-queue-type': 'quorum'})


@case
def a_quorum_queue_takes_messages_in_order():
    conn = connect()
    queue = conn.queue(1, durable=True, arguments={'x-queue-type': 'quorum'})
    conn.rpc(1, 'confirm.select')
    for n in range(20):
        conn.publish(1, '', queue, str(n), properties(delivery_mode=2))
    confirmed = 0
    while confirmed < 20:
        confirmed = max(confirmed, conn.expect('basic.ack', 1).delivery_tag)
    conn.rpc(1, 'basic.qos', prefetch_count=30)
    conn.consume(1, queue)
    for n in range(20):
        conn.deliver(1, str(n))
    conn.method(1, 'basic.ack', delivery_tag=20, multiple=True)


@case(only='rabbitmq')
def a_quorum_queue_refuses_what_it_cannot_be():
    conn = connect()
    for flags, why in (({'durable': False}, 'non-durable'),
                       ({'exclusive': True}, 'exclusive-owner'),
                       ({'durable': True, 'exclusive': True}, 'exclusive-owner'),
                       ({'durable': True, 'auto_delete': True}, 'auto-delete')):
        queue = unique('q')
        refuse(conn, 406, "PRECONDITION_FAILED - invalid property '%s' for queue '%s' in vhost '/'"
               % (why, queue), 'queue.declare', queue=queue, arguments={'x-queue-type': 'quorum'},
               **flags)
    for arg, value in (('x-max-priority', 1), ('x-queue-mode', 'lazy'), ('x-queue-version', 1)):
        queue = unique('q')
        refuse(conn, 406, not_of(queue, arg, 'rabbit_quorum_queue'), 'queue.declare', queue=queue,
               durable=True, arguments={'x-queue-type': 'quorum', arg: value})
    refuse(conn, 406, 'PRECONDITION_FAILED - Cannot declare a server-named queue for type '
           'rabbit_quorum_queue', 'queue.declare', queue='', durable=True,
           arguments={'x-queue-type': 'quorum'})


@case(only='ringtail')
def a_stream_is_refused():
    conn = connect()
    for flags in ({'durable': True}, {}):
        queue = unique('q')
        conn.method(1, 'queue.declare', queue=queue, arguments={'x-queue-type': 'stream'}, **flags)
        got = conn.expect_close(1, 406, "PRECONDITION_FAILED - invalid arg 'x-queue-type' for queue"
                                " '%s' in vhost '/'" % queue, 'queue.declare', starts=True)
        assert 'stream' in got.reply_text, 'text %r' % got.reply_text
        conn.open_channel(1)


@case
def a_master_locator_is_accepted():
    conn = connect()
    for value in ('client-local', 'random', 'min-masters'):
        fine(conn, arguments={'x-queue-master-locator': value})


@case(only='ringtail')
def a_bad_master_locator_closes_no_connection():  # on RabbitMQ: 541
    conn = connect()
    conn.method(1, 'queue.declare', queue=unique('q'),
                arguments={'x-queue-master-locator': 'nowhere'})
    got = conn.read()
    assert got.name in ('queue.declare-ok', 'channel.close'), 'answered by %r' % got


run_cases()
