"""librabbitmq's command line tools."""
import subprocess

from raw import *


def tool(name, *arguments, stdin=b'', code=0):
    done = subprocess.run(['amqp-' + name, '-u', URL, *arguments], input=stdin,
                          capture_output=True, timeout=DEADLINE * 2)
    assert done.returncode == code, 'amqp-%s ended with %d: %s' % (
        name, done.returncode, done.stderr.decode(errors='replace'))
    return done.stdout


@case
def declare_publish_get_consume_delete():
    queue = unique('tools')
    equal(tool('declare-queue', '-q', queue).decode().strip(), queue, 'declared')
    tool('publish', '-r', queue, '-b', 'hello', '-p', '-C', 'text/plain')
    equal(tool('get', '-q', queue), b'hello', 'got')
    tool('get', '-q', queue, code=2)  # its code for an empty queue
    for n in range(3):
        tool('publish', '-r', queue, '-b', 'm%d' % n)
    equal(tool('consume', '-q', queue, '-c', '3', 'cat'), b'm0m1m2', 'consumed')
    tool('publish', '-r', queue, '-b', 'last')
    equal(tool('delete-queue', '-q', queue).decode().strip(), '1', 'deleted messages')
    tool('get', '-q', queue, code=1)


@case
def bodies_of_many_frames_go_through():
    queue = unique('tools')
    tool('declare-queue', '-q', queue)
    body = bytes(range(256)) * 2000
    tool('publish', '-r', queue, stdin=body)
    assert tool('get', '-q', queue) == body, 'the body changed'


@case
def consume_binds_a_queue_of_its_own():
    exchange = unique('x')
    conn = connect()
    conn.rpc(1, 'exchange.declare', exchange=exchange, type='topic')
    consumer = subprocess.Popen(['amqp-consume', '-u', URL, '-e', exchange, '-r', 'a.#', '-c', '1',
                                 'cat'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        while consumer.poll() is None:  # until its binding is there
            conn.publish(1, exchange, 'a.b', 'bound', mandatory=True)
            conn.method(1, 'basic.qos')
            if conn.read().name == 'basic.qos-ok':
                break
            conn.expect('basic.qos-ok', 1)
        equal(consumer.communicate(timeout=DEADLINE)[0], b'bound', 'consumed')
    finally:
        consumer.kill()
        consumer.wait()


run_cases()
