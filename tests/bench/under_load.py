"""A holdfastd of one or two shards under load, seen by its threads: which thread has the connections, which owns an item, and
what processor time each used."""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "crash"), str(TESTS / "system")]
from holdfastd_test import Server, check  # noqa: E402
from resp import Connection  # noqa: E402
from shards import owner  # noqa: E402

CONNECTIONS = 50


def thread_seconds(pid):
    """{name: processor seconds so far} of a process's threads."""
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm") as comm, open(f"/proc/{pid}/task/{task}/schedstat") as times:
            name = comm.read().strip()
            found[name] = found.get(name, 0) + int(times.read().split()[0]) / 1e9
    return found


def thread_sleeps(pid):
    """{name: how often it went to sleep by itself so far}."""
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm") as comm, open(f"/proc/{pid}/task/{task}/status") as status:
            name, count = comm.read().strip(), re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read(), re.M)
            found[name] = found.get(name, 0) + int(count[1])
    return found


def grown(after, before):
    return {name: used - before.get(name, 0) for name, used in after.items()}


def machine_seconds():
    """Processor seconds that the machine has worked, or was kept from working by its host, so far."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def children():
    """Processor seconds and sleeps of all processes that this one started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, used.ru_nvcsw


class Load:
    """One run of holdfast-bench: what it tells, what each thread of the server used meanwhile, and what it used itself."""

    def __init__(self, told, seconds, sleeps, client, machine):
        self.told, self.seconds, self.sleeps = told, seconds, sleeps
        self.client_seconds, self.client_sleeps = client
        self.others_seconds = machine - sum(seconds.values()) - self.client_seconds  # of who is neither server nor load

    def per_million(self):
        return sum(self.seconds.values()) * 1e6 / self.told["requests"]


class UnderLoad:
    def __init__(self, build, folder, shards, *flags, environment=None):
        os.makedirs(folder)
        self.bench, self.shards, self.items = str(build / "bin" / "holdfast-bench"), shards, 0
        self.server = Server(str(build / "bin" / "holdfastd"), folder, "--shards", str(shards), *flags, metrics=True,
                             environment=environment)
        self.server.ready()
        self.pid = self.server.process.pid
        self.main = Connection(self.server.address)
        self.shifts, self.next_home = [], None
        if shards == 2:
            used = self.load(1, 20_000, "PING", home="any").seconds
            least, most = sorted(used[f"shard-{n}"] for n in range(2))
            check(least < most / 10, "the connections of a load are on one thread", used)
            self.next_home = 0 if used["shard-0"] == most else 1

    def item(self, of, *options):
        """A new item that this shard owns."""
        while True:
            self.items += 1
            name = f"item{self.items}"
            if owner(name, self.shards) == of:
                check(self.main.ask("ITEM", "CREATE", name, *options) == "OK", "an item")
                return name

    def sold_out(self, of):
        """Such an item that everybody is refused."""
        name = self.item(of, "STOCK", 1)
        check(self.main.ask("RESERVE", name, "first") == 0, "the only unit")
        return name

    def aim(self, home):
        """The next connections that are silent and not, in turn, are so that the others are on this thread."""
        if self.next_home is not None and home != "any" and home != self.next_home:
            self.shifts.append(Connection(self.server.address))
            self.shifts[-1].ask("PING")
            self.next_home = home

    def connections(self, count, home):
        """So many on this thread."""
        self.aim(home)
        both = [Connection(self.server.address) for _ in range(2 * count)]
        self.shifts += both[::2]
        return both[1::2]

    def command(self, pipeline, requests, *words, home, connections=CONNECTIONS):
        """That of a load whose connections are on this thread, or on both ("both")."""
        silent = 1 if self.shards == 2 and home != "both" else 0
        check(connections * (1 + silent) % self.shards == 0, "as many for each thread, so that the next load finds its own")
        self.aim(home if silent else "any")
        return [self.bench, "raw", "--server", f"127.0.0.1:{self.server.port}", "--server-pid", str(self.pid), "-c", str(connections),
                "-P", str(pipeline), "-n", str(requests), "--silent", str(silent), "--json", *words]

    def load(self, pipeline, requests, *words, home, connections=CONNECTIONS, environment=None):
        command = self.command(pipeline, requests, *words, home=home, connections=connections)
        seconds, sleeps, client, machine = thread_seconds(self.pid), thread_sleeps(self.pid), children(), machine_seconds()
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)
        found = Load(told, grown(thread_seconds(self.pid), seconds), grown(thread_sleeps(self.pid), sleeps),
                     [after - before for after, before in zip(children(), client)], machine_seconds() - machine)
        check(told["errors"] == 0, "no errors", told)
        return found

    def pin(self):
        """Binds the owner and the log to one processor, another shard's thread, this program and what it starts to the other."""
        for task in os.listdir(f"/proc/{self.pid}/task"):
            name = pathlib.Path(f"/proc/{self.pid}/task/{task}/comm").read_text().strip()
            os.sched_setaffinity(int(task), {1 if name == "shard-1" else 0})
        os.sched_setaffinity(0, {1})

    def stop(self):
        self.main.stream.close()
        self.main.socket.close()
        self.server.stop()
