"""The management interface by hand, for the conformance scripts: urllib and nothing else.

A script asks only where a management address is known (raw.MANAGEMENT); names that it makes are its
own, and it takes them away again.
"""
import base64
import http.client
import json
import os
from urllib.parse import quote, urlsplit

import raw

TAG = 'conf.http.%s.%d' % (os.urandom(4).hex(), os.getpid())
_where = urlsplit(raw.MANAGEMENT or 'http://guest:guest@127.0.0.1:15672')
HTTP_HOST, HTTP_PORT = _where.hostname, _where.port
ADMIN = (_where.username or 'guest', _where.password or 'guest')


def enc(text):
    """One segment of a path."""
    return quote(text, safe='')


class Answer:
    def __init__(self, response, body):
        self.status, self.headers, self.body = response.status, response.headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return '%d %r' % (self.status, self.body[:300])


class Client:
    """One user, one connection that is kept."""

    def __init__(self, user=ADMIN):
        self.user = user
        self.conn = http.client.HTTPConnection(HTTP_HOST, HTTP_PORT, timeout=raw.DEADLINE * 4)

    def __call__(self, method, path, body=None, headers=()):
        # RabbitMQ takes some requests only with this type.
        sent = {'Content-Type': 'application/json'}
        if self.user is not None:
            sent['Authorization'] = 'Basic ' + base64.b64encode(
                ':'.join(self.user).encode()).decode()
        sent.update(dict(headers))
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        try:
            self.conn.request(method, '/api' + path, data, sent)
            response = self.conn.getresponse()
        except (ConnectionError, http.client.RemoteDisconnected):
            # A server may end an idle connection at any time, and this may be that time.
            self.conn.close()
            self.conn.request(method, '/api' + path, data, sent)
            response = self.conn.getresponse()
        return Answer(response, response.read())

    def ok(self, method, path, body=None, status=None, headers=()):
        """The answer's JSON (or nothing); anything but success is a failure of the case."""
        answer = self(method, path, body, headers)
        good = answer.status == status if status else 200 <= answer.status < 300
        assert good, '%s %s: %r' % (method, path, answer)
        return answer.json if answer.body else None

    def refused(self, method, path, status, error, reason, body=None):
        answer = self(method, path, body)
        raw.equal((answer.status, answer.body and answer.json),
                  (status, {'error': error, 'reason': reason}), '%s %s' % (method, path))
        return answer


admin = Client()


def bad(method, path, reason, body=None):
    return admin.refused(method, path, 400, 'bad_request', reason, body)


def missing(method, path, body=None, client=None):
    return (client or admin).refused(method, path, 404, 'Object Not Found', 'Not Found', body)


class Vhost:
    """`with Vhost() as v:` a vhost of our own; v('queues', 'q') is the path of a queue in it."""

    def __init__(self, name=None):
        self.name = name or '%s.%s' % (TAG, os.urandom(3).hex())

    def __call__(self, kind, *rest):
        return '/'.join(['', kind, enc(self.name)] + [enc(part) for part in rest])

    def __enter__(self):
        admin.ok('PUT', '/vhosts/' + enc(self.name), status=201)
        return self

    def __exit__(self, *_):
        admin('DELETE', '/vhosts/' + enc(self.name))


class User:
    """`with User(tags) as client:` a user of our own; permissions by vhost: (configure, write,
    read)."""

    def __init__(self, tags='management', permissions=()):
        self.name, self.password = '%s.u%s' % (TAG, os.urandom(3).hex()), os.urandom(6).hex()
        self.tags, self.permissions = tags, dict(permissions)

    def __enter__(self):
        admin.ok('PUT', '/users/' + enc(self.name), {'password': self.password, 'tags': self.tags},
                 status=201)
        for vhost, (configure, write, read) in self.permissions.items():
            admin.ok('PUT', '/permissions/%s/%s' % (enc(vhost), enc(self.name)),
                     {'configure': configure, 'write': write, 'read': read}, status=201)
        client = Client((self.name, self.password))
        client.name = self.name
        return client

    def __exit__(self, *_):
        admin('DELETE', '/users/' + enc(self.name))


def connect_to(vhost, user=ADMIN, channels=1):
    """An AMQP connection to that vhost with channels 1 .. `channels` open."""
    conn = raw.dial()
    conn.send(raw.HEADER)
    conn.expect('connection.start', 0)
    conn.method(0, 'connection.start-ok', mechanism='PLAIN', response=raw.plain(*user),
                locale='en_US', client_properties={'capabilities': raw.CAPABILITIES})
    tune = conn.expect('connection.tune', 0)
    conn.method(0, 'connection.tune-ok', channel_max=tune.channel_max, frame_max=tune.frame_max)
    conn.method(0, 'connection.open', virtual_host=vhost)
    conn.expect('connection.open-ok', 0)
    for channel in range(1, channels + 1):
        conn.open_channel(channel)
    return conn


def run(cases):
    """Runs the script's cases where there is a management interface."""
    if raw.MANAGEMENT:
        cases()
    else:
        print('ok no management address is known, nothing to ask')
