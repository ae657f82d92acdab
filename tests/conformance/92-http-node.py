"""HTTP: the node, its health, connections and channels, definitions."""
import re
import time

from http_client import *
from raw import *


def eventually(look, what):
    """RabbitMQ shows what happened seconds later; each look is a request, so it takes its time."""
    end = time.monotonic() + on(ringtail=DEADLINE, rabbitmq=CASE_DEADLINE)
    while True:
        got = look()
        if got:
            return got
        assert time.monotonic() < end, what


@case
def the_overview_counts_and_names():
    got = admin.ok('GET', '/overview')
    for key in ('management_version', 'rabbitmq_version', 'product_name', 'product_version',
                'cluster_name', 'node', 'erlang_version'):
        assert isinstance(got[key], str) and got[key], '%s is %r' % (key, got.get(key))
    assert re.match(r'\d+\.\d+\.\d+$', got['rabbitmq_version']), got['rabbitmq_version']
    for key in ('connections', 'channels', 'exchanges', 'queues', 'consumers'):
        assert isinstance(got['object_totals'][key], int), key
    types = {kind['name'] for kind in got['exchange_types']}
    assert types >= {'direct', 'fanout', 'topic', 'headers'}, types
    listening = {(listener['protocol'], listener['port']) for listener in got['listeners']}
    assert {('http', HTTP_PORT), ('amqp', PORT)} <= listening, listening


@case
def the_node_describes_itself():
    node, = admin.ok('GET', '/nodes')
    equal((node['running'], node['type'], node['partitions'], node['mem_alarm'],
           node['disk_free_alarm']), (True, 'disc', [], False, False), 'node')
    for key in ('mem_used', 'mem_limit', 'fd_used', 'fd_total', 'sockets_used', 'uptime',
                'processors', 'disk_free', 'proc_used', 'run_queue'):
        assert isinstance(node[key], int) and node[key] >= 0, '%s is %r' % (key, node.get(key))
    assert node['mem_used'] > 1000000 and node['fd_used'] > 3 and node['uptime'] > 0
    equal(admin.ok('GET', '/nodes/' + enc(node['name']) + '?columns=name'),
          {'name': node['name']}, 'by its name')
    total = admin.ok('GET', '/nodes/' + enc(node['name']) + '/memory')['memory']['total']
    assert isinstance(total['rss'], int), total


@case
def health_checks_pass():
    for name in ('alarms', 'local-alarms', 'virtual-hosts', 'node-is-mirror-sync-critical',
                 'node-is-quorum-critical', 'certificate-expiration/1/months'):
        equal(admin.ok('GET', '/health/checks/' + name)['status'], 'ok', name)
    equal(admin.ok('GET', '/health/checks/port-listener/%d' % PORT),
          {'status': 'ok', 'port': PORT}, 'port')
    cluster_port, = {listener['port'] for listener in admin.ok('GET', '/overview')['listeners']
                     if listener['protocol'] == 'clustering'}
    equal(admin.ok('GET', '/health/checks/port-listener/%d' % cluster_port),
          {'status': 'ok', 'port': cluster_port}, 'cluster port')
    equal(admin.ok('GET', '/health/checks/protocol-listener/clustering'),
          {'status': 'ok', 'protocol': 'clustering'}, 'clustering')
    for name in ('amqp', 'amqp091'):
        equal(admin.ok('GET', '/health/checks/protocol-listener/' + name),
              {'status': 'ok', 'protocol': 'amqp'}, name)
    with Vhost() as v:
        equal(admin('GET', '/aliveness-test/' + enc(v.name)).body, b'{"status":"ok"}', 'alive')


@case(only='ringtail')
def the_aliveness_test_sends_a_message_through_its_queue():
    with Vhost() as v:
        path = '/aliveness-test/' + enc(v.name)
        queue = v('queues', 'aliveness-test')
        admin.ok('GET', path)
        admin.ok('GET', path)

        def moved():
            stats = admin.ok('GET', queue)['message_stats']
            return stats['publish'], stats['deliver_get']
        equal((admin.ok('GET', queue)['messages'], moved()), (0, (2, 2)), 'queue')
        # A message that others left there is as good.
        with_client = connect_to(v.name)
        with_client.publish(1, '', 'aliveness-test', 'x')
        with_client.counts(1, 'aliveness-test', 1)
        admin.ok('GET', path)
        with_client.counts(1, 'aliveness-test', 1)
        with_client.close()
        # A queue that loses what it is given is no queue.
        admin.ok('DELETE', queue)
        admin.ok('PUT', v('policies', 'nothing'),
                 {'pattern': '.*', 'definition': {'max-length': 0}})
        answer = admin('GET', path)
        equal((answer.status, answer.json['status'], answer.json['reason']),
              (503, 'failed', 'a message published to the queue did not come out of it'), 'dead')


