#!/usr/bin/python3
"""Mirrored queues on real clusters: masters and slaves die, stop, freeze and come back under load.

  tests/cluster/mirrored.py --broker-binary build/ringtail [--rounds 3] [--only NAME] [--slow X]

What must hold: what was confirmed is there, once, in its order; consumers hear of the end of the
master; no node needs help. The last line is `N passed, N failed`.
"""
import contextlib
import os
import random
import sys
import threading
import time

import pika

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import (DURABLE, ERRORS, Cluster, Wrong, Worker, arguments_of,  # noqa: E402
                     run_cases, wait)

SIZE = 3
QUEUE = 'mirrored'
ALL = {'x-ha-policy': 'all'}


@contextlib.contextmanager
def started(arguments):
    with Cluster(arguments.broker_binary, SIZE, arguments.slow, arguments.keep) as cluster:
        for number in range(1, SIZE + 1):
            cluster.start(number)
        cluster.await_ready()
        yield cluster


class Stream(Worker):
    """Publishes numbers with confirms, some at once; knows which were confirmed, and how long the
    longest wait for a confirm was."""

    def __init__(self, cluster, number, queue, window=50):
        super().__init__(cluster, number)
        self.queue, self.window = queue, window
        self.sent = 0
        self.confirmed, self.refused = [], []
        self.longest, self.last = 0.0, time.monotonic()
        self.closed = 0

    def work(self, connection):
        self.closed += 1
        # pika's blocking channel waits for each confirm; the one inside does not.
        inner = connection.channel()._impl  # pylint: disable=protected-access
        pending = {}

        def answered(frame):
            now = time.monotonic()
            self.longest = max(self.longest, now - self.last)
            self.last = now
            tag, kind = frame.method.delivery_tag, frame.method.NAME
            tags = [one for one in pending if one <= tag] if frame.method.multiple else [tag]
            for one in sorted(tags):
                body = pending.pop(one, None)
                if body is not None:
                    (self.confirmed if kind == 'Basic.Ack' else self.refused).append(body)
        inner.confirm_delivery(answered)
        tag = 0
        self.last = time.monotonic()
        while not self.ending.is_set():
            while len(pending) < self.window:
                self.sent += 1
                tag += 1
                pending[tag] = self.sent
                inner.basic_publish('', self.queue, str(self.sent).encode(), DURABLE)
            connection.process_data_events(0.005)
            wait(0.002)
        connection.process_data_events(0.5)


class Consumer(threading.Thread):
    """Consumes through one node and acknowledges; subscribes again when it is cancelled."""

    def __init__(self, cluster, number, queue):
        super().__init__(daemon=True)
        self.cluster, self.number, self.queue = cluster, number, queue
        self.ending = threading.Event()
        self.got, self.cancelled = [], 0

    def run(self):
        while not self.ending.is_set():
            try:
                with self.cluster.connect(self.number) as connection:
                    self.work(connection)
            except ERRORS:
                wait(0.05)

    def work(self, connection):
        channel = connection.channel()
        channel.basic_qos(prefetch_count=20)
        for method, _, body in channel.consume(self.queue, inactivity_timeout=0.1):
            if self.ending.is_set():
                return
            if method is None:
                if not channel.consumer_tags:
                    self.cancelled += 1
                    return
                continue
            self.got.append((int(body), method.redelivered))
            channel.basic_ack(method.delivery_tag)
        self.cancelled += 1

    def finish(self):
        self.ending.set()
        self.join(30)
        if self.is_alive():
            raise Wrong('a consumer hangs')


def declare(cluster, number, queue=QUEUE, arguments=None):
    with cluster.connect(number) as connection:
        connection.channel().queue_declare(queue, durable=True,
                                           arguments=ALL if arguments is None else arguments)


def drained(cluster, number, queue=QUEUE):
    found = []
    with cluster.connect(number) as connection:
        channel = connection.channel()
        while True:
            method, _, body = channel.basic_get(queue, auto_ack=True)
            if method is None:
                return found
            found.append(int(body))


def check(found, stream, gone=()):
    """Nothing lost, nothing twice, in order."""
    if len(found) != len(set(found)):
        twice = sorted(one for one in set(found) if found.count(one) > 1)
        raise Wrong('%d messages are there twice, one is %d' % (len(twice), twice[0]))
    missing = set(stream.confirmed) - set(found) - set(gone)
    if missing:
        raise Wrong('of %d confirmed messages %d are lost, one is %d' % (
            len(stream.confirmed), len(missing), min(missing)))
    if found != sorted(found):
        raise Wrong('the order was not kept')


