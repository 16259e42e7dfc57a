#!/usr/bin/env python3
"""What the server tells of itself, from outside: /metrics beside INFO, /readyz, and clients of HTTP that are slow or wrong.

usage: metrics_test.py --server build/release/bin/holdfastd [--only NAME]
"""
import collections
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from cases import arguments, run_cases  # noqa: E402
from holdfastd_test import START_SECONDS, Server, check, refused  # noqa: E402
from machine import free_port  # noqa: E402
from resp import Connection, Refusal, as_map, encode  # noqa: E402
from scrape import get, http, info, info_fields, read_answer, scrape  # noqa: E402

PATIENCE_SECONDS = 30
DEADLINE_SECONDS = 5  # of the server, for a request and for its answer
REQUEST = b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n"


@contextlib.contextmanager
def running(program, folder, *flags):
    server = Server(program, folder, *flags, metrics=True)
    try:
        server.ready()
        yield server
        server.stop()
    finally:
        server.process.kill()


def eventually(condition, what):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        check(time.monotonic() < deadline, what)


# /metrics and INFO


def mixed(users):
    """Commands with a reply of one line each, and how many there are of one user."""
    commands = []
    for user in users:
        commands += [("RESERVE", "sale", user), ("CONFIRM", "sale", user), ("RELEASE", "other", user), ("RESERVE", "other", user),
                     ("SISMEMBER", "{sale}:buyers", user), ("PING",), ("NOSUCH", user), ("RESERVE", "missing", user),
                     ("RESERVE", "small", user), ("GET",)]
    return commands, 10


def drive(address, blocks):
    """Sends the blocks of bytes one after the other; all reply lines by place in the mix."""
    found = [collections.Counter() for _ in range(blocks[0][1])]
    with socket.create_connection(address) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for data, kinds, lines in blocks:
            received, parts = 0, []
            sock.setblocking(False)
            rest = memoryview(data)
            while received < lines:
                try:
                    if rest:
                        rest = rest[sock.send(rest):]
                except BlockingIOError:
                    pass
                try:
                    part = sock.recv(1 << 20)
                    check(part, "the server stays")
                    parts.append(part)
                    received += part.count(b"\r\n")
                except BlockingIOError:
                    if not rest:
                        sock.setblocking(True)
                        part = sock.recv(1 << 20)
                        sock.setblocking(False)
                        check(part, "the server stays")
                        parts.append(part)
                        received += part.count(b"\r\n")
            replies = b"".join(parts).split(b"\r\n")[:-1]
            for kind in range(kinds):
                found[kind].update(replies[kind::kinds])
    return found


