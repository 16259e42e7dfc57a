#!/usr/bin/env python3
"""CPU seconds per million requests: refusals and durable successes of holdfastd beside the floor, in one run.

usage: cpu_cost.py [--build build/release] [--scale 1.0] [--json FILE]

Everything runs on this machine over loopback, 50 connections; what the load costs is not counted. The floor is
tests/bench/floor.cc. Numbers of different machines say nothing about each other; those of one run do.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "crash"))
from machine import free_port  # noqa: E402
from resp import Connection, Lost  # noqa: E402

REQUESTS = {1: 300_000, 16: 1_000_000, 64: 2_000_000}
BARS = {"refusal": {1: 3.9, 16: 0.31, 64: 0.15}, "success": {1: 4.7, 16: 0.62, 64: 0.42}, "floor": {1: 3.3, 16: 0.21, 64: 0.062}}


def wait_for(port):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return Connection(("127.0.0.1", port), 5)
        except Lost:
            pass
    sys.exit("nothing listens")


def load(bench, port, pid, pipeline, requests, *words):
    command = [bench, "raw", "--server", f"127.0.0.1:{port}", "--server-pid", str(pid), "-P", str(pipeline), "-n", str(requests),
               "-c", "50", "--json", *words]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def floor(options, results):
    port = free_port()
    process = subprocess.Popen([options.build / "bin" / "holdfast_floor", str(port)])
    try:
        wait_for(port)
        for pipeline, requests in REQUESTS.items():
            results["floor", pipeline] = load(options.build / "bin" / "holdfast-bench", port, process.pid, pipeline,
                                              int(requests * options.scale), "RESERVE", "hot", "__rand_int__")
    finally:
        process.kill()


def server(options, results):
    port = free_port()
    bench = options.build / "bin" / "holdfast-bench"
    with tempfile.TemporaryDirectory(prefix="holdfast-cost-", dir=options.folder) as folder:
        with open(os.path.join(folder, "output"), "wb") as output:
            process = subprocess.Popen([options.build / "bin" / "holdfastd", "--data-dir", os.path.join(folder, "data"), "--port", str(port),
                                        "--metrics-port", "0"],
                                       stderr=output)
        try:
            connection = wait_for(port)
            while connection.ask("PING") != "PONG":
                pass
            connection.ask("ITEM", "CREATE", "hot", "STOCK", 1)
            connection.ask("RESERVE", "hot", "first")
            for pipeline, requests in REQUESTS.items():
                results["refusal", pipeline] = load(bench, port, process.pid, pipeline, int(requests * options.scale),
                                                    "RESERVE", "hot", "__rand_int__")
                item = f"stock{pipeline}"
                connection.ask("ITEM", "CREATE", item, "STOCK", 10**12)
                results["success", pipeline] = load(bench, port, process.pid, pipeline, int(requests * options.scale),
                                                    "RESERVE", item, "__seq__")
        finally:
            process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of requests")
    parser.add_argument("--folder", help="where the server's data goes: the disk matters")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    results = {}
    floor(options, results)
    server(options, results)
    print(f"{'':9} {'pipeline':>8} {'CPU s/M':>8} {'bar':>6} {'req/s':>9} {'p50 us':>8} {'p99 us':>8}")
    for kind in ("floor", "refusal", "success"):
        for pipeline in REQUESTS:
            found = results[kind, pipeline]
            wrong = found["errors"] or (kind == "success" and found["refusals"]) or (kind == "refusal" and found["successes"])
            print(f"{kind:9} {pipeline:8} {found['server_cpu_seconds_per_million']:8.3f} {BARS[kind][pipeline]:6} "
                  f"{found['requests_per_second']:9.0f} {found['latency_us']['p50']:8.0f} {found['latency_us']['p99']:8.0f}"
                  + ("  WRONG REPLIES" if wrong else ""))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump([{"kind": kind, **found} for (kind, _), found in results.items()], out, indent=1)


if __name__ == "__main__":
    main()
