#!/usr/bin/env python3
"""holdfast-relay with rows that the database does not take: parked, told to the server and to people, and nothing else stops.

usage: relay_parked_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay --only lowered
"""
import os
import subprocess
import urllib.request

from cases import arguments, run_cases
from holdfastd_test import free_port
from relay_bench import Connection, Postgres, Relay, as_map, audit, caught_up, check, id_of, migrated, until
from relay_test import Programs, ask_all, ready, reserve


def parked(database):
    """By number of the reservation: the reason."""
    return {int(key[-12:], 16): reason for key, reason in database.run("SELECT key, reason FROM holdfast_parked WHERE state = 'parked' ORDER BY key")}


def begun(programs, folder, database, *ids, flags=()):
    """Server and relay, with tables."""
    server = ready(programs, folder)
    migrated(programs.relay, database, *ids)
    return server, Relay(programs.relay, folder, server, f"postgres={database.url()}", flags=flags)


def sinks_of(server, item, number):
    with Connection(server.address) as connection:
        found = as_map(connection.ask("RESERVATION", "GET", item, "ID", id_of(number)))
    return found["stage"], as_map(found["sinks"])


def one_alarm(relay):
    """It comes after the batch that parked something."""
    until(lambda: "ALARM" in relay.output(), "an alarm", relay.output)
    check(relay.output().count("ALARM") == 1, "one alarm", relay.output())


def a_quantity_that_was_lowered_by_hand(programs, folder):
    port = free_port()
    with Postgres() as database:
        server, relay = begun(programs, folder, database, flags=("--metrics-port", str(port)))
        ask_all(server, [("ITEM", "CREATE", f"item:{each}", "STOCK", 100) for each in (1, 2)] + reserve("item:1", range(1, 11)))
        caught_up(server, database, relay)
        database.run("UPDATE flash_sale_item SET quantity = 15 WHERE item_id = 'item:1'")
        # 5 of these 20 still fit; what went before, and the other item, do not care.
        ask_all(server, reserve("item:1", range(11, 31)) + reserve("item:2", range(101, 121)))
        ask_all(server, [("CONFIRM", "item:1", number, "ID", id_of(number)) for number in (*range(1, 6), 12, 29)])
        caught_up(server, database, relay)
        check(parked(database) == dict.fromkeys(range(16, 31), "no_room"), "exactly what does not fit", parked(database))
        check(database.run("SELECT quantity, sold FROM flash_sale_item ORDER BY item_id") == [["15", "15"], ["100", "20"]], "the sums")
        check(database.value("SELECT count(*) FROM flash_sale_order WHERE status = 'PAID'") == "6", "the others flow")
        check(database.value("SELECT to_status FROM holdfast_parked WHERE key = '" + id_of(29) + "'") == "PAID", "a chain follows")
        check(audit(database) == [], "sums, gaps, states", audit(database))
        ask_all(server, reserve("item:1", range(31, 41)) + [("CONFIRM", "item:1", 17, "ID", id_of(17))])
        caught_up(server, database, relay)
        check(len(parked(database)) == 25, "and so on", parked(database))
        one_alarm(relay)
        check("item item:1: " in relay.output(), "of this item", relay.output())
        with Connection(server.address) as connection:
            item = as_map(connection.ask("ITEM", "GET", "item:1"))
            check((item["available"], item["reserved"], item["confirmed"]) == (60, 32, 8), "no stock returns", item)
            done = as_map(connection.ask("RESERVATION", "WAIT", "item:1", "ID", id_of(40), "STAGE", "done", "TIMEOUT", 10_000))
            check(done["stage"] == b"done" and as_map(done["sinks"])["postgres"] == b"parked", "the server knows", done)
        check(sinks_of(server, "item:1", 12) == (b"done", {"postgres": b"acknowledged"}), "and of what flows", sinks_of(server, "item:1", 12))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
            lines = reply.read().decode().splitlines()
        for line in ('holdfast_relay_parked_items{sink="postgres"} 1', 'holdfast_relay_parked_total{sink="postgres"} 25',
                     'holdfast_relay_running{sink="postgres"} 1', 'holdfast_relay_lag_records{sink="postgres"} 0'):
            check(line in lines, "the metrics", line, [each for each in lines if "parked" in each])
        relay.stop()
        # Who starts says once that there is something to look at.
        relay = Relay(programs.relay, folder, server, f"postgres={database.url()}")
        until(lambda: "of 1 items something is parked" in relay.output(), "one line", relay.output)
        relay.stop()
        server.stop()


