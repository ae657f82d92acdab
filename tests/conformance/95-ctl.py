"""ringtailctl over the management port: the same commands, options, output and exit codes whatever
broker answers it (needs CONFORMANCE_MANAGEMENT, and ringtailctl in CONFORMANCE_BUILD)."""
import json
import re
import subprocess

from raw import *

MANAGEMENT = os.environ.get('CONFORMANCE_MANAGEMENT', '')
CTL = os.path.join(os.environ.get('CONFORMANCE_BUILD', ''), 'ringtailctl')
HAVE = BROKER if MANAGEMENT and os.path.exists(CTL) else 'no ringtailctl, or no management port'


def ctl(*words, code=0, input='', url=MANAGEMENT, program=CTL):
    """What it prints, errors behind the output; its exit code has to be `code`."""
    done = subprocess.run([program, '--url', url, *words], input=input.encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20 * SLOW)
    text = done.stdout.decode() + done.stderr.decode()
    equal(done.returncode, code, 'exit code of %s, which printed %r' % (' '.join(words), text))
    return text


class Vhost:
    """A vhost of the case's own, in which guest may do all."""

    def __enter__(self):
        self.name = unique('conf.ctl')
        ctl('-q', 'add_vhost', self.name)
        ctl('-q', 'set_permissions', '-p', self.name, 'guest', '.*', '.*', '.*')
        return self

    def __exit__(self, *_):
        subprocess.run([CTL, '--url', MANAGEMENT, '-q', 'delete_vhost', self.name],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20 * SLOW)

    def ctl(self, *words, **options):
        return ctl(*words, '-p', self.name, **options)

    def declare(self):
        """Through definitions, which is the only way in that needs no connection."""
        made = {'exchanges': [{'name': 'x', 'type': 'topic', 'durable': True, 'auto_delete': False,
                               'internal': False, 'arguments': {}}],
                'queues': [{'name': 'q', 'durable': True, 'auto_delete': False,
                            'arguments': {'x-max-length': 10, 'x-overflow': 'drop-head'}},
                           {'name': 'r', 'durable': True, 'auto_delete': False, 'arguments': {}}],
                'bindings': [{'source': 'x', 'destination': 'q', 'destination_type': 'queue',
                              'routing_key': 'a.#', 'arguments': {}}]}
        self.ctl('-q', 'import_definitions', '-', input=json.dumps(made))


@case(only=HAVE)
def users_and_their_passwords():
    name = unique('conf-ctl')
    equal(ctl('add_user', name, 'first'),
          'Adding user "%s" ...\nDone. Don\'t forget to grant the user permissions to some virtual '
          'hosts! See \'rabbitmqctl help set_permissions\' to learn more.\n' % name, 'add_user')
    try:
        equal(ctl('-q', 'add_user', name, 'x', code=70),
              'Error:\nUser "%s" already exists\n' % name, 'add_user again')
        equal(ctl('authenticate_user', name, 'first'),
              'Authenticating user "%s" ...\nSuccess\n' % name, 'authenticate_user')
        equal(ctl('-q', 'authenticate_user', name, 'second', code=65),
              'Error:\nError: failed to authenticate user "%s"\nuser \'%s\' - invalid credentials\n'
              % (name, name), 'authenticate_user with a wrong password')
        equal(ctl('change_password', name, 'second'),
              'Changing password for user "%s" ...\n' % name, 'change_password')
        ctl('-q', 'authenticate_user', name, 'second')
        equal(ctl('set_user_tags', name, 'monitoring', 'policymaker'),
              'Setting tags for user "%s" to [monitoring, policymaker] ...\n' % name, 'tags')
        ctl('-q', 'authenticate_user', name, 'second')
        assert '%s\t[monitoring, policymaker]\n' % name in ctl('-q', 'list_users'), 'list_users'
        row = [u for u in json.loads(ctl('-q', 'list_users', '--formatter', 'json'))
               if u['user'] == name]
        equal(row, [{'user': name, 'tags': ['monitoring', 'policymaker']}], 'list_users in JSON')
        equal(ctl('clear_password', name), 'Clearing password for user "%s" ...\n' % name, 'clear')
        ctl('-q', 'authenticate_user', name, 'second', code=65)
        ctl('-q', 'add_user', unique('conf-ctl'), code=65)
    finally:
        equal(ctl('delete_user', name), 'Deleting user "%s" ...\n' % name, 'delete_user')
    equal(ctl('-q', 'delete_user', name, code=67), 'Error:\nUser "%s" does not exist\n' % name,
          'delete_user again')


