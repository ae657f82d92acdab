"""Celery (Debian's python3-celery): worker processes, retries, countdowns, priorities, results by
rpc://. CONFORMANCE_TASKS is the number of tasks of the long case, 200 by default."""
import subprocess
import tempfile
from datetime import datetime, timedelta, timezone

from celery.result import ResultSet

from raw import *

STEM = unique('celery')
os.environ['CONFORMANCE_CELERY'] = STEM
os.environ.setdefault('CONFORMANCE_URL', URL)
import celery_app  # noqa: E402  (it reads the environment)
from celery_app import add, app, echo, fail, rank, stubborn  # noqa: E402

TASKS = int(os.environ.get('CONFORMANCE_TASKS') or 200)
PATIENCE = 60 * SLOW  # for one result: a worker needs seconds to start


class Worker:
    """A worker process while the block lasts; what it printed is shown if the case fails."""

    def __init__(self, queue, concurrency=1, prefetch=4):
        self._log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'celery', '-A', 'celery_app', 'worker', '-Q', queue, '-c',
             str(concurrency), '--prefetch-multiplier', str(prefetch), '-n',
             '%s@localhost' % queue, '-l', 'INFO'],
            cwd=os.path.dirname(os.path.abspath(__file__)), stdin=subprocess.DEVNULL,
            stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True,
            env=dict(os.environ, PYTHONDONTWRITEBYTECODE='1', C_FORCE_ROOT='1'))

    def kill(self):
        """With its children, and without a farewell to the broker."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.kill()
        if kind:
            self._log.seek(0)
            for line in self._log.read().decode(errors='replace').splitlines()[-15:]:
                print('# %s' % line)
        self._log.close()


def result(task):
    return task.get(timeout=PATIENCE)


def patient(case_deadline):
    signal.setitimer(signal.ITIMER_REAL, case_deadline)


@case
def tasks_results_failures_retries_and_countdowns():
    patient(PATIENCE)
    with Worker(celery_app.MAIN, concurrency=2) as worker:
        equal(result(add.delay(2, 3)), 5, 'result')
        for value in ('ünïcødé ✓', {'a': [1, None, 2.5]}, 'x' * 300000):
            equal(result(echo.delay(value)), value, 'result')
        try:
            result(fail.delay('as expected'))
            raise AssertionError('a failed task succeeded')
        except ValueError as error:
            equal(str(error), 'as expected', 'error')
        tries = [stubborn.delay(n) for n in (0, 1, 3, 5)]
        equal([result(task) for task in tries], [0, 1, 3, 5], 'retries')
        begin = time.monotonic()
        later = add.apply_async((1, 1), countdown=1)
        at = add.apply_async((2, 2), eta=datetime.now(timezone.utc) + timedelta(seconds=1))
        now = add.delay(3, 3)
        equal((result(now), result(later), result(at)), (6, 2, 4), 'results')
        assert time.monotonic() - begin >= 0.9, 'a countdown of a second was over too early'
        equal(list(app.control.ping(timeout=PATIENCE, limit=1)[0].values()), [{'ok': 'pong'}],
              'answer to a ping')
        # What a worker has reserved for later goes back to the queue when it is gone.
        far = add.apply_async((1, 1), countdown=3600)
        equal(result(add.delay(4, 4)), 8, 'result')
        worker.kill()
        conn = connect()
        deadline = time.monotonic() + DEADLINE
        while conn.passive(1, celery_app.MAIN)[1]:
            assert time.monotonic() < deadline, 'the worker is still there'
        left = {}
        while far.id not in left:
            got = conn.rpc(1, 'basic.get', queue=celery_app.MAIN, no_ack=True)
            if got.name == 'basic.get-ok':
                left[got.properties['headers']['id']] = got.redelivered
            assert time.monotonic() < deadline, 'the task for later is not in the queue'
        equal(left[far.id], True, 'redelivered')


@case
def priorities():
    patient(PATIENCE)
    tasks = [(n, rank.apply_async((n,), queue=celery_app.RANKED, priority=priority))
             for n, priority in enumerate((0, 5, 9, 1, 5, 0, 9))]
    with Worker(celery_app.RANKED, prefetch=1):
        orders = [result(task) for _, task in tasks]
    equal(max(orders, key=len), [2, 6, 1, 4, 3, 0, 5], 'order')


@case
def many_tasks():
    patient(PATIENCE + TASKS / 5 * SLOW)
    with Worker(celery_app.MANY, concurrency=2):
        sent = []
        for n in range(TASKS):
            options = {'queue': celery_app.MANY}
            if n % 10 == 3:
                sent.append((1, stubborn.apply_async((1,), **options)))
            elif n % 10 == 7:
                sent.append((n, echo.apply_async((n,), countdown=0.1, **options)))
            else:
                sent.append((2 * n, add.apply_async((n, n), **options)))
        # Together: get() for one waits a second although its result may have come before.
        got = ResultSet([task for _, task in sent]).join_native(timeout=PATIENCE + TASKS / 5 * SLOW)
        equal(got, [wanted for wanted, _ in sent], 'results')
        connect().counts(1, celery_app.MANY, 0, 1)


def sweep():
    conn = connect()
    for queue in (celery_app.MAIN, celery_app.RANKED, celery_app.MANY):
        conn.rpc(1, 'queue.delete', queue=queue)
    for exchange in (STEM, STEM + '.control.pidbox', 'reply.%s.control.pidbox' % STEM,
                     STEM + '.events'):
        conn.rpc(1, 'exchange.delete', exchange=exchange)
    conn.close()


try:
    run_cases()
finally:
    app.close()
    sweep()