def a_user_that_is_no_number(programs, folder):
    with Postgres() as database:
        server, relay = begun(programs, folder, database, "--ids", "bigint")
        ask_all(server, [("ITEM", "CREATE", "item:7", "STOCK", 100), ("RESERVE", "item:7", "alice", "ID", id_of(1), "TTL", 1500)] + reserve("item:7", range(2, 12)))
        caught_up(server, database, relay)
        check(parked(database) == {1: "bad_id"}, "she is parked", parked(database))
        check(database.run("SELECT item_id, quantity, sold FROM flash_sale_item") == [["7", "100", "10"]], "the item flows")
        until(lambda: sinks_of(server, "item:7", 1)[1] == {"postgres": b"parked"}, "the server is told", lambda: sinks_of(server, "item:7", 1))
        with Connection(server.address) as connection:
            until(lambda: as_map(connection.ask("ITEM", "GET", "item:7"))["reserved"] == 10, "hers expires")
        caught_up(server, database, relay)
        check(database.run("SELECT state, to_status FROM holdfast_parked") == [["resolved", "EXPIRED"]], "its end follows it, and nothing is left to do")
        until(lambda: sinks_of(server, "item:7", 1)[1] == {"postgres": b"acknowledged"}, "the server is told", lambda: sinks_of(server, "item:7", 1), seconds=20)
        # The first name seen owns its number.
        ask_all(server, [("ITEM", "CREATE", "7", "STOCK", 5), *reserve("7", [50])])
        caught_up(server, database, relay)
        check(parked(database) == {50: "bad_id"}, "the other name's are parked", parked(database))
        check(database.run("SELECT item, coalesce(item_id::text, refused) FROM holdfast_item ORDER BY number") == [["item:7", "7"], ["7", "bad_id"]], "who owns it")
        relay.stop()
        server.stop()


def rows_of_items_that_people_made(programs, folder):
    for flags, default in (((), " DEFAULT ''"), (("--existing-items",), "")):
        with Postgres() as database:
            database.run(f"CREATE TABLE flash_sale_item (item_id text PRIMARY KEY, quantity bigint NOT NULL, title text NOT NULL{default});"
                         "INSERT INTO flash_sale_item VALUES ('item:1', 70, 'a shoe')")
            below = os.path.join(folder, "existing" if flags else "foreign")
            os.mkdir(below)
            server, relay = begun(programs, below, database, flags=flags)
            ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 100, "PRICE", 995, "CURRENCY", "EUR"), *reserve("item:1", range(1, 11))])
            caught_up(server, database, relay)
            if flags:
                # Only people can make such a row, and of this item nobody did; that one waits for them, and the others do not.
                ask_all(server, [("ITEM", "CREATE", "item:2", "STOCK", 5), *reserve("item:2", [50])])
                caught_up(server, database, relay)
                check(parked(database) == {50: "refused"}, "what has no row", parked(database))
                one_alarm(relay)
                database.run("UPDATE holdfast_parked SET state = 'cancelled'")
            row = database.run("SELECT quantity, sold, version, price, title FROM flash_sale_item")
            if flags:
                check(row == [["70", "10", "1", "995", "a shoe"]] and not parked(database), "it is taken over with its quantity", row)
            else:
                check(row == [["70", "0", None, None, "a shoe"]] and set(parked(database).values()) == {"foreign_row"}, "it is left alone", row)
            relay.stop()
            server.stop()


def what_the_database_refuses_by_itself(programs, folder):
    with Postgres() as database:
        server, relay = begun(programs, folder, database)
        until(lambda: "running" in relay.output(), "it works", relay.output)
        database.run("ALTER TABLE flash_sale_order ADD CONSTRAINT no_seven CHECK (user_id <> '7'), ALTER user_id TYPE varchar(8)")
        ask_all(server, [("ITEM", "CREATE", f"item:{each}", "STOCK", 100) for each in (1, 2)] + reserve("item:1", range(1, 21)) + reserve("item:2", range(101, 121)))
        ask_all(server, [("RESERVE", "item:1", "much-too-long", "ID", id_of(30)), ("CONFIRM", "item:1", 7, "ID", id_of(7)), ("CONFIRM", "item:1", 8, "ID", id_of(8))])
        caught_up(server, database, relay)
        check(parked(database) == {7: "refused", 30: "refused"}, "the two, with a reason of their own", parked(database))
        details = database.run("SELECT detail FROM holdfast_parked ORDER BY key")
        check("no_seven" in details[0][0] and "too long" in details[1][0], "in the database's words", details)
        check(database.run("SELECT sold FROM flash_sale_item ORDER BY item_id") == [["19"], ["20"]], "the others flow")
        check(audit(database) == [], "sums, gaps, states", audit(database))
        one_alarm(relay)
        until(lambda: sinks_of(server, "item:1", 7)[1] == {"postgres": b"parked"}, "the server is told", lambda: sinks_of(server, "item:1", 7))
        relay.stop()
        server.stop()


