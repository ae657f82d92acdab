"""HTTP: vhosts, users, permissions, policies, parameters, queues, exchanges, bindings."""
from http_client import *
from raw import *

REFUSED = ('not_authorised', 'Access refused.')


def without_stats(row):
    return {key: row[key] for key in ('name', 'vhost', 'durable', 'auto_delete', 'arguments')}


@case
def a_vhost_lives():
    name = TAG + '.life'
    admin.ok('PUT', '/vhosts/' + name, {'description': 'one', 'tags': 'a, b'}, status=201)
    got = admin.ok('GET', '/vhosts/' + name)
    equal((got['name'], got['description'], got['tags'], got['tracing']),
          (name, 'one', ['a', 'b'], False), 'vhost')
    equal((got['metadata']['description'], got['metadata']['tags']), ('one', ['a', 'b']),
          'metadata')
    equal(list(got['cluster_state'].values()), ['running'], 'state')
    admin.ok('PUT', '/vhosts/' + name, {'description': 'two'}, status=204)
    equal(admin.ok('GET', '/vhosts/' + name)['description'], 'two', 'description')
    # Whoever makes it may use it.
    equal(admin.ok('GET', '/permissions/%s/%s' % (name, ADMIN[0])),
          {'user': ADMIN[0], 'vhost': name, 'configure': '.*', 'write': '.*', 'read': '.*'},
          'permissions')
    bad('PUT', '/vhosts/' + name, ['not_boolean', 'x'], {'tracing': 'x'})
    admin.ok('DELETE', '/vhosts/' + name, status=204)
    missing('GET', '/vhosts/' + name)
    missing('DELETE', '/vhosts/' + name)


@case
def a_user_lives():
    name = TAG + '.user'
    path = '/users/' + name
    for body in ({}, {'password': 'x'}):
        bad('PUT', path, 'tags_not_present', body)
    admin.ok('PUT', path, {'password': 'x', 'tags': 'monitoring, other'}, status=201)
    got = admin.ok('GET', path)
    equal((got['name'], got['tags'], got['hashing_algorithm'], got['limits']),
          (name, ['monitoring', 'other'], 'rabbit_password_hashing_sha256', {}), 'user')
    equal(len(base64.b64decode(got['password_hash'])), 36, 'size of salt and digest')
    equal(Client((name, 'x')).ok('GET', '/whoami')['name'], name, 'who')
    bad('PUT', path, 'both_password_and_password_hash_are_provided',
        {'password': 'x', 'password_hash': 'YQ==', 'tags': ''})
    bad('PUT', path, ['not_base64', '$$'], {'password_hash': '$$', 'tags': ''})
    # The hash of one user is as good for another.
    other = TAG + '.other'
    admin.ok('PUT', '/users/' + other, {'password_hash': got['password_hash'],
                                        'tags': ['management']}, status=201)
    equal(Client((other, 'x')).ok('GET', '/whoami')['tags'], ['management'], 'tags')
    admin.ok('PUT', path, {'tags': ''}, status=204)  # no password any more
    equal(Client((name, 'x'))('GET', '/whoami').status, 401, 'status without a password')
    names = [user['name'] for user in admin.ok('GET', '/users/without-permissions')]
    assert name in names and ADMIN[0] not in names, names
    bad('POST', '/users/bulk-delete', '[{key_missing,users}]', {})
    admin.ok('POST', '/users/bulk-delete', {'users': [name, other]}, status=204)
    missing('GET', path)
    missing('DELETE', path)


@case
def permissions_are_put_and_taken():
    with Vhost() as v, User() as user:
        path = v('permissions', user.name)
        bad('PUT', path, '[{key_missing,configure},{key_missing,write},{key_missing,read}]', {})
        whole = {'configure': '^a', 'write': '', 'read': '.*'}
        bad('PUT', v('permissions', 'nobody.' + TAG), 'vhost_or_user_not_found', whole)
        bad('PUT', '/permissions/nope.%s/%s' % (TAG, user.name), 'vhost_or_user_not_found', whole)
        answer = admin('PUT', path, dict(whole, read='('))
        equal((answer.status, answer.json['reason'][0]), (400, 'invalid_regexp'), 'bad pattern')
        admin.ok('PUT', path, whole, status=201)
        admin.ok('PUT', path, whole, status=204)
        row = dict(whole, user=user.name, vhost=v.name)
        equal(admin.ok('GET', path), row, 'permission')
        equal(admin.ok('GET', '/users/%s/permissions' % user.name), [row], 'of the user')
        assert row in admin.ok('GET', v('vhosts') + '/permissions')
        assert row in admin.ok('GET', '/permissions')
        admin.ok('DELETE', path, status=204)
        missing('DELETE', path)
        missing('GET', path)


