"""Users, vhosts and permissions: who gets in, what is refused with which words, and that changes
act on connections that are open."""
import base64
import hashlib
import re

from management import *
from raw import *

_shared = {}


def place():
    """One vhost for all cases that need no own: making one takes RabbitMQ a second."""
    if 'vhost' not in _shared:
        _shared['vhost'] = vhost()
    return _shared['vhost']


def login_fails(user_name, password='secret', mechanism='PLAIN', response=None):
    conn = dial()
    conn.send(HEADER)
    conn.expect('connection.start', 0)
    conn.method(0, 'connection.start-ok', client_properties={'capabilities': CAPABILITIES},
                mechanism=mechanism, response=plain(user_name, password), locale='en_US')
    conn.expect_close(0, 403, 'ACCESS_REFUSED - Login was refused using authentication mechanism '
                      '%s. For details see the broker logfile.' % mechanism, 0, 0)


def open_fails(text, user_name, vhost_name, password='secret', code=530):
    conn = greet(user=user_name, password=password)
    conn.method(0, 'connection.tune-ok', channel_max=conn.tune.channel_max,
                frame_max=conn.tune.frame_max, heartbeat=0)
    conn.method(0, 'connection.open', virtual_host=vhost_name)
    conn.expect_close(0, code, text, 'connection.open')


def login(name, vhost_name, password='secret', **options):
    return connect(user=name, password=password, vhost=vhost_name, **options)


# --- who gets in ---

@managed
def a_new_user_gets_in_with_the_password_only():
    name = user(place(), tags='administrator')
    login(name, place()).close()
    for wrong in ('', 'Secret', 'secret ', 'secre', 'guest', 'x' * 200):
        login_fails(name, wrong)
    login_fails('conf.nobody')
    login_fails('conf.nobody', '')
    login_fails('')
    login_fails(name.upper())


@managed
def a_changed_password_acts_and_open_connections_stay():
    name = user(place(), read='.*')
    conn = login(name, place())
    put('users', name, body={'password': 'new', 'tags': ''})
    login_fails(name)
    login(name, place(), 'new').close()
    conn.rpc(1, 'basic.qos')


@managed
def passwords_may_be_any_text():
    for password in ('pässwörd ✓', ' ', 'x' * 1000, 'a:b@c/d%20', '"\\'):
        name = user(place(), password=password)
        login(name, place(), password).close()
        login_fails(name, password + 'x')


def salted(password, name, salt=b'\x90\x8d\xc6\x0a'):
    return base64.b64encode(salt + hashlib.new(name, salt + password.encode()).digest()).decode()


@managed
def hashes_of_all_kinds_get_in():
    for algorithm, python in (('rabbit_password_hashing_sha256', 'sha256'),
                              ('rabbit_password_hashing_sha512', 'sha512'),
                              ('rabbit_password_hashing_md5', 'md5'), (None, 'sha256')):
        name = unique('user')
        body = {'password_hash': salted('secret', python), 'tags': 'management'}
        if algorithm:
            body['hashing_algorithm'] = algorithm
        put('users', name, body=body)
        permit(name, place())
        login(name, place()).close()
        login_fails(name, 'other')
        equal(get('users', name)['password_hash'], body['password_hash'], 'hash')


@managed
def a_user_without_a_password_cannot_get_in():
    for body in ({'password_hash': '', 'tags': ''}, {'password': '', 'tags': ''}):
        name = unique('user')
        if call('PUT', 'users', name, body=body)[0] not in (201, 204):
            continue
        put('users', name, body=body)
        permit(name, place())
        login_fails(name, '')
        login_fails(name, 'x')


@managed
def what_a_user_needs():
    name = unique('user')
    refused('tags_not_present', 'PUT', 'users', name, body={'password': 'x'})
    equal(call('GET', 'users', name)[0], 404, 'status')
    for method in ('GET', 'DELETE'):
        equal(call(method, 'users', name)[0], 404, 'status')