def two_sinks_for_the_same_tables(programs, folder):
    with Postgres() as database:
        server, relay = begun(programs, folder, database)
        ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 100), *reserve("item:1", [1])])
        caught_up(server, database, relay)
        other = Relay(programs.relay, folder, server, f"postgres:shop={database.url()}")
        check(other.wait() == 1 and "the tables are those of sink postgres" in other.output(), "it says whose they are", other.output())
        ask_all(server, reserve("item:1", [2]))
        caught_up(server, database, relay)
        check(database.run("SELECT sink, epoch FROM holdfast_cursor") == [["postgres", "1"]], "nothing changed")
        with Connection(server.address) as connection:
            sinks = as_map(connection.ask("LOG", "SINKS"))["sinks"]
        check([as_map(each)["name"] for each in sinks] == [b"postgres"], "the server keeps its log for one", sinks)
        relay.stop()
        # Two that begin at the same time with empty tables: one has them.
        database.run("CREATE DATABASE empty")
        url = database.url("empty")
        done = subprocess.run([programs.relay, "migrate", "--postgres", url], capture_output=True, text=True, timeout=60)
        check(done.returncode == 0, "tables", done.stderr)
        both = Relay(programs.relay, folder, server, f"postgres:a={url}", f"postgres:b={url}")
        until(lambda: "stopped: the tables are those of sink" in both.output() and "running" in both.output(), "one of them", both.output)
        both.stop()
        server.stop()


def what_is_wrong_on_the_command_line(programs, folder):
    for flags, wanted in ((("--from", "nowhere"), "not HOST:PORT"), (("--from", "localhost:99999"), "not HOST:PORT"),
                          (("--sink", "postgres=nonsense"), "cannot be read"), (("--sink", "postgres=host=db prot=5432"), "prot"),
                          (("--sink", "postgres=host=db port=54321x"), "port=54321x"), (("--sink", "postgres=host=db sslmode=no"), "sslmode=no"),
                          (("--sink", "postgres=host=db password=secret"), "passfile")):
        words = [programs.relay, "--metrics-port", "0", *flags]
        if "--sink" not in flags:
            words += ["--sink", f"file={folder}/orders.jsonl"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        check(done.returncode == 2 and wanted in done.stderr, "exit status 2, and why", flags, done.returncode, done.stderr)


def what_is_wrong_at_the_start_is_said(programs, folder):
    with Postgres() as database:
        server, relay = begun(programs, folder, database)
        until(lambda: "running" in relay.output(), "it works", relay.output)
        relay.stop()
        database.run("CREATE USER relay; GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO relay; REVOKE UPDATE ON flash_sale_item FROM relay")
        said = f"postgres={database.url(user='relay')}"
        for repair, wanted in (("SELECT 1", "GRANT SELECT, INSERT, UPDATE ON flash_sale_item TO relay"),
                               ("GRANT UPDATE ON flash_sale_item TO relay; ALTER TABLE flash_sale_item DROP CONSTRAINT flash_sale_item_sold", "flash_sale_item_sold of the schema is gone"),
                               ("ALTER TABLE flash_sale_item ADD CONSTRAINT flash_sale_item_sold CHECK (0 <= sold AND sold <= quantity); DROP INDEX flash_sale_order_live",
                                "flash_sale_order_live of the schema is gone"),
                               ("CREATE UNIQUE INDEX flash_sale_order_live ON flash_sale_order (item_id, version, user_id) WHERE exclusive AND status IN ('PENDING', 'PAID');"
                                "ALTER TABLE flash_sale_order ADD who text NOT NULL", "flash_sale_order wants a value for who"),
                               ("ALTER TABLE flash_sale_order DROP who, ALTER lsn TYPE boolean USING true", "flash_sale_order is not as deploy/postgres makes it"),
                               ("ALTER TABLE flash_sale_order DROP lsn", 'column "lsn" of relation "flash_sale_order" does not exist')):
            database.run(repair)
            relay = Relay(programs.relay, folder, server, said)
            check(relay.wait() == 1 and wanted in relay.output(), "it says what to do", wanted, relay.output())
        database.run("ALTER TABLE flash_sale_order ADD lsn bigint NOT NULL")
        relay = Relay(programs.relay, folder, server, said)
        ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 10), *reserve("item:1", [1])])
        caught_up(server, database, relay)
        relay.stop()
        server.stop()


CASES = [a_quantity_that_was_lowered_by_hand, a_user_that_is_no_number, rows_of_items_that_people_made, what_the_database_refuses_by_itself,
         two_sinks_for_the_same_tables, what_is_wrong_on_the_command_line, what_is_wrong_at_the_start_is_said]


def main():
    parser = arguments(__doc__)
    parser.add_argument("--relay", required=True, help="path of holdfast-relay")
    options = parser.parse_args()
    run_cases(CASES, options, program=Programs(os.path.abspath(options.server), os.path.abspath(options.relay)))


if __name__ == "__main__":
    main()
