#!/usr/bin/python3
"""Kills a node with SIGKILL under load, again and again, and holds it to what it has confirmed.

  tests/crash/kill_node.py --broker-binary build/ringtail [--rounds 50] [--seed N] [--keep]

Each round: publishers in confirm mode and consumers that acknowledge work on durable queues, the
node is killed at a random time, started again (sometimes with another number of shards, sometimes
killed once more while it starts), and some queues are emptied and compared with what is known:

- no confirmed message is lost, unless its acknowledgement was sent;
- none is there twice, none is there that was never published, and each body is whole;
- what a consumer has seen before says so with its redelivered mark;
- the messages of one publisher's channel (and priority) are in their order;
- what was acknowledged before a later confirm of the same channel and queue never comes back.

The last line is `N passed, N failed`: a round each. All of it comes from --seed, but for the time
that things take.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, '..', 'conformance'))
import raw  # noqa: E402
from node import Node  # noqa: E402
from raw import Eof, connect, properties  # noqa: E402

PLAIN = ['plain-%d' % number for number in range(4)]
FAN = ['fan-%d' % number for number in range(5)]
RANKED = 'ranked'
QUEUES = PLAIN + FAN + [RANKED]
WITHOUT_CONSUMER = ('plain-3', 'fan-4')
LEVELS = 3
IN_FLIGHT = 400


class Wrong(Exception):
    """The node broke a promise."""


# --- messages ---

def body_of(name, size):
    filler = (name + '|').encode() * (size // (len(name) + 1) + 1)
    return b'%s %d %08x ' % (name.encode(), size, zlib.crc32(filler[:size])) + filler[:size]


def name_in(body):
    """The message's name; Wrong if the body is not the one that was published."""
    try:
        name, size, crc, filler = body.split(b' ', 3)
        good = len(filler) == int(size) and zlib.crc32(filler) == int(crc, 16)
    except ValueError:
        good = False
    if not good:
        raise Wrong('a body that nobody published: %r' % body[:80])
    return name.decode()


def stream_of(name):
    """What order is kept within, and the place there. Names are <stream>.<level>.<number>."""
    stream, level, number = name.split('.')
    return (stream, level), int(number)


class Ordered:
    """Messages that come in the order of their streams."""

    def __init__(self, what):
        self.what, self.last = what, {}

    def add(self, name):
        stream, number = stream_of(name)
        if number <= self.last.get(stream, -1):
            raise Wrong('%s: %s comes behind number %d of its stream' % (
                self.what, name, self.last[stream]))
        self.last[stream] = number


class Known:
    """What is known of one queue's messages, over all rounds."""

    def __init__(self):
        self.sent, self.confirmed, self.seen, self.acked, self.gone = (set() for _ in range(5))

    def forget(self, names):
        """They have been accounted for; that they are gone is all that is left to know."""
        for known in (self.sent, self.confirmed, self.seen, self.acked):
            known -= names
        self.gone |= names


# --- load ---

class Worker(threading.Thread):
    """One connection. Ends when the node does; `problem` is what else went wrong."""

    def __init__(self, port, seed):
        super().__init__(daemon=True)
        self.port, self.random, self.problem = port, random.Random(seed), None
        self.ending = threading.Event()

    def run(self):
        try:
            self.work()
        except (Eof, OSError):
            pass
        except AssertionError as error:  # what awaits something when the node dies
            if not self.ending.is_set():
                self.problem = error
        except Exception as error:
            self.problem = error


