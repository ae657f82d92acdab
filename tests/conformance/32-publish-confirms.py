"""Publisher confirms."""
from raw import *


def collect(conn, wanted, channel=1):
    """Reads acks until publishes 1 .. wanted are confirmed, each once."""
    confirmed = set()
    while len(confirmed) < wanted:
        got = conn.expect('basic.ack', channel)
        new = {got.delivery_tag}
        if got.multiple:
            new = set(range(1, got.delivery_tag + 1)) - confirmed
        assert new and not new & confirmed, 'confirmed again: %r' % got
        confirmed |= new
    equal(confirmed, set(range(1, wanted + 1)), 'confirmed publishes')


@case
def select_is_idempotent():
    conn = connect()
    conn.rpc(1, 'confirm.select')
    conn.rpc(1, 'confirm.select')
    conn.method(1, 'confirm.select', nowait=True)
    conn.publish(1, '', 'conf.nowhere', 'x')
    conn.expect('basic.ack', 1, delivery_tag=1, multiple=False)


@case
def nothing_is_confirmed_without_select():
    conn = connect()
    queue = conn.queue(1)
    conn.publish(1, '', queue, 'x')
    conn.rpc(1, 'confirm.select')
    conn.publish(1, '', queue, 'y')
    conn.expect('basic.ack', 1, delivery_tag=1)
    equal(conn.drain(1, queue), [b'x', b'y'], 'queue')


@case
def a_thousand_publishes_are_all_confirmed():
    conn = connect()
    queue = conn.queue(1)
    conn.rpc(1, 'confirm.select')
    for n in range(1000):
        conn.publish(1, '', queue, str(n))
    collect(conn, 1000)
    conn.counts(1, queue, 1000, 0)


@case
def persistent_messages_to_a_durable_queue_are_confirmed():
    conn = connect()
    queue = conn.queue(1, durable=True)
    conn.rpc(1, 'confirm.select')
    for n in range(100):
        conn.publish(1, '', queue, str(n), properties(delivery_mode=2))
    collect(conn, 100)


@case
def confirmed_messages_are_in_every_queue():
    conn, watcher = connect(), connect()
    exchange = conn.exchange(1, 'fanout')
    queues = [conn.queue(1, durable=False) for _ in range(5)]
    for queue in queues:
        conn.bind(1, queue, exchange)
    conn.rpc(1, 'confirm.select')
    for n in range(20):
        conn.publish(1, exchange, '', 'x')
    collect(conn, 20)
    for queue in queues:
        watcher.counts(1, queue, 20)


@case
def unroutable_messages_are_confirmed():
    conn = connect()
    conn.rpc(1, 'confirm.select')
    for n in range(10):
        conn.publish(1, 'amq.direct', 'conf.nowhere', 'x')
    collect(conn, 10)


@case
def sequence_numbers_are_per_channel():
    conn = connect(channels=2)
    for channel in (1, 2):
        conn.rpc(channel, 'confirm.select')
        for _ in range(3):
            conn.publish(channel, '', 'conf.nowhere', 'x')
        collect(conn, 3, channel)
    conn.rpc(1, 'channel.close', reply_code=200)
    conn.open_channel(1)
    conn.publish(1, '', 'conf.nowhere', 'x')  # the new channel has not selected
    conn.rpc(1, 'confirm.select')
    conn.publish(1, '', 'conf.nowhere', 'x')
    conn.expect('basic.ack', 1, delivery_tag=1)


@case
def messages_of_every_size_are_confirmed():
    conn = connect()
    queue = conn.queue(1)
    conn.rpc(1, 'confirm.select')
    for size in (0, 1, 5000, 131064, 131065, 1000000):
        conn.publish(1, '', queue, b'x' * size)
    collect(conn, 6)


@case
def a_publish_that_closes_the_channel_is_not_confirmed():
    conn = connect()
    conn.rpc(1, 'confirm.select')
    conn.publish(1, 'conf.no.exchange', 'k', 'x')
    conn.expect_close(1, 404, "NOT_FOUND - no exchange 'conf.no.exchange' in vhost '/'",
                      'basic.publish')
    conn.open_channel(1)
    conn.rpc(1, 'basic.qos')


@case
def confirms_come_while_messages_are_consumed_and_queues_deleted():
    conn = connect(channels=2)
    queue = conn.queue(1)
    conn.rpc(1, 'confirm.select')
    for n in range(200):
        conn.publish(1, '', queue, 'x')
        if n == 100:
            conn.method(2, 'queue.delete', queue=queue, nowait=True)
    collect(conn, 200)


@case
def tx_and_confirm_exclude_each_other():
    conn = connect()
    conn.rpc(1, 'confirm.select')
    refuse(conn, 406, 'PRECONDITION_FAILED - cannot switch from confirm to tx mode', 'tx.select')
    conn.rpc(1, 'tx.select')
    refuse(conn, 406, 'PRECONDITION_FAILED - cannot switch from tx to confirm mode',
           'confirm.select')


run_cases()
