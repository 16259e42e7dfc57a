#!/usr/bin/env python3
"""Client libraries from their registries against a real server: prints a matrix and compares it with matrix.txt.

usage: run.py --server build/release/bin/holdfastd [--only NAME] [--cache build/clients]

Needs node, npm, go, cargo, javac, mvn, cmake and hiredis; says what is missing and fails. What was installed and built
is kept in the cache. A client of the table that cannot be run fails; none is skipped.
"""
import argparse
import concurrent.futures
import fcntl
import os
import subprocess
import sys
import threading
import time

import table
from install import Client, Missing
from program import Wrong
from scenario import Scenario, Server, example

CLIENTS_AT_ONCE = 2
INSTALLING = threading.Lock()  # not every registry's client likes company in its cache


def measure(client, options, log):
    """The cells of a client: what works with nothing set is yes, what needs the option is option, the rest is no."""
    def run(mode):
        with Server(options.server, options.shards) as server:
            scenario = Scenario(client, server, log, mode)
            return scenario.run(), scenario.why
    cells, why = run([])
    if client.row.option:
        plain, _ = run(["plain"])
        cells = {name: with_option(cell) if cell != plain.get(name) and name != "RESP" else cell for name, cell in cells.items()}
    return {name: cells.get(name, "no") for name in table.CELLS}, why


def with_option(cell):
    return {"yes": "option", "no": "no", "-": "-"}.get(cell, f"option, {cell}")


def differences(row, cells, why):
    return [f"{name}: {cells[name]}, the table says {row.cells[name]}" + (f" ({why[name]})" if name in why else "")
            for name in table.CELLS if cells[name] != row.cells[name]]


def check(row, options):
    """Installs, runs and compares a row: its cells, and what is wrong with it."""
    client = Client(row, options.cache)
    try:
        with INSTALLING:
            client.install()
        with open(os.path.join(client.work, "log"), "w") as log:
            cells, why = measure(client, options, log)
            with Server(options.server, options.shards) as server:
                wrong = differences(row, cells, why) + example(client, server, log)
    except Exception as failure:  # whatever it is, the other clients still run
        cells, wrong = dict.fromkeys(table.CELLS, "?"), [str(failure) if isinstance(failure, (Missing, Wrong)) else repr(failure)]
    return cells, wrong


def print_matrix(results):
    width = {name: max(len(name), *(len(cells[name]) for _, cells, _ in results)) for name in table.CELLS}
    print(f"\n{'client':24}" + "  ".join(name.ljust(width[name]) for name in table.CELLS))
    for row, cells, _ in results:
        print(f"{row.name + ' ' + row.version:24}" + "  ".join(cells[name].ljust(width[name]) for name in table.CELLS))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--shards", type=int, default=1, help="of the servers")
    parser.add_argument("--only", help="clients whose names contain this")
    parser.add_argument("--cache", default=os.environ.get("HOLDFAST_CLIENTS_CACHE", "build/clients"))
    options = parser.parse_args()
    started = time.monotonic()
    rows = [row for row in table.read() if not options.only or options.only.lower() in row.name.lower()]
    if not rows:
        sys.exit(f"no client is named {options.only}: {', '.join(row.name for row in table.read())}")
    packages = "source tools/install_packages.sh && install_packages tests/clients/packages.txt"
    if subprocess.run(["bash", "-c", packages], cwd=table.HERE.parent.parent).returncode != 0:
        return 1
    os.makedirs(options.cache, exist_ok=True)
    lock = open(os.path.join(options.cache, "lock"), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)  # another run with the same cache ends first
    results = {}
    with concurrent.futures.ThreadPoolExecutor(CLIENTS_AT_ONCE) as pool:
        running = {pool.submit(check, row, options): row for row in rows}
        for done in concurrent.futures.as_completed(running):
            row, (cells, wrong) = running[done], done.result()
            results[row.name] = (row, cells, wrong)
            print(f"{time.monotonic() - started:6.1f} s  {row.name} {row.version}: {'FAILED' if wrong else 'passed'}", flush=True)
            for text in wrong:
                print(f"          {text}", flush=True)
    results = [results[row.name] for row in rows]
    print_matrix(results)
    failed = sum(bool(wrong) for _, _, wrong in results)
    print(f"\n{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
