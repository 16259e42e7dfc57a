"""Kills a server over and over, cuts the power of its disk, and checks that all it acknowledged is there after each start.

python3 crash.py --server PATH --shim PATH --undo PATH --kills N --seed S

A cycle is: start, judge what the last crash left, load over several connections, die, lose power. It dies by SIGKILL at a random time,
by SIGKILL inside a random system call on its files, or also during the recovery after that; with --live-write also by a failed write,
after which it must exit with status 74. The last line counts; exit status 1 when a cycle failed.
"""
import argparse
import collections
import random
import shlex
import sys
import threading
import types

import ledger
from machine import Broken, Machine
from resp import Connection, Lost

FAILED_MAX = 5  # then it stops: there is enough to look at
EXIT_OF_FAILED_LOG = 74
KILLED = -9
PLANNED = {"kill in call": (KILLED,), "failed write": (EXIT_OF_FAILED_LOG,)}  # ends that a fault of ours may bring, and their status
KILL_WAIT_SECONDS = 5  # for a kill inside a call that may not come


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="command of the server; data-dir, bind and port are appended")
    parser.add_argument("--shim", help="libholdfast_shim.so; without it a kill is only a kill")
    parser.add_argument("--undo", help="holdfast-undo")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--kills-per-log", type=int, default=20, help="then a new log begins: a long one takes long to replay")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--load-seconds", type=float, default=0.3, help="longest time of load before a kill")
    parser.add_argument("--shards", type=lambda text: [int(word) for word in text.split(",")], default=[1],
                        help="of the server; several, as in 1,2,4: each start takes the next")
    parser.add_argument("--flags", default="", help="more options for the server, as one word: --flags='--segment-bytes 256KiB'")
    parser.add_argument("--live-write", help="call and suffix of writes of the live segment, such as write_durable:*; adds cycles in which one fails")
    parser.add_argument("--always", default="", help="rules of the shim for every life: open_direct:*:1:EINVAL:sticky is a file system without O_DIRECT")
    parser.add_argument("--folder", default=".", help="where data directories are made; must not be in memory only")
    parser.add_argument("--keep", action="store_true", help="keep a copy of the files before each power cut")
    options = parser.parse_args()
    if bool(options.shim) != bool(options.undo):
        parser.error("--shim and --undo belong together")
    options.seed = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    return options