def serves(cluster, number, queue=QUEUE):
    try:
        with cluster.connect(number) as connection:
            connection.channel().queue_declare(queue, passive=True)
        return True
    except ERRORS:
        return False


def a_killed_master_loses_nothing(arguments):
    for at in range(arguments.rounds):
        with started(arguments) as cluster:
            master = 1 + at % SIZE
            through = 1 + (at + 1) % SIZE
            declare(cluster, master)
            stream = Stream(cluster, through, QUEUE)
            stream.start()
            cluster.await_that('confirms come', lambda s=stream: len(s.confirmed) > 200)
            before = stream.closed
            cluster.kill(master)
            count = len(stream.confirmed)
            cluster.await_that('confirms go on',
                               lambda s=stream, c=count: len(s.confirmed) > c + 300)
            stream.finish()
            if stream.closed != before:
                raise Wrong('the connection to a node that lives was closed')
            check(drained(cluster, through), stream)
            print('longest gap in confirms %.0f ms' % (stream.longest * 1000))


def consumers_hear_of_it_and_go_on(arguments):
    with started(arguments) as cluster:
        declare(cluster, 1)
        consumer = Consumer(cluster, 2, QUEUE)
        consumer.start()
        stream = Stream(cluster, 3, QUEUE)
        stream.start()
        cluster.await_that('deliveries come', lambda: len(consumer.got) > 200)
        cluster.kill(1)
        cluster.await_that('the consumer is cancelled', lambda: consumer.cancelled > 0)
        count = len(consumer.got)
        cluster.await_that('deliveries go on', lambda: len(consumer.got) > count + 200)
        stream.finish()
        wanted = set(stream.confirmed)
        cluster.await_that('all is delivered',
                           lambda: wanted <= {number for number, _ in list(consumer.got)})
        consumer.finish()
        first = [number for number, again in consumer.got if not again]
        if first != sorted(first) or len(first) != len(set(first)):
            raise Wrong('first deliveries came twice or out of order')


def a_slave_dies_and_comes_back(arguments):
    with started(arguments) as cluster:
        declare(cluster, 1)
        stream = Stream(cluster, 1, QUEUE)
        stream.start()
        for _ in range(arguments.rounds):
            slave = random.choice((2, 3))
            cluster.await_that('confirms come', lambda: len(stream.confirmed) > 100)
            cluster.kill(slave)
            count = len(stream.confirmed)
            cluster.await_that('confirms go on', lambda c=count: len(stream.confirmed) > c + 200)
            cluster.start(slave)
            cluster.await_ready(slave)
            count = len(stream.confirmed)
            cluster.await_that('confirms go on', lambda c=count: len(stream.confirmed) > c + 200)
        stream.finish()
        check(drained(cluster, 2), stream)


def masters_die_one_after_the_other(arguments):
    """Who has come back has everything when it is its turn to lead."""
    with started(arguments) as cluster:
        declare(cluster, 1)
        stream = Stream(cluster, 3, QUEUE)
        stream.start()
        for victim in (1, 2) * arguments.rounds:
            count = len(stream.confirmed)
            cluster.await_that('confirms come', lambda c=count: len(stream.confirmed) > c + 200)
            cluster.kill(victim)
            count = len(stream.confirmed)
            cluster.await_that('confirms go on', lambda c=count: len(stream.confirmed) > c + 200)
            cluster.start(victim)
            cluster.await_ready(victim)
        stream.finish()
        check(drained(cluster, 3), stream)


def all_die_at_once_and_two_come_back(arguments):
    for at in range(arguments.rounds):
        with started(arguments) as cluster:
            declare(cluster, 1)
            stream = Stream(cluster, 2, QUEUE)
            stream.start()
            cluster.await_that('confirms come', lambda s=stream: len(s.confirmed) > 300)
            for number in (1, 2, 3):
                cluster.kill(number)
            stream.finish()
            back = [number for number in (1, 2, 3) if number != 1 + at % SIZE]
            random.shuffle(back)
            for number in back:
                cluster.start(number)
            cluster.await_ready(*back)
            cluster.await_that('the queue serves', lambda c=cluster, n=back[0]: serves(c, n), 30)
            check(drained(cluster, back[1]), stream)


CASES = [a_killed_master_loses_nothing, consumers_hear_of_it_and_go_on, a_slave_dies_and_comes_back,
         masters_die_one_after_the_other, all_die_at_once_and_two_come_back]

if __name__ == '__main__':
    sys.exit(run_cases(CASES, arguments_of(__doc__)))
