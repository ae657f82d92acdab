"""Real nodes of one cluster, on loopback addresses of their own, and the load that tests put on
them. Nodes are numbered from 1; what is started here is ended here, by pid."""
import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import amqp.exceptions
import kombu
import kombu.exceptions
import pika

DURABLE = pika.BasicProperties(delivery_mode=2)
ERRORS = (pika.exceptions.AMQPError, OSError)
KOMBU_ERRORS = (amqp.exceptions.AMQPError, amqp.exceptions.MessageNacked,
                kombu.exceptions.KombuError, OSError)


class Wrong(Exception):
    """The cluster broke a promise."""


def free_ports(addresses, count):
    """Ports that are free on every one of these addresses."""
    found = []
    while len(found) < count:
        port = random.randrange(21000, 32000)
        try:
            for address in addresses:
                with socket.socket() as probe:
                    probe.bind((address, port))
        except OSError:
            continue
        found.append(port)
    return found


class Cluster:
    """`with Cluster(binary, 3) as cluster:`; nothing runs yet."""

    def __init__(self, binary, size, slow=1.0, keep=False):
        self.binary, self.size, self.slow, self.keep = binary, size, slow, keep
        self.addresses = self.make_addresses()
        self.port, self.cluster_port = self.make_ports()
        self.processes = {}
        self._dir = tempfile.mkdtemp(prefix='ringtail-cluster-')
        with open(self.path('cookie'), 'w', encoding='ascii') as out:
            os.fchmod(out.fileno(), 0o600)
            out.write('a secret of tests')
        with open(self.path('cluster.conf'), 'w', encoding='ascii') as out:
            for i, address in self.addresses.items():
                out.write('cluster_formation.classic_config.nodes.%d = n@%s\n' % (i, address))

    def make_addresses(self):
        net = '127.%d.%d.' % (random.randrange(1, 250), random.randrange(1, 250))
        return {i: net + str(i) for i in range(1, self.size + 1)}

    def make_ports(self):
        return free_ports(self.addresses.values(), 2)

    def command(self, number):
        """The program, and what stands before it."""
        del number
        return [self.binary]

    def path(self, name):
        return os.path.join(self._dir, name)

    def name(self, number):
        return 'n@' + self.addresses[number]

    def start(self, number, *flags, together=True):
        if together:
            flags += ('--config', self.path('cluster.conf'))
        log = open(self.path('log%d' % number), 'ab')  # pylint: disable=consider-using-with
        self._begins = getattr(self, '_begins', {})
        self._begins[number] = log.tell()
        self.processes[number] = subprocess.Popen(
            [*self.command(number), '--node-name', self.name(number), '--bind',
             self.addresses[number], '--amqp-port', str(self.port), '--management-port', '0',
             '--cluster-port', str(self.cluster_port),
             '--cookie-file', self.path('cookie'), '--data-dir',
             self.path('data%d' % number), '--shards', str(1 + number % 2), *flags],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        log.close()

    def log(self, number):
        with open(self.path('log%d' % number), 'rb') as log:
            log.seek(self._begins[number])
            return log.read().decode(errors='replace')

    def ready(self, number):
        return '[node] ready' in self.log(number)

    def await_that(self, what, condition, seconds=20):
        begin = time.monotonic()
        while not condition():
            if time.monotonic() - begin > seconds * self.slow:
                raise Wrong('%s: not within %g s' % (what, seconds * self.slow))
            for number, process in self.processes.items():
                if process is not None and process.poll() is not None:
                    raise Wrong('node %d has ended with %d: %s' % (
                        number, process.returncode, self.log(number)[-1500:]))
            wait(0.02)
        return time.monotonic() - begin

    def await_ready(self, *numbers, seconds=30):
        for number in numbers or self.processes:
            self.await_that('node %d is ready' % number, lambda n=number: self.ready(n), seconds)

    def kill(self, number):
        process, self.processes[number] = self.processes[number], None
        process.kill()
        process.wait()

    def await_end(self, number, complaint, code, seconds=15):
        """It ends by itself, with that in its log."""
        process, self.processes[number] = self.processes[number], None
        try:
            ended = process.wait(seconds * self.slow)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Wrong('node %d does not end: %s' % (number, self.log(number)[-1500:])) from None
        if ended != code or complaint not in self.log(number):
            raise Wrong('node %d has ended with %d: %s' % (
                number, ended, self.log(number)[-1500:]))

    def stop(self, number, seconds=15):
        process, self.processes[number] = self.processes[number], None
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(seconds * self.slow)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Wrong('node %d does not stop: %s' % (number, self.log(number)[-1500:])) from None
        if code != 0:
            raise Wrong('node %d has stopped with %d' % (number, code))

    def freeze(self, number):
        self.processes[number].send_signal(signal.SIGSTOP)

    def thaw(self, number):
        self.processes[number].send_signal(signal.SIGCONT)

    def connect(self, number, **parameters):
        return pika.BlockingConnection(pika.ConnectionParameters(
            self.addresses[number], self.port, socket_timeout=10, heartbeat=0, **parameters))

    def await_one(self):
        """Every node sees, and reaches, what is declared on any other."""
        name = 'one-%08x' % random.getrandbits(32)
        for home in self.processes:
            with self.connect(home) as connection:
                connection.channel().queue_declare('%s-%d' % (name, home), durable=True)
        for home in self.processes:
            for number in self.processes:
                self.await_that('node %d reaches node %d' % (number, home),
                                lambda n=number, h=home: self._reaches(n, '%s-%d' % (name, h)))
        with self.connect(next(iter(self.processes))) as connection:
            for home in self.processes:
                connection.channel().queue_delete('%s-%d' % (name, home))

    def _reaches(self, number, queue):
        try:
            with self.connect(number) as connection:
                connection.channel().queue_declare(queue, passive=True)
            return True
        except ERRORS:
            return False

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for process in self.processes.values():
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        if kind is not None or self.keep:
            for number in self.processes:
                print('--- node %d\n%s' % (number, self.log(number)[-3000:]))
        if not self.keep:
            subprocess.run(['rm', '-rf', self._dir], check=True)


def wait(seconds):
    threading.Event().wait(seconds)


class Worker(threading.Thread):
    """Works on one node, through its deaths, until it is told to end."""

    def __init__(self, cluster, number):
        super().__init__(daemon=True)
        self.cluster, self.number = cluster, number
        self.ending = threading.Event()
        self.wrong = None

    def run(self):
        while not self.ending.is_set():
            try:
                with self.cluster.connect(self.number) as connection:
                    self.work(connection)
            except ERRORS:
                wait(0.05)
            except Wrong as error:
                self.wrong = error
                return

    def work(self, connection):
        raise NotImplementedError

    def finish(self):
        self.ending.set()
        self.join(60)
        if self.is_alive():
            raise Wrong('%s on node %d hangs' % (type(self).__name__, self.number))
        if self.wrong:
            raise self.wrong


class Publisher(Worker):
    """Publishes to one durable queue in confirm mode, and knows what was confirmed."""

    def __init__(self, cluster, number, queue):
        super().__init__(cluster, number)
        self.queue, self.next = queue, 0
        self.confirmed = set()

    def work(self, connection):
        channel = connection.channel()
        channel.confirm_delivery()
        while not self.ending.is_set():
            self.next += 1
            body = b'%s %d' % (self.queue.encode(), self.next)
            try:
                channel.basic_publish('', self.queue, body, DURABLE, mandatory=True)
            except (pika.exceptions.NackError, pika.exceptions.UnroutableError):
                wait(0.02)
                continue
            self.confirmed.add(body)


class KombuPublisher(Publisher):
    """The same with kombu over py-amqp, which know nothing of our ways with errors."""

    def run(self):
        while not self.ending.is_set():
            try:
                with kombu.Connection(
                        'pyamqp://guest:guest@%s:%d//' % (
                            self.cluster.addresses[self.number], self.cluster.port),
                        connect_timeout=10, transport_options={
                            'confirm_publish': True, 'read_timeout': 10}) as connection:
                    self.work(connection)
            except KOMBU_ERRORS:
                wait(0.05)

    def work(self, connection):
        producer = connection.Producer()
        while not self.ending.is_set():
            self.next += 1
            body = b'%s %d' % (self.queue.encode(), self.next)
            producer.publish(body, routing_key=self.queue, delivery_mode=2, mandatory=True,
                             content_type='application/octet-stream', content_encoding='binary')
            self.confirmed.add(body)


class Declarer(Worker):
    """Declares durable queues of ever new names, and binds them; knows what was answered."""

    def __init__(self, cluster, number):
        super().__init__(cluster, number)
        self.next = 0
        self.declared, self.bound, self.latest = [], [], 0

    def work(self, connection):
        channel = connection.channel()
        while not self.ending.is_set():
            self.next += 1
            name = 'd-%d-%d' % (self.number, self.next)
            channel.queue_declare(name, durable=True)
            self.declared.append(name)
            channel.queue_bind(name, 'amq.topic', 'key.' + name)
            self.bound.append(name)
            wait(0.01)


def check_declared(cluster, declarers):
    for number in cluster.processes:
        with cluster.connect(number) as connection:
            channel = connection.channel()
            for one in declarers:
                for name in one.declared:
                    try:
                        channel.queue_declare(name, passive=True)
                    except pika.exceptions.ChannelClosedByBroker as error:
                        raise Wrong('node %d has lost queue %s: %s' % (number, name, error)) \
                            from None


def check_published(cluster, publishers):
    """Through a node that is not the queue's home."""
    for one in publishers:
        found = set()
        with cluster.connect(one.number) as connection:
            channel = connection.channel()
            while True:
                method, _, body = channel.basic_get(one.queue, auto_ack=True)
                if method is None:
                    break
                found.add(body)
        missing = one.confirmed - found
        if missing:
            raise Wrong('of %d confirmed messages of %s %d are lost, one is %s' % (
                len(one.confirmed), one.queue, len(missing), min(missing)))


class Load:
    """Publishers through every node to queues of the next one, and declarers on every node."""

    def __init__(self, cluster):
        self.cluster = cluster
        nodes = list(cluster.addresses)
        self.publishers = []
        for name, kind in (('q', Publisher), ('kombu', KombuPublisher)):
            for i, number in enumerate(nodes):
                queue = '%s-%d' % (name, number)
                with cluster.connect(number) as connection:
                    connection.channel().queue_declare(queue, durable=True)
                self.publishers.append(kind(cluster, nodes[(i + 1) % len(nodes)], queue))
        self.declarers = [Declarer(cluster, number) for number in nodes]
        for worker in self.publishers + self.declarers:
            worker.start()

    def await_progress(self):
        """Each publisher and declarer gets something done."""
        before = [len(one.confirmed) for one in self.publishers]
        declared = [len(one.bound) for one in self.declarers]
        self.cluster.await_that('all clients are served', lambda: all(
            len(one.confirmed) > count for one, count in zip(self.publishers, before)) and all(
                len(one.bound) > count for one, count in zip(self.declarers, declared)), 30)

    def finish(self):
        for worker in self.publishers + self.declarers:
            worker.finish()
        self.cluster.await_one()
        check_declared(self.cluster, self.declarers)
        check_published(self.cluster, self.publishers)


def arguments_of(what):
    parser = argparse.ArgumentParser(description=what,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--broker-binary', required=True)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--only', default='', help='cases with this in their name')
    parser.add_argument('--slow', type=float, default=1.0, help='factor for all deadlines')
    parser.add_argument('--keep', action='store_true', help="leave the nodes' files, print logs")
    arguments = parser.parse_args()
    arguments.broker_binary = os.path.abspath(arguments.broker_binary)
    return arguments


def run_cases(cases, arguments):
    """One line each, and `N passed, N failed` at the end."""
    passed = failed = 0
    for case in cases:
        if arguments.only and arguments.only not in case.__name__:
            continue
        begin = time.monotonic()
        try:
            case(arguments)
            passed += 1
            print('ok %s (%.1f s)' % (case.__name__, time.monotonic() - begin))
        except (Wrong, *ERRORS) as error:
            failed += 1
            print('not ok %s: %s: %s' % (case.__name__, type(error).__name__, error))
        sys.stdout.flush()
    print('%d passed, %d failed' % (passed, failed))
    return 1 if failed else 0
