#!/usr/bin/env python3
"""Races for units over many connections of a real server, and what a crash or a cut connection may not change.

usage: races_test.py --server build/release/bin/holdfastd [--rounds 200] [--seed N] [--only NAME]

Each race states what must hold whoever wins; none expects a certain winner. The first line tells the seed.
"""
import argparse
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "crash"))
from machine import free_port  # noqa: E402
from resp import Connection, Lost, as_map  # noqa: E402

START_SECONDS = 60
WINS_MIN = 100  # of each side of the race between confirm, release and expiry, else the run says nothing


class Server:
    def __init__(self, program, folder, shards):
        self.program, self.folder, self.shards, self.process, self.address = program, folder, shards, None, None

    def start(self):
        port = free_port()
        self.address = ("127.0.0.1", port)
        with open(os.path.join(self.folder, "output"), "ab") as output:
            self.process = subprocess.Popen(
                [self.program, "--data-dir", os.path.join(self.folder, "data"), "--port", str(port), "--metrics-port", "0",
                 "--shards", str(self.shards)],
                stderr=output)
        deadline = time.monotonic() + START_SECONDS
        while not self.serves():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the server does not start: {self.output()[-500:]}")

    def serves(self):
        try:
            with Connection(self.address, 5) as connection:
                return connection.ask("PING") == "PONG"
        except Lost:
            return False

    def output(self):
        with open(os.path.join(self.folder, "output"), errors="replace") as file:
            return file.read()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        status = self.process.wait(60)
        if status != 0:
            sys.exit(f"SIGTERM: exit status {status}: {self.output()[-2000:]}")


def check(condition, what, *found):
    if not condition:
        sys.exit(f"FAILED: {what}: {found}")


