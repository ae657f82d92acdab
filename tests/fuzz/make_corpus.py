#!/usr/bin/python3
"""Writes the seeds of the fuzz targets of broker/amqp and of letters into corpus/<target>/, the
same each time.

Files that are there already under other names (inputs that once failed) stay.
"""

import pathlib
import struct

ROOT = pathlib.Path(__file__).resolve().parent / "corpus"


def short(text):
    return bytes([len(text)]) + text.encode()


def sized(data):
    return struct.pack(">I", len(data)) + data


def field(name, kind, value=b""):
    return short(name) + kind.encode() + value


def frame(kind, channel, payload, end=0xCE):
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + bytes([end])


NUMBERS = (
    field("t", "t", b"\x01") + field("b", "b", b"\xff") + field("B", "B", b"\xff") +
    field("s", "s", b"\xff\xfe") + field("u", "u", b"\xff\xfe") +
    field("I", "I", b"\xff\xff\xff\xfd") + field("i", "i", b"\xff\xff\xff\xfd") +
    field("l", "l", b"\x80" + b"\0" * 7) + field("L", "L", b"\xff" * 8))
OTHERS = (
    field("f", "f", struct.pack(">f", 1.5)) + field("d", "d", struct.pack(">d", 1e300)) +
    field("nan", "d", b"\x7f\xf8" + b"\0" * 6) + field("D", "D", b"\x02\0\0\x01\x3a") +
    field("S", "S", sized(b"text")) + field("x", "x", sized(b"\0\xff")) +
    field("T", "T", struct.pack(">Q", 1700000000)) + field("V", "V"))
DEATH = field("x-death", "A", sized(b"F" + sized(
    field("count", "l", struct.pack(">q", 1)) + field("reason", "S", sized(b"expired")) +
    field("queue", "S", sized(b"q")) + field("time", "T", struct.pack(">Q", 1700000000)) +
    field("exchange", "S", sized(b"")) + field("routing-keys", "A", sized(b"S" + sized(b"rk"))))))
ARGUMENTS = (field("x-message-ttl", "I", struct.pack(">i", 60000)) +
             field("x-queue-type", "S", sized(b"classic")) + field("x-max-priority", "b", b"\x0a"))


def nested(depth):
    inner = b""
    for _ in range(depth):
        inner = field("n", "F", sized(inner))
    return inner


TABLES = {
    "empty": b"",
    "numbers": NUMBERS,
    "others": OTHERS,
    "death": DEATH,
    "arguments": ARGUMENTS,
    "nested": nested(5),
    "nested-63": nested(63),
    "nested-64": nested(64),
    "array": field("a", "A", sized(b"V" + b"t\x01" + b"A" + sized(b"") + b"F" + sized(b""))),
    "repeated": field("a", "b", b"\x01") + field("a", "b", b"\x02"),
    "empty-name": field("", "V"),
    "bool-2": field("t", "t", b"\x02"),
    "unknown-type": field("a", "?"),
    "string-too-long": short("a") + b"S" + struct.pack(">I", 0xFFFFFFFF) + b"hi",
    "inner-too-long": short("a") + b"F" + struct.pack(">I", 3) + b"\x01b" + b"S" + b"\0\0\0\x01z",
    "array-items": b"V" + b"I\0\0\0\x01" + b"S" + sized(b"x"),
}


def header(flags, values=b"", body_size=5, weight=0, class_id=60):
    return struct.pack(">HHQH", class_id, weight, body_size, flags) + values


ALL_VALUES = (
    short("text/plain") + short("gzip") + sized(ARGUMENTS) + b"\x02" + b"\x09" + short("corr") +
    short("amq.rabbitmq.reply-to") + short("60000") + short("id") +
    struct.pack(">Q", 1700000000) + short("type") + short("guest") + short("app") + short(""))

