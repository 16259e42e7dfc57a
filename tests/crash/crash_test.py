"""Tries crash.py on the stand-in server: a good one passes, and each mistake that the stand-in can make is found.

python3 crash_test.py --shim libholdfast_shim.so --undo holdfast-undo
"""
import argparse
import os
import subprocess
import sys
import tempfile
import unittest

from stand_in import MUTANTS

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = None


def crash(*options, mutant=None, kills=8):
    stand_in = f"{sys.executable} {HERE}/stand_in.py" + (f" --mutant {mutant}" if mutant else "")
    with tempfile.TemporaryDirectory(dir=TOOLS.folder) as folder:
        return subprocess.run([sys.executable, f"{HERE}/crash.py", "--server", stand_in, "--shim", TOOLS.shim, "--undo", TOOLS.undo,
                               "--kills", str(kills), "--seed", "2", "--folder", folder, "--load-seconds", "0.2", *options],
                              capture_output=True, text=True)


class CrashTest(unittest.TestCase):
    def test_a_server_that_flushes_before_it_answers_passes(self):
        done = crash()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(done.stdout.endswith("9 passed, 0 failed\n"), done.stdout)
        self.assertIn("sync #.log", done.stdout)

    def test_failed_writes_of_the_live_segment_too(self):
        done = crash("--live-write", "write:.log")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_mistake_is_found_and_told_how_to_repeat(self):
        for mutant in MUTANTS:
            with self.subTest(mutant):
                done = crash(mutant=mutant, kills=30)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn("FAILED cycle", done.stdout)
                self.assertIn("--seed 2", done.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--shim", required=True)
    parser.add_argument("--undo", required=True)
    parser.add_argument("--folder", default=".", help="on a disk, for data directories")
    TOOLS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
