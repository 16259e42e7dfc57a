#!/usr/bin/env python3
"""holdfast-relay bootstrap and adopt: sinks that begin with a snapshot, and logs that went on from another one.

usage: relay_start_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay --ctl build/release/bin/holdfastctl --only fork
"""
import json
import os
import pathlib
import subprocess

from cases import arguments, run_cases
from relay_bench import Connection, Postgres, Relay, as_map, audit, caught_up, check, id_of, migrated, until
from relay_test import Busy, Programs, ask_all, counts, ready, reserve

SMALL = ("--segment-bytes", "64KiB", "--log-keep-bytes", "0", "--log-keep-age", "0", "--snapshot-log-bytes", "1024GiB", "--snapshot-every", "30d")


def run(programs, word, server, *sinks, flags=()):
    words = [programs.relay, word, "--from", f"127.0.0.1:{server.port}", *flags]
    for sink in sinks:
        words += ["--sink", sink]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def ctl(programs, *words):
    done = subprocess.run([programs.ctl, *map(str, words)], capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, "holdfastctl", words, done.stdout, done.stderr)


def state_of(server, item="item:1"):
    """All reservations as the server has them: (id, user, quantity, state)."""
    names = {b"RESERVED": "PENDING", b"CONFIRMED": "PAID", b"RELEASED": "CANCELLED", b"EXPIRED": "EXPIRED", b"REFUNDED": "REFUNDED"}
    found, at = [], b"0"
    with Connection(server.address) as connection:
        while True:
            at, page = connection.ask("RESERVATION", "LIST", item, "CURSOR", at, "COUNT", 1000)
            for entry in map(as_map, page):
                found.append([entry["id"].decode(), entry["user"].decode(), str(entry["quantity"]), names[entry["state"]]])
            if at == b"0":
                return sorted(found)


def same(server, database):
    """The tables say what the server says, item by item and reservation by reservation."""
    rows = database.run("SELECT order_id, user_id, quantity, status FROM flash_sale_order WHERE item_id = 'item:1' ORDER BY 1")
    wanted = state_of(server)
    check(rows == wanted, "reservations", len(rows), len(wanted), [pair for pair in zip(rows, wanted) if pair[0] != pair[1]][:3])
    with Connection(server.address) as connection:
        item = as_map(connection.ask("ITEM", "GET", "item:1"))
    row = database.run("SELECT quantity, sold, version, sequence FROM flash_sale_item WHERE item_id = 'item:1'")
    check(row == [[str(item["total"]), str(item["reserved"] + item["confirmed"]), str(item["version"]), str(item["sequence"])]], "the item", row, item)
    wrong = [each for each in audit(database) if each[0] != "gap"]
    check(wrong == [], "sums and states", wrong)
    gaps = database.run("SELECT k.item, k.begins, k.sequence, count(j.*) FROM holdfast_item k LEFT JOIN flash_sale_journal j ON j.item = k.item AND j.version = k.version"
                        " GROUP BY k.number HAVING count(j.*) <> k.sequence - k.begins OR min(j.sequence) <> k.begins + 1")
    check(gaps == [], "the journal has all since the beginning, and only that", gaps)


def forget_the_beginning(programs, server):
    def oldest():
        with Connection(server.address) as connection:
            return as_map(connection.ask("LOG", "SINKS"))["oldest_lsn"]

    def forgotten():
        if oldest() > 1:
            return True
        ask_all(server, [("RESERVE", "filler", each) for each in range(200)] + [("RELEASE", "filler", each) for each in range(200)])
        ctl(programs, "snapshot", "--server", f"127.0.0.1:{server.port}")
        return oldest() > 1
    until(forgotten, "the beginning of the log goes")


def sold_before(server):
    ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 100_000, "PRICE", 995), ("ITEM", "CREATE", "filler", "STOCK", 1000)] + reserve("item:1", range(1, 2001)))
    ask_all(server, [("CONFIRM", "item:1", each, "ID", id_of(each)) for each in range(1, 1001)])
    ask_all(server, [("RELEASE", "item:1", each, "ID", id_of(each)) for each in range(1001, 1501)])
    ask_all(server, [("REFUND", "item:1", each, "ID", id_of(each)) for each in range(1, 101)])