HEADERS = {
    "none": header(0),
    "persistent": header(1 << 12, b"\x02"),
    "all": header(0xFFFC, ALL_VALUES),
    "headers": header(1 << 13, sized(NUMBERS)),
    "death": header(1 << 13, sized(DEATH)),
    "bad-headers": header(1 << 13, sized(TABLES["unknown-type"])),
    "expiration": header(1 << 8, short("100")),
    "priority-reply": header(1 << 11 | 1 << 9, b"\x05" + short("reply")),
    "continued": header(1 << 12 | 1, b"\0\0\x02"),
    "continued-on": header(1, b"\0\x01\0\0"),
    "unknown-property": header(2),
    "unknown-second": header(1, b"\x80\0" + short("a")),
    "weight": header(0, weight=1),
    "followed": header(0, b"\0"),
    "cut": header(1 << 6, b"\0\0\0"),
}


def method(class_id, method_id, arguments=b""):
    return struct.pack(">HH", class_id, method_id) + arguments


METHODS = {
    "start": method(10, 10, b"\0\x09" + sized(ARGUMENTS) + sized(b"PLAIN AMQPLAIN") +
                    sized(b"en_US")),
    "start-ok": method(10, 11, sized(field("product", "S", sized(b"c"))) + short("PLAIN") +
                       sized(b"\0guest\0guest") + short("en_US")),
    "tune-ok": method(10, 31, struct.pack(">HIH", 2047, 131072, 60)),
    "open": method(10, 40, short("/") + short("") + b"\0"),
    "close": method(10, 50, struct.pack(">H", 200) + short("bye") + b"\0\0\0\0"),
    "close-ok": method(10, 51),
    "blocked": method(10, 60, short("low on memory")),
    "update-secret": method(10, 70, sized(b"secret") + short("reason")),
    "channel-open": method(20, 10, short("")),
    "flow": method(20, 20, b"\x01"),
    "access": method(30, 10, short("/data") + b"\x1f"),
    "exchange-declare": method(40, 10, b"\0\0" + short("x") + short("topic") + b"\x02" +
                               sized(field("alternate-exchange", "S", sized(b"ae")))),
    "exchange-bind": method(40, 30, b"\0\0" + short("d") + short("s") + short("#") + b"\0" +
                            sized(b"")),
    "queue-declare": method(50, 10, b"\0\0" + short("q") + b"\x02" + sized(ARGUMENTS)),
    "queue-declare-bad": method(50, 10, b"\0\0" + short("q") + b"\x02" +
                                sized(TABLES["unknown-type"])),
    "queue-bind": method(50, 20, b"\0\0" + short("q") + short("x") + short("a.*.b") + b"\0" +
                         sized(field("x-match", "S", sized(b"all")))),
    "queue-unbind": method(50, 50, b"\0\0" + short("q") + short("x") + short("k") + sized(b"")),
    "qos": method(60, 10, b"\0\0\0\0\0\x64\0"),
    "consume": method(60, 20, b"\0\0" + short("q") + short("tag") + b"\x02" +
                      sized(field("x-priority", "I", b"\xff\xff\xff\xff"))),
    "publish": method(60, 40, b"\0\0" + short("x") + short("rk") + b"\x01"),
    "publish-cut": method(60, 40, b"\0\0" + short("x") + b"\xffrk"),
    "deliver": method(60, 60, short("tag") + struct.pack(">Q", 1) + b"\0" + short("x") +
                      short("rk")),
    "get-ok": method(60, 71, struct.pack(">Q", 1) + b"\x01" + short("x") + short("rk") +
                     struct.pack(">I", 9)),
    "ack": method(60, 80, struct.pack(">Q", 1) + b"\x01"),
    "nack": method(60, 120, struct.pack(">Q", 1) + b"\x03"),
    "confirm": method(85, 10, b"\0"),
    "tx": method(90, 10),
    "unknown": method(70, 10, b"\0"),
}

PUBLISH = (frame(1, 1, METHODS["publish"]) + frame(2, 1, HEADERS["persistent"]) +
           frame(3, 1, b"hello"))


def stream(data, limit=4088, seed=0):
    return struct.pack(">HB", limit, seed) + data


