"""The exchange types of plugins: x-random, x-consistent-hash, x-modulus-hash, x-recent-history."""
from raw import *

TYPES = ('x-random', 'x-consistent-hash', 'x-modulus-hash', 'x-recent-history')


def bound(conn, exchange, *keys):
    """A queue for each key."""
    queues = []
    for key in keys:
        queues.append(conn.queue(1))
        conn.bind(1, queues[-1], exchange, key)
    return queues


def flood(conn, exchange, queues, count, props=lambda n: NO_PROPERTIES, key=lambda n: 'key%d' % n):
    """Publishes 0 .. count-1 and returns what each queue got, when all is there."""
    for n in range(count):
        conn.publish(1, exchange, key(n), str(n), props(n))
    got = [[] for _ in queues]
    for index, queue in enumerate(queues):
        conn.method(1, 'basic.consume', queue=queue, consumer_tag=str(index), no_ack=True)
    left = count
    while left:
        m = conn.read()
        if m.name == 'basic.deliver':
            got[int(m.consumer_tag)].append(int(m.body))
            left -= 1
        else:
            equal(m.name, 'basic.consume-ok', 'answer')
    for index in range(len(queues)):
        conn.method(1, 'basic.cancel', consumer_tag=str(index))
        while conn.read().name != 'basic.cancel-ok':
            pass
    return got


@case
def they_are_declared_bound_and_deleted():
    conn = connect()
    for kind in TYPES:
        for flags in ({}, {'durable': True}, {'auto_delete': True}, {'internal': True}):
            exchange = conn.exchange(1, kind, **flags)
            conn.rpc(1, 'exchange.declare', exchange=exchange, type=kind, **flags)
            conn.rpc(1, 'exchange.declare', exchange=exchange, passive=True)
            queue, = bound(conn, exchange, '1')
            conn.rpc(1, 'queue.unbind', queue=queue, exchange=exchange, routing_key='1')
            conn.rpc(1, 'exchange.delete', exchange=exchange)


@case
def another_type_is_not_equivalent():
    conn = connect()
    exchange = conn.exchange(1, 'x-random')
    refuse(conn, 406, "PRECONDITION_FAILED - inequivalent arg 'type' for exchange '%s' in vhost '/'"
           ": received ''x-modulus-hash'' but current is ''x-random''" % exchange,
           'exchange.declare', exchange=exchange, type='x-modulus-hash')


@case
def their_own_arguments_are_not_compared():
    conn = connect()
    exchange = conn.exchange(1, 'x-recent-history', arguments={'x-recent-history-length': 7})
    conn.rpc(1, 'exchange.declare', exchange=exchange, type='x-recent-history')
    exchange = conn.exchange(1, 'x-consistent-hash', arguments={'hash-header': 'h'})
    conn.rpc(1, 'exchange.declare', exchange=exchange, type='x-consistent-hash')


@case
def without_bindings_a_mandatory_message_comes_back():
    conn = connect()
    for kind in TYPES:
        exchange = conn.exchange(1, kind)
        conn.publish(1, exchange, 'key', 'x', mandatory=True)
        conn.expect('basic.return', 1, reply_code=312, reply_text='NO_ROUTE')
        queue, = bound(conn, exchange, '1')
        conn.rpc(1, 'queue.delete', queue=queue)
        conn.publish(1, exchange, 'key', 'x', mandatory=True)
        conn.expect('basic.return', 1)


@case
def with_an_alternate_exchange_they_hand_on():
    conn = connect()
    for kind in TYPES:
        alternate = conn.exchange(1, 'fanout')
        queue, = bound(conn, alternate, '')
        exchange = conn.exchange(1, kind, arguments={'alternate-exchange': alternate})
        equal(flood(conn, exchange, [queue], 3), [[0, 1, 2]], 'queue')


# --- x-random ---

