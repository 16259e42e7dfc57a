#!/usr/bin/env python3
"""holdfastd as administrators meet it: other connections listed, killed and watched, waiting ended, the server shut down.

usage: admin_test.py --server build/release/bin/holdfastd [--only NAME]
"""
import os
import pathlib
import re
import select
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import arguments, run_cases  # noqa: E402
from holdfastd_test import MIB, STOP_SECONDS, Server, check  # noqa: E402
from resp import Connection, Lost, Refusal, encode  # noqa: E402

PATIENCE_SECONDS = 150  # a bound only: the slowest is a sanitizer on a busy machine
BUSY_SECONDS = 3  # longer than a peer is waited for that has taken everything
STOCK, CROWD = 10**6, 5000
FIELDS_OF_A_CLIENT = ("id addr laddr fd name age idle flags db sub psub ssub multi qbuf qbuf-free argv-mem multi-mem rbs rbp obl oll omem "
                      "tot-mem events cmd user redir resp lib-name lib-ver").split()


def running(program, folder, *flags):
    server = Server(program, folder, *flags)
    server.ready()
    return server


def eventually(condition, what):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        check(time.monotonic() < deadline, what)


def clients(connection, *words):
    """The lines of CLIENT LIST as dicts."""
    lines = connection.ask("CLIENT", "LIST", *words).decode().splitlines()
    return [dict(field.split("=", 1) for field in line.split(" ")) for line in lines]


def info(connection, *sections):
    """What INFO says, taken apart by a reader that forgives nothing."""
    text = connection.ask("INFO", *sections).decode()
    check(text == "" or text.endswith("\r\n"), "INFO ends in CR LF")
    fields = {}
    for line in text.split("\r\n"):
        check("\n" not in line and "\r" not in line, "only CR LF ends a line", line)
        if line and not line.startswith("# "):
            name, value = line.split(":", 1)
            check(re.fullmatch(r"[\w|.-]+", name) and name not in fields, "a field, once", line)
            fields[name] = value
    return fields


def read_to_the_end(connection):
    replies = []
    try:
        while True:
            replies.append(connection.read())
    except Lost:
        return replies


