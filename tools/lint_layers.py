#!/usr/bin/env python3
"""Keeps the layers apart (docs/STYLE.md, "Layers"): who may include whom, and rule L1, that time,
chance, threads, files and sockets are reached only through broker/runtime/uv/.

Prints file:line of each violation; exits 1 when there is one.
"""

import os
import re
import sys

from lint_common import (CPP_SUFFIXES, Report, line_of, read, repo_files, repo_root,
                         strip_comments, strip_comments_and_strings)

# Longest prefix first: the layer of a file.
LAYERS = [
    ("broker/runtime/uv/", "runtime/uv"),
    ("broker/runtime/sim/", "runtime/sim"),
    ("broker/runtime/", "runtime"),
    ("broker/amqp/", "amqp"),
    ("broker/http/", "broker"),
    ("broker/", "broker"),
    ("gm/", "gm"),
    ("cluster/", "cluster"),
    ("queue/", "queue"),
    ("tools/perf/", "tools/perf"),
    ("tools/ctl/", "tools/ctl"),
    ("tools/", "anything"),  # dump, simrun
    ("tests/", "anything"),
]

# For each layer what it may include: a path that ends in "/" stands for all below it that is not a
# layer of its own, any other path for that one header.
METADATA_READING = ["cluster/metadata/view.h", "cluster/metadata/records.h",
                    "cluster/metadata/queue_options.h"]
QUEUE_FOR_BROKER = ["queue/message.h", "queue/letters.h", "queue/letters_codec.h",
                    "queue/dead_letters.h", "queue/queue_process.h", "queue/queue_registry.h",
                    "queue/recovery.h", "queue/store/store_shard.h"]
MAY_INCLUDE = {
    "runtime": ["broker/runtime/"],
    "runtime/uv": ["broker/runtime/", "broker/runtime/uv/"],
    "runtime/sim": ["broker/runtime/", "broker/runtime/sim/"],
    "amqp": ["broker/runtime/", "broker/amqp/"],
    "gm": ["broker/runtime/", "gm/"],
    "cluster": ["broker/runtime/", "cluster/", "gm/directory.h"],
    "queue": ["broker/runtime/", "gm/", "queue/"] + METADATA_READING,
    "broker": ["broker/runtime/", "broker/amqp/", "broker/", "cluster/",
               "gm/directory.h"] + QUEUE_FOR_BROKER,
    "tools/perf": ["broker/runtime/", "broker/amqp/", "tools/perf/"],
    "tools/ctl": ["broker/runtime/", "broker/amqp/", "tools/ctl/", "queue/store/"],
}
# Single files that may include more, each with its reason.
EXTRA = {
    # They choose the real world for a program.
    "broker/app.h": ["broker/runtime/uv/"],
    "broker/app.cc": ["broker/runtime/uv/"],
    "broker/node.h": ["broker/runtime/uv/"],
    "broker/node.cc": ["broker/runtime/uv/"],
    "tools/perf/main.cc": ["broker/runtime/uv/"],
    # Which queues a node that does not run has.
    "tools/ctl/data_directory.cc": ["cluster/offline.h"],
    # The mark that such a node is to start alone.
    "tools/ctl/cluster_commands.cc": ["cluster/data_directory.h"],
}

ROOT_FOLDERS = ("broker/", "gm/", "cluster/", "queue/", "tools/", "tests/")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)

# --- L1 ---
L1_HEADERS = re.compile(
    r"(uv\.h|uv/.*|thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier"
    r"|stop_token|chrono|random|fstream|filesystem|ctime|csignal|time\.h|signal\.h|pthread\.h"
    r"|unistd\.h|fcntl\.h|poll\.h|netdb\.h|sys/.*|netinet/.*|arpa/.*|net/.*|linux/.*"
    r"|boost/(asio|thread|filesystem|chrono|random)(/.*|\.hpp))\Z")