@case(only='ringtail')
def names_that_amqp_cannot_say_are_refused():
    long, longest = 'n' * 256, 'n' * 255
    reason = "the name '%s...' has 256 bytes, it may have up to 255" % long[:32]
    with Vhost() as v:
        for path in ('/vhosts/' + long, '/users/' + long, '/global-parameters/' + long,
                     v('policies', long), v('operator-policies', long), v('queues', long),
                     v('exchanges', long), '/parameters/c/%s/%s' % (enc(v.name), long),
                     v('permissions', long)):
            bad('PUT', path, reason, {})
        # It is cut between characters: these are of two bytes.
        answer = admin('PUT', '/vhosts/x' + enc('é' * 128), {})
        equal(answer.json['reason'], "the name 'x%s...' has 257 bytes, it may have up to 255" % (
            'é' * 15), 'reason')
        missing('GET', '/vhosts/' + long)
        admin.ok('PUT', '/vhosts/' + longest, status=201)
        admin.ok('DELETE', '/vhosts/' + longest)


@case
def topic_permissions_are_put_and_taken():
    with Vhost() as v, User() as user:
        path = v('topic-permissions', user.name)
        for exchange, status in (('amq.topic', 201), ('other', 204)):
            admin.ok('PUT', path, {'exchange': exchange, 'write': '^w', 'read': '^r'},
                     status=status)
        row = {'user': user.name, 'vhost': v.name, 'exchange': 'amq.topic', 'write': '^w',
               'read': '^r'}
        assert row in admin.ok('GET', path)
        equal(len(admin.ok('GET', path)), 2, 'how many')
        admin.ok('DELETE', path + '/amq.topic', status=204)
        if BROKER == 'ringtail':  # RabbitMQ says so only when the user has none left
            missing('DELETE', path + '/amq.topic')
        admin.ok('DELETE', path, status=204)
        missing('GET', path)


@case
def limits_of_vhosts_and_users():
    with Vhost() as v, User() as user:
        admin.ok('PUT', v('vhost-limits', 'max-queues'), {'value': 1})
        equal(admin.ok('GET', v('vhost-limits')), [{'vhost': v.name, 'value': {'max-queues': 1}}],
              'limits')
        admin.ok('PUT', v('queues', 'one'), {}, status=201)
        bad('PUT', v('queues', 'two'), "cannot declare queue 'two': queue limit in vhost '%s' (1) "
            "is reached" % v.name, {})
        admin.ok('DELETE', v('vhost-limits', 'max-queues'), status=204)
        admin.ok('PUT', v('queues', 'two'), {}, status=201)
        bad('PUT', v('vhost-limits', 'max-foo'), 'Validation failed\n\nUnrecognised terms '
            '[{<<"max-foo">>,3}] in limits\n', {'value': 3})
        bad('PUT', v('vhost-limits', 'max-queues'), 'Validation failed\n\nmax-queues should be a '
            'number, actually was <<"3">>\n', {'value': '3'})
        bad('PUT', v('vhost-limits', 'max-queues'), '[{key_missing,value}]', {})
        path = '/user-limits/' + user.name
        admin.ok('PUT', path + '/max-channels', {'value': 3})
        equal(admin.ok('GET', path), [{'user': user.name, 'value': {'max-channels': 3}}], 'limits')
        equal(admin.ok('GET', '/users/' + user.name)['limits'], {'max-channels': 3}, 'limits')
        bad('PUT', path + '/max-foo', 'Unrecognised terms [{<<"max-foo">>,3}] in user-limits',
            {'value': 3})
        admin.ok('DELETE', path + '/max-channels', status=204)
        equal(admin.ok('GET', path), [], 'limits')