STREAMS = {
    "publish": stream(PUBLISH),
    "publish-cut": stream(PUBLISH[:-4], seed=1),
    "many": stream(PUBLISH * 3 + frame(8, 0, b""), seed=7),
    "large-body": stream(frame(3, 2, bytes(range(256)) * 2) + frame(8, 0, b""), seed=3),
    "empty-body": stream(frame(3, 2, b"")),
    "heartbeat": stream(frame(8, 0, b"")),
    "unknown-type": stream(frame(4, 0, b"")),
    "protocol-header": stream(b"AMQP\0\0\x09\x01"),
    "bad-end": stream(frame(1, 0, b"abc", 0xCF)),
    "bad-end-body": stream(frame(3, 0, b"abcdefgh", 0x00) + frame(8, 0, b""), seed=5),
    "too-large": stream(frame(3, 0, b"x" * 11), limit=10),
    "at-limit": stream(frame(3, 0, b"x" * 10), limit=10),
    "size-wraps": stream(struct.pack(">BHI", 3, 0, 0xFFFFFFFF) + b"abc", limit=0xFFFF),
    "size-wraps-envelope": stream(struct.pack(">BHI", 1, 0, 0xFFFFFFF8) + b"abc", limit=0xFFFF),
}


# --- letters of queues: kind, size of the header, header (Protobuf), octets of the messages ---

def varint(number):
    octets = b""
    while number >= 0x80:
        octets += bytes([number & 0x7F | 0x80])
        number >>= 7
    return octets + bytes([number])


def proto(*fields):
    """(number, int or bytes) each."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def letter(kind, header, octets=b""):
    return bytes([kind, len(header)]) + header + octets


ROUTE = short("x") + short("key")
PLAIN = bytes([0, len(ROUTE), 3, 4])
PLAIN_OCTETS = ROUTE + b"\x10\0\x02" + b"body"
FULL = bytes([15, 9]) + varint(60000) + bytes([len(ROUTE), 0, 2]) + varint(300)
FULL_OCTETS = ROUTE + b"bk" + b"b" * 300
TOKENS = b"".join(varint(token) for token in (1, 64, 2**40 + 7, 2**64 - 1))
LETTERS = {
    "publish": letter(0, proto((1, 5), (2, 7), (3, 2), (4, PLAIN + FULL)),
                      PLAIN_OCTETS + FULL_OCTETS),
    "publish-cut": letter(0, proto((1, 5), (2, 7), (3, 1), (4, PLAIN)), PLAIN_OCTETS[:-1]),
    "consume": letter(1, proto((1, 5), (2, 7), (3, 2), (4, b"tag"), (5, 1), (6, 1), (7, 9),
                               (8, 100), (9, 2**20), (10, 0), (11, 2**64 - 1))),
    "cancel": letter(2, proto((1, 5), (2, 7), (3, 2))),
    "get": letter(3, proto((1, 5), (2, 7), (3, 1))),
    "ack": letter(4, proto((1, 5), (2, 1), (3, TOKENS))),
    "requeue": letter(5, proto((1, 5), (3, TOKENS))),
    "credit": letter(6, proto((1, 5), (2, 1), (3, 9), (4, 900), (5, 2**20), (8, 1))),
    "purge": letter(7, proto((1, 2**63 - 1), (2, 7))),
    "delete": letter(9, proto((1, 5), (2, 7), (3, 1), (4, 1))),
    "channel-gone": letter(10, proto((1, 5), (2, proto((1, 9), (2, 1))), (3, 8))),
    "settled": letter(11, proto((1, 5), (2, 900), (3, varint(3) + varint(800)))),
    "consume-ok": letter(12, proto((1, 5), (2, 7), (3, 2), (4, 5), (5, 1000))),
    "deliver": letter(14, proto((1, 5), (2, 2), (3, b"\x00\x01\x05" + PLAIN +
                                                 b"\x03\x02\x00\x09" + FULL)),
                      PLAIN_OCTETS + FULL_OCTETS),
    "get-result": letter(15, proto((1, 5), (2, 7), (4, 1), (5, 3), (6, 77), (7, 4), (9, PLAIN)),
                         PLAIN_OCTETS),
    "inspected": letter(17, proto((1, 5), (2, 7), (4, 1), (7, 3), (11, 2**63))),
}


def main():
    for target, inputs in (("frame_reader_fuzz", STREAMS), ("field_table_fuzz", TABLES),
                           ("content_header_fuzz", HEADERS), ("methods_fuzz", METHODS),
                           ("letters_codec_fuzz", LETTERS)):
        folder = ROOT / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in inputs.items():
            (folder / name).write_bytes(data)
        print(f"{target}: {len(inputs)} inputs")


if __name__ == "__main__":
    main()
