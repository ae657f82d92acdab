#!/usr/bin/python3
"""Real clusters: nodes that begin together, are killed, frozen, stopped and replaced under load.

  tests/cluster/run.py --broker-binary build/ringtail [--rounds 3] [--only NAME] [--slow X] [--keep]

What must hold: whatever was answered (a declaration, a binding, a confirmed message in a durable
queue) is there afterwards, on every node, and no node needs help. The last line is
`N passed, N failed`.
"""
import base64
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import certificates  # noqa: E402
from cluster import (DURABLE, Cluster, Load, Wrong, arguments_of, free_ports,  # noqa: E402
                     run_cases, wait)

SIZE = 3


def started(arguments, size=SIZE):
    cluster = Cluster(arguments.broker_binary, size, arguments.slow, arguments.keep)
    for number in range(1, size + 1):
        cluster.start(number)
    return cluster


@contextlib.contextmanager
def under_load(arguments):
    """A cluster, and clients on it whose answers are held against it at the end."""
    with started(arguments) as cluster:
        cluster.await_ready()
        load = Load(cluster)
        load.await_progress()
        yield cluster, load
        load.finish()


def all_at_once_become_one_cluster(arguments):
    for _ in range(max(1, arguments.rounds // 3)):
        with started(arguments) as cluster:
            cluster.await_ready()
            cluster.await_one()


def killed_nodes_come_back_with_all_that_was_answered(arguments):
    with under_load(arguments) as (cluster, load):
        for _ in range(arguments.rounds):
            victim = random.randrange(1, SIZE + 1)
            wait(random.uniform(0, 0.5))
            cluster.kill(victim)
            wait(random.uniform(0, 1.5))
            cluster.start(victim)
            cluster.await_ready(victim)
            load.await_progress()


def a_frozen_node_holds_nobody_up_for_long(arguments):
    with under_load(arguments) as (cluster, load):
        for victim in cluster.addresses:
            cluster.freeze(victim)
            others = [one for one in load.declarers if one.number != victim]
            before = [len(one.bound) for one in others]
            took = cluster.await_that('the others go on', lambda o=others, b=before: all(
                len(one.bound) > count + 5 for one, count in zip(o, b)), 20)
            cluster.thaw(victim)
            if took > 10 * arguments.slow:
                raise Wrong('the others have waited for %.1f s' % took)
            load.await_progress()


def a_rolling_restart_loses_nothing(arguments):
    with under_load(arguments) as (cluster, load):
        for number in cluster.addresses:
            cluster.stop(number)
            cluster.start(number)
            cluster.await_ready(number)
            load.await_progress()


def stopped_one_after_the_other_the_last_one_serves(arguments):
    with started(arguments) as cluster:
        cluster.await_ready()
        order = random.sample(list(cluster.addresses), SIZE)
        last = order[-1]
        for number in order[:-1]:
            cluster.stop(number)
            with cluster.connect(last) as connection:
                connection.channel().queue_declare('after-%d' % number, durable=True)
        cluster.stop(last)
        for number in random.sample(order, SIZE):
            cluster.start(number)
        cluster.await_ready()
        cluster.await_one()
        for number in order:
            with cluster.connect(number) as connection:
                for gone in order[:-1]:
                    connection.channel().queue_declare('after-%d' % gone, passive=True)


def a_node_without_its_disk_is_replaced(arguments):
    with started(arguments) as cluster:
        cluster.await_ready()
        with cluster.connect(2) as connection:
            connection.channel().queue_declare('mine', durable=True)
        cluster.kill(2)
        shutil.rmtree(cluster.path('data2'))
        begin = time.monotonic()
        cluster.start(2)
        cluster.await_ready(2)
        if time.monotonic() - begin > 20 * arguments.slow:
            raise Wrong('it took %.1f s' % (time.monotonic() - begin))
        cluster.await_one()
        with cluster.connect(1) as connection:
            channel = connection.channel()
            channel.basic_publish('', 'mine', b'again')
            cluster.await_that('its queue works again', lambda: channel.basic_get(
                'mine', auto_ack=True)[2] == b'again')


class Management:
    """The HTTP interface of each node."""

    def __init__(self, cluster):
        self._cluster = cluster
        self.port, = free_ports(cluster.addresses.values(), 1)
        self.flags = ('--management-port', str(self.port))

    def ask(self, number, path, method='GET'):
        """(status, what it says)"""
        request = urllib.request.Request(
            'http://%s:%d/api%s' % (self._cluster.addresses[number], self.port, path),
            method=method, headers={'Authorization': 'Basic ' + base64.b64encode(
                b'guest:guest').decode()})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def ctl(self, number, *command, code=0):
        """What ringtailctl says."""
        program = os.path.join(os.path.dirname(self._cluster.binary), 'ringtailctl')
        done = subprocess.run(
            [program, '--url', 'http://guest:guest@%s:%d' % (
                self._cluster.addresses[number], self.port), *command],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != code:
            raise Wrong('%s has ended with %d: %s' % (command, done.returncode, done.stdout))
        return done.stdout

    def running(self, number):
        status, nodes = self.ask(number, '/nodes')
        if status != 200:
            return None
        return {node['name'] for node in nodes if node['running']}

    def queues(self, number):
        status, queues = self.ask(number, '/queues')
        if status != 200:
            raise Wrong('GET /queues: %s %s' % (status, queues))
        return {q['name']: (q['node'], q['state'], q.get('messages')) for q in queues}


def every_node_lists_the_cluster_and_forgets_who_is_down(arguments):
    with Cluster(arguments.broker_binary, SIZE, arguments.slow, arguments.keep) as cluster:
        management = Management(cluster)
        for number in range(1, SIZE + 1):
            cluster.start(number, *management.flags)
        cluster.await_ready()
        names = {cluster.name(number) for number in cluster.addresses}
        for number in cluster.addresses:
            cluster.await_that('node %d sees all' % number,
                               lambda n=number: management.running(n) == names)
        called = {management.ask(n, '/cluster-name')[1]['name'] for n in cluster.addresses}
        if len(called) != 1 or not called <= names:
            raise Wrong('the cluster is called %s' % called)
        management.ctl(2, 'set_cluster_name', 'of tests')
        for number in cluster.addresses:
            cluster.await_that('node %d knows the new name' % number, lambda n=number: (
                management.ask(n, '/cluster-name')[1]['name'] == 'of tests'))
        for number in cluster.addresses:
            with cluster.connect(number) as connection:
                channel = connection.channel()
                channel.confirm_delivery()
                channel.queue_declare('of-%d' % number, durable=True)
                channel.basic_publish('', 'of-%d' % number, b'x')
        all_there = {'of-%d' % n: (cluster.name(n), 'running', 1) for n in cluster.addresses}
        for number in cluster.addresses:
            cluster.await_that('node %d lists all queues' % number,
                               lambda n=number: management.queues(n) == all_there)
        status, why = management.ask(1, '/nodes/' + cluster.name(3), 'DELETE')
        if status != 400 or 'is running' not in why:
            raise Wrong('a running node is not refused: %s %s' % (status, why))
        cluster.kill(3)
        cluster.await_that('node 3 is down', lambda: management.running(1) == management.running(
            2) == names - {cluster.name(3)})
        if management.queues(2)['of-3'] != (cluster.name(3), 'down', None):
            raise Wrong('its queue is %s' % (management.queues(2)['of-3'],))
        cluster.await_that('node 3 is forgotten', lambda: management.ask(
            2, '/nodes/' + cluster.name(3), 'DELETE')[0] in (204, 404))
        cluster.await_that('its queue is gone everywhere', lambda: all(
            set(management.queues(n)) == {'of-1', 'of-2'} for n in (1, 2)))


def a_node_that_was_forgotten_ends_and_joins_as_another(arguments):
    with Cluster(arguments.broker_binary, SIZE, arguments.slow, arguments.keep) as cluster:
        management = Management(cluster)
        for number in cluster.addresses:
            cluster.start(number, *management.flags)
        cluster.await_ready()
        names = {cluster.name(number) for number in cluster.addresses}
        others = names - {cluster.name(3)}
        for how in ('killed', 'frozen'):
            cluster.await_one()
            with cluster.connect(3) as connection:
                connection.channel().queue_declare('of-3', durable=True)
            if how == 'frozen':
                cluster.freeze(3)
            else:
                cluster.kill(3)
            cluster.await_that('node 3 is forgotten', lambda: management.ask(
                2, '/nodes/' + cluster.name(3), 'DELETE')[0] == 204)
            if how == 'frozen':
                cluster.thaw(3)
            else:
                cluster.start(3, *management.flags)
            cluster.await_end(3, 'was forgotten by its cluster', code=1)
            status, nodes = management.ask(1, '/nodes')
            if status != 200 or {node['name'] for node in nodes} != others:
                raise Wrong('node 1 lists %s' % nodes)
            if 'of-3' in management.queues(1):
                raise Wrong('its queue is there')
            # With nothing but the cookie, which lies in the data directory where none is named.
            shutil.rmtree(cluster.path('data3'))
            os.mkdir(cluster.path('data3'))
            cookie = shutil.copy(cluster.path('cookie'), cluster.path('data3'))
            cluster.start(3, *management.flags, '--cookie-file', cookie, '--join', '%s:%d' % (
                cluster.addresses[1], cluster.cluster_port), together=False)
            cluster.await_ready(3)
            cluster.await_that('all run', lambda: all(
                management.running(number) == names for number in cluster.addresses))


def a_node_that_waits_for_others_can_be_stopped(arguments):
    with Cluster(arguments.broker_binary, SIZE, arguments.slow, arguments.keep) as cluster:
        cluster.start(2)
        cluster.await_that('it waits', lambda: 'waiting for a cluster of the 3 listed nodes: '
                           '%s, the first of them, begins it' % cluster.name(1) in cluster.log(2))
        cluster.stop(2)
        for number in cluster.addresses:
            cluster.start(number)
        cluster.await_ready()
        for number in cluster.addresses:
            cluster.kill(number)
        cluster.start(1)
        cluster.await_that('it is up', lambda: 'other nodes on' in cluster.log(1))
        cluster.stop(1)
        for number in cluster.addresses:
            cluster.start(number)
        cluster.await_ready()
        cluster.await_one()


def a_node_that_its_own_list_does_not_name_does_not_start(arguments):
    with Cluster(arguments.broker_binary, SIZE, arguments.slow, arguments.keep) as cluster:
        with open(cluster.path('others.conf'), 'w', encoding='ascii') as out:
            for number in (1, 2):
                out.write('cluster_formation.classic_config.nodes.%d = %s\n' % (
                    number, cluster.name(number)))
        cluster.start(3, '--config', cluster.path('others.conf'), together=False)
        process, cluster.processes[3] = cluster.processes[3], None
        code = process.wait(15 * arguments.slow)
        log = cluster.log(3)
        if code != 78 or cluster.name(3) not in log or cluster.name(1) not in log:
            raise Wrong('it has ended with %d: %s' % (code, log))
        # What it has left in its directory does not keep it from joining.
        cluster.start(1, together=False)
        cluster.await_ready(1)
        cluster.start(3, '--config', cluster.path('others.conf'), '--join', '%s:%d' % (
            cluster.addresses[1], cluster.cluster_port), together=False)
        cluster.await_ready(3)
        # A member is not asked for its list any more.
        cluster.stop(3)
        cluster.start(3, '--config', cluster.path('others.conf'), together=False)
        cluster.await_ready(3)


def a_node_goes_on_without_a_majority_that_is_lost(arguments):
    with started(arguments) as cluster:
        cluster.await_ready()
        with cluster.connect(3) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            channel.queue_declare('of-3', durable=True)
            channel.basic_publish('', 'of-3', b'kept', DURABLE)
        for number in cluster.addresses:
            cluster.kill(number)
        program = os.path.join(os.path.dirname(cluster.binary), 'ringtailctl')
        subprocess.run([program, '-q', 'force_boot', cluster.path('data3')], check=True)
        cluster.start(3)
        cluster.await_ready(3)
        with cluster.connect(3) as connection:
            channel = connection.channel()
            channel.queue_declare('alone', durable=True)
            if channel.basic_get('of-3', auto_ack=True)[2] != b'kept':
                raise Wrong('its message is lost')
        # One of the lost ones comes back: it is of another history, and waits.
        cluster.start(1)
        cluster.await_that('node 1 is refused', lambda: 'force generation' in cluster.log(1) +
                           cluster.log(3))
        cluster.kill(1)
        for number in (1, 2):
            shutil.rmtree(cluster.path('data%d' % number))
            cluster.start(number)
        cluster.await_ready()
        cluster.await_one()
        with cluster.connect(1) as connection:
            connection.channel().queue_declare('alone', passive=True)


def an_operator_moves_a_node_with_rabbitmqs_commands(arguments):
    with Cluster(arguments.broker_binary, SIZE, arguments.slow, arguments.keep) as cluster:
        management = Management(cluster)
        for number in range(1, SIZE + 1):
            cluster.start(number, *management.flags)
        cluster.await_ready()
        names = {cluster.name(number) for number in cluster.addresses}
        with cluster.connect(3) as connection:
            connection.channel().queue_declare('of-3', durable=True)
        with cluster.connect(1) as connection:
            connection.channel().queue_declare('of-1', durable=True)
        ctl = management.ctl
        if 'has to be stopped first' not in ctl(3, 'reset', code=70):
            raise Wrong('a running node is not refused')
        ctl(3, 'stop_app')
        ctl(3, 'stop_app')
        cluster.await_that('node 3 is down', lambda: management.running(1) == names - {
            cluster.name(3)})
        if management.ask(3, '/overview')[0] != 503:
            raise Wrong('a stopped app answers')
        ctl(3, 'join_cluster', cluster.name(1))  # it is a member
        ctl(3, 'start_app')
        cluster.await_one()
        ctl(3, 'stop_app')
        ctl(3, 'reset')
        cluster.await_that('nobody knows node 3', lambda: {
            node['name'] for node in management.ask(1, '/nodes')[1]} == names - {cluster.name(3)})
        if set(management.queues(1)) != {'of-1'}:
            raise Wrong('queues are %s' % management.queues(1))
        ctl(3, 'start_app')  # an empty node joins those that its configuration lists
        cluster.await_one()
        ctl(3, 'stop_app')
        ctl(3, 'reset')
        ctl(3, 'join_cluster', '%s:%d' % (cluster.addresses[2], cluster.cluster_port))
        ctl(3, 'start_app')
        cluster.await_one()
        if management.running(3) != names or set(management.queues(3)) != {'of-1'}:
            raise Wrong('%s %s' % (management.running(3), management.queues(3)))
        cluster.stop(3)


def links_over_tls_open_to_the_clusters_own_certificates_alone(arguments):
    with Cluster(arguments.broker_binary, SIZE, arguments.slow, arguments.keep) as cluster:
        directory = os.path.dirname(cluster.path('x'))
        for authority in ('ours', 'foreign'):
            certificates.make_authority(directory, authority)
        certificates.make_certificate(directory, 'node', 'ours')
        certificates.make_certificate(directory, 'stranger', 'foreign')
        with open(cluster.path('cluster.conf'), 'r+', encoding='ascii') as out:
            plain = out.read()
            out.write(certificates.settings(directory, 'node', 'ours'))
        for number in cluster.addresses:
            cluster.start(number)
        cluster.await_ready()
        cluster.await_one()
        load = Load(cluster)
        load.await_progress()
        certificates.make_certificate(directory, 'node', 'ours')
        cluster.await_that('the new certificate is read', lambda: all(
            cluster.log(n).count('TLS between nodes, certificate') == 2 for n in cluster.addresses))
        # Who comes back without, or with a certificate of another authority, stays outside.
        for other, complaint in (('', 'has cluster_ssl_options'), (certificates.settings(
                directory, 'stranger', 'foreign'), 'TLS handshake failed')):
            cluster.stop(3)
            with open(cluster.path('other.conf'), 'w', encoding='ascii') as out:
                out.write(plain + other)
            cluster.start(3, '--config', cluster.path('other.conf'), together=False)
            cluster.await_that('node 3 is refused', lambda c=complaint: c in cluster.log(3))
            if cluster.ready(3):
                raise Wrong('a node with other certificates is in')
            cluster.kill(3)
            cluster.start(3)
            cluster.await_ready(3)
        load.await_progress()
        load.finish()


CASES = [all_at_once_become_one_cluster, killed_nodes_come_back_with_all_that_was_answered,
         a_frozen_node_holds_nobody_up_for_long, a_rolling_restart_loses_nothing,
         stopped_one_after_the_other_the_last_one_serves, a_node_without_its_disk_is_replaced,
         every_node_lists_the_cluster_and_forgets_who_is_down,
         a_node_that_was_forgotten_ends_and_joins_as_another,
         a_node_that_waits_for_others_can_be_stopped,
         a_node_that_its_own_list_does_not_name_does_not_start,
         a_node_goes_on_without_a_majority_that_is_lost,
         an_operator_moves_a_node_with_rabbitmqs_commands,
         links_over_tls_open_to_the_clusters_own_certificates_alone]


if __name__ == '__main__':
    sys.exit(run_cases(CASES, arguments_of(__doc__)))
