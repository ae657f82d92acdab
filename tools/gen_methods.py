#!/usr/bin/python3
"""Writes broker/amqp/methods.h and methods.cc from the table of methods below.

  gen_methods.py            write both files
  gen_methods.py --check    say whether they are current (exit 1 when not)
  gen_methods.py --against FILE
                            compare the table with a machine-readable protocol definition (JSON)

The written files are committed, so that a build needs no Python.
"""

import argparse
import json
import pathlib
import sys

# One class a block: "class <name> <id>", then one method a line:
#   <name> <id> <who> field:type ...     (a line further in goes on with the fields)
# who: c the client sends it, s the server, b both; with "+" content follows the method.
# A field in parentheses is reserved: skipped on decode, zero or empty on encode, not in the struct.
TABLE = """
class connection 10
  start            10 s   version-major:octet version-minor:octet server-properties:table
                          mechanisms:longstr locales:longstr
  start-ok         11 c   client-properties:table mechanism:shortstr response:longstr
                          locale:shortstr
  secure           20 s   challenge:longstr
  secure-ok        21 c   response:longstr
  tune             30 s   channel-max:short frame-max:long heartbeat:short
  tune-ok          31 c   channel-max:short frame-max:long heartbeat:short
  open             40 c   virtual-host:shortstr (capabilities:shortstr) (insist:bit)
  open-ok          41 s   (known-hosts:shortstr)
  close            50 b   reply-code:short reply-text:shortstr class-id:short method-id:short
  close-ok         51 b
  blocked          60 s   reason:shortstr
  unblocked        61 s
  update-secret    70 c   new-secret:longstr reason:shortstr
  update-secret-ok 71 s

class channel 20
  open             10 c   (out-of-band:shortstr)
  open-ok          11 s   (channel-id:longstr)
  flow             20 b   active:bit
  flow-ok          21 b   active:bit
  close            40 b   reply-code:short reply-text:shortstr class-id:short method-id:short
  close-ok         41 b

class access 30
  request          10 c   realm:shortstr exclusive:bit passive:bit active:bit write:bit read:bit
  request-ok       11 s   ticket:short

class exchange 40
  declare          10 c   (ticket:short) exchange:shortstr type:shortstr passive:bit durable:bit
                          auto-delete:bit internal:bit nowait:bit arguments:table
  declare-ok       11 s
  delete           20 c   (ticket:short) exchange:shortstr if-unused:bit nowait:bit
  delete-ok        21 s
  bind             30 c   (ticket:short) destination:shortstr source:shortstr routing-key:shortstr
                          nowait:bit arguments:table
  bind-ok          31 s
  unbind           40 c   (ticket:short) destination:shortstr source:shortstr routing-key:shortstr
                          nowait:bit arguments:table
  unbind-ok        51 s

class queue 50
  declare          10 c   (ticket:short) queue:shortstr passive:bit durable:bit exclusive:bit
                          auto-delete:bit nowait:bit arguments:table
  declare-ok       11 s   queue:shortstr message-count:long consumer-count:long
  bind             20 c   (ticket:short) queue:shortstr exchange:shortstr routing-key:shortstr
                          nowait:bit arguments:table
  bind-ok          21 s
  purge            30 c   (ticket:short) queue:shortstr nowait:bit
  purge-ok         31 s   message-count:long
  delete           40 c   (ticket:short) queue:shortstr if-unused:bit if-empty:bit nowait:bit
  delete-ok        41 s   message-count:long
  unbind           50 c   (ticket:short) queue:shortstr exchange:shortstr routing-key:shortstr
                          arguments:table
  unbind-ok        51 s

class basic 60
  qos              10 c   prefetch-size:long prefetch-count:short global:bit
  qos-ok           11 s
  consume          20 c   (ticket:short) queue:shortstr consumer-tag:shortstr no-local:bit
                          no-ack:bit
                          exclusive:bit nowait:bit arguments:table
  consume-ok       21 s   consumer-tag:shortstr
  cancel           30 b   consumer-tag:shortstr nowait:bit
  cancel-ok        31 b   consumer-tag:shortstr
  publish          40 c+  (ticket:short) exchange:shortstr routing-key:shortstr mandatory:bit
                          immediate:bit
  return           50 s+  reply-code:short reply-text:shortstr exchange:shortstr
                          routing-key:shortstr
  deliver          60 s+  consumer-tag:shortstr delivery-tag:longlong redelivered:bit
                          exchange:shortstr routing-key:shortstr
  get              70 c   (ticket:short) queue:shortstr no-ack:bit
  get-ok           71 s+  delivery-tag:longlong redelivered:bit exchange:shortstr
                          routing-key:shortstr
                          message-count:long
  get-empty        72 s   (cluster-id:shortstr)
  ack              80 b   delivery-tag:longlong multiple:bit
  reject           90 c   delivery-tag:longlong requeue:bit
  recover-async   100 c   requeue:bit
  recover         110 c   requeue:bit
  recover-ok      111 s
  nack            120 b   delivery-tag:longlong multiple:bit requeue:bit

class confirm 85
  select           10 c   nowait:bit
  select-ok        11 s

class tx 90
  select           10 c
  select-ok        11 s
  commit           20 c
  commit-ok        21 s
  rollback         30 c
  rollback-ok      31 s
"""

