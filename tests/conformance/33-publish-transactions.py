"""tx: publishes and acknowledgements of a channel take effect together, or not at all."""
from raw import *


@case
def commit_and_rollback_need_select():
    conn = connect()
    for name in ('tx.commit', 'tx.rollback'):
        refuse(conn, 406, 'PRECONDITION_FAILED - channel is not transactional', name)
    conn.rpc(1, 'tx.select')
    conn.rpc(1, 'tx.select')
    conn.rpc(1, 'tx.commit')
    conn.rpc(1, 'tx.rollback')


@case
def publishes_appear_at_commit_in_order():
    conn = connect(channels=2)
    queue = conn.queue(2)
    conn.rpc(1, 'tx.select')
    for n in range(5):
        conn.publish(1, '', queue, str(n))
    conn.rpc(1, 'basic.qos')
    equal(conn.drain(2, queue), [], 'queue before commit')
    conn.rpc(1, 'tx.commit')
    equal(conn.drain(2, queue), [b'0', b'1', b'2', b'3', b'4'], 'queue')


@case
def publishes_vanish_at_rollback_and_with_the_channel():
    conn = connect(channels=2)
    queue = conn.queue(2)
    conn.rpc(1, 'tx.select')
    conn.publish(1, '', queue, 'rolled back')
    conn.rpc(1, 'tx.rollback')
    conn.publish(1, '', queue, 'committed')
    conn.rpc(1, 'tx.commit')
    conn.publish(1, '', queue, 'never committed')
    conn.rpc(1, 'channel.close', reply_code=200)
    equal(conn.drain(2, queue), [b'committed'], 'queue')


@case
def acknowledgements_take_effect_at_commit():
    conn = connect(channels=2)
    queue = conn.queue(2)
    for n in range(4):
        conn.publish(2, '', queue, str(n))
    conn.rpc(1, 'tx.select')
    tags = [conn.rpc(1, 'basic.get', queue=queue).delivery_tag for _ in range(4)]
    conn.method(1, 'basic.ack', delivery_tag=tags[0])
    conn.method(1, 'basic.reject', delivery_tag=tags[1], requeue=True)
    conn.rpc(1, 'basic.qos')
    equal(conn.drain(2, queue), [], 'queue before commit')
    conn.rpc(1, 'tx.commit')
    conn.counts(2, queue, 1, 0)
    conn.method(1, 'basic.ack', delivery_tag=tags[2])
    conn.rpc(1, 'channel.close', reply_code=200)
    equal(conn.drain(2, queue), [b'1', b'2', b'3'], 'queue after the channel')


@case
def a_rolled_back_acknowledgement_can_be_given_again():
    conn = connect()
    queue = conn.queue(1)
    for n in range(3):
        conn.publish(1, '', queue, str(n))
    conn.rpc(1, 'tx.select')
    for _ in range(3):
        conn.rpc(1, 'basic.get', queue=queue)
    conn.method(1, 'basic.ack', delivery_tag=2, multiple=True)
    conn.rpc(1, 'tx.rollback')
    conn.method(1, 'basic.ack', delivery_tag=1)
    conn.method(1, 'basic.nack', delivery_tag=2, requeue=True)
    conn.rpc(1, 'tx.commit')
    conn.rpc(1, 'channel.close', reply_code=200)
    conn.open_channel(1)
    equal(conn.drain(1, queue), [b'1', b'2'], 'queue')


@case
def an_acknowledgement_in_a_transaction_is_checked_at_once():
    conn = connect()
    conn.rpc(1, 'tx.select')
    refuse(conn, 406, 'PRECONDITION_FAILED - unknown delivery tag 9', 'basic.ack', delivery_tag=9)


@case
def unroutable_mandatory_messages_come_back_before_commit_ok():
    conn = connect()
    queue = conn.queue(1)
    conn.rpc(1, 'tx.select')
    conn.publish(1, '', queue, 'gone by then', mandatory=True)
    conn.publish(1, '', 'conf.nowhere', 'nowhere', mandatory=True)
    conn.rpc(1, 'queue.delete', queue=queue)
    conn.method(1, 'tx.commit')
    returned = sorted(conn.expect('basic.return', 1, reply_code=312).body for _ in range(2))
    equal(returned, [b'gone by then', b'nowhere'], 'returned')
    conn.expect('tx.commit-ok', 1)


@case
def a_missing_exchange_fails_the_publish_and_the_transaction():
    conn = connect(channels=2)
    queue = conn.queue(2)
    conn.rpc(1, 'tx.select')
    exchange = conn.exchange(1, 'fanout')
    conn.publish(1, '', queue, 'lost with the rest')
    conn.rpc(1, 'exchange.delete', exchange=exchange)
    conn.publish(1, exchange, 'k', 'x')
    conn.method(1, 'tx.commit')
    conn.expect_close(1, 404, "NOT_FOUND - no exchange '%s' in vhost '/'" % exchange,
                      'basic.publish')
    equal(conn.drain(2, queue), [], 'queue')


@case
def an_exchange_that_goes_before_commit_does_no_harm():
    conn = connect()
    queue, exchange = conn.queue(1), conn.exchange(1, 'fanout')
    conn.bind(1, queue, exchange)
    conn.rpc(1, 'tx.select')
    conn.publish(1, exchange, '', 'routed when published')
    conn.rpc(1, 'exchange.delete', exchange=exchange)
    conn.rpc(1, 'tx.commit')
    assert conn.drain(1, queue) in ([], [b'routed when published'])


run_cases()
