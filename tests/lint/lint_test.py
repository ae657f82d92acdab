"""Each rule of the lints is seen to fail once, on a tree of a few lines, and to pass beside it."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools"))

import lint_layers  # noqa: E402
import lint_style  # noqa: E402
from cpp_functions import functions  # noqa: E402


class LintCase(unittest.TestCase):
    def findings(self, lint, files):
        """"path:line: text" of everything the lint finds in a tree of these files."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(text)
            return [f"{path}:{line}: {text}" for path, line, text in lint.check(root).lines]

    def refuses(self, lint, files, *expected):
        found = self.findings(lint, files)
        self.assertEqual(len(found), len(expected), found)
        for finding, part in zip(sorted(found), expected):
            self.assertIn(part, finding)

    def accepts(self, lint, files):
        self.assertEqual(self.findings(lint, files), [])


def header(*lines):
    return "#pragma once\n" + "".join(line + "\n" for line in lines)


class Layers(LintCase):
    BYTES = {"broker/runtime/bytes.h": header()}

    def refuses_include(self, path, target, *expected):
        files = {target: header(), path: f'#include "{target}"\n'}
        self.refuses(lint_layers, files, *(expected or (f"{path}:1:",)))

    def accepts_include(self, path, target):
        self.accepts(lint_layers, {target: header(), path: f'#include "{target}"\n'})

    def test_each_row_of_the_table(self):
        self.refuses_include("broker/runtime/a.cc", "broker/amqp/b.h")
        self.refuses_include("broker/runtime/a.cc", "queue/b.h")
        self.refuses_include("broker/amqp/a.cc", "broker/connection.h")
        self.refuses_include("gm/a.cc", "cluster/b.h")
        self.refuses_include("gm/a.cc", "queue/b.h")
        self.refuses_include("cluster/a.cc", "gm/member.h")
        self.refuses_include("cluster/a.cc", "queue/b.h")
        self.refuses_include("queue/a.cc", "broker/amqp/b.h")
        self.refuses_include("queue/a.cc", "cluster/metadata/store.h")
        self.refuses_include("broker/a.cc", "gm/member.h")
        self.refuses_include("broker/a.cc", "queue/paged_queue.h")
        self.refuses_include("tools/perf/a.cc", "queue/message.h")
        self.refuses_include("tools/ctl/a.cc", "cluster/b.h")

    def test_what_the_table_allows(self):
        self.accepts_include("broker/amqp/a.cc", "broker/runtime/bytes.h")
        self.accepts_include("gm/a.cc", "broker/runtime/bytes.h")
        self.accepts_include("cluster/a.cc", "gm/directory.h")
        self.accepts_include("queue/a.cc", "cluster/metadata/view.h")
        self.accepts_include("queue/a.cc", "gm/member.h")
        self.accepts_include("broker/a.cc", "queue/letters.h")
        self.accepts_include("broker/a.cc", "cluster/metadata/store.h")
        self.accepts_include("tests/unit/queue/a_test.cc", "queue/paged_queue.h")
        self.accepts_include("tools/dump/a.cc", "queue/store/journal.h")

    def test_angle_brackets_do_not_hide_an_include(self):
        self.refuses(lint_layers, {"queue/b.h": header(), "gm/a.cc": "#include <queue/b.h>\n"},
                     "gm/a.cc:1: gm may not include queue/b.h")

    def test_the_real_world_is_a_layer_of_its_own(self):
        self.refuses_include("broker/runtime/a.cc", "broker/runtime/uv/uv_env.h")
        self.refuses_include("broker/channel.cc", "broker/runtime/uv/uv_env.h")
        self.refuses_include("broker/runtime/uv/a.cc", "broker/runtime/sim/sim_env.h")
        self.accepts_include("broker/app.cc", "broker/runtime/uv/uv_env.h")

    def test_relative_and_unknown_includes(self):
        self.refuses(lint_layers, {"gm/a.cc": '#include "member.h"\n'}, "start at the repo root")
        self.refuses(lint_layers, {"gm/a.cc": '\n#include "gm/member.h"\n'},
                     "gm/a.cc:2: gm/member.h: there is no such header")

    def test_a_file_outside_of_all_layers(self):
        self.refuses(lint_layers, {"stray/a.cc": "\n"}, "belongs to no layer")

    def test_comments_and_strings_do_not_count(self):
        self.accepts(lint_layers, {
            "gm/a.cc": '// #include "queue/b.h"\n/*\n#include <uv.h>\n*/\n'
                       'const char* a = "std::thread ::open(";\n'
                       'const char* b = R"x(\nsteady_clock)x"; int c = 1\'000;\n'})


