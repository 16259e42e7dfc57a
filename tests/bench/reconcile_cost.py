#!/usr/bin/env python3
"""How long `holdfastctl reconcile` takes and how much memory it needs: a server's orders against the tables that the relay wrote,
nothing amiss; then with a thousand orders deleted, which --apply writes again.

usage: reconcile_cost.py [--build build/release] [--orders 1000000]

Fails when the first takes 60 s or more, or either more than 192 MiB.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "crash"), str(TESTS / "system"), str(TESTS / "services")]
from relay_bench import check  # noqa: E402
from relay_cost import Setting  # noqa: E402

SECONDS_MAX, MIB_MAX, DELETED = 60, 192, 1000


def reconcile(setting, *flags):
    """Seconds, the most memory in MiB, and what it told."""
    command = [str(setting.options.build / "bin" / "holdfastctl"), "--server", f"127.0.0.1:{setting.server.port}", "reconcile", "--json", *flags,
               "--postgres", setting.database.url(host=setting.database.folder)]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        told = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, "it ends well", process.returncode, told[:2000])
    return time.monotonic() - began, used.ru_maxrss / 1024, json.loads(told)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--orders", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-reconcile-") as folder, Setting(options, folder, 10 * options.orders) as setting:
        relay = setting.relay()
        setting.load(options.orders)
        setting.catch_up(relay)
        relay.stop()
        seconds, memory, told = reconcile(setting)
        check(told["differences"] == 0, "nothing differs", told["kinds"])
        print(f"{told['orders']} orders, {told['journal']} rows of the journal: {seconds:.1f} s, {memory:.0f} MiB", flush=True)
        setting.database.run(f"DELETE FROM flash_sale_order WHERE order_id IN (SELECT order_id FROM flash_sale_order ORDER BY lsn LIMIT {DELETED})")
        mended_seconds, mended_memory, told = reconcile(setting, "--apply")
        check(told["mended"]["missing"] == DELETED, "they are there again", told["mended"])
        print(f"with {DELETED} orders deleted, which it mends: {mended_seconds:.1f} s, {mended_memory:.0f} MiB")
        check(seconds < SECONDS_MAX and max(memory, mended_memory) < MIB_MAX, f"at most {SECONDS_MAX} s and {MIB_MAX} MiB")


if __name__ == "__main__":
    main()
