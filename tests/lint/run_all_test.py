"""The test runner counts what its children say, and notices what they do not say."""

import os
import subprocess
import sys
import tempfile
import unittest

RUN_ALL = os.path.join(os.path.dirname(__file__), "..", "run_all.py")
PASSES = "echo '[doctest] test cases:  3 |  3 passed | 0 failed | 1 skipped'"
FAILS = "echo '[doctest] test cases:  3 |  1 passed | 2 failed |'; exit 1"


class RunAll(unittest.TestCase):
    def run_all(self, **programs):
        """Last line, exit code and whole output for a build with these unit tests."""
        with tempfile.TemporaryDirectory() as build:
            for name, script in programs.items():
                path = os.path.join(build, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("#!/bin/bash\n" + script + "\n")
                os.chmod(path, 0o755)
            result = subprocess.run([sys.executable, RUN_ALL, "--build", build, "--only", "unit"],
                                    capture_output=True, text=True, check=False)
            with open(os.path.join(build, "test-summary.txt"), encoding="utf-8") as file:
                summary = file.read()
        last = result.stdout.splitlines()[-1]
        self.assertEqual(summary, last + "\n")
        self.assertEqual(result.stderr, "")
        return last, result.returncode, result.stdout

    def test_adds_up(self):
        self.assertEqual(self.run_all(unit_a=PASSES, unit_b=PASSES)[:2],
                         ("6 passed, 0 failed, 2 skipped", 0))

    def test_a_failure_fails_and_is_shown(self):
        last, code, output = self.run_all(unit_a=PASSES, unit_b="echo why it failed\n" + FAILS)
        self.assertEqual((last, code), ("4 passed, 2 failed, 1 skipped", 1))
        self.assertIn("why it failed", output)

    def test_what_failed_is_said_again_before_the_last_line(self):
        output = self.run_all(unit_a="echo 'not ok the first: why'\n" + FAILS, unit_b=PASSES)[2]
        self.assertEqual(output.splitlines()[-2], "failed: unit_a: not ok the first: why")

    def test_no_tests_is_no_success(self):
        self.assertEqual(self.run_all()[:2], ("0 passed, 1 failed", 1))

    def test_a_crash_fails(self):
        self.assertEqual(self.run_all(unit_a="kill -SEGV $$")[:2], ("0 passed, 1 failed", 1))
        self.assertEqual(self.run_all(unit_a=PASSES + "; exit 66")[:2],
                         ("3 passed, 1 failed, 1 skipped", 1))

    def test_what_is_left_running_is_ended_and_fails(self):
        last, code, output = self.run_all(
            unit_a="setsid sleep 600 >/dev/null 2>&1 &\necho pid $!\n" + PASSES)
        self.assertEqual((last, code), ("3 passed, 1 failed, 1 skipped", 1))
        self.assertIn("unit_a left running", output)


if __name__ == "__main__":
    unittest.main()
