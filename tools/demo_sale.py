#!/usr/bin/env python3
"""The sales of tools/demo.sh: 10,000 units for 500,000 users who come at 50,000 a second; then 1,000 units for 50,000
users with a SIGKILL in the middle, and who has what after that; meanwhile holdfast-relay writes all of it into a private
PostgreSQL and, where one can be started, a private Kafka, and holdfastctl reconcile compares them with the server.

In the second one each user asks once, with an ID of his own. When the connection is lost he does what a real client does: he
waits for the server and asks again with the same ID. Every success that was acknowledged is written down and must be there
at the end.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS / "crash"), str(TESTS / "services")]
import kafka  # noqa: E402
from postgres import Postgres  # noqa: E402
from resp import Connection, Lost, as_map  # noqa: E402

ITEM, UNITS, USERS, CONNECTIONS, AT_ONCE = "demo", 1000, 50_000, 50, 2
KILL_AFTER = 300  # acknowledged sales
CARRY_SECONDS = 60  # for the relay to bring what is left


class Server:
    def __init__(self, program, folder, port):
        self.program, self.folder, self.address, self.process = program, folder, ("127.0.0.1", port), None

    def start(self):
        command = [self.program, "--data-dir", os.path.join(self.folder, "data"), "--port", str(self.address[1]), "--metrics-port", "0"]
        with open(os.path.join(self.folder, "output"), "ab") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        with open(os.path.join(self.folder, "pid"), "w") as file:
            file.write(f"{self.process.pid}\n")
        wait_for(self.address, self.process)
        print("  " + self.last_line())

    def last_line(self):
        with open(os.path.join(self.folder, "output")) as file:
            return file.read().strip().splitlines()[-1]


def wait_for(address, process=None):
    """Until the server answers PING; a connection to it."""
    while True:
        if process and process.poll() is not None:
            sys.exit("holdfastd did not start; its output stands in the folder")
        try:
            connection = Connection(address)
            if connection.ask("PING") == "PONG":
                return connection
        except Lost:
            pass
        time.sleep(0.01)


def start_kafka(folder):
    """A broker in the folder, or none, which is said."""
    home = os.path.join(folder, "kafka")
    os.mkdir(home)
    try:
        if not kafka.cached_jars().is_dir():
            print(f"Fetching Kafka's jars from Maven Central, 44 MB, once: into {kafka.cached_jars()}.", flush=True)
        return kafka.Kafka(folder=home)
    except (kafka.Missing, OSError, RuntimeError) as error:
        why = " ".join(str(error).split())
        print(f"Without Kafka: {why[:300]}. It needs Java, Maven and, the first time, the network; then run tools/demo.sh again.")
        return None


class Outside:
    """A PostgreSQL server and, where there can be one, a Kafka in the folder, and the relay that writes into them; all go on after
    this program, or are stopped by tools/demo.sh, as the server is."""

    def __init__(self, programs, folder, port):
        self.programs, self.port = programs, port
        self.broker = start_kafka(folder)
        os.chmod(folder, 0o711)  # the database's user has to get to its own folder
        home = os.path.join(folder, "postgres")
        os.mkdir(home)
        self.database = Postgres(folder=home)
        subprocess.run([self.programs["holdfast-relay"], "migrate", "--postgres", self.database.url()], check=True, stdout=subprocess.DEVNULL)
        command = [self.programs["holdfast-relay"], "--from", f"127.0.0.1:{port}", "--sink", f"postgres={self.database.url()}", "--metrics-port", "0"]
        if self.broker:
            subprocess.run([self.programs["holdfastctl"], "topic", "create", "--kafka", self.broker.servers(), "--replicas", "1"], check=True, stdout=subprocess.DEVNULL)
            command += ["--sink", f"kafka={self.broker.servers()}", "--allow-unreplicated"]
            pathlib.Path(folder, "kafka.servers").write_text(f"{self.broker.servers()}\n")
        with open(os.path.join(folder, "relay.output"), "ab") as output:
            self.relay = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        for name, text in (("relay.pid", self.relay.pid), ("postgres.pid", self.database.process.pid), ("postgres.url", self.database.url())):
            pathlib.Path(folder, name).write_text(f"{text}\n")

    def reconcile(self):
        """Waits until the relay has brought everything, and shows what differs; whether nothing does."""
        deadline = time.monotonic() + CARRY_SECONDS
        with Connection(("127.0.0.1", self.port)) as connection:
            while any(as_map(sink)["lag_records"] for sink in as_map(connection.ask("LOG", "SINKS"))["sinks"]):
                if self.relay.poll() is not None or time.monotonic() > deadline:
                    sys.exit("holdfast-relay does not bring the orders; its output stands in the folder")
                time.sleep(0.05)
        for line in self.database.run("SELECT item_id, i.quantity, sold, count(*) FROM flash_sale_item i JOIN flash_sale_order USING (item_id) GROUP BY 1, 2, 3 ORDER BY 1"):
            print("PostgreSQL: item {}: {} units, {} sold, {} orders".format(*line))
        control = [self.programs["holdfastctl"], "--server", f"127.0.0.1:{self.port}"]
        command = [*control, "reconcile", "--postgres", self.database.url()]
        if self.broker:
            topics = ["--kafka", self.broker.servers()]
            told = json.loads(subprocess.run([*control, "--json", "reconcile", *topics], stdout=subprocess.PIPE).stdout)
            print(f"Kafka: {told['orders']} orders in topic flash-sale-orders, {told['events']} events in flash-sale-events")
            command += topics
        print("holdfastctl reconcile:", flush=True)
        return subprocess.run(command).returncode == 0


class Buyers(threading.Thread):
    """The users of one connection."""

    def __init__(self, address, users, on_sold):
        super().__init__(daemon=True)
        self.address, self.users, self.on_sold, self.sold, self.lost = address, users, on_sold, {}, 0

    def run(self):
        connection = wait_for(self.address)
        left = list(self.users)
        while left:
            part = left[:AT_ONCE]
            try:
                for (user, request_id), reply in zip(part, self.ask(connection, part)):
                    if isinstance(reply, int) and reply >= 0:
                        self.sold[user] = request_id
                        self.on_sold()
                    left.remove((user, request_id))
            except Lost:
                self.lost += 1
                connection = wait_for(self.address)

    def ask(self, connection, part):
        connection.send([("RESERVE", ITEM, user, "ID", request_id) for user, request_id in part])
        for _ in part:
            yield connection.read()


def sell_to_many(server, bench):
    """The large sale, by holdfast-bench, which shows how far it is and what came of it."""
    command = [bench, "sale", "--server", f"{server.address[0]}:{server.address[1]}", "--units", "10000", "--users", "500000",
               "--rate", "50000", "--connections", "64"]
    print("Item 'sale' with 10000 units; 500000 users come at 50000 a second over 64 connections.", flush=True)
    if subprocess.run(command).returncode != 0:
        sys.exit("WRONG: see above.")


def sell(server):
    """Runs the sale with a crash in it; who was told that he has a unit, and with which id."""
    users = [(str(user), str(uuid.uuid4())) for user in random.sample(range(10**6, 10**7), USERS)]
    acknowledged, enough = itertools.count(1), threading.Event()

    def on_sold():
        """The buyer who gets the last of so many units kills the server."""
        if next(acknowledged) == KILL_AFTER:
            server.process.send_signal(signal.SIGKILL)
            enough.set()
    crew = [Buyers(server.address, users[n::CONNECTIONS], on_sold) for n in range(CONNECTIONS)]
    for buyers in crew:
        buyers.start()
    while not enough.wait(0.1):
        if server.process.poll() is not None:
            sys.exit("holdfastd ended by itself; its output stands in the folder")
    server.process.wait()
    print(f"SIGKILL after {sum(len(buyers.sold) for buyers in crew)} acknowledged sales. Starting again.")
    server.start()
    for buyers in crew:
        buyers.join()
    print(f"All {USERS} users have their answers; {sum(buyers.lost for buyers in crew)} connections were lost and replaced.")
    return {user: request_id for buyers in crew for user, request_id in buyers.sold.items()}


def reservations(connection):
    found, cursor = [], b"0"
    while True:
        cursor, page = connection.ask("RESERVATION", "LIST", ITEM, "CURSOR", cursor, "COUNT", 1000)
        found += [as_map(row) for row in page]
        if cursor == b"0":
            return {row["user"].decode(): row["id"].decode() for row in found}, len(found)


def count(server, sold):
    connection = wait_for(server.address)
    item = as_map(connection.ask("ITEM", "GET", ITEM))
    rows, row_count = reservations(connection)
    missing = [user for user, request_id in sold.items() if rows.get(user) != request_id]
    print(f"The item:   total {item['total']}, available {item['available']}, reserved {item['reserved']}")
    print(f"Told sold:  {len(sold)} users")
    print(f"In there:   {row_count} reservations of {len(rows)} users")
    print(f"Missing:    {len(missing)} of those that were acknowledged")
    print(f"Sold twice: {row_count - len(rows)}, and {max(0, row_count - UNITS)} more than there are")
    return not missing and row_count == len(rows) == len(sold) == UNITS and item["available"] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="the folder of holdfastd, holdfast-bench, holdfast-relay and holdfastctl")
    parser.add_argument("--folder", required=True, help="an empty one: data, output and process id go there")
    parser.add_argument("--port", type=int, default=7379)
    options = parser.parse_args()
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", options.port))
        except OSError:
            sys.exit(f"port {options.port} is already in use; give another one: tools/demo.sh 7380")
    # As any other failure: what this has started in turn is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    programs = {name: os.path.abspath(os.path.join(options.programs, name)) for name in ("holdfastd", "holdfast-bench", "holdfast-relay", "holdfastctl")}
    server = Server(programs["holdfastd"], options.folder, options.port)
    print("Starting holdfastd, PostgreSQL, Kafka and holdfast-relay.", flush=True)
    server.start()
    outside = Outside(programs, options.folder, options.port)
    sell_to_many(server, programs["holdfast-bench"])
    print(f"\nItem {ITEM!r} with {UNITS} units; {USERS} users buy over {CONNECTIONS} connections.")
    with Connection(server.address) as connection:
        if connection.ask("ITEM", "CREATE", ITEM, "STOCK", UNITS, "TTL", 3_600_000, "MAX-HOLD", 3_600_000) != "OK":
            sys.exit("ITEM CREATE was refused")
    right = count(server, sell(server))
    print("Nothing is missing and nothing was sold twice." if right else "WRONG: see the counts above.")
    print()
    same = outside.reconcile()
    sys.exit(0 if right and same else 1)


if __name__ == "__main__":
    main()
