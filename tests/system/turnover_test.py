#!/usr/bin/env python3
"""Reservations that come and go without end: 200 items, each unit reserved and released over and over, ended ids forgotten. Disk
and memory stay within what the options allow, and a start afterwards has what was there.

usage: turnover_test.py --server build/release/bin/holdfastd [--reservations 1000000]
"""
import os
import selectors
import socket
import sys
import time

sys.dont_write_bytecode = True
from cases import arguments, run_cases  # noqa: E402
from holdfastd_test import MIB, check  # noqa: E402
from resp import Connection, as_map, encode  # noqa: E402
from shards import create, eventually, names_everywhere, running  # noqa: E402

ITEMS, USERS, CONNECTIONS, PAIRS = 200, 50, 8, 1000
# The log; what is written between two looks at it, and what was on its way then; a segment ahead; the snapshots.
LOG_MAX = 256 * MIB
DISK_MAX = LOG_MAX + 32 * MIB
MEMORY_MAX = 150 * MIB
FLAGS = ("--segment-bytes", "4MiB", "--snapshot-log-bytes", "32MiB", "--log-max-bytes", str(LOG_MAX), "--snapshot-every", "1s", "--log-keep-bytes", "16MiB",
         "--log-keep-age", "1s", "--ended-max", "100", "--ended-retention", "1s")
PATIENCE_SECONDS = 120


def disk(folder):
    data, total = os.path.join(folder, "data"), 0
    for name in os.listdir(data):
        try:
            total += os.path.getsize(os.path.join(data, name))
        except FileNotFoundError:
            pass
    return total


class Lane:
    """A connection that sends the same pairs of RESERVE and RELEASE again and again, with one lot of them on its way."""

    def __init__(self, address, loop, names):
        self.socket = socket.create_connection(address)
        self.socket.setblocking(False)
        pairs = [(names[n % len(names)], f"u{n % USERS}") for n in range(PAIRS)]
        self.lot = b"".join(encode("RESERVE", *pair) + encode("RELEASE", *pair) for pair in pairs)
        self.unsent, self.missing, self.part, self.refused, self.refused_before = b"", 0, b"", 0, 0
        loop.register(self.socket, selectors.EVENT_READ, self)

    def begin(self):
        self.unsent, self.missing = self.lot, 2 * PAIRS
        self.write()

    def write(self):
        try:
            while self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent):]
        except BlockingIOError:
            pass

    def read(self):
        """Reservations that came and went: those of the lot that were not refused, once it is answered."""
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return 0
        check(data, "the server keeps the connection")
        *lines, self.part = (self.part + data).split(b"\r\n")
        if b"-" in data:
            self.judge(lines)
        self.missing -= len(lines)
        if self.missing:
            return 0
        taken = PAIRS - (self.refused - self.refused_before)
        self.refused_before = self.refused
        return taken

    def judge(self, lines):
        """Where disk or snapshots do not keep up new reservations are refused; then there is nothing to release."""
        self.refused += sum(line.startswith(b"-OVERLOADED") for line in lines)
        wrong = [line for line in lines if b"-" in line and line != b":-1" and not line.startswith(b"-OVERLOADED")]
        check(not wrong and (self.refused or b":-1" not in lines), "each is taken and released, or there is no room", wrong[:3])


def turn_over(server, folder, names, reservations):
    """The most of disk and memory on the way."""
    loop = selectors.DefaultSelector()
    lanes = [Lane(server.address, loop, names[n::CONNECTIONS]) for n in range(CONNECTIONS)]
    done, most_disk, most_memory, looked = 0, 0, 0, 0
    began = time.monotonic()
    for lane in lanes:
        lane.begin()
    while any(lane.missing for lane in lanes):
        ready = loop.select(PATIENCE_SECONDS)
        check(ready, "replies come")
        for key, _ in ready:
            lane = key.data
            done += lane.read()
            lane.write()
            if lane.missing == 0 and done < reservations:
                lane.begin()
        if done - looked >= reservations // 200:
            looked = done
            most_disk, most_memory = max(most_disk, disk(folder)), max(most_memory, server.resident())
    seconds = time.monotonic() - began
    refused = sum(lane.refused for lane in lanes)
    print(f"{done:,} reservations came and went in {seconds:.0f} s, {refused:,} were refused for want of room; at most {most_disk / MIB:.0f} MiB on disk, "
          f"{most_memory / MIB:.0f} MiB resident", flush=True)
    for lane in lanes:
        lane.socket.close()
    return most_disk, most_memory


def disk_and_memory_stay_bounded(options, folder):
    server = running(options.server, folder, *FLAGS, shards=2)
    sanitized = server.sanitized()
    names = names_everywhere("item:", ITEMS, 2)
    with Connection(server.address) as connection:
        create(connection, names, "STOCK", 100000, "LIMIT", 0)
    most_disk, most_memory = turn_over(server, folder, names, options.reservations // (20 if sanitized else 1))
    check(most_disk <= DISK_MAX, "the disk", most_disk)
    check(sanitized or most_memory <= MEMORY_MAX, "memory", most_memory)
    with Connection(server.address) as connection:
        before = [as_map(connection.ask("ITEM", "GET", name)) for name in names]
        check(all(item["available"] == 100000 for item in before), "all came back")
        eventually(lambda: connection.ask("ITEM", "VERIFY", "*") == [], "the law")
    server.process.kill()
    server.process.wait()
    server = running(options.server, folder, *FLAGS, shards=3)
    with Connection(server.address) as connection:
        after = [as_map(connection.ask("ITEM", "GET", name)) for name in names]
        check(after == before, "as it was", [pair for pair in zip(before, after) if pair[0] != pair[1]][:2])
    server.stop()


def main():
    parser = arguments(__doc__)
    parser.add_argument("--reservations", type=int, default=1_000_000)
    options = parser.parse_args()
    options.server = os.path.abspath(options.server)
    run_cases([disk_and_memory_stay_bounded], options, options)


if __name__ == "__main__":
    main()
