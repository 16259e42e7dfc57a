#!/usr/bin/env python3
"""tools/demo.sh: what it shows at its end, with Kafka and without; and when it does not come to it, whatever ended it, no program of it is left.

usage: demo_test.py --server build/release/bin/holdfastd     the other programs are beside it
"""
import os
import pathlib
import shutil
import signal
import subprocess

from cases import STARTED, arguments, run_cases
from relay_bench import check, free_port, until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SELLS = "users come at"  # the line with which the first sale begins
SECONDS = 30


class Demo:
    """The demonstration in a process group of its own, as a terminal's foreground job has it."""

    def __init__(self, programs, folder, **environment):
        self.folder = folder
        os.chmod(folder, 0o711)  # PostgreSQL's user passes through
        with open(os.path.join(folder, "output"), "wb") as output:
            self.process = subprocess.Popen([str(ROOT / "tools" / "demo.sh"), str(free_port())], stdout=output, stderr=output, start_new_session=True,
                                            env={**os.environ, "PROGRAMS": programs, "TMPDIR": folder, **environment})
        STARTED.append(self.process)

    def output(self):
        return pathlib.Path(self.folder, "output").read_text(errors="replace")

    def has_said(self, text):
        until(lambda: text in self.output() or self.process.poll() is not None, text, self.output, seconds=SECONDS)
        check(self.process.poll() is None, f"it goes on until {text}", self.output())

    def programs(self):
        """Processes that belong to it, as (number, words): they have its folder from their environment, or among their words."""
        found, inherited = [], f"TMPDIR={self.folder}"
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if not entry.name.isdigit():
                    continue
                words, environment = ((entry / file).read_bytes().decode(errors="replace").split("\0") for file in ("cmdline", "environ"))
                if words[0] and (inherited in environment or any(self.folder in word for word in words)):
                    found.append((int(entry.name), " ".join(words)))
            except OSError:
                pass
        return found

    def ends(self, status, what):
        found = self.process.wait(SECONDS)
        check(found == status, f"{what}: exit status {status}", found, self.output())
        check("Stopped: the demonstration did not come to its end" in self.output(), f"{what}: it says so", self.output())
        until(lambda: not self.programs(), f"{what}: nothing is left", self.programs, seconds=5)


def the_terminals_interrupt(programs, folder):
    demo = Demo(programs, folder)
    demo.has_said(SELLS)
    os.killpg(demo.process.pid, signal.SIGINT)
    demo.ends(130, "Ctrl-C")


def a_kill_before_the_database_is_there(programs, folder):
    demo = Demo(programs, folder)
    demo.has_said("Starting holdfastd")
    until(lambda: any("initdb" in words or "-D" in words for _, words in demo.programs()), "the database is being made", seconds=SECONDS)
    demo.process.terminate()
    demo.ends(143, "kill")


def its_second_half_killed(programs, folder):
    demo = Demo(programs, folder)
    demo.has_said(SELLS)
    sale = next(number for number, words in demo.programs() if "demo_sale.py" in words)
    os.kill(sale, signal.SIGKILL)
    demo.ends(137, "SIGKILL of a part of it")


def a_step_that_fails(programs, folder):
    other = os.path.join(folder, "programs")
    os.mkdir(other)
    for name in ("holdfastd", "holdfastctl", "holdfast-bench"):
        os.symlink(os.path.join(programs, name), os.path.join(other, name))
    os.symlink(shutil.which("false"), os.path.join(other, "holdfast-relay"))
    Demo(other, folder).ends(1, "a step that fails")


def a_kill_when_the_broker_has_been_started(programs, folder):
    demo = Demo(programs, folder)
    until(lambda: any("kafka.Kafka" in words for _, words in demo.programs()), "the broker runs", demo.output, seconds=SECONDS)
    demo.process.terminate()
    demo.ends(143, "kill")


TOLD = ("sold       10000,", "refused    490000 sold out", "SIGKILL after", "Nothing is missing and nothing was sold twice.", "item sale: 10000 units, 10000 sold, 10000 orders",
        "\nclean\n", "Stop them: kill ")


def comes_to_its_end(demo, told, programs):
    """Then stops what goes on, as it says that it is stopped."""
    check(demo.process.wait(120) == 0, "exit status 0", demo.output())
    try:
        said = demo.output()
        for text in (*TOLD, *told):
            check(text in said, text, said)
        for program in programs:
            check(any(program in words for _, words in demo.programs()), f"{program} goes on", demo.programs())
    finally:
        subprocess.run(["kill", *demo.output().split("Stop them: kill ")[1].split()], check=True)
    until(lambda: not demo.programs(), "what it says stops them", demo.programs)
    return said


def it_comes_to_its_end(programs, folder):
    said = comes_to_its_end(Demo(programs, folder), ("Kafka: 11000 orders in topic flash-sale-orders, ", "11000 orders and ", "export HOLDFAST_KAFKA=127.0.0.1:"),
                            ("holdfastd ", "holdfast-relay ", "postgres ", "kafka.Kafka"))
    check(said.count("\nclean\n") == 2 and "Without Kafka" not in said, "tables and topics are the server's", said)


def without_a_broker(programs, folder):
    """Without a network the jars cannot be fetched."""
    for name in ("path", "cache"):
        os.mkdir(os.path.join(folder, name))
    maven = pathlib.Path(folder, "path", "mvn")
    maven.write_text("#!/bin/sh\necho 'Could not transfer artifact' >&2\nexit 1\n")
    maven.chmod(0o755)
    demo = Demo(programs, folder, PATH=f"{maven.parent}:{os.environ['PATH']}", XDG_CACHE_HOME=os.path.join(folder, "cache"))
    said = comes_to_its_end(demo, ("Fetching Kafka's jars from Maven Central", "Without Kafka: Maven did not fetch Kafka's jars: Could not transfer artifact"), ("holdfastd ", "holdfast-relay ", "postgres "))
    check(said.count("\nclean\n") == 1 and "HOLDFAST_KAFKA" not in said, "the tables are the server's", said)


CASES = [it_comes_to_its_end, without_a_broker, the_terminals_interrupt, a_kill_before_the_database_is_there, a_kill_when_the_broker_has_been_started, its_second_half_killed, a_step_that_fails]


if __name__ == "__main__":
    chosen = arguments(__doc__).parse_args()
    run_cases(CASES, chosen, program=os.path.dirname(os.path.abspath(chosen.server)))
