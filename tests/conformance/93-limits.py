"""Limits of vhosts and users: connections, queues, channels."""
from management import *
from raw import *


def limit(kind, name, key, value):
    put(kind, name, key, body={'value': value}, keep=True)


def open_answer(user_name, vhost_name, password='secret'):
    conn = greet(user=user_name, password=password)
    conn.method(0, 'connection.tune-ok', channel_max=conn.tune.channel_max,
                frame_max=conn.tune.frame_max, heartbeat=0)
    conn.method(0, 'connection.open', virtual_host=vhost_name)
    got = conn.read()
    if got.name == 'connection.close':
        conn.method(0, 'connection.close-ok')
        conn.expect_eof()
        return got.reply_code, got.reply_text
    equal(got.name, 'connection.open-ok', 'answer')
    return conn


def refused_open(text, user_name, vhost_name, password='secret'):
    equal(open_answer(user_name, vhost_name, password), (530, 'NOT_ALLOWED - ' + text), 'answer')


def gets_in(user_name, vhost_name, password='secret'):
    """A connection, once those that have just ended are counted out."""
    deadline = time.monotonic() + DEADLINE * 2
    while True:
        got = open_answer(user_name, vhost_name, password)
        if isinstance(got, Conn):
            return got
        assert time.monotonic() < deadline, 'still refused: %s %s' % got


_shared = {}


def place():
    if 'vhost' not in _shared:
        _shared['vhost'] = vhost()
    return _shared['vhost']


def clear(kind, name, key):
    equal(call('DELETE', kind, name, key)[0], 204, 'status')


# --- vhosts ---

@managed
def connections_of_a_vhost():
    name = place()
    limit('vhost-limits', name, 'max-connections', 2)
    text = "access to vhost '%s' refused for user '%s': connection limit (2) is reached" % (
        name, USER)
    first, second = (gets_in(USER, name, PASSWORD) for _ in range(2))
    refused_open(text, USER, name, PASSWORD)
    second.rpc(1, 'channel.open')
    first.close_socket()
    third = gets_in(USER, name, PASSWORD)
    refused_open(text, USER, name, PASSWORD)
    limit('vhost-limits', name, 'max-connections', 3)
    fourth = gets_in(USER, name, PASSWORD)
    limit('vhost-limits', name, 'max-connections', 1)  # those that are in may stay
    for n, conn in enumerate((second, third, fourth)):
        conn.rpc(2, 'channel.open')
        conn.close()
    limit('vhost-limits', name, 'max-connections', -1)
    for _ in range(5):
        gets_in(USER, name, PASSWORD)
    clear('vhost-limits', name, 'max-connections')


@managed
def no_connections_at_all():
    name = place()
    limit('vhost-limits', name, 'max-connections', 0)
    refused_open("access to vhost '%s' refused for user '%s': connection limit (0) is reached" % (
        name, USER), USER, name, PASSWORD)
    connect().close()  # other vhosts are not concerned
    clear('vhost-limits', name, 'max-connections')
    gets_in(USER, name, PASSWORD)


@managed
def queues_of_a_vhost():
    name = vhost()
    conn = connect(vhost=name)
    limit('vhost-limits', name, 'max-queues', 2)
    queues = [conn.queue(1) for _ in range(2)]
    text = "PRECONDITION_FAILED - cannot declare queue '%s': queue limit in vhost '%s' (2) is " \
           "reached"
    for flags in ({'exclusive': True}, {'durable': True}, {'auto_delete': True}):
        third = unique('q')
        refuse(conn, 406, text % (third, name), 'queue.declare', queue=third, **flags)
    for queue in queues:  # what is there may be declared again
        conn.rpc(1, 'queue.declare', queue=queue, exclusive=True)
        conn.rpc(1, 'queue.declare', queue=queue, passive=True)
    conn.rpc(1, 'queue.delete', queue=queues[0])
    conn.queue(1)
    other = connect()
    other.queue(1)  # other vhosts are not concerned
    limit('vhost-limits', name, 'max-queues', -1)
    conn.queue(1)
    limit('vhost-limits', name, 'max-queues', 0)
    refuse(conn, 406, "PRECONDITION_FAILED - cannot declare queue '%s': queue limit in vhost '%s' "
           "(0) is reached" % ('q', name), 'queue.declare', queue='q', exclusive=True)
    clear('vhost-limits', name, 'max-queues')
    conn.queue(1)


# --- users ---