@case(only='ringtail')
def the_aliveness_test_is_the_users_own():
    with Vhost() as v:
        for permissions, status in ((('.*', '.*', '.*'), 200), (('', '.*', '.*'), 401),
                                    (('.*', '', '.*'), 401), (('.*', '.*', ''), 401)):
            with User('management', {v.name: permissions}) as client:
                equal(client('GET', '/aliveness-test/' + enc(v.name)).status, status,
                      str(permissions))


@case
def health_checks_fail():
    answer = admin('GET', '/health/checks/port-listener/1')
    equal((answer.status, answer.json['status'], answer.json['reason'], answer.json['missing']),
          (503, 'failed', 'No active listener', 1), 'port')
    assert PORT in answer.json['ports']
    answer = admin('GET', '/health/checks/protocol-listener/zz')
    equal((answer.status, answer.json['missing']), (503, 'zz'), 'protocol')
    bad('GET', '/health/checks/port-listener/x', 'Invalid port')
    bad('GET', '/health/checks/certificate-expiration/1/moons',
        'Time unit not recognised. Supported units: days, weeks, months, years.')
    missing('GET', '/health/checks/nope')


@case
def lists_that_scrapers_ask_for_are_there():
    for path in on(ringtail=('/shovels', '/federation-links', '/feature-flags'),
                   rabbitmq=('/feature-flags',)):
        assert isinstance(admin.ok('GET', path), list), path
    equal(admin.ok('GET', '/extensions')[0], {'javascript': 'dispatcher.js'}, 'extensions')
    assert admin.ok('GET', '/cluster-name')['name']


@case
def connections_and_channels_are_shown():
    with Vhost() as v:
        conn = connect_to(v.name, channels=2)
        conn.rpc(2, 'basic.qos', prefetch_count=7)
        conn.rpc(2, 'confirm.select')
        queue = conn.queue(1)
        conn.rpc(2, 'basic.consume', queue=queue, consumer_tag='mine')
        row = eventually(lambda: [c for c in admin.ok('GET', '/connections')
                                  if c.get('vhost') == v.name and c.get('channels') == 2],
                         'the connection is not shown')[0]
        peer = conn.socket.getsockname()
        equal((row['peer_host'], row['peer_port'], row['port'], row['protocol'], row['user'],
               row['state'], row['ssl']),
              (peer[0], peer[1], PORT, 'AMQP 0-9-1', USER, 'running', False), 'connection')
        equal(row['name'], '%s:%d -> %s:%d' % (peer[0], peer[1], row['host'], PORT), 'name')
        equal(admin.ok('GET', '/connections/' + enc(row['name']))['name'], row['name'], 'its name')
        equal([c['name'] for c in admin.ok('GET', v('vhosts') + '/connections')], [row['name']],
              'of the vhost')
        channels = eventually(lambda: [c for c in admin.ok(
            'GET', '/connections/%s/channels' % enc(row['name'])) if c.get('prefetch_count') == 7],
            'the channel is not shown')
        equal((channels[0]['name'], channels[0]['number'], channels[0]['confirm'],
               channels[0]['consumer_count']), (row['name'] + ' (2)', 2, True, 1), 'channel')
        consumer, = eventually(lambda: admin.ok('GET', v('consumers')), 'no consumer is shown')
        equal((consumer['consumer_tag'], consumer['queue'], consumer['prefetch_count'],
               consumer['channel_details']['connection_name']),
              ('mine', {'name': queue, 'vhost': v.name}, 7, row['name']), 'consumer')
        got = admin.ok('GET', '/channels/' + enc(row['name'] + ' (2)'))
        equal([c['consumer_tag'] for c in got['consumer_details']], ['mine'], 'consumers')
        conn.rpc(2, 'channel.close', reply_code=200)


@case
def connections_are_closed_with_a_reason():
    with Vhost() as v:
        for headers, text in (({'X-Reason': 'enough of it'}, 'enough of it'),
                              ({}, 'Closed via management plugin')):
            conn = connect_to(v.name)
            row = eventually(lambda: admin.ok('GET', v('vhosts') + '/connections'),
                             'the connection is not shown')[0]
            admin.ok('DELETE', '/connections/' + enc(row['name']), status=204, headers=headers)
            conn.expect_close(0, 320, 'CONNECTION_FORCED - ' + text, 0, 0)
            eventually(lambda: not admin.ok('GET', v('vhosts') + '/connections'),
                       'the connection is still shown')
        missing('DELETE', '/connections/nope.' + TAG)