@case
def random_takes_one_queue_each_and_no_key_matters():
    conn = connect()
    exchange = conn.exchange(1, 'x-random')
    queues = bound(conn, exchange, '', 'a', 'key1', '#')
    got = flood(conn, exchange, queues, 2000)
    equal(sorted(sum(got, [])), list(range(2000)), 'messages')
    for part in got:  # 500 each, 19 the standard deviation
        assert 380 < len(part) < 620, 'shares %s' % [len(p) for p in got]
        equal(part, sorted(part), 'order')


@case
def random_may_choose_an_exchange():
    conn = connect()
    exchange, target = conn.exchange(1, 'x-random'), conn.exchange(1, 'fanout')
    one, = bound(conn, exchange, '')
    two, three = bound(conn, target, '', '')
    conn.rpc(1, 'exchange.bind', destination=target, source=exchange)
    for n in range(200):
        conn.publish(1, exchange, '', str(n))
    deadline = time.monotonic() + DEADLINE
    while conn.passive(1, one)[0] + conn.passive(1, two)[0] < 200:
        assert time.monotonic() < deadline, 'messages are missing'
    got = [conn.drain(1, queue) for queue in (one, two, three)]
    assert 50 < len(got[0]) < 150, 'share %d' % len(got[0])
    equal(got[2], got[1], 'what the fanout gave to its second queue')


# --- x-consistent-hash ---

@case
def weights_are_positive_integers():
    conn = connect()
    exchange = conn.exchange(1, 'x-consistent-hash')
    queue = conn.queue(1)
    for key in ('', 'abc', '1.5', ' 1', '1 ', '0x1'):
        refuse(conn, 406, 'PRECONDITION_FAILED - The binding key must be an integer: <<%s>>'
               % ('"%s"' % key if key else ''), 'queue.bind', queue=queue, exchange=exchange,
               routing_key=key)
    for key in ('0', '-1', '00'):
        refuse(conn, 406, 'PRECONDITION_FAILED - The binding key must be greater than 0',
               'queue.bind', queue=queue, exchange=exchange, routing_key=key)
    conn.publish(1, exchange, 'key', 'x', mandatory=True)
    conn.expect('basic.return', 1)
    for key in ('1', '10', '007'):
        conn.bind(1, conn.queue(1), exchange, key)
    target = conn.exchange(1, 'fanout')
    refuse(conn, 406, 'PRECONDITION_FAILED - The binding key must be greater than 0',
           'exchange.bind', destination=target, source=exchange, routing_key='0')


@case
def hash_arguments():
    conn = connect()
    for arguments in ({'hash-header': 'h'}, {'hash-header': ''}, {'hash-property': 'message_id'},
                      {'hash-property': 'correlation_id'}, {'hash-property': 'timestamp'}):
        conn.exchange(1, 'x-consistent-hash', arguments=arguments)
    for name in ('app_id', 'bogus', '', 'Message_id'):
        refuse(conn, 406, 'PRECONDITION_FAILED - Unsupported property: %s' % name,
               'exchange.declare', exchange=unique('x'), type='x-consistent-hash',
               arguments={'hash-property': name})
    refuse(conn, 406, 'PRECONDITION_FAILED - hash-header and hash-property are mutually exclusive',
           'exchange.declare', exchange=unique('x'), type='x-consistent-hash',
           arguments={'hash-header': 'h', 'hash-property': 'message_id'})


@case(only='ringtail')  # RabbitMQ: 541
def hash_arguments_of_another_type_close_no_connection():
    conn = connect()
    for arguments in ({'hash-header': 5}, {'hash-property': 5}):
        conn.method(1, 'exchange.declare', exchange=unique('x'), type='x-consistent-hash',
                    arguments=arguments)
        got = conn.expect('channel.close', 1)
        equal(got.reply_code, 406, 'reply code')
        conn.method(1, 'channel.close-ok')
        conn.open_channel(1)


def shares(got):
    return [len(part) for part in got]


