#!/usr/bin/env python3
"""Reads the files of queues as docs/FORMATS.md, "Queues on disk", says that they are: written from
that document, without a look at the code. For each file a list of objects, in the words of
`ringtail-dump --json`; a damage is {"at": offset, "damage": rule} and, in a journal, "qid".

  tests/formats/ringtail_files.py FILE...
"""

import hashlib
import json
import struct
import sys
import zlib

NUMBER_MAX = 2 ** 55 - 1


class Wrong(Exception):
    """The bytes break the grammar."""


class Reader:
    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def take(self, size):
        if size > self.end - self.at:
            raise Wrong("it ends too early")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), "big")

    def octet(self):
        return self.number(1)

    def varint(self):
        value = 0
        for place in range(10):
            octet = self.octet()
            value |= (octet & 0x7F) << (7 * place)
            if octet < 0x80:
                if value >= 2 ** 64:
                    break
                return value
        raise Wrong("a varint of more than 64 bits")

    def done(self):
        return self.at == self.end


def crc(*parts):
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def word(data, at):
    return int.from_bytes(data[at:at + 4], "big")


def printable(data):
    return "".join(chr(octet) if 0x20 < octet < 0x7F and octet != 0x25 else f"%{octet:02X}"
                   for octet in data)


def header(data, magic, size):
    """A reader behind magic and version, if the header is whole."""
    if len(data) < size or data[:8] != magic or word(data, size - 4) != crc(data[:size - 4]):
        raise Wrong("no whole header")
    if word(data, 8) != 1:
        raise Wrong("a version that is not 1")
    return Reader(data, 12, size - 4)


# --- messages ---

def read_content(reader):
    flags = reader.octet()
    if flags & ~15:
        raise Wrong("unknown flags")
    found = {"persistent": bool(flags & 1)}
    if flags & 2:
        found["priority"] = reader.octet()
    if flags & 4:
        expiration = reader.varint()
        if expiration != 2 ** 64 - 1:  # which is none
            found["expiration"] = expiration
    found["exchange"] = printable(reader.take(reader.octet()))
    found["routing-key"] = printable(reader.take(reader.octet()))
    found["properties"] = reader.take(reader.varint()).hex()
    if flags & 8:
        blind = reader.take(reader.varint())
        if blind:
            found["blind-keys"] = blind.hex()
    body = reader.take(reader.varint())
    found["body-size"] = len(body)
    found["body-crc"] = crc(body)
    return found


def placed(number, lane, expires, head):
    found = {"number": number, "lane": lane}
    if expires is not None and expires != 2 ** 64 - 1:
        found["expires-at"] = expires
    found["delivered"] = bool(head & 8)
    return found


# --- journal ---

