#!/usr/bin/env python3
"""Several shard threads at full speed: races for units, the order of a connection's commands, refusals from views, no deadlock.

usage: shards_load_test.py --server build/release/bin/holdfastd [--rounds 20] [--pairs 5000] [--seconds 10] [--seed N] [--only NAME]

Every server has four shards. The first line tells the seed.
"""
import functools
import itertools
import random
import re
import sys
import time

sys.dont_write_bytecode = True
from cases import arguments, run_cases  # noqa: E402
from holdfastd_test import check  # noqa: E402
from resp import Connection, as_map, encode  # noqa: E402
from scrape import scrape  # noqa: E402
from shards import SHARDS, Lines, create, known_flags, names_everywhere, owner, running, tags_everywhere  # noqa: E402

USERS, UNITS, ITEMS = 1000, 100, 10
ROUND = b"#####"  # what stands for the number of a round in requests that are made once
SLACK_MS = 3  # deadlines are rounded up to whole milliseconds, and told by the wall clock


class Load:
    """What the command line says of how much."""

    def __init__(self, options):
        self.server, self.rounds, self.pairs, self.seconds = options.server, options.rounds, options.pairs, options.seconds
        self.random = random.Random(options.seed)


# A thousand users, a hundred units, ten items at once


def deal(dice, tags, count):
    """The users' requests for all items, in random order over so many connections: [(item, user), ...] of each, and their bytes."""
    hands = [[] for _ in range(count)]
    for item in range(len(tags)):
        for user in range(USERS):
            dice.choice(hands).append((item, user))
    for hand in hands:
        dice.shuffle(hand)
    names = [f"{tag}{ROUND.decode()}" for tag in tags]
    return [(hand, b"".join(encode("RESERVE", names[item], user) for item, user in hand)) for hand in hands]


def ask_round(lines, deals, number):
    """{(item, user): reply} of one round."""
    payloads = [payload.replace(ROUND, b"%05d" % number) for _, payload in deals]
    replies = lines.exchange(payloads, [len(hand) for hand, _ in deals])
    return {who: int(reply[1:]) for (hand, _), got in zip(deals, replies) for who, reply in zip(hand, got)}


def a_thousand_users_race_for_a_hundred_units(load, folder):
    server, tags = running(load.server, folder), tags_everywhere(ITEMS)
    check({owner(tag) for tag in tags} == set(range(SHARDS)), "every shard owns items", tags)
    variants = [deal(load.random, tags, 4 * SHARDS) for _ in range(3)]
    with Lines(server, 4 * SHARDS) as lines, Connection(server.address) as main:
        for number in range(load.rounds):
            names = [f"{tag}{number:05}" for tag in tags]
            create(main, names, "STOCK", UNITS)
            replies = ask_round(lines, variants[number % 3], number)
            winners = {who: left for who, left in replies.items() if left >= 0}
            check(len(replies) == ITEMS * USERS and set(replies.values()) <= set(range(-1, UNITS)), "a unit or sold out", number)
            for item in range(ITEMS):
                won = sorted(left for (of, _), left in winners.items() if of == item)
                check(won == list(range(UNITS)), "exactly a hundred win, each another unit", names[item], won)
            again = ask_round(lines, variants[(number + 1) % 3], number)
            wrong = [who for who, reply in again.items() if reply != (-2 if who in winners else -1)]
            check(not wrong, "a winner hears -2, a loser -1", number, wrong[:5])
            for name in names:
                found = as_map(main.ask("ITEM", "GET", name))
                check((found["available"], found["reserved"], found["sequence"]) == (0, UNITS, UNITS + 3), "the law", name, found)
        check(main.ask("ITEM", "VERIFY", "*") == [], "the law, counted anew")
    server.stop()


# A unit that comes back is there for the next command of the same connection


def a_released_unit_is_there_for_the_next_command(load, folder):
    server, each, buyers = running(load.server, folder), 16, SHARDS + 1
    names = names_everywhere("order", each * buyers)
    # Those who ask for two units can never have them; they keep the item's refusal where every thread sees it.
    refused = [b"".join(encode("RESERVE", name, 10**6 + n, "QTY", 2) for name in names) for n in range(2 * SHARDS)]
    with Lines(server, buyers + len(refused)) as lines, Connection(server.address) as main:
        create(main, names, "STOCK", 1, "LIMIT", 0)
        check(set(main.ask_all([("RESERVE", name, 0) for name in names])) == {0}, "all are sold out")
        own = {line: tuple(names[n::buyers]) for n, line in enumerate(lines.each[:buyers])}
        asking = dict(zip(lines.each[buyers:], refused))
        rounds, got, refusals, done = dict.fromkeys(own, 0), {line: [] for line in own}, 0, 0
        for line, payload in asking.items():
            line.send(payload)
        for line in own:
            line.send(pairs(own[line], 0)[0])
        pending = dict.fromkeys(asking, len(names))
        while done < load.pairs:
            for line, replies in lines.turn():
                if line in asking:
                    check(set(replies) == {b":-1"}, "two units are never there", set(replies))
                    refusals += len(replies)
                    pending[line] -= len(replies)
                    if pending[line] == 0:
                        pending[line] = len(names)
                        line.send(asking[line])
                    continue
                got[line] += replies
                wanted = pairs(own[line], rounds[line] % 4)[1]
                if len(got[line]) == len(wanted):
                    check(got[line] == wanted, "the unit is there", rounds[line], own[line], got[line])
                    done, rounds[line], got[line] = done + each, rounds[line] + 1, []
                    line.send(pairs(own[line], rounds[line] % 4)[0])
    print(f"  {done} pairs, {refusals} refusals meanwhile")
    server.stop()


