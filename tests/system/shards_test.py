#!/usr/bin/env python3
"""A server of several shard threads from outside: restarts with another number of them, long pipelines, stopping, idling.

usage: shards_test.py --server build/release/bin/holdfastd [--seed N] [--only NAME]

The cases choose the number of shards themselves. The first line tells the seed.
"""
import os
import random
import re
import select
import signal
import sys
import threading
import uuid

sys.dont_write_bytecode = True
from cases import arguments, run_cases  # noqa: E402
from holdfastd_test import STOP_SECONDS, check  # noqa: E402
from resp import Connection, Lost, Refusal, as_map  # noqa: E402
from shards import SHARDS, connections, create, listed, names_everywhere, owner, running  # noqa: E402

PIPELINED = 10_000
DICE = random.Random()
IDLE_SECONDS, IDLE_WAKEUPS_MAX, IDLE_CPU_MS_MAX, IDLE_STRETCHES = 10, 12, 10, 4


def slots_are_those_of_redis(_, __):
    check([owner(key, 16384) for key in ("123456789", "foo", "{user1000}.following", "x{user1000}y")] == [12739, 12182, 3443, 3443], "slots")


# Restarts


class Kept:
    """What was acknowledged: items with their counters, reservations with all that RESERVATION GET says of them."""

    def __init__(self):
        self.items, self.reservations = {}, {}

    def sell(self, all_connections, shards):
        """New items of every shard, and reservations in every state."""
        names = names_everywhere(f"r{len(self.items)}-", 3 * shards, shards)
        create(all_connections[0], names, "STOCK", 100, "LIMIT", 0)
        for number, name in enumerate(names):
            connection = all_connections[number % len(all_connections)]
            ids = [str(uuid.UUID(int=DICE.getrandbits(128), version=4)) for _ in range(12)]
            replies = connection.ask_all([("RESERVE", name, f"u{n % 5}", "ID", id) for n, id in enumerate(ids)])
            check(replies == list(range(99, 99 - len(ids), -1)), "reservations", name, replies)
            replies = connection.ask_all([("CONFIRM", name, f"u{n}", "ID", ids[n]) for n in range(4)] +
                                         [("RELEASE", name, f"u{n % 5}", "ID", ids[n]) for n in range(6, 9)])
            check(replies == [1] * 4 + [89, 90, 91], "changes", name, replies)
            self.items[name] = None
            self.reservations |= {(name, id): None for id in ids}

    def look(self, connection):
        """What the server says of all of them now."""
        items = dict(zip(self.items, map(as_map, connection.ask_all([("ITEM", "GET", name) for name in self.items]))))
        reservations = connection.ask_all([("RESERVATION", "GET", name, "ID", id) for name, id in self.reservations])
        check(None not in reservations, "each is there", reservations.count(None))
        reservations = dict(zip(self.reservations, map(as_map, reservations)))
        for found in reservations.values():
            del found["remaining"], found["stage"]  # these go on by themselves
        return items, reservations

    def remember(self, connection):
        self.items, self.reservations = self.look(connection)

    def compare(self, connection):
        items, reservations = self.look(connection)
        for was, found in ((self.items, items), (self.reservations, reservations)):
            wrong = [(was[key], found[key]) for key in was if was[key] != found[key]]
            check(not wrong, "as it was acknowledged", len(wrong), wrong[:2])

    def replay(self, connection):
        """The same requests again change nothing."""
        for (name, id), found in self.reservations.items():
            reply = connection.ask("RESERVE", name, found["user"], "ID", id)
            wanted = -8 if found["state"] == b"RELEASED" else self.items[name]["available"]
            check(reply == wanted, "the same answer again", name, id, reply, wanted)
        self.compare(connection)


def everything_is_there_with_another_number_of_shards(program, folder):
    kept = Kept()
    for life, shards in enumerate((1, 2, 3, 4, 1, 4, 2, 3, 1)):
        server = running(program, folder, shards=shards)
        sellers = connections(server, 2 * shards)
        kept.compare(sellers[-1])
        found = listed(sellers[0], "ITEM", "LIST", "CURSOR", "@", "COUNT", 7) if life % 2 else \
            listed(sellers[0], "ITEM", "LIST", "CURSOR", "@", "COUNT", 1000)
        check(sorted(found) == sorted(name.encode() for name in kept.items), "ITEM LIST: each once", shards, len(found), len(kept.items))
        check(sellers[0].ask("DBSIZE") == len(kept.items), "DBSIZE", shards)
        check(sellers[-1].ask("ITEM", "VERIFY", "*") == [], "ITEM VERIFY *", shards)
        kept.sell(sellers, shards)
        kept.remember(sellers[0])
        kept.replay(sellers[-1])
        for seller in sellers:
            seller.__exit__()
        if life % 3 == 2:
            server.process.send_signal(signal.SIGKILL)
            server.process.wait(STOP_SECONDS)
        else:
            server.stop()
    print(f"  {len(kept.items)} items, {len(kept.reservations)} reservations")