def a_sink_that_comes_late(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder, *SMALL)
        migrated(programs.relay, database)
        sold_before(server)
        forget_the_beginning(programs, server)
        sink, file = f"postgres={database.url()}", f"file={folder}/orders.jsonl"
        relay = Relay(programs.relay, folder, server, sink)
        check(relay.wait() == 1 and "run holdfast-relay bootstrap" in relay.output(), "it does not just begin now", relay.output())
        with Busy(server, first=10_001, pause=0.02):
            status, said = run(programs, "bootstrap", server, sink, file)
            check(status == 0 and "sink postgres: begins with LSN" in said and "2 items, " in said, "it begins", status, said)
            relay = Relay(programs.relay, folder, server, sink, file)
            until(lambda: int(database.value("SELECT max(lsn) FROM holdfast_cursor")) > int(said.split("LSN ")[1].split()[0]), "it goes on", relay.output)
        caught_up(server, database, relay)
        same(server, database)
        status, said = run(programs, "bootstrap", server, sink)
        check(status == 2 and "--set-aside" in said, "what is there is not thrown away", status, said)
        relay.stop()
        server.stop()
        first = json.loads(pathlib.Path(folder, "orders.jsonl").read_text().splitlines()[0])
        check(first["sequence"] > 1, "the file begins there, too", first)


def a_sink_that_fell_behind_the_log(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder, *SMALL)
        migrated(programs.relay, database)
        sink = f"postgres={database.url()}"
        sold_before(server)
        relay = Relay(programs.relay, folder, server, sink)
        caught_up(server, database, relay)
        relay.stop()
        # The quantity was raised by hand, and somebody let the log go.
        database.run("UPDATE flash_sale_item SET quantity = quantity + 7 WHERE item_id = 'item:1'")
        ask_all(server, [("LOG", "SINKS", "DROP", "postgres", "CONFIRM")])
        ask_all(server, reserve("item:1", range(3001, 3101)) + [("CONFIRM", "item:1", each, "ID", id_of(each)) for each in range(1501, 1601)])
        forget_the_beginning(programs, server)
        relay = Relay(programs.relay, folder, server, sink)
        check(relay.wait() == 1 and "run holdfast-relay bootstrap" in relay.output(), "it needs what is gone", relay.output())
        orders = database.value("SELECT count(*) FROM flash_sale_order")
        status, said = run(programs, "bootstrap", server, sink, flags=("--set-aside",))
        check(status == 0 and "what it had is in holdfast_before_3" in said, "it begins anew", status, said)
        check(database.value("SELECT count(*) FROM holdfast_before_3.flash_sale_order") == orders, "what was there is kept")
        relay = Relay(programs.relay, folder, server, sink)
        ask_all(server, reserve("item:1", range(4001, 4101)))
        caught_up(server, database, relay)
        check(database.value("SELECT quantity FROM flash_sale_item WHERE item_id = 'item:1'") == "100007", "the hand's 7 stay")
        database.run("UPDATE flash_sale_item SET quantity = quantity - 7 WHERE item_id = 'item:1'")
        same(server, database)
        relay.stop()
        server.stop()


def what_the_server_knew_as_parked(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        migrated(programs.relay, database)
        sink = f"postgres={database.url()}"
        relay = Relay(programs.relay, folder, server, sink)
        ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 100), *reserve("item:1", range(1, 11))])
        caught_up(server, database, relay)
        database.run("UPDATE flash_sale_item SET quantity = 10")
        ask_all(server, reserve("item:1", [11]))

        def stage():
            with Connection(server.address) as connection:
                return as_map(as_map(connection.ask("RESERVATION", "GET", "item:1", "ID", id_of(11)))["sinks"])["postgres"]
        until(lambda: stage() == b"parked", "it is parked", stage)
        ctl(programs, "snapshot", "--server", f"127.0.0.1:{server.port}")
        # 10 instead of 100 is what people made of it, so that it does not fit again; with more it does.
        for quantity, wanted in ((10, "of which 1 parked"), (11, "of which 0 parked")):
            database.run(f"UPDATE flash_sale_item SET quantity = {quantity}")
            if quantity == 11:
                relay.stop()
            status, said = run(programs, "bootstrap", server, sink, flags=("--set-aside",))
            check(status == 0 and wanted in said, "it begins anew", status, said)
            check(quantity == 11 or relay.wait() == 3, "the relay that had it ends, though it had nothing to write", relay.output())
            relay = Relay(programs.relay, folder, server, sink)
            until(lambda: (stage() == b"parked") == (quantity == 10), "the server knows what is parked now", stage)
            ask_all(server, [("CONFIRM", "item:1", 1, "ID", id_of(1)) if quantity == 10 else ("RELEASE", "item:1", 11, "ID", id_of(11))])
            caught_up(server, database, relay)
        check(database.run("SELECT quantity, sold FROM flash_sale_item") == [["11", "10"]], "the sums", database.run("SELECT * FROM flash_sale_item"))
        relay.stop()
        server.stop()


