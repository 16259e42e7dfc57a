#!/usr/bin/env python3
"""What the relay costs and how fast it is, on a real PostgreSQL, ratios in one run:

1. a backlog of reservations carried into the tables: events/s, orders/s, the relay's memory
2. the same orders by a consumer of one row a transaction: how many times slower that is
3. the server's processor time for a sale that refuses 98% of its requests, with the relay and without, in turn

It fails below 30,000 orders a second and 25 times the speed of one row a transaction, above 256 MiB and 1.05 times the processor time.

usage: relay_cost.py [--build build/release] [--rounds 5] [--orders 200000] [--requests 1000000] [--singly 3000]
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "crash"), str(TESTS / "system"), str(TESTS / "services")]
from relay_bench import Connection, Postgres, Relay, Server, audit, check, durable_lsn, migrated, until  # noqa: E402

SINGLY = """INSERT INTO flash_sale_order (item_id, version, order_id, user_id, quantity, status, exclusive, sequence, lsn, reserved_at, updated_at)
VALUES ('hot', 1, '{id}', '{number}', 1, 'PENDING', true, {number}, {number}, now(), now());
INSERT INTO flash_sale_journal (item, version, sequence, lsn, event, at, order_id, user_id, quantity, available, reserved, confirmed, held)
VALUES ('hot', 1, {number}, {number}, 'RESERVE', now(), '{id}', '{number}', 1, 0, 0, 0, 0);
UPDATE flash_sale_item SET sold = sold + 1 WHERE item_id = 'hot' AND sold + 1 <= quantity;
UPDATE holdfast_cursor SET lsn = {number} WHERE sink = 'postgres';"""


class Setting:
    """A server with an item, a database with its tables; the relay is started by who wants it."""

    def __init__(self, options, folder, stock):
        self.options, self.folder, self.database = options, folder, Postgres()
        self.relay_program = str(options.build / "bin" / "holdfast-relay")
        self.server = Server(str(options.build / "bin" / "holdfastd"), folder)
        self.server.ready()
        migrated(self.relay_program, self.database)
        with Connection(self.server.address) as connection:
            connection.ask("ITEM", "CREATE", "hot", "STOCK", stock, "TTL", 3_600_000)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop()
        self.database.remove()

    def load(self, requests):
        subprocess.run([self.options.build / "bin" / "holdfast-bench", "raw", "--server", f"127.0.0.1:{self.server.port}", "-P", "16", "-c", "50",
                        "-n", str(requests), "--json", "RESERVE", "hot", "__rand_int__"], check=True, capture_output=True)

    def relay(self):
        return Relay(self.relay_program, self.folder, self.server, f"postgres={self.database.url(host=self.database.folder)}")

    def catch_up(self, relay):
        lsn = durable_lsn(self.server)
        until(lambda: int(self.database.value("SELECT coalesce(max(lsn), 0) FROM holdfast_cursor")) >= lsn, "it catches up", relay.output, seconds=600)


def resident_most(pid):
    """The most memory that the process ever had, in MiB."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def cpu_seconds(pid):
    """Of all threads as the scheduler counted them; /proc/PID/stat counts ticks of 10 ms, too coarse for a part of a second."""
    nanoseconds = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            nanoseconds += int(file.read().split()[0])
    return nanoseconds / 1e9


def backlog(options, folder):
    """Orders a second, events a second, MiB."""
    with Setting(options, folder, 10 * options.orders) as setting:
        setting.load(options.orders)
        began, relay = time.monotonic(), setting.relay()
        setting.catch_up(relay)
        seconds, memory = time.monotonic() - began, resident_most(relay.process.pid)
        orders, events = (int(setting.database.value(f"SELECT count(*) FROM {table}")) for table in ("flash_sale_order", "flash_sale_journal"))
        check(audit(setting.database) == [], "the tables agree")
        relay.stop()
        return orders / seconds, events / seconds, memory


def singly(options, folder):
    """Orders a second of one transaction each: order, journal, sum and cursor, as the relay writes them."""
    with Setting(options, folder, 10 * options.orders) as setting:
        setting.database.run("INSERT INTO flash_sale_item (item_id, quantity) VALUES ('hot', 1000000);"
                             "INSERT INTO holdfast_cursor (sink, lsn, epoch, owner, updated_at) VALUES ('postgres', 0, 1, gen_random_uuid(), now())")
        path = os.path.join(folder, "singly.sql")
        with open(path, "w", encoding="utf-8") as file:
            for number in range(1, options.singly + 1):
                file.write("BEGIN;" + SINGLY.format(id=f"00000000-0000-0000-0000-{number:012x}", number=number) + "COMMIT;\n")
        began = time.monotonic()
        subprocess.run([os.path.join(setting.database.bin, "psql"), setting.database.url(host=setting.database.folder), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", path],
                       check=True, capture_output=True)
        return options.singly / (time.monotonic() - began)


def sale(options, folder, with_relay):
    """Processor seconds of the server for a million requests, 98% of them refused."""
    with Setting(options, folder, options.requests // 50) as setting:
        relay = setting.relay() if with_relay else None
        before = cpu_seconds(setting.server.process.pid)
        setting.load(options.requests)
        if relay:
            setting.catch_up(relay)
        cost = (cpu_seconds(setting.server.process.pid) - before) * 1e6 / options.requests
        if relay:
            relay.stop()
        return cost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--orders", type=int, default=200_000)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--singly", type=int, default=3000)
    parser.add_argument("--only", choices=("speed", "cpu"))
    options = parser.parse_args()
    rates, events, memory, slow, costs = [], [], [], [], {False: [], True: []}
    for _ in range(options.rounds):
        if options.only != "cpu":
            with tempfile.TemporaryDirectory(prefix="holdfast-relay-") as folder:
                each = backlog(options, folder)
                for values, value in zip((rates, events, memory), each):
                    values.append(value)
            with tempfile.TemporaryDirectory(prefix="holdfast-relay-") as folder:
                slow.append(singly(options, folder))
        if options.only != "speed":
            for with_relay in (False, True):
                with tempfile.TemporaryDirectory(prefix="holdfast-relay-") as folder:
                    costs[with_relay].append(sale(options, folder, with_relay))
    missed = []
    if rates:
        fast, one = statistics.median(rates), statistics.median(slow)
        print(f"relay: {fast:.0f} orders/s, {statistics.median(events):.0f} events/s with journal, at most {max(memory):.0f} MiB "
              f"(rounds: {' '.join(f'{rate:.0f}' for rate in rates)})")
        missed += [what for what, met in (("30,000 orders a second", fast >= 30_000), ("25 times one row a transaction", fast >= 25 * one), ("256 MiB", max(memory) <= 256)) if not met]
        print(f"one row a transaction: {one:.0f} orders/s (rounds: {' '.join(f'{rate:.0f}' for rate in slow)}); the relay is {fast / one:.1f} times as fast")
    if costs[True]:
        without, along = (statistics.median(costs[each]) for each in (False, True))
        missed += [] if along <= 1.05 * without else ["1.05 of the server's processor time"]
        print(f"server: {without:.3f} CPU seconds a million requests without the relay, {along:.3f} with it; ratio {along / without:.3f} "
              f"(rounds: {' '.join(f'{a:.2f}/{b:.2f}' for a, b in zip(costs[False], costs[True]))})")
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