@case
def policies_are_put_and_taken():
    with Vhost() as v:
        path = v('policies', 'p')
        bad('PUT', path, '[{key_missing,pattern},{key_missing,definition}]', {})
        whole = {'pattern': '^a', 'definition': {'max-length': 10}, 'priority': 3}
        for wrong, text in (
                ({'apply-to': 'x'}, "apply-to 'x' unrecognised; should be 'queues', 'exchanges' or "
                                    "'all'"),
                ({'definition': {}}, 'no policy provided')):
            bad('PUT', path, 'Validation failed\n\n%s\n' % text, dict(whole, **wrong))
        for wrong in ({'priority': '3'}, {'pattern': '('}, {'definition': {'max-length': 'a'}}):
            answer = admin('PUT', path, dict(whole, **wrong))
            assert answer.status == 400 and answer.json['reason'].startswith('Validation failed'), (
                '%r: %r' % (wrong, answer))
        admin.ok('PUT', path, whole, status=201)
        admin.ok('PUT', path, whole, status=204)
        row = dict(whole, vhost=v.name, name='p', **{'apply-to': 'all'})
        equal(admin.ok('GET', path), row, 'policy')
        equal(admin.ok('GET', v('policies')), [row], 'policies')
        admin.ok('PUT', v('operator-policies', 'p'), whole, status=201)
        equal(admin.ok('GET', v('operator-policies', 'p')), row, 'operator policy')
        admin.ok('DELETE', v('operator-policies', 'p'), status=204)
        admin.ok('DELETE', path, status=204)
        missing('DELETE', path)
        admin.refused('PUT', '/policies/nope.%s/p' % TAG, 404, 'not_found', 'vhost_not_found',
                      whole)


@case
def parameters_are_put_and_taken():
    path = '/global-parameters/' + TAG
    bad('PUT', path, '[{key_missing,value}]', {})
    for value, status in (({'a': [1, 2.5, 'x', True]}, 201), (2, 204), ('text', 204)):
        admin.ok('PUT', path, {'value': value}, status=status)
        equal(admin.ok('GET', path), {'name': TAG, 'value': value}, 'parameter')
    admin.ok('DELETE', path, status=204)
    missing('DELETE', path)
    with Vhost() as v:
        bad('PUT', '/parameters/foo/%s/x' % v.name,
            'Validation failed\n\ncomponent foo not found\n', {'value': 1})
        equal(admin.ok('GET', '/parameters/foo'), [], 'parameters of no component')


@case
def a_queue_lives():
    with Vhost() as v:
        path = v('queues', 'q')
        body = {'durable': True, 'arguments': {'x-max-length': 10, 'x-message-ttl': 60000}}
        admin.ok('PUT', path, body, status=201)
        admin.ok('PUT', path, body, status=204)
        got = admin.ok('GET', path)
        equal(without_stats(got), dict(body, name='q', vhost=v.name, auto_delete=False), 'queue')
        equal((got['exclusive'], got['type'], got['consumer_details']), (False, 'classic', []),
              'more of it')
        assert isinstance(got['node'], str) and '@' in got['node']
        equal([without_stats(row) for row in admin.ok('GET', v('queues'))], [without_stats(got)],
              'queues')
        text = "inequivalent arg '%s' for queue 'q' in vhost '" + v.name + "': received %s"
        bad('PUT', path, text % ('durable', "'false' but current is 'true'"), {})
        body['arguments']['x-message-ttl'] = 1
        bad('PUT', path, text % ('x-message-ttl', "'1' but current is '60000'"), body)
        admin.ok('DELETE', path, status=204)
        missing('DELETE', path)
        missing('DELETE', path + '/contents')


@case
def queue_arguments_are_checked_as_over_amqp():
    with Vhost() as v:
        for arguments in ({'x-max-length': -1}, {'x-max-length': 'a'}, {'x-overflow': 'x'},
                          {'x-message-ttl': True}, {'x-max-priority': 256}):
            answer = admin('PUT', v('queues', 'q'), {'arguments': arguments})
            name = list(arguments)[0]
            assert answer.status == 400 and answer.json['reason'].startswith(
                "invalid arg '%s' for queue 'q' in vhost '%s': " % (name, v.name)), answer
        bad('PUT', v('queues', 'q'), 'null_not_allowed', {'arguments': {'a': None}})
        admin.refused('PUT', v('queues', 'amq.x'), 401, *REFUSED)
        missing('GET', v('queues', 'q'))


@case
def arguments_of_every_kind_come_back():
    with Vhost() as v:
        arguments = {'int': -5, 'big': 2 ** 40, 'float': 1.5, 'text': 'a\u00fc', 'yes': True,
                     'list': [1, 'a', [True]], 'table': {'a': {'b': 'c'}}, 'empty': {}}
        admin.ok('PUT', v('queues', 'q'), {'arguments': arguments}, status=201)
        equal(admin.ok('GET', v('queues', 'q'))['arguments'], arguments, 'arguments')


