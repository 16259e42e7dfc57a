#!/usr/bin/env python3
"""Commands that concern more than one shard thread, from connections on all of them: keys and lists, messages, administration.

usage: shards_commands_test.py --server build/release/bin/holdfastd [--only NAME]

Every server has four shards unless a case needs another number.
"""
import collections
import contextlib
import json
import re
import select
import socket
import sys

sys.dont_write_bytecode = True
from admin_test import clients, info, in_the_background, read_to_the_end  # noqa: E402
from cases import arguments, run_cases  # noqa: E402
from holdfastd_test import check  # noqa: E402
from resp import Connection, as_map, encode  # noqa: E402
from shards import PATIENCE_SECONDS, SHARDS, connections, create, eventually, listed, names_everywhere, running  # noqa: E402

CROWD = 3 * SHARDS


@contextlib.contextmanager
def serving(program, folder, *flags, count=CROWD, **more):
    """A server with connections on all of its threads."""
    server = running(program, folder, *flags, **more)
    each = connections(server, count)
    try:
        yield server, each
    finally:
        for connection in each:
            connection.__exit__()
    server.stop()


def stock_keys(names):
    return [f"{{{name}}}:stock" for name in names]


# Keys, lists, items


def keys_of_several_owners_in_one_command(program, folder):
    with serving(program, folder, count=SHARDS) as (_, each):
        for number, connection in enumerate(each):
            names = names_everywhere(f"k{number}-", 2 * SHARDS)
            keys = stock_keys(names)
            for stock, name in enumerate(names, 1):
                create(connection, [name], "STOCK", stock)
            mixed = [word for key in keys for word in (key, f"{{{key}none}}:stock")]
            check(connection.ask("EXISTS", *mixed, keys[0]) == len(keys) + 1, "EXISTS counts each time it is named")
            check(connection.ask("TOUCH", *mixed) == len(keys), "TOUCH")
            wanted = [word for stock in range(1, len(keys) + 1) for word in (str(stock).encode(), None)]
            check(connection.ask("MGET", *mixed) == wanted, "MGET in the order asked for")
            check(connection.ask("MGET", *reversed(mixed), "{%s}:buyers" % names[0]) == [*reversed(wanted), None], "MGET, turned round")
            check(connection.ask("DEL", *mixed[:8]) == 4 and connection.ask("UNLINK", *mixed) == len(keys) - 4, "DEL and UNLINK")
            check(connection.ask("EXISTS", *keys) == 0 and connection.ask("DBSIZE") == 0, "they are gone")
            check(connection.ask("MGET", *keys) == [None] * len(keys), "MGET of none")


def lists_are_complete_and_name_each_once(program, folder):
    with serving(program, folder, count=SHARDS) as (_, each):
        names = [f"list:{n}" for n in range(997)]
        create(each[0], names, "STOCK", 2)
        each[1].ask_all([("RESERVE", name, "u") for name in names[::10]])
        each[2].ask_all([("ITEM", "PAUSE", name) for name in names[::7]])
        check([connection.ask("DBSIZE") for connection in each] == [len(names)] * SHARDS, "DBSIZE")
        items = sorted(name.encode() for name in names)
        keys = sorted([key.encode() for key in stock_keys(names)] + [f"{{{name}}}:buyers".encode() for name in names[::10]])
        for number, count in enumerate((1, 2, 7, 10, 100, 996, 997, 5000)):
            connection = each[number % SHARDS]
            for wanted, words in ((items, ("ITEM", "LIST", "CURSOR", "@", "COUNT", count)), (keys, ("SCAN", "@", "COUNT", count)),
                                  ([name for name in items if name.endswith(b"5")], ("ITEM", "LIST", "CURSOR", "@", "COUNT", count, "MATCH", "*5")),
                                  ([key for key in keys if key.endswith(b"buyers")], ("SCAN", "@", "MATCH", "*:buyers", "COUNT", count)),
                                  (sorted(name.encode() for name in names[::7]), ("ITEM", "LIST", "CURSOR", "@", "STATE", "PAUSED", "COUNT", count))):
                found = listed(connection, *words)
                check(sorted(found) == wanted, "each once, and all", words, len(found), len(wanted))
        check(info(each[3], "keyspace")["db0"].startswith(f"keys={len(names)},"), "INFO keyspace")
        cursor, found = b"0", []
        for turn in range(10**6):  # others come and go meanwhile, and the pages are asked for on different threads
            cursor, page = each[turn % SHARDS].ask("ITEM", "LIST", "CURSOR", cursor, "COUNT", 20)
            found += page
            create(each[1], [f"new:{turn}"], "STOCK", 1)
            if turn % 2:
                each[2].ask("ITEM", "DROP", f"new:{turn}")
            if cursor == b"0":
                break
        seen = collections.Counter(name for name in found if name.startswith(b"list:"))
        check(sorted(seen) == items and set(seen.values()) == {1}, "those that were there all the time, each once", len(seen), seen.most_common(2))


