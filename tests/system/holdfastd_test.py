#!/usr/bin/env python3
"""The program holdfastd as an operator and as a bad client meet it: start, refusal to start, stop, limits.

usage: holdfastd_test.py --server build/release/bin/holdfastd [--only NAME]
"""
import os
import pathlib
import resource
import select
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "crash"))
from cases import CHOSEN, STARTED, arguments, run_cases, shard_flags  # noqa: E402
from machine import free_port  # noqa: E402
from resp import Connection, Lost, encode  # noqa: E402

START_SECONDS, STOP_SECONDS = 60, 60
MIB = 1 << 20


def check(condition, what, *found):
    if not condition:
        sys.exit(f"FAILED: {what}: {found}")


class Server:
    def __init__(self, program, folder, *flags, environment=None, files=None, metrics=False):
        self.folder, self.port, self.metrics_port = folder, free_port(), free_port() if metrics else 0
        self.address = ("127.0.0.1", self.port)
        self.path = os.path.join(folder, f"output.{self.port}")
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None
        with open(self.path, "wb") as output:
            self.process = subprocess.Popen([program, "--data-dir", os.path.join(folder, "data"), "--port", str(self.port),
                                             "--metrics-port", str(self.metrics_port), *shard_flags(flags), *flags],
                                            stderr=output, env={**os.environ, **(environment or {})}, preexec_fn=limit)
        STARTED.append(self.process)

    def output(self):
        with open(self.path, errors="replace") as file:
            return file.read()

    def ready(self):
        """Waits until it serves; what PING answered until then."""
        deadline, answers = time.monotonic() + START_SECONDS, []
        while "PONG" not in answers:
            check(self.process.poll() is None and time.monotonic() < deadline, "it starts", self.output()[-500:])
            try:
                with Connection(self.address, 5) as connection:
                    answers.append(str(connection.ask("PING")))
            except Lost:
                pass
        return answers

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(STOP_SECONDS)
        check(status == 0, "SIGTERM: exit status 0", status, self.output()[-1000:])

    def resident(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def sanitized(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") > 1 << 40

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wakeups(self):
        """How often its threads went to sleep by themselves so far."""
        count = 0
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/status") as file:
                count += next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt"))
        return count


def quietest(server, stretch, most):
    """The CPU seconds of the stretch that cost the server least, of up to ten. Strictly at most `most` where no sanitizer
    multiplies the work; a machine that is busy, or a segment being prepared at first, may spoil some of them."""
    least = 10.0
    for _ in range(10):
        before = server.cpu_seconds()
        stretch()
        least = min(least, server.cpu_seconds() - before)
        if least <= most:
            break
    check(least <= (most * 4 if server.sanitized() else most), "it does not spin", least)
    return least


def refused(program, folder, *flags):
    """The one line of a server that does not start."""
    off = [] if "--metrics-port" in flags else ["--metrics-port", "0"]
    off += [] if "--port" in flags else ["--port", str(free_port())]
    run = subprocess.run([program, "--data-dir", os.path.join(folder, "data"), *off, *flags], capture_output=True, text=True,
                         timeout=START_SECONDS)
    check(run.returncode not in (0, -6, -11) and run.stderr.count("\n") == 1, "it refuses with one line", flags, run)
    return run.stderr


def one_line_says_what_runs_and_systemd_hears_of_it(program, folder):
    path = os.path.join(folder, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(START_SECONDS)
        server = Server(program, folder, "--fsync", "everysec", environment={"NOTIFY_SOCKET": path})
        check(manager.recv(100) == b"READY=1", "READY=1")
        server.ready()
        line = server.output().strip().splitlines()[-1]
        for part in ("127.0.0.1", str(server.port), "data", "everysec", f"shards {CHOSEN.shards}", " ms"):
            check(part in line, "the line on stderr", part, line)
        server.stop()
        check(manager.recv(100) == b"STOPPING=1", "STOPPING=1")


def what_cannot_work_is_refused(program, folder):
    check("--require-data" in refused(program, folder, "--require-data"), "a missing directory")
    check(not os.path.exists(os.path.join(folder, "data")), "nothing is made")
    check("loopback" in refused(program, folder, "--bind", "0.0.0.0"), "an open bind")
    check("nosuch" in refused(program, folder, "--nosuch"), "an unknown flag")
    config = os.path.join(folder, "config.toml")
    with open(config, "w") as file:
        file.write("prot = 1\n")
    check("unknown key 'prot'" in refused(program, folder, "--config", config), "an unknown key")
    server = Server(program, folder)
    server.ready()
    check("already in use" in refused(program, folder, "--port", str(server.port)), "a taken port")
    check("lock" in refused(program, folder, "--port", str(free_port())), "a taken directory")
    server.stop()


def what_was_executed_is_answered_before_it_stops(program, folder):
    server = Server(program, folder)
    server.ready()
    with Connection(server.address) as connection:
        connection.ask("ITEM", "CREATE", "a", "STOCK", 10**6)
        connection.send([("RESERVE", "a", user) for user in range(500)])
        first = connection.read()
        server.process.send_signal(signal.SIGTERM)
        got = [first]
        try:
            while True:
                got.append(connection.read())
        except Lost:
            pass
    check(server.process.wait(STOP_SECONDS) == 0, "exit status 0")
    check(got == list(range(10**6 - 1, 10**6 - 1 - len(got), -1)), "replies in order", got[:3])
    server = Server(program, folder)
    server.ready()
    with Connection(server.address) as connection:
        left = int(connection.ask("GET", "{a}:stock"))
        check(left == 10**6 - len(got), "what was answered is there, and no more", left, len(got))
    server.stop()


def loading_is_told_to_those_who_cannot_wait(program, folder):
    server = Server(program, folder)
    server.ready()
    with Connection(server.address) as connection:
        connection.ask("ITEM", "CREATE", "a", "STOCK", 10**6)
        connection.ask_all([("RESERVE", "a", user) for user in range(20_000)])
    server.stop()
    server = Server(program, folder)
    answers = server.ready()
    check(all("LOADING" in answer for answer in answers[:-1]), "LOADING until it serves", answers)
    server.stop()


def a_client_that_never_reads_is_bounded_and_closed(program, folder):
    server = Server(program, folder)
    server.ready()
    before = server.resident()
    with socket.create_connection(server.address) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        request = encode("ECHO", b"x" * 60_000)
        began = time.monotonic()
        while True:
            check(time.monotonic() - began < 30, "it is closed")
            readable, writable, _ = select.select([], [client], [client], 0.1)
            try:
                if writable:
                    client.send(request)
            except BlockingIOError:
                pass
            except OSError:
                break
            check(server.sanitized() or server.resident() - before < 8 * MIB, "memory", server.resident() - before)
    check(time.monotonic() - began > 8, "not before its time", time.monotonic() - began)
    with Connection(server.address) as connection:
        check(connection.ask("PING") == "PONG", "others are served")
    server.stop()


def declared_lengths_cost_nothing(program, folder):
    server = Server(program, folder)
    server.ready()
    before = server.resident()
    clients = [socket.create_connection(server.address) for _ in range(400)]
    for client in clients:
        client.sendall(b"*1048576\r\n$65536\r\n")
    with Connection(server.address) as connection:
        check(connection.ask("PING") == "PONG", "others are served")
        check(server.sanitized() or server.resident() - before < 16 * MIB, "memory", server.resident() - before)
    for client in clients:
        client.close()
    server.stop()


def without_descriptors_it_waits_and_goes_on(program, folder):
    server = Server(program, folder, files=64)
    server.ready()
    clients = [socket.create_connection(server.address) for _ in range(100)]
    quietest(server, lambda: select.select([], [], [], 1), 0.1)  # a stretch of time to measure
    for client in clients:
        client.close()
    server.ready()  # it accepts again
    server.stop()


def an_idle_server_sleeps(program, folder):
    server = Server(program, folder)
    server.ready()
    wakeups, most = 1000, 8 + 4 * (CHOSEN.shards - 1)
    for _ in range(10):  # the next segment is being prepared at first
        before = server.wakeups()
        select.select([], [], [], 3)  # a stretch of time to measure
        wakeups = min(wakeups, server.wakeups() - before)
        if wakeups <= most or server.sanitized():
            break
    # The runtime of a sanitizer has a thread of its own that wakes by the clock.
    check(server.sanitized() or wakeups <= most, "about one wake-up a second and thread, in 3 s", wakeups)
    server.stop()


ALL = [one_line_says_what_runs_and_systemd_hears_of_it, what_cannot_work_is_refused, what_was_executed_is_answered_before_it_stops,
       loading_is_told_to_those_who_cannot_wait, a_client_that_never_reads_is_bounded_and_closed, declared_lengths_cost_nothing,
       without_descriptors_it_waits_and_goes_on, an_idle_server_sleeps]


if __name__ == "__main__":
    run_cases(ALL, arguments(__doc__).parse_args())
