#!/usr/bin/env python3
"""Has spin go through all states of ring.pml: the rules as they are, which must hold; what must be
seen to happen; and each rule broken, which must fail.

usage: check.py BUILD_DIRECTORY [WHAT ...]     WHAT: names of the tables below; nothing: all
Exits 0 only when everything came out as it should. Needs spin and gcc. Uses two processes, and at
most 3 GiB of memory each.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MEBIBYTES = 3072
# Assertions that say only that the model is too small.
BOUNDS = re.compile(r"revision<|memberships\[\w+\]<|violated \(x3<\d")
SECONDS = 3600  # for one run, on a machine that does other things too

# What holds: name, bounds.
HOLDS = [
    ("one failure, late frames", "FAILURES=1 LATE GONE"),
    ("one failure, two entries", "FAILURES=1 ENTRIES=2 GONE"),
    ("all lose power, one may stay away", "FAILURES=1 POWER GONE"),
    ("two failures", "FAILURES=2"),
]
# What happens at all: otherwise what holds would say nothing.
HAPPENS = [
    ("a promoted master confirms", "FAILURES=1 REACH=1"),
    ("one that leads after all had ended confirms", "FAILURES=1 POWER REACH=2"),
    ("a master confirms with one that came back", "FAILURES=1 REACH=3"),
    ("what was committed and not confirmed is cut", "FAILURES=1 POWER REACH=4"),
]
# What fails without a rule: the rule, the switch that breaks it, bounds in which that shows.
FAILS = [
    ("GM1", "M_GM1", "FAILURES=1 LATE"),
    ("GM2, 4a.2", "M_GM2", "FAILURES=1 LATE"),
    ("GM3", "M_GM3", "FAILURES=2"),
    ("GM4", "M_GM4", "FAILURES=2"),
    ("GM5, 4a.5", "M_GM5", "FAILURES=2"),
    ("GM6", "M_GM6", "FAILURES=1"),
    ("GM6 (confirms)", "M_CONFIRM", "FAILURES=1"),
    ("GM6 (disk)", "M_DISK", "FAILURES=2"),
    ("GM7", "M_GM7", "FAILURES=1"),
    ("GM8", "M_GM8", "FAILURES=1"),
    ("GM9, 4a.4", "M_GM9", "FAILURES=1"),
    ("GM9 (compare and set)", "M_NO_COMPARE", "FAILURES=2"),
    ("GM9 (own epoch first)", "M_ADMIT_EARLY", "FAILURES=2"),
    ("GM11", "M_NO_LEAD", "FAILURES=1"),
    ("new master, new epoch", "M_SAME_EPOCH", "FAILURES=1"),
    ("4a.2", "M_4A2", "FAILURES=1"),
    ("4a.3 (ended stay named)", "M_ENDED_OUT", "FAILURES=1 POWER GONE"),
    ("4a.3 (vacancy is filled)", "M_FILL_AT_RETURN", "FAILURES=1 POWER GONE"),
    ("4a.3 (no joining before)", "M_JOIN_EARLY", "FAILURES=1 POWER"),
    ("4a.8", "M_4A8", "FAILURES=1"),
]


class Run:
    """One search through all states. `broken` holds what spin found, or is None."""

    def __init__(self, build, defines):
        self.directory = os.path.join(build, re.sub(r"\W+", "_", defines))
        self.defines = ["-D" + word for word in defines.split()]
        self.broken = self.trouble = None
        self.states = self.megabytes = self.seconds = 0

    def go(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory)
        model = os.path.join(HERE, "ring.pml")
        if self._command(["spin", "-a", *self.defines, model]) and self._command(
                ["gcc", "-O2", "-w", "-DSAFETY", "-DNOBOUNDCHECK", "-DVECTORSZ=1024",
                 f"-DMEMLIM={MEBIBYTES}", "-o", "pan", "pan.c"]):
            begin = time.monotonic()
            self._search()
            self.seconds = time.monotonic() - begin
        return self

    def _command(self, words):
        result = subprocess.run(words, cwd=self.directory, text=True, capture_output=True,
                                check=False)
        if result.returncode != 0:
            self.trouble = f"{words[0]}: {(result.stdout + result.stderr).strip()[:300]}"
        return self.trouble is None

    def _search(self):
        try:
            result = subprocess.run(["./pan", "-m100000", "-w25", "-n"], cwd=self.directory,
                                    text=True, capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            self.trouble = f"not done after {SECONDS} s"
            return
        text = result.stdout + result.stderr
        errors = re.search(r"errors: (\d+)", text)
        if errors is None or "too small" in text or (errors[1] == "0" and "not completed" in text):
            self.trouble = "the search was not completed: " + text.strip()[-300:]
            return
        self.states = int(re.search(r"(\d+) states, stored", text)[1])
        self.megabytes = float(re.search(r"([\d.]+)\s+total actual memory usage", text)[1])
        if errors[1] != "0":
            found = re.search(r"pan:\d+: (.*)", text)
            self.broken = found[1] if found else "?"
            if BOUNDS.search(self.broken):
                self.trouble = "beyond the bounds of the model: " + self.broken


def report(kind, name, run, wanted):
    good = run.trouble is None and (run.broken is not None) == wanted
    verdict = {"holds": "holds", "happens": "happens", "fails": "fails, as it must"}[kind]
    if run.trouble is not None:
        verdict = f"TROUBLE: {run.trouble}"
    elif not good:
        verdict = {"holds": f"VIOLATED: {run.broken}", "happens": "NEVER HAPPENS",
                   "fails": "HOLDS ALL THE SAME"}[kind]
    print(f"{name:<46} {verdict}  ({run.states} states, {run.seconds:.1f} s, "
          f"{run.megabytes:.0f} MiB)", flush=True)
    return good


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, kinds = sys.argv[1], sys.argv[2:] or ["holds", "happens", "fails"]
    jobs = []
    if "holds" in kinds:
        jobs += [("holds", name, bounds, False) for name, bounds in HOLDS]
    if "happens" in kinds:
        jobs += [("happens", name, bounds, True) for name, bounds in HAPPENS]
    if "fails" in kinds:
        jobs += [("fails", f"without {rule} ({switch})", f"{bounds} {switch}", True)
                 for rule, switch, bounds in FAILS]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        runs = [pool.submit(Run(build, bounds).go) for _, _, bounds, _ in jobs]
        good = [report(kind, name, run.result(), wanted)
                for (kind, name, _, wanted), run in zip(jobs, runs)]
    print("model: " + ("all as it should be" if all(good) else "NOT as it should be"))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
