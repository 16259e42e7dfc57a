#!/usr/bin/env python3
"""The log as a stream over real connections: followed live, over restarts and power cuts; readers that do not read; sinks.

usage: log_stream_test.py --server build/release/bin/holdfastd [--shim libholdfast_shim.so --undo holdfast-undo] [--only NAME]
"""
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import threading
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "crash"))
from cases import CHOSEN, arguments, run_cases  # noqa: E402
from holdfastd_test import MIB, Server, check, quietest, refused  # noqa: E402
from machine import Machine  # noqa: E402
from resp import Connection, Lost, Refusal, as_map  # noqa: E402
from shards import eventually, names_everywhere  # noqa: E402

PATIENCE_SECONDS = 60
BLOCK = 4096
AHEAD = 500  # changes that may be sent before they are shown


def served(program, folder, *flags):
    server = Server(program, folder, *flags)
    server.ready()
    return server


def info(connection, field):
    lines = connection.ask("INFO").decode().split("\r\n")
    return next(line.split(":", 1)[1] for line in lines if line.startswith(f"{field}:"))


def entries(reply):
    """Of one XREAD: (id, fields)."""
    return [(entry[0].decode(), as_map(entry[1])) for entry in reply[0][1]] if reply else []


def lsn(entry_id):
    number, part = entry_id.split("-")
    check(part == "0", "an id is an LSN", entry_id)
    return int(number)


def sell(address, item, users):
    """Reserves for each user and confirms or releases every second; how many of each were done."""
    with Connection(address, PATIENCE_SECONDS) as shop:
        for user in users:
            check(shop.ask("RESERVE", item, user) >= 0, "there is enough")
            if user % 2:
                shop.ask("CONFIRM" if user % 4 == 1 else "RELEASE", item, user)


class Follower(threading.Thread):
    """Reads on at the last id until it has seen `count` entries."""

    def __init__(self, address, after, count):
        super().__init__()
        self.address, self.seen, self.count = address, [], count
        self.after = after
        self.start()

    def run(self):
        with Connection(self.address, PATIENCE_SECONDS) as reader:
            while len(self.seen) < self.count:
                new = entries(reader.ask("XREAD", "COUNT", 100, "BLOCK", 1000 * PATIENCE_SECONDS, "STREAMS", "log", self.after))
                self.seen += new
                self.after = new[-1][0] if new else self.after