def words_to_all_items_reach_every_shard(program, folder):
    with serving(program, folder, count=SHARDS) as (_, each):
        names = names_everywhere("all", 3 * SHARDS)
        create(each[0], names, "STOCK", 5)
        check(set(each[1].ask_all([("RESERVE", name, "u") for name in names])) == {4}, "one of five is taken")
        check(each[2].ask("ITEM", "VERIFY", "*") == [], "all are well")
        check(each[3].ask("ITEM", "RETURNS", "*", "HOLD") == "OK", "HOLD")
        created = names_everywhere("late", SHARDS)
        create(each[0], created, "STOCK", 5)
        each[1].ask_all([("RESERVE", name, "u") for name in created])
        for number, name in enumerate(names + created):
            check(each[number % SHARDS].ask("RELEASE", name, "u") == 4, "what comes back is held, of new items too", name)
        found = [as_map(connection.ask("ITEM", "GET", name)) for name in names + created for connection in each[:1]]
        check({(one["available"], one["held"]) for one in found} == {(4, 1)}, "held", found[:1])
        check(each[0].ask("ITEM", "RETURNS", "*", "FREE") == "OK", "FREE")
        found = [as_map(each[3].ask("ITEM", "GET", name)) for name in names + created]
        check({(one["available"], one["held"]) for one in found} == {(5, 0)}, "free", found[:1])
        check(each[1].ask("ITEM", "VERIFY", "*") == [], "all are well")


# Messages


