#!/usr/bin/env python3
"""holdfastctl as operators use it: on live servers, on data directories, and on a peer that is not right.

usage: ctl_test.py --server build/release/bin/holdfastd --ctl build/release/bin/holdfastctl [--only NAME]
"""
import contextlib
import datetime
import json
import os
import pathlib
import shutil
import socketserver
import subprocess
import sys
import threading
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import arguments, run_cases  # noqa: E402
from access_test import Guarded, SECRET, with_users  # noqa: E402
from holdfastd_test import Server, check  # noqa: E402
from resp import Connection, Refusal, as_map  # noqa: E402

SECONDS_MAX = 120


class Programs:
    def __init__(self, server, ctl):
        self.server, self.ctl = os.path.abspath(server), os.path.abspath(ctl)

    def start(self, folder, *flags):
        server = Server(self.server, folder, *flags)
        server.ready()
        return server

    def run(self, *words, server=None, environment=None):
        """Exit status, output, errors."""
        where = ("--server", f"127.0.0.1:{server.port}") if server else ()
        done = subprocess.run([self.ctl, *where, *map(str, words)], capture_output=True, text=True, timeout=SECONDS_MAX,
                              check=False, env={**os.environ, **(environment or {})})
        return done.returncode, done.stdout, done.stderr


# verify


def verify_of_a_live_server(programs, folder):
    server = programs.start(folder)
    with Connection(server.address) as connection:
        connection.ask_all([("ITEM", "CREATE", f"item:{i}", "STOCK", 100, "LIMIT", 0) for i in range(150)])
        connection.ask("ITEM", "CREATE", "{*}", "STOCK", 1)
        connection.ask_all([("RESERVE", f"item:{i}", "u", "QTY", 3) for i in range(150)])
    check(programs.run("verify", server=server) == (0, "ok: 151 items\n", ""), "all are right")
    check(programs.run("verify", "*", server=server)[1] == "ok: 151 items\n", "* is all of them, as in ITEM VERIFY")
    check(programs.run("verify", "item:7", "{*}", server=server)[1] == "ok: 2 items\n", "some, by name")
    status, out, _ = programs.run("verify", "--json", server=server)
    check((status, json.loads(out)) == (0, {"items": 151, "ok": True, "not-ok": []}), "the same as JSON", out)
    status, out, said = programs.run("verify", "no", server=server)
    check(status == 2 and out == "" and "NOITEM" in said, "an item that there is not: cannot be told", status, said)
    server.stop()
    status, out, said = programs.run("verify", server=server)
    check(status == 2 and "Connection refused" in said, "no server: cannot be told", status, said)
    check(programs.run("verify", "--no-such")[0] == 2, "wrong arguments")


def verify_as_a_user(programs, folder):
    users = (("default", SECRET, ("admin",)), ("watch", "w" * 32, ("reader",)))
    server = Guarded(programs.server, folder, *with_users(folder, users))
    server.ready()
    status, _, said = programs.run("verify", server=server)
    check(status == 2 and "--secret-file" in said, "who does not authenticate is told how to", said)
    status, out, _ = programs.run("--user", "watch", "verify", server=server, environment={"HOLDFASTCTL_AUTH": "w" * 32})
    check((status, out) == (0, "ok: 0 items\n"), "a reader may")
    status, _, said = programs.run("verify", server=server, environment={"HOLDFASTCTL_AUTH": SECRET})
    check(status == 2 and "NOPERM" in said, "others may not, which is no verdict on the items", said)
    server.stop()