@managed
def connections_of_a_user():
    name = user(place(), '.*', '.*', '.*')
    limit('user-limits', name, 'max-connections', 2)
    text = "connection refused for user '%s': user connection limit (2) is reached" % name
    first = gets_in(name, place())
    gets_in(name, place())
    refused_open(text, name, place())
    connect(vhost=place()).close()  # others are not concerned
    first.close_socket()
    gets_in(name, place())
    refused_open(text, name, place())
    limit('user-limits', name, 'max-connections', -1)
    gets_in(name, place())
    clear('user-limits', name, 'max-connections')


@managed
def no_connections_of_a_user_at_all():
    name = user(place(), '.*', '.*', '.*')
    limit('user-limits', name, 'max-connections', 0)
    refused_open("connection refused for user '%s': user connection limit (0) is reached" % name,
                 name, place())


@managed
def channels_of_a_user():
    name = user(place(), '.*', '.*', '.*')
    limit('user-limits', name, 'max-channels', 2)
    conn = connect(user=name, password='secret', vhost=place(), channels=2)
    conn.method(3, 'channel.open')
    conn.expect_close(0, 530, "NOT_ALLOWED - number of channels opened for user '%s' has reached "
                      "the maximum allowed user limit of (2)" % name, 0, 0)
    deadline = time.monotonic() + DEADLINE * 2
    while True:  # the channels of the closed connection are counted out in their time
        conn = connect(user=name, password='secret', vhost=place(), channels=0)
        conn.method(1, 'channel.open')
        if conn.read().name == 'channel.open-ok':
            break
        assert time.monotonic() < deadline, 'still refused'
    limit('user-limits', name, 'max-channels', -1)
    for channel in range(2, 8):
        conn.open_channel(channel)


@managed
def channels_are_of_all_connections_of_the_user():
    name = user(place(), '.*', '.*', '.*')
    limit('user-limits', name, 'max-channels', 3)
    first = connect(user=name, password='secret', vhost=place(), channels=2)
    second = connect(user=name, password='secret', vhost=place(), channels=1)
    second.method(2, 'channel.open')
    second.expect_close(0, 530, "NOT_ALLOWED - number of channels opened for user '%s' has reached "
                        "the maximum allowed user limit of (3)" % name, 0, 0)
    first.rpc(1, 'basic.qos')


# --- setting and reading ---

@managed
def limits_are_read_back():
    name, person = place(), user()
    equal(get('user-limits', person), [], 'limits')
    limit('user-limits', person, 'max-connections', 7)
    limit('user-limits', person, 'max-channels', 9)
    equal(get('user-limits', person), [{'user': person, 'value': {
        'max-connections': 7, 'max-channels': 9}}], 'limits')
    clear('user-limits', person, 'max-connections')
    equal(get('user-limits', person), [{'user': person, 'value': {'max-channels': 9}}], 'limits')
    limit('vhost-limits', name, 'max-queues', 100)
    equal(get('vhost-limits', name), [{'vhost': name, 'value': {'max-queues': 100}}], 'limits')
    assert {'vhost': name, 'value': {'max-queues': 100}} in get('vhost-limits')
    clear('vhost-limits', name, 'max-queues')
    equal(get('vhost-limits', name), [], 'limits')


@managed
def bad_limits_are_refused():
    name, person = place(), user()
    for kind, whose, head in (('vhost-limits', name, 'Validation failed\n\n'),
                              ('user-limits', person, '')):
        for value, text in (('x', '<<"x">>'), (1.5, '1.5'), (None, 'null')):
            refused('%smax-connections should be a number, actually was %s' % (head, text), 'PUT',
                    kind, whose, 'max-connections', body={'value': value})
        refused('[{key_missing,value}]', 'PUT', kind, whose, 'max-connections', body={})
        refused('%sUnrecognised terms [{<<"max-bogus">>,1}] in %s' % (
            head, 'limits' if head else 'user-limits'), 'PUT', kind, whose, 'max-bogus',
                body={'value': 1})
        equal(get(kind, whose), [], 'limits')
        equal(call('GET', kind, 'conf.nobody')[0], 404, 'status')
        clear(kind, whose, 'max-connections')  # what is not there may be cleared
    equal(call('PUT', 'vhost-limits', 'conf.nobody', 'max-connections', body={'value': 1})[0], 404,
          'status')
    equal(call('PUT', 'user-limits', 'conf.nobody', 'max-connections', body={'value': 1})[0], 400,
          'status')


run_cases()