def messages_reach_every_thread(program, folder):
    with serving(program, folder, count=CROWD + 2) as (_, each):
        listeners, patterns, publishers = each[:CROWD], each[:SHARDS + 1], each[-2:]
        for number, listener in enumerate(listeners, 1):
            check(listener.ask("SUBSCRIBE", "news")[2] == 1, "subscribed")
            # Whoever has its confirmation counts for everybody.
            check(publishers[number % 2].ask("PUBLISH", "news", "hello") == number, "PUBLISH counts those there are", number)
        for number, listener in enumerate(listeners):
            check([listener.read()[2] for _ in range(CROWD - number)] == [b"hello"] * (CROWD - number), "each of its time on")
        for number, listener in enumerate(patterns):
            check(listener.ask("PSUBSCRIBE", f"n*{number % 2}*")[2] == 2, "a pattern")
            check(listener.ask("SUBSCRIBE", f"own{number}")[2] == 3, "a channel of its own")
        for asker in publishers:
            check(asker.ask("PUBSUB", "NUMPAT") == 2, "NUMPAT counts patterns, not who has them")
            check(sorted(asker.ask("PUBSUB", "CHANNELS")) == sorted([b"news", *(b"own%d" % n for n in range(len(patterns)))]), "CHANNELS, each once")
            check(asker.ask("PUBSUB", "CHANNELS", "own*") and asker.ask("PUBSUB", "NUMSUB", "news", "own1", "x") ==
                  [b"news", CROWD, b"own1", 1, b"x", 0], "NUMSUB")
            check(asker.ask("PUBLISH", "n-0-", "p") == (len(patterns) + 1) // 2, "through patterns")
        for listener in patterns[::2]:
            check([listener.read()[3] for _ in publishers] == [b"p"] * 2, "through a pattern")
        count = 500
        senders = [in_the_background(lambda one=one, n=n: one.ask_all([("PUBLISH", "news", f"{n} {m}") for m in range(count)]))
                   for n, one in enumerate(publishers)]
        for listener in listeners:
            heard = [tuple(map(int, listener.read()[2].split())) for _ in range(2 * count)]
            for n in range(len(publishers)):
                check([m for of, m in heard if of == n] == list(range(count)), "of each publisher all, in order", n)
        for sender in senders:
            sender.join()
        for number, listener in enumerate(listeners):
            listener.send([("UNSUBSCRIBE", "news")])
            check([listener.read()[2] for _ in range(number)] == [b"bye"] * number, "each until it leaves")
            check(listener.read()[0] == b"unsubscribe", "then it has left")
            check(publishers[0].ask("PUBLISH", "news", "bye") == CROWD - 1 - number, "who has left is not counted", number)
        for listener in patterns:
            listener.socket.shutdown(socket.SHUT_RDWR)
        eventually(lambda: publishers[1].ask("PUBSUB", "CHANNELS") == [] and publishers[0].ask("PUBSUB", "NUMPAT") == 0, "who is gone is forgotten")


def notice(client):
    return json.loads(client.read()[2])


def notices_tell_of_items_of_all_shards(program, folder):
    with serving(program, folder) as (_, each):
        shop, listeners = each[0], each[1:SHARDS + 1]
        names, quiet = names_everywhere("n", 4 * SHARDS), names_everywhere("q", 2 * SHARDS)
        create(shop, names + quiet, "STOCK", 1)
        shop.ask_all([("RESERVE", name, "u") for name in names[::2]])
        shop.ask_all([("ITEM", "PAUSE", name) for name in names[1::2]])
        wanted = dict.fromkeys(names[::2], "sold_out") | dict.fromkeys(names[1::2], "paused")
        for listener in listeners:
            check(listener.ask("SUBSCRIBE", "holdfast:items")[2] == 1, "subscribed")
            first = [notice(listener) for _ in names]
            check({one["item"]: one["event"] for one in first} == wanted, "one first notice of each that does not sell", first)
        for number, name in enumerate(names):  # commands on every thread
            each[-1 - number % SHARDS].ask(*(("ITEM", "OPEN", name) if number % 2 else ("RELEASE", name, "u")))
        for number, name in enumerate(quiet):
            each[-1 - number % SHARDS].ask("RESERVE", name, "u")
        for name in names[::2]:
            shop.ask("RESERVE", name, "v")
        events = {name: ["reopened", "sold_out"] for name in names[::2]} | {name: ["reopened"] for name in names[1::2]} | \
            {name: ["sold_out"] for name in quiet}
        for listener in listeners:
            heard = [notice(listener) for _ in range(sum(map(len, events.values())))]
            told = {name: [one["event"] for one in heard if one["item"] == name] for name in events}
            check(told == events, "of each item, in its order", {name: told[name] for name in told if told[name] != events[name]})
            sequences = {name: [one["sequence"] for one in heard if one["item"] == name] for name in events}
            check(all(found == sorted(set(found)) for found in sequences.values()), "with growing sequences", sequences)
            listener.send([("PING",)])
            check(listener.read() == [b"pong", b""], "and nothing else")


def a_monitor_sees_the_commands_of_all_threads(program, folder):
    with serving(program, folder) as (_, each):
        names = names_everywhere("mon", SHARDS)
        create(each[0], names, "STOCK", 100)
        monitors, talkers = each[:2], each[2:]
        check([monitor.ask("MONITOR") for monitor in monitors] == ["OK"] * 2, "they watch")
        threads = [in_the_background(lambda one=one, n=n: one.ask_all([("RESERVE", names[m % SHARDS], f"{n} {m}") for m in range(50)], 10))
                   for n, one in enumerate(talkers)]
        for monitor in monitors:
            seen = [re.fullmatch(r'\d+\.\d{6} \[0 127\.0\.0\.1:(\d+)\] "RESERVE" "(\w+)" "(\d+) (\d+)"', monitor.read())
                    for _ in range(50 * len(talkers))]
            check(None not in seen, "lines of RESERVE")
            for n, talker in enumerate(talkers):
                own = [int(line[4]) for line in seen if line[3] == str(n)]
                check(own == list(range(50)), "of each connection all, once, in order", n, own)
                check({line[1] for line in seen if line[3] == str(n)} == {str(talker.socket.getsockname()[1])}, "its address", n)
        for thread in threads:
            thread.join()
        for talker in talkers:
            check(info(talker, "clients")["monitor_clients"] == "2", "INFO counts them")


# Connections


def connections_of_all_threads_are_listed_and_killed(program, folder):
    with serving(program, folder, count=4 * CROWD) as (_, each):
        ids = [connection.ask("CLIENT", "ID") for connection in each]
        check(len(set(ids)) == len(ids), "each has its own id")
        for number, connection in enumerate(each):
            connection.ask("CLIENT", "SETNAME", f"c{number}")
        for connection in each[:SHARDS]:
            eventually(lambda: info(connection, "clients")["connected_clients"] == str(len(each)), "connected_clients")
            lines = clients(connection)
            check({int(line["id"]): line["name"] for line in lines} == {id: f"c{number}" for number, id in enumerate(ids)}, "CLIENT LIST", lines)
            check(len(lines) == len(each) and [int(line["id"]) for line in lines] == sorted(ids), "each once, by id")
            some = clients(connection, "ID", *ids[5:12], 10**9)
            check([int(line["id"]) for line in some] == sorted(ids[5:12]), "by ids", some)
        victims = each[2 * SHARDS:]
        for number, victim in enumerate(victims[:2 * SHARDS]):
            killer, id = each[number // 2], ids[2 * SHARDS + number]
            port = victim.socket.getsockname()[1]
            words = ("ID", id) if number % 2 else ("ADDR", f"127.0.0.1:{port}")
            check(killer.ask("CLIENT", "KILL", *words) == 1, "one is killed", words)
            check(read_to_the_end(victim) == [], "it is closed", words)
            check(killer.ask("CLIENT", "KILL", *words) == 0, "it is gone", words)
        rest = victims[2 * SHARDS:]
        for listener in rest[:SHARDS + 1]:
            listener.ask("SUBSCRIBE", "x")
        check(each[0].ask("CLIENT", "KILL", "TYPE", "pubsub") == SHARDS + 1, "all of a type")
        check([read_to_the_end(listener) for listener in rest[:SHARDS + 1]] == [[]] * (SHARDS + 1), "they are closed")
        left = 2 * SHARDS + len(rest) - SHARDS - 1
        eventually(lambda: len(clients(each[0])) == left, "the others stay")
        check(each[1].ask("CLIENT", "KILL", "TYPE", "normal") == left - 1, "all but oneself")
        check(each[1].ask("PING") == "PONG", "oneself stays")


def waiting_is_ended_from_other_threads(program, folder):
    with serving(program, folder) as (_, each):
        create(each[0], names_everywhere("w", SHARDS), "STOCK", 10)
        ids = [connection.ask("CLIENT", "ID") for connection in each]
        waiters, admins = each[:2 * SHARDS], each[2 * SHARDS:]
        for waiter in waiters:
            waiter.send([("WAIT", 1, 0), ("PING",)])
        eventually(lambda: [line["flags"] for line in clients(admins[0], "ID", *ids[:2 * SHARDS])] == ["b"] * len(waiters), "all wait")
        check(info(admins[1], "clients")["blocked_clients"] == str(len(waiters)), "INFO counts them")
        for number, waiter in enumerate(waiters):
            error = number % 2
            admin = admins[number // 2 % len(admins)]
            check(admin.ask("CLIENT", "UNBLOCK", ids[number], *["ERROR"] * error) == 1, "it is unblocked")
            reply = waiter.read()
            check(str(reply).startswith("-UNBLOCKED ") if error else reply == 0, "its answer", reply)
            check(waiter.read() == "PONG" and admin.ask("CLIENT", "UNBLOCK", ids[number]) == 0, "it goes on")


def connections_of_all_threads_are_bounded(program, folder):
    server, most, crowd = running(program, folder, "--maxclients", "10"), 10, 40
    told = b"-ERR max number of clients reached\r\n"

    def admitted(count):
        """Of so many new connections those that are served; the others must be told why not."""
        served = []
        for _ in range(count):
            client = socket.create_connection(server.address, PATIENCE_SECONDS)
            try:
                client.sendall(encode("PING"))
                answer = client.recv(100)
            except ConnectionError:
                answer = b"closed"
            check(answer in (b"+PONG\r\n", told, b"closed", b""), "served or told", answer)
            if answer == b"+PONG\r\n":
                served.append(client)
            else:
                client.close()
        return served
    with Connection(server.address) as admin:
        eventually(lambda: info(admin, "clients")["connected_clients"] == "1", "it is alone")
        served = admitted(crowd)
        check(len(served) == most - 1, "as many as there may be", len(served))
        check(admin.ask("CONFIG", "SET", "maxclients", most + 7) == "OK", "CONFIG SET")
        served += admitted(crowd)
        check(len(served) == most + 6, "seven more", len(served))
        check(int(info(admin, "stats")["rejected_connections"]) == 2 * crowd - most - 6, "INFO counts the others")
        for client in served:
            client.close()
        eventually(lambda: info(admin, "clients")["connected_clients"] == "1", "they are gone")
        check(len(admitted(most)) == most, "there is room again")
    server.stop()


# Settings and figures


def settings_hold_on_all_threads(program, folder):
    with serving(program, folder) as (_, each):
        for number, connection in enumerate(each):
            check(connection.ask("CONFIG", "SET", "slowlog-max-len", 100 + number) == "OK", "CONFIG SET")
            found = [other.ask("CONFIG", "GET", "slowlog-max-len") for other in each]
            check(found == [[b"slowlog-max-len", b"%d" % (100 + number)]] * len(each), "all know it", found)
        quiet, talker = each[1:], each[0]
        check(talker.ask("CONFIG", "SET", "timeout", 1) == "OK", "connections that say nothing are to be closed")
        open_ones = {connection.socket for connection in quiet}

        def all_closed():
            check(talker.ask("PING") == "PONG", "who talks stays")
            for sock in select.select(open_ones, [], [], 0.05)[0]:
                check(sock.recv(100) == b"", "closed without a word")
                open_ones.discard(sock)
            return not open_ones
        eventually(all_closed, "on every thread they are", len(open_ones))
        talker.ask("CONFIG", "SET", "timeout", 0)


def figures_are_sums_over_all_threads(program, folder):
    with serving(program, folder) as (server, each):
        names = names_everywhere("f", 2 * SHARDS)
        create(each[0], names, "STOCK", 100)
        asker, others = each[0], each[1:]
        eventually(lambda: info(asker, "clients")["connected_clients"] == str(len(each)), "connected_clients")
        before = info(asker, "all")
        for number, connection in enumerate(others):
            connection.ask_all([("PING",)] * 100)
            replies = connection.ask_all([("RESERVE", name, number) for name in names])
            check(min(replies) >= 0, "sold", replies)
            connection.ask("NOSUCH")
        after = info(asker, "all")
        count = len(others)
        for field, grown in (("total_commands_processed", count * (101 + len(names)) + 1), ("total_error_replies", count),
                             ("total_connections_received", 0)):
            check(int(after[field]) - int(before[field]) == grown, field, before[field], after[field], grown)
        for command, calls in (("ping", count * 100), ("reserve", count * len(names))):
            old = int(re.search(r"calls=(\d+)", before.get(f"cmdstat_{command}", "calls=0"))[1])
            found = int(re.search(r"calls=(\d+)", after[f"cmdstat_{command}"])[1])
            check(found - old == calls, "commandstats", command, found, old, calls)
        check(after["db0"].startswith(f"keys={len(names)},"), "keyspace", after["db0"])
        check(as_map(as_map(asker.ask("LATENCY", "HISTOGRAM", "reserve"))["reserve"])["calls"] == count * len(names), "LATENCY HISTOGRAM")
        check(others[0].ask("CONFIG", "RESETSTAT") == "OK", "RESETSTAT")
        for connection in each:
            shown = info(connection, "all")
            check("cmdstat_reserve" not in shown and "cmdstat_ping" not in shown, "it is forgotten everywhere", shown.get("cmdstat_ping"))
            check(int(shown["total_commands_processed"]) <= len(each) + 1 and "errorstat_ERR" not in shown, "counters begin anew", shown)
        check(int(info(asker, "clients")["connected_clients"]) == len(each), "connections stay")


def the_slow_log_is_that_of_all_threads(program, folder):
    with serving(program, folder, "--slowlog-log-slower-than", "0", "--slowlog-max-len", "500") as (_, each):
        names = names_everywhere("slow", SHARDS)
        create(each[0], names, "STOCK", 100)
        wanted = set()
        for number, connection in enumerate(each):
            for name in names:
                connection.ask("RESERVE", name, f"u{number}")
                wanted.add((f"u{number}".encode(), b"127.0.0.1:%d" % connection.socket.getsockname()[1], name.encode()))
        for asker in each[:SHARDS]:
            entries = asker.ask("SLOWLOG", "GET", -1)
            found = {(entry[3][2], entry[4], entry[3][1]) for entry in entries if entry[3][0] == b"RESERVE"}
            check(found == wanted, "commands of all threads with their clients", len(found), len(wanted))
            ids = [entry[0] for entry in entries]
            check(ids == sorted(set(ids), reverse=True), "the newest first, each with its own number", ids)
            check(asker.ask("SLOWLOG", "LEN") >= len(entries), "LEN")
            check(asker.ask("SLOWLOG", "GET", 5)[4][0] >= ids[5], "GET of a few are the newest")
        check(each[0].ask("CONFIG", "SET", "slowlog-max-len", 10) == "OK" and each[1].ask("SLOWLOG", "LEN") <= 10, "slowlog-max-len bounds all of them")
        check(each[1].ask("CONFIG", "SET", "slowlog-log-slower-than", -1) == "OK" and each[2].ask("SLOWLOG", "RESET") == "OK", "RESET")
        for connection in each:
            connection.ask("PING")
            check(connection.ask("SLOWLOG", "LEN") == 0, "nothing is left, on any thread")


ALL = [keys_of_several_owners_in_one_command, lists_are_complete_and_name_each_once, words_to_all_items_reach_every_shard,
       messages_reach_every_thread, notices_tell_of_items_of_all_shards, a_monitor_sees_the_commands_of_all_threads,
       connections_of_all_threads_are_listed_and_killed, waiting_is_ended_from_other_threads, connections_of_all_threads_are_bounded,
       settings_hold_on_all_threads, figures_are_sums_over_all_threads, the_slow_log_is_that_of_all_threads]


if __name__ == "__main__":
    run_cases(ALL, arguments(__doc__).parse_args())