@functools.cache
def pairs(names, turn):
    """Requests of a round and their replies: RELEASE and RESERVE of each item side by side, or first all and then all."""
    first, second = turn % 2, (turn + 1) % 2
    taken = [(encode("RELEASE", name, first), encode("RESERVE", name, second)) for name in names]
    if turn < 2:
        return b"".join(release + reserve for release, reserve in taken), [b":1", b":0"] * len(names)
    return b"".join(release for release, _ in taken) + b"".join(reserve for _, reserve in taken), [b":1"] * len(names) + [b":0"] * len(names)


# Everybody to everybody


def everybody_asks_everybody_and_all_are_answered(load, folder):
    server = running(load.server, folder, *known_flags(load.server, "--mailbox-credits", "4", "--mailbox-blocks", "1"))
    names, users = names_everywhere("full", 10 * SHARDS), itertools.count()
    keys = [f"{{{name}}}:stock" for name in names[:SHARDS]]

    def batch():
        user, requests = next(users), []
        for name in load.random.sample(names, len(names)):
            requests += [encode("RESERVE", name, user), encode("SISMEMBER", f"{{{name}}}:buyers", user),
                         encode("EXTEND", name, user, "TTL", 10**6 + user),
                         encode("RELEASE", name, user)]
        requests += [encode("EXISTS", *keys), encode("DBSIZE"), encode("PUBLISH", "nobody", "x")]
        return b"".join(requests), len(requests)
    sent = received = overloaded = 0
    with Lines(server, 5 * SHARDS) as lines, Connection(server.address) as main:
        create(main, names, "STOCK", 10, "LIMIT", 0)
        # Half of the items are sold out from the beginning.
        main.ask_all([("RESERVE", name, "first", "QTY", 10) for name in names[::2]])
        # Each has users of its own, of whom each has one reservation of an item at a time.
        batches, open_ones = {line: [batch() for _ in range(5)] for line in lines.each}, dict.fromkeys(lines.each, 0)
        end = time.monotonic() + load.seconds
        for line in lines.each:
            open_ones[line] = more(line, batches[line], load.random) + more(line, batches[line], load.random)
            sent += open_ones[line]
        while any(open_ones.values()):
            for line, replies in lines.turn():
                received += len(replies)
                bad = [reply for reply in replies if not reply.startswith(b":")]
                check(all(reply.startswith(b"-OVERLOADED") for reply in bad), "one-line replies", bad[:3])
                overloaded += len(bad)
                open_ones[line] -= len(replies)
                if open_ones[line] < len(names) * 4 and time.monotonic() < end:
                    added = more(line, batches[line], load.random)
                    open_ones[line], sent = open_ones[line] + added, sent + added
        check(received == sent and min(open_ones.values()) == 0, "a reply for each", sent, received)
        check(main.ask("ITEM", "VERIFY", "*") == [], "the law holds")
    print(f"  {received} replies in {load.seconds} s, {overloaded} of them OVERLOADED")
    server.stop()


def more(line, batches, dice):
    payload, count = dice.choice(batches)
    line.send(payload)
    return count


# Views: refusals that no owner is asked for


DETAILS = re.compile(rb"\*(?:8|16)\r\n\$6\r\nresult\r\n:(-?\d+)\r\n\$6\r\nreason\r\n\$\d+\r\n(\w+)\r\n\$8\r\nsequence\r\n:(\d+)\r\n"
                     rb"(?:\$8\r\nreserved\r\n:\d+\r\n|\$2\r\nid\r\n\$36\r\n([\w-]+)\r\n\$5\r\nstate\r\n\$8\r\nRESERVED\r\n"
                     rb"\$8\r\nquantity\r\n:1\r\n\$9\r\navailable\r\n:\d+\r\n\$8\r\ndeadline\r\n:(\d+)\r\n)")


