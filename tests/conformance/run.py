#!/usr/bin/python3
"""Runs the conformance scripts, NN-topic-behaviour.py and .mjs, against one broker.

  run.py --broker-binary build/ringtail       starts the node itself, on a free port
  run.py --url amqp://guest:guest@127.0.0.1:5682 --against rabbitmq      a broker that runs already

Arguments after the options are parts of script names: only those are run. Each script prints
`ok NAME` or `not ok NAME: why` per case; a script that ends badly or prints nothing is a failure of
its own. `skip NAME: why` is a case that cannot run here. The last line is `N passed, N failed`,
`, N skipped` where some were; the exit code is 1 when something failed.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from node import Node  # noqa: E402

INTERPRETERS = {'.py': '/usr/bin/python3', '.mjs': 'node'}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument('--broker-binary', metavar='FILE')
    which.add_argument('--url', metavar='amqp://USER:PASSWORD@HOST:PORT')
    parser.add_argument('--management', metavar='http://USER:PASSWORD@HOST:PORT', default='',
                        help='where the broker that --url names answers HTTP')
    parser.add_argument('--against', choices=['ringtail', 'rabbitmq'], metavar='BROKER',
                        default=os.environ.get('AGAINST') or 'ringtail',
                        help='which broker --url names: ringtail or rabbitmq')
    parser.add_argument('--build-dir', metavar='DIR',
                        default=os.path.join(HERE, '..', '..', 'build'),
                        help='where fetched client libraries are kept')
    parser.add_argument('--jobs', type=int, default=4, help='scripts that run at a time')
    parser.add_argument('--timeout', type=float, default=90, help='seconds for one script')
    parser.add_argument('--slow', type=float, default=1, help='factor for all deadlines')
    parser.add_argument('--log', metavar='FILE', help='output of the node, appended')
    parser.add_argument('only', nargs='*', help='parts of script names')
    return parser.parse_args()


def scripts(only):
    found = sorted(f for f in os.listdir(HERE) if re.match(r'\d\d-[a-z0-9-]+\.(py|mjs)$', f))
    return [f for f in found if not only or any(part in f for part in only)]


def run_script(name, environment, seconds):
    """(passed, failures, skipped, text to print)."""
    interpreter = INTERPRETERS[os.path.splitext(name)[1]]
    begin = time.monotonic()
    try:
        done = subprocess.run([interpreter, os.path.join(HERE, name)], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds)
        output, code = done.stdout.decode(errors='replace'), done.returncode
    except subprocess.TimeoutExpired as late:
        output, code = (late.stdout or b'').decode(errors='replace'), 'time-out'
    except OSError as error:
        output, code = '', str(error)
    passed = len(re.findall(r'^ok ', output, re.M))
    failures = len(re.findall(r'^not ok ', output, re.M))
    skipped = len(re.findall(r'^skip ', output, re.M))
    if code not in (0, 1) or (code == 1 and not failures) or not output:
        failures += 1
        output += 'not ok the script itself: ended with %s\n' % code
    return passed, failures, skipped, '# %s (%.1f s)\n%s' % (
        name, time.monotonic() - begin, output)


def run_all(options, url, management, pid):
    environment = dict(os.environ, CONFORMANCE_URL=url, CONFORMANCE_BROKER=options.against,
                       CONFORMANCE_MANAGEMENT=management,
                       CONFORMANCE_PID=str(pid), CONFORMANCE_SLOW=str(options.slow),
                       CONFORMANCE_BINARY=os.path.abspath(options.broker_binary or ''),
                       CONFORMANCE_BUILD=os.path.abspath(options.build_dir),
                       PYTHONDONTWRITEBYTECODE='1', PYTHONUNBUFFERED='1')
    if not options.broker_binary:
        environment['CONFORMANCE_BINARY'] = ''
    passed = failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(run_script, name, environment, options.timeout * options.slow)
                for name in scripts(options.only)]
        for job in concurrent.futures.as_completed(jobs):
            good, bad, unfit, text = job.result()
            passed, failed, skipped = passed + good, failed + bad, skipped + unfit
            print(text, end='', flush=True)
    return passed, failed, skipped


def run_node(options):
    """The node for the whole run; that it lives and ends well are two cases more."""
    with Node(options.broker_binary, slow=options.slow, logs_to=options.log) as node:
        passed, failed, skipped = run_all(
            options, 'amqp://guest:guest@127.0.0.1:%d' % node.port, node.management_url(),
            node.pid)
        if node.process.poll() is None:
            print('ok the node outlives all scripts')
            code = node.stop()
            good = code == 0
            print('ok SIGTERM ends the node with exit code 0' if good else
                  'not ok SIGTERM ends the node with exit code 0: %s' % (
                      'it still runs after 10 s' if code is None else 'exit code %d' % code))
            passed, failed = passed + 1 + good, failed + (not good)
        else:
            print('not ok the node outlives all scripts: exit code %d' % node.process.returncode)
            failed += 1
        if failed and not options.log:
            print('# last lines of the node\n%s' % node.log()[-4000:])
    return passed, failed, skipped


def main():
    options = arguments()
    begin = time.monotonic()
    try:
        passed, failed, skipped = run_node(options) if options.broker_binary else run_all(
            options, options.url, options.management, 0)
    except (AssertionError, OSError) as error:
        print('not ok the node starts: %s' % error)
        passed, failed, skipped = 0, 1, 0
    print('# %.1f s' % (time.monotonic() - begin))
    print('%d passed, %d failed%s' % (passed, failed, ', %d skipped' % skipped if skipped else ''))
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
