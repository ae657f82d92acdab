"""Time to live of messages, by queue and by message, and of queues that nobody uses."""
from raw import *


def expiring(milliseconds):
    return properties(expiration=str(milliseconds))


def watched(conn, channel=1, **arguments):
    """A queue with these arguments that dead-letters to a second one, which `channel` consumes."""
    letters = conn.queue(channel)
    queue = conn.queue(channel, exclusive=True, arguments=dict(
        {'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': letters}, **arguments))
    conn.consume(channel, letters, no_ack=True)
    return queue


def expired(conn, body, queue, channel=1):
    got = conn.deliver(channel, body)
    death = got.properties['headers']['x-death'][0]
    equal((death['reason'], death['queue']), ('expired', queue), 'death')
    return got


def time_passes(conn, channel, milliseconds):
    """Returns when a message with this time to live, published now, has died."""
    queue = watched(conn, channel)
    conn.publish(channel, '', queue, 'clock', expiring(milliseconds))
    expired(conn, 'clock', queue, channel)


@case
def a_queue_forgets_its_messages():
    conn = connect()
    queue = conn.queue(1, exclusive=True, arguments={'x-message-ttl': 50})
    conn.rpc(1, 'confirm.select')
    conn.publish(1, '', queue, 'x')
    conn.expect('basic.ack', 1)
    conn.counts(1, queue, 0)
    equal(conn.drain(1, queue), [], 'queue')


@case
def expired_messages_are_dead_lettered_in_order():
    conn = connect()
    queue = watched(conn, **{'x-message-ttl': 50})
    for n in range(50):
        conn.publish(1, '', queue, str(n))
    for n in range(50):
        got = expired(conn, str(n), queue)
        assert 'expiration' not in got.properties


@case
def a_message_has_a_time_of_its_own():
    conn = connect()
    queue = watched(conn)
    conn.publish(1, '', queue, 'x', expiring(30))
    expired(conn, 'x', queue)
    conn.publish(1, '', queue, 'stays')
    time_passes(conn, 1, 50)
    equal(conn.drain(1, queue), [b'stays'], 'queue')


@case
def the_shorter_of_the_two_times_counts():
    conn = connect()
    for ttl, expiration in ((20, 3600000), (3600000, 20)):
        queue = watched(conn, **{'x-message-ttl': ttl})
        conn.publish(1, '', queue, 'x', expiring(expiration))
        expired(conn, 'x', queue)


@case
def a_delivered_message_keeps_its_expiration_property():
    conn = connect()
    queue = conn.queue(1)
    for text in ('60000', '0060000', '+60000', '315360000000'):
        conn.publish(1, '', queue, 'x', properties(expiration=text))
        equal(conn.rpc(1, 'basic.get', queue=queue, no_ack=True).properties, {'expiration': text},
              'properties')


@case
def zero_means_now_or_never():
    conn = connect(channels=2)
    for arguments, props in (({'x-message-ttl': 0}, NO_PROPERTIES), ({}, expiring(0))):
        queue = watched(conn, **arguments)
        conn.publish(1, '', queue, 'nobody waits', props)
        expired(conn, 'nobody waits', queue)
        conn.rpc(2, 'basic.qos', prefetch_count=1)
        conn.consume(2, queue, consumer_tag='waits')
        conn.publish(1, '', queue, 'somebody waits', props)
        tag = conn.deliver(2, 'somebody waits').delivery_tag
        conn.publish(1, '', queue, 'somebody is busy', props)
        expired(conn, 'somebody is busy', queue)
        conn.method(2, 'basic.ack', delivery_tag=tag)
        conn.fence(2, queue)
        conn.publish(1, '', queue, 'again', props)
        tag = conn.deliver(2, 'again').delivery_tag
        conn.method(2, 'basic.reject', delivery_tag=tag, requeue=True)
        # Put back it goes to a consumer that waits, or dies: the consumer is free again by then.
        got = conn.read()
        assert got.name == 'basic.deliver' and got.body == b'again', 'got %r' % got
        conn.rpc(2, 'basic.cancel', consumer_tag='waits')


@case
def only_the_head_of_a_queue_expires():
    conn = connect(channels=2)
    queue = watched(conn)
    conn.publish(1, '', queue, 'head')
    conn.publish(1, '', queue, 'behind', expiring(1))
    time_passes(conn, 2, 30)
    conn.fence(1, queue)  # its dead letter would come here
    conn.counts(1, queue, 2)
    equal(conn.rpc(2, 'basic.get', queue=queue, no_ack=True).body, b'head', 'first')
    expired(conn, 'behind', queue)
    equal(conn.drain(2, queue), [], 'queue')