def a_log_that_was_restored(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        migrated(programs.relay, database)
        sink, file = f"postgres={database.url()}", f"file={folder}/orders.jsonl"
        sold_before(server)
        relay = Relay(programs.relay, folder, server, sink, file)
        caught_up(server, database, relay)
        until(lambda: pathlib.Path(folder, "orders.jsonl").read_bytes().count(b"\n") == int(database.value("SELECT count(*) FROM flash_sale_journal")), "the file, too", relay.output)
        relay.stop()
        lsn = int(database.value("SELECT lsn FROM holdfast_cursor"))
        ask_all(server, reserve("item:1", range(3001, 3101)))
        server.stop()
        backup = os.path.join(folder, "backup")
        ctl(programs, "backup", backup, "--data-dir", os.path.join(folder, "data"))
        for name, until_lsn in (("later", lsn + 50), ("earlier", lsn - 50)):
            os.mkdir(os.path.join(folder, name))
            ctl(programs, "restore", backup, "--into", os.path.join(folder, name, "data"), "--until", until_lsn)
        # One that has all that the sink has, and goes on from there.
        server = ready(programs, os.path.join(folder, "later"))
        ask_all(server, reserve("item:1", range(5001, 5101)))
        relay = Relay(programs.relay, folder, server, sink)
        check(relay.wait() == 1 and "run holdfast-relay adopt" in relay.output(), "not by itself", relay.output())
        status, said = run(programs, "adopt", server, sink, file)
        check(status == 0 and f"sink postgres: goes on at LSN {lsn} of log" in said, "it goes on there", status, said)
        relay = Relay(programs.relay, folder, server, sink, file)
        caught_up(server, database, relay)
        same(server, database)
        check(int(database.value("SELECT max(lsn) FROM holdfast_cursor")) > lsn + 50, "with what came after the fork")
        relay.stop()
        server.stop()
        # One that has less: what the sink has more never happened there.
        server = ready(programs, os.path.join(folder, "earlier"))
        before = database.run("SELECT * FROM holdfast_cursor")
        for sink_of in (sink, file):
            status, said = run(programs, "adopt", server, sink_of)
            check(status == 1 and "run holdfast-relay bootstrap" in said, "it says so", status, said)
        check(database.run("SELECT * FROM holdfast_cursor") == before, "nothing was changed")
        ctl(programs, "snapshot", "--server", f"127.0.0.1:{server.port}")
        status, said = run(programs, "bootstrap", server, sink, file, flags=("--set-aside",))
        check(status == 0, "it begins anew", status, said)
        relay = Relay(programs.relay, folder, server, sink, file)
        ask_all(server, reserve("item:1", range(6001, 6101)))
        caught_up(server, database, relay)
        same(server, database)
        check(counts(database, "holdfast_audit", "action") == {"put cursor": "2"}, "the audit table says it")
        relay.stop()
        server.stop()


def what_cannot_begin_says_why(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        sink = f"postgres={database.url()}"
        status, said = run(programs, "bootstrap", server, sink)
        check(status == 1 and "LOGGONE" in said, "no snapshot", status, said)
        ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 5)])
        ctl(programs, "snapshot", "--server", f"127.0.0.1:{server.port}")
        status, said = run(programs, "bootstrap", server, sink)
        check(status == 1 and "run holdfast-relay migrate" in said, "no tables", status, said)
        status, said = run(programs, "bootstrap", server)
        check(status == 2 and "--sink" in said, "no sink", status, said)
        migrated(programs.relay, database)
        status, said = run(programs, "adopt", server, sink)
        check(status == 1 and "does not go on from that one" in said, "nothing to adopt", status, said)
        server.stop()


CASES = [a_sink_that_comes_late, a_sink_that_fell_behind_the_log, what_the_server_knew_as_parked, a_log_that_was_restored, what_cannot_begin_says_why]


def main():
    parser = arguments(__doc__)
    parser.add_argument("--relay", required=True, help="path of holdfast-relay")
    parser.add_argument("--ctl", required=True, help="path of holdfastctl")
    options = parser.parse_args()
    programs = Programs(os.path.abspath(options.server), os.path.abspath(options.relay))
    programs.ctl = os.path.abspath(options.ctl)
    run_cases(CASES, options, program=programs)


if __name__ == "__main__":
    main()
