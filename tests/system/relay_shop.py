"""A server, a database with its tables, and the relay between them, as tests of what people do to the tables need them."""
import os
import subprocess

from cases import arguments, run_cases
from relay_bench import AgainServer, Connection, Postgres, Relay, caught_up, check, free_port, id_of, migrated
from resp import as_map


class Programs:
    """The programs of a run, and the one database server that its cases share, each with a database of its own."""

    def __init__(self, options, postgres):
        self.server, self.relay, self.ctl = (os.path.abspath(path) for path in (options.server, options.relay, options.ctl))
        self.postgres, self.databases = postgres, 0

    def database(self):
        self.databases += 1
        name = f"case{self.databases}"
        self.postgres.run(f"CREATE DATABASE {name}")
        return Database(self.postgres, name)


class Database:
    """One database of a server, used as a server of its own."""

    def __init__(self, postgres, name):
        self.postgres, self.name = postgres, name

    def url(self):
        return self.postgres.url(self.name)

    def run(self, sql):
        return self.postgres.run(sql, self.name)

    def value(self, sql):
        return self.postgres.value(sql, self.name)


class Shop:
    """A server, a database with its tables, and the relay between them."""

    def __init__(self, programs, folder, *migrate_flags, server_flags=(), relay_flags=(), before="", data=""):
        self.programs, self.folder = programs, os.path.join(folder, data)
        os.makedirs(self.folder, exist_ok=True)
        self.database, self.sink = programs.database(), "postgres"
        self.server = AgainServer(programs.server, self.folder, *server_flags)
        self.server.ready()
        migrated(programs.relay, self.database, *migrate_flags)
        if before:
            self.database.run(before)
        self.start_relay(*relay_flags)

    def start_relay(self, *flags):
        self.metrics = free_port()
        self.relay = Relay(self.programs.relay, self.folder, self.server, f"{self.sink}={self.database.url()}", flags=("--metrics-port", str(self.metrics), *flags))

    def ask(self, *requests):
        with Connection(self.server.address) as connection:
            return connection.ask_all(requests)

    def caught_up(self):
        caught_up(self.server, self.database, self.relay)

    def ctl(self, *words, status=0):
        done = subprocess.run([self.programs.ctl, "--server", f"127.0.0.1:{self.server.port}", *words], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "HOLDFAST_POSTGRES": self.database.url()})
        check(status is None or done.returncode == status, f"holdfastctl {' '.join(words)}: exit status {status}", done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def item(self, name="item:1"):
        """The server's counters, and the table's."""
        counters = as_map(self.ask(("ITEM", "GET", name))[0])
        row = self.database.run(f"SELECT quantity, sold FROM flash_sale_item WHERE item_id::text IN ('{name}', '{name.split(':')[1]}')")[0]
        return [counters[key] for key in ("total", "available", "reserved", "confirmed")], [int(number) for number in row]

    def orders(self, item="item:1"):
        return {int(order[-6:], 16): status for order, status in self.database.run(f"SELECT order_id, status FROM flash_sale_order WHERE item_id::text = '{item}'")}

    def parked(self):
        return [int(key[-6:], 16) for key, in self.database.run("SELECT key FROM holdfast_parked WHERE state = 'parked' ORDER BY first_sequence")]

    def stage(self, number, item="item:1"):
        return as_map(self.ask(("RESERVATION", "GET", item, "ID", id_of(number)))[0])["stage"].decode()

    def stop(self):
        self.relay.stop()
        self.server.stop()


def reserve(item, numbers, *more):
    return [("RESERVE", item, number, "ID", id_of(number), *more) for number in numbers]


def run_shop_cases(doc, cases):
    parser = arguments(doc)
    parser.add_argument("--relay", required=True, help="path of holdfast-relay")
    parser.add_argument("--ctl", required=True, help="path of holdfastctl")
    options = parser.parse_args()
    with Postgres() as postgres:
        run_cases(cases, options, program=Programs(options, postgres))