@managed
def tags_are_kept():
    for given in ('', 'administrator', 'monitoring,management', ' policymaker , own '):
        name = user(tags=given)
        tags = [tag.strip() for tag in given.split(',') if tag.strip()]
        equal(sorted(get('users', name)['tags']), sorted(tags), 'tags')


@managed
def vhosts_that_are_not_there_or_not_permitted():
    name = user(place())
    open_fails('NOT_ALLOWED - vhost conf.no.such not found', name, 'conf.no.such')
    open_fails("NOT_ALLOWED - access to vhost '/' refused for user '%s'" % name, name, '/')
    open_fails('NOT_ALLOWED - vhost  not found', name, '')
    login(name, place()).close()
    delete('permissions', place(), name)
    open_fails("NOT_ALLOWED - access to vhost '%s' refused for user '%s'" % (place(), name), name,
               place())


@managed
def amqplain_gets_in_too():
    name = user(place())
    for password, good in (('secret', True), ('wrong', False)):
        conn = dial()
        conn.send(HEADER)
        conn.expect('connection.start', 0)
        conn.method(0, 'connection.start-ok', client_properties={'capabilities': CAPABILITIES},
                    mechanism='AMQPLAIN', locale='en_US',
                    response=table({'LOGIN': name, 'PASSWORD': password})[4:])
        if good:
            conn.expect('connection.tune', 0)
        else:
            conn.expect_close(0, 403, 'ACCESS_REFUSED - Login was refused using authentication '
                              'mechanism AMQPLAIN. For details see the broker logfile.', 0, 0)


# --- permissions ---

def denied(action, what, name, vhost_name):
    """RabbitMQ 3.10 does not say which right was missing."""
    del action
    return "ACCESS_REFUSED - access to %s in vhost '%s' refused for user '%s'" % (
        what, vhost_name, name)


class Bench:
    """A user without rights in the shared vhost, and an administrator's connection there."""

    def __init__(self, configure='', write='', read=''):
        self.vhost = place()
        self.name = user(self.vhost, configure, write, read)
        self.admin = connect(vhost=self.vhost)
        self.conn = login(self.name, self.vhost)
        self.queue = self.admin.queue(1, auto_delete=True)
        self.exchange = self.admin.exchange(1, 'direct', auto_delete=True)

    def allow(self, configure='', write='', read=''):
        """Gives the rights and a connection that has them."""
        permit(self.name, self.vhost, configure, write, read)
        self.conn = login(self.name, self.vhost)

    def refuse(self, action, what, name, **fields):
        refuse(self.conn, 403, denied(action, what, self.name, self.vhost), name, **fields)

    def refuse_publish(self, action, what, exchange):
        self.conn.publish(1, exchange, 'key', 'x')
        self.conn.expect_close(1, 403, denied(action, what, self.name, self.vhost),
                               'basic.publish')
        self.conn.open_channel(1)


@managed
def without_rights_everything_is_refused():
    b = Bench()
    queue, exchange = "queue '%s'" % b.queue, "exchange '%s'" % b.exchange
    b.refuse('configure', queue, 'queue.declare', queue=b.queue, auto_delete=True)
    b.refuse('configure', queue, 'queue.delete', queue=b.queue)
    b.refuse('write', queue, 'queue.bind', queue=b.queue, exchange=b.exchange)
    b.refuse('write', queue, 'queue.unbind', queue=b.queue, exchange=b.exchange)
    b.refuse('read', queue, 'queue.purge', queue=b.queue)
    b.refuse('read', queue, 'basic.get', queue=b.queue)
    b.refuse('read', queue, 'basic.consume', queue=b.queue)
    b.refuse('configure', exchange, 'exchange.declare', exchange=b.exchange, type='direct')
    b.refuse('configure', exchange, 'exchange.delete', exchange=b.exchange)
    b.refuse('write', exchange, 'exchange.bind', destination=b.exchange, source='amq.direct')
    b.refuse('write', exchange, 'exchange.unbind', destination=b.exchange, source='amq.direct')
    b.refuse_publish('write', exchange, b.exchange)
    b.refuse_publish('write', "exchange 'amq.default'", '')


