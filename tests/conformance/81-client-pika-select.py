"""Python pika, SelectConnection: the whole round as one chain of callbacks."""
import pika

from raw import *


class Round:
    """Declares, binds, confirms, publishes, gets a return, consumes, nacks, acks, cancels."""

    def __init__(self):
        self.exchange, self.queue = unique('x'), unique('q')
        self.steps, self.confirmed, self.bodies, self.nacked = [], set(), [], False
        self.error = None
        self.connection = pika.SelectConnection(
            pika.URLParameters(URL + '/%2F'), on_open_callback=self.opened,
            on_open_error_callback=self.failed, on_close_callback=self.closed)
        self.connection.ioloop.call_later(int(DEADLINE) * 2, self.late)
        self.connection.ioloop.start()

    def late(self):
        self.error = self.error or 'stuck after %s' % self.steps[-1:]
        self.connection.ioloop.stop()

    def failed(self, _, error):
        self.error = repr(error)
        self.connection.ioloop.stop()

    def closed(self, _, reason):
        self.steps.append('closed %d' % reason.reply_code)
        self.connection.ioloop.stop()

    def opened(self, connection):
        self.steps.append('opened')
        connection.channel(on_open_callback=self.channel_open)

    def channel_open(self, ch):
        self.channel = ch
        ch.add_on_return_callback(self.returned)
        ch.exchange_declare(self.exchange, 'direct', auto_delete=True, callback=self.exchange_there)

    def exchange_there(self, _):
        self.channel.queue_declare(self.queue, exclusive=True, callback=self.queue_there)

    def queue_there(self, _):
        self.channel.queue_bind(self.queue, self.exchange, 'k', callback=self.bound)

    def bound(self, _):
        self.steps.append('bound')
        self.channel.confirm_delivery(self.confirm, callback=self.confirming)

    def confirming(self, _):
        for n in range(10):
            self.channel.basic_publish(self.exchange, 'k', str(n))
        self.channel.basic_publish(self.exchange, 'nowhere', 'back', mandatory=True)

    def returned(self, _, method, props, body):
        equal((method.reply_code, body), (312, b'back'), 'return')
        self.steps.append('returned')

    def confirm(self, frame_):
        method = frame_.method
        equal(method.NAME, 'Basic.Ack', 'confirm')
        first = 1 if method.multiple else method.delivery_tag
        self.confirmed |= set(range(first, method.delivery_tag + 1))
        if len(self.confirmed) == 11:
            self.steps.append('confirmed')
            self.channel.basic_qos(prefetch_count=3, callback=self.limited)

    def limited(self, _):
        self.tag = self.channel.basic_consume(self.queue, self.message)

    def message(self, ch, method, props, body):
        if body == b'3' and not self.nacked:
            self.nacked = True
            ch.basic_nack(method.delivery_tag, requeue=True)
            return
        self.bodies.append(int(body))
        ch.basic_ack(method.delivery_tag)
        if len(self.bodies) == 10:
            ch.basic_cancel(self.tag, callback=self.cancelled)

    def cancelled(self, _):
        self.steps.append('cancelled')
        self.channel.queue_delete(self.queue, callback=self.deleted)

    def deleted(self, _):
        self.steps.append('deleted')
        self.connection.close()


@case
def the_whole_round():
    done = Round()
    assert not done.error, done.error
    equal(done.steps, ['opened', 'bound', 'returned', 'confirmed', 'cancelled', 'deleted',
                       'closed 200'], 'steps')
    equal(sorted(done.bodies), list(range(10)), 'bodies')


@case
def a_failed_login_is_told():
    errors = []
    wrong = pika.URLParameters(URL.replace(':' + PASSWORD + '@', ':wrong@') + '/%2F')

    def failed(connection, error):
        errors.append(str(error))
        connection.ioloop.stop()

    connection = pika.SelectConnection(wrong, on_open_error_callback=failed)
    connection.ioloop.call_later(int(DEADLINE) * 2, connection.ioloop.stop)
    connection.ioloop.start()
    assert errors and '403' in errors[0], errors


run_cases()
