"""HTTP: who may ask, paths, bodies, lists and pages."""
import re
import socket
import time

from http_client import *
from raw import *

LOGIN_FAILED = {'error': 'not_authorized', 'reason': 'Login failed'}


@case
def whoami_names_the_user():
    got = admin.ok('GET', '/whoami')
    equal((got['name'], 'administrator' in got['tags']), (ADMIN[0], True), 'whoami')


@case
def without_credentials_401_asks_for_them():
    answer = Client(None)('GET', '/whoami')
    equal((answer.status, answer.headers['WWW-Authenticate'], answer.body),
          (401, 'Basic realm="RabbitMQ Management"', b''), 'answer')


@case
def wrong_credentials_are_401_whoever_it_is():
    for user in ((ADMIN[0], 'wrong'), ('nobody.' + TAG, 'x'), (ADMIN[0], '')):
        answer = Client(user)('GET', '/overview')
        equal((answer.status, answer.json), (401, LOGIN_FAILED), 'as %s' % user[0])


@case
def a_user_without_a_tag_is_no_management_user():
    with User(tags='') as client:
        client.refused('GET', '/whoami', 401, 'not_authorised', 'Not management user')


@case
def tags_are_a_ladder():
    with Vhost() as v, User('management') as plain, User('monitoring') as monitor, \
            User('policymaker', {v.name: ('', '', '')}) as maker:
        said = 'Not administrator user'
        for client in (plain, monitor, maker):
            for path in ('/users', '/permissions', '/definitions', v('permissions', ADMIN[0])):
                client.refused('GET', path, 401, 'not_authorised', said)
        for path in ('/nodes', '/nodes/x'):
            plain.refused('GET', path, 401, 'not_authorised', 'Not monitor user')
        monitor.ok('GET', '/nodes')
        for path in (v('queues'), v('exchanges'), v('bindings')):
            plain.refused('GET', path, 401, 'not_authorised',
                          'User not authorised to access virtual host')
            if BROKER == 'ringtail':  # as RabbitMQ 3.13; for 3.10 monitors are like others
                monitor.ok('GET', path)
            maker.ok('GET', path)
        policy = {'pattern': '^x', 'definition': {'max-length': 1}}
        plain.refused('PUT', v('policies', 'p'), 401, 'not_authorised',
                      'User not authorised to access object', policy)
        maker.ok('PUT', v('policies', 'p'), policy, status=201)
        equal(plain.ok('GET', '/vhosts'), [], 'vhosts that a user without permissions sees')
        equal([vhost['name'] for vhost in maker.ok('GET', '/vhosts')], [v.name], 'vhosts')


@case
def unknown_routes_and_objects_are_404():
    for path in ('/nope', '/queues/nope.' + TAG, '/queues/%2F/nope.' + TAG,
                 '/exchanges/%2F/nope.' + TAG, '/users/nope.' + TAG, '/vhosts/nope.' + TAG,
                 '/policies/%2F/nope.' + TAG, '/connections/nope.' + TAG):
        missing('GET', path)


@case
def methods_that_a_route_lacks_are_405():
    answer = admin('POST', '/whoami')
    equal((answer.status, answer.headers['Allow'], answer.body), (405, 'HEAD, GET, OPTIONS', b''),
          'answer')


@case
def head_is_get_without_a_body():
    answer = admin('HEAD', '/whoami')
    equal((answer.status, answer.body), (200, b''), 'answer')


@case
def slashes_at_the_end_and_empty_segments_do_not_count():
    # RabbitMQ knows neither; clients of it ask so all the same and get what they get.
    for path in on(ringtail=('/vhosts/', '/queues//', '//queues//', '/queues/%2F/',
                             '/bindings/'), rabbitmq=('/vhosts',)):
        assert isinstance(admin.ok('GET', path), list), path


@case
def names_in_paths_are_decoded():
    for name in ('a b', 'a/b', 'a%b', 'a+b', '\u00fc\u2603', 'a;b?c#d', "q'\"&<>"):
        with Vhost() as v:
            admin.ok('PUT', v('queues', name), {}, status=201)
            equal(admin.ok('GET', v('queues', name))['name'], name, 'name')
            equal([q['name'] for q in admin.ok('GET', v('queues'))], [name], 'names')
            admin.ok('DELETE', v('queues', name), status=204)