@managed
def passive_declares_need_no_right():
    b = Bench()
    b.conn.rpc(1, 'queue.declare', queue=b.queue, passive=True)
    b.conn.rpc(1, 'exchange.declare', exchange=b.exchange, passive=True)


@managed
def binding_needs_both_ends():
    b = Bench(write='.*')
    exchange = "exchange '%s'" % b.exchange
    b.refuse('read', exchange, 'queue.bind', queue=b.queue, exchange=b.exchange)
    b.refuse('read', exchange, 'queue.unbind', queue=b.queue, exchange=b.exchange)
    b.refuse('read', "exchange 'amq.fanout'", 'exchange.bind', destination=b.exchange,
             source='amq.fanout')
    b.refuse('read', "exchange 'amq.fanout'", 'exchange.unbind', destination=b.exchange,
             source='amq.fanout')
    b.allow(read='.*')
    b.refuse('write', "queue '%s'" % b.queue, 'queue.bind', queue=b.queue, exchange=b.exchange)
    b.allow(write='.*', read='.*')
    b.conn.bind(1, b.queue, b.exchange, 'key')
    b.conn.rpc(1, 'exchange.bind', destination=b.exchange, source='amq.fanout')


@managed
def one_right_does_not_give_another():
    b = Bench(configure='.*')
    b.conn.rpc(1, 'queue.declare', queue=b.queue, auto_delete=True)
    b.refuse('read', "queue '%s'" % b.queue, 'basic.get', queue=b.queue)
    b.refuse_publish('write', "exchange 'amq.default'", '')
    b.allow(read='.*')
    b.conn.rpc(1, 'basic.get', queue=b.queue)
    b.refuse('configure', "queue '%s'" % b.queue, 'queue.delete', queue=b.queue)
    b.allow(write='.*')
    b.conn.publish(1, '', b.queue, 'x')
    b.admin.counts(1, b.queue, 1)
    b.refuse('read', "queue '%s'" % b.queue, 'queue.purge', queue=b.queue)


@managed
def patterns_match_anywhere_unless_anchored():
    b = Bench(configure='^mine[.]|shared$', write='amq[.]default', read='^$')
    for name, good in (('mine.a', True), ('not.mine.a', False), ('x.shared', True),
                       ('shared.x', False), ('Mine.a', False)):
        if good:
            b.conn.rpc(1, 'queue.declare', queue=name, exclusive=True)
        else:
            b.refuse('configure', "queue '%s'" % name, 'queue.declare', queue=name,
                     exclusive=True)
    b.conn.publish(1, '', 'mine.a', 'x')
    b.conn.counts(1, 'mine.a', 1)
    b.refuse('read', "queue 'mine.a'", 'basic.get', queue='mine.a')


@managed
def an_empty_pattern_matches_nothing():
    b = Bench(configure='', write='', read='')
    b.refuse('configure', "queue 'x'", 'queue.declare', queue='x')
    b.conn.method(1, 'queue.declare', queue='', exclusive=True)
    got = b.conn.expect('channel.close', 1)
    assert re.fullmatch("ACCESS_REFUSED - access to queue 'amq.gen-.{22}' in vhost '%s' "
                        "refused for user '%s'" % (b.vhost, b.name), got.reply_text), \
        got.reply_text


