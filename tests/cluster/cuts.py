#!/usr/bin/python3
"""Real clusters whose network is cut: each node has a network namespace of its own, on a bridge in
one that this program makes for itself. Clients reach all nodes at any time.

  tests/cluster/cuts.py --broker-binary build/ringtail [--rounds 3] [--only NAME] [--slow X]

Where namespaces cannot be made the cases are skipped, and that is said. The last line is
`N passed, N failed`.
"""
import os
import random
import subprocess
import sys

import pika

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import (DURABLE, Cluster, Load, Wrong, arguments_of,  # noqa: E402
                     run_cases)

SIZE = 3
INSIDE = 'RINGTAIL_TEST_NAMESPACE'
NOBODY = '02:00:00:00:00:fe'  # a hardware address that no interface has


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class CutCluster(Cluster):
    """Nodes in namespaces. A cut loses what one node sends to another, in silence, as a broken
    switch does: the sender's neighbour table names a hardware address that nobody has."""

    def __init__(self, arguments, size=SIZE):
        self._holders = {}
        super().__init__(arguments.broker_binary, size, arguments.slow, arguments.keep)
        with open(self.path('cluster.conf'), 'a', encoding='ascii') as out:
            out.write('loopback_users.guest = false\n')  # clients come over the bridge
        run('ip', 'link', 'set', 'lo', 'up')
        run('ip', 'link', 'add', 'bridge', 'type', 'bridge')
        run('ip', 'addr', 'add', '10.77.0.254/24', 'dev', 'bridge')
        run('ip', 'link', 'set', 'bridge', 'up')
        for number in self.addresses:
            self._attach(number)

    def _attach(self, number):
        # The namespace lives as long as this process, which says when it is in it.
        holder = subprocess.Popen(['unshare', '-n', 'sh', '-c', 'echo; exec cat'],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._holders[number] = holder
        holder.stdout.readline()
        run('ip', 'link', 'add', 'port%d' % number, 'type', 'veth', 'peer', 'name', 'eth0',
            'netns', str(holder.pid))
        run('ip', 'link', 'set', 'port%d' % number, 'master', 'bridge', 'up')
        self._in(number, 'link', 'set', 'lo', 'up')
        self._in(number, 'addr', 'add', self.addresses[number] + '/24', 'dev', 'eth0')
        self._in(number, 'link', 'set', 'eth0', 'up')

    def _in(self, number, *what):
        run('nsenter', '-t', str(self._holders[number].pid), '-n', 'ip', *what)

    def make_addresses(self):
        return {i: '10.77.0.%d' % i for i in range(1, self.size + 1)}

    def make_ports(self):
        return 5672, 25672

    def command(self, number):
        # -n changes the namespace of this very process, which becomes the node.
        return ['nsenter', '-t', str(self._holders[number].pid), '-n', self.binary]

    def cut(self, sender, receiver):
        self._in(sender, 'neigh', 'replace', self.addresses[receiver], 'lladdr', NOBODY, 'dev',
                 'eth0', 'nud', 'permanent')

    def heal(self):
        for sender in self.addresses:
            for receiver in self.addresses:
                if sender != receiver:
                    subprocess.run(['nsenter', '-t', str(self._holders[sender].pid), '-n', 'ip',
                                    'neigh', 'del', self.addresses[receiver], 'dev', 'eth0'],
                                   check=False, stderr=subprocess.DEVNULL)

    def __exit__(self, *reason):
        super().__exit__(*reason)
        for holder in self._holders.values():
            holder.stdin.close()
            holder.wait()
        for number in self._holders:
            subprocess.run(['ip', 'link', 'del', 'port%d' % number], check=False,
                           stderr=subprocess.DEVNULL)
        run('ip', 'link', 'del', 'bridge')


def started(arguments):
    cluster = CutCluster(arguments)
    for number in cluster.addresses:
        cluster.start(number)
    return cluster


def others(cluster, number):
    return [other for other in cluster.addresses if other != number]


def await_declarers(load, numbers, what):
    """More is declared through these nodes; how long that took."""
    chosen = [one for one in load.declarers if one.number in numbers]
    before = [len(one.bound) for one in chosen]
    return load.cluster.await_that(what, lambda: all(
        len(one.bound) > count + 5 for one, count in zip(chosen, before)), 30)


def cut_off_and_healed(arguments, cut):
    """One node, or as many as --rounds says, one after the other, is cut off as
    `cut(cluster, number)` does; the others go on, and when the network is whole again nobody needs
    help and nothing is lost."""
    with started(arguments) as cluster:
        cluster.await_ready()
        load = Load(cluster)
        load.await_progress()
        for number in random.sample(list(cluster.addresses), min(arguments.rounds, SIZE)):
            cut(cluster, number)
            took = await_declarers(load, others(cluster, number),
                                   'the others go on without node %d' % number)
            print('  without node %d: %.1f s' % (number, took))
            cluster.heal()
            load.await_progress()
        load.finish()


def a_node_that_is_cut_off_comes_back(arguments):
    def cut(cluster, number):
        for other in others(cluster, number):
            cluster.cut(number, other)
            cluster.cut(other, number)
    cut_off_and_healed(arguments, cut)


def a_node_that_nobody_hears_comes_back(arguments):
    cut_off_and_healed(arguments, lambda cluster, number: [
        cluster.cut(number, other) for other in others(cluster, number)])


def a_node_that_hears_nobody_comes_back(arguments):
    cut_off_and_healed(arguments, lambda cluster, number: [
        cluster.cut(other, number) for other in others(cluster, number)])


def two_nodes_that_do_not_reach_each_other_leave_one_membership(arguments):
    with started(arguments) as cluster:
        cluster.await_ready()
        load = Load(cluster)
        load.await_progress()
        for both in random.sample([(1, 2), (2, 3), (1, 3)], min(arguments.rounds, 3)):
            third, = set(cluster.addresses) - set(both)
            cluster.cut(*both)
            cluster.cut(*reversed(both))
            # The third reaches both; so do changes through it.
            took = await_declarers(load, [third], 'node %d goes on' % third)
            print('  between %d and %d: %.1f s' % (*both, took))
            cluster.heal()
            load.await_progress()
        load.finish()


def refused_in_time(cluster, number):
    """A declaration is refused, with a reason, within the time that is promised."""
    with cluster.connect(number, blocked_connection_timeout=30) as connection:
        try:
            connection.channel().queue_declare('refused', durable=True)
        except pika.exceptions.ConnectionClosedByBroker as error:
            if error.reply_code != 541:
                raise Wrong('it is refused with %s' % error) from None
            return
    raise Wrong('a minority has declared a queue')


def knows(cluster, number, queue):
    with cluster.connect(number) as connection:
        try:
            connection.channel().queue_declare(queue, passive=True)
        except pika.exceptions.ChannelClosedByBroker:
            return False
    return True


def a_minority_serves_its_queues_and_refuses_changes(arguments):
    with started(arguments) as cluster:
        cluster.await_ready()
        for number in cluster.addresses:
            with cluster.connect(number) as connection:
                connection.channel().queue_declare('own-%d' % number, durable=True)
        with cluster.connect(1) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            for other in others(cluster, 1):
                cluster.cut(1, other)
                cluster.cut(other, 1)
            took = cluster.await_that('a change is refused', lambda: not refused_in_time(
                cluster, 1), 20)
            print('  refused after %.1f s' % took)
            if any(knows(cluster, number, 'refused') for number in cluster.addresses):
                raise Wrong('a minority has declared a queue')
            # The connection that was there is still there, and so is its queue.
            for number in range(20):
                channel.basic_publish('', 'own-1', b'%d' % number, DURABLE, mandatory=True)
            got = [channel.basic_get('own-1', auto_ack=True)[2] for _ in range(20)]
            if got != [b'%d' % number for number in range(20)]:
                raise Wrong('its queue gives %s' % got)
            channel.basic_publish('', 'own-1', b'kept', DURABLE, mandatory=True)
            cluster.heal()
            cluster.await_one()
        with cluster.connect(2) as connection:
            if connection.channel().basic_get('own-1', auto_ack=True)[2] != b'kept':
                raise Wrong('what was confirmed by a minority is gone')
        # Nobody had agreed in time, which is all that 541 says: where the others had found no
        # leader by then (they may have had no vote yet), it may have happened since; to all.
        if len({knows(cluster, number, 'refused') for number in cluster.addresses}) != 1:
            raise Wrong('nodes differ about a declaration that was refused')


CASES = [a_node_that_is_cut_off_comes_back, a_node_that_nobody_hears_comes_back,
         a_node_that_hears_nobody_comes_back,
         two_nodes_that_do_not_reach_each_other_leave_one_membership,
         a_minority_serves_its_queues_and_refuses_changes]


def in_a_namespace():
    """Begins again in a network namespace; returns when there are none."""
    for flags in '-n', '-rn':
        if subprocess.run(['unshare', flags, 'ip', 'link', 'add', 'bridge', 'type', 'bridge'],
                          check=False, stderr=subprocess.DEVNULL).returncode == 0:
            os.execvpe('unshare', ['unshare', flags, sys.executable, *sys.argv],
                       dict(os.environ, **{INSIDE: '1'}))


if __name__ == '__main__':
    PARSED = arguments_of(__doc__)
    if not os.environ.get(INSIDE):
        in_a_namespace()
        print('skip: no network namespaces here\n0 passed, 0 failed, %d skipped' % len(CASES))
        sys.exit(0)
    sys.exit(run_cases(CASES, PARSED))
