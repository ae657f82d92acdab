"""Definitions: POST creates what a file says, GET gives back what is there."""
import base64
import hashlib

from management import *
from raw import *


def hashed(password, salt=b'\x90\x8d\xc6\x0a'):
    """As an export of RabbitMQ has it."""
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()


def named(rows, **fields):
    """The rows that have these values."""
    return [row for row in rows if all(row.get(k) == v for k, v in fields.items())]


def one(rows, **fields):
    found = named(rows, **fields)
    equal(len(found), 1, 'number of entries with %s' % fields)
    return found[0]


class Sample:
    """A whole of everything, in a vhost of its own."""

    def __init__(self):
        self.vhost, self.user = unique('vhost'), unique('user')
        self.document = {
            'rabbit_version': '3.10.8', 'rabbitmq_version': '3.10.8', 'product_name': 'RabbitMQ',
            'users': [{'name': self.user, 'password_hash': hashed('secret'),
                       'hashing_algorithm': 'rabbit_password_hashing_sha256',
                       'tags': ['monitoring'], 'limits': {'max-connections': 50}}],
            'vhosts': [{'name': self.vhost}],
            'permissions': [{'user': self.user, 'vhost': self.vhost, 'configure': '^a',
                             'write': '.*', 'read': ''},
                            {'user': USER, 'vhost': self.vhost, 'configure': '.*', 'write': '.*',
                             'read': '.*'}],
            'topic_permissions': [{'user': self.user, 'vhost': self.vhost, 'exchange': 'news',
                                   'write': '^out', 'read': '^in'}],
            'parameters': [{'component': 'vhost-limits', 'name': 'limits', 'vhost': self.vhost,
                            'value': {'max-queues': 20}}],
            'policies': [{'vhost': self.vhost, 'name': 'short', 'pattern': '^short',
                          'apply-to': 'queues', 'definition': {'max-length': 2},
                          'priority': 4}],
            'queues': [{'name': 'work', 'vhost': self.vhost, 'durable': True,
                        'auto_delete': False, 'arguments': {
                            'x-max-priority': 5, 'x-dead-letter-exchange': 'news',
                            'x-message-ttl': 3600000}},
                       {'name': 'short.1', 'vhost': self.vhost, 'durable': False,
                        'auto_delete': True, 'arguments': {}}],
            'exchanges': [{'name': 'news', 'vhost': self.vhost, 'type': 'topic', 'durable': True,
                           'auto_delete': False, 'internal': False, 'arguments': {}},
                          {'name': 'inner', 'vhost': self.vhost, 'type': 'fanout',
                           'durable': False, 'auto_delete': False, 'internal': True,
                           'arguments': {'alternate-exchange': 'news'}}],
            'bindings': [{'source': 'news', 'vhost': self.vhost, 'destination': 'work',
                          'destination_type': 'queue', 'routing_key': 'work.#', 'arguments': {}},
                         {'source': 'news', 'vhost': self.vhost, 'destination': 'inner',
                          'destination_type': 'exchange', 'routing_key': 'x',
                          'arguments': {'a': 1}}]}

    def load(self):
        swept(('users', self.user))
        swept(('vhosts', self.vhost))
        post('definitions', body=self.document)


@managed
def what_is_posted_works():
    sample = Sample()
    sample.load()
    login = connect(user=sample.user, password='secret', vhost=sample.vhost)
    login.rpc(1, 'queue.declare', queue='a.mine', exclusive=True)
    refuse(login, 403, "ACCESS_REFUSED - access to queue 'b' in vhost '%s' refused for user '%s'"
           % (sample.vhost, sample.user), 'queue.declare', queue='b')
    conn = connect(vhost=sample.vhost)
    conn.publish(1, 'news', 'work.a', 'low')
    conn.publish(1, 'news', 'work.b', 'high', properties(priority=5))
    conn.counts(1, 'work', 2)
    equal(conn.drain(1, 'work'), [b'high', b'low'], 'queue')
    conn.rpc(1, 'queue.declare', queue='work', durable=True, arguments={
        'x-max-priority': 5, 'x-dead-letter-exchange': 'news', 'x-message-ttl': 3600000})
    conn.rpc(1, 'exchange.declare', exchange='news', type='topic', durable=True)
    conn.rpc(1, 'exchange.declare', exchange='inner', type='fanout', internal=True,
             arguments={'alternate-exchange': 'news'})
    for n in range(5):
        conn.publish(1, '', 'short.1', str(n))
    conn.counts(1, 'short.1', 2)
    equal(conn.drain(1, 'short.1'), [b'3', b'4'], 'queue')