def a_sale_is_followed_live_and_over_a_restart(program, folder):
    users, items = 400, names_everywhere("item:", 4, max(CHOSEN.shards, 1))
    server = served(program, folder)
    changes = 3 * len(items) + len(items) * (users + users // 2)  # three of an item, one of a user, two of every second
    with Connection(server.address) as shop:
        follower = Follower(server.address, "$", changes)
        eventually(lambda: info(shop, "blocked_clients") == "1", "the follower waits")
        for item in items:
            check(shop.ask("ITEM", "CREATE", item, "STOCK", users) == "OK", "an item")
    sellers = [threading.Thread(target=sell, args=(server.address, item, range(users))) for item in items]
    for seller in sellers:
        seller.start()
    for thread in (*sellers, follower):
        thread.join(PATIENCE_SECONDS)
    check(len(follower.seen) == changes, "all of it was seen", len(follower.seen), changes)
    ids = [lsn(entry_id) for entry_id, _ in follower.seen]
    check(ids == sorted(set(ids)), "once and in order")
    for item in items:
        mine = [fields for _, fields in follower.seen if fields["item"] == item.encode()]
        check([int(each["sequence"]) for each in mine] == list(range(1, len(mine) + 1)), "each change of an item in turn", item)
        check({each["version"] for each in mine} == {b"1"}, "with its version")
        check(sum(each["event"] == b"CONFIRM" for each in mine) == users // 4, "what was confirmed")
    with Connection(server.address) as shop:
        check(shop.ask("XLEN", "log") == changes, "so many there are")
    server.stop()
    server = served(program, folder)
    with Connection(server.address) as shop:
        again, after = [], "0"
        while page := entries(shop.ask("XREAD", "STREAMS", "log", after)):
            again, after = again + page, page[-1][0]
        check(again == follower.seen, "the same after a restart")
        follower = Follower(server.address, after, 1)
        eventually(lambda: info(shop, "blocked_clients") == "1", "it waits at its last id")
        shop.ask("ITEM", "PAUSE", items[0])
        follower.join(PATIENCE_SECONDS)
        check(follower.seen[0][1]["event"] == b"PAUSE", "and goes on there", follower.seen)
    server.stop()


def redis_cli_reads_it(program, folder):
    cli = shutil.which("redis-cli")
    if cli is None:
        return print("redis_cli_reads_it: there is no redis-cli")
    server = served(program, folder)

    def asked(*words):
        return subprocess.run([cli, "-p", str(server.port), *words], capture_output=True, text=True, timeout=PATIENCE_SECONDS).stdout

    asked("ITEM", "CREATE", "i", "STOCK", "5")
    waiting = subprocess.Popen([cli, "-3", "-p", str(server.port), "XREAD", "BLOCK", "0", "STREAMS", "log", "$"],
                               stdout=subprocess.PIPE, text=True)
    with Connection(server.address) as shop:
        eventually(lambda: info(shop, "blocked_clients") == "1", "redis-cli waits")
    asked("RESERVE", "i", "somebody")
    told = waiting.communicate(timeout=PATIENCE_SECONDS)[0]
    check("RESERVE" in told and "somebody" in told, "redis-cli shows the sale", told)
    check(asked("XLEN", "log").strip() == "4", "and how long the log is")
    check("last-generated-id" in asked("XINFO", "STREAM", "log"), "and what Redis tells of a stream")
    server.stop()


def on_disk(folder):
    """The batches of all segments, as bytes; each segment as far as the next one's header says that it goes."""
    found = bytearray()
    segments = [path.read_bytes() for path in sorted((pathlib.Path(folder) / "data").glob("segment-??????????"))]
    for bytes_of, successor in zip(segments, segments[1:] + [b""]):
        at = BLOCK
        until = struct.unpack_from("<Q", successor, 128)[0] if successor[:8] == b"HOLDFLOG" else len(bytes_of)
        while at < until and bytes_of[at:at + 4] == b"HFBT":
            body, = struct.unpack_from("<I", bytes_of, at + 44)
            end = at + -(-(128 + body) // BLOCK) * BLOCK
            found += bytes_of[at:end]
            at = end
    return bytes(found)


def log_read_gives_what_the_files_hold(program, folder):
    server = served(program, folder, "--segment-bytes", "64KiB")
    with Connection(server.address, PATIENCE_SECONDS) as shop:
        shop.ask("ITEM", "CREATE", "i", "STOCK", 100000)
        for part in range(20):
            shop.ask_all([("RESERVE", "i", f"user-{part}-{user}") for user in range(500)])
        durable = int(info(shop, "durable_lsn"))
        for most in (1, 5000, 100_000, 1 << 30):
            read, after = b"", 0
            while after < durable:
                log_id, oldest, told, batches = shop.ask("LOG", "READ", after + 1, "MAXBYTES", most)
                check((log_id.decode(), oldest, told) == (info(shop, "log_id"), 1, durable), "what comes with it")
                at = 0
                while at < len(batches):
                    first, count, body = struct.unpack_from("<QII", batches, at + 32)
                    check(first == after + 1, "one batch follows the other", first, after)
                    after, at = first + count - 1, at + -(-(128 + body) // BLOCK) * BLOCK
                check(len(batches) <= most or batches[128 + body:].strip(b"\0") == b"", "as much as was asked for, or one batch")
                read += batches
            check(read == on_disk(folder), "byte for byte", len(read))
        ahead = shop.ask("LOG", "READ", durable + 2, "MAXBYTES", 1)
        check(isinstance(ahead, Refusal) and ahead.text.startswith("LOGAHEAD "), "ahead", ahead)
        check(shop.ask("LOG", "READ", durable + 1, "MAXBYTES", 1, "BLOCK", 10)[3] == b"", "nothing new in time")
        os.unlink(os.path.join(folder, "data", "segment-0000000001"))
        gone = shop.ask("LOG", "READ", 1, "MAXBYTES", 1)
        check(isinstance(gone, Refusal) and gone.text.startswith("LOGGONE LSN 1 is gone"), "gone", gone)
        oldest = shop.ask("LOG", "READ", durable, "MAXBYTES", 1)[1]
        check(oldest > 1 and lsn(shop.ask("XRANGE", "log", "-", "+", "COUNT", 1)[0][0].decode()) >= oldest, "it begins later", oldest)
    server.stop()


def waiting_ends_and_costs_nothing(program, folder):
    server = served(program, folder)
    with Connection(server.address) as shop:
        shop.ask("ITEM", "CREATE", "i", "STOCK", 5)
        waiting = [Connection(server.address, PATIENCE_SECONDS) for _ in range(200)]
        for number, each in enumerate(waiting):
            each.identity = each.ask("CLIENT", "ID")
            each.send([("XREAD", "BLOCK", 0, "STREAMS", "log", "$" if number % 2 else 1000000)])
        eventually(lambda: info(shop, "blocked_clients") == "200", "all wait")
        quietest(server, lambda: threading.Event().wait(0.5), 0.05)
        check(shop.ask("CLIENT", "UNBLOCK", waiting[0].identity) == 1 and waiting[0].read() is None, "unblocked")
        check(shop.ask("CLIENT", "UNBLOCK", waiting[1].identity, "ERROR") == 1, "unblocked with an error")
        check(waiting[1].read().text.startswith("UNBLOCKED "), "which it gets")
        check(shop.ask("CLIENT", "KILL", "ID", waiting[2].identity) == 1, "killed")
        for each in waiting[3:10]:
            each.__exit__()
        eventually(lambda: info(shop, "blocked_clients") == "190", "who is gone does not wait")
        shop.ask("RESERVE", "i", "u")
        for number, each in enumerate(waiting[10:], 10):
            if number % 2:
                check(entries(each.read())[0][1]["user"] == b"u", "who waits for it is told")
        check(info(shop, "blocked_clients") == "95", "the others still wait")
        server.stop()  # also while they wait
        check(waiting[10].read() is None, "they are answered before it ends")


def who_does_not_read_is_closed_and_memory_is_bounded(program, folder):
    server = served(program, folder, "--maxmemory-clients", "48MiB", "--write-timeout", "2s")
    with Connection(server.address, PATIENCE_SECONDS) as shop:
        shop.ask("ITEM", "CREATE", "i", "STOCK", 1 << 40, "LIMIT", 0)
        for _ in range(30):
            shop.ask_all([("RESERVE", "i", "x" * 100 + str(user)) for user in range(2000)])
        check(len(shop.ask("LOG", "READ", 1, "MAXBYTES", 100 * MIB)[3]) > 7 * MIB, "there is much to read")
        before = server.resident()
        readers = [Connection(server.address, PATIENCE_SECONDS) for _ in range(60)]
        for reader in readers:
            reader.send([("LOG", "READ", 1, "MAXBYTES", 8 * MIB)] * 4)

        def closed():
            return int(info(shop, "evicted_clients")) + int(info(shop, "timed_out_clients"))

        eventually(lambda: closed() == len(readers), "all of them are closed", closed)
        grown = server.resident() - before
        check(grown < 200 * MIB or server.sanitized(), "memory is bounded", grown)
        check(shop.ask("RESERVE", "i", "u") >= 0, "others are served")
    server.stop()


def refuses_new(shop, item, user, word):
    reply = shop.ask("RESERVE", item, user)
    return isinstance(reply, Refusal) and reply.text.startswith(word) and reply.text


def a_sink_that_never_acknowledges_stops_sales_and_nothing_else(program, folder):
    server = served(program, folder, "--segment-bytes", "64KiB", "--log-max-bytes", "1MiB")
    with Connection(server.address, PATIENCE_SECONDS) as shop:
        shop.ask("ITEM", "CREATE", "i", "STOCK", 10 ** 9)
        check(shop.ask("LOG", "ACK", "slow", 0) == "OK" and shop.ask("LOG", "ACK", "quick", 1) == "OK", "two sinks")
        number = 0

        def reserve():
            nonlocal number
            number += 1
            why = refuses_new(shop, "i", number, "OVERLOADED ")
            return why and "sink " in why and why  # segments and snapshots of a log as small as this are often not ready at once

        def sell_until_refused():
            alarmed_at = None
            reserve()
            shop.ask("LOG", "ACK", "quick", info(shop, "durable_lsn"))
            while not (why := reserve()):
                held = int(info(shop, "log_retention_bytes"))
                if 0.7 * MIB <= held < MIB and "retention" in info(shop, "log_alarms"):
                    alarmed_at = held
            check(alarmed_at, "an alarm from 70% on")
            check("sink slow has acknowledged LSN" in why and "log-max-bytes is 1048576" in why, "it names the sink", why)
            check(int(info(shop, "log_retention_bytes")) >= MIB and "slow" in info(shop, "log_space"), "INFO tells of it")

        sell_until_refused()
        last = int(shop.ask("SSCAN", "{i}:buyers", 0, "COUNT", 1)[1][0])
        check(shop.ask("RESERVE", "i", last) == -2, "refusals go on")
        check(shop.ask("CONFIRM", "i", last) == 1, "and so does CONFIRM")
        check(shop.ask("RELEASE", "i", last + 1) > 0, "and RELEASE")
        durable = int(info(shop, "durable_lsn"))
        check(shop.ask("LOG", "ACK", "quick", durable) == "OK" and reserve(), "another one's acknowledgement changes nothing")
        check(shop.ask("LOG", "ACK", "slow", durable) == "OK", "it catches up")
        eventually(lambda: not reserve(), "and the sale goes on")
        eventually(lambda: info(shop, "log_alarms") == "", "the alarm is over")
        sell_until_refused()
        shop.ask("LOG", "ACK", "quick", info(shop, "durable_lsn"))
        check(shop.ask("LOG", "SINKS", "DROP", "slow", "CONFIRM") == "OK", "it is dropped")
        eventually(lambda: not reserve(), "and the sale goes on")
    server.stop()
    check("alarm retention: sink slow" in server.output() and "alarm retention is over" in server.output(), "the operator is told")


def stages_follow_the_sinks(program, folder):
    server = served(program, folder)
    items = names_everywhere("i", 4, max(CHOSEN.shards, 1))
    ids = [f"00000000-0000-4000-8000-{number:012}" for number in range(len(items))]
    with Connection(server.address, PATIENCE_SECONDS) as shop, Connection(server.address, PATIENCE_SECONDS) as relay:
        relay.ask("LOG", "ACK", "pg", 0)
        for item, reservation in zip(items, ids):
            shop.ask("ITEM", "CREATE", item, "STOCK", 5)
            shop.ask("RESERVE", item, "u", "ID", reservation)
        waits = []
        for item, reservation in zip(items, ids):
            for stage in ("pg", "done"):
                waits.append(Connection(server.address, PATIENCE_SECONDS))
                waits[-1].send([("RESERVATION", "WAIT", item, "ID", reservation, "STAGE", stage, "TIMEOUT", 10 ** 6)])
        eventually(lambda: info(shop, "blocked_clients") == str(len(waits)), "all wait")
        told = as_map(shop.ask("RESERVATION", "GET", items[0], "ID", ids[0]))
        check((told["stage"], as_map(told["sinks"])) == (b"durable", {"pg": b"pending"}), "pending", told)
        relay.ask("LOG", "ACK", "pg", int(info(shop, "durable_lsn")))
        for wait in waits:
            reached = as_map(wait.read())
            check((reached["stage"], as_map(reached["sinks"])) == (b"done", {"pg": b"acknowledged"}), "acknowledged", reached)
        relay.ask("LOG", "ACK", "kafka", 0, "PARK", items[1], 1, ids[1], "no_room")
        for number, word in ((0, b"pending"), (1, b"parked")):
            told = as_map(shop.ask("RESERVATION", "GET", items[number], "ID", ids[number]))
            check(as_map(told["sinks"]) == {"kafka": word, "pg": b"acknowledged"}, "parked", told)
            check(told["stage"] == (b"done" if number else b"durable"), "and so done", told)
    server.stop()
    server = served(program, folder)
    with Connection(server.address, PATIENCE_SECONDS) as shop:
        sinks = [as_map(sink) for sink in as_map(shop.ask("LOG", "SINKS"))["sinks"]]
        check([(sink["name"], sink["parked"]) for sink in sinks] == [(b"kafka", 1), (b"pg", 0)], "they are kept", sinks)
        told = as_map(shop.ask("RESERVATION", "GET", items[1], "ID", ids[1]))
        check(told["stage"] == b"done", "and so are the stages", told)
    server.stop()


def a_sink_with_more_than_the_log_stops_sales(program, folder):
    server = served(program, folder)
    items = names_everywhere("i", 4, max(CHOSEN.shards, 1))
    with Connection(server.address) as shop:
        for item in items:
            shop.ask("ITEM", "CREATE", item, "STOCK", 5)
        fenced = shop.ask("LOG", "ACK", "pg", 10 ** 6)
        check(fenced.text.startswith("FENCED log: sink pg acknowledged LSN 1000000"), "it is told", fenced)
        for item in items:
            eventually(lambda: refuses_new(shop, item, "u", "FENCED log: sink pg"), "no shard sells")
    server.stop()
    server = served(program, folder)
    with Connection(server.address) as shop:
        for item in items:
            check(refuses_new(shop, item, "u", "FENCED log: sink pg"), "also after a restart")
        check(shop.ask("LOG", "SINKS", "DROP", "pg", "CONFIRM") == "OK", "dropped")
        for item in items:
            eventually(lambda: shop.ask("RESERVE", item, "u") == 4, "it sells again")
    server.stop()


def a_damaged_file_of_sinks_refuses_the_start(program, folder):
    server = served(program, folder)
    with Connection(server.address) as shop:
        shop.ask("LOG", "ACK", "pg", 0)
    server.stop()
    path = pathlib.Path(folder) / "data" / "sinks"
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    check(f"{path}: the sum at offset" in refused(program, folder), "it says which file")


class Watched(threading.Thread):
    """Follows until the server dies: what it was shown, in entries and in batches."""

    def __init__(self, address, after):
        super().__init__()
        self.address, self.after, self.seen, self.batches, self.read = address, after, [], bytearray(), after
        self.sent, self.moved = 0, threading.Condition()
        self.start()

    def may_send(self, count):
        """Waits until what was sent is at most AHEAD changes before what was shown: who reads is where the log ends. False:
        nothing is shown any more."""
        with self.moved:
            self.moved.wait_for(lambda: self.sent - len(self.seen) < AHEAD or not self.is_alive(), 0.1)
            if self.sent - len(self.seen) < AHEAD:
                self.sent += count
                return count
        return 0 if self.is_alive() else None

    def run(self):
        try:
            with Connection(self.address, PATIENCE_SECONDS) as reader:
                while True:
                    new = entries(reader.ask("XREAD", "BLOCK", 1000, "STREAMS", "log", self.after))
                    with self.moved:
                        self.seen += new
                        self.moved.notify_all()
                    self.after = lsn(new[-1][0]) if new else self.after
                    batches = reader.ask("LOG", "READ", self.read + 1, "MAXBYTES", 1 << 20)
                    if isinstance(batches, list) and batches[3]:
                        self.batches += batches[3]
                        self.read = batches[2] if len(batches[3]) < 1 << 19 else self.last(batches[3])
        except Lost:
            pass

    @staticmethod
    def last(batches):
        at = 0
        while at < len(batches):
            first, count, body = struct.unpack_from("<QII", batches, at + 32)
            at += -(-(128 + body) // BLOCK) * BLOCK
        return first + count - 1


def load(watched, item, dice):
    try:
        with Connection(watched.address, PATIENCE_SECONDS) as shop:
            while (count := watched.may_send(dice.randrange(1, 9))) is not None:
                shop.ask_all([("RESERVE", item, dice.getrandbits(40)) for _ in range(count)])
    except Lost:
        pass


def what_was_shown_is_there_after_a_power_cut(options):
    """In every mode, since nothing is shown before it is flushed."""
    for mode in ("always", "everysec", "never"):
        seed = random.SystemRandom().randrange(1 << 30)
        dice = random.Random(seed)
        machine = Machine(types.SimpleNamespace(
            server=os.path.abspath(options.server), shim=options.shim, undo=options.undo, folder=options.folder, keep=False,
            shards=[1, 2], flags=f"--fsync {mode} --segment-bytes 256KiB --log-max-bytes 1GiB"))
        shown, batches = [], b""
        for cycle in range(4):
            machine.start()
            with Connection(machine.address, PATIENCE_SECONDS) as shop:
                told, after = [], 0
                while page := entries(shop.ask("XREAD", "STREAMS", "log", after)):
                    told, after = told + page, lsn(page[-1][0])
                check(told[:len(shown)] == shown, f"what was shown is there, {mode}, seed {seed}, cycle {cycle}", len(told), len(shown))
                check(batches in on_disk(machine.folder), "and in the same batches", mode, seed, cycle)
                if cycle == 0:
                    shop.ask("ITEM", "CREATE", "i", "STOCK", 10 ** 12)
            watched = Watched(machine.address, lsn(told[-1][0]) if told else 0)
            loads = [threading.Thread(target=load, args=(watched, "i", random.Random(dice.random()))) for _ in range(2)]
            for each in loads:
                each.start()
            machine.exit_status(0.4 + dice.random() * (0.4 if mode == "always" else 1.5))
            machine.kill()
            for each in (watched, *loads):
                each.join(PATIENCE_SECONDS)
            shown, batches = told + watched.seen, watched.batches
            check(shown or mode == "never" or cycle == 0, "something was shown", mode, seed)
            machine.cut_power(dice.getrandbits(60))
        machine.remove()


CASES = (a_sale_is_followed_live_and_over_a_restart, redis_cli_reads_it, log_read_gives_what_the_files_hold, waiting_ends_and_costs_nothing,
         who_does_not_read_is_closed_and_memory_is_bounded, a_sink_that_never_acknowledges_stops_sales_and_nothing_else,
         stages_follow_the_sinks, a_sink_with_more_than_the_log_stops_sales, a_damaged_file_of_sinks_refuses_the_start)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--shim", help="libholdfast_shim.so; with it the case of power cuts alone")
    parser.add_argument("--undo", help="holdfast-undo")
    parser.add_argument("--folder", default=".", help="for it; must not be in memory only")
    options = parser.parse_args()
    if not options.shim:
        return run_cases(CASES, options)
    what_was_shown_is_there_after_a_power_cut(options)
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
