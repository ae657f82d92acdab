"""Start, stop and limits of nodes of our own (only where run.py was given a program)."""
import subprocess

from raw import *
from node import Node, free_port

HAVE = 'ringtail' if BINARY else 'no program'


def start(*flags, **options):
    return Node(BINARY, *flags, slow=SLOW, **options)


def refuses(*command):
    """What the program prints as it refuses to start."""
    done = subprocess.run([BINARY, '--cluster-port', '0', *command],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=10 * SLOW)
    text = done.stdout.decode(errors='replace')
    assert done.returncode not in (0, None) and done.returncode > 0, \
        'exit code %s: %s' % (done.returncode, text)
    return text


@case(only=HAVE)
def sigterm_tells_clients_and_ends_with_0():
    with start() as node:
        conns = [connect(port=node.port) for _ in range(3)]
        queue = conns[0].queue(1, durable=False)
        conns[1].consume(1, queue)
        dial(port=node.port).send(HEADER[:3])
        node.process.terminate()
        for conn in conns:
            conn.expect_close(0, 320, "CONNECTION_FORCED - broker forced connection closure with "
                                      "reason 'shutdown'", 0, 0, answer=False)
        for conn in conns:
            conn.method(0, 'connection.close-ok')
            conn.expect_eof(10 * SLOW)
        equal(node.stop(), 0, 'exit code')


@case(only=HAVE)
def sigterm_does_not_wait_for_clients_that_do_not_answer():
    with start() as node:
        conns = [connect(port=node.port), dial(port=node.port), greet(port=node.port)]
        equal(node.stop(), 0, 'exit code')
        assert len(conns) == 3


@case(only=HAVE)
def the_handshake_has_a_deadline():
    with start(config='handshake_timeout = 500\n') as node:
        silent, started, tuned = (dial(port=node.port), dial(port=node.port),
                                  greet(port=node.port))
        started.send(HEADER)
        started.expect('connection.start', 0)
        done = connect(port=node.port)
        slow = dial(port=node.port)
        began = time.monotonic()
        try:
            for octet in HEADER + frame(METHOD, 0, encode_method('connection.start-ok')):
                slow.send(bytes([octet]))  # a byte now and then does not help
                if slow.ended_within(0.2):
                    break
        except Eof:
            pass
        for conn in (silent, started, tuned):
            conn.rest(3 * SLOW)  # ends, or this fails
        assert time.monotonic() - began < 5 * SLOW, 'connections outlive the deadline'
        done.rpc(1, 'basic.qos')
        equal(node.stop(), 0, 'exit code')


@case(only=HAVE)
def limits_of_the_config_are_offered():
    with start('--channel-max', '100', '--heartbeat', '30', config='frame_max = 16384\n') as node:
        tune = greet(port=node.port).tune
        equal((tune.channel_max, tune.frame_max, tune.heartbeat), (100, 16384, 30), 'tune')


@case(only=HAVE)
def a_message_above_the_limit_closes_the_channel():
    with start('--max-message-size', '1000') as node:
        conn = connect(port=node.port)
        queue = conn.queue(1)
        conn.publish(1, '', queue, b'x' * 1000)
        conn.publish(1, '', queue, b'x' * 1001)
        conn.expect_close(1, 406, 'PRECONDITION_FAILED - message size 1001 is larger than '
                                  'configured max size 1000', 'basic.publish')
        conn.open_channel(1)
        equal([len(body) for body in conn.drain(1, queue)], [1000], 'queue')


@case(only=HAVE)
def the_product_name_can_be_set():
    with start(config='product.name = RabbitMQ\n') as node:
        equal(greet(port=node.port).start.server_properties['product'], 'RabbitMQ', 'product')


@case(only=HAVE)
def guest_and_another_default_user():
    with start(config='default_user = alice\ndefault_pass = s3cret\n') as node:
        conn = dial(port=node.port)
        conn.send(HEADER)
        conn.expect('connection.start', 0)
        conn.method(0, 'connection.start-ok', mechanism='PLAIN', response=plain('alice', 's3cret'))
        conn.expect('connection.tune', 0)


@case(only=HAVE)
def what_the_operator_gets_wrong_is_named():
    assert '--no-such-flag' in refuses('--no-such-flag')
    assert 'amqp-port' in refuses('--amqp-port', '70000')
    assert '70000' in refuses('--amqp-port', '70000')
    with start(config='') as node:
        path = node._dir.name + '/bad.conf'
        with open(path, 'w', encoding='ascii') as out:
            out.write('no_such_key = 1\n')
        assert 'no_such_key' in refuses('--config', path, '--amqp-port', str(free_port()),
                                        '--data-dir', node._dir.name + '/x')
        text = refuses('--amqp-port', str(node.port), '--bind', '127.0.0.1', '--data-dir',
                       node._dir.name + '/y')
        assert str(node.port) in text, 'the port in use is not named: %s' % text


@case(only=HAVE)
def version_and_help_are_printed():
    for flag, word in (('--version', 'ringtail'), ('--help', '--amqp-port')):
        done = subprocess.run([BINARY, flag], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=10 * SLOW)
        equal(done.returncode, 0, 'exit code of %s' % flag)
        assert word in done.stdout.decode().lower(), '%s printed %r' % (flag, done.stdout)


@case(only=HAVE)
def the_log_says_what_listens_where_and_which_version():
    with start() as node:
        version = greet(port=node.port).start.server_properties['version']
        log = node.log()
        assert str(node.port) in log and '127.0.0.1' in log, 'no listener in %r' % log
        assert version in log, 'no version %s in %r' % (version, log)


run_cases()
