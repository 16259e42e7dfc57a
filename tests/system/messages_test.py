#!/usr/bin/env python3
"""Transactions and messages over real connections: races of WATCH, notices of items, subscribers that do not read.

usage: messages_test.py --server build/release/bin/holdfastd [--only NAME]
"""
import json
import pathlib
import select
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "crash"))
from cases import arguments, run_cases  # noqa: E402
from holdfastd_test import MIB, Server, check  # noqa: E402
from resp import Connection, Lost, encode  # noqa: E402

PATIENCE_SECONDS = 60


def one_by_one_although_they_race(program, folder):
    """Each adds one by WATCH, GET, MULTI, SET, EXEC until it succeeds; none may be lost."""
    server = Server(program, folder)
    server.ready()
    threads_count, additions = 3, 60
    lost_races = []

    def add():
        with Connection(server.address) as connection:
            for _ in range(additions):
                while True:
                    connection.ask("WATCH", "{a}:stock")
                    value = int(connection.ask("GET", "{a}:stock"))
                    connection.send([("MULTI",), ("SET", "{a}:stock", value + 1), ("EXEC",)])
                    connection.read(), connection.read()
                    if connection.read() is not None:
                        break
                    lost_races.append(value)

    with Connection(server.address) as connection:
        connection.ask("SET", "{a}:stock", 0)
    threads = [threading.Thread(target=add) for _ in range(threads_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Connection(server.address) as connection:
        check(int(connection.ask("GET", "{a}:stock")) == threads_count * additions, "nothing is lost")
    check(lost_races, "they met")
    server.stop()


def subscribe(server, *words):
    client = Connection(server.address, PATIENCE_SECONDS)
    client.send([words])
    for word in words[1:]:
        confirmed = client.read()
        check(confirmed[0] == words[0].lower().encode() and confirmed[1] == word.encode(), "subscribed", confirmed)
    return client


def notice(client):
    return json.loads(client.read()[-1])


def who_listens_hears_what_sells(program, folder):
    server = Server(program, folder)
    server.ready()
    with Connection(server.address) as shop:
        shop.ask("ITEM", "CREATE", "sold", "STOCK", 1)
        shop.ask("RESERVE", "sold", "u")
        shop.ask("ITEM", "CREATE", "selling", "STOCK", 1)
        shop.ask("ITEM", "LOAD", b"\xff%", "VERSION", 7, "STOCK", 1)
        with subscribe(server, "SUBSCRIBE", "holdfast:items") as client, subscribe(server, "PSUBSCRIBE", "hold*") as other:
            first = {"event": "sold_out", "item": "sold", "version": 1, "sequence": 4, "state": "OPEN", "available": 0}
            for each in (client, other):
                told = {one["item"]: one for one in (notice(each), notice(each))}  # each shard tells of its own items
                check(told["sold"] == first, "a first notice", told)
                check((told["%FF%25"]["event"], told["%FF%25"]["version"]) == ("not_open", 7), "another", told)
            shop.ask("RESERVE", "selling", "u")
            shop.ask("RELEASE", "sold", "u")
            shop.ask("ITEM", "PAUSE", "sold")
            shop.ask("ITEM", "CLOSE", "sold")
            for each in (client, other):
                heard = [notice(each) for _ in range(4)]
                told = {item: [(one["event"], one["available"]) for one in heard if one["item"] == item] for item in ("selling", "sold")}
                check(told == {"selling": [("sold_out", 0)], "sold": [("reopened", 1), ("paused", 1), ("closed", 1)]},
                      "notices of an item in order", heard)
            check(str(shop.ask("PUBLISH", "holdfast:items", "x")).startswith("-ERR"), "nobody else publishes there")
    server.stop()


def many_first_notices_cost_no_memory(program, folder):
    server = Server(program, folder)
    server.ready()
    count = 100_000
    with Connection(server.address) as shop:
        shop.ask_all([("ITEM", "LOAD", f"item-{'x' * 80}-{n}", "VERSION", 1, "STOCK", 1) for n in range(count)])
        with socket.create_connection(server.address, PATIENCE_SECONDS) as slow:
            before = server.resident()
            slow.sendall(encode("SUBSCRIBE", "holdfast:items"))
            check(select.select([slow], [], [], PATIENCE_SECONDS)[0], "it begins")
            for _ in range(50):
                check(shop.ask("PING") == "PONG", "others are served")
            grown = server.resident() - before
            check(server.sanitized() or grown < 4 * MIB, "memory while the client reads nothing", grown)
            stream = slow.makefile("rb")
            seen, end = set(), time.monotonic() + PATIENCE_SECONDS
            while len(seen) < count and time.monotonic() < end:
                line = stream.readline()
                check(line, "it goes on", len(seen))
                if line.startswith(b"{"):
                    name = json.loads(line)["item"]
                    check(name not in seen, "each once", name)
                    seen.add(name)
            check(len(seen) == count, "all of them", len(seen))
            grown = server.resident() - before
            check(server.sanitized() or grown < 8 * MIB, "memory at the end", grown)
    server.stop()


def who_does_not_read_is_closed(program, folder):
    server = Server(program, folder)
    server.ready()
    with subscribe(server, "SUBSCRIBE", "c") as slow, Connection(server.address) as publisher:
        message = "x" * 65536
        sent = 0
        while publisher.ask("PUBLISH", "c", message) == 1:
            sent += len(message)
            check(sent < 64 * MIB, "it is closed", sent)
        check(sent >= 8 * MIB, "not before its limit", sent)
        info = publisher.ask("INFO", "stats").decode()
        check("\r\nclient_output_buffer_limit_disconnections:1\r\n" in info and "\r\npubsub_channels:0\r\n" in info, "INFO", info)
        check("more than 8388608 bytes of messages wait for it" in server.output(), "a line", server.output())
        try:
            while True:
                slow.read()
        except Lost:
            pass
    server.stop()


ALL = [one_by_one_although_they_race, who_listens_hears_what_sells, many_first_notices_cost_no_memory, who_does_not_read_is_closed]


if __name__ == "__main__":
    run_cases(ALL, arguments(__doc__).parse_args())