@case
def a_late_message_may_expire_before_an_early_one_only_once_it_is_the_head():
    conn = connect()
    queue = watched(conn)
    for body, ttl in (('first', 150), ('second', 1), ('third', 100)):
        conn.publish(1, '', queue, body, expiring(ttl))
    for body in ('first', 'second', 'third'):
        expired(conn, body, queue)


@case
def a_consumer_gets_what_lives_and_the_dead_go_the_other_way():
    conn = connect(channels=2)
    queue = watched(conn)
    conn.publish(1, '', queue, 'head')
    for n in range(5):
        conn.publish(1, '', queue, str(n), expiring(1))
    conn.publish(1, '', queue, 'tail')
    time_passes(conn, 1, 30)
    conn.method(2, 'basic.consume', queue=queue, no_ack=True)
    got = {1: [], 2: []}
    for _ in range(8):
        message = conn.read()
        if message.name != 'basic.consume-ok':
            got[message.channel].append(message.body)
    equal(got, {1: [b'0', b'1', b'2', b'3', b'4'], 2: [b'head', b'tail']}, 'messages by channel')


@case
def an_unacknowledged_message_does_not_expire():
    conn = connect(channels=2)
    queue = watched(conn)
    conn.publish(1, '', queue, 'x', expiring(1000 * int(SLOW)))
    conn.counts(1, queue, 1)
    got = conn.rpc(2, 'basic.get', queue=queue)
    equal(got.name, 'basic.get-ok', 'answer')
    time_passes(conn, 1, 1100 * int(SLOW))
    conn.fence(1, queue)
    conn.method(2, 'basic.reject', delivery_tag=got.delivery_tag, requeue=True)
    again = expired(conn, 'x', queue)  # at once: its time is the one it had
    equal(again.properties['headers']['x-death'][0]['original-expiration'],
          str(1000 * int(SLOW)), 'original expiration')


@case
def putting_back_does_not_give_a_new_time():
    conn = connect(channels=2)
    queue = watched(conn, **{'x-message-ttl': 500})
    conn.publish(1, '', queue, 'x')
    conn.counts(1, queue, 1)
    got = conn.rpc(2, 'basic.get', queue=queue)
    while got.name == 'basic.get-ok':
        conn.method(2, 'basic.nack', delivery_tag=got.delivery_tag, requeue=True)
        conn.method(2, 'basic.get', queue=queue)
        got = conn.read()
        if got.name == 'basic.deliver':
            break
    if got.name == 'basic.get-empty':
        got = conn.read()
    equal(got.properties['headers']['x-death'][0]['reason'], 'expired', 'reason')


@case
def bad_expirations_are_406():
    conn = connect()
    queue = conn.queue(1)
    for text, why in (('', 'no_integer'), ('a', 'no_integer'), (' 5', 'no_integer'),
                      ('\u0661', 'no_integer'), ('10x', '{leftover_string,"x"}'),
                      ('1.5', '{leftover_string,".5"}'), ('1e3', '{leftover_string,"e3"}'),
                      ('5 ', '{leftover_string," "}'), ('-1', '{value_negative,-1}'),
                      ('315360000001', '{value_too_large,315360000001}')):
        conn.publish(1, '', queue, 'x', properties(expiration=text))
        conn.expect_close(1, 406, "PRECONDITION_FAILED - invalid expiration '%s': %s"
                          % (text, why), 'basic.publish')
        conn.open_channel(1)


@case
def a_missing_exchange_comes_before_a_bad_expiration():
    conn = connect()
    conn.publish(1, 'conf.not.there', 'q', 'x', properties(expiration='x'))
    got = conn.expect('channel.close', 1)
    equal(got.reply_code, 404, 'reply code')


@case
def expired_messages_are_confirmed():
    conn = connect()
    queue = conn.queue(1, exclusive=True, arguments={'x-message-ttl': 0})
    conn.rpc(1, 'confirm.select')
    for n in range(1, 6):
        conn.publish(1, '', queue, 'x', mandatory=True)
        conn.expect('basic.ack', 1, delivery_tag=n)


