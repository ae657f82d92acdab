"""Certificates for the links between nodes, made by the program `openssl`."""
import os
import subprocess

EC_KEY = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes')


def openssl(directory, *arguments):
    subprocess.run(['openssl', *arguments], check=True, cwd=directory, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_authority(directory, name):
    openssl(directory, 'req', '-x509', *EC_KEY, '-keyout', name + '.key', '-out', name + '.pem',
            '-subj', '/CN=' + name, '-days', '2')


def make_certificate(directory, name, authority):
    """`name`.pem and `name`.key, replaced as a whole if they were there."""
    openssl(directory, 'req', *EC_KEY, '-keyout', 'new.key', '-out', 'new.csr', '-subj',
            '/CN=' + name)
    openssl(directory, 'x509', '-req', '-in', 'new.csr', '-CA', authority + '.pem', '-CAkey',
            authority + '.key', '-CAcreateserial', '-out', 'new.pem', '-days', '2')
    os.replace(os.path.join(directory, 'new.key'), os.path.join(directory, name + '.key'))
    os.replace(os.path.join(directory, 'new.pem'), os.path.join(directory, name + '.pem'))


def settings(directory, name, authority):
    return ''.join('cluster_ssl_options.%s = %s\n' % (key, os.path.join(directory, of)) for key, of
                   in (('certfile', name + '.pem'), ('keyfile', name + '.key'),
                       ('cacertfile', authority + '.pem')))
