#!/usr/bin/env python3
"""holdfast-relay migrate against a real PostgreSQL: the schema comes once, whole, with the ids that were asked for.

usage: relay_schema_test.py --server build/release/bin/holdfastd --only ids
"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "services"))
from cases import arguments, run_cases  # noqa: E402
from holdfastd_test import check  # noqa: E402
from postgres import Postgres  # noqa: E402

TABLES = ["flash_sale_item", "flash_sale_item_history", "flash_sale_journal", "flash_sale_order", "holdfast_audit", "holdfast_cursor",
          "holdfast_item", "holdfast_parked", "holdfast_schema"]


def migrate(relay, url, *flags):
    done = subprocess.run([relay, "migrate", "--postgres", url, *flags], capture_output=True, text=True, timeout=60)
    return done.returncode, (done.stdout + done.stderr).strip()


def tables(server):
    return [row[0] for row in server.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")]


def type_of(server, table, column):
    return server.value(f"SELECT data_type FROM information_schema.columns WHERE table_name = '{table}' AND column_name = '{column}'")


def it_comes_once(relay, _):
    with Postgres() as server:
        check(migrate(relay, server.url()) == (0, "schema version 0 -> 1, text ids"), "an empty database gets it")
        check(tables(server) == TABLES, "the tables", tables(server))
        check(type_of(server, "flash_sale_order", "user_id") == "text", "users are text")
        check(migrate(relay, server.url()) == (0, "schema version 1, text ids: nothing to do"), "again: nothing")
        check(migrate(relay, server.url(), "--ids", "text")[0] == 0, "the same ids are fine")
        status, said = migrate(relay, server.url(), "--ids", "bigint")
        check(status == 2 and "have text ids" in said, "ids do not change", status, said)


def numbers_for_an_existing_schema(relay, _):
    with Postgres() as server:
        server.run("CREATE TABLE flash_sale_item (item_id bigint PRIMARY KEY, quantity bigint NOT NULL, title text);"
                   "INSERT INTO flash_sale_item VALUES (7, 100, 'a shoe')")
        check(migrate(relay, server.url(), "--ids", "bigint") == (0, "schema version 0 -> 1, bigint ids"), "it takes the table over")
        check(server.run("SELECT item_id, quantity, sold, title FROM flash_sale_item") == [["7", "100", "0", "a shoe"]], "the rows stay")
        check(type_of(server, "flash_sale_order", "user_id") == "bigint", "users are numbers")
        check(type_of(server, "holdfast_item", "item_id") == "bigint", "items are numbers")
        check(migrate(relay, server.url())[1] == "schema version 1, bigint ids: nothing to do", "the ids are remembered")


def all_or_nothing(relay, _):
    with Postgres() as server:
        # The last table of the step is in the way.
        server.run("CREATE TABLE holdfast_audit (mine int)")
        status, said = migrate(relay, server.url())
        check(status == 1 and "holdfast_audit" in said, "it says what is in the way", status, said)
        check(tables(server) == ["holdfast_audit"], "nothing of it stays", tables(server))


def several_at_once(relay, _):
    with Postgres() as server:
        words = [relay, "migrate", "--postgres", server.url()]
        running = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(8)]
        said = sorted(process.communicate(timeout=60)[0].strip() for process in running)
        check(said == ["schema version 0 -> 1, text ids"] + 7 * ["schema version 1, text ids: nothing to do"], "one does it", said)


def a_newer_schema(relay, _):
    with Postgres() as server:
        migrate(relay, server.url())
        server.run("INSERT INTO holdfast_schema (version, name, ids) VALUES (99, 'later', 'text')")
        status, said = migrate(relay, server.url())
        check(status == 1 and "version 99" in said, "it leaves it alone", status, said)


def a_wrong_address(relay, _):
    status, said = migrate(relay, "postgres://someone:secret@127.0.0.1:1/x")
    check(status == 2 and "secret" not in said and "passfile" in said, "no password on the command line", status, said)
    status, said = migrate(relay, "nonsense")
    check(status == 2 and "cannot be read" in said, "no address", status, said)
    status, said = migrate(relay, "host=127.0.0.1 port=1 sslmode=disable")
    check(status == 1 and "refused" in said, "nobody there", status, said)
    with Postgres() as server:
        status, said = migrate(relay, f"host=127.0.0.1 port={server.port} user=postgres dbname=postgres")
        check(status == 1 and "root certificate" in said or "SSL" in said, "a certificate is wanted unless sslmode says else", status, said)


CASES = [it_comes_once, numbers_for_an_existing_schema, all_or_nothing, several_at_once, a_newer_schema, a_wrong_address]


def main():
    parser = arguments(__doc__)
    parser.add_argument("--relay", required=True, help="path of holdfast-relay")
    options = parser.parse_args()
    run_cases(CASES, options, program=options.relay)


if __name__ == "__main__":
    main()