def resp3(value):
    if isinstance(value, dict):
        return b"%%%d\r\n" % len(value) + b"".join(resp3(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return b"*%d\r\n" % len(value) + b"".join(map(resp3, value))
    if isinstance(value, int):
        return b":%d\r\n" % value
    return b"$%d\r\n%s\r\n" % (len(value), value.encode())


@contextlib.contextmanager
def peer(answers):
    """A server that answers each command's first two words with what it is given for them."""
    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            while header := self.rfile.readline():
                words = [self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2].decode() for _ in range(int(header[1:]))]
                self.wfile.write(resp3(answers(words)))

    class Peer(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Peer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.port = server.server_address[1]
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def verify_tells_what_is_not_right(programs, _):
    counters = {"total": 10, "available": 4, "reserved": 3, "confirmed": 3, "held": 0}
    items = {"good": ({}, {}, 0), "rows": ({"ok": 0, "reserved": 2}, {}, 0), "sum": ({}, {"available": 5}, 0), "fence": ({}, {}, 17),
             "minus": ({}, {"available": -1, "held": 5}, 0)}

    def answers(words):
        if words[:2] == ["ITEM", "LIST"]:
            return ["0", list(items)]
        if words[:2] == ["ITEM", "VERIFY"]:
            return {"item": words[2], "ok": 1, **counters, "rows": 6, "sequence": 20} | items[words[2]][0]
        if words[:2] == ["ITEM", "GET"]:
            return {"item": words[2], "version": 1, **counters, "sequence": 20, "fenced": items[words[2]][2]} | items[words[2]][1]
        return {"server": "redis"}

    with peer(answers) as server:
        status, out, said = programs.run("verify", server=server)
        lines = out.splitlines()
        check(status == 1 and lines[-1] == "4 of 5 items are not ok", "what is not right is counted", status, out, said)
        for name, problem in (("rows", "its rows count 2 reserved, 3 confirmed"), ("sum", "counters do not add up to the total"),
                              ("fence", "fenced at sequence 17"), ("minus", "counters do not add up to the total")):
            check(any(line.startswith(f"item={name} ") and line.endswith(problem) for line in lines), "and named", name, out)
        status, out, _ = programs.run("verify", "--json", server=server)
        found = json.loads(out)
        check(status == 1 and found["items"] == 5 and not found["ok"] and [item["item"] for item in found["not-ok"]] ==
              ["rows", "sum", "fence", "minus"], "in JSON too", out)
        check(programs.run("verify", "good", server=server)[0] == 0, "the good one alone is right")


# explain


def a_life(connection, item, id):
    """What a buyer, a payment and an operator do to one reservation."""
    connection.ask("ITEM", "CREATE", item, "STOCK", 10)
    connection.ask("RESERVE", item, "anna", "QTY", 1, "ID", id)
    connection.ask("RESERVE", item, "bert")
    connection.ask("EXTEND", item, "anna", "TTL", 900000, "ID", id)
    connection.ask("CONFIRM", item, "-", "ID", id)
    connection.ask("REFUND", item, "anna", "ID", id)


def explain_from_a_data_directory(programs, folder):
    server = programs.start(folder)
    data, id = os.path.join(folder, "data"), "0B54CE0A-7b54-4c39-9d0e-3a1f5b8c2d47"
    with Connection(server.address) as connection:
        a_life(connection, "item:1", id)
    for when in ("beside the server", "after it"):
        status, out, said = programs.run("explain", "{item:1}", id, "--data-dir", data)
        lines = out.splitlines()
        check(status == 0 and said == "" and len(lines) == 4, "four lines", when, status, out, said)
        for line, event in zip(lines, ("RESERVE: user anna took 1 unit, until 20", "EXTEND: kept for user anna until 20",
                                       "CONFIRM: 1 unit sold to user anna", "REFUND: refunded: 1 unit became available again")):
            check(event in line and "LSN " in line, "each says what happened", event, line)
        if when == "beside the server":
            status, asked, said = programs.run("explain", "item:1", id, server=server)
            check((status, asked, said) == (0, out, ""), "the server's log tells the same", status, asked, said)
            check(programs.run("explain", "item:9", id, server=server)[0] == 1, "and does not know what is not there")
            server.stop()
    status, out, _ = programs.run("--json", "explain", "item:1", id, "--data-dir", data)
    told = json.loads(out)
    check(status == 0 and told["found"] and told["id"] == id.lower() and told["first-lsn"] == 1, "as JSON", out)
    check([event["sequence"] for event in told["events"]] == [4, 6, 7, 8] and
          [event["state"] for event in told["events"]] == ["RESERVED", "RESERVED", "CONFIRMED", "REFUNDED"], "in order, with states", out)
    status, out, said = programs.run("explain", "item:1", "0b54ce0a-0000-4c39-9d0e-3a1f5b8c2d47", "--data-dir", data)
    check(status == 1 and out == "" and "the log is kept from LSN 1 on" in said, "an id that is not there", status, out, said)
    check(programs.run("explain", "item:2", id, "--data-dir", data)[0] == 1, "nor is it another item's")
    check(programs.run("explain", "item:1", "no-id", "--data-dir", data)[0] == 2, "an id that is none")
    status, _, said = programs.run("explain", "item:1", id, "--data-dir", os.path.join(folder, "no"))
    check(status == 2 and "holds no log" in said, "a directory without a log", said)


def explain_tells_what_is_sound(programs, folder):
    server = programs.start(folder)
    data, id = os.path.join(folder, "data"), "0b54ce0a-7b54-4c39-9d0e-3a1f5b8c2d47"
    with Connection(server.address) as connection:
        a_life(connection, "i", id)
    server.stop()
    path = os.path.join(data, "segment-0000000001")
    with open(path, "r+b") as file:
        file.seek(5 * 4096 + 140)  # each command above is a batch of one block
        file.write(b"damage")
    status, out, said = programs.run("explain", "i", id, "--data-dir", data)
    check(status == 0 and len(out.splitlines()) == 2, "what is before the damage", status, out, said)
    check("only" in said and f"{path} at offset 20480: broken_body" in said, "and where it is", said)


# log repair


def sell(server, item, users):
    """Reservations of one item, each acknowledged: their ids."""
    ids = [str(uuid.uuid4()) for _ in users]
    with Connection(server.address) as connection:
        connection.ask("ITEM", "CREATE", item, "STOCK", 10**6, "LIMIT", 0)  # again: nothing happens
        deadline = time.monotonic() + SECONDS_MAX
        for user, id in zip(users, ids):
            while isinstance(reply := connection.ask("RESERVE", item, user, "ID", id), Refusal):
                check(reply.text.startswith("OVERLOADED") and time.monotonic() < deadline, "segments this small may be late", reply)
    return ids


def info(server, *names):
    with Connection(server.address) as connection:
        fields = dict(line.split(":", 1) for line in connection.ask("INFO").decode().split("\r\n") if ":" in line)
    return [fields[name] for name in names]


def two_lives(programs, folder):
    """A log of two starts, the second with a reservation in each batch; where it is and the ids of that one."""
    server = programs.start(folder, "--segment-bytes", "1MiB")
    sell(server, "first", range(20))
    server.stop()
    server = programs.start(folder, "--segment-bytes", "1MiB")
    ids = sell(server, "second", range(20))
    log_id, = info(server, "log_id")
    server.stop()
    return pathlib.Path(folder) / "data", ids, log_id


def overwrite(path, offset, what):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(what)


def repair_of_a_damaged_log(programs, folder):
    data, ids, log_id = two_lives(programs, folder)
    second = data / "segment-0000000002"
    overwrite(second, 8 * 4096 + 140, b"rot")  # header, CREATE, and six reservations before
    before = {path.name: path.read_bytes() for path in data.iterdir()}
    status, out, said = programs.run("log", "repair", data)
    check(status == 1 and f"refused: below_floor: {second} at offset 32768" in out, "why it is refused", status, out, said)
    check("and loses 28 records" in out and "nothing of it can be read" in out, "how much would be lost", out)
    check(ids[5] not in out and ids[6] not in out and all(f"item=second id={id} " in out for id in ids[7:]), "and which reservations", out)
    status, out, said = programs.run("log", "repair", "--json", data)
    lines = [json.loads(line) for line in out.splitlines()]
    check(status == 1 and [line["id"] for line in lines[:-1]] == ids[7:] and lines[-1]["lost"] == 28 and not lines[-1]["repaired"],
          "as JSON, a line each", status, out, said)
    check(before == {path.name: path.read_bytes() for path in data.iterdir()}, "and nothing was changed")
    status, out, said = programs.run("log", "repair", data, "--accept-loss")
    check(status == 0 and f"forked from {log_id} after LSN" in out and f"the old files are in {data}/before-repair-1" in out,
          "what was done", status, out, said)
    old = data / "before-repair-1"
    check({name: content for name, content in before.items() if name != "lock"} == {path.name: path.read_bytes() for path in old.iterdir()},
          "the old files are kept")
    check(programs.run("log", "verify", data)[1].startswith("usable: "), "the log is sound")
    check(programs.run("log", "repair", data)[1].startswith("nothing to repair"), "and needs no repair")
    server = programs.start(folder)
    check(programs.run("verify", server=server)[1] == "ok: 2 items\n", "the law holds")
    with Connection(server.address) as connection:
        check(connection.ask("SCARD", "{first}:buyers") == 20 and connection.ask("SCARD", "{second}:buyers") == 6, "what was before the damage is there")
    new_id, forked_from, lsn = info(server, "log_id", "forked_from_log_id", "forked_from_lsn")
    check(new_id != log_id and forked_from == log_id and int(lsn) > 40, "it is another log, which says from which it comes", new_id, forked_from, lsn)
    status, _, said = programs.run("log", "repair", data, "--accept-loss")
    check(status == 2 and "Another process" in said or "owns" in said or "lock" in said, "not under a running server", status, said)
    server.stop()


def repair_of_every_kind_of_damage(programs, folder):
    """A server starts from each, with everything that was sound from the beginning on."""
    def no_header(data):
        overwrite(data / "segment-0000000001", 0, bytes(4096))
        return 20, 20

    def missing(data):
        (data / "segment-0000000002").unlink()
        return 20, 0

    def swapped(data):
        (data / "segment-0000000001").rename(data / "x")
        (data / "segment-0000000002").rename(data / "segment-0000000001")
        (data / "x").rename(data / "segment-0000000002")
        return 20, 20

    def cut(data):
        os.truncate(data / "segment-0000000002", 5 * 4096)
        return 20, 3

    def in_the_first(data):
        overwrite(data / "segment-0000000001", 6 * 4096 + 200, b"rot")
        return 4, 0

    for damage in (no_header, missing, swapped, cut, in_the_first):
        place = os.path.join(folder, damage.__name__)
        os.mkdir(place)
        data, _, _ = two_lives(programs, place)
        first, second = damage(data)
        server = Server(programs.server, place)
        check(server.process.wait(SECONDS_MAX) == 1, "a server refuses", damage.__name__, server.output())
        status, out, said = programs.run("log", "repair", data, "--accept-loss")
        check(status == 0 and "repaired: log " in out, "it is repaired", damage.__name__, status, out, said)
        check(programs.run("log", "verify", data)[0] == 0, "it is sound", damage.__name__)
        server = programs.start(place)
        with Connection(server.address) as connection:
            found = connection.ask("SCARD", "{first}:buyers"), connection.ask("SCARD", "{second}:buyers")
        check(found == (first, second), "with what was sound", damage.__name__, found)
        check(programs.run("verify", server=server)[0] == 0, "the law holds", damage.__name__)
        server.stop()


# backup and restore


def state_of(programs, data):
    """What `log verify` says of a sound directory: its last LSN and its state."""
    status, out, said = programs.run("log", "verify", "--json", data)
    verdict = json.loads(out)
    check(status == 0 and verdict["usable"], "it is sound", data, out, said)
    return verdict["last-lsn"], verdict["state"]


def content(server):
    """All that the items and their reservations are, but for what is the log's own."""
    with Connection(server.address) as connection:
        names = connection.ask("ITEM", "LIST", "COUNT", "1000")[1]
        return {name: (connection.ask("ITEM", "GET", name), sorted(connection.ask("SMEMBERS", b"{%s}:buyers" % name))) for name in names}


def backup_and_restore_of_a_stopped_server(programs, folder):
    data, _, log_id = two_lives(programs, folder)
    lsn, state = state_of(programs, data)
    backup, into = pathlib.Path(folder) / "backup", pathlib.Path(folder) / "restored"
    (into / "data").mkdir(parents=True)
    status, out, said = programs.run("backup", backup, "--data-dir", data, "--json")
    made = json.loads(out)
    check(status == 0 and (made["log"], made["through-lsn"], made["state"]) == (log_id, lsn, state), "it says what it is", out, said)
    check(made == json.loads((backup / "backup.json").read_text()), "and keeps that", out)
    check(not (pathlib.Path(folder) / "backup.tmp").exists(), "under its own name only")
    status, _, said = programs.run("backup", backup, "--data-dir", data)
    check(status == 2 and "is not empty" in said, "a backup is not written over", status, said)
    shutil.copytree(backup, os.path.join(folder, "taken", "data"))
    server = Server(programs.server, os.path.join(folder, "taken"))
    check(server.process.wait(SECONDS_MAX) == 1 and "holdfastctl restore" in server.output(), "no server starts from it", server.output())
    status, out, said = programs.run("restore", backup, "--into", into / "data")
    check(status == 0 and f"forked from {log_id} after LSN {lsn}" in out and state in out, "what was made", status, out, said)
    check(state_of(programs, into / "data") == (lsn, state), "the same state under the same LSN")
    status, _, said = programs.run("restore", backup, "--into", into / "data")
    check(status == 2 and "not empty" in said, "nothing is written over", status, said)
    original, restored = programs.start(folder), programs.start(into)
    check(content(original) == content(restored), "the servers say the same")
    check(info(restored, "forked_from_log_id", "forked_from_lsn") == [log_id, str(lsn)], "the other one says where it comes from")
    status, _, said = programs.run("backup", folder + "/second", "--data-dir", data)
    check(status == 2 and not os.path.exists(folder + "/second"), "not of a running server's files", status, said)
    original.stop()
    restored.stop()


def forget_the_beginning(programs, server):
    """Two snapshots later the log does not begin with LSN 1 any more."""
    deadline = time.monotonic() + SECONDS_MAX
    while True:
        with Connection(server.address) as connection:
            if as_map(connection.ask("LOG", "SINKS"))["oldest_lsn"] > 1:
                return
        check(time.monotonic() < deadline, "the beginning of the log goes")
        sell(server, "more", range(100))
        status, out, said = programs.run("snapshot", server=server)
        check(status == 0, "a snapshot", out, said)


def backup_of_a_running_server(programs, folder):
    """While it sells, and once its log begins with a snapshot: what was durable when the backup began is in it."""
    server = programs.start(folder, "--segment-bytes", "64KiB", "--log-keep-bytes", "0", "--log-keep-age", "0")
    sell(server, "before", range(300))
    for round, expected_snapshot in ((1, False), (2, True)):
        if expected_snapshot:
            forget_the_beginning(programs, server)
        stop = threading.Event()

        def go_on(item=f"meanwhile{round}"):
            while not stop.is_set():
                sell(server, item, range(50))
        seller = threading.Thread(target=go_on)
        seller.start()
        backup, into = os.path.join(folder, f"backup{round}"), os.path.join(folder, f"into{round}")
        durable, = info(server, "durable_lsn")
        status, out, said = programs.run("backup", backup, "--json", server=server)
        stop.set()
        seller.join()
        made = json.loads(out) if status == 0 else {}
        check(status == 0 and made["through-lsn"] >= int(durable), "up to what is durable", durable, status, out, said)
        check((made["snapshot-lsn"] > 0) == expected_snapshot, "from a snapshot where the log does not reach back", out)
        os.mkdir(into)
        status, out, said = programs.run("restore", backup, "--into", os.path.join(into, "data"), "--json")
        restored = json.loads(out) if status == 0 else {}
        check(status == 0 and (restored["last-lsn"], restored["state"]) == (made["through-lsn"], made["state"]), "restored", status, out, said)
        check(state_of(programs, os.path.join(into, "data")) == (made["through-lsn"], made["state"]), "with the same state")
        other = programs.start(into)
        with Connection(other.address) as connection:
            found = connection.ask("SCARD", "{before}:buyers")
            check(found == 300, "everything from before is there", round, found)
        check(programs.run("verify", server=other)[0] == 0, "the law holds")
        other.stop()
    quiet = os.path.join(folder, "quiet")
    check(programs.run("backup", quiet, server=server)[0] == 0, "and when nothing happens")
    made = json.loads(pathlib.Path(quiet, "backup.json").read_text())
    server.stop()
    check(state_of(programs, os.path.join(folder, "data")) == (made["through-lsn"], made["state"]), "it is the state of the server")
    status, _, said = programs.run("backup", os.path.join(folder, "none"), server=server)
    check(status == 2 and "Connection refused" in said and not os.path.exists(os.path.join(folder, "none")), "no server, no backup", status, said)


def backup_amid_a_million_operations(programs, folder):
    """It holds a moment of them, and is the same state elsewhere."""
    server = programs.start(folder)
    operations = 200_000 if server.sanitized() else 1_000_000
    with Connection(server.address) as connection:
        connection.ask("ITEM", "CREATE", "i", "STOCK", 10 ** 12, "LIMIT", 0)
    load = subprocess.Popen([pathlib.Path(programs.ctl).parent / "holdfast-bench", "raw", "--server", f"127.0.0.1:{server.port}", "-P", "64",
                             "-n", str(operations), "RESERVE", "i", "__seq__"], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + SECONDS_MAX
    while int(info(server, "durable_lsn")[0]) < operations // 10:
        check(time.monotonic() < deadline, "the load goes on")
    backup, into = os.path.join(folder, "backup"), os.path.join(folder, "into")
    status, out, said = programs.run("backup", backup, "--json", server=server)
    check(status == 0, "a backup while the load goes on", status, said)
    check(load.wait(SECONDS_MAX) == 0, "which meets no error")
    made = json.loads(out)
    check(operations // 10 <= made["through-lsn"] < int(info(server, "durable_lsn")[0]), "a moment of it", out)
    check(programs.run("verify", server=server)[0] == 0, "the law holds")
    server.stop()
    os.mkdir(into)
    status, out, said = programs.run("restore", backup, "--into", os.path.join(into, "data"), "--json")
    check(status == 0 and json.loads(out)["state"] == made["state"], "restored", status, out, said)
    check(state_of(programs, os.path.join(into, "data")) == (made["through-lsn"], made["state"]), "with the same state")
    other = programs.start(into)
    check(programs.run("verify", server=other)[0] == 0, "the law holds there")
    other.stop()
    shutil.rmtree(into)
    os.mkdir(into)
    status, out, said = programs.run("restore", backup_of_all(programs, folder), "--into", os.path.join(into, "data"), "--until",
                                     made["through-lsn"], "--json")
    check(status == 0 and json.loads(out)["state"] == made["state"], "the state that the server's own log has there", status, out, said)


def backup_of_all(programs, folder):
    """A backup of all that a stopped server has."""
    whole = os.path.join(folder, "whole")
    status, _, said = programs.run("backup", whole, "--data-dir", os.path.join(folder, "data"))
    check(status == 0, "a backup of it all", said)
    return whole


def restore_as_it_was(programs, folder):
    server = programs.start(folder, "--segment-bytes", "1MiB")
    with Connection(server.address) as connection:
        connection.ask("ITEM", "CREATE", "i", "STOCK", 1000, "LIMIT", 0)
        moments = []  # after so many reservations: an LSN, and a time between them and the next
        for count in range(1, 31):
            connection.ask("RESERVE", "i", f"u{count}")
            seconds, micros = map(int, connection.ask("TIME"))
            now = seconds * 1000 + micros // 1000
            while sum(int(part) * scale for part, scale in zip(connection.ask("TIME"), (1000, 0.001))) < now + 3:
                pass
            moments.append((int(info(server, "durable_lsn")[0]), now + 1))
    server.stop()
    data, backup = os.path.join(folder, "data"), os.path.join(folder, "backup")
    check(programs.run("backup", backup, "--data-dir", data)[0] == 0, "a backup")
    for count in (1, 10, 29, 30):
        lsn, time_ms = moments[count - 1]
        iso = datetime.datetime.fromtimestamp(time_ms / 1000, datetime.timezone.utc).isoformat(timespec="milliseconds")
        for number, until in enumerate((lsn, time_ms, iso)):
            into = os.path.join(folder, f"at-{count}-{number}")
            os.mkdir(into)
            status, out, said = programs.run("restore", backup, "--into", os.path.join(into, "data"), "--until", until, "--json")
            check(status == 0 and json.loads(out)["last-lsn"] == lsn, "it ends there", until, status, out, said)
            if number == 0:
                restored = programs.start(into)
                with Connection(restored.address) as connection:
                    check(connection.ask("SCARD", "{i}:buyers") == count, "with what there was then", until)
                check(programs.run("verify", server=restored)[0] == 0, "the law holds", until)
                restored.stop()
    status, _, said = programs.run("restore", backup, "--into", os.path.join(folder, "late"), "--until", moments[-1][0] + 1)
    check(status == 1 and f"ends with LSN {moments[-1][0]}" in said, "an LSN that it does not have", status, said)
    check(programs.run("restore", backup, "--into", os.path.join(folder, "late"), "--until", "yesterday")[0] == 2, "a time that is none")
    segment = sorted(pathlib.Path(backup).glob("segment-*"))[0]
    overwrite(segment, 3 * 4096 + 150, b"rot")
    into = os.path.join(folder, "damaged")
    status, _, said = programs.run("restore", backup, "--into", into)
    check(status == 1 and f"{segment} at offset 12288: broken_body" in said, "a damaged backup is found", status, said)
    check([name for name in os.listdir(into) if name != "lock"] == [], "and nothing is left of it", os.listdir(into))
    check(programs.run("restore", backup, "--into", into, "--until", moments[0][0])[0] == 0, "what is before the damage can be restored")


ALL = (verify_of_a_live_server, verify_as_a_user, verify_tells_what_is_not_right, explain_from_a_data_directory,
       explain_tells_what_is_sound, repair_of_a_damaged_log, repair_of_every_kind_of_damage,
       backup_and_restore_of_a_stopped_server, backup_of_a_running_server, backup_amid_a_million_operations,
       restore_as_it_was)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--ctl", required=True, help="path of holdfastctl")
    options = parser.parse_args()
    run_cases(ALL, options, Programs(options.server, options.ctl))


if __name__ == "__main__":
    main()