class Watch:
    """What refusals said, and what was known when they were asked for."""

    def __init__(self):
        self.seen, self.taken, self.refusals = 0, {}, []  # taken: sequence -> (id, deadline)

    def note(self, asked, found):
        """A reply, with (highest sequence known, wall ms) when its request was sent."""
        result, reason, sequence, id, deadline = found.groups()
        if int(result) >= 0:
            self.taken[int(sequence)] = id.decode(), int(deadline)
        else:
            check((result, reason) == (b"-1", b"sold_out"), "sold out", found[0])
            self.refusals.append((int(sequence), *asked))
        self.seen = max(self.seen, int(sequence))


def a_view_never_refuses_what_is_there(load, folder):
    server, connections_count, depth, stock, ttl_ms = running(load.server, folder, metrics=True), 50, 8, 20, 200
    item, users, watch = "view", itertools.count(), Watch()
    with Lines(server, connections_count) as lines, Connection(server.address) as main:
        create(main, [item], "STOCK", stock, "LIMIT", 0)
        for number in range(stock):  # one falls due every 10 ms
            reply = as_map(main.ask("RESERVE", item, next(users), "TTL", ttl_ms // 2 + number * ttl_ms // stock, "DETAILS"))
            watch.taken[reply["sequence"]] = reply["id"].decode(), reply["deadline"]
            watch.seen = reply["sequence"]

        def ask(line):
            waiting[line] = (watch.seen, time.time() * 1000), depth
            line.send(b"".join(encode("RESERVE", item, next(users), "TTL", ttl_ms, "DETAILS") for _ in range(depth)))
        waiting, text, end = {}, dict.fromkeys(lines.each, b""), time.monotonic() + load.seconds
        for line in lines.each:
            ask(line)
        while waiting:
            for line, new in lines.turn():
                text[line] += b"\r\n".join(new) + b"\r\n"
                asked, left = waiting[line]
                at = 0
                while found := DETAILS.match(text[line], at):
                    watch.note(asked, found)
                    at, left = found.end(), left - 1
                text[line] = text[line][at:]
                waiting[line] = asked, left
                if left == 0:
                    check(not text[line], "no more than was asked for", text[line])
                    ask(line) if time.monotonic() < end else waiting.pop(line)
        judge(watch, stock, states(main, item, watch))
        told = scrape(server.metrics_port).total("holdfast_view_refusals_total")
        share = f"{100 * told / len(watch.refusals):.1f}% of them from views" if told else "of which from views: not told"
    print(f"  {len(watch.refusals)} refusals, {share}; {len(watch.taken)} units taken, one every {1000 * load.seconds / len(watch.taken):.1f} ms")
    server.stop()


def states(main, item, watch):
    """The sequence at which each reservation expired, by the sequence at which it was made; None: it lives."""
    order = sorted(watch.taken)
    replies = main.ask_all([("RESERVATION", "GET", item, "ID", watch.taken[sequence][0]) for sequence in order])
    maps = dict(zip(order, map(as_map, replies)))
    return {sequence: found["sequence"] if found["state"] == b"EXPIRED" else None for sequence, found in maps.items()}


def judge(watch, stock, expired):
    """Every refusal against the history of the item."""
    ends = {end: began for began, end in expired.items() if end}
    last = max([*ends, *watch.taken])
    check(not set(ends) & set(watch.taken) and len(ends) + len(watch.taken) == last - 3, "the history has no gap", last, len(ends), len(watch.taken))
    available, live, known = stock, {}, {3: (stock, float("inf"))}
    for sequence in range(4, last + 1):
        if sequence in watch.taken:
            live[sequence] = watch.taken[sequence][1]
        else:
            del live[ends[sequence]]
        available = stock - len(live)
        known[sequence] = available, min(live.values(), default=float("inf"))
        check(0 <= available, "never one too many", sequence)
    check(len(watch.refusals) > 100, "there were refusals", len(watch.refusals))
    for sequence, seen, sent_ms in watch.refusals:
        check(sequence >= seen, "no refusal is older than what was known before", sequence, seen)
        available, next_due = known[sequence]
        check(available == 0, "nothing was available where it was refused", sequence, available)
        check(sent_ms <= next_due + SLACK_MS, "what is due is free at once", sequence, sent_ms, next_due)


ALL = [a_thousand_users_race_for_a_hundred_units, a_released_unit_is_there_for_the_next_command,
       everybody_asks_everybody_and_all_are_answered, a_view_never_refuses_what_is_there]


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="of the race")
    parser.add_argument("--pairs", type=int, default=5000, help="of RELEASE and RESERVE on one connection")
    parser.add_argument("--seconds", type=float, default=10, help="of everybody asking everybody, and of refusals from views")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    run_cases(ALL, options, Load(options))


if __name__ == "__main__":
    main()