@case
def messages_are_counted_and_purged():
    with Vhost() as v:
        admin.ok('PUT', v('queues', 'q'), {}, status=201)
        conn = connect_to(v.name)
        for n in range(5):
            conn.publish(1, '', 'q', b'x' * n)
        conn.rpc(1, 'basic.get', queue='q')
        conn.rpc(1, 'queue.declare', queue='q', passive=True)

        def counts():
            got = admin.ok('GET', v('queues', 'q'))
            return got.get('messages_ready'), got.get('messages_unacknowledged')
        if BROKER == 'ringtail':  # RabbitMQ's figures are seconds old
            equal(counts(), (4, 1), 'ready and unacknowledged')
            vhost = admin.ok('GET', '/vhosts/' + enc(v.name))
            equal((vhost['messages'], vhost['messages_ready']), (5, 4), 'of the vhost')
        bad('DELETE', v('queues', 'q') + '?if-empty=true',
            "queue 'q' in vhost '%s' not empty" % v.name)
        admin.ok('DELETE', v('queues', 'q', 'contents'), status=204)
        equal(conn.rpc(1, 'queue.declare', queue='q', passive=True).message_count, 0, 'messages')
        conn.rpc(1, 'basic.consume', queue='q')
        bad('DELETE', v('queues', 'q') + '?if-unused=true',
            "queue 'q' in vhost '%s' in use" % v.name)
        if BROKER == 'ringtail':
            consumer, = admin.ok('GET', v('queues', 'q'))['consumer_details']
            equal((consumer['queue'], consumer['ack_required'], consumer['active']),
                  ({'name': 'q', 'vhost': v.name}, True, True), 'consumer')
        admin.ok('DELETE', v('queues', 'q'), status=204)


@case
def an_exchange_lives():
    with Vhost() as v:
        path = v('exchanges', 'e')
        admin.ok('PUT', path, {'type': 'topic', 'durable': True}, status=201)
        admin.ok('PUT', path, {'type': 'topic', 'durable': True}, status=204)
        got = admin.ok('GET', path)
        equal({key: got[key] for key in ('name', 'vhost', 'type', 'durable', 'auto_delete',
                                         'internal', 'arguments')},
              {'name': 'e', 'vhost': v.name, 'type': 'topic', 'durable': True,
               'auto_delete': False, 'internal': False, 'arguments': {}}, 'exchange')
        bad('PUT', path, "inequivalent arg 'type' for exchange 'e' in vhost '%s': received "
            "'direct' but current is 'topic'" % v.name, {'durable': True})
        for name in ('amq.new', 'amq.default'):
            admin.refused('PUT', v('exchanges', name), 401, *REFUSED, body={'type': 'topic'})
        for name in ('amq.direct', 'amq.default'):
            admin.refused('DELETE', v('exchanges', name), 401, *REFUSED)
        equal(admin.ok('GET', v('exchanges', 'amq.default'))['name'], '', 'default exchange')
        equal([row['name'] for row in admin.ok('GET', v('exchanges'))],
              ['', 'amq.direct', 'amq.fanout', 'amq.headers', 'amq.match', 'amq.rabbitmq.trace',
               'amq.topic', 'e'], 'names')
        admin.ok('PUT', v('queues', 'q'), {}, status=201)
        admin.ok('POST', v('bindings', 'e', 'e', 'q', 'q'), {}, status=201)
        bad('DELETE', path + '?if-unused=true', "exchange 'e' in vhost '%s' in use" % v.name)
        admin.ok('DELETE', path, status=204)
        missing('DELETE', path)


