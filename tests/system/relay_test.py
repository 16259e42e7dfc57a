#!/usr/bin/env python3
"""holdfast-relay between a real server and a real PostgreSQL.

usage: relay_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay --only fenced
"""
import json
import os
import pathlib
import signal
import subprocess
import threading
import urllib.request

from cases import STARTED, arguments, run_cases
from relay_bench import AgainServer, Connection, Lost, Postgres, Relay, audit, caught_up, check, id_of, migrated, until
from machine import free_port  # noqa: E402 (relay_bench finds it)


class Programs:
    def __init__(self, server, relay):
        self.server, self.relay = server, relay


def ready(programs, folder, *flags):
    server = AgainServer(programs.server, folder, *flags)
    server.ready()
    return server


def ask_all(server, requests):
    """The replies, none of which may be an error."""
    with Connection(server.address) as connection:
        replies = connection.ask_all(requests)
    wrong = [(request, reply) for request, reply in zip(requests, replies) if not isinstance(reply, (int, bytes, str))]
    check(not wrong, "the server takes it", wrong[:3])
    return replies


def reserve(item, numbers, ttl=None):
    return [("RESERVE", item, number, "ID", id_of(number), *(("TTL", ttl) if ttl else ())) for number in numbers]


def counts(database, table="flash_sale_order", column="status"):
    return dict(database.run(f"SELECT {column}, count(*) FROM {table} GROUP BY 1"))


def ten_thousand_reservations_and_what_becomes_of_them(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        migrated(programs.relay, database)
        relay = Relay(programs.relay, folder, server, f"postgres={database.url()}")
        ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 20_000)])
        # Those that are to expire, and those that are not.
        ask_all(server, reserve("item:1", range(1, 8001)) + reserve("item:1", range(8001, 10_001), ttl=1000))
        caught_up(server, database, relay)
        check(database.value("SELECT count(*) FROM flash_sale_journal WHERE event = 'RESERVE'") == "10000", "10,000 reservations")
        ask_all(server, [("CONFIRM", "item:1", number, "ID", id_of(number)) for number in range(1, 4001)])
        ask_all(server, [("RELEASE", "item:1", number, "ID", id_of(number)) for number in range(4001, 5001)])
        ask_all(server, [("REFUND", "item:1", number, "ID", id_of(number)) for number in range(1, 501)])
        with Connection(server.address) as connection:
            until(lambda: dict(zip(*[iter(connection.ask("ITEM", "GET", "item:1"))] * 2))[b"reserved"] == 3000, "2,000 expire")
        # One whose reservation expired buys again.
        ask_all(server, [("RESERVE", "item:1", 8001, "ID", id_of(20_001))])
        caught_up(server, database, relay)
        check(counts(database) == {"PENDING": "3001", "PAID": "3500", "REFUNDED": "500", "CANCELLED": "1000", "EXPIRED": "2000"}, "states", counts(database))
        check(database.run("SELECT quantity, sold FROM flash_sale_item") == [["20000", "6501"]], "sold")
        check(database.run("SELECT status FROM flash_sale_order WHERE user_id = '8001' ORDER BY sequence") == [["EXPIRED"], ["PENDING"]], "two rows, one live")
        check(audit(database) == [], "sums, gaps, states", audit(database))
        check(database.value("SELECT count(*) FROM flash_sale_order o JOIN flash_sale_journal j ON j.item = o.item_id AND j.version = o.version AND j.sequence = o.sequence"
                             " WHERE o.updated_at = j.at AND o.reserved_at <= j.at") == "10001", "times are those of the events")
        check(database.value("SELECT count(*) FROM holdfast_parked") == "0", "nothing is parked")
        relay.stop()
        server.stop()


