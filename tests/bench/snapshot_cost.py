#!/usr/bin/env python3
"""What a snapshot costs who buys meanwhile, how much memory it takes, and how long a start takes with it and without, beside
redis-server with as many members of a set. All in one run.

usage: snapshot_cost.py [--build build/release] [--reservations 5000000] [--rounds 5]

In each round a sale of a second item goes on at 20,000 users a second: once alone, once beside a snapshot, once beside a
process that does nothing but count, with the same low priority as the one that makes the snapshot. Fails when server and fold
together have more than 2.2 times the memory of the state.
"""
import argparse
import glob
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "crash"), str(TESTS / "system")]
from holdfastd_test import Server, check  # noqa: E402
from machine import free_port  # noqa: E402
from resp import Connection, encode  # noqa: E402
from shards import eventually  # noqa: E402

RATE, USERS, MEMORY_MAX, PATIENCE_SECONDS = 20_000, 40_000, 2.2, 600
NEVER = ("--snapshot-log-bytes", "1024GiB", "--snapshot-every", "30d")
SPIN = "import os\nos.nice(10)\nwhile True: pass"


def info(server):
    with Connection(server.address) as connection:
        return dict(line.split(":", 1) for line in connection.ask("INFO").decode().splitlines() if ":" in line)


def fill(options, server):
    with Connection(server.address) as connection:
        connection.ask("ITEM", "CREATE", "big", "STOCK", 2 * options.reservations, "LIMIT", 0, "TTL", 86_400_000, "MAX-HOLD", 86_400_000)
    subprocess.run([options.build / "bin" / "holdfast-bench", "raw", "--server", f"127.0.0.1:{server.port}", "-P", "64", "-n",
                    str(options.reservations), "RESERVE", "big", "__seq__"], check=True, capture_output=True)


def sale(options, server, seed):
    """p99 and the longest latency in ms."""
    done = subprocess.run([options.build / "bin" / "holdfast-bench", "sale", "--server", f"127.0.0.1:{server.port}", "--item",
                           f"sale{seed}", "--units", str(USERS // 2), "--users", str(USERS), "--rate", str(RATE), "--seed", str(seed),
                           "--json"], check=True, capture_output=True, text=True)
    latency = json.loads(done.stdout)["latency_ms"]
    return latency["p99"], latency["max"]


def beside_a_snapshot(options, server, seed):
    with subprocess.Popen([options.build / "bin" / "holdfastctl", "--server", f"127.0.0.1:{server.port}", "snapshot"],
                          stdout=subprocess.DEVNULL) as snapshot:
        figures = sale(options, server, seed)
    check(snapshot.returncode == 0, "the snapshot is made")
    return figures


def beside_a_spinner(options, server, seed):
    with subprocess.Popen([sys.executable, "-c", SPIN]) as spinner:
        figures = sale(options, server, seed)
        spinner.kill()
    return figures


def hot_path(options, server):
    ways = {"alone": sale, "snapshot": beside_a_snapshot, "spinner": beside_a_spinner}
    found = {name: [] for name in ways}
    for number in range(options.rounds):
        for place, (name, way) in enumerate(ways.items()):
            found[name].append(way(options, server, 1 + number * len(ways) + place))
    for name, figures in found.items():
        p99, longest = (sorted(figure[place] for figure in figures) for place in (0, 1))
        print(f"sale {name:9} p99 median {statistics.median(p99):.2f} ms ({p99[0]:.2f} to {p99[-1]:.2f}), longest median "
              f"{statistics.median(longest):.1f} ms")


def memory(options, server, empty):
    now = info(server)
    state, fold = server.resident() - empty, int(now["snapshot_last_peak_bytes"])
    ratio = (server.resident() - empty + fold) / state
    print(f"memory: state {state >> 20} MiB, fold {fold >> 20} MiB at most, in {now['snapshot_last_ms']} ms, snapshot "
          f"{int(now['snapshot_bytes']) >> 20} MiB; server and fold {ratio:.2f} of the state (at most {MEMORY_MAX})")
    return ratio <= MEMORY_MAX


def start_ms(options, folder):
    """As the server's own line says, when it is ready."""
    server = Server(options.build / "bin" / "holdfastd", folder, *NEVER)
    server.ready()
    eventually(lambda: "ready on" in server.output(), "it says that it is ready")
    line = server.output()
    server.process.kill()
    server.process.wait()
    return int(re.search(r"records in (\d+) ms", line)[1])


def redis_start(folder, *flags):
    """The process, its address, and seconds until it had loaded all."""
    port, began = free_port(), time.monotonic()
    redis = subprocess.Popen(["redis-server", "--port", str(port), "--dir", folder, "--save", "", *flags], stdout=subprocess.PIPE,
                             text=True)
    check(any("Ready to accept connections" in line for line in redis.stdout), "redis-server starts")
    return redis, ("127.0.0.1", port), time.monotonic() - began


def redis_starts(options, folder):
    """Seconds of a start from its RDB and from its AOF, written command by command."""
    redis, address, _ = redis_start(folder, "--appendonly", "yes", "--aof-use-rdb-preamble", "no",
                                    "--auto-aof-rewrite-percentage", "0")
    with Connection(address, PATIENCE_SECONDS) as connection:
        for begin in range(0, options.reservations, 10_000):
            part = range(begin, min(begin + 10_000, options.reservations))
            connection.socket.sendall(b"".join(encode("SADD", "big:buyers", 100_000_000_000 + user) for user in part))
            for _ in part:
                connection.read()
        connection.ask("SAVE")
    redis.terminate()
    redis.wait()
    found = []
    for flags in (("--appendonly", "no"), ("--appendonly", "yes")):
        redis, address, seconds = redis_start(folder, *flags)
        with Connection(address) as connection:
            check(connection.ask("SCARD", "big:buyers") == options.reservations, "all is there")
        redis.kill()
        redis.wait()
        found.append(seconds)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--reservations", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-", dir=options.build) as folder:
        folder = os.path.abspath(folder)
        server = Server(options.build / "bin" / "holdfastd", folder, *NEVER)
        server.ready()
        empty = server.resident()
        fill(options, server)
        hot_path(options, server)
        ok = memory(options, server, empty)
        server.process.kill()
        server.process.wait()
        with_snapshot = start_ms(options, folder)
        for name in glob.glob(os.path.join(folder, "data", "snapshot-*")):
            os.remove(name)
        if os.path.exists(os.path.join(folder, "data", "segment-0000000001")):
            print(f"start with {options.reservations} live reservations: {with_snapshot} ms from the snapshot, "
                  f"{start_ms(options, folder)} ms from the log alone")
        else:
            print(f"start with {options.reservations} live reservations: {with_snapshot} ms from the snapshot")
        shutil.rmtree(os.path.join(folder, "data"))
        rdb, aof = redis_starts(options, folder)
        print(f"redis-server with {options.reservations} members of one set: {rdb:.1f} s from its RDB, {aof:.1f} s from its AOF")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
