#!/usr/bin/env python3
"""Snapshots of a real server: made while it works, in a process of its own; started from; killed, damaged and starved.

usage: snapshot_test.py --server build/release/bin/holdfastd [--only NAME]
"""
import glob
import os
import re
import signal
import sys
import threading
import time

sys.dont_write_bytecode = True
from cases import arguments, run_cases  # noqa: E402
from holdfastd_test import check, refused  # noqa: E402
from resp import Connection, Lost, Refusal, as_map  # noqa: E402
from shards import create, eventually, names_everywhere, running  # noqa: E402

SMALL = ("--segment-bytes", "64KiB", "--log-keep-bytes", "0", "--log-keep-age", "0")  # the log goes as soon as snapshots have it
NEVER = ("--snapshot-log-bytes", "1024GiB", "--snapshot-every", "30d")


def info(connection):
    return dict(line.split(":", 1) for line in connection.ask("INFO").decode().splitlines() if ":" in line)


def says(server, line):
    eventually(lambda: line in server.output(), f"it says {line!r}")


def files(folder, pattern):
    return sorted(os.path.basename(path) for path in glob.glob(os.path.join(folder, "data", pattern)))


def snapshots(folder):
    return [name for name in files(folder, "snapshot-*") if re.fullmatch(r"snapshot-\d+", name)]


def snapshot(connection):
    """Asks for one and waits for it; its LSN."""
    made = int(info(connection)["rdb_saves"])
    check(connection.ask("BGSAVE") == "Background saving started", "BGSAVE")
    eventually(lambda: int(info(connection)["rdb_saves"]) > made, "a snapshot is made")
    return int(info(connection)["snapshot_lsn"])


def children(process):
    """The processes that a server has started."""
    found = []
    for task in glob.glob(f"/proc/{process.pid}/task/*/children"):
        try:
            with open(task) as file:
                found += map(int, file.read().split())
        except OSError:
            pass
    return found