@managed
def a_dead_letter_exchange_needs_rights_of_its_own():
    b = Bench(configure='.*')
    queue = unique('q')
    arguments = {'x-dead-letter-exchange': b.exchange}
    b.refuse('read', "queue '%s'" % queue, 'queue.declare', queue=queue, exclusive=True,
             arguments=arguments)
    b.allow(configure='.*', read='.*')
    b.refuse('write', "exchange '%s'" % b.exchange, 'queue.declare', queue=queue, exclusive=True,
             arguments=arguments)
    b.refuse('write', "exchange 'amq.default'", 'queue.declare', queue=queue, exclusive=True,
             arguments={'x-dead-letter-exchange': ''})
    b.allow(configure='.*', read='.*', write='.*')
    b.conn.rpc(1, 'queue.declare', queue=queue, exclusive=True, arguments=arguments)


@managed
def an_alternate_exchange_needs_rights_of_its_own():
    b = Bench(configure='.*')
    name = unique('x')
    arguments = {'alternate-exchange': b.exchange}
    b.refuse('read', "exchange '%s'" % name, 'exchange.declare', exchange=name, type='direct',
             arguments=arguments)
    b.allow(configure='.*', read='.*')
    b.refuse('write', "exchange '%s'" % b.exchange, 'exchange.declare', exchange=name,
             type='direct', arguments=arguments)
    b.allow(configure='.*', read='.*', write='.*')
    b.conn.rpc(1, 'exchange.declare', exchange=name, type='direct', auto_delete=True,
               arguments=arguments)


@managed
def rights_are_looked_at_before_existence():
    b = Bench()
    queue = "queue 'conf.none'"
    for action, name, fields in (('read', 'basic.get', {}), ('read', 'basic.consume', {}),
                                 ('read', 'queue.purge', {}), ('configure', 'queue.delete', {}),
                                 ('write', 'queue.bind', {'exchange': b.exchange}),
                                 ('write', 'queue.unbind', {'exchange': b.exchange})):
        b.refuse(action, queue, name, queue='conf.none', **fields)
    b.refuse('configure', "exchange 'conf.none'", 'exchange.delete', exchange='conf.none')
    b.refuse_publish('write', "exchange 'conf.none'", 'conf.none')
    b.conn.method(1, 'queue.declare', queue='conf.none', passive=True)
    b.conn.expect_close(1, 404, "NOT_FOUND - no queue 'conf.none' in vhost '%s'" % b.vhost)


@managed
def a_reserved_name_or_a_bad_argument_and_no_right():
    b = Bench()
    refuse(b.conn, 403, "ACCESS_REFUSED - queue name 'amq.x' contains reserved prefix 'amq.*'",
           'queue.declare', queue='amq.x')
    b.refuse('configure', "queue 'x'", 'queue.declare', queue='x', arguments={'x-expires': 0})
    b.refuse('configure', "queue '%s'" % b.queue, 'queue.declare', queue=b.queue, durable=True)


@managed
def a_consumer_and_a_get_go_by_read_alone():
    b = Bench(read='.*')
    b.admin.publish(1, '', b.queue, 'x')
    b.conn.consume(1, b.queue)
    b.conn.deliver(1, 'x')
    b.conn.method(1, 'basic.ack', delivery_tag=1)
    b.conn.rpc(1, 'basic.qos')


# --- topic permissions ---

def topic(b, exchange, write='', read=''):
    put('topic-permissions', b.vhost, b.name,
        body={'exchange': exchange, 'write': write, 'read': read}, keep=True)