@case
def one_key_one_queue_and_shares_by_weight():
    conn = connect()
    exchange = conn.exchange(1, 'x-consistent-hash')
    queues = bound(conn, exchange, '1', '1', '2')
    got = flood(conn, exchange, queues, 4000)
    for share, wanted in zip(shares(got), (1000, 1000, 2000)):
        assert 0.8 * wanted < share < 1.2 * wanted, 'shares %s' % shares(got)
    equal(flood(conn, exchange, queues, 4000), got, 'the second time')


@case
def another_queue_moves_only_what_becomes_its_own():
    conn = connect()
    exchange = conn.exchange(1, 'x-consistent-hash')
    queues = bound(conn, exchange, '1', '1', '1')
    before = flood(conn, exchange, queues, 3000)
    queues += bound(conn, exchange, '1')
    after = flood(conn, exchange, queues, 3000)
    for old, new in zip(before, after):
        assert set(new) <= set(old), 'a message moved between the old queues'
    assert 550 < len(after[3]) < 950, 'shares %s' % shares(after)
    conn.rpc(1, 'queue.delete', queue=queues.pop())
    equal(flood(conn, exchange, queues, 3000), before, 'after the fourth has gone')


@case
def a_header_or_a_property_may_be_hashed():
    conn = connect()
    for arguments, props in (
            ({'hash-header': 'h'}, lambda n: properties(headers={'h': 'v%d' % (n % 40)})),
            ({'hash-header': 'h'}, lambda n: properties(headers={'h': n % 40})),
            ({'hash-property': 'message_id'}, lambda n: properties(message_id='v%d' % (n % 40))),
            ({'hash-property': 'correlation_id'},
             lambda n: properties(correlation_id='v%d' % (n % 40))),
            ({'hash-property': 'timestamp'}, lambda n: properties(timestamp=1000 + n % 40))):
        exchange = conn.exchange(1, 'x-consistent-hash', arguments=arguments)
        queues = bound(conn, exchange, '1', '1')
        got = flood(conn, exchange, queues, 400, props)
        for part in got:  # equal values stay together, whatever the key is
            values = {n % 40 for n in part}
            equal(len(part), 10 * len(values), 'messages of the values in one queue')
            assert part, 'one queue got nothing'


@case
def messages_without_the_header_stay_together():
    conn = connect()
    for arguments in ({'hash-header': 'h'}, {'hash-property': 'message_id'},
                      {'hash-property': 'timestamp'}):
        exchange = conn.exchange(1, 'x-consistent-hash', arguments=arguments)
        got = flood(conn, exchange, bound(conn, exchange, '1', '1'), 100)
        equal(sorted(shares(got)), [0, 100], 'shares')


@case
def odd_header_values_are_routed_too():
    conn = connect()
    exchange = conn.exchange(1, 'x-consistent-hash', arguments={'hash-header': 'h'})
    queues = bound(conn, exchange, '1', '1')
    values = [None, 5, True, [1], {'a': 1}, 1.5, b'x', Typed('T', 1), Typed('D', (0, 5))]
    got = flood(conn, exchange, queues, len(values),
                lambda n: properties(headers={'h': values[n]}))
    equal(sorted(sum(got, [])), list(range(len(values))), 'messages')


# --- x-modulus-hash ---

@case
def modulus_gives_one_key_to_one_queue():
    conn = connect()
    exchange = conn.exchange(1, 'x-modulus-hash')
    queues = bound(conn, exchange, '', 'a', '1')
    got = flood(conn, exchange, queues, 3000)
    for part in got:
        assert 800 < len(part) < 1200, 'shares %s' % shares(got)
    equal(flood(conn, exchange, queues, 3000), got, 'the second time')
    one = flood(conn, exchange, queues, 50, key=lambda n: 'same')
    equal(sorted(shares(one)), [0, 0, 50], 'shares')


# --- x-recent-history ---

def history(conn, exchange, key=''):
    queue, = bound(conn, exchange, key)
    conn.fence(1, queue)
    return [body.decode() for body in conn.drain(1, queue)]


