"""What ringtailctl says of the data directory of a node that does not run."""
import base64
import json
import subprocess

from raw import *
from lasting import *

CTL = os.path.join(os.environ.get('CONFORMANCE_BUILD', ''), 'ringtailctl')
HAVE = HAVE if os.path.exists(CTL) else 'no ringtailctl'


def ctl(*arguments):
    """(exit code, standard output, standard error)."""
    done = subprocess.run([CTL, '--quiet', *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=30 * SLOW)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def exported(kept, *arguments):
    code, out, err = ctl('export_messages', kept.path, *arguments)
    equal((code, err), (0, ''), 'exit code and errors')
    return [json.loads(line) for line in out.splitlines()]


def bodies_in(messages):
    return [base64.b64decode(m['payload']) if m['payload_encoding'] == 'base64'
            else m['payload'].encode() for m in messages]


@case(only=HAVE)
def a_running_node_is_left_alone():
    with Lasting() as kept:
        for command in (('check_data', kept.path), ('export_messages', kept.path, 'q')):
            code, out, err = ctl(*command)
            equal((code, out), (2, ''), 'exit code and output')
            assert 'a node runs on the data directory ' + kept.path in err, err
        kept.connect().rpc(1, 'basic.qos')


@case(only=HAVE)
def what_is_exported_is_what_the_next_start_has():
    for kill in (False, True):
        with Lasting() as kept:
            conn = kept.connect()
            durable(conn, 1, 'work')
            durable(conn, 1, 'ranked', x_max_priority=4)
            publish(conn, 1, 'work', ['old %d' % number for number in range(300)])
            conn = kept.again(kill=kill)  # so that some are in segments
            for _ in range(3):
                conn.rpc(1, 'basic.get', queue='work', no_ack=True)
            publish_all(conn, 1, [('', 'work', b'\0\xff', properties(
                delivery_mode=2, headers={'n': 5, 't': {'s': 'x'}}, expiration='3600000'))])
            publish_all(conn, 1, [('', 'ranked', '%d' % rank, properties(
                delivery_mode=2, priority=rank)) for rank in (1, 4, 2, 9, 0)])
            kept.stop(kill)
            code, out, _ = ctl('check_data', kept.path)
            equal(code, 0, 'exit code of check_data: ' + out)
            assert '2 queues' in out and '303 messages: no damage' in out, out
            work, ranked = exported(kept, 'work'), exported(kept, 'ranked')
            equal(work, exported(kept, '--directory', directory_name('work')), 'by directory')
            equal(work[-1]['properties'], {'headers': {'n': 5, 't': {'s': 'x'}},
                                           'delivery_mode': 2, 'expiration': '3600000'},
                  'properties')
            assert 0 < work[-1]['expires_at'] / 1000 - time.time() < 3600, work[-1]
            kept.start()
            conn = kept.connect()
            for queue, messages in (('work', work), ('ranked', ranked)):
                got = take_all(conn, 1, queue)
                equal(bodies_in(messages), [m.body for m in got], queue)
                equal([m['redelivered'] for m in messages], [m.redelivered for m in got],
                      'redelivered in ' + queue)


@case(only=HAVE)
def damage_is_found_and_the_rest_exported():
    with Lasting() as kept:
        conn = kept.connect()
        durable(conn, 1, 'work')
        publish(conn, 1, 'work', ['body %d' % number for number in range(300)])
        kept.again()
        deadline = time.monotonic() + DEADLINE
        while not kept.segments('work'):
            assert time.monotonic() < deadline, 'no segment comes'
            select.select([], [], [], 0.01)
        kept.stop()
        segment = kept.segments('work')[0]
        with open(segment, 'r+b') as file:
            file.seek(file.read().index(b'body 7'))
            file.write(b'B')
        code, out, _ = ctl('check_data', kept.path)
        assert code == 1 and 'damage: %s' % segment in out and '1 damage\n' in out, out
        code, out, err = ctl('export_messages', kept.path, 'work')
        assert code == 1 and 'damage: %s' % segment in err, err
        equal(bodies_in([json.loads(line) for line in out.splitlines()]),
              [b'body %d' % number for number in range(300) if number != 7], 'the others')


run_cases()