@managed
def topic_permissions():
    b = Bench(configure='.*', write='.*', read='.*')
    exchange = b.admin.exchange(1, 'topic')
    topic(b, exchange, write='^out[.]', read='^in[.]')
    b.conn = login(b.name, b.vhost)
    b.conn.publish(1, exchange, 'out.a', 'x')
    b.conn.publish(1, exchange, 'in.a', 'x')
    b.conn.expect_close(1, 403, "ACCESS_REFUSED - access to topic 'in.a' in exchange '%s' in "
                        "vhost '%s' refused for user '%s'" % (exchange, b.vhost, b.name),
                        'basic.publish')
    b.conn.open_channel(1)
    b.conn.bind(1, b.queue, exchange, 'in.#')
    for key in ('out.a', '#', ''):
        refuse(b.conn, 403, "ACCESS_REFUSED - access to topic '%s' in exchange '%s' in vhost "
               "'%s' refused for user '%s'" % (key, exchange, b.vhost, b.name), 'queue.bind',
               queue=b.queue, exchange=exchange, routing_key=key)
    # Other exchanges, and those of other types, are not concerned.
    b.conn.publish(1, 'amq.topic', 'in.a', 'x')
    b.conn.publish(1, b.exchange, 'in.a', 'x')
    b.conn.rpc(1, 'basic.qos')
    b.admin.rpc(1, 'exchange.delete', exchange=exchange)


@managed
def topic_permissions_know_the_user_and_the_vhost():
    b = Bench(configure='.*', write='.*', read='.*')
    exchange = b.admin.exchange(1, 'topic')
    topic(b, exchange, write='^{username}[.]{vhost}[.]', read='.*')
    b.conn = login(b.name, b.vhost)
    b.conn.publish(1, exchange, '%s.%s.x' % (b.name, b.vhost), 'x')
    b.conn.rpc(1, 'basic.qos')
    b.conn.publish(1, exchange, 'other.%s.x' % b.vhost, 'x')
    b.conn.expect_close(1, 403, "ACCESS_REFUSED - access to topic 'other.%s.x' in exchange "
                        "'%s' in vhost '%s' refused for user '%s'" % (
                            b.vhost, exchange, b.vhost, b.name), 'basic.publish')
    b.admin.rpc(1, 'exchange.delete', exchange=exchange)


# --- changes under open connections ---

def until_refused(conn, text, name, **fields):
    """Rights may be remembered for a while by a channel: a new channel has none to remember."""
    deadline = time.monotonic() + DEADLINE
    while True:
        conn.method(1, name, **fields)
        got = conn.read()
        if got.name == 'channel.close':
            equal(got.reply_text, text, 'text')
            conn.method(1, 'channel.close-ok')
            conn.open_channel(1)
            return
        assert time.monotonic() < deadline, 'it is still allowed'
        conn.rpc(1, 'channel.close', reply_code=200)
        conn.open_channel(1)


@managed
def rights_that_are_taken_away_are_gone():
    b = Bench(read='.*')
    b.conn.rpc(1, 'basic.get', queue=b.queue)
    permit(b.name, b.vhost)
    until_refused(b.conn, denied('read', "queue '%s'" % b.queue, b.name, b.vhost), 'basic.get',
                  queue=b.queue)
    permit(b.name, b.vhost, read='.*')
    deadline = time.monotonic() + DEADLINE
    while True:
        b.conn.method(1, 'basic.get', queue=b.queue)
        if b.conn.read().name == 'basic.get-empty':
            break
        b.conn.method(1, 'channel.close-ok')
        b.conn.open_channel(1)
        assert time.monotonic() < deadline, 'it is still refused'


@managed
def a_deleted_user_is_put_out():
    b = Bench(read='.*')
    b.conn.rpc(1, 'basic.get', queue=b.queue)
    delete('users', b.name)
    got = b.conn.expect('connection.close', 0, seconds=DEADLINE * 3)
    equal((got.reply_code, got.reply_text), (320, "CONNECTION_FORCED - user '%s' is deleted"
                                             % b.name), 'reply')
    login_fails(b.name)