@case
def the_length_of_a_history():
    conn = connect()
    for value in (1, 5, Typed('b', 5), Typed('s', 5), Typed('l', 2**40)):
        conn.exchange(1, 'x-recent-history', arguments={'x-recent-history-length': value})
    for value, text in ((0, '0'), (-1, '-1'), ('5', '<<"5">>'), (5.0, '5.0'), (True, 'true'),
                        (None, 'undefined')):
        refuse(conn, 406, "PRECONDITION_FAILED - Invalid argument %s, 'x-recent-history-length' "
               "must be a positive integer" % text, 'exchange.declare', exchange=unique('x'),
               type='x-recent-history', arguments={'x-recent-history-length': value})


@case
def a_new_binding_gets_the_last_messages_in_order():
    conn = connect()
    exchange = conn.exchange(1, 'x-recent-history', arguments={'x-recent-history-length': 3})
    first, = bound(conn, exchange, 'first')
    for n in range(6):
        conn.publish(1, exchange, 'rk%d' % n, str(n), properties(message_id='m%d' % n))
    conn.counts(1, first, 6)  # all are routed as by a fanout
    queue, = bound(conn, exchange, 'other')
    conn.counts(1, queue, 3)
    for n in (3, 4, 5):
        got = conn.rpc(1, 'basic.get', queue=queue, no_ack=True)
        equal((got.body, got.exchange, got.routing_key, got.redelivered, got.properties),
              (b'%d' % n, exchange, 'rk%d' % n, False, {'message_id': 'm%d' % n}), 'message')
    conn.publish(1, exchange, '', '6')
    conn.counts(1, queue, 1)
    conn.counts(1, first, 7)
    conn.bind(1, queue, exchange, 'other')  # nothing new
    conn.fence(1, queue)
    equal(conn.drain(1, queue), [b'6'], 'queue')
    conn.bind(1, queue, exchange, 'a second key')
    conn.fence(1, queue)
    equal(conn.drain(1, queue), [b'4', b'5', b'6'], 'queue')


@case
def a_history_is_kept_without_queues_and_has_20_by_default():
    conn = connect()
    exchange = conn.exchange(1, 'x-recent-history')
    for n in range(30):
        conn.publish(1, exchange, '', str(n))
    conn.rpc(1, 'basic.qos')
    equal(history(conn, exchange), [str(n) for n in range(10, 30)], 'history')
    equal(history(conn, exchange), [str(n) for n in range(10, 30)], 'history again')


@case
def what_says_so_is_not_kept():
    conn = connect()
    exchange = conn.exchange(1, 'x-recent-history')
    for body, value in (('a', True), ('b', False), ('c', 'true'), ('d', 1), ('e', None)):
        conn.publish(1, exchange, '', body,
                     properties(headers={'x-recent-history-no-store': value}))
    conn.rpc(1, 'basic.qos')
    equal(history(conn, exchange), list('bcde'), 'history')


@case
def a_history_goes_with_its_exchange():
    conn = connect()
    exchange = conn.exchange(1, 'x-recent-history')
    conn.publish(1, exchange, '', 'x')
    conn.rpc(1, 'basic.qos')
    conn.rpc(1, 'exchange.delete', exchange=exchange)
    conn.rpc(1, 'exchange.declare', exchange=exchange, type='x-recent-history')
    equal(history(conn, exchange), [], 'history')


@case
def an_exchange_that_is_bound_passes_the_history_on():
    conn = connect()
    exchange, target = conn.exchange(1, 'x-recent-history'), conn.exchange(1, 'fanout')
    for body in 'abc':
        conn.publish(1, exchange, '', body)
    conn.rpc(1, 'basic.qos')
    queue, = bound(conn, target, '')
    conn.rpc(1, 'exchange.bind', destination=target, source=exchange)
    conn.counts(1, queue, 3)
    equal(conn.drain(1, queue), [b'c', b'b', b'a'], 'queue')  # the latest comes first this way


run_cases()