def in_the_background(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


# CLIENT


def connections_are_listed_as_they_are(program, folder):
    server = running(program, folder)
    with Connection(server.address) as admin, Connection(server.address) as other:
        other.ask("CLIENT", "SETNAME", "watched")
        other.ask("CLIENT", "SETINFO", "LIB-NAME", "lib")
        other.ask("CLIENT", "NO-EVICT", "ON")
        id = other.ask("CLIENT", "ID")
        port = other.socket.getsockname()[1]
        lines = clients(admin)
        check([list(line) for line in lines] == [FIELDS_OF_A_CLIENT] * 2, "the fields of Redis 7.2 in its order", lines)
        check([int(line["id"]) for line in lines] == sorted(int(line["id"]) for line in lines), "in the order of their ids")
        line = clients(admin, "ID", id, 10**6)[0]
        check(line["name"] == "watched" and line["lib-name"] == "lib" and line["flags"] == "e", "what it said of itself", line)
        check(line["addr"].endswith(f":{port}") and line["cmd"] == "client|id" and line["events"] == "r", "what it is", line)
        eventually(lambda: int(clients(admin, "ID", id)[0]["idle"]) >= 1, "it becomes idle")
        check(clients(admin)[0]["idle"] == "0", "who asks is not idle")
        check(other.ask("CLIENT", "INFO").decode().split()[0] == f"id={id}", "CLIENT INFO is the same line of oneself")
        other.socket.sendall(b"*2\r\n$4\r\nECHO\r\n$10\r\nhalf")
        eventually(lambda: clients(admin, "ID", id)[0]["qbuf"] == "23", "input that is not whole")
        check(clients(admin, "TYPE", "pubsub") == [] and len(clients(admin, "TYPE", "normal")) == 2, "by type")
    server.stop()


def a_killed_connection_answers_what_it_executed(program, folder):
    server = running(program, folder)
    with Connection(server.address) as admin, Connection(server.address, PATIENCE_SECONDS) as seller:
        admin.ask("ITEM", "CREATE", "a", "STOCK", STOCK)
        id = seller.ask("CLIENT", "ID")
        # It sends without pause and reads only afterwards: the kill falls in the middle of its requests.
        requests = b"".join(encode("RESERVE", "a", user) for user in range(200_000))
        sender = in_the_background(lambda: send_all(seller.socket, requests))
        eventually(lambda: int(admin.ask("GET", "{a}:stock")) < STOCK, "it has begun")
        check(admin.ask("CLIENT", "KILL", "ID", id) == 1, "it is killed")
        replies = read_to_the_end(seller)
        sender.join(PATIENCE_SECONDS)
        check(0 < len(replies) < 200_000, "it ended in the middle", len(replies))
        check(replies == list(range(STOCK - 1, STOCK - 1 - len(replies), -1)), "replies in order, none left out", len(replies))
        left = int(admin.ask("GET", "{a}:stock"))
        check(left == STOCK - len(replies), "what was executed was answered, and nothing else was executed", left, len(replies))
        check(clients(admin, "ID", id) == [], "it is gone")
    server.stop()


def replies_under_way_survive_a_kill(program, folder):
    server = running(program, folder, "--write-timeout", "60s")  # a sanitizer and its load make this client slow
    with Connection(server.address) as admin, Connection(server.address, PATIENCE_SECONDS) as seller:
        admin.ask("ITEM", "CREATE", "a", "STOCK", 10 * STOCK)
        id = seller.ask("CLIENT", "ID")
        # It reads nothing until it is killed: replies and requests lie in every buffer on the way.
        sender = in_the_background(lambda: send_all(seller.socket, b"".join(encode("RESERVE", "a", user) for user in range(1_500_000))))
        eventually(lambda: int(clients(admin, "ID", id)[0]["obl"]) >= MIB, "it is full")
        check(admin.ask("CLIENT", "KILL", "ID", id) == 1, "it is killed")
        replies = []
        while clients(admin, "ID", id):
            replies += [seller.read() for _ in range(1000)]
        # The server has given everything to the system. A peer that goes on asking and reads nothing for a while loses nothing.
        busy_until = time.monotonic() + BUSY_SECONDS
        while time.monotonic() < busy_until:
            send_all(seller.socket, encode("PING"))
            select.select([], [], [], 0.1)
        replies += read_to_the_end(seller)
        sender.join(PATIENCE_SECONDS)
        left = int(admin.ask("GET", "{a}:stock"))
        check(left == 10 * STOCK - len(replies), "every reply arrived", left, len(replies))
    server.stop()


def send_all(client, data):
    try:
        client.sendall(data)
    except OSError:
        pass


def kills_go_by_every_mark(program, folder):
    server = running(program, folder)
    with Connection(server.address) as admin:
        port = admin.socket.getsockname()[1]
        for words in (("ADDR", "{addr}"), ("ID", "{id}"), ("{addr}",), ("TYPE", "normal", "ID", "{id}"), ("USER", "default", "ADDR", "{addr}")):
            with Connection(server.address) as victim:
                facts = {"id": victim.ask("CLIENT", "ID"), "addr": "127.0.0.1:%d" % victim.socket.getsockname()[1]}
                reply = admin.ask("CLIENT", "KILL", *[word.format(**facts) for word in words])
                check(reply == ("OK" if len(words) == 1 else 1), "one is killed", words, reply)
                check(read_to_the_end(victim) == [], "it is closed", words)
        check(admin.ask("CLIENT", "KILL", "LADDR", f"127.0.0.1:{server.port}") == 0, "oneself is left out")
        check(admin.ask("CLIENT", "KILL", "MAXAGE", 1000) == 0, "nobody is that old")
        admin.send([("CLIENT", "KILL", f"127.0.0.1:{port}"), ("PING",)])
        check(read_to_the_end(admin) == ["OK"], "who kills himself is answered first, and nothing after is executed")
    server.stop()


def killing_thousands_does_not_stall_others(program, folder):
    server = running(program, folder)
    crowd = [socket.create_connection(server.address) for _ in range(CROWD)]
    with Connection(server.address) as admin:
        eventually(lambda: info(admin, "clients")["connected_clients"] == str(CROWD + 1), "all are there")
        check(len(clients(admin)) == CROWD + 1, "all are listed")
        eventually(lambda: len([line for line in clients(admin) if int(line["age"]) >= 2]) == CROWD + 1, "all are old")
        with Connection(server.address) as other:
            killed, worst = [], 0.0
            killer = in_the_background(lambda: killed.append(admin.ask("CLIENT", "KILL", "MAXAGE", 2)))
            while killer.is_alive():
                began = time.monotonic()
                check(other.ask("PING") == "PONG", "others are answered")
                worst = max(worst, time.monotonic() - began)
            check(killed == [CROWD], "all are killed", killed)
            check(worst < 1, "others do not wait for it", worst)
            print(f"  the longest PING while {CROWD} were killed: {worst * 1000:.1f} ms")
            eventually(lambda: info(admin, "clients")["connected_clients"] == "2", "they are gone")
    for client in crowd:
        client.close()
    server.stop()


def waiting_ends_by_order(program, folder):
    server = running(program, folder)
    id = "11111111-2222-3333-4444-555555555555"
    with Connection(server.address) as admin, Connection(server.address) as buyer:
        admin.ask("ITEM", "CREATE", "a", "STOCK", 10)
        buyer.ask("RESERVE", "a", "u", "ID", id)
        number = buyer.ask("CLIENT", "ID")
        check(admin.ask("CLIENT", "UNBLOCK", number) == 0, "it does not wait")
        reservation_wait = ("RESERVATION", "WAIT", "a", "ID", id, "STAGE", "done", "TIMEOUT", 10**7)
        for request, answer in ((("WAIT", 1, 0), 0), (("WAITAOF", 1, 1, 0), [1, 0])):
            buyer.send([request, ("PING",)])
            eventually(lambda: clients(admin, "ID", number)[0]["flags"] == "b", "it waits")
            check(info(admin, "clients")["blocked_clients"] == "1", "INFO counts it")
            check(admin.ask("CLIENT", "UNBLOCK", number) == 1, "it is unblocked")
            check([buyer.read(), buyer.read()] == [answer, "PONG"], "as if its time were over")
            buyer.send([request])
            eventually(lambda: admin.ask("CLIENT", "UNBLOCK", number, "ERROR") == 1, "it is unblocked with an error")
            check(buyer.read().text.startswith("UNBLOCKED "), "the error")
        buyer.send([reservation_wait])
        reply = []
        reader = in_the_background(lambda: reply.append(buyer.read()))
        while reader.is_alive():  # the stage may be reached by itself
            admin.ask("CLIENT", "UNBLOCK", number, "ERROR")
            reader.join(0.01)
        check(isinstance(reply[0], (Refusal, list)), "it is answered", reply)
    server.stop()


def waitaof_waits_for_the_disk(program, folder):
    for mode in ("always", "everysec"):
        data = os.path.join(folder, mode)
        os.mkdir(data)
        server = running(program, data, "--fsync", mode)
        with Connection(server.address) as buyer, Connection(server.address) as other:
            buyer.ask("ITEM", "CREATE", "a", "STOCK", STOCK)
            buyer.send([("RESERVE", "a", user) for user in range(100)] + [("WAITAOF", 1, 0, 0)])
            check([buyer.read() for _ in range(101)][-1] == [1, 0], "it is on the disk", mode)
            state = info(other, "holdfast")
            check(int(state["durable_lsn"]) >= 100, "so says INFO", mode, state)
            buyer.send([("RESERVE", "a", 1000), ("SAVE",)])
            check([buyer.read(), buyer.read()][1] == "OK", "SAVE too", mode)
            began = time.monotonic()
            check(buyer.ask("WAITAOF", 0, 1, 150) == [1, 0] and buyer.ask("WAIT", 1, 150) == 0, "no replica ever has it")
            check(0.29 < time.monotonic() - began < 5, "both wait until their time is over", time.monotonic() - began)
            check(abs(other.ask("LASTSAVE") - time.time()) < 60, "LASTSAVE is now")
        server.stop()


# MONITOR


def a_monitor_sees_what_others_execute(program, folder):
    server = running(program, folder)
    with Connection(server.address) as monitor, Connection(server.address) as second, Connection(server.address) as other:
        other.ask("ITEM", "CREATE", "a", "STOCK", 10)
        check([monitor.ask("MONITOR"), second.ask("MONITOR")] == ["OK", "OK"], "both watch")
        requests = [("RESERVE", "a", b'u"\\\x00\n'), ("NOSUCH", 1), ("RESERVE", "a", "u", "TOKEN", "hush"), ("AUTH", "hush"), ("PING",)]
        for request in requests:
            other.ask(*request)
        address = "127.0.0.1:%d" % other.socket.getsockname()[1]
        shown = [r'"RESERVE" "a" "u\"\\\x00\n"', '"RESERVE" "a" "u" "TOKEN" "(redacted)"', '"AUTH" "(redacted)"', '"PING"']
        first_lines = [monitor.read() for _ in shown]
        for line, words in zip(first_lines, shown):
            match = re.fullmatch(r"(\d+)\.(\d{6}) \[0 ([^ ]+)\] (.*)", line)
            check(match and match[3] == address and match[4] == words, "a line", line, words)
            check(abs(int(match[1]) - time.time()) < 60, "its time", line)
        check([second.read() for _ in shown][0] == first_lines[0], "every monitor sees it")
        facts = clients(other, "ID", monitor_id(other))
        check(facts[0]["flags"] == "O" and info(other, "clients")["monitor_clients"] == "2", "it is marked", facts)
        monitor.send([("RESET",)])
        while monitor.read() != "RESET":
            pass
        other.ask("PING")
        check(monitor.ask("PING") == "PONG", "it sees nothing more")
        second.send([("QUIT",)])
        read_to_the_end(second)
        eventually(lambda: info(other, "clients")["monitor_clients"] == "0", "QUIT ends it too")
    server.stop()


def monitor_id(connection):
    return next(int(line["id"]) for line in clients(connection) if line["flags"] == "O")


def a_monitor_that_does_not_read_is_closed(program, folder):
    server = running(program, folder)
    before = server.resident()
    with socket.create_connection(server.address) as monitor, Connection(server.address) as other:
        monitor.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        monitor.sendall(encode("MONITOR"))
        eventually(lambda: info(other, "clients")["monitor_clients"] == "1", "it watches")
        for _ in range(200):
            other.ask_all([("ECHO", b"\xff" * 60_000)] * 4, at_once=4)
            if info(other, "clients")["monitor_clients"] == "0":
                break
        check(info(other, "clients")["monitor_clients"] == "0", "it is closed")
        check(server.sanitized() or server.resident() - before < 48 * MIB, "memory", server.resident() - before)
    server.stop()


# SHUTDOWN, INFO


def a_shutdown_under_load_loses_nothing(program, folder):
    server = running(program, folder)
    with Connection(server.address) as admin:
        admin.ask("ITEM", "CREATE", "a", "STOCK", STOCK, "LIMIT", 0)
        sold = [0] * 4

        def sell(number):
            try:
                with Connection(server.address) as buyer:
                    while True:
                        buyer.send([("RESERVE", "a", number)] * 50)
                        for _ in range(50):
                            check(isinstance(buyer.read(), int), "a unit is sold")
                            sold[number] += 1
            except Lost:
                pass
        buyers = [in_the_background(lambda number=number: sell(number)) for number in range(4)]
        eventually(lambda: min(sold) > 200, "all sell")
        admin.send([("SHUTDOWN",), ("PING",)])
        check(read_to_the_end(admin) == [], "no reply")
        check(server.process.wait(STOP_SECONDS) == 0, "exit status 0", server.output()[-500:])
        for buyer in buyers:
            buyer.join(PATIENCE_SECONDS)
    server = running(program, folder)
    with Connection(server.address) as admin:
        left = int(admin.ask("GET", "{a}:stock"))
        check(left == STOCK - sum(sold), "everything that was answered is there, and nothing else", left, sold)
        check(admin.ask("ITEM", "VERIFY", "*") == [], "the law holds")
        admin.send([("SHUTDOWN", "NOSAVE", "NOW", "FORCE")])
    check(server.process.wait(STOP_SECONDS) == 0, "exit status 0")


def info_is_what_happened(program, folder):
    server = running(program, folder)
    with Connection(server.address) as connection:
        before = info(connection, "everything")
        check(before["redis_version"].startswith("7.2.") and before["loading"] == "0" and before["role"] == "master", "what clients parse")
        connection.ask("ITEM", "CREATE", "a", "STOCK", 10)
        for request in (("GET", "{a}:stock"), ("GET", "{b}:stock"), ("RESERVE", "nosuch", 1), ("NOSUCH",), ("HELLO", 9)):
            connection.ask(*request)
        after = info(connection, "everything")
        check(after["db0"] == "keys=1,expires=0,avg_ttl=0" and "db0" not in before, "the keys", after.get("db0"))
        grown = {name: int(after[name]) - int(before[name]) for name in
                 ("total_commands_processed", "keyspace_hits", "keyspace_misses", "total_error_replies", "durable_lsn")}
        check(grown["total_commands_processed"] == 7 and grown["total_error_replies"] == 3, "commands and errors", grown)
        check(grown["keyspace_hits"] >= 1 and grown["keyspace_misses"] >= 2 and grown["durable_lsn"] >= 3, "look-ups and the log", grown)
        check(after["errorstat_NOITEM"] == "count=1" and after["errorstat_NOPROTO"] == "count=1" and after["errorstat_ERR"] == "count=1",
              "errors by code", after)
        check(0 < int(after["used_memory"]) <= int(after["used_memory_peak"]) and int(after["maxmemory"]) == 0, "memory", after)

        def busy():
            connection.ask_all([("PING",)] * 1000, at_once=1000)
            return int(info(connection, "stats")["instantaneous_ops_per_sec"]) > 100
        eventually(busy, "the rate is seen")
        check(float(info(connection, "stats")["instantaneous_input_kbps"]) > 0, "and that of bytes")
    server.stop()


ALL = [connections_are_listed_as_they_are, a_killed_connection_answers_what_it_executed, replies_under_way_survive_a_kill,
       kills_go_by_every_mark, killing_thousands_does_not_stall_others, waiting_ends_by_order, waitaof_waits_for_the_disk, a_monitor_sees_what_others_execute,
       a_monitor_that_does_not_read_is_closed, a_shutdown_under_load_loses_nothing, info_is_what_happened]


if __name__ == "__main__":
    run_cases(ALL, arguments(__doc__).parse_args())
