"""A definitions file that a node of our own is started with (only where run.py was given a
program)."""
import json
import subprocess
import tempfile

from raw import *
from node import Node

HAVE = 'ringtail' if BINARY else 'no program'

DEFINITIONS = {
    'rabbit_version': '3.10.8',
    'users': [{'name': 'app', 'password': 'secret', 'tags': ['administrator']},
              {'name': 'hashed', 'tags': '',  # the password is test12
               'password_hash': 'kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR'}],
    'vhosts': [{'name': 'shop'}],
    'permissions': [{'user': user, 'vhost': 'shop', 'configure': '.*', 'write': '.*', 'read': '.*'}
                    for user in ('app', 'hashed')] +
                   [{'user': 'app', 'vhost': 'nowhere', 'configure': '', 'write': '', 'read': ''}],
    'exchanges': [{'name': 'x', 'vhost': 'shop', 'type': 'fanout', 'durable': True,
                   'auto_delete': False, 'internal': False, 'arguments': {}}],
    'queues': [{'name': 'q', 'vhost': 'shop', 'durable': True, 'auto_delete': False,
                'arguments': {'x-max-length': 5}},
               {'name': 'old', 'vhost': 'shop', 'durable': True, 'auto_delete': False,
                'arguments': {'x-max-length': 'many'}},
               {'name': 'log', 'vhost': 'shop', 'durable': True, 'auto_delete': False,
                'arguments': {'x-queue-type': 'stream'}}],
    'bindings': [{'source': 'x', 'vhost': 'shop', 'destination': 'q', 'destination_type': 'queue',
                  'routing_key': '', 'arguments': {}},
                 {'source': 'x', 'vhost': 'shop', 'destination': 'log', 'destination_type': 'queue',
                  'routing_key': '', 'arguments': {}}],
}


def file_of(text):
    file = tempfile.NamedTemporaryFile('w', suffix='.json')
    file.write(text)
    file.flush()
    return file


@case(only=HAVE)
def all_that_can_be_honoured_is_there_before_the_first_client():
    with file_of(json.dumps(DEFINITIONS)) as file, \
            Node(BINARY, '--definitions', file.name, slow=SLOW) as node:
        for user, password in (('app', 'secret'), ('hashed', 'test12')):
            conn = connect(port=node.port, user=user, password=password, vhost='shop')
            equal(conn.rpc(1, 'queue.declare', queue='q', passive=True).message_count, 0, 'queue')
            conn.close()
        log = node.log()
        for line in ("queue 'log' in vhost 'shop': ", "queue 'old' in vhost 'shop': ",
                     "permissions of user 'app' in vhost 'nowhere': there is no such vhost",
                     "binding of queue 'log' to exchange 'x' with key '' in vhost 'shop': there is "
                     'no such queue or exchange to bind', '4 problems'):
            assert line in log, 'no %r in %r' % (line, log)


@case(only=HAVE)
def a_file_that_is_none_stops_the_start():
    for text, why in (('{"users": [', 'not JSON at line 1, column 11'), ('[]', 'no definitions')):
        with file_of(text) as file, tempfile.TemporaryDirectory() as data:
            done = subprocess.run([BINARY, '--amqp-port', '0', '--management-port', '0',
                                   '--cluster-port', '0', '--data-dir', data,
                                   '--definitions', file.name],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=10 * SLOW)
            said = done.stdout.decode(errors='replace')
            assert done.returncode > 0, 'exit code %s: %s' % (done.returncode, said)
            assert why in said and file.name in said, said


run_cases()
