#!/usr/bin/env python3
"""Measures what the model of README.md is fed with, and what it is tested by.

usage: measure.py FOLDER [--rounds 10] [--build build/release]

costs.txt: one load after the other, costs by least squares; throughput.txt: requests a second with one and two threads, medians of
the rounds. Costs are measured before, amid and after the rounds, since a machine that others use too changes its pace within
minutes. Nothing else may run on it meanwhile.
"""
import argparse
import os
import pathlib
import platform
import statistics
import struct
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from under_load import UnderLoad, check  # noqa: E402 (finds the other folders)
from least_squares import least_squares  # noqa: E402
from scrape import scrape  # noqa: E402
from shards import eventually  # noqa: E402

OWNER, OTHER = 0, 1
ROW = struct.Struct("4Q")  # turn_counter.cc
BLOCK = 64  # commands, kBlockCommandsMax
# What a thread of a shard does, in the model's words.
SHARD = ("turn", "sleeping", "socket", "refuse", "own", "forward", "run", "block", "group", "wake")
LOAD, LOG = ("load_sleep", "load_socket", "load_request"), ("commit", "record")
# Connections, pipeline, requests of the loads that costs are taken from.
SIZES = ((10, 1, 80_000), (20, 1, 100_000), (50, 1, 150_000), (200, 1, 150_000), (50, 4, 300_000), (10, 16, 400_000), (50, 16, 600_000),
         (10, 64, 800_000), (50, 64, 1_000_000), (50, 256, 1_000_000))
# A load says nothing while others use more of a processor than this; starting the load and the kernel's part of flushes included.
# One that costs are taken from is tried again so often then.
OTHERS_MAX = 0.25
COST_OTHERS_MAX = 0.12
TRIES = 10
# Zeroing a segment takes the disk's bandwidth from the log and is not in the model: with ones as long as these it happens
# seldom, and never while something is measured.
FLAGS = ("--segment-bytes", "1GiB")
# As SIZES, of those that the disk's times are taken from: nobody else wants the log's processor while it waits.
DISK_SIZES = ((1, 1, 5_000), (1, 16, 60_000), (1, 64, 200_000), (1, 256, 400_000))
# Shards, connections, pipeline, requests of those that the model must foretell.
TESTS = ((1, 50, 1, 100_000), (1, 200, 1, 300_000), (1, 50, 16, 600_000), (2, 50, 1, 100_000),
         (2, 200, 1, 300_000), (2, 50, 16, 600_000))


def counted(pid, path):
    """{thread's name: {what: how often}} from turn_counter.cc."""
    found = {}
    for thread, turns, socket_turns, wakes in ROW.iter_unpack(path.read_bytes()):
        if thread:
            name = pathlib.Path(f"/proc/{pid}/task/{thread}/comm").read_text().strip()
            found[name] = {"turns": turns, "socket_turns": socket_turns, "wakes": wakes}
    return found


def grown(after, before):
    return {name: {what: count - before.get(name, {}).get(what, 0) for what, count in row.items()} for name, row in after.items()}


class Log:
    """What /metrics tells of the log."""

    def __init__(self, server):
        told = scrape(server.server.metrics_port)
        self.batches, self.flush_seconds = told.total("holdfast_log_batches_total"), told.total("holdfast_log_flush_duration_seconds_sum")

    def since(self, before):
        return self.batches - before.batches, self.flush_seconds - before.flush_seconds


class Sample:
    """One load, all its connections on one thread or half of them on each: for each thread that worked, how often it did what,
    and its seconds."""

    def __init__(self, server, folder, kind, connections, pipeline, requests, words):
        self.what = f"{kind:8} {connections:3} x {pipeline:3}"
        home = {"forward": OTHER, "mixed": "both"}.get(kind, OWNER)
        path, client_path = folder / "turns", folder / "client"
        client_path.unlink(missing_ok=True)
        for _ in range(TRIES):
            segment_ready(server)
            before, log = counted(server.pid, path), Log(server)
            load = server.load(pipeline, requests, "RESERVE", *words(), home=home, connections=connections,
                               environment=preloaded(server.counter, client_path))
            if not disturbed(load, COST_OTHERS_MAX):
                break
        else:
            sys.exit(f"{self.what}: others use this machine")
        threads = grown(counted(server.pid, path), before)
        self.batches, self.flush_seconds = Log(server).since(log)
        self.log_seconds = load.seconds["log"] + load.seconds["log-segments"]  # the model has one thread for both
        self.requests, sockets = requests, requests / pipeline

        def did(thread, **more):
            row = threads[thread]
            return {"turn": row["turns"], "sleeping": load.sleeps[thread], "wake": row["wakes"], **more}, load.seconds[thread]
        forwarded = requests / 2 if kind == "mixed" else requests
        blocks = max(threads[f"shard-{OWNER if kind in ('refuse', 'own') else OTHER}"]["socket_turns"], forwarded / BLOCK)
        self.shard_rows = {
            "refuse": lambda: [did("shard-0", socket=sockets, refuse=requests)],
            "own": lambda: [did("shard-0", socket=sockets, own=requests, group=self.batches)],
            "forward": lambda: [did("shard-1", socket=sockets, forward=requests, block=blocks),
                                did("shard-0", run=requests, block=blocks, group=self.batches)],
            "mixed": lambda: [did("shard-1", socket=sockets / 2, forward=forwarded, block=blocks),
                              did("shard-0", socket=sockets / 2, own=forwarded, run=forwarded, block=blocks, group=self.batches)],
        }[kind]()
        self.load_row = {"load_sleep": load.client_sleeps, "load_socket": sockets, "load_request": requests}, load.client_seconds