@case
def bodies_that_are_no_object_are_not_json():
    with Vhost() as v:
        for body in ('{', '[]', 'x', '1'):
            bad('PUT', v('queues', 'q'), 'not_json', body)
        for body in ('', '{}', 'null') if BROKER == 'ringtail' else ('{}',):
            admin.ok('PUT', v('queues', 'q'), body)


@case
def booleans_may_be_text():
    with Vhost() as v:
        admin.ok('PUT', v('queues', 'q'), {'durable': 'true', 'auto_delete': 'false'}, status=201)
        got = admin.ok('GET', v('queues', 'q'))
        equal((got['durable'], got['auto_delete']), (True, False), 'flags')
        bad('PUT', v('queues', 'q2'), ['not_boolean', 'maybe'], {'durable': 'maybe'})
        bad('PUT', v('queues', 'q2'), ['not_boolean', 1], {'durable': 1})


@case
def lists_can_be_sorted_and_reduced_and_cut_into_pages():
    with Vhost() as v:
        names = ['q%02d' % n for n in range(23)]
        for name in names:
            admin.ok('PUT', v('queues', name), {'durable': name > 'q10'}, status=201)
        equal(admin.ok('GET', v('queues') + '?columns=name'), [{'name': n} for n in names], 'all')
        equal([q['name'] for q in admin.ok(
            'GET', v('queues') + '?sort=name&sort_reverse=true&columns=name')], names[::-1],
            'reversed')
        page = admin.ok('GET', v('queues') + '?page=2&page_size=10&columns=name')
        equal({key: page[key] for key in page if key != 'items'},
              {'total_count': 23, 'item_count': 10, 'filtered_count': 23, 'page': 2,
               'page_size': 10, 'page_count': 3}, 'envelope')
        equal([q['name'] for q in page['items']], names[10:20], 'second page')
        page = admin.ok('GET', v('queues') + '?page=1&name=Q1&columns=name&pagination=false')
        equal((page['filtered_count'], page['item_count']), (10, 10), 'filtered')
        page = admin.ok('GET', v('queues') + '?page=1&name=%5EQ.%5B12%5D%24&use_regex=true')
        equal([q['name'] for q in page['items']], ['q01', 'q02', 'q11', 'q12', 'q21', 'q22'],
              'by expression')
        page = admin.ok('GET', v('queues') + '?page=1&name=zzz')
        equal((page['page_count'], page['items']), (0, []), 'no page')


@case
def pages_out_of_range_are_400():
    with Vhost() as v:
        admin.refused('GET', v('queues') + '?page=2', 400, 'page_out_of_range',
                      'Page out of range, page: 2 page size: 100, len: 0')
        admin.refused('GET', v('queues') + '?page=0', 400, 'invalid_pagination_parameters',
                      'Invalid pagination parameters: page number 0, page size undefined')
        admin.refused('GET', v('queues') + '?page=1&page_size=501', 400,
                      'invalid_pagination_parameters',
                      'Invalid pagination parameters: page number 1, page size 501')
        bad('GET', v('queues') + '?page=a', 'Pagination parameters are invalid')


# --- the transport: ours alone ---

def _send(data, read=65536):
    """What comes back for these bytes, up to the end of the stream or `read` bytes."""
    with socket.create_connection((HTTP_HOST, HTTP_PORT), DEADLINE) as conn:
        conn.settimeout(DEADLINE * 3)
        conn.sendall(data)
        got = b''
        while len(got) < read:
            try:
                piece = conn.recv(65536)
            except ConnectionResetError:
                break
            if not piece:
                break
            got += piece
        return got


@case(only='ringtail')
def nonsense_on_the_port_ends_the_connection():
    for data in (b'\0' * 100, b'AMQP\0\0\x09\x01' * 10 + b'\r\n\r\n', b'GET\r\n\r\n',
                 b'GET /api/whoami HTTP/9.9\r\n\r\n', b'x' * 100000,
                 b'GET / HTTP/1.1\r\n' + b'A: b\r\n' * 20000):
        got = _send(data + b'\r\n\r\n')
        assert not got.startswith(b'HTTP/1.1 200'), '%r: %r' % (data[:20], got[:100])
    admin.ok('GET', '/whoami')


