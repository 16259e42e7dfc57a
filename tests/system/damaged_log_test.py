#!/usr/bin/env python3
"""The programs on the damaged logs of tests/golden: `holdfastctl log verify` and `holdfastd` refuse what recovery refuses, and change no byte;
`holdfastctl log repair` says what it would lose, changes nothing before that is accepted, and keeps what it replaces.

  damaged_log_test.py --server build/release/bin/holdfastd --ctl build/release/bin/holdfastctl

Prints a line a log and "N passed, N failed"; exit status 1 when anything failed.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "damaged-v1"
SECONDS_MAX = 60


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "lock"}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    return done.returncode, done.stdout + done.stderr


def judge(args, data, outcome):
    """What is wrong; empty: nothing."""
    before, refused = files_of(data), not outcome.startswith("opens:")
    text = outcome.replace("/data/log", str(data))
    if not refused:  # by recovery; but the records are random, and no state of any server
        text = f"a repair would keep LSN 1 to {outcome.split()[-1]} and lose 0 records"
    status, said = run(args.ctl, "log", "verify", str(data))
    if status != 1 or text not in said or (not refused and "make another state" not in said):
        return f"log verify: exit status {status}, {said!r}"
    if "a repair would" not in said:
        return f"log verify does not say what a repair would lose: {said!r}"
    if refused:
        # The records are random: an inventory may refuse one before the damage is reached.
        status, said = run(args.server, "--data-dir", str(data), "--port", "1", "--metrics-port", "0", "--shards", str(args.shards))
        if status != 1 or "Nothing was changed" not in said:
            return f"holdfastd: exit status {status}, {said!r}"
    status, said = run(args.ctl, "log", "repair", str(data))
    if status != 1 or "nothing was changed" not in said or "a repair keeps" not in said:
        return f"log repair: exit status {status}, {said!r}"
    changed = [name for name, content in files_of(data).items() if before.get(name) != content]
    return f"changed: {changed}" if changed else repaired(args, data, before)


def repaired(args, data, before):
    """What is wrong after a repair."""
    status, said = run(args.ctl, "log", "repair", "--accept-loss", str(data))
    if status != 0 or "repaired: log " not in said:
        return f"log repair --accept-loss: exit status {status}, {said!r}"
    status, said = run(args.ctl, "log", "verify", str(data))
    if status != 0 or not said.startswith("usable"):
        return f"log verify after it: exit status {status}, {said!r}"
    return "" if files_of(data / "before-repair-1") == before else "the old files are not kept"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="path of holdfastd")
    parser.add_argument("--ctl", required=True, help="path of holdfastctl")
    parser.add_argument("--shards", type=int, default=1, help="of holdfastd")
    args = parser.parse_args()
    passed = failed = 0
    for kept in sorted(GOLDEN.iterdir()):
        with tempfile.TemporaryDirectory(prefix="holdfast-damaged-") as folder:
            data = pathlib.Path(folder) / "data"
            shutil.copytree(kept, data)
            outcome = (data / "outcome.txt").read_text().strip()
            (data / "outcome.txt").unlink()
            problem = judge(args, data, outcome)
        passed, failed = passed + (not problem), failed + bool(problem)
        print(f"{'FAIL' if problem else 'ok  '}  {kept.name}{': ' if problem else ''}{problem}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
