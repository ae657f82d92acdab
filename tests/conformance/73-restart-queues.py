"""What a restart does to queues: large ones, many, purged, deleted and damaged ones."""
import hashlib
import subprocess

from raw import *
from lasting import *

MIB = 1024 * 1024


def large(number, size):
    return hashlib.sha512(b'%d' % number).digest() * (size // 64)


@case(only=HAVE)
def large_messages_come_back():
    for kill in (False, True):
        with Lasting() as kept:
            conn = kept.connect()
            durable(conn, 1, 'large')
            wanted = [large(number, size) for number, size in
                      enumerate((MIB, 5 * MIB, 64, 4096, 4160, 5 * MIB))]
            publish(conn, 1, 'large', wanted)
            for _ in range(2):
                conn = kept.again(kill=kill)
                equal(conn.passive(1, 'large'), (6, 0), 'counts')
            got = take_all(conn, 1, 'large')
            assert [m.body for m in got] == wanted, 'bodies of %s octets come back, other ones' % (
                [len(m.body) for m in got])


@case(only=HAVE)
def a_node_that_is_stopped_while_it_moves_messages_to_segments_ends_well():
    for _ in range(3):
        with Lasting() as kept:
            conn = kept.connect()
            durable(conn, 1, 'large')
            publish(conn, 1, 'large', [large(number, 3 * MIB) for number in range(6)])
            kept.stop(kill=True)
            kept.start()  # what the journal of before has goes to segments now
            kept.stop()
            kept.start()
            equal(len(take_all(kept.connect(), 1, 'large')), 6, 'messages')


@case(only=HAVE)
def a_purged_queue_stays_empty():
    for kill in (False, True):
        with Lasting() as kept:
            conn = kept.connect()
            durable(conn, 1, 'purged')
            publish(conn, 1, 'purged', ['old'] * 200)
            conn = kept.again(kill=kill)  # so that some are in segments
            publish(conn, 1, 'purged', ['old'] * 200)
            held = conn.rpc(1, 'basic.get', queue='purged')
            equal(conn.rpc(1, 'queue.purge', queue='purged').message_count, 399, 'purged')
            publish(conn, 1, 'purged', ['new'])
            equal(held.body, b'old', 'body')
            conn = kept.again(kill=kill)
            equal(bodies(take_all(conn, 1, 'purged')), ['old', 'new'], 'the one held, and behind')
            conn = kept.again(kill=kill)
            equal(conn.passive(1, 'purged'), (0, 0), 'counts')


@case(only=HAVE)
def a_queue_that_was_deleted_and_declared_again_has_nothing_old():
    for kill in (False, True):
        with Lasting() as kept:
            conn = kept.connect()
            durable(conn, 1, 'again')
            publish(conn, 1, 'again', ['old'] * 200)
            conn = kept.again(kill=kill)
            publish(conn, 1, 'again', ['old'] * 100)
            equal(conn.rpc(1, 'queue.delete', queue='again').message_count, 300, 'deleted')
            durable(conn, 1, 'again')
            publish(conn, 1, 'again', ['new 1', 'new 2'])
            conn = kept.again(kill=kill)
            equal(bodies(take_all(conn, 1, 'again')), ['new 1', 'new 2'], 'bodies')
            conn.rpc(1, 'queue.delete', queue='again')
            conn = kept.again(kill=kill)
            refuse(conn, 404, "NOT_FOUND - no queue 'again' in vhost '/'", 'queue.declare',
                   queue='again', passive=True)
            wait_for('the directory of the deleted queue stays: %s' % os.listdir(
                kept.path + '/queues'), lambda: not os.listdir(kept.path + '/queues'))


@case(only=HAVE)
def ten_thousand_messages_of_several_queues_come_back():
    names = ['many-%d' % number for number in range(8)]
    for kill in (False, True):
        with Lasting() as kept:
            conn = kept.connect()
            for name in names:
                durable(conn, 1, name)
            publish_all(conn, 1, [('', names[number % 8], '%d' % number, PERSISTENT)
                                  for number in range(10000)])
            for _ in range(2):
                conn = kept.again(kill=kill)
            for index, name in enumerate(names):
                conn.open_channel(2 + index)
                conn.consume(2 + index, name, no_ack=True)
                for number in range(index, 10000, 8):
                    conn.deliver(2 + index, '%d' % number)


@case(only=HAVE)
def one_message_of_twenty_queues_comes_back_to_each():
    names = ['fan-%d' % number for number in range(20)]
    for kill in (False, True):
        with Lasting() as kept:
            conn = kept.connect()
            conn.rpc(1, 'exchange.declare', exchange='fan', type='fanout', durable=True)
            for name in names:
                durable(conn, 1, name)
                conn.bind(1, name, 'fan')
            wanted = [large(number, 100 * 1024) for number in range(3)]
            publish_all(conn, 1, [('fan', '', body, PERSISTENT) for body in wanted])
            conn = kept.again(kill=kill)
            for name in names[::2]:
                assert [m.body for m in take_all(conn, 1, name)] == wanted, name
            conn = kept.again(kill=kill)
            for index, name in enumerate(names):
                got = [m.body for m in take_all(conn, 1, name)]
                assert got == ([] if index % 2 == 0 else wanted), name


@case(only=HAVE)
def the_number_of_shards_may_change_between_two_starts():
    names = ['moved-%d' % number for number in range(6)]
    with Lasting('--shards', '1') as kept:
        conn = kept.connect()
        for name in names:
            durable(conn, 1, name)
        wanted = []
        for turn, shards in enumerate(('2', '3', '1', '3', '2', '2')):
            for part in range(2):
                new = ['%d.%d.%d' % (turn, part, number) for number in range(15)]
                publish_all(conn, 1,
                            [('', name, body, PERSISTENT) for body in new for name in names])
                wanted += new
                # Between the two parts some heads go, so that removals move, too.
                for name in names[:3] if part == 0 else ():
                    equal(conn.rpc(1, 'basic.get', queue=name, no_ack=True).body.decode(),
                          wanted[turn], 'head of ' + name)
            conn = kept.again('--shards', shards, kill=turn % 2 == 0)
        for index, name in enumerate(names):
            equal(bodies(take_all(conn, 1, name)), wanted[6:] if index < 3 else wanted, name)


@case(only=HAVE)
def a_data_directory_has_one_node():
    with Lasting() as kept:
        done = subprocess.run([BINARY, '--amqp-port', '0', '--management-port', '0',
                               '--cluster-port', '0', '--bind', '127.0.0.1', '--data-dir',
                               kept.path],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=20 * SLOW)
        text = done.stdout.decode(errors='replace')
        assert done.returncode > 0, 'exit code %d: %s' % (done.returncode, text)
        assert kept.path in text and 'in use by another node' in text, text
        kept.connect().rpc(1, 'basic.qos')


@case(only=HAVE)
def a_queue_lies_in_the_directory_of_its_name():
    equal(directory_name('archive', 'myvhost_rhu'), 'EUVCFMQ3KCK9L8KMFN5Q0WBQR', 'directory')
    with Lasting() as kept:
        conn = kept.connect()
        for queue in ('archive', 'ü/..', 'x' * 255):
            durable(conn, 1, queue)
            publish(conn, 1, queue, ['kept'])
            wait_for('no %s in %s' % (kept.queue_path(queue), os.listdir(kept.path + '/queues')),
                     lambda path=kept.queue_path(queue): os.path.isfile(path + '/queue'))
        conn.rpc(1, 'queue.declare', queue='passing')
        equal(len(os.listdir(kept.path + '/queues')), 3, 'directories')


@case(only=HAVE)
def damage_of_a_segment_is_that_of_its_queue_alone():
    with Lasting() as kept:
        conn = kept.connect()
        for queue in ('bad', 'good'):
            durable(conn, 1, queue)
            publish(conn, 1, queue, ['body %d' % number for number in range(300)])
        kept.again()
        wait_for('no segment comes', lambda: kept.segments('bad') and kept.segments('good'))
        kept.stop()
        segment = kept.segments('bad')[0]
        with open(segment, 'r+b') as file:
            content = file.read()
            at = content.index(b'body 7')
            file.seek(at)
            file.write(b'B')
        kept.start()
        conn = kept.connect()
        damaged = "NOT_FOUND - queue 'bad' in vhost '/' is damaged on disk and can only be deleted"
        refuse(conn, 404, damaged, 'basic.get', queue='bad')
        refuse(conn, 404, damaged, 'queue.declare', queue='bad', passive=True)
        refuse(conn, 404, damaged, 'basic.consume', queue='bad')
        refuse(conn, 404, damaged, 'queue.purge', queue='bad')
        conn.rpc(1, 'confirm.select')
        conn.publish(1, '', 'bad', 'more', PERSISTENT)
        conn.expect('basic.nack', 1)
        equal(bodies(take_all(conn, 1, 'good')), ['body %d' % number for number in range(300)],
              'the other queue')
        lines = [line for line in kept.log().splitlines() if segment in line]
        assert any('offset' in line and "'bad'" in line for line in lines), \
            'the log does not say where: %s' % lines
        conn.rpc(1, 'queue.delete', queue='bad')
        durable(conn, 1, 'bad')
        publish_all(conn, 1, [])
        conn.publish(1, '', 'bad', 'new', PERSISTENT)
        conn.expect('basic.ack', 1)
        conn = kept.again(kill=True)
        equal(bodies(take_all(conn, 1, 'bad')), ['new'], 'the new one')


@case(only=HAVE)
def a_queue_whose_index_is_damaged_loses_nothing_that_journals_hold():
    with Lasting('--shards', '1') as kept:
        conn = kept.connect()
        durable(conn, 1, 'q')
        wanted = ['body %d' % number for number in range(600)]
        publish(conn, 1, 'q', wanted[:500])
        conn = kept.again(kill=True)
        index = kept.queue_path('q') + '/index'
        wait_for('an index', lambda: os.path.exists(index))
        publish(conn, 1, 'q', wanted[500:])  # these are in the journal alone
        kept.stop(kill=True)
        with open(index, 'rb') as file:
            good = file.read()
        with open(index, 'r+b') as file:
            file.seek(9)
            file.write(bytes([good[9] ^ 1]))
        for _ in range(2):  # the second start finds what the first one kept
            kept.start()
            conn = kept.connect()
            refuse(conn, 404, "NOT_FOUND - queue 'q' in vhost '/' is damaged on disk and can only "
                              'be deleted', 'queue.declare', queue='q', passive=True)
            kept.stop()
        with open(index, 'r+b') as file:
            file.write(good[:16])
        kept.start()
        conn = kept.connect()
        equal(bodies(take_all(conn, 1, 'q')), wanted, 'after the repair')


@case(only=HAVE)
def consumers_of_a_queue_that_is_found_damaged_are_told():
    with Lasting('--shards', '1') as kept:
        conn = kept.connect()
        durable(conn, 1, 'bad')
        publish(conn, 1, 'bad', ['body %d' % number + 'x' * 2000 for number in range(40_000)])
        wait_for('segments', lambda: len(kept.segments('bad')) > 1)
        segment = kept.segments('bad')[1]
        with open(segment, 'r+b') as file:
            file.seek(os.path.getsize(segment) // 2)
            byte = file.read(1)
            file.seek(-1, 1)
            file.write(bytes([byte[0] ^ 0x55]))
        conn.rpc(1, 'basic.consume', queue='bad', consumer_tag='c', no_ack=True)
        last = None
        while True:
            got = conn.read(20 * SLOW)
            if got.name != 'basic.deliver':
                break
            last = got
        equal((got.name, got.consumer_tag), ('basic.cancel', 'c'), 'what ends the deliveries')
        assert last is not None, 'nothing came of the good part'
        refuse(conn, 404, "NOT_FOUND - queue 'bad' in vhost '/' is damaged on disk and can only be "
                          'deleted', 'basic.get', queue='bad')


run_cases()