class L1(LintCase):
    def refuses_line(self, line):
        files = {"queue/a.cc": f"\n{line}\n"}
        found = self.findings(lint_layers, files)
        self.assertTrue(found, line)
        self.assertTrue(all(f.startswith("queue/a.cc:2: L1:") for f in found), found)
        for path in ("broker/runtime/uv/a.cc", "tests/unit/queue/a_test.cc"):
            self.accepts(lint_layers, {path: line + "\n"})

    def test_headers(self):
        for name in ("uv.h", "thread", "mutex", "chrono", "random", "fstream", "sys/socket.h",
                     "unistd.h", "netinet/in.h", "filesystem", "boost/asio.hpp"):
            self.refuses_line(f"#include <{name}>")

    def test_words(self):
        for line in ("auto t = std::chrono::steady_clock::now();", "int t = time(nullptr);",
                     "std::random_device d;", "int x = rand();", "std::thread t(run);",
                     "int f = ::open(path, 0);", "int s = socket(1, 2, 3);",
                     "FILE* f = fopen(path, mode);", "uv_run(loop, mode);"):
            self.refuses_line(line)

    def test_what_only_looks_like_it(self):
        self.accepts(lint_layers, {"queue/a.cc": "int a = file.open(p); b->connect(q); x.time(0);\n"
                                                 "bool threads = window.open();\n"})


class Sizes(LintCase):
    def test_function(self):
        body = "  f();\n" * 68
        self.accepts(lint_style, {"queue/a.cc": f"void g() {{\n{body}}}\n"})
        body = "  f();\n" * 69
        self.refuses(lint_style, {"queue/a.cc": f"\nvoid g() {{\n{body}}}\n"},
                     "queue/a.cc:2: g has 71 lines, at most 70")

    def test_python_function(self):
        self.refuses(lint_style, {"tools/a.py": "def g():\n" + "    f()\n" * 70},
                     "tools/a.py:1: g has 71 lines, at most 70")

    def test_file_and_line(self):
        self.refuses(lint_style, {"queue/a.cc": "int a;\n" * 801}, "file has 801 lines")
        self.refuses(lint_style, {"tools/a.py": "a = '" + "x" * 95 + "'\n"}, "line has 101 columns")
        self.refuses(lint_style, {"tools/a.sh": "true \n"}, "spaces at the end")

    def test_generated_code_is_excepted(self):
        self.accepts(lint_style, {
            "queue/a.cc": "// Generated by tools/gen.py\n" + "int a;\n" * 801})

    def test_braces_that_do_not_match(self):
        self.refuses(lint_style, {"queue/a.cc": "namespace a {\n}\n}\n"}, "braces do not match")


class FunctionScanner(unittest.TestCase):
    def names(self, text):
        found, matched = functions(text)
        self.assertTrue(matched, text)
        return [(name, last - first + 1) for first, last, name in found]

    def test_kinds_of_functions(self):
        self.assertEqual(self.names(
            "namespace a {\nclass B final : public C<int(int)> {\n public:\n  B(int x)\n"
            "      : c_(x), d_{x}, e_{1, 2} {\n    f();\n  }\n  ~B() override;\n"
            "  int g() const noexcept override { return 1; }\n"
            "  std::function<void(int)> done_{nullptr};\n  int h_ = 1;\n};\n"
            "auto k(int a) -> std::vector<int> {\n  return {a};\n}\n"
            "bool operator==(const B& a, const B& b) {\n  return true;\n}\n"
            "void B::operator()(int) {}\n"
            "extern \"C\" int entry(const char* a) {\n  if (a) { return 1; }\n  return 0;\n}\n"
            "struct stat make() {\n  return {};\n}\n}  // namespace a\n"),
            [("B", 4), ("g", 1), ("k", 3), ("operator==", 3), ("B::operator()", 1), ("entry", 4),
             ("make", 3)])

    def test_what_is_no_function(self):
        self.assertEqual(self.names(
            "#define M(x) \\\n  do {  \\\n    if (x) {\nenum class E : std::uint8_t { kA, kB };\n"
            "constexpr int kTable[] = {1, 2, f(3)};\nstruct alignas(64) S {\n  int a{f(1)};\n};\n"
            "const char* brace = \"{\"; char c = '{'; // {\nunion U { int a; };\n"), [])