# Pipelines


class Model:
    """Items that one connection alone uses, so that every reply is known beforehand."""

    def __init__(self, prefix, count, dice):
        self.dice, self.taken, self.names = dice, 0, names_everywhere(prefix, count)
        self.stock = {name: 100_000 * (number + 1) for number, name in enumerate(self.names)}
        self.left = dict(self.stock)

    def request(self, number):
        """A command and what it must answer; a callable judges those that answer more."""
        name = self.dice.choice(self.names)
        kind = self.dice.randrange(20)
        if kind < 10:
            self.left[name] -= 1
            return ("RESERVE", name, number), self.left[name]
        if kind < 13:
            return ("GET", f"{{{name}}}:stock"), str(self.left[name]).encode()
        if kind < 15:
            return ("PING", number), str(number).encode()
        if kind < 16:
            others = self.dice.sample(self.names, 5)
            return ("MGET", *[f"{{{other}}}:stock" for other in others]), [str(self.left[other]).encode() for other in others]
        if kind < 17:
            return ("EXISTS", *[f"{{{other}}}:stock" for other in self.names[:7]], "{missing}:stock"), 7
        if kind < 18:
            return ("RESERVE", name, number, "QTY", 10**6 * len(self.names)), -1
        wanted = name.encode(), self.left[name], self.stock[name]
        return ("ITEM", "GET", name), lambda reply: tuple(map(as_map(reply).get, ("item", "available", "total"))) == wanted


def replies_of_a_long_pipeline_are_in_order(program, folder):
    server, problems = running(program, folder), []

    def talk(connection, number):
        model = Model(f"p{number}-", 50, random.Random(DICE.random()))
        create(connection, model.names, "LIMIT", 0, "STOCK", 1)
        for name in model.names:
            connection.ask("ITEM", "ADJUST", name, model.stock[name] - 1, "ID", uuid.UUID(int=DICE.getrandbits(128), version=4), "REASON", "test")
        for part in range(3):
            made = [model.request(part * PIPELINED + n) for n in range(PIPELINED)]
            sender = threading.Thread(target=connection.send, args=([request for request, _ in made],))
            sender.start()
            for request, wanted in made:
                reply = connection.read()
                if not (wanted(reply) if callable(wanted) else reply == wanted):
                    problems.append((request, reply, wanted))
            sender.join()
    talkers = [threading.Thread(target=talk, args=(connection, number)) for number, connection in enumerate(connections(server, SHARDS))]
    for talker in talkers:
        talker.start()
    for talker in talkers:
        talker.join()
    check(not problems, "each reply in its place", len(problems), problems[:3])
    with Connection(server.address) as connection:
        check(connection.ask("DBSIZE") == 50 * SHARDS, "all of them ran")
        check(connection.ask("ITEM", "VERIFY", "*") == [], "the law")
    server.stop()


def a_transaction_runs_whole_wherever_its_item_is(program, folder):
    server, names = running(program, folder), names_everywhere("m", 2 * SHARDS)
    each = connections(server, SHARDS)
    create(each[0], names, "STOCK", 1000)
    for number, connection in enumerate(each):
        for name in names:
            key = f"{{{name}}}:stock"
            left = int(connection.ask("GET", key))
            requests = [("WATCH", key), ("MULTI",), ("RESERVE", name, f"a{number}"), ("GET", key), ("RESERVE", name, f"b{number}"), ("EXEC",),
                        ("GET", key)]
            connection.send(requests)
            replies = [connection.read() for _ in requests]
            wanted = [left - 1, str(left - 1).encode(), left - 2]
            check(replies == ["OK", "OK", "QUEUED", "QUEUED", "QUEUED", wanted, str(left - 2).encode()], "EXEC", name, replies)
            connection.ask("WATCH", key)
            check(each[number - 1].ask("RESERVE", name, f"c{number}") == left - 3, "somebody else")
            connection.send([("MULTI",), ("RESERVE", name, f"d{number}"), ("EXEC",)])
            check([connection.read() for _ in range(3)][2] is None, "EXEC sees what another connection did", name)
    crossed = names[0], names[SHARDS], names[1]  # of the same shard, and of another
    for other in crossed[1:]:
        each[0].send([("MULTI",), ("RESERVE", crossed[0], "x"), ("RESERVE", other, "x"), ("EXEC",)])
        replies = [each[0].read() for _ in range(4)]
        check(any(isinstance(reply, Refusal) and reply.text.startswith("CROSSSLOT") for reply in replies), "two items", replies)
    server.stop()