@case(only='ringtail')
def a_body_is_not_read_from_whom_may_not_send_one():
    got = _send(b'PUT /api/queues/%2F/x HTTP/1.1\r\nHost: x\r\nContent-Length: 19000000\r\n\r\n{')
    assert got.startswith(b'HTTP/1.1 401'), got[:100]


@case(only='ringtail')
def a_body_that_is_too_large_is_refused():
    answer = Client()('POST', '/definitions', b' ' * 21000000)
    equal(answer.status, 413, 'status')


@case(only='ringtail')
def many_silent_clients_do_not_keep_others_out():
    silent = [socket.create_connection((HTTP_HOST, HTTP_PORT), DEADLINE) for _ in range(60)]
    for conn in silent[::2]:
        conn.sendall(b'GET /api/who')
    try:
        Client().ok('GET', '/whoami')
    finally:
        for conn in silent:
            conn.close()


@case(only='ringtail')
def half_a_request_takes_nobodys_turn():
    half = [socket.create_connection((HTTP_HOST, HTTP_PORT), DEADLINE) for _ in range(200)]
    for conn in half:
        conn.sendall(b'GET /api/overview HTTP/1.1\r\nHost: x\r\n')
    try:
        began = time.monotonic()
        for _ in range(5):
            Client().ok('GET', '/overview')
        took = time.monotonic() - began
        # Any one of them that held a thread would do so for seconds.
        assert took < 2 * SLOW, '%.1f s for 5 requests' % took
        # The half that is missing still gets its answer.
        half[0].sendall(b'\r\n')
        assert half[0].recv(100).startswith(b'HTTP/1.1 401 '), 'no answer to the slow one'
    finally:
        for conn in half:
            conn.close()


@case(only='ringtail')
def requests_in_pieces_and_in_a_row_are_answered():
    login = base64.b64encode(':'.join(ADMIN).encode())
    head = b'GET /api/whoami HTTP/1.1\r\nHost: x\r\nAuthorization: Basic %s\r\n\r\n' % login
    with socket.create_connection((HTTP_HOST, HTTP_PORT), DEADLINE) as conn:
        conn.settimeout(DEADLINE)
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(head)):
            conn.sendall(head[at:at + 1])
        # Whole ones behind it, and the last cut off.
        conn.sendall(head * 3 + head[:20])
        seen = b''
        while seen.count(b'HTTP/1.1 200') < 4:
            got = conn.recv(65536)
            assert got, seen
            seen += got
        conn.sendall(head[20:])
        while seen.count(b'HTTP/1.1 200') < 5:
            got = conn.recv(65536)
            assert got, seen
            seen += got


@case(only='ringtail')
def guessing_passwords_is_slowed_down_and_costs_others_nothing():
    admin.ok('GET', '/whoami')
    # All at once, on several connections: how fast the script is must not count.
    guess = b'GET /api/whoami HTTP/1.1\r\nHost: x\r\nAuthorization: Basic %s\r\n\r\n'
    conns = [socket.create_connection((HTTP_HOST, HTTP_PORT), DEADLINE) for _ in range(8)]
    for conn in conns:
        conn.settimeout(DEADLINE * 3)
        conn.sendall(b''.join(guess % base64.b64encode(b'%s:guess%d' % (ADMIN[0].encode(), n))
                              for n in range(100)))
        conn.shutdown(socket.SHUT_WR)
    seen = set()
    for conn in conns:
        with conn, conn.makefile('rb') as answers:
            seen |= {int(status) for status in re.findall(rb'HTTP/1\.1 (\d+)', answers.read())}
    equal(seen, {401, 429}, 'answers to guesses')
    admin.ok('GET', '/whoami')
    Client().ok('GET', '/whoami')
    # Another user at this address, who has never been here, is refused for what he sends alone.
    equal(Client(('conf.throttle', 'x'))('GET', '/whoami').status, 401, 'status of another user')


run(run_cases)