class Words(LintCase):
    def refuses_code(self, line, path="queue/a.cc", part="banned"):
        self.refuses(lint_style, {path: f"\n{line}\n"}, part)

    def test_banned_in_code(self):
        for line in ("void f() { throw 1; }", "auto a = b | std::views::reverse;",
                     "auto a = std::ranges::views::all(b);", "int a = rand();",
                     "void f() { usleep(1); }", "auto a = std::getenv(name);",
                     "using namespace std;", "auto a = std::format(b);",
                     "std::shared_ptr<Thing> a;", "auto a = std::make_shared<Thing>();",
                     "void f() { std::this_thread::sleep_for(a); }",
                     "void f() { co_return; }"):
            self.refuses_code(line)

    def test_allowed_where_they_belong(self):
        self.accepts(lint_style, {
            "broker/runtime/a.cc": "std::shared_ptr<Thing> a;\n",
            "broker/runtime/config.cc": "auto a = std::getenv(name);\n",
            "queue/b.cc": "std::shared_ptr<const metadata::QueueRecord> a;  // throw, rand()\n",
            "queue/c.cc": "operand(1);\nthis.rand(2);\nstd::ranges::sort(d);\nwaker.sleep(1);\n",
            "queue/d.cc": "auto a = std::make_shared<metadata::QueueRecord>();\n"})

    def test_tests_do_not_sleep(self):
        self.refuses_code("void f() { usleep(1); }", path="tests/unit/queue/a_test.cc")
        self.refuses_code("time.sleep(1)", path="tests/conformance/a.py")

    def test_unfinished_work_carries_an_issue(self):
        self.refuses_code("// TODO: later", part="without an issue number")
        self.refuses_code("# FIXME", path="tools/a.py", part="without an issue number")
        self.accepts(lint_style, {"queue/a.cc": "// TODO(#12): later\n"})

    def test_workplace(self):
        for path in ("queue/a.cc", "tools/a.py", "docs/A.md", "tests/a.json"):
            text = '"/work/main"' if path.endswith((".json", ".py")) else "// see /work/main"
            self.refuses_code(text, path=path, part="workplace")
        self.refuses_code("// a subagent wrote this", part="workplace")
        self.accepts(lint_style, {"queue/a.cc": "// see docs/work/main\n"})

    def test_pragma_once(self):
        self.refuses(lint_style, {"queue/a.h": "int a;\n"}, "without #pragma once")


class Formatting(LintCase):
    def test_unformatted(self):
        style = "BasedOnStyle: Google\n"
        self.accepts(lint_style, {".clang-format": style, "queue/a.cc": "int a = 1;\n"})
        if lint_style.shutil.which("clang-format") is None:
            self.skipTest("clang-format is not installed")
        self.refuses(lint_style, {".clang-format": style, "queue/a.cc": "int  a=1;\n"},
                     "queue/a.cc:1: not formatted")


class Rules(LintCase):
    README = {"gm/README.md": "# GM\n\n**GM1** A rule.\n"}
    MARK = {"gm/member.cc": "// GM1: why\n"}
    CHECKER = {"tests/sim/checkers/gm1_order.cc": "\n"}

    def test_rule_with_mark_and_checker(self):
        self.accepts(lint_style, self.README | self.MARK | self.CHECKER)

    def test_rule_without_mark_or_checker(self):
        self.refuses(lint_style, self.README | self.CHECKER, "gm/README.md:3: rule GM1 has no mark")
        self.refuses(lint_style, self.README | self.MARK, "gm/README.md:3: rule GM1 has no checker")

    def test_mark_without_rule(self):
        self.refuses(lint_style, {"gm/member.cc": "\n// GM7\n"}, "gm/member.cc:2: mark of rule GM7")


class Docs(LintCase):
    def test_paths(self):
        files = {"docs/A.md": "See `queue/a.cc` and `queue/<file>.cc`,\n`queue/b.cc`.\n",
                 "queue/a.cc": "\n"}
        self.refuses(lint_style, files, "docs/A.md:2: names queue/b.cc, which does not exist")

    def test_make_targets(self):
        files = {"docs/A.md": "`make run` and `make magic`\n", "Makefile": "run: build\n\ttrue\n"}
        self.refuses(lint_style, files, "docs/A.md:1: names make magic")

    def test_generated_files_are_current(self):
        script = "import sys\nprint('methods.h differs')\nsys.exit(%d)\n"
        self.accepts(lint_style, {"tools/gen_methods.py": script % 0})
        self.refuses(lint_style, {"tools/gen_methods.py": script % 1}, "methods.h differs")


if __name__ == "__main__":
    unittest.main()