class Races:
    def __init__(self, server, rounds, seed):
        self.server, self.rounds, self.random = server, rounds, random.Random(seed)
        self.items = 0
        self.main = Connection(server.address)

    def connections(self, count):
        return [Connection(self.server.address) for _ in range(count)]

    def item(self, stock, *options):
        self.items += 1
        name = f"race:{self.items}"
        check(self.main.ask("ITEM", "CREATE", name, "STOCK", stock, *options) == "OK", "ITEM CREATE", name)
        return name

    def counters(self, item):
        found = as_map(self.main.ask("ITEM", "GET", item))
        parts = [found[name] for name in ("available", "reserved", "confirmed", "held")]
        check(min(parts) >= 0 and sum(parts) == found["total"], "the law", item, found)
        return found

    def spread(self, connections, requests):
        """Requests dealt over connections in random order, all on their way before any reply is read; (request, reply)."""
        hands = [[] for _ in connections]
        for request in self.random.sample(requests, len(requests)):
            self.random.choice(hands).append(request)
        cuts = [self.random.randrange(len(hand) + 1) for hand in hands]
        for connection, hand, cut in zip(connections, hands, cuts):
            connection.send(hand[:cut])
        for connection, hand, cut in zip(connections, hands, cuts):
            connection.send(hand[cut:])
        return [(request, connection.read()) for connection, hand in zip(connections, hands) for request in hand]

    def a_thousand_users_race_for_a_hundred_units(self):
        connections = self.connections(50)
        for _ in range(self.rounds):
            item = self.item(100)
            users = [f"u{n}" for n in range(1000)]
            asked = self.spread(connections, [("RESERVE", item, user) for user in users])
            winners = {request[2] for request, reply in asked if reply >= 0}
            check(len(winners) == 100, "exactly 100 succeed", item, len(winners))
            check(sorted(reply for _, reply in asked if reply >= 0) == list(range(100)), "each success is another unit", item)
            check(self.counters(item)["available"] == 0, "nothing is left", item)
            again = self.spread(connections, [("RESERVE", item, user) for user in users])
            for request, reply in again:
                check(reply == (-2 if request[2] in winners else -1), "a winner hears -2, a loser -1", request, reply)

    def one_user_asks_a_thousand_times(self):
        connections = self.connections(50)
        for _ in range(max(1, self.rounds // 20)):
            item = self.item(100)
            replies = [reply for _, reply in self.spread(connections, [("RESERVE", item, "u")] * 1000)]
            check(sorted(replies) == [-2] * 999 + [99], "one success", item, sorted(set(replies)))
            check(self.counters(item)["available"] == 99, "stock falls by one", item)

    def one_id_from_twenty_connections_and_across_a_crash(self):
        for _ in range(max(1, self.rounds // 40)):
            item, request_id = self.item(100), str(uuid.UUID(int=self.random.getrandbits(128), version=4))
            request = ("RESERVE", item, "u", "ID", request_id)
            replies = [reply for _, reply in self.spread(self.connections(20), [request] * 200)]
            check(set(replies) == {99}, "all succeed with one unit", item, set(replies))
            lost = self.connections(20)
            for connection in lost:
                connection.send([request])
            self.server.kill()
            self.server.start()
            self.main = Connection(self.server.address)
            replies = [reply for _, reply in self.spread(self.connections(20), [request] * 200)]
            check(set(replies) == {99}, "after a crash too", item, set(replies))
            check(self.counters(item)["available"] == 99, "one unit", item)

    def confirm_release_and_expiry_race_for_one_reservation(self):
        item = self.item(10**6, "LIMIT", 0)
        wins = {"CONFIRMED": 0, "RELEASED": 0, "EXPIRED": 0}
        taking, confirming, releasing, looking = self.connections(4)
        for number in range(max(2, self.rounds // 4)):
            ids = [str(uuid.UUID(int=self.random.getrandbits(128), version=4)) for _ in range(200)]
            taken = taking.ask_all([("RESERVE", item, f"u{number}", "ID", one, "TTL", self.random.randrange(1, 25)) for one in ids])
            check(min(taken) >= 0, "all are taken", min(taken))
            replies = {}
            sides = [threading.Thread(target=self.race, args=(connection, verb, item, f"u{number}", ids, replies))
                     for connection, verb in ((confirming, "CONFIRM"), (releasing, "RELEASE"), (looking, "GET"))]
            for side in sides:
                side.start()
            for side in sides:
                side.join()
            for one in ids:
                wins[self.winner(item, one, replies["CONFIRM"][one], replies["RELEASE"][one])] += 1
        found = self.counters(item)
        check(found["confirmed"] == wins["CONFIRMED"] and found["reserved"] == 0, "counters tell the same", found, wins)
        print(f"  wins: {wins}")
        if self.rounds >= 200:
            check(min(wins.values()) >= WINS_MIN, f"each side wins at least {WINS_MIN} times", wins)

    def race(self, connection, verb, item, user, ids, replies):
        order = random.Random(self.random.getrandbits(32)).sample(ids, len(ids))
        found = {}
        for begin in range(0, len(order), 10):
            part = order[begin:begin + 10]
            # A look at a reservation that is due expires it.
            requests = [("RESERVATION", verb, item, "ID", one) if verb == "GET" else (verb, item, user, "ID", one)
                        for one in part]
            found |= zip(part, connection.ask_all(requests))
        replies[verb] = found

    def winner(self, item, one, confirmed, released):
        """The one side that won, by its final state; the replies must say the same."""
        deadline = time.monotonic() + 20
        while (state := as_map(self.main.ask("RESERVATION", "GET", item, "ID", one))["state"].decode()) == "RESERVED":
            check(time.monotonic() < deadline, "it expires", one)
        wanted = {"CONFIRMED": (True, False), "RELEASED": (False, True), "EXPIRED": (False, False)}[state]
        check((confirmed == 1, released >= 0) == wanted, f"{state} and the replies agree", one, confirmed, released)
        return state

    def a_connection_cut_after_the_request(self):
        item = self.item(10**6, "LIMIT", 0)
        count = self.rounds
        for taken in range(1, count + 1):
            request = ("RESERVE", item, "u", "ID", str(uuid.UUID(int=self.random.getrandbits(128), version=4)))
            cut = Connection(self.server.address)
            cut.send([request])
            if self.random.random() < 0.5:
                cut.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            cut.stream.close()
            cut.socket.close()
            reply = self.main.ask(*request)
            check(reply == 10**6 - taken, "the retry succeeds and one unit is gone", taken, reply)


ALL = [Races.a_thousand_users_race_for_a_hundred_units, Races.one_user_asks_a_thousand_times,
       Races.one_id_from_twenty_connections_and_across_a_crash,
       Races.confirm_release_and_expiry_race_for_one_reservation, Races.a_connection_cut_after_the_request]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="holdfast-races-") as folder:
        server = Server(os.path.abspath(options.server), folder, options.shards)
        server.start()
        try:
            races = Races(server, options.rounds, options.seed)
            for race in ALL:
                if options.only in (None, race.__name__):
                    began = time.monotonic()
                    race(races)
                    print(f"{race.__name__}: {time.monotonic() - began:.1f} s")
            server.stop()
        finally:
            if server.process.poll() is None:
                server.kill()


if __name__ == "__main__":
    main()
