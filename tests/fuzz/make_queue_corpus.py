#!/usr/bin/python3
"""Writes the seeds of the fuzz targets for the files of queues into corpus/<target>/, the same each
time: small ones of what build/make_queue_files writes, behind the octet that these targets want.

  tests/fuzz/make_queue_corpus.py [BUILD]
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent / "corpus"
SIZE_MAX = 2500
MODES = {"as-it-is": 0, "sums-right": 15}
TARGETS = {"journal": "queue_journal_fuzz", "segment": "queue_segment_fuzz",
           "index": "queue_index_fuzz", "queue": "queue_index_fuzz"}
SEEDS = (1, 2, 3)


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    count = 0
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([build / "make_queue_files", folder, str(seed)], check=True)
            for file in sorted(pathlib.Path(folder).iterdir()):
                data = file.read_bytes()[:SIZE_MAX]
                target = ROOT / TARGETS[file.name.split("-")[0]]
                target.mkdir(parents=True, exist_ok=True)
                for name, mode in MODES.items():
                    (target / f"{file.name}-{seed}-{name}").write_bytes(bytes([mode]) + data)
                    count += 1
    print(f"{count} inputs")


if __name__ == "__main__":
    main()