L1_WORDS = [
    (re.compile(r"\b(system|steady|high_resolution|utc|file)_clock\b"), "a clock of std::chrono"),
    (re.compile(r"\b(clock_gettime|gettimeofday|uv_hrtime|uv_now)\s*\("), "a clock"),
    (re.compile(r"(?<![\w.:>])(?:std\s*::\s*|::\s*)?time\s*\(\s*(nullptr|NULL|0|&)"), "a clock"),
    (re.compile(r"\brandom_device\b|\bmt19937|\bs?rand(om)?\s*\(|\bgetrandom\s*\("), "chance"),
    (re.compile(r"\bstd\s*::\s*(jthread|thread|async|mutex|condition_variable)\b"), "a thread"),
    (re.compile(r"\bpthread_\w+\s*\("), "a thread"),
    (re.compile(r"\b(fopen|freopen|mkstemp|tmpfile)\s*\(|\b[io]?fstream\b"), "a file"),
    (re.compile(r"\bstd\s*::\s*filesystem\b"), "a file"),
    (re.compile(r"(?<![\w.:>])::\s*(open|openat|creat|read|write|close|fsync|fdatasync|unlink"
                r"|socket|bind|listen|accept4?|connect|send|recv|poll|epoll_\w+)\s*\("),
     "a system call"),
    (re.compile(r"(?<![\w.>])(socket|accept4|epoll_create1?|setsockopt|getaddrinfo)\s*\("),
     "a socket"),
    (re.compile(r"\buv_\w+\s*\("), "libuv"),
]
# OpenSSL's sessions and certificates; its hashes (openssl/evp.h, rand.h, crypto.h) are for anybody.
TLS_HEADERS = re.compile(r"openssl/(ssl|bio|pem|x509\w*|err|objects)\.h\Z")
TLS_FOLDER = "broker/runtime/tls/"
# Where L1 does not hold, with the reason. Tests may use what they need (sleeping is banned by
# lint_style.py).
L1_EXEMPT = {
    "broker/runtime/uv/": "the door to the real world",
    "broker/http/": "its library brings threads and sockets of its own",
    "broker/app.": "the main thread takes signals while another starts and stops the node",
    "broker/runtime/config.cc": "parses addresses as the system does",
    "broker/runtime/config_file.cc": "reads the configuration file",
    "broker/runtime/machine.cc": "asks the machine for its name, cores and memory",
    "broker/runtime/log.cc": "writes the log",
    "broker/runtime/tls/tls_files.cc": "reads certificates",
    "tools/ctl/http_api.cc": "its library brings sockets; it waits between attempts",
    "tools/ctl/files.cc": "reads and writes definitions files",
    "tools/ctl/data_disk.cc": "reads the files of a node that does not run",
    "tools/dump/main.cc": "reads the files it is asked for",
    "tests/": "tests",
}


def layer_of(path):
    for prefix, layer in LAYERS:
        if path.startswith(prefix):
            return layer
    return None


def allowed(path, layer, target):
    target_layer = layer_of(target)
    for entry in MAY_INCLUDE[layer] + EXTRA.get(path, []):
        if entry == target:
            return True
        if entry.endswith("/") and target.startswith(entry):
            # "broker/runtime/" does not open broker/runtime/uv/, nor "broker/" the rows above it.
            if target_layer == layer_of(entry):
                return True
    return False


def check_includes(root, path, text, report):
    layer = layer_of(path)
    for match in INCLUDE.finditer(strip_comments(text)):
        bracket, target = match[1], match[2]
        line = line_of(text, match.start(1))
        if not target.startswith(ROOT_FOLDERS):
            if bracket == '"':
                report.add(path, line, f'"{target}": include paths start at the repo root')
            continue
        if not target.endswith(".pb.h") and not os.path.isfile(os.path.join(root, target)):
            report.add(path, line, f"{target}: there is no such header")
        elif layer != "anything" and not allowed(path, layer, target):
            report.add(path, line, f"{layer} may not include {target}")


def check_l1(path, text, report):
    if any(path.startswith(prefix) for prefix in L1_EXEMPT):
        return
    for match in INCLUDE.finditer(strip_comments(text)):
        if L1_HEADERS.match(match[2]):
            report.add(path, line_of(text, match.start(1)),
                       f"L1: <{match[2]}> only in broker/runtime/uv/")
    code = strip_comments_and_strings(text)
    for pattern, what in L1_WORDS:
        for match in pattern.finditer(code):
            report.add(path, line_of(code, match.start()),
                       f"L1: {match[0].strip()} ({what}) only in broker/runtime/uv/")


def check_tls(path, text, report):
    if path.startswith((TLS_FOLDER, "broker/http/", "tests/")):
        return
    for match in INCLUDE.finditer(strip_comments(text)):
        if TLS_HEADERS.match(match[2]):
            report.add(path, line_of(text, match.start(1)), f"<{match[2]}> only in {TLS_FOLDER}")


def check(root):
    report = Report()
    for path in repo_files(root):
        if not path.endswith(CPP_SUFFIXES):
            continue
        if layer_of(path) is None:
            report.add(path, 1, "belongs to no layer of tools/lint_layers.py")
            continue
        text = read(root, path)
        check_includes(root, path, text, report)
        check_l1(path, text, report)
        check_tls(path, text, report)
    return report


if __name__ == "__main__":
    sys.exit(check(repo_root(sys.argv)).finish("lint_layers"))