# Decoded once a message or once a settlement: inline, in the header.
INLINE = {"basic.publish", "basic.ack", "basic.nack", "basic.reject"}
# Gets `route`, the bytes of exchange and routing key as they stand on the wire.
WITH_ROUTE = {"basic.publish"}

CPP = {
    "octet": "std::uint8_t",
    "short": "std::uint16_t",
    "long": "std::uint32_t",
    "longlong": "std::uint64_t",
    "bit": "bool",
    "shortstr": "std::string_view",
    "longstr": "std::string_view",
    "table": "std::span<const std::uint8_t>",
}
WIDTH = {"octet": 1, "short": 2, "long": 4, "longlong": 8}
LENGTH = {"shortstr": 1, "longstr": 4, "table": 4}


class Field:
    def __init__(self, text):
        self.reserved = text.startswith("(")
        self.wire_name, self.type = text.strip("()").split(":")
        self.name = self.wire_name.replace("-", "_")


class Method:
    def __init__(self, class_name, class_id, line):
        words = line.split()
        self.class_name, self.class_id = class_name, class_id
        self.wire_name, self.id, self.who = words[0], int(words[1]), words[2]
        self.fields = [Field(word) for word in words[3:]]
        self.full_name = f"{class_name}.{self.wire_name}"
        self.content = self.who.endswith("+")
        self.client = self.who[0] in "cb"
        self.server = self.who[0] in "sb"
        parts = [class_name, *self.wire_name.split("-")]
        self.struct = "".join(part.capitalize() for part in parts)

    def steps(self):
        """The fields in wire order; bits that share octets as lists of up to eight."""
        steps = []
        for field in self.fields:
            if field.type != "bit":
                steps.append(field)
            elif steps and isinstance(steps[-1], list) and len(steps[-1]) < 8:
                steps[-1].append(field)
            else:
                steps.append([field])
        return steps

    def fixed_size(self):
        """Octets of the arguments that are always there, lengths of strings included."""
        size = 0
        for step in self.steps():
            if isinstance(step, list):
                size += 1
            else:
                size += WIDTH.get(step.type) or LENGTH[step.type]
        return size


def parse_table():
    methods, name, number = [], None, None
    for line in TABLE.splitlines():
        if line.startswith("class "):
            _, name, number = line.split()
        elif line.startswith("   "):  # more fields of the method above
            methods[-1].fields += [Field(word) for word in line.split()]
        elif line.strip():
            methods.append(Method(name, int(number), line))
    return methods


def load(width, at):
    return {1: f"{at}[0]", 2: f"load_u16({at})", 4: f"load_u32({at})", 8: f"load_u64({at})"}[width]


def wrap(start, terms, operator):
    """`start` and the terms with the operator between them, broken as clang-format breaks it."""
    line, lines = start + terms[0], []
    for index, term in enumerate(terms[1:], 1):
        tail = f" {operator} {term}"
        # Room for the ";" at the end or the operator in front of the break.
        room = 99 if index == len(terms) - 1 else 99 - len(operator)
        if len(line) + len(tail) > room:
            lines.append(f"{line} {operator}")
            line = " " * len(start) + term
        else:
            line += tail
    return lines + [line + ";"]