class Journal:
    HEADER, BATCH, RECORD = 36, 20, 21

    def __init__(self, data):
        reader = header(data, b"RTJOURNL", self.HEADER)
        self.data = data
        self.first = {"kind": "journal", "shard": reader.number(2)}
        reader.number(2)
        self.first["number"] = reader.number(8)
        self.first["salt"] = reader.number(8)
        self.salt = data[24:32]
        self.records, self.damages, self.batches = [], [], 0
        self.good = []  # payloads of good publish records of this batch

    def batch_at(self, at):
        """Size, records and index, if there is a good batch header."""
        head = self.data[at:at + self.BATCH]
        if len(head) < self.BATCH or word(head, 16) != crc(self.salt, head[:16]):
            return None
        return struct.unpack(">IIQ", head[:16])

    def later(self, at, index):
        for place in range(at, len(self.data) - self.BATCH + 1):
            if int.from_bytes(self.data[place + 8:place + 16], "big") > index:
                found = self.batch_at(place)
                if found:
                    return place, found[2]
        return None

    def traces(self, begin):
        at = end = begin
        while at + self.RECORD <= len(self.data):
            head = self.data[at:at + self.RECORD]
            if 1 <= head[4] <= 4 and word(head, 13) == crc(self.salt, head[:13]):
                at += self.RECORD + word(head, 0)
                end = min(at, len(self.data))
            else:
                at += 1
        return end - begin

    def damage(self, at, rule, qid=0):
        self.damages.append({"at": at, "damage": rule, "qid": qid})

    def read(self):
        at, index, torn = self.HEADER, 1, 0
        while True:
            batch = self.batch_at(at)
            if batch is None or batch[2] != index:
                found = self.later(at, index)
                if not found:
                    torn = self.traces(at)
                    break
                self.damage(at, "no batch")
                at, index = found
                continue
            end = at + self.BATCH + batch[0]
            records, behind = self.records_of(at + self.BATCH, min(end, len(self.data)))
            whole = behind == end and len(records) == batch[1] and all(r[4] for r in records)
            if not whole and not self.later(end, index):
                torn = min(end, len(self.data)) - at
                break
            self.visit(records, behind, end, batch[1])
            self.batches += 1
            at, index = end, index + 1
        last = {"end": at, "batches": self.batches, "torn": torn,
                "behind": len(self.data) - at - torn}
        return [self.first] + self.records + self.damages + [last]

    def records_of(self, at, end):
        """Offset, type, qid, end, good payload of the records with a good head; where they end."""
        found = []
        while end - at >= self.RECORD:
            head = self.data[at:at + self.RECORD]
            size, kind, qid, head_crc, whole_crc = struct.unpack(">IBQII", head)
            begin = at + self.RECORD
            if head_crc != crc(self.salt, head[:13]) or size > end - begin:
                break
            good = whole_crc == crc(self.salt, head[:13], self.data[begin:begin + size])
            found.append((at, kind, qid, begin + size, good))
            at = begin + size
        return found, at

    def visit(self, records, behind, end, announced):
        self.good = []
        for at, kind, qid, record_end, good in records:
            if not good:
                self.damage(at, "payload", qid)
                continue
            try:
                self.records.append(self.record(at, kind, qid, record_end))
            except Wrong as why:
                self.damage(at, str(why), qid)
        if behind != end:
            self.damage(behind, "the rest of the batch")
        elif len(records) != announced:
            self.damage(end, "another number of records")

    def record(self, at, kind, qid, end):
        reader = Reader(self.data, at + self.RECORD, end)
        names = {1: "publish", 2: "remove", 3: "delivered", 4: "deleted"}
        if kind not in names:
            raise Wrong("an unknown type")
        found = {"at": at, "record": names[kind], "qid": qid}
        if kind == 1:
            self.good.append((reader.at, end))
            found["messages"] = self.publish(reader)
        elif kind == 2:
            found["ranges"] = []
            while not reader.done():
                lane, first, more = reader.octet(), reader.varint(), reader.varint()
                if first + more > NUMBER_MAX:
                    raise Wrong("a number that is too high")
                found["ranges"].append({"lane": lane, "first": first, "last": first + more})
        elif kind == 3:
            found["lane"], found["up-to"] = reader.octet(), reader.varint()
            if found["up-to"] > NUMBER_MAX or not reader.done():
                raise Wrong("not a lane and a number")
        return found

    def publish(self, reader):
        messages, number = [], 0
        while not reader.done():
            before = reader.at
            head = reader.octet()
            if head & ~15:
                raise Wrong("unknown bits")
            number += reader.varint() + 1
            if number > NUMBER_MAX:
                raise Wrong("a number that is too high")
            lane = reader.octet() if head & 1 else 0
            expires = reader.varint() if head & 2 else None
            message = placed(number, lane, expires, head)
            message.update(self.elsewhere(reader.varint(), before) if head & 4
                           else read_content(reader))
            messages.append(message)
        return messages

    def elsewhere(self, at, before):
        for begin, end in self.good:
            if begin <= at < end:
                return read_content(Reader(self.data, at, min(end, before)))
        raise Wrong("no content there")


# --- a queue's own files ---

def read_segment(data):
    reader = header(data, b"RTSEGMNT", 44)
    found = {"kind": "segment", "qid": reader.number(8), "lane": reader.octet()}
    reader.take(3)
    found["number"] = reader.number(8)
    found["salt"] = reader.number(8)
    salt, lane = data[32:40], found["lane"]

    def whole(at):
        """End and good checksum of the record at an offset, if it does not end behind the file."""
        if len(data) - at < 8 or word(data, at) > len(data) - at - 8:
            return None
        end = at + 8 + word(data, at)
        return end, word(data, at + 4) == crc(salt, data[at:at + 4], data[at + 8:end])

    def record(at, end):
        reader = Reader(data, at + 8, end)
        head, number = reader.octet(), reader.varint()
        expires = reader.varint() if head & 2 else None
        if head & ~10 or not 1 <= number <= NUMBER_MAX:
            raise Wrong("no message's head")
        message = {"at": at, "size": end - at}
        message.update(placed(number, lane, expires, head))
        message.update(read_content(reader))
        if not reader.done():
            raise Wrong("more than a content")
        return message

    lines, at = [found], 44
    while True:
        here = whole(at)
        if here is None:
            break
        end, good = here
        try:
            if not good:
                raise Wrong("checksum")
            lines.append(record(at, end))
        except Wrong as why:
            lines.append({"at": at, "damage": str(why)})
            behind = whole(end)
            if not good and end != len(data) and not (behind and behind[1]):
                break
        at = end
    return lines + [{"end": at, "behind": len(data) - at}]


