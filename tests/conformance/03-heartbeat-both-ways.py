"""Heartbeats at an interval of one second."""
import select
import time

from raw import *


@case
def the_broker_sends_heartbeats_to_a_quiet_connection():
    conn = connect(heartbeat=1)
    for _ in range(3):
        kind, channel, payload = conn.read_frame(2 * SLOW, heartbeats=True)
        equal((kind, channel, payload), (HEARTBEAT, 0, b''), 'frame')
        conn.send(frame(HEARTBEAT, 0, b''))


@case
def a_silent_client_is_dropped_and_one_that_beats_is_not():
    begin = time.monotonic()
    silent = connect(heartbeat=1)
    beating = connect(heartbeat=1)
    talking = connect(heartbeat=1)
    off = connect(heartbeat=0)
    dropped, next_beat = None, begin
    while time.monotonic() < begin + 4.5:
        if time.monotonic() >= next_beat:
            beating.send(frame(HEARTBEAT, 0, b''))
            talking.method(1, 'basic.recover-async', requeue=True)  # a method without an answer
            next_beat += 0.5
        sockets = [c.socket for c in (silent, beating, talking, off)
                   if c is not silent or not dropped]
        ready, _, _ = select.select(sockets, [], [], 0.1)
        for conn in (beating, talking):
            if conn.socket in ready:
                equal(conn.read_frame(heartbeats=True), (HEARTBEAT, 0, b''), 'frame')
        assert off.socket not in ready, 'the broker sent or closed with heartbeats off'
        if silent.socket in ready:
            try:
                silent.read_frame(heartbeats=True)
            except Eof:
                dropped = time.monotonic() - begin
    assert dropped, 'the silent client was not dropped within 4.5 s'
    assert dropped > 1.0, 'the silent client was dropped after %.2f s' % dropped
    beating.rpc(1, 'channel.close', reply_code=200)
    talking.rpc(1, 'channel.close', reply_code=200)
    off.rpc(1, 'channel.close', reply_code=200)


@case
def an_unfinished_frame_keeps_a_connection_alive_as_long_as_octets_come():
    conn = connect(heartbeat=1)
    begin = time.monotonic()
    data = frame(METHOD, 1, encode_method('basic.qos', prefetch_count=1))
    for octet in data[:-1]:
        conn.send(bytes([octet]))
        assert time.monotonic() < begin + 10
        if time.monotonic() < begin + 3:  # until the broker's next heartbeat, half a second or so
            try:
                conn.read_frame(0.25, heartbeats=True)
            except AssertionError:
                pass
    conn.send(data[-1:])
    conn.expect('basic.qos-ok', 1)


run_cases()
