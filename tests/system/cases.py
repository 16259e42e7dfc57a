"""Runs the cases of a system test: each gets a program and an empty folder, and ends the test when something is not as it must be."""
import argparse
import os
import sys
import tempfile
import time

CHOSEN = argparse.Namespace(shards=1)  # what the command line says of every server of this run
STARTED = []  # the processes of servers


def arguments(doc):
    """A parser with what every system test takes."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="path of holdfastd")
    parser.add_argument("--shards", type=int, default=1, help="of each server that does not have a number of its own")
    parser.add_argument("--only", default="", help="cases whose name has this word")
    return parser


def shard_flags(flags=()):
    """The flags for a server's shards, unless its own flags say it."""
    return [] if "--shards" in flags else ["--shards", str(CHOSEN.shards)]


def end_all():
    """Ends what a case that failed has left running."""
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.wait()


def run_cases(cases, options, program=None):
    """`program`: what they get instead of the server's path. No case of that name is a failure."""
    chosen = [case for case in cases if options.only in case.__name__]
    if not chosen:
        sys.exit(f"no case has {options.only!r} in its name; there are {', '.join(case.__name__ for case in cases)}")
    CHOSEN.shards = options.shards
    for case in chosen:
        with tempfile.TemporaryDirectory(prefix="holdfast-system-") as folder:
            began = time.monotonic()
            try:
                case(program or os.path.abspath(options.server), folder)
            finally:
                end_all()
            print(f"{case.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    print(f"{len(chosen)} passed, 0 failed")