@managed
def what_is_posted_is_given_back():
    sample = Sample()
    sample.load()
    got = get('definitions')
    user_row = one(got['users'], name=sample.user)
    equal({k: user_row[k] for k in ('password_hash', 'hashing_algorithm', 'tags', 'limits')},
          {k: sample.document['users'][0][k] for k in ('password_hash', 'hashing_algorithm',
                                                       'tags', 'limits')}, 'user')
    one(got['vhosts'], name=sample.vhost)
    for kind in ('permissions', 'topic_permissions', 'parameters', 'policies'):
        for row in sample.document[kind]:
            one(got[kind], **row)
    mine = named(got['queues'], vhost=sample.vhost)
    equal(sorted(row['name'] for row in mine), ['short.1', 'work'], 'queues')
    work = dict(one(mine, name='work'))
    equal(work, sample.document['queues'][0], 'queue')
    exchanges = sorted(named(got['exchanges'], vhost=sample.vhost), key=lambda row: row['name'])
    equal(exchanges, sorted(sample.document['exchanges'], key=lambda row: row['name']),
          'exchanges')  # the predeclared ones are not told
    bindings = sorted(named(got['bindings'], vhost=sample.vhost),
                      key=lambda row: row['destination'])
    equal(bindings, sorted(sample.document['bindings'], key=lambda row: row['destination']),
          'bindings')  # nor those of the default exchange


@managed
def of_one_vhost():
    sample = Sample()
    sample.load()
    got = get('definitions', sample.vhost)
    for kind in ('users', 'vhosts', 'permissions', 'topic_permissions'):
        assert kind not in got, 'it has %s' % kind
    for kind in ('queues', 'exchanges', 'bindings'):
        for row in got[kind]:
            assert 'vhost' not in row, '%s has a vhost' % row
    equal(sorted(row['name'] for row in got['queues']), ['short.1', 'work'], 'queues')
    target = vhost()
    post('definitions', target, body=got)
    conn = connect(vhost=target)
    conn.publish(1, 'news', 'work.a', 'x')
    conn.counts(1, 'work', 1)
    equal(get('policies', target, 'short')['definition'], {'max-length': 2}, 'policy')


@managed
def posting_again_changes_nothing_and_other_things_stay():
    sample = Sample()
    sample.load()
    conn = connect(vhost=sample.vhost)
    conn.queue(1, 'other', durable=True)
    conn.publish(1, '', 'work', 'stays')
    conn.counts(1, 'work', 1)
    sample.load()
    equal(conn.passive(1, 'work'), (1, 0), 'counts')
    conn.passive(1, 'other')
    sample.document['policies'][0]['definition'] = {'max-length': 4}
    sample.load()
    equal(get('policies', sample.vhost, 'short')['definition'], {'max-length': 4}, 'policy')


@managed
def exclusive_queues_are_not_in_it():
    conn = connect()
    shared, own = conn.queue(1, durable=False), conn.queue(1)
    names = {row['name'] for row in get('definitions')['queues']}
    equal((shared in names, own in names), (True, False), 'what is in it')


@managed
def parts_may_be_missing():
    name = unique('vhost')
    swept(('vhosts', name))
    post('definitions', body={'vhosts': [{'name': name}]})
    equal(get('vhosts', name)['name'], name, 'name')
    post('definitions', body={})


@managed
def bad_definitions_are_refused():
    for body in ('{bad', '[1]', '"text"'):
        if BROKER == 'rabbitmq':
            refused('failed_to_parse_json', 'POST', 'definitions', body=body)
        else:  # ours says where and why
            equal(call('POST', 'definitions', body=body)[0], 400, 'status')
    for bad, why in (
            ({'queues': [{'name': 'x', 'vhost': 'conf.no.such', 'durable': True,
                          'auto_delete': False, 'arguments': {}}]},
             ['no_such_vhost', 'conf.no.such']),
            ({'permissions': [{'user': 'conf.nobody', 'vhost': '/', 'configure': '', 'write': '',
                               'read': ''}]}, ['no_such_user', 'conf.nobody']),
            ({'users': [{'name': 'conf.bad'}]}, 'tags_not_present'),
            ({'policies': [{'vhost': '/', 'name': 'conf.bad', 'pattern': 'x',
                            'definition': {'bogus': 1}}]},
             'Validation failed\n\n[{<<"bogus">>,1}] are not recognised policy settings\n'
             ' (//conf.bad)')):
        # What cannot be honoured is named and left out here; the rest is taken.
        if BROKER == 'rabbitmq':
            refused(why, 'POST', 'definitions', body=bad)
        else:
            equal(call('POST', 'definitions', body=bad)[0], 204, 'status')
    equal(call('GET', 'policies', '/', 'conf.bad')[0], 404, 'status')


run_cases()
