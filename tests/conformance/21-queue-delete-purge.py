"""queue.delete and queue.purge."""
from raw import *

NO_QUEUE = "NOT_FOUND - no queue '%s' in vhost '/'"


@case
def purge_counts_ready_messages_only():
    conn = connect()
    queue = conn.queue(1)
    for n in range(5):
        conn.publish(1, '', queue, str(n))
    tag = conn.rpc(1, 'basic.get', queue=queue).delivery_tag
    equal(conn.rpc(1, 'queue.purge', queue=queue).message_count, 4, 'purged')
    equal(conn.rpc(1, 'queue.purge', queue=queue).message_count, 0, 'purged')
    conn.method(1, 'basic.reject', delivery_tag=tag, requeue=True)
    equal(conn.drain(1, queue), [b'0'], 'queue')


@case
def delete_counts_ready_messages_only():
    conn = connect()
    queue = conn.queue(1)
    for n in range(5):
        conn.publish(1, '', queue, str(n))
    conn.rpc(1, 'basic.get', queue=queue)
    equal(conn.rpc(1, 'queue.delete', queue=queue).message_count, 4, 'deleted')


@case
def what_is_absent():
    conn = connect()
    equal(conn.rpc(1, 'queue.delete', queue='nope').message_count, 0, 'deleted')
    equal(conn.rpc(1, 'queue.delete', queue='nope', if_unused=True, if_empty=True).message_count, 0,
          'deleted')
    for name in ('queue.purge', 'basic.get', 'basic.consume'):
        refuse(conn, 404, NO_QUEUE % 'nope', name, queue='nope')


@case
def if_unused_and_if_empty_keep_the_queue():
    conn = connect()
    queue = conn.queue(1)
    in_use = "PRECONDITION_FAILED - queue '%s' in vhost '/' in use" % queue
    not_empty = "PRECONDITION_FAILED - queue '%s' in vhost '/' not empty" % queue
    conn.publish(1, '', queue, 'x')
    refuse(conn, 406, not_empty, 'queue.delete', queue=queue, if_empty=True)
    refuse(conn, 406, not_empty, 'queue.delete', queue=queue, if_empty=True, if_unused=True)
    conn.open_channel(2)
    conn.rpc(2, 'basic.qos', prefetch_count=1)
    conn.consume(2, queue)
    conn.deliver(2)
    refuse(conn, 406, in_use, 'queue.delete', queue=queue, if_unused=True)
    refuse(conn, 406, in_use, 'queue.delete', queue=queue, if_unused=True, if_empty=True)
    conn.counts(1, queue, 0, 1)
    # All that is left is unacknowledged, so the queue counts as empty.
    conn.method(1, 'queue.delete', queue=queue, if_empty=True)
    got = sorted((conn.read() for _ in range(2)), key=lambda m: m.name)
    equal([m.name for m in got], ['basic.cancel', 'queue.delete-ok'], 'answers')
    equal(got[1].message_count, 0, 'deleted')


@case
def a_deleted_queue_starts_anew():
    conn = connect()
    queue = conn.queue(1)
    conn.publish(1, '', queue, 'old')
    tag = conn.rpc(1, 'basic.get', queue=queue).delivery_tag
    conn.rpc(1, 'queue.delete', queue=queue)
    conn.queue(1, queue)
    conn.method(1, 'basic.nack', delivery_tag=tag, requeue=True)  # of the queue that is gone
    conn.publish(1, '', queue, 'new')
    equal(conn.drain(1, queue), [b'new'], 'queue')
    refuse(conn, 406, 'PRECONDITION_FAILED - unknown delivery tag %d' % tag, 'basic.ack',
           delivery_tag=tag)


@case
def consumers_are_told_when_their_queue_goes():
    conn = connect(channels=2)
    queue = conn.queue(1, durable=False)
    tags = {conn.consume(1, queue) for _ in range(2)}
    stranger = connect()
    stranger.consume(1, queue, consumer_tag='mine')
    conn.counts(2, queue, 0, 3)
    conn.method(2, 'queue.delete', queue=queue)
    got = [conn.read() for _ in range(3)]
    equal({m.consumer_tag for m in got if m.name == 'basic.cancel' and m.channel == 1}, tags,
          'tags')
    assert all(m.nowait for m in got if m.name == 'basic.cancel'), 'cancel asks for an answer'
    equal([m.channel for m in got if m.name == 'queue.delete-ok'], [2], 'delete-ok')
    stranger.expect('basic.cancel', 1, consumer_tag='mine', nowait=True)
    # The tag is free again.
    conn.queue(1, queue, durable=False)
    stranger.consume(1, queue, consumer_tag='mine')


@case
def a_consumer_that_cannot_be_told_is_not_told():
    conn = connect(capabilities={})
    queue = conn.queue(1)
    tag = conn.consume(1, queue)
    conn.rpc(1, 'queue.delete', queue=queue)
    conn.rpc(1, 'basic.qos')
    conn.rpc(1, 'basic.qos')
    conn.rpc(1, 'basic.cancel', consumer_tag=tag)


@case
def unacknowledged_messages_of_a_deleted_queue_can_still_be_acknowledged():
    conn = connect()
    queue = conn.queue(1)
    for n in range(3):
        conn.publish(1, '', queue, 'x')
    conn.consume(1, queue)
    tags = [conn.deliver(1).delivery_tag for _ in range(3)]
    conn.method(1, 'queue.delete', queue=queue)
    equal(sorted(conn.read().name for _ in range(2)), ['basic.cancel', 'queue.delete-ok'],
          'answers')
    conn.method(1, 'basic.ack', delivery_tag=tags[0])
    conn.method(1, 'basic.nack', delivery_tag=tags[2], multiple=True, requeue=True)
    conn.rpc(1, 'basic.qos')


run_cases()
