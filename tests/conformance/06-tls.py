"""AMQP over TLS: versions, certificates both ways, reload, half-open handshakes.

Starts nodes of its own (only where run.py was given a program); certificates are made on the spot
by the program `openssl`.
"""
import base64
import json
import os
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import warnings

from raw import *
from node import Node, free_port

HAVE = 'ringtail' if BINARY else 'no program'
_folder = tempfile.TemporaryDirectory(prefix='ringtail-tls-')
DIR = _folder.name


def openssl(*arguments):
    subprocess.run(['openssl', *arguments], check=True, cwd=DIR, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def authority(name):
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
            '-keyout', name + '.key', '-out', name + '.pem', '-days', '30', '-subj', '/CN=' + name,
            '-addext', 'basicConstraints=critical,CA:TRUE')


def certificate(name, subject, issuer='ca', days=30):
    openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout',
            name + '.key', '-out', name + '.csr', '-subj', subject)
    with open(path(name + '.ext'), 'w', encoding='ascii') as out:
        out.write('subjectAltName=DNS:localhost,IP:127.0.0.1\n')
    if days > 0:
        openssl('x509', '-req', '-in', name + '.csr', '-CA', issuer + '.pem', '-CAkey',
                issuer + '.key', '-CAcreateserial', '-days', str(days), '-extfile', name + '.ext',
                '-out', name + '.pem')
    else:  # long over
        os.makedirs(path('db'), exist_ok=True)
        open(path('db/index.txt'), 'w', encoding='ascii').close()
        with open(path('db/ca.cnf'), 'w', encoding='ascii') as out:
            out.write('[ca]\ndefault_ca=x\n[x]\ndatabase=db/index.txt\nnew_certs_dir=db\n'
                      'rand_serial=yes\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n')
        openssl('ca', '-batch', '-config', 'db/ca.cnf', '-cert', issuer + '.pem', '-keyfile',
                issuer + '.key', '-in', name + '.csr', '-out', name + '.pem', '-startdate',
                '20200101000000Z', '-enddate', '20210101000000Z', '-notext')


def path(name):
    return os.path.join(DIR, name)


def prepare():
    if os.path.exists(path('ca.pem')):
        return
    authority('ca')
    authority('stranger')
    certificate('server', '/O=Example/CN=localhost')
    certificate('renewed', '/O=Example/CN=renewed')
    certificate('client', '/O=Example/CN=guest')
    certificate('expired', '/CN=guest', days=0)
    certificate('foreign', '/CN=guest', issuer='stranger')


class TlsNode(Node):
    """Serves TLS as well: it is ready when all of its listeners are."""

    def wait_accepting(self):
        seconds = super().wait_accepting()
        logged(self, '[node] ready')
        return seconds


def start(*flags, config='', cert='server', **options):
    prepare()
    port = free_port()
    text = ('listeners.ssl.1 = 127.0.0.1:%d\nssl_options.certfile = %s\n'
            'ssl_options.keyfile = %s\nssl_options.cacertfile = %s\n%s' % (
                port, path(cert + '.pem'), path(cert + '.key'), path('ca.pem'), config))
    node = TlsNode(BINARY, *flags, slow=SLOW, config=text, **options)
    node.tls_port = port
    return node


VERIFY = 'ssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = true\n'


def context(show=None, versions=None, trust='ca'):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.load_verify_locations(path(trust + '.pem'))
    made.check_hostname = True
    if show:
        made.load_cert_chain(path(show + '.pem'), path(show + '.key'))
    if versions:
        made.minimum_version = made.maximum_version = versions
    return made


class TlsConn(Conn):
    def __init__(self, port, with_context):
        super().__init__(port=port)
        self.socket = with_context.wrap_socket(self.socket, server_hostname='localhost')


def tls_connect(node, with_context=None, mechanism='PLAIN', response=None):
    conn = TlsConn(node.tls_port, with_context or context())
    conn.send(HEADER)
    conn.start = conn.expect('connection.start', 0)
    conn.method(0, 'connection.start-ok', client_properties={'capabilities': CAPABILITIES},
                mechanism=mechanism, response=plain() if response is None else response,
                locale='en_US')
    conn.tune = conn.expect('connection.tune', 0)
    conn.method(0, 'connection.tune-ok', channel_max=conn.tune.channel_max,
                frame_max=conn.tune.frame_max, heartbeat=0)
    conn.method(0, 'connection.open', virtual_host='/')
    conn.expect('connection.open-ok', 0)
    conn.open_channel(1)
    return conn


def refused(node, with_context):
    """The handshake fails, or (TLS 1.3, where the client is done first) what follows it does."""
    try:
        conn = TlsConn(node.tls_port, with_context)
        conn.send(HEADER)
        conn.expect('connection.start', 0)
    except (ssl.SSLError, Eof, OSError):
        return
    raise AssertionError('the client was let in')


def logged(node, text):
    deadline = time.monotonic() + 10 * SLOW
    while text not in node.log():
        assert time.monotonic() < deadline, 'not in the log: %s\n%s' % (text, node.log()[-1500:])
        pause()


