"""The limit of the free disk space: publishers wait, consumers go on, and it ends by itself."""
import base64
import http.client
import json
import subprocess
from urllib.parse import urlsplit

from raw import *
from node import Node

HAVE = 'ringtail' if BINARY else 'no program'
CTL = os.path.join(os.environ.get('CONFORMANCE_BUILD', ''), 'ringtailctl')
# More than any disk has.
IMPOSSIBLE = '8000000TB'


def start(*flags, **options):
    return Node(BINARY, *flags, slow=SLOW, **options)


def http_call(node, method, path, body=None):
    where = urlsplit(node.management_url())
    conn = http.client.HTTPConnection(where.hostname, where.port, timeout=DEADLINE * 2)
    try:
        conn.request(method, '/api' + path, json.dumps(body) if body is not None else None,
                     {'Authorization': 'Basic ' + base64.b64encode(b'guest:guest').decode()})
        answer = conn.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    finally:
        conn.close()


def facts(node):
    status, nodes = http_call(node, 'GET', '/nodes')
    equal(status, 200, 'GET /nodes')
    return nodes[0]


def set_limit(node, body):
    status, answer = http_call(node, 'PUT', '/nodes/%s/disk-free-limit' % facts(node)['name'], body)
    equal((status, answer), (204, None), 'PUT disk-free-limit')


def publish_until_blocked(conn, queue, reason):
    """How many were published when connection.blocked came."""
    count = 0
    while True:
        count += 1
        conn.publish(1, '', queue, 'm%d' % count)
        conn.method(1, 'basic.qos')
        got = conn.read()
        if got.name == 'connection.blocked':
            equal(got.reason, reason, 'reason')
            return count


@case(only=HAVE)
def publishers_wait_and_consumers_go_on_until_the_limit_is_lowered():
    with start(config='disk_free_limit.absolute = %s\n' % IMPOSSIBLE) as node:
        publisher, consumer = connect(port=node.port), connect(port=node.port)
        queue = consumer.queue(1)
        count = publish_until_blocked(publisher, queue, 'low on disk')
        equal(count, 1, 'publishes until the alarm')
        consumer.consume(1, queue, no_ack=True)
        consumer.deliver(1, b'm1')
        publisher.publish(1, '', queue, 'later')
        consumer.rpc(1, 'basic.qos')  # it is served, and nothing has come
        seen = facts(node)
        equal((seen['disk_free_alarm'], seen['mem_alarm']), (True, False), 'alarms')
        equal(seen['disk_free_limit'], 8000000 * 10 ** 12, 'limit')
        assert 0 < seen['disk_free'] < seen['disk_free_limit'], seen['disk_free']
        set_limit(node, {'absolute': '1MB'})
        got = publisher.read()
        while got.name == 'basic.qos-ok':
            got = publisher.read()
        equal(got.name, 'connection.unblocked', 'method')
        consumer.deliver(1, b'later')
        equal((facts(node)['disk_free_alarm'], facts(node)['disk_free_limit']), (False, 1000000),
              'after')
        for line in ('free space is low: ', 'publishers are blocked', 'publishers go on'):
            assert line in node.log(), node.log()[-1500:]


@case(only=HAVE)
def a_running_node_is_given_an_impossible_limit():
    with start() as node:
        publisher = connect(port=node.port)
        queue = publisher.queue(1)
        publisher.publish(1, '', queue, 'x')
        publisher.rpc(1, 'basic.qos')
        equal(facts(node)['disk_free_limit'], 50000000, 'default')
        set_limit(node, {'mem_relative': 900000.5})
        publish_until_blocked(publisher, queue, 'low on disk')
        name = facts(node)['name']
        alarm = [{'node': name, 'resource': 'disk'}]
        for check in ('alarms', 'local-alarms'):
            status, body = http_call(node, 'GET', '/health/checks/' + check)
            equal((status, body['status'], body['alarms']), (503, 'failed', alarm), check)
        equal(http_call(node, 'GET', '/healthchecks/node')[1],
              {'status': 'failed', 'reason': 'resource alarm(s) in effect:[disk]'}, 'old check')
        for wrong in ({}, {'absolute': 'much'}, {'absolute': -1}, {'mem_relative': 0},
                      {'absolute': 1, 'mem_relative': 1}):
            equal(http_call(node, 'PUT', '/nodes/%s/disk-free-limit' % name, wrong)[0], 400,
                  str(wrong))
        equal(facts(node)['disk_free_alarm'], True, 'after what is wrong')


@case(only=HAVE)
def the_watermark_of_a_running_node_changes():
    with start() as node:
        publisher = connect(port=node.port)
        queue = publisher.queue(1)
        path = '/nodes/%s/vm-memory-high-watermark' % facts(node)['name']
        equal(http_call(node, 'PUT', path, {'absolute': 1})[0], 204, 'PUT')
        publish_until_blocked(publisher, queue, 'low on memory')
        equal((facts(node)['mem_alarm'], facts(node)['mem_limit']), (True, 1), 'alarm')
        equal(http_call(node, 'PUT', path, {'relative': 1.5})[0], 400, 'PUT')
        equal(http_call(node, 'PUT', path, {'relative': 0.4})[0], 204, 'PUT')
        got = publisher.read()
        while got.name == 'basic.qos-ok':
            got = publisher.read()
        equal(got.name, 'connection.unblocked', 'method')


@case(only=HAVE if os.path.exists(CTL) else 'no ringtailctl')
def the_tool_sets_limits_and_shows_the_alarm():
    def ctl(*words, code=0):
        done = subprocess.run([CTL, '--url', node.management_url(), *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20 * SLOW)
        equal(done.returncode, code, 'exit code of %s: %s' % (words, done.stdout))
        return done.stdout.decode()

    with start() as node:
        # Something that is held: an idle node may use no counted memory at all.
        publisher = connect(port=node.port)
        queue = publisher.queue(1)
        publisher.publish(1, '', queue, 'held')
        publisher.counts(1, queue, 1)
        ctl('check_alarms')
        ctl('set_disk_free_limit', IMPOSSIBLE)
        equal(json.loads(ctl('-q', 'status', '--formatter', 'json'))['alarms'], ['disk'], 'alarms')
        assert 'Low free disk space watermark: 8000000000.0000 gb' in ctl('status'), ctl('status')
        ctl('check_local_alarms', code=69)
        ctl('set_disk_free_limit', 'mem_relative', '0.00001')
        ctl('check_alarms')
        publisher = connect(port=node.port)
        publisher.publish(1, '', publisher.queue(1), 'something in memory')
        publisher.rpc(1, 'basic.qos')
        ctl('set_vm_memory_high_watermark', 'absolute', '1')
        equal(json.loads(ctl('-q', 'status', '--formatter', 'json'))['alarms'], ['memory'],
              'alarms')
        ctl('set_vm_memory_high_watermark', '0.5')
        ctl('check_alarms')
        ctl('set_disk_free_limit', 'much', code=69)


run_cases()
