#!/usr/bin/env python3
"""holdfast-bench sale and holdfastctl snapshot, as operators use them before a sale.

usage: sale_test.py --server build/release/bin/holdfastd --tools build/release/bin [--only NAME]
"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import arguments, run_cases  # noqa: E402
from holdfastd_test import check  # noqa: E402
from machine import free_port  # noqa: E402
from resp import Connection  # noqa: E402
from shards import running  # noqa: E402

SECONDS_MAX = 120


class Programs:
    def __init__(self, server, folder):
        self.server = os.path.abspath(server)
        self.bench, self.ctl = (os.path.join(os.path.abspath(folder), name) for name in ("holdfast-bench", "holdfastctl"))

    def run(self, program, *words, port):
        done = subprocess.run([program, *map(str, words), "--server", f"127.0.0.1:{port}"], capture_output=True, text=True,
                              timeout=SECONDS_MAX)
        return done.returncode, done.stdout, done.stderr


def a_sale_tells_what_was_sold_and_whether_the_law_holds(programs, folder):
    server = running(programs.server, folder, shards=2)
    status, out, said = programs.run(programs.bench, "sale", "--units", 100, "--users", 3000, "--rate", 30000, "--json",
                                     port=server.port)
    check(status == 0, "it runs", status, said)
    told = json.loads(out)
    check((told["sold"], told["refused"], told["errors"], told["lawful"]) == (100, {"sold out": 2900}, 0, True), "sold", told)
    check(0 < told["latency_ms"]["p50"] <= told["latency_ms"]["max"], "latencies", told)
    with Connection(server.address) as connection:
        check(connection.ask("GET", "{sale}:stock") == b"0" and connection.ask("SCARD", "{sale}:buyers") == 100, "in there")
    status, out, _ = programs.run(programs.bench, "sale", "--existing", "--users", 500, "--seed", 2, port=server.port)
    check(status == 0 and "refused    500 sold out\n" in out and "counted anew from the rows: ok" in out, "again", out)
    status, _, said = programs.run(programs.bench, "sale", "--item", "{}", port=server.port)
    check(status == 1 and "ITEM CREATE" in said, "what the server says", status, said)
    server.stop()
    status, _, said = programs.run(programs.bench, "sale", port=server.port)
    check(status == 1 and "Connection refused" in said, "no server", status, said)


def a_server_that_dies_ends_the_sale_with_an_error(programs, folder):
    server = running(programs.server, folder)
    sale = subprocess.Popen([programs.bench, "sale", "--server", f"127.0.0.1:{server.port}", "--users", "100000000"],
                            stderr=subprocess.PIPE, text=True)
    check(any("users came" in line for line in iter(sale.stderr.readline, "")), "it tells how far it is")
    server.process.kill()
    check(sale.wait(SECONDS_MAX) == 1 and "closed a connection" in sale.stderr.read(), "it says so")


def snapshot_waits_until_it_is_there(programs, folder):
    server = running(programs.server, folder)
    with Connection(server.address) as connection:
        connection.ask("ITEM", "CREATE", "a", "STOCK", 5)
        connection.ask("RESERVE", "a", 1)
    status, out, said = programs.run(programs.ctl, "snapshot", port=server.port)
    check(status == 0 and out.startswith("snapshot of LSN "), "it is made", status, out, said)
    first = int(out.split()[3].rstrip(":"))
    status, out, _ = programs.run(programs.ctl, "snapshot", "--json", port=server.port)
    check(status == 0 and json.loads(out)["lsn"] == first, "nothing has changed since", out)
    with Connection(server.address) as connection:
        connection.ask("RESERVE", "a", 2)
    status, out, _ = programs.run(programs.ctl, "snapshot", "--json", port=server.port)
    check(json.loads(out)["lsn"] > first, "another one", out)
    server.stop()
    check(programs.run(programs.ctl, "snapshot", port=free_port())[0] == 2, "no server")


CASES = [a_sale_tells_what_was_sold_and_whether_the_law_holds, a_server_that_dies_ends_the_sale_with_an_error,
         snapshot_waits_until_it_is_there]


def main():
    parser = arguments(__doc__)
    parser.add_argument("--tools", required=True, help="the folder of holdfastctl and holdfast-bench")
    options = parser.parse_args()
    run_cases(CASES, options, Programs(options.server, options.tools))


if __name__ == "__main__":
    main()
