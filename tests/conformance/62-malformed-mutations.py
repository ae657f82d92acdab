"""A thousand short connections, each a good conversation broken at random from a fixed seed."""
import random
import select

from raw import *
from node import rss_kib

SEED, AT_A_TIME = 20260, 250  # a refused login is answered after a pause
CONNECTIONS = on(ringtail=1000, rabbitmq=100)


def conversation(queue):
    """Client octets of a whole good session that says everything once."""
    args = {'t': True, 'i': 5, 's': 'text', 'a': [1, {'k': None}], 'f': 1.5}
    sent = [
        (0, 'connection.start-ok', {'client_properties': {'capabilities': CAPABILITIES},
                                    'mechanism': 'PLAIN', 'response': plain(), 'locale': 'en_US'}),
        (0, 'connection.tune-ok', {'channel_max': 10, 'frame_max': 8192, 'heartbeat': 0}),
        (0, 'connection.open', {'virtual_host': '/'}), (1, 'channel.open', {}),
        (1, 'queue.declare', {'queue': queue, 'exclusive': True, 'arguments': args}),
        (1, 'queue.bind', {'queue': queue, 'exchange': 'amq.topic', 'routing_key': queue + '.#',
                           'arguments': args}),
        (1, 'confirm.select', {}), (1, 'basic.qos', {'prefetch_count': 10}),
        (1, 'basic.consume', {'queue': queue, 'consumer_tag': 't', 'arguments': args}),
        (1, 'basic.publish', {'exchange': 'amq.topic', 'routing_key': queue + '.x'}),
        (1, 'basic.ack', {'delivery_tag': 0, 'multiple': True}),
        (1, 'basic.recover', {'requeue': True}),
        (1, 'basic.cancel', {'consumer_tag': 't'}), (1, 'basic.get', {'queue': queue}),
        (1, 'queue.unbind', {'queue': queue, 'exchange': 'amq.topic', 'routing_key': queue + '.#',
                             'arguments': args}),
        (1, 'queue.delete', {'queue': queue}), (1, 'channel.close', {'reply_code': 200}),
        (0, 'connection.close', {'reply_code': 200})]
    frames = [HEADER]
    for channel, name, fields in sent:
        frames.append(frame(METHOD, channel, encode_method(name, **fields)))
        if name == 'basic.publish':
            props = properties(headers=args, content_type='text/plain', delivery_mode=1)
            frames += [content_header(1, 5000, props), frame(BODY, 1, b'x' * 3000),
                       frame(BODY, 1, b'y' * 2000)]
    return frames


def mutate(frames, rng):
    """One to three breaks: octets, lengths, whole frames; the seed decides."""
    frames = [bytearray(f) for f in frames]
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(0 if rng.random() < 0.1 else 1, len(frames))
        victim, what = frames[at], rng.randrange(8)
        spot = rng.randrange(len(victim)) if victim else 0
        if what <= 1 and victim:
            victim[spot] = rng.randrange(256)
        elif what == 2 and victim:
            victim[spot] ^= 1 << rng.randrange(8)
        elif what == 3:
            del victim[spot:spot + rng.randint(1, 8)]
        elif what == 4:
            victim[spot:spot] = rng.randbytes(rng.randint(1, 8))
        elif what == 5:
            frames.insert(rng.randrange(1, len(frames) + 1), bytearray(victim))
        elif what == 6:
            frames.pop(at)
        elif len(victim) > 6:
            victim[3:7] = struct.pack('>I', rng.choice((0, 1, 0x7F, 0xFFFF, 2**31, 2**32 - 1)))
    return b''.join(bytes(f) for f in frames)


def finish(conns):
    """Reads each connection to its end; our side is closed, so the broker has to end it too."""
    deadline = time.monotonic() + 10 * SLOW
    while conns:
        left = deadline - time.monotonic()
        assert left > 0, '%d connections are still open 10 s after the client ended' % len(conns)
        for sock in select.select([c.socket for c in conns], [], [], left)[0]:
            try:
                over = not sock.recv(262144)
            except OSError:
                over = True
            if over:
                conns = [c for c in conns if c.socket is not sock]
                sock.close()


@case
def the_broker_outlives_a_thousand_broken_connections():
    rng = random.Random(SEED)
    watcher = connect()
    queue = watcher.queue(1)
    before = rss_kib(PID) if PID else 0
    stem = unique('mutated')
    for start in range(0, CONNECTIONS, AT_A_TIME):
        conns = []
        for n in range(start, start + AT_A_TIME):
            data = mutate(conversation('%s.%d' % (stem, n)), rng)
            conn = dial()
            try:
                conn.send(data)
                conn.half_close()
            except (Eof, OSError):
                pass  # the broker had enough
            conns.append(conn)
        if BROKER != 'rabbitmq':  # which keeps some of them for half a minute
            finish(conns)
        watcher.publish(1, '', queue, str(start))
        equal(watcher.drain(1, queue), [str(start).encode()], 'queue')
    if PID and SLOW == 1:
        growth = rss_kib(PID) - before
        assert growth < 24 * 1024, 'memory grew by %d KiB' % growth


@case
def the_unbroken_conversation_is_answered_to_the_end():
    conn = dial()
    *most, close = conversation(unique('whole'))
    # RabbitMQ answers basic.consume out of turn: what follows it has to wait there.
    consume = 1 + max(n for n, data in enumerate(most[:12]) if data[7:11] == b'\0\x3c\0\x14')
    conn.send(b''.join(most[:consume]))
    names = []
    while not names or names[-1] != 'basic.consume-ok':
        names.append(conn.read().name)
    conn.send(b''.join(most[consume:]))
    while not names or names[-1] != 'channel.close-ok':
        names.append(conn.read().name)
    conn.send(close)
    conn.expect('connection.close-ok', 0)
    for name in ('connection.open-ok', 'queue.declare-ok', 'queue.bind-ok', 'queue.delete-ok',
                 on(ringtail='basic.cancel-ok', rabbitmq='basic.consume-ok')):
        assert name in names, '%s is missing in %s' % (name, names)


run_cases()
