"""What every client is put through, and the cells of the matrix that come out of it."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "crash"))
from machine import free_port  # noqa: E402
from program import READY_SECONDS, Program, Wrong  # noqa: E402
from proxy import Proxy  # noqa: E402
from resp import Connection, Lost, Refusal  # noqa: E402

START_SECONDS, STOP_SECONDS = 60, 60
ANSWER_SECONDS, PLAIN_SECONDS = 30, 5  # with nothing set it works soon or not at all
STOCK, PIPELINED = 1000, 100
FOLLOWERS, FOLLOWED = ("ioredis", "redis-py", "go-redis"), 30
EXAMPLE_SAYS = "reserved, 1 left\nconfirmed: 1\n"
ITEM, PAUSED, CLOSED = "item:1", "item:paused", "item:closed"


class Server:
    """holdfastd on a port and a directory of its own, with three items; it can be restarted in place."""

    def __init__(self, program, shards):
        self.program, self.shards, self.port = os.path.abspath(program), shards, free_port()
        self.folder = tempfile.TemporaryDirectory(prefix="holdfast-clients-")
        self.start()
        for item in (ITEM, PAUSED, CLOSED, "item:1001"):
            self.ask("ITEM", "CREATE", item, "STOCK", STOCK if item == ITEM else 2)
        self.ask("ITEM", "PAUSE", PAUSED)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.folder.cleanup()

    def start(self):
        with open(os.path.join(self.folder.name, "output"), "ab") as output:
            self.process = subprocess.Popen([self.program, "--data-dir", os.path.join(self.folder.name, "data"), "--port", str(self.port),
                                             "--metrics-port", "0", "--shards", str(self.shards)], stdout=output, stderr=output)
        deadline = time.monotonic() + START_SECONDS
        while not self.serves():
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(output.name, errors="replace") as said:
                    raise Wrong(f"the server does not start: {said.read()[-500:]}")

    def serves(self):
        try:
            return self.ask("PING") == "PONG"
        except (Lost, Wrong):
            try:
                self.process.wait(0.02)
            except subprocess.TimeoutExpired:
                pass
            return False

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(STOP_SECONDS)

    def restart(self):
        self.stop()
        self.start()

    def ask(self, *words):
        with Connection(("127.0.0.1", self.port)) as connection:
            reply = connection.ask(*words)
        if isinstance(reply, Refusal):
            raise Wrong(f"{' '.join(map(str, words))}: {reply}")
        return reply

    def wait_for(self, field, value):
        """A field of INFO."""
        deadline = time.monotonic() + START_SECONDS
        while f"{field}:{value}\r\n" not in self.ask("INFO").decode():
            if time.monotonic() > deadline:
                raise Wrong(f"{field} never is {value}")

    def stock(self):
        return int(self.ask("GET", f"{{{ITEM}}}:stock"))


class Scenario:
    """One client with its default protocol, in a mode: `plain` (no option set) or with the option that its row names."""

    def __init__(self, client, server, log, mode):
        self.client, self.server, self.log, self.mode = client, server, log, mode
        self.why = {}  # of each cell that is "no"

    def program(self, port):
        command = [*self.client.command("client"), "127.0.0.1", str(port), *self.mode]
        return Program(command, self.client.environment(), self.client.work, self.log, PLAIN_SECONDS if self.mode else ANSWER_SECONDS)

    def cell(self, name, step, *arguments):
        """Yes, unless the step says otherwise; what goes wrong is kept for the report."""
        try:
            return step(*arguments) or "yes"
        except Wrong as wrong:
            self.why[name] = str(wrong)
            return "no"

    def run(self):
        program = self.program(self.server.port)
        try:
            cells = {"connect": self.cell("connect", program.wait_ready)}
            if cells["connect"] == "yes":
                self.steps(program, cells)
        finally:
            program.kill()
        return cells

    def steps(self, program, cells):
        """One after the other; what rests on a step that failed is not tried."""
        def step(function, rests_on):
            name = function.__name__
            cells[name] = self.cell(name, function, program) if cells[rests_on] == "yes" else "no"
        step(self.reserve, "connect")
        step(self.pipeline, "reserve")
        step(self.release, "reserve")
        step(self.notices, "connect")
        while not program.notices.empty():
            program.notices.get()
        self.server.restart()
        step(self.reconnect, "reserve")
        step(self.resubscribe, "notices")
        step(self.stream, "reconnect")
        step(self.close, "connect")
        if cells["reserve"] == "yes":
            cells |= self.lost_replies()

    def reserve(self, program):
        """Twice without an id is twice asked; twice with the same id is once asked."""
        request = f"RESERVE {ITEM} anna ID {uuid.uuid4()}"
        program.expect(request, STOCK - 1)
        program.expect(request, STOCK - 1)
        program.expect(f"RESERVE {ITEM} bert", STOCK - 2)
        program.expect(f"RESERVE {ITEM} bert", -2)

    def pipeline(self, program):
        available = self.server.stock()
        program.expect(f"pipeline {PIPELINED} RESERVE {ITEM}", " ".join(str(available - 1 - sent) for sent in range(PIPELINED)))

    def release(self, program):
        program.expect(f"RELEASE {ITEM} bert", self.server.stock() + 1)

    def notices(self, program):
        program.expect("subscribe holdfast:items", "subscribed")
        program.expect_notice(PAUSED)
        self.server.ask("ITEM", "CLOSE", CLOSED)
        program.expect_notice(CLOSED)
        if program.events:
            raise Wrong(f"error events: {'; '.join(program.events)}")

    def reconnect(self, program):
        """The same client object works again after the server came back with its data."""
        available = self.server.stock()
        reply = program.ask_until_answered(f"RESERVE {ITEM} carl ID {uuid.uuid4()}")
        if reply != str(available - 1):
            raise Wrong(f"after the restart RESERVE answered {reply}; expected {available - 1}")

    def stream(self, program):
        """It waits at the end of the log, sees a sale while that goes on, and after a restart what came behind what it saw."""
        if self.client.row.folder not in FOLLOWERS:
            return "-"
        program.send(f"follow $ {FOLLOWED}")
        self.server.wait_for("blocked_clients", "1")
        self.sell("live")
        last = self.followed(program.answer("follow $"), "live")
        self.sell("later")
        self.server.restart()
        self.followed(("reply", program.ask_until_answered(f"follow {last} {FOLLOWED}")), "later")
        return None

    def sell(self, users):
        for number in range(FOLLOWED):
            self.server.ask("RESERVE", ITEM, f"{users}{number}")

    def followed(self, answer, users):
        """The last id, when these users and no others are told of, in order."""
        kind, text = answer
        entries = [entry.split(":") for entry in text.split()] if kind == "reply" else []
        if [entry[1:] for entry in entries] != [["RESERVE", f"{users}{number}"] for number in range(FOLLOWED)]:
            raise Wrong(f"the log told {kind} {text[:200]}")
        return entries[-1][0]

    def resubscribe(self, program):
        """A new subscription begins with the items that are not selling."""
        program.expect_notice(PAUSED)

    def close(self, program):
        program.expect("close", "closed")
        program.expect_exit()

    def lost_replies(self):
        """A reply is lost with its connection: the stock falls by one, and what the caller hears in the end."""
        with Proxy(self.server.port) as proxy:
            program = self.program(proxy.port)
            try:
                program.wait_ready()
                cells = {"lost, ID": self.cell("lost, ID", self.lost_reply, program, proxy, f"RESERVE {ITEM} dora ID {uuid.uuid4()}"),
                         "lost, no ID": self.cell("lost, no ID", self.lost_reply, program, proxy, f"RESERVE {ITEM} emil")}
            finally:
                program.kill()
            return {"RESP": str(proxy.resp)} | cells

    def lost_reply(self, program, proxy, request):
        """Who sent it again, and the answer: ok for a success."""
        available, cuts = self.server.stock(), proxy.cuts
        proxy.arm()
        kind, reply = program.ask(request)
        sent_again_by = "client" if kind == "reply" else "caller"
        if kind != "reply":
            reply = program.ask_until_answered(request)
        if proxy.cuts != cuts + 1:
            raise Wrong(f"the connection was cut {proxy.cuts - cuts} times")
        if self.server.stock() != available - 1:
            raise Wrong(f"the stock went from {available} to {self.server.stock()}")
        return f"{sent_again_by}: {'ok' if reply == str(available - 1) else reply}"


def example(client, server, log):
    """The example on the clients' page sells the same unit in every language; what is wrong with it."""
    environment = client.environment() | {"PORT": str(server.port)}
    done = subprocess.run(client.command("example"), env=environment, cwd=client.work, stdout=subprocess.PIPE, stderr=log, text=True, timeout=READY_SECONDS)
    if (done.returncode, done.stdout) != (0, EXAMPLE_SAYS):
        return [f"the example printed {done.stdout!r} and ended with {done.returncode}"]
    return []