def runs(process):
    """Whether there is a process of this number that is no zombie."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def catch_a_fold(server, connection):
    """Asks for snapshots until the process that makes one is seen at work; its number."""
    seen = []

    def catch():
        connection.ask("RESERVE", "a", f"again{time.monotonic_ns()}")  # else there would be nothing to do
        connection.ask("BGSAVE")
        while not seen and int(info(connection)["rdb_bgsave_in_progress"]):
            seen.extend(children(server.process))
        return seen
    eventually(catch, "a fold is seen")
    return seen[0]


def sell(connection, names, begin, count):
    """Reservations that nobody had before, a third of them confirmed, a fourth of them released."""
    for name in names:
        check(set(connection.ask_all([("RESERVE", name, n) for n in range(begin, begin + count)])) != {-1}, "sold", name)
        connection.ask_all([("CONFIRM", name, n) for n in range(begin, begin + count, 3)])
        connection.ask_all([("RELEASE", name, n) for n in range(begin + 1, begin + count, 4)])


def state(connection, names):
    """What can be seen of the items and their reservations."""
    check(connection.ask("ITEM", "VERIFY", "*") == [], "the law holds")
    items = [as_map(connection.ask("ITEM", "GET", name)) for name in names]
    reservations = {}
    for name in names:
        cursor = b"0"
        while True:
            cursor, page = connection.ask("RESERVATION", "LIST", name, "CURSOR", cursor, "COUNT", "1000")
            for one in map(as_map, page):
                del one["remaining"], one["stage"]
                reservations[name, one["id"]] = one
            if cursor == b"0":
                break
    return items, reservations


def a_start_from_a_snapshot_has_what_the_log_has(program, folder):
    names = names_everywhere("item:", 6, 3)
    with_snapshots = running(program, folder, *SMALL, *NEVER, shards=3)
    with Connection(with_snapshots.address) as connection:
        create(connection, names, "STOCK", 100000, "LIMIT", 0)
        sell(connection, names, 0, 300)
        first = snapshot(connection)
        sell(connection, names, 300, 300)
        second = snapshot(connection)
        check(second > first > 0 and len(snapshots(folder)) == 2, "two snapshots", first, second, snapshots(folder))
        eventually(lambda: "segment-0000000001" not in files(folder, "segment-*"), "what both have is removed")
        sell(connection, names, 600, 300)
        before = state(connection, names)
    with_snapshots.process.kill()
    with_snapshots.process.wait()
    for shards in (1, 4, 2):
        server = running(program, folder, *SMALL, *NEVER, shards=shards)
        says(server, f"snapshot of LSN {second} ")
        with Connection(server.address) as connection:
            check(state(connection, names) == before, "the same state", shards)
        server.stop()


def snapshots_are_made_as_the_log_grows(program, folder):
    """And disk space stays bounded, while nobody asks for anything."""
    server = running(program, folder, *SMALL, "--snapshot-log-bytes", "64KiB", "--snapshot-every", "30d")
    with Connection(server.address) as connection:
        create(connection, ["a"], "STOCK", 1000000, "LIMIT", 0)
        begin = 0
        for made in range(1, 4):
            sell(connection, ["a"], begin, 1000)
            begin += 1000
            eventually(lambda: int(info(connection)["rdb_saves"]) >= made, "a snapshot is made", made)
        for _ in range(2):
            sell(connection, ["a"], begin, 1)
            begin += 1
            snapshot(connection)
        eventually(lambda: len(snapshots(folder)) == 2 and len(files(folder, "segment-*")) <= 4, "old files go")
    server.stop()


def the_server_goes_on_while_one_is_made(program, folder):
    """Connections reserve at full speed through several snapshots; all that was acknowledged is there after a SIGKILL."""
    server = running(program, folder, *NEVER, shards=2)
    with Connection(server.address) as connection:
        create(connection, ["a", "b"], "STOCK", 100000000, "LIMIT", 0)
        acknowledged, stop = [0] * 4, threading.Event()

        def buy(lane):
            try:
                with Connection(server.address) as own:
                    while not stop.is_set():
                        number = acknowledged[lane]
                        replies = own.ask_all([("RESERVE", "ab"[lane % 2], f"{lane}-{number + n}") for n in range(100)])
                        check(all(type(reply) is int and reply >= 0 for reply in replies), "taken", replies)
                        acknowledged[lane] += 100
            except Lost:
                pass
        buyers = [threading.Thread(target=buy, args=(lane,)) for lane in range(4)]
        for buyer in buyers:
            buyer.start()
        lsns = [snapshot(connection) for _ in range(4)]
        check(lsns == sorted(set(lsns)), "each is newer", lsns)
        stop.set()
        for buyer in buyers:
            buyer.join()
    server.process.kill()
    server.process.wait()
    server = running(program, folder, *NEVER, shards=3)
    says(server, f"snapshot of LSN {lsns[-1]} ")
    with Connection(server.address) as connection:
        reserved = [as_map(connection.ask("ITEM", "GET", name))["reserved"] for name in ("a", "b")]
        check(reserved == [acknowledged[0] + acknowledged[2], acknowledged[1] + acknowledged[3]], "all is there", reserved)
    server.stop()


def a_fold_that_dies_or_may_have_no_memory_is_an_alarm_and_no_more(program, folder):
    server = running(program, folder, *NEVER)
    with Connection(server.address) as connection:
        create(connection, ["a"], "STOCK", 1000000, "LIMIT", 0)
        sell(connection, ["a"], 0, 20000)

        def failed():
            """It may have made its snapshot already when the signal comes."""
            try:
                os.kill(catch_a_fold(server, connection), signal.SIGKILL)
            except ProcessLookupError:
                return False
            eventually(lambda: not int(info(connection)["rdb_bgsave_in_progress"]), "it is gone")
            return int(info(connection)["snapshots_failed"]) > 0
        eventually(failed, "a fold is killed")
        says(server, "alarm snapshot: no snapshot could be made: ended by signal 9")
        eventually(lambda: info(connection)["rdb_last_bgsave_status"] == "ok", "it is tried again")
        says(server, "alarm snapshot is over")
    server.stop()
    server = running(program, folder, *NEVER, "--fold-memory", "64KiB")
    with Connection(server.address) as connection:
        sell(connection, ["a"], 30000, 100)
        connection.ask("BGSAVE")
        eventually(lambda: info(connection)["rdb_last_bgsave_status"] == "err", "no memory")
        # A sanitizer's own allocator ends the process in its own words.
        says(server, "alarm snapshot: " if server.sanitized() else "more memory than --fold-memory allows")
        check(connection.ask("RESERVE", "a", "still") >= 0, "selling goes on")
    server.stop()


def a_fold_ends_with_its_server(program, folder):
    server = running(program, folder, *NEVER)
    with Connection(server.address) as connection:
        create(connection, ["a"], "STOCK", 10000000, "LIMIT", 0)
        sell(connection, ["a"], 0, 30000)
        fold = catch_a_fold(server, connection)
    server.process.kill()
    server.process.wait()
    eventually(lambda: not runs(fold), "it is gone", fold)
    left = files(folder, "*.tmp")
    server = running(program, folder, *NEVER)
    eventually(lambda: not [name for name in files(folder, "snapshot-*.tmp") if name in left], "its file goes", left)
    with Connection(server.address) as connection:
        check(connection.ask("ITEM", "VERIFY", "*") == [], "the law holds")
    server.stop()


def a_burst_that_fills_the_log_before_a_snapshot_is_made(program, folder):
    server = running(program, folder, "--segment-bytes", "64KiB", "--log-max-bytes", "1MiB", shards=1)
    number = 0
    with Connection(server.address) as shop:
        create(shop, ["a"], "STOCK", 10 ** 9)

        def burst(size):
            nonlocal number
            replies = shop.ask_all([("RESERVE", "a", number + n) for n in range(size)])
            number += size
            return [reply.text for reply in replies if isinstance(reply, Refusal)]

        for _ in range(3):
            eventually(lambda: burst(500) or children(server.process), "a fold begins in the middle of it")
            for child in children(server.process):
                os.kill(child, signal.SIGSTOP)
            eventually(lambda: any("the older of two snapshots" in text for text in burst(500)), "it is refused")
            for child in children(server.process):
                os.kill(child, signal.SIGCONT)
            eventually(lambda: not burst(1), "and goes on by itself")
            eventually(lambda: info(shop)["log_alarms"] == "", "the alarm is over")
    server.stop()


def a_damaged_one_is_passed_over_and_two_are_refused(program, folder):
    server = running(program, folder, *SMALL, *NEVER)
    with Connection(server.address) as connection:
        create(connection, ["a"], "STOCK", 1000000, "LIMIT", 0)
        for number in range(2):
            sell(connection, ["a"], 500 * number, 500)
            snapshot(connection)
        sell(connection, ["a"], 1000, 500)
        before = state(connection, ["a"])
    server.stop()
    old, new = snapshots(folder)

    def damage(name):
        with open(os.path.join(folder, "data", name), "r+b") as file:
            file.seek(5000)
            byte = file.read(1)
            file.seek(5000)
            file.write(bytes([byte[0] ^ 1]))
    damage(new)
    server = running(program, folder, *SMALL, *NEVER)
    says(server, f"snapshot of LSN {int(old.split('-')[1])} ")
    says(server, "the chunk's sum is wrong")
    with Connection(server.address) as connection:
        check(state(connection, ["a"]) == before, "the same state")
        eventually(lambda: files(folder, "*.broken") == [new + ".broken"] and snapshots(folder) == [old], "put aside")
    server.stop()
    damage(old)
    told = refused(program, folder, *SMALL)
    check("bad_snapshot: " in told and "move the snapshots away" in told, "refused", told)
    os.remove(os.path.join(folder, "data", old))
    server = running(program, folder, *SMALL, *NEVER)
    with Connection(server.address) as connection:
        check(state(connection, ["a"]) == before, "the same state, by the whole log")
    server.stop()


def sigterm_under_load_loses_nothing(program, folder):
    """Replies that came before the end are true afterwards; the exit status is 0."""
    server = running(program, folder, "--snapshot-log-bytes", "64KiB", *SMALL, shards=2)
    with Connection(server.address) as connection:
        create(connection, ["a", "b"], "STOCK", 100000000, "LIMIT", 0)
    acknowledged = [set() for _ in range(4)]

    def buy(lane):
        number = 0
        try:
            with Connection(server.address) as own:
                while True:
                    own.send([("RESERVE", "ab"[lane % 2], f"{lane}-{number + n}") for n in range(50)])
                    for n in range(50):
                        reply = own.read()
                        if isinstance(reply, Refusal):
                            return
                        acknowledged[lane].add(f"{lane}-{number + n}")
                    number += 50
        except Lost:
            pass
    buyers = [threading.Thread(target=buy, args=(lane,)) for lane in range(4)]
    for buyer in buyers:
        buyer.start()
    eventually(lambda: min(map(len, acknowledged)) > 500, "they buy")
    server.stop()
    for buyer in buyers:
        buyer.join()
    server = running(program, folder, *SMALL, shards=1)
    with Connection(server.address) as connection:
        for lane, users in enumerate(acknowledged):
            found = connection.ask_all([("SISMEMBER", "{%s}:buyers" % "ab"[lane % 2], user) for user in users])
            check(sum(found) == len(users), "all is there", lane, len(users), sum(found))
    server.stop()


CASES = [a_start_from_a_snapshot_has_what_the_log_has, snapshots_are_made_as_the_log_grows, the_server_goes_on_while_one_is_made,
         a_fold_that_dies_or_may_have_no_memory_is_an_alarm_and_no_more, a_fold_ends_with_its_server,
         a_burst_that_fills_the_log_before_a_snapshot_is_made,
         a_damaged_one_is_passed_over_and_two_are_refused, sigterm_under_load_loses_nothing]

if __name__ == "__main__":
    run_cases(CASES, arguments(__doc__).parse_args())