@managed
def a_deleted_vhost_puts_everybody_out_and_its_queues_go():
    name = vhost()
    conn, other = connect(vhost=name), connect()
    queue = conn.queue(1, durable=True)
    conn.consume(1, queue)
    delete('vhosts', name)
    got = conn.read(DEADLINE * 3)
    if got.name == 'basic.cancel':
        got = conn.read(DEADLINE * 3)
    text = got.reply_text
    if BROKER == 'rabbitmq':  # where the vhost's process may be quicker
        text = text.replace(' is down', ' is deleted')
    equal((got.name, got.reply_code, text),
          ('connection.close', 320, "CONNECTION_FORCED - vhost '%s' is deleted" % name), 'reply')
    other.rpc(1, 'basic.qos')
    open_fails('NOT_ALLOWED - vhost %s not found' % name, USER, name, PASSWORD)
    put('vhosts', name)
    permit(USER, name, '.*', '.*', '.*')
    conn = connect(vhost=name)
    conn.method(1, 'queue.declare', queue=queue, passive=True)
    conn.expect_close(1, 404, "NOT_FOUND - no queue '%s' in vhost '%s'" % (queue, name))


@managed
def vhosts_keep_names_apart():
    conn, other = connect(), connect(vhost=place())
    queue = conn.queue(1)
    equal(other.rpc(1, 'queue.declare', queue=queue, exclusive=True).queue, queue, 'name')
    conn.publish(1, '', queue, 'x')
    conn.counts(1, queue, 1)
    equal(other.passive(1, queue), (0, 0), 'counts')
    for name in ('amq.direct', 'amq.fanout', 'amq.topic', 'amq.headers', 'amq.match',
                 'amq.rabbitmq.trace'):
        other.rpc(1, 'exchange.declare', exchange=name, passive=True)


@managed
def a_connection_is_closed_by_the_management():
    b = Bench()
    mine = {}

    def named():
        mine.update({c['user']: c['name'] for c in get('connections') if 'user' in c})
        return b.name in mine

    eventually(named, True, 'whether the connection is listed')
    delete('connections', mine[b.name])
    got = b.conn.expect('connection.close', 0, seconds=DEADLINE * 2)
    equal((got.reply_code, got.reply_text),
          (320, 'CONNECTION_FORCED - Closed via management plugin'), 'reply')


# --- user ids ---

@managed
def a_user_id_is_the_own_name_or_an_impersonator_sets_it():
    b = Bench(configure='.*', write='.*', read='.*')
    b.conn.publish(1, '', b.queue, 'x', properties(user_id=b.name))
    b.conn.publish(1, '', b.queue, 'x', properties(user_id='other'))
    b.conn.expect_close(1, 406, "PRECONDITION_FAILED - user_id property set to 'other' but "
                        "authenticated user was '%s'" % b.name, 'basic.publish')
    put('users', b.name, body={'password': 'secret', 'tags': 'impersonator'})
    b.conn = login(b.name, b.vhost)
    b.conn.publish(1, '', b.queue, 'y', properties(user_id='other'))
    b.admin.counts(1, b.queue, 2)
    got = [b.conn.rpc(1, 'basic.get', queue=b.queue, no_ack=True) for _ in range(2)]
    equal([m.properties['user_id'] for m in got], [b.name, 'other'], 'user ids')


# --- the HTTP API itself ---

@managed
def the_http_api_asks_for_a_user_with_a_tag():
    for tags, status in (('administrator', 200), ('management', 200), ('monitoring', 200),
                         ('policymaker', 200), ('', 401), ('impersonator', 401)):
        name = user(tags=tags)
        equal(call('GET', 'whoami', user=name, password='secret')[0], status, 'status of ' + tags)
        equal(call('GET', 'whoami', user=name, password='wrong')[0], 401, 'status')
    equal(call('GET', 'whoami', user='conf.nobody', password='x')[0], 401, 'status')


@managed
def only_an_administrator_manages_users():
    name = user(tags='policymaker')
    for method, path, body in (('GET', ('users',), None),
                               ('PUT', ('users', 'conf.x'), {'password': 'x', 'tags': ''}),
                               ('PUT', ('vhosts', 'conf.x'), {}),
                               ('DELETE', ('users', name), None)):
        equal(call(method, *path, body=body, user=name, password='secret')[0], 401,
              'status of %s %s' % (method, path))


run_cases()