def segment_ready(server):
    """Waits until no segment is being made ready."""
    eventually(lambda: scrape(server.server.metrics_port).total("holdfast_log_segments_prepared") >= 1, "a segment is ready")


def disturbed(load, others_max):
    return load.others_seconds > others_max * load.told["seconds"]


def preloaded(counter, path):
    return {"LD_PRELOAD": str(counter), "HOLDFAST_TURNS": str(path)}


def samples(options, folder):
    folder.mkdir()
    counter = (options.build / "tests" / "bench" / "scaling" / "libturn_counter.so").resolve()
    server = UnderLoad(options.build, folder / "server", 2, *FLAGS, environment=preloaded(counter, folder / "turns"))
    server.counter = counter
    server.pin()
    hot, found = server.sold_out(OWNER), []
    server.load(1, 2_000, "RESERVE", hot, "__rand_int__", home="both")
    on_sale = lambda: (server.item(OWNER, "STOCK", 10**12), "__seq__")
    alone = server.load(1, 20_000, "RESERVE", hot, "__rand_int__", home=OWNER, connections=1).told["latency_us"]["p50"] / 1e6
    for connections, pipeline, requests in SIZES:
        for kind in ("refuse", "own", "forward", "mixed"):
            words = (lambda: (hot, "__rand_int__")) if kind == "refuse" else on_sale
            found.append(Sample(server, folder, kind, connections, pipeline, requests, words))
    disk = [Sample(server, folder, "own", *size, on_sale) for size in DISK_SIZES]
    server.stop()
    return found, disk, alone


def fit(what, names, rows):
    """Costs in seconds; says how far each row is from what they add up to."""
    costs = least_squares(names, [row for _, row in rows])
    for name, (counts, total) in rows:
        found = sum(costs[part] * count for part, count in counts.items())
        print(f"  {name}: {total:.3f} s, by the costs {100 * (found / total - 1):+.1f}%")
    print(f"{what}: " + ", ".join(f"{name} {1e6 * cost:.3f}" for name, cost in costs.items()) + " us")
    return costs


def write_costs(path, all_samples):
    found, disk = ([sample for samples_of in all_samples for sample in samples_of[part]] for part in (0, 1))
    alone = statistics.median(samples_of[2] for samples_of in all_samples)
    costs = fit("a shard", SHARD, [(sample.what, row) for sample in found for row in sample.shard_rows])
    costs |= fit("the load", LOAD, [(sample.what, sample.load_row) for sample in found])
    written = [sample for sample in found if sample.batches]
    costs |= fit("the log", LOG, [(sample.what, ({"commit": sample.batches, "record": sample.requests}, sample.log_seconds))
                                  for sample in written])
    costs |= fit("the disk", ("flush", "flush_record"),
                 [(sample.what, ({"flush": sample.batches, "flush_record": sample.requests}, sample.flush_seconds - sample.log_seconds))
                  for sample in disk])
    known = sum(costs[name] for name in ("turn", "sleeping", "socket", "refuse", *LOAD))
    costs["wake_latency"] = max(0.0, (alone - known) / 2)
    print(f"one request alone takes {1e6 * alone:.1f} us, {1e6 * known:.1f} of them processor time")
    write(path, "microseconds", [(name, f"{1e6 * cost:.4f}") for name, cost in costs.items()])


def measure(options, folder):
    costs = [samples(options, folder / "before")]
    servers, words, thrown = {}, {}, []
    rates = {(kind, *test[:3]): [] for test in TESTS for kind in ("sold-out", "selling")}
    for shards in (1, 2):
        server = servers[shards] = UnderLoad(options.build, folder / str(shards), shards, *FLAGS)
        server.pin()
        words[shards] = (server.sold_out(OWNER), "__rand_int__")
        server.load(1, 2_000, "RESERVE", *words[shards], home="both")
    for number in range(options.rounds):
        if number == options.rounds // 2:
            costs.append(samples(options, folder / "amid"))
        for shards, connections, pipeline, requests in TESTS:
            server = servers[shards]
            for kind in ("sold-out", "selling"):
                asked = words[shards] if kind == "sold-out" else (server.item(OWNER, "STOCK", 10**12), "__seq__")
                segment_ready(server)
                load = server.load(pipeline, requests, "RESERVE", *asked, home="both", connections=connections)
                if disturbed(load, OTHERS_MAX):
                    thrown.append(f"{kind} {shards} {connections} {pipeline}")
                    continue
                rates[kind, shards, connections, pipeline].append(requests / load.told["seconds"])
    for server in servers.values():
        server.stop()
    costs.append(samples(options, folder / "after"))
    write_costs(options.folder / "costs.txt", costs)
    print(f"{len(thrown)} loads were thrown away, since others used the machine meanwhile: {thrown}")
    check(min(map(len, rates.values())) >= options.rounds / 2, "a machine of its own", thrown)
    for what, found in rates.items():
        print(*what, f"{statistics.median(found):.0f} a second, {min(found):.0f} to {max(found):.0f}")
    write(options.folder / "throughput.txt", "kind, shards, connections, pipeline, requests a second (median of "
          f"{options.rounds})", [(*what, f"{statistics.median(found):.0f}") for what, found in rates.items()])


def write(path, what, rows):
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"# {what}; {time.strftime('%Y-%m-%d', time.gmtime())}, {platform.machine()}; tests/bench/scaling/measure.py\n")
        out.writelines(" ".join(map(str, row)) + "\n" for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))  # all that is started inherits it
    with tempfile.TemporaryDirectory(prefix="holdfast-scaling-") as folder:
        measure(options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
