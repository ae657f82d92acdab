"""The broker's HTTP API for scripts: users, vhosts, permissions, policies, limits, definitions.

The address comes from CONFORMANCE_MANAGEMENT (run.py sets it); a case marked @managed is skipped
where there is none. Whatever a script puts through here is deleted at its end (sweep()).
"""
import atexit
import base64
import html
import http.client
import json
import time
from urllib.parse import quote, unquote, urlsplit

import raw

_address = urlsplit(raw.MANAGEMENT)
_put = []  # paths to delete, in the order of their making


def managed(function=None, only=None):
    """A case that needs the HTTP API."""
    def mark(f):
        return raw.case(f, only=only) if raw.MANAGEMENT else raw.case(
            only=only, lacks='no management address is given')(f)
    return mark(function) if function else mark


def part(name):
    return quote(name, safe='')


def call(method, *path, body=None, user=None, password=None):
    """(status, decoded JSON or text or None) of one request; the parts of the path are escaped."""
    conn = http.client.HTTPConnection(_address.hostname, _address.port, timeout=raw.DEADLINE * 2)
    login = '%s:%s' % (user or unquote(_address.username or 'guest'),
                       unquote(_address.password or 'guest') if password is None else password)
    headers = {'Authorization': 'Basic ' + base64.b64encode(login.encode()).decode()}
    if body is not None:
        headers['Content-Type'] = 'application/json'
    try:
        conn.request(method, '/api/' + '/'.join(part(p) for p in path),
                     body=json.dumps(body) if isinstance(body, (dict, list)) else body,
                     headers=headers)
        answer = conn.getresponse()
        text = answer.read().decode()
    finally:
        conn.close()
    try:
        return answer.status, json.loads(text) if text else None
    except ValueError:
        return answer.status, text


def get(*path):
    status, body = call('GET', *path)
    assert status == 200, 'GET %s: %s %s' % ('/'.join(path), status, body)
    return body


def put(*path, body=None, keep=False):
    """Creates or changes; what it makes goes at the end of the script."""
    status, answer = call('PUT', *path, body={} if body is None else body)
    assert status in (201, 204), 'PUT %s: %s %s' % ('/'.join(path), status, answer)
    if not keep:
        swept(path)


def swept(path):
    """This will be deleted at the end of the script, whoever makes it."""
    if path not in _put:
        _put.append(path)


def post(*path, body=None):
    status, answer = call('POST', *path, body={} if body is None else body)
    assert status in (200, 201, 204), 'POST %s: %s %s' % ('/'.join(path), status, answer)
    return answer


def delete(*path):
    status, answer = call('DELETE', *path)
    assert status == 204, 'DELETE %s: %s %s' % ('/'.join(path), status, answer)
    if path in _put:
        _put.remove(path)


def refused(reason, method, *path, body=None, status=400):
    """The request is answered by 400 and this reason. RabbitMQ writes < and > as in HTML in some
    places; that is not asked of others."""
    code, answer = call(method, *path, body=body)
    got = answer.get('reason') if isinstance(answer, dict) else answer
    got = html.unescape(got).strip() if isinstance(got, str) else got
    raw.equal((code, got), (status, reason), '%s %s %s' % (method, '/'.join(path), body))


def vhost():
    """A new vhost that the script's user may use."""
    name = raw.unique('vhost')
    put('vhosts', name)
    put('permissions', name, raw.USER,
        body={'configure': '.*', 'write': '.*', 'read': '.*'}, keep=True)
    return name


def user(vhost_name=None, configure='', write='', read='', tags='', password='secret'):
    """A new user, with these permissions in `vhost_name` if one is given; its name."""
    name = raw.unique('user')
    put('users', name, body={'password': password, 'tags': tags})
    if vhost_name is not None:
        permit(name, vhost_name, configure, write, read)
    return name


def permit(name, vhost_name, configure='', write='', read=''):
    put('permissions', vhost_name, name,
        body={'configure': configure, 'write': write, 'read': read}, keep=True)


def policy(pattern, definition, vhost_name='/', apply_to='all', priority=0, name=None,
           kind='policies'):
    """Sets a policy (or an operator policy); its name."""
    name = name or raw.unique('policy')
    put(kind, vhost_name, name, body={'pattern': pattern, 'definition': definition,
                                      'apply-to': apply_to, 'priority': priority})
    return name


def eventually(question, answer, what):
    """Asks until the answer comes: what the HTTP API says of live things may lag behind."""
    until = time.monotonic() + raw.DEADLINE * 3
    while True:
        got = question()
        if got == answer:
            return
        assert time.monotonic() < until, '%s is %r, not %r' % (what, got, answer)


def sweep():
    for path in reversed(_put):
        try:
            call('DELETE', *path)
        except OSError:
            pass
    _put.clear()


atexit.register(sweep)