def counters_agree_with_info(program, folder):
    with running(program, folder) as server, Connection(server.address) as connection:
        for item, stock in (("sale", 10**6), ("other", 10**6), ("small", 10)):
            check(connection.ask("ITEM", "CREATE", item, "STOCK", stock) == "OK", "CREATE")
        total = 20_000 if server.sanitized() else 1_000_000
        per_block, blocks = 2_000, []
        for first in range(0, total // 10, per_block):
            commands, kinds = mixed(range(first, first + per_block))
            blocks.append((b"".join(encode(*command) for command in commands), kinds, len(commands)))
        replies = drive(server.address, blocks)
        eventually(lambda: int(info(connection)["connected_clients"]) == 1, "the load is gone")
        before = connection.ask("INFO", "all")
        shown = dict(line.split(":", 1) for line in before.decode().split("\r\n") if ":" in line)
        seen = scrape(server.metrics_port)
        count = total // 10
        negative = collections.Counter({kind: sum(number for line, number in replies[kind].items() if line.startswith(b":-")) for kind in range(10)})
        expected = {
            ("reserve", "ok"): sum(replies[kind].total() - negative[kind] for kind in (0, 3, 8)),
            ("reserve", "limit_reached"): replies[0][b":-2"] + replies[3][b":-2"] + replies[8][b":-2"],
            ("reserve", "sold_out"): replies[8][b":-1"],
            ("reserve", "error"): count,
            ("confirm", "ok"): count,
            ("release", "none_live"): count,
            ("sismember", "ok"): count,
            ("ping", "ok"): seen.value("holdfast_commands_total", command="ping", outcome="ok"),
            ("get", "rejected"): count,
        }
        check(expected["reserve", "ok"] == 2 * count + 10 and expected["reserve", "sold_out"] == count - 10, "the replies", replies)
        for (command, outcome), number in expected.items():
            check(seen.value("holdfast_commands_total", command=command, outcome=outcome) == number, "a counter", command, outcome, number,
                  seen.value("holdfast_commands_total", command=command, outcome=outcome))
        check(seen.value("holdfast_errors_total", code="NOITEM") == count and seen.value("holdfast_errors_total", code="ERR") == 2 * count,
              "errors by code")
        check(seen.value("holdfast_reservation_changes_total", event="reserve") == expected["reserve", "ok"], "changes")
        check(seen.value("holdfast_item_confirmed", item="sale") == count, "an item")
        compare_fields(seen, shown, len(before) + 100)
        compare_commandstats(seen, shown)
        for kind in ("reserve", "write", "read", "session"):
            check(seen.value("holdfast_command_latency_seconds_count", **{"class": kind}) > 0, "a histogram", kind)
        waited = seen.value("holdfast_command_latency_seconds_count", **{"class": "reserve"})
        check(waited == seen.total("holdfast_commands_total", command="reserve"), "each RESERVE is in the histogram", waited)
        check(seen.value("holdfast_log_batch_records_sum") == seen.value("holdfast_log_durable_lsn"), "records of batches")


def compare_fields(seen, shown, reply_bytes):
    fields = info_fields()
    check(len(fields) > 15, "metrics.def is read", fields)
    for metric, field in fields:
        found, told = seen.total(metric), float(shown[field])
        # The reply to INFO itself is counted after it was written.
        slack = reply_bytes if field == "total_net_output_bytes" else 0
        check(told <= found <= told + slack, "a metric and its field of INFO", metric, found, field, told)


def compare_commandstats(seen, shown):
    for command in ("reserve", "confirm", "sismember", "ping", "get"):
        stats = dict(part.split("=") for part in shown[f"cmdstat_{command}"].split(","))
        everything = seen.total("holdfast_commands_total", command=command)
        check(int(stats["calls"]) + int(stats["rejected_calls"]) == everything, "commandstats", command, stats, everything)
        check(int(stats["failed_calls"]) == seen.value("holdfast_commands_total", command=command, outcome="error"), "failed", stats)
        if command != "get":
            check(f"latency_percentiles_usec_{command}" in shown, "latencystats", command)


def a_reset_is_for_info_only(program, folder):
    with running(program, folder) as server, Connection(server.address) as connection:
        connection.ask("ITEM", "CREATE", "i", "STOCK", 3)
        connection.ask("RESERVE", "i", "u")
        before = scrape(server.metrics_port)
        check(connection.ask("CONFIG", "RESETSTAT") == "OK", "RESETSTAT")
        shown = info(connection, "all")
        check("cmdstat_reserve" not in shown and int(shown["total_commands_processed"]) <= 2, "INFO begins anew", shown)
        after = scrape(server.metrics_port)
        for series, value in before.series.items():
            if series[0].endswith(("_total", "_count", "_bucket")):
                check(after.series.get(series, -1) >= value, "a counter of /metrics never goes back", series)


def items_are_few_and_printable(program, folder):
    with running(program, folder, "--metrics-items", "3") as server, Connection(server.address) as connection:
        names = [b"plain", b'quote"\\', b"new\nline", b"\xff%", "küche".encode()]
        for name in names:
            connection.ask("ITEM", "CREATE", name, "STOCK", 5)
        for name in names[2:]:
            connection.ask_all([("RESERVE", name, user) for user in range(100)])
        seen = scrape(server.metrics_port)
        shown = {labels[0][1] for name, labels in seen.series if name == "holdfast_item_stock"}
        check(shown == {"new%0Aline", "%FF%25", "küche"}, "the busiest three, printable", shown)
        check(seen.value("holdfast_items") == 5, "all are counted")


def ten_thousand_items_are_a_small_scrape(program, folder):
    with running(program, folder) as server, Connection(server.address) as connection:
        many = 500 if server.sanitized() else 10_000
        connection.ask_all([("ITEM", "CREATE", f"item:{number}", "STOCK", 100) for number in range(many)], 1000)
        connection.ask_all([("RESERVE", f"item:{number}", 1) for number in range(many)], 1000)
        began = time.monotonic()
        seen = scrape(server.metrics_port)
        took = time.monotonic() - began
        check(seen.value("holdfast_items") == many, "the items")
        check(len({labels for name, labels in seen.series if name == "holdfast_item_stock"}) == 20, "twenty are told one by one")
        check(len(seen.text) < 200 << 10, "the size of a scrape", len(seen.text))
        print(f"  {many} items: {len(seen.text)} bytes, {took * 1000:.1f} ms")


def promtool_is_silent(program, folder):
    with running(program, folder) as server, Connection(server.address) as connection:
        connection.ask("ITEM", "CREATE", "i", "STOCK", 3)
        connection.ask_all([("RESERVE", "i", user) for user in range(5)])
        _, text = get(server.metrics_port, "/metrics")
        run = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        check(run.returncode == 0 and not run.stdout and not run.stderr, "promtool check metrics", run.stdout, run.stderr)


# SLOWLOG and LATENCY


def slow_commands_are_kept_without_secrets(program, folder):
    flags = ("--slowlog-log-slower-than", "0", "--slowlog-max-len", "5", "--latency-monitor-threshold", "1")
    with running(program, folder, *flags) as server, Connection(server.address) as connection:
        check(connection.ask("CLIENT", "SETNAME", "tester") == "OK", "SETNAME")
        connection.ask("ITEM", "CREATE", "i", "STOCK", 3)
        connection.ask("RESERVE", "i", "u", "TOKEN", "swordfish")
        newest = connection.ask("SLOWLOG", "GET", 1)[0]
        check(newest[3] == [b"RESERVE", b"i", b"u", b"TOKEN", b"(redacted)"] and newest[5] == b"tester", "an entry", newest)
        check(newest[4].startswith(b"127.0.0.1:") and abs(newest[1] - time.time()) < 100, "its client and time", newest)
        connection.ask("AUTH", "me", "swordfish")
        connection.ask("HELLO", 2, "AUTH", "me", "swordfish", "SETNAME", "tester")
        connection.ask("ECHO", b"x" * 300)
        check(b"swordfish" not in repr(connection.ask("SLOWLOG", "GET", -1)).encode(), "no secrets")
        check(any(b"... (172 more bytes)" in entry[3][-1] for entry in connection.ask("SLOWLOG", "GET", -1)), "long words are cut")
        check(connection.ask("SLOWLOG", "LEN") == 5, "slowlog-max-len")
        connection.send([("RESERVE", "i", "v")] * 3)
        for _ in range(3):
            connection.read()
        check(isinstance(connection.ask("SLOWLOG", "GET", -2), Refusal), "a bad count")
        check(connection.ask("SLOWLOG", "RESET") == "OK" and connection.ask("SLOWLOG", "LEN") <= 1, "RESET")
        histogram = as_map(connection.ask("LATENCY", "HISTOGRAM", "RESERVE"))
        check(list(histogram) == ["reserve"] and as_map(histogram["reserve"])["calls"] == 4, "LATENCY HISTOGRAM", histogram)
        an_event_is_kept(connection)


def an_event_is_kept(connection):
    connection.ask("ITEM", "CREATE", "large", "STOCK", 10**6)
    connection.ask_all([("RESERVE", "large", user) for user in range(50_000)], 1000)

    def latest():
        connection.ask("ITEM", "VERIFY", "large")
        return {entry[0]: entry for entry in connection.ask("LATENCY", "LATEST")}
    eventually(lambda: {b"command", b"turn"} <= set(latest()), "a command and its turn took a millisecond")
    _, second, ms, longest = latest()[b"command"]
    history = connection.ask("LATENCY", "HISTORY", "command")
    check(1 <= ms <= longest and history and abs(history[-1][0] - second) <= 1, "LATEST and HISTORY", ms, longest, history)
    check(connection.ask("LATENCY", "HISTORY", "nosuch") == [], "an unknown event")
    check(connection.ask("LATENCY", "GRAPH", "command").startswith(b"command - high"), "GRAPH")
    check(b"command: " in connection.ask("LATENCY", "DOCTOR"), "DOCTOR")
    check(connection.ask("LATENCY", "RESET", "command") == 1, "RESET of one")
    check(connection.ask("LATENCY", "RESET") >= 1 and connection.ask("LATENCY", "HISTORY", "turn") == [], "RESET of all")


# HTTP


def who_reads_nothing_holds_nobody_up(program, folder):
    with running(program, folder, "--metrics-items", "1000") as server, Connection(server.address) as connection:
        connection.ask_all([("ITEM", "CREATE", f"item:{number}", "STOCK", 100) for number in range(1000)], 1000)
        clients = []
        for _ in range(50):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.connect(("127.0.0.1", server.metrics_port))
            client.sendall(REQUEST)
            clients.append(client)
        slowest = 0
        for user in range(300):
            began = time.monotonic()
            connection.ask("RESERVE", f"item:{user}", user)
            slowest = max(slowest, time.monotonic() - began)
        check(slowest < (5 if server.sanitized() else 1), "the shard goes on", slowest)
        eventually(lambda: answers(server.metrics_port), "somebody else gets an answer")
        for client in clients:
            client.close()


def answers(port):
    try:
        return get(port, "/metrics", 2)[0] == 200
    except OSError:
        return False


def two_slow_readers_do_not_stop_a_third(program, folder):
    with running(program, folder, "--metrics-items", "1000") as server, Connection(server.address) as connection:
        connection.ask_all([("ITEM", "CREATE", f"item:{number}", "STOCK", 100) for number in range(1000)], 1000)
        slow = []
        for _ in range(2):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.connect(("127.0.0.1", server.metrics_port))
            client.sendall(REQUEST * 20)
            slow.append(client)
        check(slow[0].recv(1) == b"H" and slow[1].recv(1) == b"H", "they are being answered")
        began = time.monotonic()
        check(scrape(server.metrics_port).value("holdfast_items") == 1000, "a third is answered")
        check(time.monotonic() - began < (10 if server.sanitized() else 3), "at once", time.monotonic() - began)
        for client in slow:
            client.close()


def garbage_is_answered_or_closed_in_time(program, folder):
    with running(program, folder) as server:
        port, cases = server.metrics_port, {
            b"GET /nosuch HTTP/1.1\r\n\r\n": 404,
            b"POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n": 405,
            b"DELETE /healthz HTTP/1.1\r\nHost: x\r\n\r\n": 405,
            b"GET /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello": 400,
            b"GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 400,
            b"*1\r\n$4\r\nPING\r\n\r\n": 400,
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n": 400,
            b"GET /metrics HTTP/9.9\r\n\r\n": 400,
            b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 9000 + b"\r\n\r\n": 431,
            b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n": 431,
            b"GET /healthz?now HTTP/1.0\r\n\r\n": 200,
        }
        for request, wanted in cases.items():
            status, headers, body = http(port, request)
            check(status == wanted and body, "garbage", request[:60], status, body)
            check(status != 405 or headers["allow"] == "GET, HEAD", "Allow", headers)
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.sendall(b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            stream = sock.makefile("rb")
            status, headers, _ = read_answer(stream, head=True)
            check(status == 200 and int(headers["content-length"]) > 1000, "HEAD", status, headers)
            check(read_answer(stream)[2] == b"ok\n", "a second request on the connection")
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        silent[1].sendall(b"GET /metr")
        began = time.monotonic()
        for client in silent:
            client.settimeout(PATIENCE_SECONDS)
            check(client.recv(100) == b"", "who sends no whole request is closed")
            client.close()
        check(time.monotonic() - began < 2 * DEADLINE_SECONDS + (10 if server.sanitized() else 0), "in time", time.monotonic() - began)


def ready_is_told_to_load_balancers(program, folder):
    server = Server(program, folder, "--fsync", "never")
    server.ready()
    with Connection(server.address) as connection:
        connection.ask("ITEM", "CREATE", "i", "STOCK", 10**9)
        connection.ask_all([("RESERVE", "i", user) for user in range(20_000 if server.sanitized() else 300_000)], 1000)
    server.stop()
    server, states = Server(program, folder, metrics=True), []
    deadline = time.monotonic() + START_SECONDS
    while not states or states[-1][0] != 200:
        check(time.monotonic() < deadline, "it gets ready", states[-3:])
        try:
            states.append(get(server.metrics_port, "/readyz"))
            check(get(server.metrics_port, "/healthz") == (200, "ok\n"), "it lives meanwhile")
        except OSError:
            pass
    check(len(states) > 1 and all(status == 503 and text.startswith("loading ") for status, text in states[:-1]), "loading", states)
    check(states[-1] == (200, "ready\n"), "ready", states[-1])
    # A client that takes no replies holds the stop up.
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect(server.address)
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                client.send(encode("ECHO", b"x" * 60_000))
        eventually(lambda: scrape(server.metrics_port).value("holdfast_memory_bytes", kind="connection_output") > 60_000, "it waits")
        server.process.send_signal(signal.SIGTERM)
        eventually(lambda: get(server.metrics_port, "/readyz") == (503, "stopping\n"), "stopping")
    check(server.process.wait(PATIENCE_SECONDS) == 0, "it stops")


def listeners(pid):
    """The TCP ports on which a process listens."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # a connection that has just ended
            inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file][1:]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes]


def the_port_is_taken_or_off(program, folder):
    with running(program, folder) as server:
        other = os.path.join(folder, "other")
        os.mkdir(other)
        said = refused(program, other, "--metrics-port", str(server.metrics_port))
        check("already in use" in said and "--metrics-port" in said, "a taken port", said)
        said = refused(program, other, "--metrics-port", str(free_port()), "--metrics-bind", "localhost")
        check("metrics-bind" in said and "numeric" in said, "no numeric address", said)
    server = Server(program, folder)
    server.ready()
    check(listeners(server.process.pid) == [server.port], "--metrics-port 0 serves nothing", listeners(server.process.pid))
    server.stop()


ALL = [counters_agree_with_info, a_reset_is_for_info_only, items_are_few_and_printable, ten_thousand_items_are_a_small_scrape,
       promtool_is_silent, slow_commands_are_kept_without_secrets, who_reads_nothing_holds_nobody_up,
       two_slow_readers_do_not_stop_a_third, garbage_is_answered_or_closed_in_time, ready_is_told_to_load_balancers,
       the_port_is_taken_or_off]


if __name__ == "__main__":
    run_cases(ALL, arguments(__doc__).parse_args())