@case
def users_see_and_close_their_own_connections():
    with Vhost() as v, User('management', {v.name: ('.*', '.*', '.*')}) as user:
        other = connect_to(v.name)
        mine = connect_to(v.name, user.user)
        shown = eventually(lambda: user.ok('GET', '/connections'), 'the connection is not shown')
        equal([row['user'] for row in shown], [user.name], 'users')
        row = eventually(lambda: [c for c in admin.ok('GET', v('vhosts') + '/connections')
                                  if c['user'] == USER], 'the other is not shown')[0]
        answer = user('DELETE', '/connections/' + enc(row['name']))
        assert answer.status in (401, 404), answer
        user.ok('DELETE', '/connections/' + enc(shown[0]['name']), status=204)
        mine.expect_close(0, 320, 'CONNECTION_FORCED - Closed via management plugin', 0, 0)
        other.rpc(1, 'basic.qos', prefetch_count=1)


@case
def an_exclusive_queue_is_its_owners():
    with Vhost() as v:
        conn = connect_to(v.name)
        queue = conn.rpc(1, 'queue.declare', exclusive=True).queue
        got = admin.ok('GET', v('queues', queue))
        equal(got['exclusive'], True, 'exclusive')
        if BROKER == 'ringtail':
            equal(got['owner_pid_details']['peer_port'], conn.socket.getsockname()[1], 'owner')
        answer = admin('DELETE', v('queues', queue))
        assert answer.status == 400 and 'cannot obtain exclusive access' in answer.json['reason'], (
            answer)


# --- definitions ---

@case
def definitions_of_a_vhost_go_out_and_in():
    with Vhost() as v, Vhost() as other:
        admin.ok('PUT', v('exchanges', 'e'), {'type': 'topic', 'durable': True}, status=201)
        admin.ok('PUT', v('queues', 'q'), {'durable': True, 'arguments': {'x-max-length': 9}},
                 status=201)
        admin.ok('POST', v('bindings', 'e', 'e', 'q', 'q'), {'routing_key': 'k.#'}, status=201)
        admin.ok('PUT', v('policies', 'p'), {'pattern': '^q', 'definition': {'max-length': 5}},
                 status=201)
        out = admin.ok('GET', v('definitions'))
        equal([(q['name'], q['arguments']) for q in out['queues']], [('q', {'x-max-length': 9})],
              'queues')
        equal((out['queues'][0]['durable'], out['queues'][0]['auto_delete']), (True, False),
              'flags')
        assert 'vhost' not in out['queues'][0] and 'users' not in out, out
        admin.ok('POST', other('definitions'), out)
        same = admin.ok('GET', other('definitions'))
        for kind in ('queues', 'exchanges', 'bindings'):
            equal(same[kind], out[kind], kind)
        equal([p['name'] for p in same['policies']], ['p'], 'policies')
        whole = admin.ok('GET', '/definitions')
        assert {'name': 'q', 'vhost': v.name} in [
            {key: q[key] for key in ('name', 'vhost')} for q in whole['queues']]
        assert v.name in [vhost['name'] for vhost in whole['vhosts']]


@case
def definitions_come_as_a_form_too():
    with Vhost() as v:
        text = json.dumps({'queues': [{'name': 'q', 'vhost': v.name, 'durable': True,
                                       'auto_delete': False, 'arguments': {}}]})
        body = ('--limit\r\nContent-Disposition: form-data; name="file"; filename="d.json"\r\n'
                'Content-Type: application/json\r\n\r\n%s\r\n--limit--\r\n' % text)
        answer = admin('POST', '/definitions', body.encode(),
                       {'Content-Type': 'multipart/form-data; boundary=limit'})
        assert answer.status in (200, 204), answer
        equal(admin.ok('GET', v('queues', 'q'))['durable'], True, 'durable')


@case
def definitions_that_are_none_are_refused():
    for body in ('{', 'x', '[1]'):
        answer = admin('POST', '/definitions', body)
        equal((answer.status, answer.json['error']), (400, 'bad_request'), 'answer to %s' % body)
    answer = admin('GET', '/definitions?download=mine.json')
    assert 'mine.json' in answer.headers['Content-Disposition'], answer.headers


run(run_cases)
