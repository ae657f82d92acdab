#!/usr/bin/env python3
"""Runs the tests of a build and adds them up: `make test`, `make unit`, `make asan`, `make tsan`.

  tests/run_all.py --build DIR [--only lint,unit,formats,sim,fuzz,conformance,crash,cluster]

The last line is "N passed, N failed" (", N skipped" where some were), also written to
DIR/test-summary.txt. Every child has a deadline and a process group of its own; whatever a child
leaves running is ended and counts as a failure.
"""

import argparse
import ctypes
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUTPUT_SHOWN = 16000  # characters of a failing child's output
FAILURES_SHOWN = 20  # lines of it that are said again at the end

PR_SET_CHILD_SUBREAPER = 36  # prctl(2)


class Tally:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def text(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


# --- what a child's output says ---

def tally_of_exit(output, code):
    return Tally(passed=1) if code == 0 else Tally(failed=1)


def tally_of_doctest(output, code):
    match = re.search(r"\[doctest\] test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed"
                      r"(?:\s*\|\s*(\d+) skipped)?", output)
    if not match:
        return Tally(failed=1)
    tally = Tally(int(match[2]), int(match[3]), int(match[4] or 0))
    if code != 0 and tally.failed == 0:
        tally.failed = 1  # a sanitizer, or a crash behind the last case
    return tally


def tally_of_unittest(output, code):
    ran = re.search(r"^Ran (\d+) tests?", output, re.MULTILINE)
    if not ran:
        return Tally(failed=1)
    counts = dict(re.findall(r"(failures|errors|skipped)=(\d+)", output))
    failed = int(counts.get("failures", 0)) + int(counts.get("errors", 0))
    skipped = int(counts.get("skipped", 0))
    return Tally(int(ran[1]) - failed - skipped, failed or (1 if code else 0), skipped)


def tally_of_last_line(output, code):
    lines = output.strip().splitlines()
    match = re.match(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", lines[-1] if lines else "")
    if not match:
        return Tally(failed=1)
    tally = Tally(int(match[1]), int(match[2]), int(match[3] or 0))
    if code != 0 and tally.failed == 0:
        tally.failed = 1
    return tally


def failing_lines(output):
    """The lines that name what failed, of any of the kinds of child."""
    return re.findall(r"^(?:not ok .*|.*\bERROR: .*|(?:FAIL|ERROR): .*|\S+:\d+: .*)$", output,
                      re.MULTILINE)[:FAILURES_SHOWN]


# --- children ---

def become_subreaper():
    """Orphans of our children become ours, so that we can find and end them."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    """Process ids of our living children, and their command lines."""
    found = {}
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat, encoding="utf-8", errors="replace") as file:
                text = file.read()
            with open(stat[:-4] + "cmdline", encoding="utf-8", errors="replace") as file:
                command = file.read().replace("\0", " ").strip()
        except OSError:
            continue  # it has just ended
        state, parent = text[text.rindex(")") + 2:].split()[:2]
        if int(parent) == os.getpid() and state != "Z":
            found[int(stat.split("/")[2])] = command
    return found


def end_leftovers():
    """Ends what a child left running; returns the command lines."""
    ended = []
    for _ in range(20):  # ending one may hand us its children
        left = children()
        if not left:
            break
        for pid, command in left.items():
            os.kill(pid, signal.SIGKILL)
            ended.append(command)
        for pid in left:
            os.waitpid(pid, 0)
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass  # orphans that ended by themselves
    except ChildProcessError:
        pass
    return ended


class Runner:
    def __init__(self, build, slow):
        self.build = build
        self.slow = slow
        self.total = Tally()
        self.failures = []  # what failed, to be said once more at the end
        self.environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")

    def run(self, name, command, timeout_s, tally_of=tally_of_exit):
        """Runs one child to its end or deadline, prints one line (and its output if it failed)."""
        start = time.monotonic()
        child = subprocess.Popen(command, cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        late = False
        try:
            output = child.communicate(timeout=timeout_s * self.slow)[0]
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(child.pid, signal.SIGKILL)
            end_leftovers()  # one that left the group may hold the pipe open
            output = child.communicate()[0]
        output = output.decode("utf-8", "replace")
        tally = tally_of(output, child.returncode)
        if late:
            output += f"\n{name}: not done after {timeout_s * self.slow:.0f} s, ended\n"
            tally.failed = max(tally.failed, 1)
        left = end_leftovers()
        if left:
            output += f"\n{name} left running: {left}\n"
            tally.failed += 1
        self.total.add(tally)
        mark = "FAIL" if tally.failed else "ok"
        print(f"{mark:4}  {name:32} {tally.text()}  ({time.monotonic() - start:.1f} s)")
        if tally.failed:
            print(re.sub(r"^ok .*\n", "", output, flags=re.MULTILINE)[-OUTPUT_SHOWN:])
            self.failures += [f"{name}: {line}" for line in failing_lines(output)] or [name]
        sys.stdout.flush()

    def fail(self, name, why):
        print(f"FAIL  {name:32} {why}")
        self.failures.append(f"{name}: {why}")
        self.total.failed += 1

    def programs(self, pattern):
        return sorted(p for p in glob.glob(os.path.join(self.build, pattern))
                      if os.path.isfile(p) and os.access(p, os.X_OK))


# --- groups ---

def run_lint(runner):
    for tool in ("lint_layers", "lint_style"):
        runner.run(tool, [sys.executable, f"tools/{tool}.py"], 300)
    for test in ("lint_test", "run_all_test"):
        runner.run(test, [sys.executable, f"tests/lint/{test}.py"], 300, tally_of_unittest)


def run_unit(runner):
    programs = runner.programs("unit_*")
    if not programs:
        runner.fail("unit", f"no unit tests in {runner.build}")
    for program in programs:
        runner.run(os.path.basename(program), [program, "--no-colors=true"], 120, tally_of_doctest)


def run_formats(runner):
    """Files of queues, read by two programs that know nothing of each other."""
    for program in ("make_queue_files", "ringtail-dump"):
        if not os.path.isfile(os.path.join(runner.build, program)):
            runner.fail("formats", f"no {program} in {runner.build}")
            return
    runner.run("formats_test", [sys.executable, "tests/formats/formats_test.py", "--build",
                                runner.build], 300, tally_of_unittest)


def run_sim(runner):
    for program in runner.programs("sim_*"):
        runner.run(os.path.basename(program), [program, "--no-colors=true"], 300, tally_of_doctest)


def run_fuzz(runner):
    """Each target over its corpus: one test a target."""
    programs = runner.programs("*_fuzz")
    if not programs and glob.glob(os.path.join(ROOT, "tests/fuzz/*_fuzz.cc")):
        runner.fail("fuzz", f"no fuzz targets in {runner.build}")
    for program in programs:
        name = os.path.basename(program)
        corpus = os.path.join("tests/fuzz/corpus", name)
        inputs = len(glob.glob(os.path.join(ROOT, corpus, "*")))
        if inputs == 0:
            runner.fail(name, f"no inputs in {corpus}")
            continue
        runner.run(f"{name}, {inputs} inputs", [program, corpus], 120)


def run_conformance(runner):
    script = os.path.join(ROOT, "tests/conformance/run.py")
    if not os.path.isfile(script):
        runner.fail("conformance", "tests/conformance/run.py is missing")
        return
    program = os.path.join(runner.build, "ringtail")
    if not os.path.isfile(program):
        runner.fail("conformance", f"no ringtail in {runner.build}")
        return
    runner.run("conformance", [sys.executable, script, "--broker-binary", program, "--build-dir",
                               runner.build, "--slow", str(runner.slow)], 600, tally_of_last_line)


def run_crash(runner):
    program = os.path.join(runner.build, "ringtail")
    if not os.path.isfile(program):
        runner.fail("crash", f"no ringtail in {runner.build}")
        return
    runner.run("kill_node", [sys.executable, "tests/crash/kill_node.py", "--broker-binary", program,
                             "--rounds", "3", "--slow", str(2 * runner.slow)], 180,
               tally_of_last_line)


def run_cluster(runner):
    program = os.path.join(runner.build, "ringtail")
    if not os.path.isfile(program):
        runner.fail("cluster", f"no ringtail in {runner.build}")
        return
    for name, script, rounds in (("cluster", "run.py", "3"), ("cluster_cuts", "cuts.py", "1"),
                                 ("mirrored", "mirrored.py", "3")):
        runner.run(name, [sys.executable, "tests/cluster/" + script, "--broker-binary", program,
                          "--rounds", rounds, "--slow", str(2 * runner.slow)], 300,
                   tally_of_last_line)


GROUPS = {"lint": run_lint, "unit": run_unit, "formats": run_formats, "sim": run_sim,
          "fuzz": run_fuzz, "conformance": run_conformance, "crash": run_crash,
          "cluster": run_cluster}


# --- sanitizers ---

def sanitizer_of(build):
    try:
        with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
            match = re.search(r"^RINGTAIL_SANITIZE:\w+=(\w*)$", file.read(), re.MULTILINE)
    except OSError:
        return ""
    return match[1] if match else ""


def without_address_randomisation():
    """g++ 12's ThreadSanitizer refuses to start where the kernel randomises more address bits than
    it knows of; so this script starts itself again under setarch -R, if that works here."""
    if os.environ.get("RINGTAIL_TESTS_SETARCH"):
        return
    os.environ["RINGTAIL_TESTS_SETARCH"] = "1"
    setarch = shutil.which("setarch")
    if setarch and subprocess.run([setarch, "-R", "true"], check=False,
                                  stderr=subprocess.DEVNULL).returncode == 0:
        os.execv(setarch, [setarch, "-R", sys.executable, *sys.argv])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--only", default=",".join(GROUPS))
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    sanitizer = sanitizer_of(build)
    if sanitizer == "thread":
        without_address_randomisation()
    become_subreaper()

    runner = Runner(build, slow=5 if sanitizer else 1)
    runner.environment.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=1")
    runner.environment.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    runner.environment.setdefault("TSAN_OPTIONS", "second_deadlock_stack=1")
    for group in arguments.only.split(","):
        print(f"== {group}")
        GROUPS[group](runner)
    if runner.total.passed == 0:
        runner.total.failed = max(runner.total.failed, 1)  # no tests is no success
    for line in runner.failures:  # where a log that keeps only its end still has them
        print(f"failed: {line}")
    summary = runner.total.text()
    if os.path.isdir(build):
        with open(os.path.join(build, "test-summary.txt"), "w", encoding="utf-8") as file:
            file.write(summary + "\n")
    print(summary)
    return 1 if runner.total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
