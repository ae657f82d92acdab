#!/usr/bin/python3
"""Writes the seeds of peer_link_fuzz into corpus/peer_link_fuzz/, the same each time.

Files that are there already under other names (inputs that once failed) stay.
"""

import pathlib
import struct
import zlib

ROOT = pathlib.Path(__file__).resolve().parent / "corpus" / "peer_link_fuzz"
ACCEPTOR, DIALER, FRAMES, ENVELOPES, ACKNOWLEDGEMENTS, PROVEN = 0, 1, 2, 3, 4, 0xFF


def opening(lowest=1, highest=1, nonce=b"\x05" * 32):
    return b"RINGLINK" + bytes([lowest, highest]) + nonce


def envelope(kind, header, body):
    return struct.pack(">HHQQII", kind, 0, 1, 2, len(header), len(body)) + header + body


def frame(number, payload, lane=0):
    head = struct.pack(">IQ", lane << 24 | len(payload), number)
    return head + struct.pack(">I", zlib.crc32(head + payload)) + payload


def acknowledgement(number):
    head = struct.pack(">Q", number)
    return head + struct.pack(">I", zlib.crc32(head))


def identity(name=b"rabbit@a"):
    return (b"\x07" * 16 + struct.pack(">QI", 1, 9) + bytes([len(name)]) + name +
            struct.pack(">QH", 3, 2))


def seeds():
    stream = envelope(0x101, b"head", b"body") + envelope(0x102, b"", b"") + envelope(
        0x103, b"h" * 40, b"b" * 300)
    hello = b"\x01\x02" + identity() + struct.pack(">HIQ", 1, 9, 4)
    welcome = b"\x00\x00" + identity() + struct.pack(">Q", 17)
    return {
        "greeting": (ACCEPTOR, opening()),
        "greeting-and-hello": (ACCEPTOR, opening() + b"\x00\x60" + b"h" * 0x60),
        "greeting-huge-hello": (ACCEPTOR, opening() + b"\xff\xff" + b"h" * 64),
        "http": (ACCEPTOR, b"GET / HTTP/1.1\r\n\r\n"),
        "challenge": (DIALER, opening()),
        "challenge-and-answer": (DIALER, opening() + b"\x00\x60" + b"w" * 0x60),
        "challenge-of-the-future": (DIALER, opening(2, 9)),
        "hello": (PROVEN, hello),
        "hello-cut": (PROVEN, hello[:-3]),
        "hello-kind": (PROVEN, b"\x01\x09" + hello[2:]),
        "welcome": (PROVEN, welcome),
        "refusal": (PROVEN, b"\x03\x03why" + welcome[2:]),
        "frames": (FRAMES, frame(1, stream[:50]) + frame(2, stream[50:])),
        "frames-twice": (FRAMES, frame(1, stream[:50]) * 2 + frame(2, stream[50:]) * 2),
        "frames-gap": (FRAMES, frame(1, stream[:50]) + frame(3, stream[50:])),
        "frames-lane": (FRAMES, frame(1, stream, 1)),
        "frames-sum": (FRAMES, frame(1, stream)[:-1] + b"x"),
        "frames-empty": (FRAMES, frame(1, b"") + frame(2, stream)),
        "frames-huge": (FRAMES, struct.pack(">IQI", 0xFFFFFF, 1, 0) + b"x" * 40),
        "envelopes": (ENVELOPES, stream),
        "envelopes-huge": (ENVELOPES, struct.pack(">HHQQII", 1, 0, 1, 2, 2**32 - 1, 2**32 - 1)),
        "acknowledgements": (ACKNOWLEDGEMENTS, acknowledgement(1) + acknowledgement(2**63)),
        "acknowledgement-sum": (ACKNOWLEDGEMENTS, acknowledgement(1)[:-1] + b"x"),
    }


def main():
    ROOT.mkdir(parents=True, exist_ok=True)
    for name, (mode, data) in seeds().items():
        (ROOT / name).write_bytes(bytes([mode, 11]) + data)
    print(f"{len(seeds())} inputs")


if __name__ == "__main__":
    main()
