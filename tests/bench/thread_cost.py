#!/usr/bin/env python3
"""Processor time of a RESERVE on the real server, by the threads that it takes, medians in one run: refused from a view or by
the item's owner, taken on the owner's thread or forwarded to it; and what an owner's own load costs its thread while another
thread refuses the same owner's hot item as fast as it can.

usage: thread_cost.py [--build build/release] [--rounds 5] [--scale 1.0] [--folder FOLDER]

Two shards; each load has all of its 50 connections on one thread. Fails above the bounds.
"""
import argparse
import pathlib
import selectors
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from under_load import UnderLoad, check, grown, thread_seconds  # noqa: E402 (finds the other folders)
from resp import encode  # noqa: E402
from scrape import scrape  # noqa: E402

OWNER, OTHER = 0, 1
REQUESTS = {1: 200_000, 64: 1_000_000}
# (above, below, at most)
BOUNDS = (("view, owner's thread", "refused by the owner, its thread", 1.1),
          ("view, other thread", "refused by the owner, its thread", 1.1),
          ("taken, forwarded", "taken, owner's thread", 1.3))
ALONE, ALONG, GROWS_MAX = "the owner's thread, alone", "the owner's thread, others refusing", 1.1
# The owner's own load: so many requests at once, so often, so many times.
BATCH, EVERY_SECONDS, BATCHES = 16, 0.001, 3000


def ways(options, views, owners):
    """{way: [microseconds a request, one of each round]} at each pipeline. `owners`: a server that refuses without views."""
    hot, asked = views.sold_out(OWNER), owners.sold_out(OWNER)
    views.load(1, 2_000, "RESERVE", hot, "__rand_int__", home="both")  # both threads learn of the view
    costs = {pipeline: {} for pipeline in REQUESTS}
    for _ in range(options.rounds):
        for pipeline, requests in REQUESTS.items():
            taken = [views.item(OWNER, "STOCK", 10**12) for _ in range(2)]
            for name, server, home, words in (
                    ("view, owner's thread", views, OWNER, ("RESERVE", hot, "__rand_int__")),
                    ("view, other thread", views, OTHER, ("RESERVE", hot, "__rand_int__")),
                    ("refused by the owner, its thread", owners, OWNER, ("RESERVE", asked, "__rand_int__")),
                    ("taken, owner's thread", views, OWNER, ("RESERVE", taken[0], "__seq__")),
                    ("taken, forwarded", views, OTHER, ("RESERVE", taken[1], "__seq__"))):
                load = server.load(pipeline, int(requests * options.scale), *words, home=home)
                check(load.told["refusals"] == (0 if "taken" in name else load.told["requests"]), "the replies meant", name, load.told)
                costs[pipeline].setdefault(name, []).append(load.per_million())
    return costs


def own_load(server, lines, name, users):
    """Takes units of an item of the owner's at a fixed rate; the processor seconds of the owner's thread for it."""
    before, poll = thread_seconds(server.pid), selectors.DefaultSelector()
    for line in lines:
        poll.register(line.socket, selectors.EVENT_READ)
    due, sent, missing = time.monotonic(), 0, 0
    while sent < BATCHES or missing:
        if sent < BATCHES and time.monotonic() >= due:
            first = users + sent * BATCH
            lines[sent % len(lines)].socket.sendall(b"".join(encode("RESERVE", name, first + n) for n in range(BATCH)))
            sent, missing, due = sent + 1, missing + BATCH, due + EVERY_SECONDS
        for key, _ in poll.select(max(0, due - time.monotonic()) if sent < BATCHES else 20):
            missing -= key.fileobj.recv(1 << 16).count(b"\r\n")
    poll.close()
    return grown(thread_seconds(server.pid), before)[f"shard-{OWNER}"]


def owners_load(options, server):
    """{situation: [processor microseconds of the owner's thread for a request of its own]}, and the refusals a second."""
    hot, lines, users = server.sold_out(OWNER), server.connections(8, OWNER), 10**12
    server.load(1, 2_000, "RESERVE", hot, "__rand_int__", home="both")
    server.pin()  # else the threads are now on one processor, now on two
    costs, refusals = {ALONE: [], ALONG: []}, []
    for _ in range(options.rounds):
        for situation in costs:
            name, asking = server.item(OWNER, "STOCK", 10**12), None
            if situation == ALONG:
                command = server.command(16, 10**9, "RESERVE", hot, "__rand_int__", home=OTHER)
                asking = subprocess.Popen(command, stdout=subprocess.DEVNULL)
                wait_for_refusals(server)
            before, began = refused(server), time.monotonic()
            costs[situation].append(own_load(server, lines, name, users) * 1e6 / (BATCH * BATCHES))
            if asking:
                refusals.append((refused(server) - before) / (time.monotonic() - began))
                asking.kill()
                asking.wait()
    return costs, statistics.median(refusals)


def refused(server):
    return scrape(server.server.metrics_port).total("holdfast_view_refusals_total")


def wait_for_refusals(server):
    before, deadline = refused(server), time.monotonic() + 20
    while refused(server) < before + 10_000:
        check(time.monotonic() < deadline, "another thread refuses")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of requests")
    parser.add_argument("--only-owner", action="store_true", help="only the owner's own load")
    parser.add_argument("--folder", help="where the servers' data goes: the disk matters")
    options = parser.parse_args()
    held = True

    def report(what, costs, bounds):
        nonlocal held
        medians = {name: statistics.median(found) for name, found in costs.items()}
        for name, found in costs.items():
            print(f"{what}{name:36} {medians[name]:7.3f}  ({' '.join(f'{cost:.3f}' for cost in sorted(found))})")
        for above, below, most in bounds:
            ratio = medians[above] / medians[below]
            held = held and ratio <= most
            print(f"{what}{above} / {below}: {ratio:.3f} {'<=' if ratio <= most else '> '} {most}", flush=True)

    with tempfile.TemporaryDirectory(prefix="holdfast-cost-", dir=options.folder) as folder:
        views = UnderLoad(options.build, pathlib.Path(folder) / "views", 2)
        if not options.only_owner:
            owners = UnderLoad(options.build, pathlib.Path(folder) / "owners", 2, "--views", "off")
            print("processor seconds of all the server's threads for a million requests, medians")
            for pipeline, costs in ways(options, views, owners).items():
                report(f"pipeline {pipeline:2}  ", costs, BOUNDS)
            owners.stop()
        costs, refusals = owners_load(options, views)
        print(f"processor seconds of the owner's thread for a million successes, {BATCH} every {EVERY_SECONDS * 1000:g} ms; "
              f"{refusals:.0f} refusals a second at the other thread")
        report("", costs, [(ALONG, ALONE, GROWS_MAX)])
        views.stop()
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