def several_sinks_each_at_its_own_pace(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        path = os.path.join(folder, "orders.jsonl")
        # The database has no tables: its sink stops, the file's does not care.
        relay = Relay(programs.relay, folder, server, f"file={path}", f"postgres={database.url()}")
        ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 1000)] + reserve("item:1", range(1, 501)))
        until(lambda: os.path.exists(path) and pathlib.Path(path).read_bytes().count(b"\n") == 503, "the file has all", relay.output)
        until(lambda: "sink postgres: stopped: the schema has version 0" in relay.output(), "it says what is wrong", relay.output)
        relay.stop()
        migrated(programs.relay, database)
        relay = Relay(programs.relay, folder, server, f"file={path}", f"postgres={database.url()}")
        ask_all(server, reserve("item:1", range(501, 601)))
        caught_up(server, database, relay)
        lines = until(lambda: (found := pathlib.Path(path).read_text().splitlines()) if len(pathlib.Path(path).read_text().splitlines()) == 603 else None, "the file, too")
        events = [json.loads(line) for line in lines]
        check([event["sequence"] for event in events] == list(range(1, 604)), "each once, in order")
        check(events[3]["itemId"] == 1 and events[3]["userId"] == 1 and events[3]["orderId"] == id_of(1), "as JSON", events[3])
        check(database.value("SELECT count(*) FROM flash_sale_order") == "600", "and the table")
        relay.stop()
        server.stop()


def kept_busy(server, ended, item="item:1", first=1, pause=0.0):
    """Reserves, confirms and releases until it is told to end; how many numbers it used."""
    number = first
    while not ended.is_set():
        try:
            with Connection(server.address) as connection:
                while not ended.is_set():
                    numbers = range(number, number + 50)
                    connection.ask_all(reserve(item, numbers))
                    connection.ask_all([("CONFIRM" if each % 3 else "RELEASE", item, each, "ID", id_of(each)) for each in numbers if each % 2])
                    number += 50
                    ended.wait(pause)
        except Lost:
            ended.wait(0.05)


class Busy:
    def __init__(self, server, **options):
        self.ended = threading.Event()
        self.thread = threading.Thread(target=kept_busy, args=(server, self.ended), kwargs=options)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def killed_relays_lose_nothing(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        migrated(programs.relay, database)
        path = os.path.join(folder, "orders.jsonl")
        ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 10_000_000)])
        with Busy(server, pause=0.02):
            for kill in range(programs.kills):
                relay = Relay(programs.relay, folder, server, f"postgres={database.url()}", f"file={path}")
                seen = int(database.value("SELECT coalesce(max(lsn), 0) FROM holdfast_cursor"))
                # At some instant of its first moments, or only after it wrote something.
                if kill % 2:
                    until(lambda: int(database.value("SELECT coalesce(max(lsn), 0) FROM holdfast_cursor")) > seen, "it goes on", relay.output)
                else:
                    threading.Event().wait(0.02 + 0.01 * (kill % 17))
                relay.kill()
        relay = Relay(programs.relay, folder, server, f"postgres={database.url()}", f"file={path}")
        caught_up(server, database, relay)
        check(audit(database) == [], "sums, gaps, states", audit(database))
        last = int(database.value("SELECT max(sequence) FROM flash_sale_journal"))
        until(lambda: pathlib.Path(path).read_bytes().count(b"\n") >= last, "the file has all", relay.output)
        relay.stop()
        with open(path, encoding="utf-8") as file:
            check([json.loads(line)["sequence"] for line in file] == list(range(1, last + 1)), "each line once, in order")
        print(f"  {programs.kills} kills, {last} events", flush=True)
        server.stop()


