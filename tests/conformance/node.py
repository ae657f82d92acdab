"""Broker processes of our own: start one on a free port, stop it by its process id."""
import random
import re
import signal
import socket
import subprocess
import tempfile
import time


def _has_ipv6():
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(('::1', 0))
        return True
    except OSError:
        return False


IPV6 = _has_ipv6()


def free_port():
    """A port that is free on 127.0.0.1 and ::1 at this moment. Below the range that the kernel
    gives to outgoing connections, and by chance, because scripts run side by side: between this
    look and the node's bind nobody else should want it."""
    while True:
        port = random.randrange(20000, 32000)
        try:
            with socket.socket() as probe:
                probe.bind(('127.0.0.1', port))
            if IPV6:
                with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
                    probe.bind(('::1', port))
            return port
        except OSError:
            continue


class Node:
    """`with Node(binary, *flags) as node:` lives until SIGKILL at the latest."""

    def __init__(self, binary, *flags, port=None, config='', slow=1.0, logs_to=None,
                 data_dir=None):
        self.port, self.slow = port or free_port(), slow
        self._dir = tempfile.TemporaryDirectory(prefix='ringtail-conformance-')
        # Two, so that letters cross between threads whatever the machine has.
        shards = () if '--shards' in flags else ('--shards', '2')
        command = [binary, *shards, '--amqp-port', str(self.port), '--management-port', '0',
                   '--cluster-port', '0', '--data-dir', data_dir or self._dir.name, '--bind',
                   '127.0.0.1,::1' if IPV6 else '127.0.0.1', *flags]
        if config:
            path = self._dir.name + '/test.conf'
            with open(path, 'w', encoding='utf-8') as out:
                out.write(config)
            command += ['--config', path]
        self.log_path = logs_to or self._dir.name + '/output'
        with open(self.log_path, 'ab') as log:
            self._log_begins = log.tell()
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT)
        self.pid = self.process.pid

    def log(self):
        with open(self.log_path, encoding='utf-8', errors='replace') as log:
            return log.read()

    def management_url(self):
        """Where its HTTP listener is, as its log says, for it was told to take any free port."""
        begin, said = time.monotonic(), ''
        while 'ready' not in said and time.monotonic() - begin < 20 * self.slow:
            with open(self.log_path, 'rb') as log:
                log.seek(self._log_begins)
                said = log.read().decode(errors='replace')
            try:
                self.process.wait(0.01)
                break
            except subprocess.TimeoutExpired:
                pass
        found = re.search(r'HTTP on 127\.0\.0\.1:(\d+)', said)
        return 'http://guest:guest@127.0.0.1:' + found[1] if found else ''

    def wait_accepting(self):
        """Seconds from here to the first accepted connection."""
        begin = time.monotonic()
        while time.monotonic() - begin < 20 * self.slow:
            try:
                socket.create_connection(('127.0.0.1', self.port), 1).close()
                return time.monotonic() - begin
            except OSError:
                pass
            try:
                code = self.process.wait(0.01)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError('the node ended with exit code %d: %s' % (
                code, self.log()[-1500:]))
        raise AssertionError('the node does not accept: %s' % self.log()[-1500:])

    def stop(self, seconds=10):
        """SIGTERM; the exit code, or None if it did not end in time."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds * self.slow)
        except subprocess.TimeoutExpired:
            return None

    def rss_kib(self):
        return rss_kib(self.pid)

    def __enter__(self):
        try:
            self.wait_accepting()
        except AssertionError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._dir.cleanup()


def rss_kib(pid):
    with open('/proc/%d/status' % pid, encoding='ascii') as status:
        for line in status:
            if line.startswith('VmRSS:'):
                return int(line.split()[1])
    raise AssertionError('process %d is gone' % pid)