@case(only=HAVE)
def permissions():
    name = unique('conf-ctl')
    with Vhost() as vhost:
        ctl('-q', 'add_user', name, 'x')
        try:
            equal(vhost.ctl('set_permissions', name, '^a', '', '.*'),
                  'Setting permissions for user "%s" in vhost "%s" ...\n' % (name, vhost.name),
                  'set_permissions')
            equal(ctl('list_user_permissions', name),
                  'Listing permissions for user "%s" ...\nvhost\tconfigure\twrite\tread\n'
                  '%s\t^a\t\t.*\n' % (name, vhost.name), 'list_user_permissions')
            equal(vhost.ctl('-s', 'list_permissions'),
                  ''.join(sorted(['guest\t.*\t.*\t.*\n', '%s\t^a\t\t.*\n' % name])), 'list')
            vhost.ctl('-q', 'set_topic_permissions', name, 'amq.topic', '^w', '^r')
            equal(vhost.ctl('-q', 'list_topic_permissions'),
                  'user\texchange\twrite\tread\n%s\tamq.topic\t^w\t^r\n' % name, 'topic')
            vhost.ctl('-q', 'clear_topic_permissions', name)
            vhost.ctl('-q', 'clear_permissions', name)
            equal(vhost.ctl('-s', 'list_permissions'), 'guest\t.*\t.*\t.*\n', 'list after clear')
            vhost.ctl('-q', 'set_permissions', 'no-such-user', 'a', 'b', 'c', code=67)
            ctl('-q', 'set_permissions', '-p', 'no-such-vhost', name, 'a', 'b', 'c', code=65)
        finally:
            ctl('-q', 'delete_user', name)


@case(only=HAVE)
def vhosts_belong_to_nobody_at_first():
    name = unique('conf.ctl')
    equal(ctl('add_vhost', name, '--description', 'A test', '--tags', 'a,b'),
          'Adding vhost "%s" ...\n' % name, 'add_vhost')
    try:
        equal(ctl('-s', 'list_permissions', '-p', name), '', 'permissions')
        assert '%s\tA test\t[a, b]\n' % name in ctl('-s', 'list_vhosts', 'name', 'description',
                                                     'tags'), 'list_vhosts'
        equal(ctl('-q', 'add_vhost', name), '', 'add_vhost again')
    finally:
        ctl('-q', 'delete_vhost', name)
    equal(ctl('-q', 'delete_vhost', name, code=65),
          "Error:\nVirtual host '%s' does not exist\n" % name, 'delete_vhost again')


@case(only=HAVE)
def limits():
    with Vhost() as vhost:
        equal(vhost.ctl('set_vhost_limits', '{"max-queues":5}'),
              'Setting vhost limits to "{"max-queues":5}" for vhost "%s" ...\n' % vhost.name, 'set')
        equal(vhost.ctl('-q', 'list_vhost_limits'), '{"max-queues":5}\n', 'list')
        vhost.ctl('-q', 'set_vhost_limits', '{"max-cats":5}', code=69)
        vhost.ctl('-q', 'set_vhost_limits', 'no JSON', code=69)
        equal(vhost.ctl('clear_vhost_limits'), 'Clearing vhost "%s" limits ...\n' % vhost.name,
              'clear')