def of_two_relays_one_is_fenced(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        migrated(programs.relay, database)
        ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 1_000_000)])
        first = Relay(programs.relay, folder, server, f"postgres={database.url()}")
        with Busy(server, pause=0.02):
            until(lambda: int(database.value("SELECT coalesce(max(lsn), 0) FROM holdfast_cursor")) > 100, "the first works", first.output)
            second = Relay(programs.relay, folder, server, f"postgres={database.url()}")
            check(first.wait() == 3, "the first exits with 3", first.process.returncode, first.output())
            check("another relay has taken over" in first.output(), "and says why", first.output())
            # Stopped in the middle of what it does, it finds itself fenced when it wakes.
            second.process.send_signal(signal.SIGSTOP)
            third = Relay(programs.relay, folder, server, f"postgres={database.url()}")
            until(lambda: database.value("SELECT epoch FROM holdfast_cursor") == "3", "the third takes over, at the latest when the database lets the stopped one go",
                  third.output, seconds=90)
            lsn = int(database.value("SELECT lsn FROM holdfast_cursor"))
            until(lambda: int(database.value("SELECT lsn FROM holdfast_cursor")) > lsn, "the third works", third.output)
            second.process.send_signal(signal.SIGCONT)
            check(second.wait() == 3, "the second exits with 3", second.process.returncode, second.output())
        caught_up(server, database, third)
        check(audit(database) == [], "sums, gaps, states", audit(database))
        third.stop()
        server.stop()


def one_that_cannot_serve_its_metrics_takes_nothing_over(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        migrated(programs.relay, database)
        ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 1000)])
        flags = ("--metrics-port", str(free_port()))
        first = Relay(programs.relay, folder, server, f"postgres={database.url()}", flags=flags)
        caught_up(server, database, first)
        for _ in range(2):
            second = Relay(programs.relay, folder, server, f"postgres={database.url()}", flags=flags)
            check(second.wait() != 0 and "cannot be served" in second.output(), "the second says why", second.output())
        check(database.value("SELECT epoch FROM holdfast_cursor") == "1", "and has touched nothing")
        ask_all(server, [("RESERVE", "item:1", "u")])
        caught_up(server, database, first)
        first.stop()
        server.stop()


def a_changed_cursor_stops_it(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        migrated(programs.relay, database)
        ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 1000)] + reserve("item:1", range(1, 101)))
        relay = Relay(programs.relay, folder, server, f"postgres={database.url()}")
        caught_up(server, database, relay)
        rows = database.run("SELECT * FROM flash_sale_order ORDER BY order_id")
        database.run("UPDATE holdfast_cursor SET lsn = lsn - 10")
        ask_all(server, reserve("item:1", range(101, 201)))
        check(relay.wait() == 1, "it ends with 1", relay.process.returncode)
        check("somebody changed it" in relay.output(), "and says why", relay.output())
        for edit in ("lsn", "lsn + 12"):  # as it is; past two reservations that the tables do not have
            database.run(f"UPDATE holdfast_cursor SET lsn = {edit}")
            again = Relay(programs.relay, folder, server, f"postgres={database.url()}")
            check(again.wait() == 1 and "somebody changed the cursor" in again.output(), "a new one ends, too", edit, again.output())
        check(database.run("SELECT * FROM flash_sale_order ORDER BY order_id") == rows, "nothing was written")
        server.stop()


def another_log_is_refused(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        migrated(programs.relay, database)
        ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 1000)] + reserve("item:1", range(1, 101)))
        relay = Relay(programs.relay, folder, server, f"postgres={database.url()}")
        caught_up(server, database, relay)
        relay.stop()
        server.stop()
        for requests in ([("ITEM", "CREATE", "item:1", "STOCK", 5)], [("ITEM", "CREATE", "item:1", "STOCK", 1000)] + reserve("item:1", range(1, 401))):
            other = os.path.join(folder, f"other{len(requests)}")
            os.mkdir(other)
            server = ready(programs, other)
            ask_all(server, requests)
            relay = Relay(programs.relay, folder, server, f"postgres={database.url()}")
            check(relay.wait() == 1 and "the server has log" in relay.output() and "connect to the server of that log" in relay.output(), "it says what to do", relay.output())
            server.stop()
        check(database.value("SELECT count(*) FROM flash_sale_order") == "100", "nothing was written")