def decode_body(method):
    """Checks that the fixed octets are there, then takes each string out of what is left over."""
    fixed = method.fixed_size()
    variable = any(not isinstance(s, list) and s.type in LENGTH for s in method.steps())
    if not method.fields:
        return ["  return wire.empty();"]
    out = []
    if not variable:
        out.append(f"  if (wire.size() != {fixed}) return false;")
    else:
        out.append(f"  if (wire.size() < {fixed}) return false;")
        out.append(f"  std::size_t left = wire.size() - {fixed};")
    useful = [s for s in method.steps()
              if isinstance(s, list) or not s.reserved or s.type in LENGTH]
    if not useful:
        return out + ["  return true;"]
    out.append("  const std::uint8_t* at = wire.data();")
    steps = method.steps()
    tables, texts = [], []
    for index, step in enumerate(steps):
        last = index == len(steps) - 1
        if isinstance(step, list):
            for bit, field in enumerate(step):
                if not field.reserved:
                    out.append(f"  {field.name} = (at[0] & {1 << bit:#x}) != 0;")
            if not last:
                out.append("  at += 1;")
            continue
        if step.type in WIDTH:
            width = WIDTH[step.type]
            if not step.reserved:
                out.append(f"  {step.name} = {load(width, 'at')};")
            if not last:
                out.append(f"  at += {width};")
            continue
        width = LENGTH[step.type]
        size = f"{step.name}_size"
        if method.full_name in WITH_ROUTE and step.name == "exchange":
            out.append("  const std::uint8_t* route_at = at;")
        out.append(f"  const std::size_t {size} = {load(width, 'at')};")
        out.append(f"  if ({size} > left) return false;")
        out.append(f"  left -= {size};")
        if not step.reserved:
            if step.type == "table":
                out.append(f"  {step.name} = {{at + {width}, {size}}};")
                tables.append(step.name)
            else:
                out.append(f"  {step.name} = text_at(at + {width}, {size});")
                if step.type == "shortstr" and method.client and method.full_name not in INLINE:
                    texts.append(step.name)
        if not last:
            out.append(f"  at += {width} + {size};")
        if method.full_name in WITH_ROUTE and step.name == "routing_key":
            out.append("  route = {route_at, static_cast<std::size_t>(at - route_at)};")
    terms = ["left == 0"] if variable else []
    terms += [f"valid_utf8({name})" for name in texts]
    terms += [f"validate_table({name})" for name in tables]
    return out + wrap("  return ", terms or ["true"], "&&")


def encode_body(method):
    if not method.fields:
        return ["  return out;"]
    out = []
    for step in method.steps():
        if isinstance(step, list):
            if all(f.reserved for f in step):
                out.append("  *out++ = 0;")
            else:
                out.append("  int bits = 0;")
                for bit, f in enumerate(step):
                    if not f.reserved:
                        out.append(f"  if ({f.name}) bits |= {1 << bit:#x};")
                out.append("  *out++ = static_cast<std::uint8_t>(bits);")
        elif step.type in WIDTH:
            value = "0" if step.reserved else step.name
            kind = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}[WIDTH[step.type]]
            out.append(f"  out = store_{kind}(out, {value});")
        elif step.type == "shortstr":
            value = "{}" if step.reserved else step.name
            out.append(f"  out = store_short_string(out, {value});")
        else:
            value = "{}" if step.reserved else step.name
            if step.type == "longstr":
                value = "{}" if step.reserved else f"runtime::as_bytes({step.name})"
            out.append(f"  out = store_long_bytes(out, {value});")
    out.append("  return out;")
    return out


def size_body(method):
    terms = [str(method.fixed_size())]
    for step in method.steps():
        if isinstance(step, list) or step.reserved or step.type not in LENGTH:
            continue
        if step.type == "shortstr":
            terms.append(f"short_string_size({step.name})")
        else:
            terms.append(f"{step.name}.size()")
    return wrap("  return ", terms, "+")


DEFAULT = {"std::string_view": "", "std::span<const std::uint8_t>": "", "bool": " = false"}