class Index:
    def __init__(self, data):
        reader = header(data, b"RTQINDEX", 32)
        self.data = data
        self.first = {"kind": "index", "qid": reader.number(8), "salt": reader.number(8)}
        self.salt = data[20:28]
        self.state = {"covered": 0, "next": 1, "next-segment": 1, "delivered": []}
        self.segments = {}

    def commit_at(self, at):
        """Where the commit at an offset ends, if one is whole there."""
        data = self.data
        if len(data) - at < 8 or word(data, at) > len(data) - at - 8:
            return None
        end = at + 8 + word(data, at)
        good = word(data, at + 4) == crc(self.salt, data[at:at + 4], data[at + 8:end])
        return end if good else None

    def read(self):
        at = 32
        while at < len(self.data):
            end = self.commit_at(at)
            if end is None:
                if any(self.commit_at(later) for later in range(at + 1, len(self.data))):
                    raise Wrong("a bad commit before a good one")
                break
            self.commit(Reader(self.data, at + 8, end))
            at = end
        return ([self.first, self.state] + [self.segments[n] for n in sorted(self.segments)] +
                [{"end": at, "torn": len(self.data) - at}])

    def commit(self, reader):
        kind = reader.octet()
        while kind == 1:
            self.segment(reader)
            kind = reader.octet()
        while kind == 2:
            self.segments.pop(reader.varint(), None)
            kind = reader.octet()
        if kind != 3:
            raise Wrong("a commit without a state")
        self.state = {name: reader.varint() for name in ("covered", "next", "next-segment")}
        marks = {}
        for _ in range(reader.varint()):
            lane = reader.octet()
            marks[lane] = reader.varint()
        self.state["delivered"] = [{"lane": n, "up-to": marks[n]} for n in sorted(marks)]
        if not reader.done():
            raise Wrong("something behind the state")

    def segment(self, reader):
        found = {"segment": reader.varint(), "lane": reader.octet()}
        for name in ("first", "last", "bytes", "live", "live-bytes", "expiring"):
            found[name] = reader.varint()
        found["removed"] = []
        at = found["first"]
        for _ in range(reader.varint()):
            first = at + reader.varint()
            last = first + reader.varint()
            if last > found["last"]:
                raise Wrong("a range outside of its segment")
            found["removed"].append({"first": first, "last": last})
            at = last + 1
        self.segments[found["segment"]] = found


def directory_name(vhost, queue):
    def atom(text):
        return b"\x64" + struct.pack(">H", len(text)) + text

    def binary(text):
        return b"\x6d" + struct.pack(">I", len(text)) + text

    term = b"\x83\x68\x04" + atom(b"resource") + binary(vhost) + atom(b"queue") + binary(queue)
    number, name = int.from_bytes(hashlib.md5(term).digest(), "big"), ""
    while number:
        number, rest = divmod(number, 36)
        name = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[rest] + name
    return name or "0"


def read_identity(data):
    reader = header(data, b"RTQUEUE1", len(data)) if len(data) >= 28 else None
    if reader is None:
        raise Wrong("no whole header")
    qid = reader.number(8)
    vhost, queue = reader.take(reader.number(2)), reader.take(reader.number(2))
    if not reader.done():
        raise Wrong("something behind the names")
    found = {"kind": "queue", "qid": qid, "vhost": printable(vhost), "name": printable(queue)}
    if vhost:
        found["directory"] = directory_name(vhost, queue)
    return [found]


KINDS = {b"RTJOURNL": lambda data: Journal(data).read(), b"RTSEGMNT": read_segment,
         b"RTQINDEX": lambda data: Index(data).read(), b"RTQUEUE1": read_identity}


def read_file(data):
    try:
        if data[:8] not in KINDS:
            raise Wrong("no file of a queue")
        return KINDS[data[:8]](data)
    except Wrong as why:
        return [{"damage": str(why)}]


def main():
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            for line in read_file(file.read()):
                print(json.dumps(line))


if __name__ == "__main__":
    main()