@case(only=HAVE)
def policies():
    with Vhost() as vhost:
        equal(vhost.ctl('set_policy', 'p', '^q', '{"max-length":5}', '--priority', '3',
                        '--apply-to', 'queues'),
              'Setting policy "p" for pattern "^q" to "{"max-length":5}" with priority "3" for '
              'vhost "%s" ...\n' % vhost.name, 'set_policy')
        equal(vhost.ctl('-q', 'list_policies'),
              'vhost\tname\tpattern\tapply-to\tdefinition\tpriority\n'
              '%s\tp\t^q\tqueues\t{"max-length":5}\t3\n' % vhost.name, 'list_policies')
        equal(vhost.ctl('-q', 'set_policy', 'p', 'a', '{"no-such-key":5}', code=69),
              'Error:\nValidation failed\n\n[{<<"no-such-key">>,5}] are not recognised policy '
              'settings\n\n', 'an unknown key')
        equal(vhost.ctl('-q', 'set_policy', 'p', 'a', '{}', code=69),
              'Error:\nValidation failed\n\nno policy provided\n\n', 'an empty definition')
        vhost.ctl('-q', 'set_policy', 'p', 'a', 'no JSON', code=69)
        vhost.ctl('-q', 'clear_policy', 'p')
        equal(vhost.ctl('-q', 'clear_policy', 'p', code=69), 'Error:\nParameter does not exist\n',
              'clear_policy again')
        vhost.ctl('-q', 'set_operator_policy', 'o', '.*', '{"expires":1000000}')
        equal(vhost.ctl('-s', 'list_operator_policies'),
              '%s\to\t.*\tall\t{"expires":1000000}\t0\n' % vhost.name, 'list_operator_policies')
        vhost.ctl('-q', 'clear_operator_policy', 'o')


@case(only=HAVE)
def lists_of_what_is_declared():
    with Vhost() as vhost:
        vhost.declare()
        until = time.monotonic() + 20 * SLOW  # RabbitMQ's statistics come late
        while '\t0' not in vhost.ctl('-q', 'list_queues') and time.monotonic() < until:
            pass
        equal(vhost.ctl('list_queues'),
              'Timeout: 60.0 seconds ...\nListing queues for vhost %s ...\nname\tmessages\nq\t0\n'
              'r\t0\n' % vhost.name, 'list_queues')
        equal(vhost.ctl('-q', 'list_queues', 'name', 'durable', 'arguments', 'policy', 'exclusive'),
              'name\tdurable\targuments\tpolicy\texclusive\n'
              'q\ttrue\t[{"x-max-length",10},{"x-overflow","drop-head"}]\t\tfalse\n'
              'r\ttrue\t[]\t\tfalse\n', 'columns')
        equal(json.loads(vhost.ctl('list_queues', 'name', 'arguments', '--formatter', 'json')),
              [{'name': 'q', 'arguments': {'x-max-length': 10, 'x-overflow': 'drop-head'}},
               {'name': 'r', 'arguments': {}}], 'JSON')
        equal(vhost.ctl('list_queues', 'name', 'messages', '--formatter', 'csv'),
              '"name","messages"\n"q","0"\n"r","0"\n', 'CSV')
        assert 'x\ttopic\ttrue\n' in vhost.ctl('-q', 'list_exchanges', 'name', 'type', 'durable')
        assert 'x\texchange\tq\tqueue\ta.#\t[]\n' in vhost.ctl('-q', 'list_bindings'), 'bindings'
        assert '\texchange\tq\tqueue\tq\t[]\n' in vhost.ctl('-q', 'list_bindings'), 'implied'
        equal(vhost.ctl('-q', 'list_consumers'), '', 'consumers')
        equal(vhost.ctl('purge_queue', 'q'), "Purging queue 'q' in vhost '%s' ...\n" % vhost.name,
              'purge_queue')
        equal(vhost.ctl('delete_queue', 'q', '--if-empty'),
              "Deleting queue 'q' on vhost '%s' if queue is empty ...\n"
              'Queue was successfully deleted with 0 ready messages\n' % vhost.name, 'delete_queue')
        equal(vhost.ctl('-q', 'delete_queue', 'q', code=64), 'Error:\nQueue not found\n', 'again')
        ctl('-q', 'list_queues', '-p', 'no-such-vhost', code=65)


@case(only=HAVE)
def a_connection_is_listed_and_closed():
    conn = connect()
    wanted = conn.socket.getsockname()[1]

    def rows():
        return [row.split('\t') for row in
                ctl('-s', 'list_connections', 'peer_port', 'pid', 'user', 'state').splitlines()]
    # RabbitMQ's statistics come late.
    until = time.monotonic() + 20 * SLOW
    mine = []
    while not mine and time.monotonic() < until:
        mine = [row for row in rows() if row[0] == str(wanted)]
    equal([row[2:] for row in mine], [['guest', 'running']], 'list_connections')
    ctl('-q', 'close_connection', mine[0][1], 'because')
    conn.expect_close(0, 320, 'CONNECTION_FORCED - because', 0, 0)