def a_server_that_lost_its_end_is_refused(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        migrated(programs.relay, database)
        ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 1000)] + reserve("item:1", range(1, 101)))
        server.stop()
        subprocess.run(["cp", "-r", os.path.join(folder, "data"), os.path.join(folder, "before")], check=True)
        server = ready(programs, folder)
        ask_all(server, reserve("item:1", range(101, 201)))
        relay = Relay(programs.relay, folder, server, f"postgres={database.url()}")
        caught_up(server, database, relay)
        server.stop()
        subprocess.run(["rm", "-r", os.path.join(folder, "data")], check=True)
        os.rename(os.path.join(folder, "before"), os.path.join(folder, "data"))
        relay.kill()
        server = ready(programs, folder)
        relay = Relay(programs.relay, folder, server, f"postgres={database.url()}")
        check(relay.wait() == 1 and "the server's log ends at" in relay.output(), "it refuses", relay.output())
        server.process.kill()


def wrong_arguments(programs, folder):
    for words, said in ((["--sink", "mysql=x"], "is none of file=PATH"), ([], "1 to 16 are possible"), (["--sink", "file=a", "--sink", "file=b"], "two are called file"),
                        (["--sink", "file=a", "--from", "nowhere"], "is not HOST:PORT"), (["--what"], "--what")):
        done = subprocess.run([programs.relay, "--metrics-port", "0", *words], capture_output=True, text=True, timeout=30, cwd=folder)
        check(done.returncode in (1, 2) and said in done.stderr, "it says what is wrong", words, done.returncode, done.stderr)


def help_has_examples(programs, _):
    for words in ([], ["migrate"], ["bootstrap"], ["adopt"]):
        done = subprocess.run([programs.relay, *words, "--help"], capture_output=True, text=True, timeout=30)
        check(done.returncode == 0 and "example" in done.stdout and "holdfast-relay " + " ".join(words) in done.stdout, "examples", words, done.stdout)


def its_figures_are_for_prometheus(programs, folder):
    server = ready(programs, folder)
    # As it is without --metrics-port.
    process = subprocess.Popen([programs.relay, "--from", f"127.0.0.1:{server.port}", "--sink", f"file={folder}/orders.jsonl"], stderr=subprocess.DEVNULL)
    STARTED.append(process)
    ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 10)] + reserve("item:1", range(10)))

    def page():
        check(process.poll() is None, "it runs: port 9380 is free")
        try:
            return urllib.request.urlopen("http://127.0.0.1:9380/metrics", timeout=5).read()
        except OSError:
            return b""
    until(lambda: b'holdfast_relay_lag_records{sink="file"} 0' in page() and pathlib.Path(f"{folder}/orders.jsonl").read_bytes().count(b"\n") >= 10, "all is carried", page)
    judged = subprocess.run(["promtool", "check", "metrics"], input=page(), capture_output=True)
    check(judged.returncode == 0 and not judged.stdout + judged.stderr, "promtool is silent", judged.stdout, judged.stderr)
    process.terminate()
    check(process.wait(10) == 0, "it ends")
    server.stop()


CASES = [ten_thousand_reservations_and_what_becomes_of_them, its_figures_are_for_prometheus, several_sinks_each_at_its_own_pace, killed_relays_lose_nothing, of_two_relays_one_is_fenced,
         one_that_cannot_serve_its_metrics_takes_nothing_over,
         a_changed_cursor_stops_it, another_log_is_refused, a_server_that_lost_its_end_is_refused, wrong_arguments, help_has_examples]


def main():
    parser = arguments(__doc__)
    parser.add_argument("--relay", required=True, help="path of holdfast-relay")
    parser.add_argument("--kills", type=int, default=10, help="of the relay")
    options = parser.parse_args()
    programs = Programs(os.path.abspath(options.server), os.path.abspath(options.relay))
    programs.kills = options.kills
    run_cases(CASES, options, program=programs)


if __name__ == "__main__":
    main()