def pause():
    select.select([], [], [], 0.05)


@case(only=HAVE)
def both_versions_carry_messages_of_all_sizes():
    with start() as node:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            conn = tls_connect(node, context(versions=version))
            queue = conn.queue(1, durable=False)
            conn.consume(1, queue, no_ack=True)
            for size in (0, 1, 1024, 16384, 100000, 1000000):
                body = os.urandom(size)
                conn.publish(1, '', queue, body)
                conn.deliver(1, body=body)
            conn.method(0, 'connection.close', reply_code=200)
            conn.expect('connection.close-ok', 0)
            conn.expect_eof()
        equal(node.stop(), 0, 'exit code')


@case(only=HAVE)
def versions_that_are_not_allowed_are_refused():
    with start(config='ssl_options.versions.1 = tlsv1.3\n') as node:
        tls_connect(node, context(versions=ssl.TLSVersion.TLSv1_3))
        refused(node, context(versions=ssl.TLSVersion.TLSv1_2))
        logged(node, 'TLS handshake failed: unsupported protocol')
    with start() as node:
        old = context()
        old.set_ciphers('DEFAULT@SECLEVEL=0')
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # that it is old is what is tried
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        refused(node, old)
        tls_connect(node)


@case(only=HAVE)
def client_certificates_are_verified():
    with start(config=VERIFY) as node:
        tls_connect(node, context(show='client'))
        refused(node, context())
        logged(node, 'peer did not return a certificate')
        refused(node, context(show='expired'))
        logged(node, 'certificate has expired')
        refused(node, context(show='foreign'))
        logged(node, 'certificate verify failed')
        tls_connect(node, context(show='client'))


@case(only=HAVE)
def verify_peer_alone_lets_a_client_without_a_certificate_in():
    with start(config='ssl_options.verify = verify_peer\n') as node:
        tls_connect(node)
        refused(node, context(show='expired'))
        tls_connect(node, context(show='client'))


@case(only=HAVE)
def external_logs_in_who_the_certificate_names():
    with start(config=VERIFY + 'ssl_cert_login_from = common_name\nauth_mechanisms.1 = PLAIN\n'
                               'auth_mechanisms.2 = EXTERNAL\n') as node:
        conn = tls_connect(node, context(show='client'), mechanism='EXTERNAL', response='')
        mechanisms = conn.start.mechanisms
        assert 'EXTERNAL' in str(mechanisms), 'mechanisms: %s' % mechanisms


@case(only=HAVE)
def the_wrong_protocol_on_a_port_is_named_in_the_log():
    with start() as node:
        conn = dial(port=node.tls_port)
        conn.send(HEADER)
        conn.rest(5 * SLOW)
        logged(node, 'AMQP without TLS on the port for TLS')
        conn = dial(port=node.tls_port)
        conn.send(b'GET / HTTP/1.1\r\n\r\n')
        conn.rest(5 * SLOW)
        logged(node, 'HTTP without TLS')
        conn = dial(port=node.tls_port)
        conn.send(b'\x16\x03\x01\x00\x50' + b'\x7f' * 80)
        conn.rest(5 * SLOW)
        logged(node, 'TLS handshake failed: ')
        try:
            TlsConn(node.port, context())
        except (ssl.SSLError, OSError):
            pass
        logged(node, 'the beginning of TLS on the port without it')
        tls_connect(node)
        connect(port=node.port)


@case(only=HAVE)
def certificates_that_run_out_are_told():
    def check(node, within):
        request = urllib.request.Request(
            'http://127.0.0.1:%s/api/health/checks/certificate-expiration/%s' % (
                node.management_url().rsplit(':', 1)[1], within),
            headers={'Authorization': 'Basic ' + base64.b64encode(b'guest:guest').decode()})
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    with start() as node:  # its certificate and its authority are good for 30 days
        for within in ('1/days', '29/days', '4/WEEKS', '0/years'):
            equal(check(node, within), (200, {'status': 'ok'}), within)
        for within in ('31/days', '5/weeks', '2/months', '1/years'):
            status, body = check(node, within)
            equal((status, body['status'], body['reason'], len(body['expired'])),
                  (503, 'failed', 'Certificates expiring', 1), within)
            told = body['expired'][0]
            equal((told['protocol'], told['interface'], told['port'], told['certfile']),
                  ('amqp/ssl', '127.0.0.1', node.tls_port, path('server.pem')), within)
            for key in ('certfile_expires_on', 'cacertfile_expires_on'):
                assert re.fullmatch(r'\d{4}-\d\d-\d\d \d{1,2}:\d\d:\d\d', told[key][0]), told
        for wrong in ('x/days', '1/moons'):
            equal(check(node, wrong)[0], 400, wrong)
    # The files count as they are now.
    prepare()
    for end in ('.pem', '.key'):
        shutil.copy(path('server' + end), path('ageing' + end))
    with start(cert='ageing') as node:
        equal(check(node, '1/days')[0], 200, 'before')
        shutil.copy(path('expired.pem'), path('ageing.pem'))
        status, body = check(node, '0/days')
        equal((status, body['expired'][0]['certfile_expires_on']), (503, ['2021-01-01 0:00:00']),
              'an old one')
    with Node(BINARY, slow=SLOW) as node:
        equal(check(node, '100/years'), (200, {'status': 'ok'}), 'no listener for TLS')