class Publisher(Worker):
    """Publishes on two channels, each a stream of its own."""

    def __init__(self, port, seed, name):
        super().__init__(port, seed)
        self.name_ = name
        self.sent = {queue: set() for queue in QUEUES}
        self.confirmed = {queue: set() for queue in QUEUES}
        self.refused = 0
        self.open = {}  # (channel, tag): (name, queues)
        self.tags, self.numbers = {1: 0, 2: 0}, {}

    def work(self):
        conn = connect(channels=2, port=self.port)
        for channel in (1, 2):
            conn.rpc(channel, 'confirm.select')
        while True:
            for _ in range(self.random.randrange(1, 80)):
                self.publish(conn, self.random.choice((1, 2)))
            while len(self.open) > IN_FLIGHT or (self.open and self.random.random() < 0.3):
                self.take_confirm(conn)

    def size(self):
        kind = self.random.random()
        if kind < 0.9:
            return self.random.randrange(200)
        return self.random.randrange(20000) if kind < 0.99 else self.random.randrange(300000)

    def publish(self, conn, channel):
        kind, level = self.random.random(), 0
        if kind < 0.2:
            exchange, key, queues = 'fan', '', FAN
        elif kind < 0.35:
            level = self.random.randrange(LEVELS + 1)
            exchange, key, queues = '', RANKED, [RANKED]
        else:
            queue = self.random.choice(PLAIN)
            exchange, key, queues = '', queue, [queue]
        number = self.numbers.get(channel, 0)
        self.numbers[channel] = number + 1
        name = '%s-%d.%d.%d' % (self.name_, channel, level, number)
        for queue in queues:
            self.sent[queue].add(name)
        self.tags[channel] += 1
        self.open[channel, self.tags[channel]] = (name, queues)
        conn.publish(channel, exchange, key, body_of(name, self.size()),
                     properties(delivery_mode=2, priority=level))

    def take_confirm(self, conn):
        got = conn.read(60)
        if got.name not in ('basic.ack', 'basic.nack'):
            raise Wrong('a publisher got %r' % got)
        tags = [key for key in self.open if key[0] == got.channel and (
            key[1] == got.delivery_tag or (got.multiple and key[1] < got.delivery_tag))]
        if not tags:
            raise Wrong('a confirm of nothing: %r' % got)
        for key in tags:
            name, queues = self.open.pop(key)
            if got.name == 'basic.nack':
                self.refused += 1
                continue
            for queue in queues:
                self.confirmed[queue].add(name)


class Consumer(Worker):
    """Consumes and acknowledges one queue; now and then publishes to it, so that the confirm says
    that what it had acknowledged before is done."""

    def __init__(self, port, seed, queue, name):
        super().__init__(port, seed)
        self.queue, self.name_ = queue, name
        self.seen, self.acked, self.certain = set(), set(), set()
        self.sent, self.confirmed = set(), set()
        self.barriers = []  # (tag, name, what was acknowledged before)
        self.mark = 0

    def work(self):
        conn = connect(port=self.port)
        conn.rpc(1, 'confirm.select')
        conn.rpc(1, 'basic.qos', prefetch_count=self.random.choice((1, 20, 300)))
        conn.method(1, 'basic.consume', queue=self.queue)
        held, fresh = {}, Ordered('consumer of ' + self.queue)
        while True:
            got = conn.read(60)
            if got.name == 'basic.consume-ok':
                continue
            if got.name in ('basic.ack', 'basic.nack'):
                self.settle(got)
                continue
            if got.name != 'basic.deliver':
                raise Wrong('a consumer got %r' % got)
            self.delivered(got, held, fresh)
            if self.random.random() < 0.7:
                self.answer(conn, held)

    def delivered(self, got, held, fresh):
        name = name_in(got.body)
        if name in self.acked:
            raise Wrong('%s: %s comes again in the same life' % (self.queue, name))
        if not got.redelivered:
            if name in self.seen:
                raise Wrong('%s: %s comes again without a mark' % (self.queue, name))
            if self.queue != RANKED:
                fresh.add(name)
        self.seen.add(name)
        held[got.delivery_tag] = name

    def answer(self, conn, held):
        tag = self.random.choice(list(held))
        kind = self.random.random()
        if kind < 0.02:
            del held[tag]
            return conn.method(1, 'basic.reject', delivery_tag=tag, requeue=True)
        if kind < 0.3:
            for each in [each for each in held if each <= tag]:
                self.acked.add(held.pop(each))
            conn.method(1, 'basic.ack', delivery_tag=tag, multiple=True)
        else:
            self.acked.add(held.pop(tag))
            conn.method(1, 'basic.ack', delivery_tag=tag)
        if self.random.random() < 0.02:
            self.mark += 1
            name = '%s.0.%d' % (self.name_, self.mark)
            self.sent.add(name)
            self.barriers.append((self.mark, name, set(self.acked)))
            conn.publish(1, '', self.queue, body_of(name, 10), properties(delivery_mode=2))

    def settle(self, got):
        while self.barriers and (got.multiple and self.barriers[0][0] <= got.delivery_tag or
                                 self.barriers[0][0] == got.delivery_tag):
            _, name, acked = self.barriers.pop(0)
            if got.name == 'basic.ack':
                self.confirmed.add(name)
                self.certain = acked


