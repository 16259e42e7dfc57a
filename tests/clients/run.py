#!/usr/bin/env python3
"""Client libraries from their registries against a real server: prints a matrix and compares it with matrix.txt.

usage: run.py --server build/release/bin/holdfastd [--only NAME] [--cache build/clients]

Needs node, npm, go, cargo, javac, mvn, cmake and hiredis; says what is missing and fails. What was installed and built
is kept in the cache. A client of the table that cannot be run fails; none is skipped.
"""
import argparse
import os
import sys
import time

import table
from install import Client, Missing
from program import Wrong
from scenario import Scenario, Server, example


def measure(client, server_program, log):
    """The cells of a client: what works with nothing set is yes, what needs the option is option, the rest is no."""
    def run(mode):
        with Server(server_program) as server:
            scenario = Scenario(client, server, log, mode)
            return scenario.run(), scenario.why
    cells, why = run([])
    if client.row.option:
        plain, _ = run(["plain"])
        cells = {name: with_option(cell) if cell != plain.get(name) and name != "RESP" else cell for name, cell in cells.items()}
    return {name: cells.get(name, "no") for name in table.CELLS}, why


def with_option(cell):
    return {"yes": "option", "no": "no"}.get(cell, f"option, {cell}")


def differences(row, cells, why):
    return [f"{name}: {cells[name]}, the table says {row.cells[name]}" + (f" ({why[name]})" if name in why else "")
            for name in table.CELLS if cells[name] != row.cells[name]]


def check(row, options):
    """The cells of a row and what is wrong with it."""
    client = Client(row, options.cache)
    built = client.install()
    print(f"  {'built' if built else 'as built before'}", flush=True)
    with open(os.path.join(client.work, "log"), "w") as log:
        cells, why = measure(client, options.server, log)
        wrong = differences(row, cells, why)
        try:
            with Server(options.server) as server:
                example(client, server, log)
        except Wrong as failure:
            wrong.append(str(failure))
    return cells, wrong


def print_matrix(results):
    width = {name: max(len(name), *(len(cells[name]) for _, cells in results)) for name in table.CELLS}
    print(f"\n{'client':24}" + "  ".join(name.ljust(width[name]) for name in table.CELLS))
    for row, cells in results:
        print(f"{row.name + ' ' + row.version:24}" + "  ".join(cells[name].ljust(width[name]) for name in table.CELLS))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--only", help="clients whose names contain this")
    parser.add_argument("--cache", default=os.environ.get("HOLDFAST_CLIENTS_CACHE", "build/clients"))
    options = parser.parse_args()
    rows = [row for row in table.read() if not options.only or options.only.lower() in row.name.lower()]
    if not rows:
        sys.exit(f"no client is named {options.only}: {', '.join(row.name for row in table.read())}")
    results, passed, failed = [], 0, 0
    for row in rows:
        started = time.monotonic()
        print(f"{row.name} {row.version}", flush=True)
        try:
            cells, wrong = check(row, options)
        except (Missing, Wrong) as failure:
            cells, wrong = dict.fromkeys(table.CELLS, "?"), [str(failure)]
        results.append((row, cells))
        passed, failed = passed + (not wrong), failed + bool(wrong)
        for text in wrong:
            print(f"  FAILED: {text}")
        print(f"  {'failed' if wrong else 'passed'}, {time.monotonic() - started:.1f} s", flush=True)
    print_matrix(results)
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