@case(only=HAVE)
def a_renewed_certificate_is_used_without_a_restart():
    prepare()
    for kind in ('pem', 'key'):
        with open(path('server.' + kind), 'rb') as old, open(path('live.' + kind), 'wb') as live:
            live.write(old.read())

    def install(name, kinds=('pem', 'key')):
        for kind in kinds:
            with open(path(name + '.' + kind), 'rb') as new, open(path('next'), 'wb') as out:
                out.write(new.read())
            os.replace(path('next'), path('live.' + kind))

    with start(cert='live') as node:
        def shown(unverified):
            try:
                der = ssl.get_server_certificate(('127.0.0.1', node.tls_port))
            except OSError as error:
                raise AssertionError('no handshake: %s' % error)
            with open(path(unverified + '.pem'), encoding='ascii') as pem:
                text = pem.read()
            return der.split() == text[text.index('-----BEGIN'):].split()

        old = tls_connect(node)
        assert shown('server'), 'the node shows another certificate than its first'
        # Half of a change: the old one stays.
        install('renewed', ['key'])
        logged(node, 'does not belong to the certificate')
        assert shown('server'), 'a broken pair replaced the certificate'
        # By itself.
        install('renewed')
        logged(node, 'TLS certificate: CN=renewed,O=Example')
        assert shown('renewed'), 'the new certificate is not shown'
        # At the signal.
        install('server')
        node.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 10 * SLOW
        while not shown('server'):
            assert time.monotonic() < deadline, 'SIGHUP changed nothing'
            pause()
        queue = old.queue(1, durable=False)  # the first connection goes on
        old.publish(1, '', queue, b'still here')
        old.consume(1, queue, no_ack=True)
        old.deliver(1, body=b'still here')
        node.process.send_signal(signal.SIGHUP)
        logged(node, 'have not changed')
        equal(node.stop(), 0, 'exit code')


@case(only=HAVE)
def what_is_missing_stops_the_node_and_is_named():
    prepare()

    def refuses(text):
        config = path('refused.conf')
        with open(config, 'w', encoding='ascii') as out:
            out.write('amqps_port = %d\n%s' % (free_port(), text))
        done = subprocess.run([BINARY, '--config', config, '--amqp-port', '0', '--cluster-port',
                               '0', '--data-dir', DIR],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=20 * SLOW)
        assert done.returncode > 0, 'exit code %d' % done.returncode
        return done.stdout.decode(errors='replace')

    files = 'ssl_options.certfile = %s\nssl_options.keyfile = %s\n'
    for text, why in (('', 'needs a certificate: ssl_options.certfile'),
                      ('ssl_options.certfile = /c\n', 'needs its key: ssl_options.keyfile'),
                      (files % ('/no/c.pem', '/no/k.pem'),
                       "certificate file '/no/c.pem': No such file or directory"),
                      (files % (path('server.pem'), path('client.key')),
                       "client.key': does not belong to the certificate"),
                      (files % (path('server.key'), path('server.key')),
                       'there is no certificate in PEM form')):
        said = refuses(text)
        assert why in said, '%r is not in: %s' % (why, said)


@case(only=HAVE)
def a_handshake_has_a_deadline():
    with start(config='ssl_handshake_timeout = 500\n') as node:
        silent, slow = dial(port=node.tls_port), dial(port=node.tls_port)
        slow.send(client_hello()[:50])
        silent.rest(5 * SLOW)
        slow.rest(5 * SLOW)
        logged(node, 'TLS handshake not done within 500 ms')
        tls_connect(node)


@case(only=HAVE)
def half_open_handshakes_leave_the_node_to_others():
    with start(config='ssl_handshake_timeout = 60000\n') as node:
        working = tls_connect(node)
        queue = working.queue(1, durable=False)
        working.consume(1, queue, no_ack=True)
        hello = client_hello()
        before, flood = node.rss_kib(), []
        worst = 0.0
        for number in range(2000):
            conn = socket.create_connection(('127.0.0.1', node.tls_port), DEADLINE)
            flood.append(conn)
            try:
                conn.sendall((b'', hello[:50], hello)[number % 3])
            except OSError:
                pass  # given up already
            if number % 100 == 0:
                begin = time.monotonic()
                working.publish(1, '', queue, b'x')
                working.deliver(1, body=b'x')
                tls_connect(node).close_socket()
                connect(port=node.port).close_socket()
                worst = max(worst, time.monotonic() - begin)
        grown = node.rss_kib() - before
        assert worst < 2 * SLOW, 'served others within %.1f s' % worst
        assert grown < 200 * 1024 * SLOW, 'grew by %d KiB' % grown
        logged(node, 'given up for newer ones')
        for conn in flood:
            conn.close()
        tls_connect(node)
        equal(node.stop(), 0, 'exit code')


def client_hello():
    outgoing = ssl.MemoryBIO()
    client = context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname='localhost')
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


run_cases()
