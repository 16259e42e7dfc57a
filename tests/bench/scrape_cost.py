#!/usr/bin/env python3
"""What a scrape costs: processor time of the shard's thread for the same load with 10 scrapes a second and with none, in
turn in one run; and milliseconds and bytes of a scrape of 10,000 items.

usage: scrape_cost.py [--build build/release] [--rounds 5] [--requests 2000000] [--items 10000]

Fails when a scrape of all items is 200 KiB or more, or its median takes 20 ms or more.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "crash"), str(TESTS / "system")]
from holdfastd_test import Server  # noqa: E402
from resp import Connection  # noqa: E402
from scrape import get  # noqa: E402

BYTES_MAX, MS_MAX, PER_SECOND = 200 << 10, 20, 10


def shard_seconds(pid):
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm") as file:
            if file.read().strip() == "shard-0":
                with open(f"/proc/{pid}/task/{task}/schedstat") as times:
                    return int(times.read().split()[0]) / 1e9
    sys.exit("no thread shard-0")


class Scraper:
    """Scrapes at a fixed rate until it is stopped."""

    def __init__(self, port):
        self.port, self.took, self.ended = port, [], threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        due = time.monotonic()
        while not self.ended.wait(max(0, due - time.monotonic())):
            began = time.monotonic()
            get(self.port, "/metrics")
            self.took.append(time.monotonic() - began)
            due += 1 / PER_SECOND

    def stop(self):
        self.ended.set()
        self.thread.join()


def load(options, server):
    """CPU microseconds of the shard's thread per request, and how long it took."""
    before, began = shard_seconds(server.process.pid), time.monotonic()
    subprocess.run([options.build / "bin" / "holdfast-bench", "raw", "--server", f"127.0.0.1:{server.port}", "-P", "16", "-c", "50",
                    "-n", str(options.requests), "--json", "RESERVE", "hot", "__rand_int__"], check=True, capture_output=True)
    return (shard_seconds(server.process.pid) - before) * 1e6 / options.requests, time.monotonic() - began


def idle_scrape(server):
    """CPU microseconds of the shard's thread per scrape when nothing else happens."""
    count, before = 200, shard_seconds(server.process.pid)
    for _ in range(count):
        get(server.metrics_port, "/metrics")
    return (shard_seconds(server.process.pid) - before) * 1e6 / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=2_000_000)
    parser.add_argument("--items", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-scrape-") as folder:
        server = Server(str(options.build / "bin" / "holdfastd"), folder, metrics=True)
        server.ready()
        with Connection(server.address) as connection:
            connection.ask_all([("ITEM", "CREATE", f"item:{number}", "STOCK", 100) for number in range(options.items)], 1000)
            connection.ask("ITEM", "CREATE", "hot", "STOCK", 1)
            connection.ask("RESERVE", "hot", "first")
        costs = {False: [], True: []}
        took, scrapes, seconds = [], 0, 0
        for _ in range(options.rounds):
            for scraped in (False, True):
                scraper = Scraper(server.metrics_port) if scraped else None
                cost, lasted = load(options, server)
                costs[scraped].append(cost)
                if scraper:
                    scraper.stop()
                    took += scraper.took
                    scrapes, seconds = scrapes + len(scraper.took), seconds + lasted
        size = len(get(server.metrics_port, "/metrics")[1].encode())
        alone = idle_scrape(server)
        quiet = []
        for _ in range(50):
            began = time.monotonic()
            get(server.metrics_port, "/metrics")
            quiet.append((time.monotonic() - began) * 1000)
        server.stop()
    without, along = (statistics.median(costs[scraped]) for scraped in (False, True))
    print(f"shard CPU per request: {without:.4f} us without scrapes, {along:.4f} us with {scrapes / seconds:.1f} a second; ratio {along / without:.4f}"
          f" (rounds: {' '.join(f'{a:.3f}/{b:.3f}' for a, b in zip(costs[False], costs[True]))})")
    print(f"shard CPU per scrape when idle: {alone:.1f} us, so {alone * PER_SECOND / 1e4:.3f}% of a processor at {PER_SECOND} a second")
    print(f"a scrape of {options.items} items: {size} bytes; {statistics.median(quiet):.2f} ms idle, "
          f"{statistics.median(took) * 1000:.2f} ms under load (medians, with the client)")
    if size >= BYTES_MAX or statistics.median(quiet) >= MS_MAX:
        sys.exit(f"more than {BYTES_MAX} bytes or {MS_MAX} ms")


if __name__ == "__main__":
    main()