@case(only=HAVE)
def definitions_out_and_in():
    with Vhost() as vhost, Vhost() as other:
        vhost.declare()
        text = vhost.ctl('export_definitions', '-')
        other.ctl('-q', 'import_definitions', '-', input=text)
        equal(other.ctl('-q', 'list_queues', 'name', 'arguments'),
              vhost.ctl('-q', 'list_queues', 'name', 'arguments'), 'queues')
        ctl('-q', 'import_definitions', '-', input='no JSON', code=65)
        ctl('-q', 'import_definitions', '/no/such/file', code=65)
        whole = json.loads(ctl('export_definitions', '-'))
        assert {'users', 'vhosts', 'queues', 'bindings'} <= set(whole), sorted(whole)


@case(only=HAVE)
def checks():
    equal(ctl('-q', 'ping'), 'Ping succeeded\n', 'ping')
    ctl('-q', 'check_running')
    ctl('-q', 'check_local_alarms')
    ctl('-q', 'check_port_connectivity')
    ctl('-q', 'check_port_listener', '1', code=69)
    ctl('-q', 'await_startup')
    assert 'RabbitMQ version: ' in ctl('-q', 'status'), 'status'
    node = json.loads(ctl('status', '--formatter', 'json'))
    assert node['rabbitmq_version'] and node['listeners'], node
    cluster = json.loads(ctl('cluster_status', '--formatter', 'json'))
    equal(len(cluster['running_nodes']), 1, 'running nodes')
    equal(cluster['disk_nodes'], cluster['running_nodes'], 'disk nodes')
    equal((cluster['ram_nodes'], cluster['partitions']), ([], {}), 'ram nodes, partitions')
    name, = cluster['running_nodes']
    assert cluster['versions'][name]['rabbitmq_version'] == node['rabbitmq_version'], cluster
    assert '\nRunning Nodes\n\n%s\n' % name in ctl('cluster_status'), 'cluster_status'
    equal(ctl('-q', 'await_online_nodes', '1'), '', 'await_online_nodes')
    assert '1 of 2 nodes run' in ctl('-q', 'await_online_nodes', '2', '-t', '1', code=75)


@case(only=HAVE)
def nodes_leave_only_when_they_are_down():
    name, = json.loads(ctl('cluster_status', '--formatter', 'json'))['running_nodes']
    assert 'is the one that was asked' in ctl('-q', 'forget_cluster_node', name, code=69)
    equal(ctl('-q', 'forget_cluster_node', 'no@where', code=69),
          'Error:\nThe node selected is not in the cluster.\n', 'of no node')
    for command in (['join_cluster', name], ['reset'], ['force_reset'], ['force_boot']):
        assert 'has to be stopped first' in ctl(*command, code=70), command
    ctl('-q', 'ping')
    with Vhost() as vhost:
        vhost.declare()
        equal(vhost.ctl('-s', 'list_queues', 'name', 'node', 'state'),
              'q\t%s\trunning\nr\t%s\trunning\n' % (name, name), 'where queues live')
        equal(vhost.ctl('-s', 'list_queues', '--local', 'name'), 'q\nr\n', 'local queues')
        equal(vhost.ctl('-s', 'list_queues', '--offline', 'name'), '', 'queues that are down')


@case(only=HAVE)
def usage_errors_and_nobody_there():
    equal(ctl('list_queue', code=64), "\nCommand 'list_queue' not found. \nDid you mean "
          "'list_queues'? \n\n", 'an unknown command')
    assert ctl('list_queues', 'bogus', code=64).startswith(
        'Error (argument validation): Info key(s) bogus are not supported\n'), 'an unknown column'
    ctl('add_vhost', code=64)
    ctl('list_users', '--bogus', code=64)
    assert 'http://127.0.0.1:1' in ctl('-q', 'list_users', url='http://127.0.0.1:1', code=69)
    ctl('-q', 'list_users', url=re.sub('//.*@', '//guest:wrong@', MANAGEMENT), code=69)


run_cases()