# Stopping


def what_any_thread_executed_is_answered_before_it_stops(program, folder):
    names, stock = names_everywhere("s", 2 * SHARDS), 10**6
    left = dict.fromkeys(names, stock)
    for way in ("SIGTERM", "SHUTDOWN"):
        server, sold = running(program, folder), dict.fromkeys(names, 0)
        sellers = connections(server, 2 * len(names))
        create(sellers[0], names, "STOCK", stock, "LIMIT", 0)
        began, replies = [threading.Event() for _ in sellers], [[] for _ in sellers]

        def sell(number):
            # Each goes through all items: answers of every owner are under way on every connection.
            try:
                while True:
                    sellers[number].send([("RESERVE", name, number) for name in names] * 10)
                    for n in range(10 * len(names)):
                        replies[number].append((names[n % len(names)], sellers[number].read()))
                    began[number].set()
            except Lost:
                pass
        threads = [threading.Thread(target=sell, args=(number,)) for number in range(len(sellers))]
        for thread in threads:
            thread.start()
        for event in began:
            check(event.wait(STOP_SECONDS), "all sell")
        if way == "SIGTERM":
            server.process.send_signal(signal.SIGTERM)
        else:
            with Connection(server.address) as admin:
                admin.send([("SHUTDOWN",)])
                try:
                    check(False, "no reply to SHUTDOWN", admin.read())
                except Lost:
                    pass
        check(server.process.wait(STOP_SECONDS) == 0, "exit status 0", way, server.output()[-500:])
        for thread in threads:
            thread.join()
        for name, reply in (pair for found in replies for pair in found):
            check(isinstance(reply, int) and reply >= 0, "a unit is sold", name, reply)
            sold[name] += 1
        server = running(program, folder, shards=3)
        with Connection(server.address) as admin:
            for name in names:
                left[name] -= sold[name]
                found = int(admin.ask("GET", f"{{{name}}}:stock"))
                check(found == left[name], "what was answered is there, and nothing else", way, name, found, left[name])
        server.stop()


# Idling


def threads_of(pid):
    """{task: (name, ms of CPU, times it went to sleep)} of a process."""
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        folder = f"/proc/{pid}/task/{task}"
        with open(f"{folder}/comm") as name, open(f"{folder}/schedstat") as times, open(f"{folder}/status") as status:
            sleeps = next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt"))
            found[task] = name.read().strip(), int(times.read().split()[0]) / 1e6, sleeps
    return found


def every_thread_sleeps_while_nobody_asks(program, folder):
    server = running(program, folder)
    idle = connections(server, 100)
    check({connection.ask("PING") for connection in idle} == {"PONG"}, "all are served")
    names = sorted(name for name, _, _ in threads_of(server.process.pid).values() if name.startswith("shard-"))
    told = re.search(r" on (\d+) threads?\b", server.output())
    check(names == [f"shard-{n}" for n in range(int(told[1]) if told else SHARDS)], "names of threads", names)
    for stretch in range(IDLE_STRETCHES):  # the next segment is being prepared at first
        before = threads_of(server.process.pid)
        select.select([], [], [], IDLE_SECONDS)  # a stretch of time to measure
        after = threads_of(server.process.pid)
        used = {(name, task): (cpu - before.get(task, (0, 0, 0))[1], sleeps - before.get(task, (0, 0, 0))[2])
                for task, (name, cpu, sleeps) in after.items()}
        awake = {thread: spent for thread, spent in used.items() if spent[0] > IDLE_CPU_MS_MAX or spent[1] > IDLE_WAKEUPS_MAX}
        # The runtime of a sanitizer has a thread of its own that wakes by the clock, and makes every turn dear.
        if not awake or server.sanitized():
            break
    check(not awake or server.sanitized(), f"in {IDLE_SECONDS} s each at most {IDLE_WAKEUPS_MAX} wake-ups and {IDLE_CPU_MS_MAX} ms", awake)
    for (name, _), (cpu, sleeps) in sorted(used.items()):
        print(f"  {name}: {cpu:.2f} ms, {sleeps} wake-ups in {IDLE_SECONDS} s")
    server.stop()


ALL = [slots_are_those_of_redis, everything_is_there_with_another_number_of_shards, replies_of_a_long_pipeline_are_in_order,
       a_transaction_runs_whole_wherever_its_item_is, what_any_thread_executed_is_answered_before_it_stops,
       every_thread_sleeps_while_nobody_asks]


def main():
    parser = arguments(__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    DICE.seed(options.seed)
    run_cases(ALL, options)


if __name__ == "__main__":
    main()