def struct(method):
    who = {"c": "client to server", "s": "server to client", "b": "both ways"}[method.who[0]]
    out = [f"// {method.full_name}, {who}.", f"struct {method.struct} {{"]
    out.append(f"  static constexpr std::uint16_t kClassId = {method.class_id};")
    out.append(f"  static constexpr std::uint16_t kMethodId = {method.id};")
    out.append(f"  static constexpr bool kHasContent = {'true' if method.content else 'false'};")
    members = [f for f in method.fields if not f.reserved]
    if members:
        out.append("")
    for field in members:
        kind = CPP[field.type]
        out.append(f"  {kind} {field.name}{DEFAULT.get(kind, ' = 0')};")
    if method.full_name in WITH_ROUTE:
        out.append("  // Exchange and routing key as two short strings; set by decode() only.")
        out.append("  std::span<const std::uint8_t> route;")
    out += ["", "  bool decode(std::span<const std::uint8_t> wire);",
            "  std::size_t encoded_size() const;",
            "  std::uint8_t* encode(std::uint8_t* out) const;"]
    if members:
        out += ["  template <typename Self, typename Visitor>",
                "  static void visit_fields(Self& self, Visitor&& visit) {"]
        out += [f'    visit("{field.name}", self.{field.name});' for field in members]
        out += ["  }"]
    else:
        out += ["  template <typename Self, typename Visitor>",
                "  static void visit_fields(Self&, Visitor&&) {}"]
    return out + ["};"]


NOTICE = "// Written by tools/gen_methods.py; change the table there, not this file."


def header(methods):
    out = [
        "// The methods of AMQP 0-9-1 and RabbitMQ's extensions of it: one plain struct each.",
        NOTICE,
        "//",
        "// Strings and tables slice the memory they were decoded from and live no longer. A table",
        "// is its encoded entries without the length in front (field_table.h). decode() takes a",
        "// method frame's payload behind the class and method ids; it is false when that is cut",
        "// short, is followed by more, or holds a malformed table or text, and the fields are",
        "// then unspecified. encode() writes encoded_size() bytes and returns their end; a short",
        "// string over 255 bytes is cut. Reserved fields are no members: skipped on decode, zero",
        "// or empty on encode. visit_fields() calls visit(name, member) for each, in wire order.",
        "//",
        "// Short strings that a client sends must be UTF-8, as RabbitMQ wants it; like there,",
        "// basic.publish is let off, for speed.",
        "#pragma once",
        "",
        "#include <cstddef>",
        "#include <cstdint>",
        "#include <span>",
        "#include <string_view>",
        "",
        '#include "broker/amqp/wire.h"',
        "",
        "namespace ringtail::amqp {",
        "",
        "// Class and method in one number, for switches.",
        "constexpr std::uint32_t method_key(std::uint16_t class_id, std::uint16_t method_id) {",
        "  return static_cast<std::uint32_t>(class_id) << 16 | method_id;",
        "}",
        "template <typename Method>",
        "inline constexpr std::uint32_t kMethodKey = "
        "method_key(Method::kClassId, Method::kMethodId);",
        "",
        "struct MethodInfo {",
        "  std::uint16_t class_id;",
        "  std::uint16_t method_id;",
        '  const char* name;   // "basic.publish"',
        "  bool has_content;   // a header frame and body frames follow",
        "  bool client_sends;  // a client may send it",
        "  bool server_sends;",
        "};",
        "",
        "// Null when there is no such method.",
        "const MethodInfo* find_method(std::uint16_t class_id, std::uint16_t method_id);",
        '// "basic.publish"; null when there is no such method.',
        "const char* method_name(std::uint16_t class_id, std::uint16_t method_id);",
        "",
    ]
    for method in methods:
        out += struct(method) + [""]
    for method in methods:
        if method.full_name in INLINE:
            out += [f"inline bool {method.struct}::decode(std::span<const std::uint8_t> wire) {{"]
            out += decode_body(method) + ["}", ""]
    out += ["// Calls `visit` with a default-made struct of the method's type; false when there is",
            "// no such method.",
            "template <typename Visitor>",
            "bool visit_method(std::uint16_t class_id, std::uint16_t method_id, Visitor&& visit) {",
            "  switch (method_key(class_id, method_id)) {"]
    for method in methods:
        out += [f"    case kMethodKey<{method.struct}>:",
                f"      visit({method.struct}{{}});",
                "      return true;"]
    out += ["    default:", "      return false;", "  }", "}", ""]
    out += ["}  // namespace ringtail::amqp"]
    return out