class Run:
    """One data directory through its crashes."""

    def __init__(self, options, first):
        self.options = options
        self.machine = Machine(options)
        self.ledger = ledger.Ledger(random.Random(f"{options.seed} ledger {first}"))
        self.lives = []  # of the last cycle: not judged yet
        self.died = "a first start"

    def cycle(self, number):
        """Starts, judges, loads, kills; raises Broken."""
        dice = random.Random(f"{self.options.seed} cycle {number}")
        ways = ["kill", "kill in call", "kill in recovery"] if self.options.shim else ["kill"]
        ways += ["failed write"] * 2 if self.options.shim and self.options.live_write else []
        way = dice.choice(ways)
        if way == "kill in recovery" and self.ledger.items:
            self.kill_in_recovery(dice)
        if self.start(way, dice):
            self.serve(way, dice, number)
        self.died = way
        status = self.machine.kill()
        if way == "failed write" and status not in (EXIT_OF_FAILED_LOG, KILLED):
            raise Broken(f"exit status {status} after a failed write of the log")
        if way != "failed write" or dice.random() < 0.3:  # a disk fails without a power cut: what the page cache shows is not to be believed
            self.machine.cut_power(dice.getrandbits(60))

    def start(self, way, dice):
        """Whether it serves; a planned fault may hit before it does."""
        try:
            self.machine.start(self.faults(way, dice))
            return True
        except Broken:
            if way in PLANNED and self.machine.process.poll() in PLANNED[way]:
                return False
            raise

    def serve(self, way, dice, number):
        try:
            with Connection(self.machine.address) as connection:
                self.judge(connection, number)
            self.load(way, dice, number)
        except Lost:
            if way not in PLANNED:
                raise Broken(f"the server ended a connection by itself: {self.machine.output_tail()!r}") from None

    def faults(self, way, dice):
        if way == "kill in call":
            return f"any:*:{dice.randrange(20, 600)}:kill"
        if way == "failed write":
            flushes = self.options.live_write.startswith("sync")
            action = "EIO" if flushes else dice.choice(("EIO", "EIO+half", "ENOSPC", "short"))
            return f"{self.options.live_write}:{dice.randrange(1, 100)}:{action}:sticky"
        return ""

    def kill_in_recovery(self, dice):
        """Dies once more before it serves, or soon after, and loses power again."""
        self.machine.spawn(dice.choice(("", f"any:*:{dice.randrange(1, 40)}:kill")))
        self.machine.exit_status(dice.random() * 0.3)
        self.machine.kill()
        self.machine.cut_power(dice.getrandbits(60))

    def judge(self, connection, number):
        if not self.ledger.items:
            for item in range(4):
                self.ledger.create(connection, f"crash:{number}:{item}", ledger.STOCK)
        else:
            self.ledger.judge(connection, self.lives)

    def load(self, way, dice, number):
        with Connection(self.machine.address) as connection:
            race = self.ledger.create(connection, f"race:{number}", ledger.RACE_STOCK)
        items = [item for item in self.ledger.items if item.stock == ledger.STOCK]
        workers = [ledger.Worker(self.machine.address, random.Random(dice.random()), items, race, f"{number}.{n}")
                   for n in range(self.options.connections)]
        for worker in workers:
            worker.start()
        if way in ("kill", "kill in recovery"):
            self.machine.exit_status(dice.random() * self.options.load_seconds)
            self.expect_running()
            self.machine.kill()
        else:
            self.machine.exit_status(KILL_WAIT_SECONDS)
            self.machine.kill()
        for worker in workers:
            worker.join(60)
        self.lives = [life for worker in workers for life in worker.lives]
        wrong = [worker.wrong for worker in workers if worker.wrong]
        if wrong:
            raise Broken(wrong[0])

    def expect_running(self):
        status = self.machine.process.poll()
        if status is not None:
            raise Broken(f"the server ended by itself with status {status}: {self.machine.output_tail()!r}")


def tell(options, run, number, problem):
    words = [sys.executable, *sys.argv]
    if "--seed" not in sys.argv:
        words += ["--seed", str(options.seed)]
    print(f"FAILED cycle {number} after {run.died}: {problem}\n  files: {run.machine.folder}\n  again: {shlex.join(words)}", flush=True)


def main():
    options = parse()
    print(f"seed {options.seed}", flush=True)
    totals = types.SimpleNamespace(passed=0, failed=0, acknowledged=0, sites=collections.Counter())
    run, number = None, 0
    while number < options.kills and totals.failed < FAILED_MAX:
        if run and number % options.kills_per_log == 0:
            run = end(options, run, number, totals)
        run = run or Run(options, number)
        try:
            run.cycle(number)
            totals.passed += 1
        except (Broken, Lost) as problem:
            run = give_up(options, run, number, problem, totals)
        number += 1
    if run:
        end(options, run, number, totals)
    for site, count in sorted(totals.sites.items()):
        print(f"  {count:9} {site}")
    print(f"{totals.acknowledged} reservations judged, {threading.active_count() - 1} threads left over")
    print(f"{totals.passed} passed, {totals.failed} failed")
    return 1 if totals.failed else 0


def give_up(options, run, number, problem, totals):
    """Notes a failure; its files stay."""
    totals.failed += 1
    tell(options, run, number, problem)
    close(run, totals)


def close(run, totals):
    run.machine.kill()
    totals.sites.update(run.machine.counters())
    totals.acknowledged += len(run.ledger.settled)


def end(options, run, number, totals):
    """Judges what the last cycle left, as a check of its own, and removes the files."""
    try:
        run.machine.start()
        with Connection(run.machine.address) as connection:
            run.judge(connection, number)
            run.ledger.replay(connection, run.ledger.settled)
        totals.passed += 1
        close(run, totals)
        run.machine.remove()
    except (Broken, Lost) as problem:
        give_up(options, run, number, problem, totals)


if __name__ == "__main__":
    sys.exit(main())
