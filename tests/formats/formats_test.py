#!/usr/bin/env python3
"""A reader that was written from docs/FORMATS.md alone and the node's own agree on what the files
of queues hold: whole ones, cut ones, and ones with something wrong in them.

  tests/formats/formats_test.py --build DIR
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

import ringtail_files

BUILD = "build"
SEEDS = (1, 2)
VARIANTS = 8  # of each whole file


class Formats(unittest.TestCase):
    def setUp(self):
        # pylint: disable=consider-using-with
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def make(self, seed):
        """The whole files, by name."""
        subprocess.run([os.path.join(BUILD, "make_queue_files"), self.folder.name, str(seed)],
                       check=True)
        files = {}
        for name in sorted(os.listdir(self.folder.name)):
            with open(os.path.join(self.folder.name, name), "rb") as file:
                files[name] = file.read()
            os.remove(os.path.join(self.folder.name, name))
        return files

    def dump(self, files, expected_code):
        """The lines of ringtail-dump, by file."""
        for name, data in files.items():
            with open(os.path.join(self.folder.name, name), "wb") as file:
                file.write(data)
        result = subprocess.run([os.path.join(BUILD, "ringtail-dump"), "--json", *files],
                                cwd=self.folder.name, capture_output=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (expected_code, b""))
        found = {}
        for text in result.stdout.splitlines():
            line = json.loads(text)
            if "file" in line:
                lines = found.setdefault(line.pop("file"), [])
            lines.append(line)
        self.assertEqual(set(found), set(files))
        return found

    def check_same(self, files, found):
        for name, data in files.items():
            expected = ringtail_files.read_file(data)
            with self.subTest(file=name):
                self.assertEqual(len(found[name]), len(expected))
                for ours, theirs in zip(found[name], expected):
                    # Not assertEqual: the comparison of long lines takes minutes.
                    same = self.comparable(ours) == self.comparable(theirs)
                    self.assertTrue(same, f"{str(ours)[:1000]}\n{str(theirs)[:1000]}")

    def comparable(self, line):
        """Two programs call the same damage by different words."""
        return dict(line, damage=True) if "damage" in line else line

    def test_whole_files(self):
        for seed in SEEDS:
            files = self.make(seed)
            found = self.dump(files, 0)
            self.check_same(files, found)
            records = sum(len(lines) for lines in found.values())
            self.assertGreater(records, 100)

    def test_damaged_files(self):
        chance = random.Random(7)
        damages = 0
        for seed in SEEDS:
            files = {}
            for name, data in self.make(seed).items():
                for variant in range(VARIANTS):
                    files[f"{name}.{variant}"] = self.damaged(chance, data)
            found = self.dump(files, 1)
            self.check_same(files, found)
            damages += sum("damage" in line for lines in found.values() for line in lines)
        self.assertGreater(damages, 50)

    def damaged(self, chance, data):
        data = bytearray(data)
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            if not data:
                break
            at = chance.randrange(len(data))
            if chance.random() < 0.5:
                at = chance.randrange(min(len(data), 300))  # where most of the structure is
            how = chance.randrange(5)
            if how == 0:
                del data[at:]
            elif how == 1:
                data[at:at + 16] = bytes(len(data[at:at + 16]))
            elif how == 2:
                del data[at:at + chance.randrange(1, 40)]
            else:
                data[at] ^= 1 << chance.randrange(8)
        return bytes(data)

    def test_text(self):
        """For people: a line for each thing, and the damage by file and offset."""
        files = self.make(1)
        bad = bytearray(files["journal-3"])
        bad[40] ^= 1
        path = os.path.join(self.folder.name, "journal")
        for data, code, said in ((files["journal-3"], 0, "kind journal"),
                                 (bytes(bad), 1, f"{path} is damaged at offset 36: "),
                                 (b"rubbish", 1, "no file of a queue")):
            with open(path, "wb") as file:
                file.write(data)
            result = subprocess.run([os.path.join(BUILD, "ringtail-dump"), path],
                                    capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stderr), (code, ""))
            self.assertIn(said, result.stdout)
        result = subprocess.run([os.path.join(BUILD, "ringtail-dump"), path + "-none"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot read", result.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=BUILD)
    arguments, rest = parser.parse_known_args()
    BUILD = os.path.abspath(arguments.build)
    unittest.main(argv=[sys.argv[0], *rest])
