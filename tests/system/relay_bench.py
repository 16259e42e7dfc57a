"""What tests and measurements of the relay share: a server, a database and a relay between them."""
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "services"), str(HERE.parent / "crash")]
from cases import STARTED  # noqa: E402
from holdfastd_test import Server, check  # noqa: E402,F401
from postgres import Postgres, free_port  # noqa: E402,F401
from resp import Connection, Lost, as_map  # noqa: E402,F401

WAIT_SECONDS = 60


def id_of(number, kind=0):
    return f"00000000-0000-0000-{kind:04x}-{number:012x}"


class AgainServer(Server):
    """A server that can be killed and started again on its port, in its folder. With `shim` and `undo` (libholdfast_shim.so,
    holdfast-undo) each kill is a power cut, too: of what was not durable, some is undone."""

    def __init__(self, program, folder, *flags, shim=None, undo=None):
        self.undo, self.root, self.side = undo, os.path.join(folder, "data"), os.path.join(folder, "side")
        self.environment = {}
        if shim:
            os.makedirs(self.side, exist_ok=True)
            self.environment = {"LD_PRELOAD": os.path.abspath(shim), "HOLDFAST_SHIM_ROOT": self.root, "HOLDFAST_SHIM_DIR": self.side, "HOLDFAST_SHIM_FAULTS": ""}
        super().__init__(program, folder, *flags, environment=self.environment)

    def again(self, seed=1):
        self.process.kill()
        self.process.wait()
        if self.undo:
            done = subprocess.run([self.undo, "--root", self.root, "--side", self.side, "--seed", str(seed)], capture_output=True, text=True)
            check(done.returncode == 0, "holdfast-undo", done.stderr)
        words = self.process.args
        with open(self.path, "ab") as output:
            self.process = subprocess.Popen(words, stderr=output, env={**os.environ, **self.environment})
        STARTED.append(self.process)
        self.ready()


class Relay:
    """A running holdfast-relay; its output is kept."""

    def __init__(self, program, folder, server, *sinks, flags=()):
        self.path = os.path.join(folder, f"relay.{time.monotonic_ns()}")
        metrics = () if "--metrics-port" in flags else ("--metrics-port", "0")
        words = [program, "--from", f"127.0.0.1:{server.port}", *metrics, *flags]
        for sink in sinks:
            words += ["--sink", sink]
        with open(self.path, "wb") as output:
            self.process = subprocess.Popen(words, stderr=output)
        STARTED.append(self.process)

    def output(self):
        return pathlib.Path(self.path).read_text(errors="replace")

    def wait(self, seconds=WAIT_SECONDS):
        """The exit status, when it ends by itself."""
        return self.process.wait(seconds)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        status = self.process.wait(WAIT_SECONDS)
        check(status == 0, "SIGTERM: exit status 0", status, self.output()[-500:])


def until(condition, what, *facts, seconds=WAIT_SECONDS):
    """Waits for it; what it was then."""
    deadline, never = time.monotonic() + seconds, threading.Event()
    while True:
        found = condition()
        if found:
            return found
        check(time.monotonic() < deadline, what, *[fact() if callable(fact) else fact for fact in facts])
        never.wait(0.05)


CUT_FLAGS = ("--log-keep-bytes", "0", "--log-keep-age", "0", "--segment-bytes", "65536")  # of a server whose log can be cut


def cut_log(shop):
    """Sells item:3 until the log no longer begins at the beginning: what was before is known from a snapshot."""
    shop.ask(("ITEM", "CREATE", "item:3", "STOCK", 100_000, "LIMIT", 0))

    def cut():
        shop.ask(*[("RESERVE", "item:3", "u") for _ in range(2000)])
        shop.caught_up()
        shop.ctl("snapshot")
        return json.loads(shop.ctl("--json", "LOG", "SINKS"))["oldest_lsn"] > 1
    until(cut, "the log is cut", seconds=120)


def durable_lsn(server):
    with Connection(server.address) as connection:
        info = connection.ask("INFO", "holdfast").decode()
    return next(int(line.split(":")[1]) for line in info.splitlines() if line.startswith("durable_lsn:"))


def caught_up(server, database, relay=None, seconds=WAIT_SECONDS):
    """Waits until the database has all that is durable now."""
    lsn = durable_lsn(server)
    until(lambda: int(database.value("SELECT coalesce(max(lsn), 0) FROM holdfast_cursor")) >= lsn, "the sink catches up",
          lambda: database.run("SELECT * FROM holdfast_cursor"), lambda: relay.output()[-1000:] if relay else "", seconds=seconds)


def migrated(relay, database, *flags):
    done = subprocess.run([relay, "migrate", "--postgres", database.url(), *flags], capture_output=True, text=True)
    check(done.returncode == 0, "the tables are made", done.stderr)


def audit(database):
    """What does not agree in the tables: sums, gaps of the journal, what the journal says of each order."""
    wrong = database.run("""
      SELECT 'sum', i.item_id::text, i.sold::text FROM flash_sale_item i
       WHERE i.sold <> (SELECT coalesce(sum(quantity), 0) FROM flash_sale_order o WHERE o.item_id = i.item_id AND o.version = i.version
                          AND o.status IN ('PENDING', 'PAID'))
      UNION ALL
      SELECT 'gap', item, version::text FROM flash_sale_journal GROUP BY item, version HAVING count(*) <> max(sequence) OR min(sequence) <> 1
      UNION ALL
      SELECT 'order', o.order_id::text, o.status || ' after ' || j.event FROM flash_sale_order o JOIN holdfast_item k USING (item_id, version)
          JOIN flash_sale_journal j ON j.item = k.item AND j.version = o.version AND j.sequence = o.sequence
       WHERE o.status <> CASE j.event WHEN 'RESERVE' THEN 'PENDING' WHEN 'EXTEND' THEN 'PENDING' WHEN 'CONFIRM' THEN 'PAID' WHEN 'RESUME' THEN 'PAID'
                                      WHEN 'RELEASE' THEN 'CANCELLED' WHEN 'EXPIRE' THEN 'EXPIRED' ELSE 'REFUNDED' END
         AND j.order_id = o.order_id""")
    return wrong[:10]
