#!/usr/bin/env python3
"""Instructions of a RESERVE on its whole way through the server, without sockets and files: refused by its item's owner or
from a view, taken on the owner's thread or forwarded to it. Counted by callgrind, so that they are the same at each run.

usage: way_cost.py [--build build/release] [--runs 8000]
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

WAYS = ("success_own", "success_forwarded", "refusal_own", "refusal_forwarded", "view_own", "view_other")
# (above, below, at most)
BOUNDS = (("view_own", "refusal_own", 1.1), ("view_other", "refusal_own", 1.1), ("success_forwarded", "success_own", 1.3))


def instructions(options, way, pipeline):
    runs = max(1, options.runs // pipeline)
    with tempfile.NamedTemporaryFile() as out:
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=run_counted*", f"--callgrind-out-file={out.name}",
                   options.build / "bin" / "way_operations", way, pipeline, runs]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"{way}: {done.stderr}")
    return int(found.group(1)) / (runs * pipeline)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--runs", type=int, default=8000, help="requests that are counted, each way")
    options = parser.parse_args()
    held = True
    for pipeline in (1, 64):
        counts = {way: instructions(options, way, pipeline) for way in WAYS}
        for way, count in counts.items():
            print(f"pipeline {pipeline:2}  {way:18} {count:7.0f}")
        for above, below, most in BOUNDS:
            ratio = counts[above] / counts[below]
            held = held and ratio <= most
            print(f"pipeline {pipeline:2}  {above} / {below}: {ratio:.3f} {'<=' if ratio <= most else '> '} {most}")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