@case
def a_transaction_begins_the_time_at_its_commit():
    conn = connect(channels=2)
    queue = watched(conn, channel=2)
    conn.rpc(1, 'tx.select')
    conn.publish(1, '', queue, 'x', expiring(1))
    time_passes(conn, 2, 30)
    conn.rpc(1, 'tx.commit')
    expired(conn, 'x', queue, channel=2)


@case
def get_passes_over_the_dead():
    conn = connect(channels=2)
    queue = conn.queue(1)
    conn.publish(1, '', queue, 'head')
    conn.publish(1, '', queue, 'dead', expiring(1))
    conn.publish(1, '', queue, 'tail')
    time_passes(conn, 2, 30)
    equal(conn.drain(1, queue), [b'head', b'tail'], 'queue')


# --- x-expires ---

def until_gone(conn, channel, queue, meanwhile=lambda: None):
    """Publishing is no use of a queue, so it may go on until the queue is not there to take one."""
    deadline = time.monotonic() + DEADLINE * 2
    while time.monotonic() < deadline:
        conn.publish(channel, '', queue, '', expiring(0), mandatory=True)
        conn.method(channel, 'basic.qos')
        if conn.read().name == 'basic.return':
            conn.expect('basic.qos-ok', channel)
            return
        meanwhile()
    raise AssertionError('the queue %s does not go' % queue)


@case
def an_unused_queue_goes():
    conn = connect()
    for flags in ({'durable': False}, {'durable': True}, {'auto_delete': True},
                  {'exclusive': True}):
        queue = conn.queue(1, arguments={'x-expires': 100}, **flags)
        until_gone(conn, 1, queue)
        refuse(conn, 404, "NOT_FOUND - no queue '%s' in vhost '/'" % queue, 'queue.declare',
               queue=queue, passive=True)


@case
def it_goes_with_its_messages_and_bindings():
    conn = connect(channels=2)
    letters = conn.queue(1)
    conn.consume(2, letters, no_ack=True)
    exchange = conn.exchange(1, 'fanout', auto_delete=True)
    queue = conn.queue(1, durable=False, arguments={
        'x-expires': 200, 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': letters})
    conn.bind(1, queue, exchange)
    conn.publish(1, '', queue, 'lost')
    until_gone(conn, 1, queue)
    refuse(conn, 404, "NOT_FOUND - no exchange '%s' in vhost '/'" % exchange, 'exchange.declare',
           exchange=exchange, passive=True)
    while True:  # the empty ones are of until_gone; the lost one is not dead-lettered
        conn.publish(1, '', letters, 'last')
        got = conn.deliver(2)
        assert got.body != b'lost', 'a message of the expired queue was dead-lettered'
        if got.body == b'last':
            break


@case
def gets_and_declares_are_uses():
    conn = connect(channels=2)
    for use in (lambda q: conn.rpc(2, 'basic.get', queue=q, no_ack=True),
                lambda q: conn.rpc(2, 'queue.declare', queue=q, arguments={'x-expires': 1500}),
                lambda q: conn.rpc(2, 'queue.declare', queue=q, passive=True)):
        used = conn.queue(1, durable=False, arguments={'x-expires': 1500})
        unused = conn.queue(1, durable=False, arguments={'x-expires': 1500})
        until_gone(conn, 1, unused, lambda: use(used))
        conn.passive(1, used)
        conn.rpc(1, 'queue.delete', queue=used)


@case
def a_consumer_holds_a_queue_and_leaves_it_its_whole_time():
    conn = connect(channels=2)
    held = conn.queue(1, durable=False, arguments={'x-expires': 100})
    conn.consume(2, held, consumer_tag='holder', no_ack=True)
    unused = conn.queue(1, durable=False, arguments={'x-expires': 300})
    until_gone(conn, 1, unused)
    equal(conn.passive(1, held), (0, 1), 'counts')
    conn.rpc(2, 'basic.cancel', consumer_tag='holder')
    until_gone(conn, 1, held)


@case
def unacknowledged_messages_do_not_hold_a_queue():
    conn = connect(channels=2)
    queue = conn.queue(1, durable=False, arguments={'x-expires': 300})
    conn.publish(1, '', queue, 'x')
    conn.counts(1, queue, 1)
    equal(conn.rpc(2, 'basic.get', queue=queue).body, b'x', 'got')
    until_gone(conn, 1, queue)
    conn.method(2, 'basic.ack', delivery_tag=1)
    conn.rpc(2, 'basic.qos')


run_cases()