# --- rounds ---

class Rounds:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.known = {queue: Known() for queue in QUEUES}
        self.directory = tempfile.mkdtemp(prefix='ringtail-kill-')
        self.node = None
        self.figures = dict.fromkeys(
            ('published', 'confirmed', 'refused', 'consumed', 'acknowledged', 'checked',
             'acks lost', 'marked for nothing'), 0)

    def start(self):
        shards = self.random.choice(('1', '2', '2', '2', '3'))
        self.node = Node(self.options.broker_binary, '--shards', shards, slow=self.options.slow,
                         data_dir=self.directory + '/data', logs_to=self.directory + '/output')

    def up(self):
        self.start()
        if self.random.random() < 0.25:  # a start that is cut off
            try:
                self.node.process.wait(self.random.random() * self.options.slow)
            except Exception:
                pass
            self.kill()
            self.start()
        self.node.wait_accepting()

    def kill(self):
        self.node.process.kill()
        self.node.process.wait()

    def declare(self):
        conn = connect(port=self.node.port)
        conn.rpc(1, 'exchange.declare', exchange='fan', type='fanout', durable=True)
        for queue in QUEUES:
            arguments = {'x-max-priority': LEVELS} if queue == RANKED else {}
            conn.rpc(1, 'queue.declare', queue=queue, durable=True, arguments=arguments)
            if queue in FAN:
                conn.bind(1, queue, 'fan')
        conn.close_socket()

    def load(self, number):
        port, seed = self.node.port, lambda: self.random.randrange(2**60)
        workers = [Publisher(port, seed(), 'p%d_%d' % (number, each)) for each in range(3)]
        workers += [Consumer(port, seed(), queue, 'c%d_%s' % (number, queue.replace('-', '')))
                    for queue in QUEUES if queue not in WITHOUT_CONSUMER]
        for worker in workers:
            worker.start()
        until = time.monotonic() + self.random.uniform(0.2, self.options.seconds)
        while time.monotonic() < until and all(worker.is_alive() for worker in workers):
            workers[0].join(min(0.05, max(0.0, until - time.monotonic())))
        for worker in workers:
            worker.ending.set()
        died = self.node.process.poll()
        self.kill()
        for worker in workers:
            worker.join()
        raw.close_all()
        if died is not None:
            raise Wrong('the node ended by itself with %d' % died)
        for worker in workers:
            self.merge(worker)
        for worker in workers:
            if worker.problem:
                raise worker.problem

    def merge(self, worker):
        if isinstance(worker, Publisher):
            for queue, known in self.known.items():
                known.sent |= worker.sent[queue]
                known.confirmed |= worker.confirmed[queue]
                self.figures['published'] += len(worker.sent[queue])
                self.figures['confirmed'] += len(worker.confirmed[queue])
            self.figures['refused'] += worker.refused
            return
        known = self.known[worker.queue]
        known.sent |= worker.sent
        known.confirmed |= worker.confirmed
        known.seen |= worker.seen
        known.acked |= worker.acked
        self.figures['consumed'] += len(worker.seen)
        self.figures['acknowledged'] += len(worker.acked)
        again = worker.seen & known.gone
        if again:
            raise Wrong('%s: %s comes back after its acknowledgement was certain' % (
                worker.queue, sorted(again)[:3]))
        known.forget(worker.certain)

    def check(self, queue, number):
        """Empties the queue and accounts for all that it should have."""
        known = self.known[queue]
        conn = connect(port=self.node.port)
        conn.rpc(1, 'confirm.select')
        ready, _ = conn.passive(1, queue)
        conn.consume(1, queue)
        ordered, found, tag = Ordered('queue ' + queue), set(), 0
        for _ in range(ready):
            got = conn.expect('basic.deliver', 1, seconds=30 * self.options.slow)
            name, tag = name_in(got.body), got.delivery_tag
            self.judge(known, queue, name, got.redelivered, found)
            found.add(name)
            ordered.add(name)
        lost = known.confirmed - known.acked - found
        if lost:
            raise Wrong('%s: %d confirmed messages are lost: %s' % (
                queue, len(lost), sorted(lost, key=stream_of)[:5]))
        self.figures['checked'] += len(found)
        self.figures['acks lost'] += len(found & known.acked)
        if tag:
            conn.method(1, 'basic.ack', delivery_tag=tag, multiple=True)
        name = 'v%d.0.0' % number
        conn.publish(1, '', queue, body_of(name, 10), properties(delivery_mode=2))
        while conn.read(30 * self.options.slow).name != 'basic.ack':
            pass
        known.forget(set(known.sent))
        known.sent.add(name)
        known.confirmed.add(name)
        known.seen.add(name)  # it went to this consumer
        conn.close_socket()

    def judge(self, known, queue, name, redelivered, found):
        if name in found:
            raise Wrong('%s: %s is there twice' % (queue, name))
        if name in known.gone:
            raise Wrong('%s: %s comes back after its acknowledgement was certain' % (queue, name))
        if name not in known.sent:
            raise Wrong('%s: %s was never published' % (queue, name))
        if name in known.seen and not redelivered:
            raise Wrong('%s: %s comes again without a mark' % (queue, name))
        if redelivered and name not in known.seen:
            self.figures['marked for nothing'] += 1

    def round(self, number, last):
        self.load(number)
        begin = time.monotonic()
        self.up()
        took = time.monotonic() - begin
        for queue in QUEUES:
            if last or self.random.random() < 0.4:
                self.check(queue, number)
        raw.close_all()
        return took

    def run(self):
        passed = failed = 0
        self.start()
        self.node.wait_accepting()
        self.declare()
        for number in range(1, self.options.rounds + 1):
            try:
                took = self.round(number, number == self.options.rounds)
                passed += 1
                print('ok round %d: up again in %.1f s; %s' % (
                    number, took, ', '.join('%d %s' % (count, what)
                                            for what, count in self.figures.items())), flush=True)
            except (Wrong, AssertionError, Eof, OSError) as error:
                failed += 1
                print('not ok round %d: %s: %s' % (number, type(error).__name__, error), flush=True)
                break  # what is known is not known any more
        if self.node.process.poll() is None:
            self.node.process.kill()
            self.node.process.wait()
        if failed or self.options.keep:
            print('# seed %d; the data directory and the log are in %s' % (
                self.options.seed, self.directory))
        else:
            shutil.rmtree(self.directory)
        print('%d passed, %d failed' % (passed, failed))
        return 1 if failed or not passed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--broker-binary', metavar='FILE', required=True)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=3, help='a round kills after at most this')
    parser.add_argument('--seed', type=int, default=random.randrange(2**31))
    parser.add_argument('--slow', type=float, default=1, help='factor for all deadlines')
    parser.add_argument('--keep', action='store_true', help='leave the data directory')
    options = parser.parse_args()
    raw.DEADLINE *= options.slow
    return Rounds(options).run()


if __name__ == '__main__':
    sys.exit(main())
