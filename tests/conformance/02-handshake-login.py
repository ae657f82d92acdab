"""SASL: PLAIN, AMQPLAIN, and every way to be refused."""
import time

from raw import *

REFUSED = ('ACCESS_REFUSED - Login was refused using authentication mechanism %s. For details see '
           'the broker logfile.')


def login(mechanism, response, capabilities=CAPABILITIES):
    conn = dial()
    conn.send(HEADER)
    conn.expect('connection.start', 0)
    conn.method(0, 'connection.start-ok', client_properties={'capabilities': capabilities},
                mechanism=mechanism, response=response, locale='en_US')
    return conn


def amqplain(**fields):
    return table(fields)[4:]


@case
def plain_and_amqplain_let_guest_in():
    login('PLAIN', plain()).expect('connection.tune', 0)
    login('AMQPLAIN', amqplain(LOGIN=USER, PASSWORD=PASSWORD)).expect('connection.tune', 0)
    login('AMQPLAIN', amqplain(PASSWORD=PASSWORD, LOGIN=USER)).expect('connection.tune', 0)


@case
def wrong_credentials_are_403_for_a_client_that_can_be_told():
    for mechanism, response in (('PLAIN', plain(USER, 'wrong')), ('PLAIN', plain('nobody', 'x')),
                                ('PLAIN', plain(USER, '')),
                                ('AMQPLAIN', amqplain(LOGIN=USER, PASSWORD='wrong'))):
        conn = login(mechanism, response)
        conn.expect_close(0, 403, REFUSED % mechanism, 0, 0, answer=False)


@case
def wrong_credentials_end_the_connection_of_an_older_client_after_a_pause():
    begin = time.monotonic()
    conns = [login('PLAIN', plain(USER, 'wrong'), capabilities={}),
             login('PLAIN', plain(USER, 'wrong'),
                   capabilities={'authentication_failure_close': False})]
    for conn in conns:
        equal(conn.rest(DEADLINE + 3), b'', 'what the broker sent')
    seconds = time.monotonic() - begin
    assert 2.5 < seconds < 6 * SLOW, 'the pause took %.1f s, not 3 s' % seconds


@case
def the_refused_client_may_not_go_on():
    conn = login('PLAIN', plain(USER, 'wrong'))
    conn.expect('connection.close', 0)
    conn.method(0, 'connection.tune-ok', channel_max=10, frame_max=8192)
    conn.method(0, 'connection.open', virtual_host='/')
    equal(conn.rest(DEADLINE + 3), b'', 'what the broker sent')


@case
def unknown_mechanisms_and_broken_responses_are_refused():
    # RabbitMQ ends these without a word after its pause of 3 s; a close may be sent as well.
    conns = [login(mechanism, response) for mechanism, response in (
        ('NOPE', 'x'), ('', ''), ('plain', plain()), ('EXTERNAL', ''), ('ANONYMOUS', ''),
        ('PLAIN', ''), ('PLAIN', 'xx'), ('PLAIN', '\0guest'),
        ('AMQPLAIN', amqplain(LOGIN=USER)), ('AMQPLAIN', 'zzzzzzz'),
        ('AMQPLAIN', amqplain(LOGIN=USER, PASSWORD=5)),
        ('AMQPLAIN', b'\x05LOGINS\xff\xff\xff\xffguest'))]
    for index, conn in enumerate(conns):
        try:
            got = conn.expect('connection.close', 0, DEADLINE + 3)
            assert got.reply_code in (403, 501, 502, 503), 'case %d: %r' % (index, got)
        except Eof:
            pass


run_cases()