def source(methods):
    out = [
        NOTICE,
        '#include "broker/amqp/methods.h"',
        "",
        "#include <algorithm>",
        "#include <iterator>",
        "",
        '#include "broker/amqp/field_table.h"',
        '#include "broker/amqp/utf8.h"',
        '#include "broker/runtime/bytes.h"',
        "",
        "namespace ringtail::amqp {",
        "",
        "namespace {",
        "",
        "// Ordered by class and method, for the search below.",
        "constexpr MethodInfo kMethods[] = {",
    ]
    word = {True: "true", False: "false"}
    for method in sorted(methods, key=lambda m: (m.class_id, m.id)):
        out.append(f'    {{{method.class_id}, {method.id}, "{method.full_name}", '
                   f"{word[method.content]}, {word[method.client]}, {word[method.server]}}},")
    out += [
        "};",
        "",
        "}  // namespace",
        "",
        "const MethodInfo* find_method(std::uint16_t class_id, std::uint16_t method_id) {",
        "  const std::uint32_t key = method_key(class_id, method_id);",
        "  const auto before = [](const MethodInfo& info, std::uint32_t wanted) {",
        "    return method_key(info.class_id, info.method_id) < wanted;",
        "  };",
        "  const MethodInfo* found = "
        "std::lower_bound(std::begin(kMethods), std::end(kMethods), key, before);",
        "  if (found == std::end(kMethods)) return nullptr;",
        "  return method_key(found->class_id, found->method_id) == key ? found : nullptr;",
        "}",
        "",
        "const char* method_name(std::uint16_t class_id, std::uint16_t method_id) {",
        "  const MethodInfo* info = find_method(class_id, method_id);",
        "  return info == nullptr ? nullptr : info->name;",
        "}",
        "",
    ]
    for method in methods:
        if method.full_name not in INLINE:
            out.append(f"bool {method.struct}::decode(std::span<const std::uint8_t> wire) {{")
            out += decode_body(method) + ["}", ""]
        out.append(f"std::size_t {method.struct}::encoded_size() const {{")
        out += size_body(method) + ["}", ""]
        out.append(f"std::uint8_t* {method.struct}::encode(std::uint8_t* out) const {{")
        out += encode_body(method) + ["}", ""]
    out.append("}  // namespace ringtail::amqp")
    return out


def one_line_functions(lines):
    """Google style puts a function of one short statement on one line."""
    out, index = [], 0
    while index < len(lines):
        if (index + 2 < len(lines) and lines[index].endswith(") const {") or
                index + 2 < len(lines) and lines[index].endswith("> wire) {")):
            joined = f"{lines[index]} {lines[index + 1].strip()} }}"
            if lines[index + 2] == "}" and len(joined) <= 100:
                out.append(joined)
                index += 3
                continue
        out.append(lines[index])
        index += 1
    return out


def compare(methods, path):
    definition = json.loads(pathlib.Path(path).read_text())
    domains = dict(definition["domains"])
    theirs = {}
    for a_class in definition["classes"]:
        for method in a_class["methods"]:
            fields = [(argument["name"], argument.get("type") or domains[argument["domain"]])
                      for argument in method["arguments"]]
            theirs[f"{a_class['name']}.{method['name']}"] = (
                a_class["id"], method["id"], bool(method.get("content")), fields)
    ours = {m.full_name: (m.class_id, m.id, m.content, [(f.wire_name, f.type) for f in m.fields])
            for m in methods}
    differing = [n for n in sorted(ours.keys() | theirs.keys()) if ours.get(n) != theirs.get(n)]
    for name in differing:
        print(f"{name}: ours {ours.get(name)}, theirs {theirs.get(name)}")
    print(f"{len(ours)} methods, {len(differing)} differ")
    return 1 if differing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether they are current")
    parser.add_argument("--against", metavar="FILE", help="compare with a JSON definition")
    options = parser.parse_args()
    methods = parse_table()
    if options.against:
        return compare(methods, options.against)
    root = pathlib.Path(__file__).resolve().parent.parent
    stale = 0
    for path, lines in (("broker/amqp/methods.h", header(methods)),
                        ("broker/amqp/methods.cc", one_line_functions(source(methods)))):
        text = "\n".join(lines) + "\n"
        target = root / path
        if target.exists() and target.read_text() == text:
            continue
        if options.check:
            print(f"{path} is not what tools/gen_methods.py writes")
            stale = 1
        else:
            target.write_text(text)
            print(f"wrote {path}")
    return stale


if __name__ == "__main__":
    sys.exit(main())
