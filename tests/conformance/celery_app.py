"""The Celery application of 86-client-celery.py: its client and its workers import it.

CONFORMANCE_CELERY is the stem of all names that it declares.
"""
import os

import celery
import kombu

STEM = os.environ['CONFORMANCE_CELERY']
URL = os.environ['CONFORMANCE_URL'].replace('amqp://', 'pyamqp://') + '//'
MAIN, RANKED, MANY = (STEM + part for part in ('.main', '.ranked', '.many'))

app = celery.Celery(STEM, broker=URL, backend='rpc://')
app.conf.update(
    task_queues=[kombu.Queue(MAIN, kombu.Exchange(STEM), routing_key=MAIN),
                 kombu.Queue(RANKED, kombu.Exchange(STEM), routing_key=RANKED,
                             queue_arguments={'x-max-priority': 10}),
                 kombu.Queue(MANY, kombu.Exchange(STEM), routing_key=MANY)],
    task_default_queue=MAIN, task_default_exchange=STEM, task_default_routing_key=MAIN,
    task_acks_late=True, worker_send_task_events=True,
    control_exchange=STEM + '.control', event_exchange=STEM + '.events',
    event_queue_prefix=STEM + '.events', worker_hijack_root_logger=False,
    broker_transport_options={'confirm_publish': True}, worker_enable_remote_control=True)

_done = []  # of this worker process


@app.task
def add(a, b):
    return a + b


@app.task
def fail(text):
    raise ValueError(text)


@app.task(bind=True, max_retries=5)
def stubborn(self, failures):
    """Succeeds at try number failures + 1, and says which number that was."""
    if self.request.retries < failures:
        raise self.retry(countdown=0.01 * (1 + self.request.retries % 3))
    return self.request.retries


@app.task(bind=True)
def rank(self, name):
    """What this process has run up to here."""
    del self
    _done.append(name)
    return list(_done)


@app.task
def echo(value):
    return value