@case
def bindings_are_made_and_taken():
    with Vhost() as v:
        admin.ok('PUT', v('exchanges', 'e'), {'type': 'topic'}, status=201)
        admin.ok('PUT', v('queues', 'q'), {}, status=201)
        between = v('bindings', 'e', 'e', 'q', 'q')
        places = {}
        keys = ['', 'a.b', 'a b/~%', '\u00fc']
        for key in keys:
            answer = admin('POST', between, {'routing_key': key})
            equal(answer.status, 201, 'status')
            places[key] = answer.headers['Location']
        equal((places[''], places['a.b']), ('q/~', 'q/a.b'), 'places')
        rows = admin.ok('GET', between)
        equal(sorted(row['routing_key'] for row in rows), sorted(keys), 'keys')
        for row in rows:
            path = between + '/' + enc(row['properties_key'])
            equal(path, v('bindings', 'e', 'e', 'q') + '/' + places[row['routing_key']], 'place')
            equal(admin.ok('GET', path), row, 'binding')
        assert all(row in admin.ok('GET', v('queues', 'q', 'bindings')) for row in rows)
        equal(len(admin.ok('GET', v('queues', 'q', 'bindings'))), len(keys) + 1, 'of the queue')
        equal(len(admin.ok('GET', v('exchanges', 'e', 'bindings', 'source'))), len(keys), 'from')
        for row in rows:
            admin.ok('DELETE', between + '/' + enc(row['properties_key']), status=204)
            missing('DELETE', between + '/' + enc(row['properties_key']))
        equal(admin.ok('GET', between), [], 'bindings')
        equal(admin.ok('GET', v('bindings', 'e', 'amq.default', 'q', 'q')),
              [{'source': '', 'vhost': v.name, 'destination': 'q', 'destination_type': 'queue',
                'routing_key': 'q', 'arguments': {}, 'properties_key': 'q'}], 'implied')


@case
def bindings_with_arguments_are_found_again():
    with Vhost() as v:
        admin.ok('PUT', v('queues', 'q'), {}, status=201)
        between = v('bindings', 'e', 'amq.headers', 'q', 'q')
        arguments = {'x-match': 'all', 'kind': 'a', 'size': 'b'}
        answer = admin('POST', between, {'routing_key': 'k', 'arguments': arguments})
        equal(answer.status, 201, 'status')
        row, = admin.ok('GET', between)
        equal(row['arguments'], arguments, 'arguments')
        assert row['properties_key'].startswith('k~'), row
        equal(answer.headers['Location'], 'q/' + enc(row['properties_key']), 'place')
        admin.ok('DELETE', between + '/' + enc(row['properties_key']), status=204)


@case
def bindings_between_exchanges():
    with Vhost() as v:
        between = v('bindings', 'e', 'amq.fanout', 'e', 'amq.topic')
        admin.ok('POST', between, {'routing_key': 'k'}, status=201)
        row, = admin.ok('GET', v('exchanges', 'amq.topic', 'bindings', 'destination'))
        equal((row['source'], row['destination_type']), ('amq.fanout', 'exchange'), 'binding')
        admin.ok('DELETE', between + '/k', status=204)


@case
def bindings_of_what_is_not_there_are_404():
    with Vhost() as v:
        admin.ok('PUT', v('queues', 'q'), {}, status=201)
        admin.refused('POST', v('bindings', 'e', 'amq.topic', 'q', 'nope'), 404, 'not_found',
                      "no queue 'nope' in vhost '%s'" % v.name)
        admin.refused('POST', v('bindings', 'e', 'nope', 'q', 'q'), 404, 'not_found',
                      "no exchange 'nope' in vhost '%s'" % v.name)


@case
def permissions_hold_over_http():
    with Vhost() as v, User('management', {v.name: ('^c', '^w', '^r')}) as user:
        for name in ('cq', 'rq'):
            admin.ok('PUT', v('queues', name), {}, status=201)
        user.ok('PUT', v('queues', 'cmine'), {}, status=201)
        for method, path in (('PUT', v('queues', 'mine')), ('PUT', v('exchanges', 'mine')),
                             ('DELETE', v('queues', 'rq')),
                             ('DELETE', v('queues', 'cq', 'contents')),
                             ('POST', v('bindings', 'e', 'amq.topic', 'q', 'cq'))):
            user.refused(method, path, 401, *REFUSED)
        user.ok('DELETE', v('queues', 'rq', 'contents'), status=204)
        user.ok('DELETE', v('queues', 'cmine'), status=204)


@case
def an_administrator_makes_policies_where_he_may_not_enter():
    with Vhost() as v:
        admin.ok('DELETE', '/permissions/%s/%s' % (enc(v.name), enc(ADMIN[0])), status=204)
        policy = {'pattern': 'a', 'definition': {'max-length': 1}}
        for kind in ('policies', 'operator-policies'):
            admin.ok('PUT', v(kind, 'p'), policy, status=201)
            admin.ok('GET', v(kind), status=200)
            admin.ok('DELETE', v(kind, 'p'), status=204)
        equal(admin('PUT', v('queues', 'q'), {}).status, 401, 'status of a queue')


run(run_cases)
