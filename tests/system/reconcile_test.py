#!/usr/bin/env python3
"""`holdfastctl reconcile` on tables that people damaged: a real server, relay and database. DAMAGE is the table of what is damaged
how, which kinds are named, and which of them --apply mends. The kind law is missing here: no damage to tables makes a server wrong;
the unit test reconcile_test has it.

usage: reconcile_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay --ctl build/release/bin/holdfastctl
"""
import json
import os
import pty
import subprocess
import threading

from relay_bench import CUT_FLAGS, audit, check, cut_log, id_of, migrated, until
from relay_shop import Shop, reserve, run_shop_cases
from resp import as_map

ORDERS = 20


class Damage:
    def __init__(self, what, sql, found, mended=None, undo=""):
        """`found`: kinds and how often; `mended`: the same, all if not said; `undo` restores what is not mended."""
        self.what, self.sql, self.found, self.undo = what, sql, found, undo
        self.mended = found if mended is None else mended


def order(number):
    return f"item_id = 'item:1' AND order_id = '{id_of(number)}'"


def foreign(item, number, status="PENDING", version=1):
    return (f"INSERT INTO flash_sale_order SELECT '{item}', {version}, '{id_of(number)}', 'x{number}', 1, '{status}', exclusive, price, currency, sale_id, 1, 1,"
            f" reserved_at, expires_at, updated_at FROM flash_sale_order WHERE {order(1)}")


JOURNAL = "FROM flash_sale_journal WHERE item = 'item:1' AND sequence = 9"
DAMAGE = [
    Damage("a pending, a paid and two ended orders deleted", f"DELETE FROM flash_sale_order WHERE order_id IN ('{id_of(1)}', '{id_of(5)}', '{id_of(9)}', '{id_of(13)}')", {"missing": 4}),
    Damage("all orders deleted, and sold with them", "DELETE FROM flash_sale_order; UPDATE flash_sale_item SET sold = 0", {"missing": ORDERS + 3, "sold": 2}),
    Damage("a foreign order added", foreign("item:1", 901), {"unknown": 1}, {}, undo=f"DELETE FROM flash_sale_order WHERE {order(901)}"),
    Damage("a foreign order that has ended added", foreign("item:1", 901, "EXPIRED"), {"unknown": 1}, {}, undo=f"DELETE FROM flash_sale_order WHERE {order(901)}"),
    Damage("orders of a foreign item and of a foreign version added", foreign("item:9", 902) + ";" + foreign("item:1", 903, version=7), {"unknown": 2}, {},
           undo="DELETE FROM flash_sale_order WHERE item_id = 'item:9' OR version = 7"),
    Damage("status changed", f"UPDATE flash_sale_order SET status = 'CANCELLED' WHERE {order(1)}", {"state": 1}),
    Damage("status changed of many", "UPDATE flash_sale_order SET status = 'EXPIRED'", {"state": ORDERS + 3 - 4}),
    Damage("the sequence of an order changed", f"UPDATE flash_sale_order SET sequence = sequence + 100 WHERE {order(2)}", {"state": 1}),
    Damage("quantity and user changed", f"UPDATE flash_sale_order SET quantity = 5 WHERE {order(1)}; UPDATE flash_sale_order SET user_id = 'mallory' WHERE {order(2)}",
           {"quantity": 2}),
    Damage("price, currency and sale changed", f"UPDATE flash_sale_order SET price = 1 WHERE {order(1)}; UPDATE flash_sale_order SET currency = 'USD' WHERE {order(5)};"
           f"UPDATE flash_sale_order SET sale_id = NULL WHERE {order(6)}", {"terms": 3}),
    Damage("an order that is exclusive no more", f"UPDATE flash_sale_order SET exclusive = false WHERE {order(1)}", {"terms": 1}),
    Damage("when it was reserved and when it expires changed", f"UPDATE flash_sale_order SET reserved_at = reserved_at - interval '1 day' WHERE {order(1)};"
           f"UPDATE flash_sale_order SET expires_at = expires_at + interval '1 second' WHERE {order(1)}; UPDATE flash_sale_order SET expires_at = NULL WHERE {order(17)}", {"terms": 2}),
    Damage("status, user and price of one order changed", f"UPDATE flash_sale_order SET status = 'CANCELLED', user_id = 'mallory', price = 1 WHERE {order(1)}", {"state": 1, "terms": 1}),
    Damage("a user's second live order", "DROP INDEX flash_sale_order_live; " + f"UPDATE flash_sale_order SET user_id = '1' WHERE {order(2)}", {"duplicate": 1, "quantity": 1},
           {"quantity": 1}, undo="CREATE UNIQUE INDEX flash_sale_order_live ON flash_sale_order (item_id, version, user_id) WHERE exclusive AND status IN ('PENDING', 'PAID')"),
    Damage("rows of the journal removed", "DELETE FROM flash_sale_journal WHERE item = 'item:1' AND sequence IN (1, 5, 9, 30)", {"gap": 4}),
    Damage("an order and its row in the journal removed", f"DELETE {JOURNAL}; DELETE FROM flash_sale_order WHERE {order(6)}", {"gap": 1, "missing": 1}),
    Damage("a row of the journal changed", "UPDATE flash_sale_journal SET quantity = 3 WHERE item = 'item:1' AND sequence = 9", {"journal": 1}),
    Damage("a reason and a deadline in the journal changed", "UPDATE flash_sale_journal SET reason = 'lost' WHERE event = 'ADJUST'; UPDATE flash_sale_journal SET"
           " expires_at = NULL WHERE item = 'item:1' AND sequence = 9", {"journal": 2}),
    Damage("a row of the journal given to another order", f"UPDATE flash_sale_journal SET order_id = '{id_of(904)}' WHERE item = 'item:1' AND sequence = 9",
           {"journal": 1, "gap": 1}),
    Damage("a foreign row of the journal", "INSERT INTO flash_sale_journal SELECT item, version, 500, 500, event, at, order_id, user_id, quantity, flags, expires_at, reason, "
           f"available, reserved, confirmed, held {JOURNAL}", {"journal": 1}, {}, undo="DELETE FROM flash_sale_journal WHERE sequence = 500"),
    Damage("rows of the journal of a foreign item", f"INSERT INTO flash_sale_journal SELECT 'item:9', version, sequence, lsn, event, at, order_id, user_id, quantity, flags, "
           f"expires_at, reason, available, reserved, confirmed, held {JOURNAL}", {"journal": 1}, {}, undo="DELETE FROM flash_sale_journal WHERE item = 'item:9'"),
    Damage("sold changed", "UPDATE flash_sale_item SET sold = sold - 2 WHERE item_id = 'item:1'", {"sold": 1}),
    Damage("sold wrong, and no room for what is right", "UPDATE flash_sale_item SET sold = 1, quantity = 2 WHERE item_id = 'item:1'", {"sold": 1}, {},
           undo="UPDATE flash_sale_item SET quantity = 40, sold = 13 WHERE item_id = 'item:1'"),
    Damage("the version of an item's row changed", "UPDATE flash_sale_item SET version = 4 WHERE item_id = 'item:2'", {"item": 2}, {},
           undo="UPDATE flash_sale_item SET version = 1 WHERE item_id = 'item:2'"),
]


def sold_some(shop):
    """Twenty orders of item:1 in all their states, three of item:2."""
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", 40, "PRICE", 500, "CURRENCY", "EUR"), ("ITEM", "CREATE", "item:2", "STOCK", 3), *reserve("item:1", range(1, 5)),
             ("ITEM", "ADJUST", "item:2", "2", "ID", id_of(800), "REASON", "found"))
    shop.ask(("ITEM", "SET", "item:1", "PRICE", 700, "EXPECT", 500), *reserve("item:1", range(5, 17)), *reserve("item:1", range(17, 21), "TTL", 1000), *reserve("item:2", [101, 102, 103]))
    shop.ask(*[("CONFIRM", "item:1", number, "ID", id_of(number)) for number in range(5, 13)], *[("REFUND", "item:1", number, "ID", id_of(number)) for number in (9,)],
             *[("RELEASE", "item:1", number, "ID", id_of(number)) for number in (13, 14)], ("EXTEND", "item:1", "1", "TTL", 900000, "ID", id_of(1)))
    until(lambda: as_map(shop.ask(("ITEM", "GET", "item:1"))[0])["reserved"] == 6, "four expire")
    shop.caught_up()


def contents(shop):
    """All of orders, journal and items, but for when a row was last written."""
    return [shop.database.run(f"SELECT {columns} FROM {table} ORDER BY 1") for table, columns in
            (("flash_sale_order", "order_id, item_id, version, user_id, quantity, status, exclusive, price, currency, sale_id, sequence, lsn, reserved_at, expires_at"),
             ("flash_sale_journal", "lsn, item, version, sequence, event, at, order_id, user_id, quantity, flags, expires_at, reason, available"),
             ("flash_sale_item", "item_id, version, quantity, sold, sequence, state"))]


def reconcile(shop, *flags, status):
    told = json.loads(shop.ctl("reconcile", "--json", *flags, status=status))
    count = {kind: count for kind, count in told["kinds"].items() if count}
    return count, {kind: count for kind, count in told.get("mended", {}).items() if count}, told


def audited(shop):
    return int(shop.database.value("SELECT count(*) FROM holdfast_audit"))


def each_kind_of_damage(programs, folder):
    shop = Shop(programs, folder)
    sold_some(shop)
    check(shop.ctl("reconcile").endswith("clean\n"), "nothing differs", shop.ctl("reconcile"))
    right = contents(shop)
    for damage in DAMAGE:
        shop.database.run(damage.sql)
        damaged = contents(shop)
        found, _, told = reconcile(shop, status=1)
        check(found == damage.found, damage.what, found, told["list"])
        check(contents(shop) == damaged, f"{damage.what}: nothing is written unasked")
        text = shop.ctl("reconcile", "--repair", status=1)
        check(text.count("--apply writes") == sum(damage.mended.values()) and text.count("for a person") == sum(damage.found.values()) - sum(damage.mended.values()),
              f"{damage.what}: what would be written", text)
        everything = damage.mended == damage.found
        before = audited(shop)
        found, mended, _ = reconcile(shop, "--apply", status=0 if everything else 1)
        check((found, mended) == (damage.found, damage.mended), f"{damage.what}: mended", found, mended)
        check(audited(shop) - before >= sum(damage.mended.values()), f"{damage.what}: it is on record")
        # Once more changes nothing.
        now, records = contents(shop), audited(shop)
        reconcile(shop, "--apply", status=None)
        check((contents(shop), audited(shop)) == (now, records), f"{damage.what}: twice in a row changes nothing more")
        if damage.undo:
            shop.database.run(damage.undo)
        check(contents(shop) == right, f"{damage.what}: the tables are as they were", [row for a, b in zip(contents(shop), right) for row in a + b if (row in a) != (row in b)])
    shop.ask(("CONFIRM", "item:1", "1", "ID", id_of(1)), *reserve("item:1", [30]))
    shop.caught_up()
    check(audit(shop.database) == [] and shop.ctl("reconcile").endswith("clean\n"), "and the relay goes on")
    shop.stop()


def rows_that_the_database_refuses(programs, folder):
    """Constraints of somebody's own, some of them checked at the end of a transaction: they keep nothing else from being mended."""
    shop = Shop(programs, folder)
    sold_some(shop)
    right = contents(shop)
    shop.database.run(f"DELETE FROM flash_sale_order WHERE order_id IN ('{id_of(1)}', '{id_of(5)}', '{id_of(9)}', '{id_of(13)}');"
                      f"UPDATE flash_sale_order SET status = 'EXPIRED' WHERE {order(2)} OR {order(3)}; UPDATE flash_sale_item SET sold = 0;"
                      "ALTER TABLE flash_sale_order ADD CONSTRAINT mine CHECK (user_id <> '5');"
                      f"CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.order_id = '{id_of(3)}' THEN RAISE EXCEPTION 'too late'; END IF; RETURN NULL; END $$;"
                      "CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON flash_sale_order DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late();"
                      "ALTER TABLE flash_sale_item ADD CONSTRAINT few CHECK (sold < 5)")
    found, mended, told = reconcile(shop, "--apply", status=1)
    check(found == {"missing": 4, "state": 2, "sold": 2} and mended == {"missing": 3, "state": 1, "sold": 1}, "all others are mended", found, mended)
    refused = sorted((each["item"], each["key"], each["words"]) for each in told["refused"])
    check([row[:2] for row in refused] == [("item:1", ""), ("item:1", id_of(3)), ("item:1", id_of(5))], "each is named", refused)
    check("few" in refused[0][2] and refused[1][2] == "too late" and "mine" in refused[2][2], "with the database's words", refused)
    text = shop.ctl("reconcile", "--apply", status=1)
    check(f"refused: item:1 {id_of(3)}: too late" in text, "in the table, too", text)
    shop.database.run("ALTER TABLE flash_sale_order DROP CONSTRAINT mine; DROP TRIGGER late ON flash_sale_order; ALTER TABLE flash_sale_item DROP CONSTRAINT few")
    check(reconcile(shop, "--apply", status=0)[1] == {"missing": 1, "state": 1, "sold": 1} and contents(shop) == right, "once they are gone, these, too")
    shop.stop()


def a_cursor_that_was_changed_while_no_relay_ran(programs, folder):
    """Past an order that the tables do not have: nothing is relayed on it."""
    shop = Shop(programs, folder)
    sold_some(shop)
    shop.relay.stop()
    shop.ask(*reserve("item:1", [50]), *reserve("item:2", [51]))
    shop.database.run("UPDATE holdfast_cursor SET lsn = lsn + 1")
    shop.start_relay()
    check(shop.relay.wait() == 1 and "somebody changed the cursor" in shop.relay.output(), "the relay refuses", shop.relay.output())
    check(reconcile(shop, status=1)[0] == {"cursor": 1}, "it is named")
    check(reconcile(shop, "--apply", status=0)[1] == {"cursor": 1}, "it is mended")
    shop.start_relay()
    shop.caught_up()
    check(shop.orders()[50] == "PENDING" and shop.ctl("reconcile").endswith("clean\n"), "the order is there")
    shop.stop()


def a_cursor_that_was_changed(programs, folder):
    shop = Shop(programs, folder)
    sold_some(shop)
    for change in ("lsn - 3", "lsn + 1000000"):
        lsn = shop.database.value("SELECT lsn FROM holdfast_cursor")
        shop.database.run(f"UPDATE holdfast_cursor SET lsn = {change}")
        number = 40 if "-" in change else 41
        shop.ask(*reserve("item:1", [number]))
        check(shop.relay.wait() == 1 and "somebody changed it" in shop.relay.output(), "the relay stops", shop.relay.output())
        found, _, told = reconcile(shop, status=1)
        check(found == {"cursor": 1}, "it is named", found, told["list"])
        check(reconcile(shop, "--apply", status=0)[1] == {"cursor": 1}, "it is mended")
        check(int(shop.database.value("SELECT lsn FROM holdfast_cursor")) <= int(lsn), "to where the tables are")
        check(reconcile(shop, "--apply", status=0)[0] == {}, "once")
        shop.start_relay()
        shop.caught_up()
        check(shop.orders()[number] == "PENDING" and audit(shop.database) == [], "the relay goes on")
    shop.stop()


def tables_restored_to_before(programs, folder):
    shop = Shop(programs, folder)
    sold_some(shop)
    shop.database.run("CREATE TABLE saved_order AS TABLE flash_sale_order; CREATE TABLE saved_item AS TABLE flash_sale_item;"
                      "CREATE TABLE saved_known AS TABLE holdfast_item; CREATE TABLE saved_journal AS TABLE flash_sale_journal")
    shop.ask(("CONFIRM", "item:1", "1", "ID", id_of(1)), ("RELEASE", "item:1", "2", "ID", id_of(2)), *reserve("item:1", [50]))
    shop.caught_up()
    right = contents(shop)
    shop.database.run("TRUNCATE flash_sale_order; INSERT INTO flash_sale_order SELECT * FROM saved_order")
    check(reconcile(shop, status=1)[0] == {"state": 2, "missing": 1}, "one table alone: what was confirmed, released and reserved meanwhile")
    check(reconcile(shop, "--apply", status=0)[1] == {"state": 2, "missing": 1}, "is mended")
    check(contents(shop) == right and reconcile(shop, status=0)[0] == {}, "and is as it was")
    # Everything but the cursor: the relay has to bring it again.
    shop.relay.stop()
    for table, saved in (("flash_sale_order", "saved_order"), ("flash_sale_item", "saved_item"), ("holdfast_item", "saved_known"), ("flash_sale_journal", "saved_journal")):
        shop.database.run(f"TRUNCATE {table}; INSERT INTO {table} SELECT * FROM {saved}")
    check(reconcile(shop, "--apply", status=0)[1] == {"cursor": 1}, "all but the cursor: it goes back")
    shop.start_relay()
    shop.caught_up()
    check(contents(shop) == right and reconcile(shop, status=0)[0] == {}, "and the relay brings it again")
    # Some of them: not of one time.
    shop.database.run("UPDATE holdfast_item k SET sequence = s.sequence FROM saved_known s WHERE k.number = s.number AND k.item = 'item:1'")
    shop.ask(*reserve("item:2", [104]))
    found, mended, _ = reconcile(shop, "--apply", status=1)
    check(found.get("journal") == 3 and mended.get("journal") is None, "rows later than the tables are left to a person", found, mended)
    shop.relay.kill()
    shop.server.stop()


def what_is_parked_is_no_difference(programs, folder):
    shop = Shop(programs, folder)
    sold_some(shop)
    shop.database.run("UPDATE flash_sale_item SET quantity = 13 WHERE item_id = 'item:1'")
    shop.ask(*reserve("item:1", [60, 61]), ("CONFIRM", "item:1", "60", "ID", id_of(60)))
    shop.caught_up()
    check(shop.parked() == [60, 61] and reconcile(shop, status=0)[0] == {}, "parked is no difference", shop.parked())
    # An order that was deleted, and for which something came after that.
    shop.database.run(f"DELETE FROM flash_sale_order WHERE {order(3)}")
    shop.ask(("CONFIRM", "item:1", "3", "ID", id_of(3)))
    shop.caught_up()
    check(shop.parked() == [60, 61, 3], "it is parked")
    check(reconcile(shop, "--apply", status=0)[1] == {"missing": 1}, "the row is mended as it was before that")
    check(shop.orders()[3] == "PENDING", "so that the rest fits", shop.orders())
    shop.ctl("parked", "retry", "item:1", id_of(3))
    check(shop.orders()[3] == "PAID" and reconcile(shop, status=0)[0] == {}, "and is tried again")
    shop.ctl("parked", "cancel", "item:1", id_of(60), "--unit", "write-off")
    shop.ctl("parked", "cancel", "item:1", id_of(61), "--unit", "return")
    check(reconcile(shop, status=0)[0] == {} and audit(shop.database) == [], "cancelled is none either")
    # One that was resumed when its user might have several is exclusive no more.
    shop.database.run("UPDATE flash_sale_item SET quantity = 40 WHERE item_id = 'item:1'")
    shop.ask(("ITEM", "SET", "item:1", "LIMIT", 3, "EXPECT", 1), ("CONFIRM", "item:1", "17", "ID", id_of(17), "RESUME"))
    shop.caught_up()
    check(shop.database.value(f"SELECT exclusive FROM flash_sale_order WHERE {order(17)}") == "f" and reconcile(shop, status=0)[0] == {}, "which is right")
    shop.database.run(f"UPDATE flash_sale_order SET exclusive = true WHERE {order(17)}")
    check(reconcile(shop, "--apply", status=0)[1] == {"terms": 1} and reconcile(shop, status=0)[0] == {}, "and mended")
    shop.stop()


def from_a_snapshot(programs, folder):
    shop = Shop(programs, folder, server_flags=CUT_FLAGS)
    sold_some(shop)
    shop.ask(*reserve("item:1", [70]))
    cut_log(shop)
    check(reconcile(shop, status=0)[0] == {}, "nothing differs")
    shop.database.run(foreign("item:1", 901, "EXPIRED") + f"; UPDATE flash_sale_order SET status = 'PAID' WHERE {order(2)}; DELETE FROM flash_sale_order WHERE {order(1)}")
    shop.database.run("DELETE FROM flash_sale_journal WHERE item = 'item:1' AND sequence IN (3, 20)")
    # The snapshot has neither prices nor the log's times; the journal has these, but its word alone is none to write by.
    shop.database.run(f"UPDATE flash_sale_order SET reserved_at = now() WHERE {order(3)}; UPDATE flash_sale_order SET exclusive = false WHERE {order(4)}")
    found, mended, told = reconcile(shop, "--apply", status=1)
    check(found == {"state": 1, "missing": 1, "unknown": 1, "gap": 1, "terms": 2} and mended == {"state": 1, "missing": 1, "terms": 1},
          "what the log no longer has cannot be mended", found, mended)
    check([each["tables"] for each in told["list"] if each["kind"] == "gap"] == ["2 rows less than sequences"], "how many are gone", told["list"])
    shop.stop()


def begun_with_a_snapshot(programs, folder):
    shop = Shop(programs, folder)
    sold_some(shop)
    shop.ctl("snapshot")
    shop.relay.stop()
    shop.database, shop.sink = programs.database(), "postgres:second"
    migrated(programs.relay, shop.database)
    done = subprocess.run([programs.relay, "bootstrap", "--from", f"127.0.0.1:{shop.server.port}", "--sink", f"{shop.sink}={shop.database.url()}"],
                          capture_output=True, text=True)
    check(done.returncode == 0, "it begins with the snapshot", done.stdout, done.stderr)
    check(reconcile(shop, status=0)[0] == {}, "nothing differs")
    shop.ask(("CONFIRM", "item:1", "1", "ID", id_of(1)), *reserve("item:1", [30, 31]))
    shop.start_relay()
    shop.caught_up()
    check(reconcile(shop, status=0)[0] == {}, "nor when the relay goes on")
    # Of an order that was there already the times are the snapshot's; what came to it later is the log's.
    shop.ask(("EXTEND", "item:1", "2", "TTL", 900000, "ID", id_of(2)))
    shop.caught_up()
    shop.database.run(f"UPDATE flash_sale_order SET reserved_at = now(), price = 1 WHERE {order(10)}")
    check(reconcile(shop, status=0)[0] == {}, "what the log does not say is not compared")
    shop.database.run(f"UPDATE flash_sale_order SET expires_at = now() WHERE {order(2)}; UPDATE flash_sale_order SET exclusive = false WHERE {order(10)};"
                      f"UPDATE flash_sale_order SET price = 1 WHERE {order(30)}")
    check(reconcile(shop, "--apply", status=0)[1] == {"terms": 3}, "what it says is")
    check(reconcile(shop, status=0)[0] == {}, "and is mended")
    shop.database.run(f"UPDATE flash_sale_order SET status = 'EXPIRED' WHERE {order(1)} OR {order(2)}; DELETE FROM flash_sale_order WHERE {order(3)} OR {order(30)}")
    text = shop.ctl("reconcile", "--repair", status=1)
    check(text.count("--apply writes") == 3 and text.count("for a person") == 1, "what would be written", text)
    found, mended, _ = reconcile(shop, "--apply", status=1)
    check(found == {"state": 2, "missing": 2} and mended == {"state": 2, "missing": 1}, "one whose RESERVE the journal never had is for a person", found, mended)
    shop.stop()


def begun_anew(programs, folder):
    """With one item that goes on, one that the server has in a later version, and one that it has no more."""
    shop = Shop(programs, folder, before="INSERT INTO flash_sale_item (item_id, quantity, sold) VALUES ('item:1', 60, 7)", relay_flags=("--existing-items",))
    sold_some(shop)
    shop.ask(("ITEM", "CREATE", "item:3", "STOCK", 9), *reserve("item:3", [201, 202]))
    shop.caught_up()
    shop.relay.stop()
    shop.ask(*[("RELEASE", "item:2", number, "ID", id_of(number)) for number in (101, 102, 103)], ("ITEM", "CLOSE", "item:2"), ("ITEM", "DROP", "item:2"))
    shop.ask(*[("RELEASE", "item:3", number, "ID", id_of(number)) for number in (201, 202)], ("ITEM", "CLOSE", "item:3"), ("ITEM", "CREATE", "item:3", "VERSION", 2, "STOCK", 4))
    shop.ctl("snapshot")
    done = subprocess.run([programs.relay, "bootstrap", "--set-aside", "--from", f"127.0.0.1:{shop.server.port}", "--sink", f"postgres={shop.database.url()}"],
                          capture_output=True, text=True)
    check(done.returncode == 0, "it begins anew", done.stdout, done.stderr)
    items = "SELECT item_id, version, quantity, sold, state FROM flash_sale_item ORDER BY 1"
    check(shop.database.run(items) == [["item:1", "1", "60", "20", "OPEN"], ["item:2", "0", "5", "0", "DROPPED"], ["item:3", "2", "4", "0", "OPEN"]], "items", shop.database.run(items))
    history = "SELECT item_id, version, quantity, sold FROM flash_sale_item_history ORDER BY 1, 2"
    check(shop.database.run(history) == [["item:2", "1", "5", "3"], ["item:3", "1", "9", "2"]], "totals of what does not go on", shop.database.run(history))
    check(reconcile(shop, status=0)[0] == {}, "nothing differs")
    shop.start_relay()
    shop.ask(("ITEM", "CREATE", "item:2", "STOCK", 6), *reserve("item:2", [104]), *reserve("item:1", [30]))
    shop.caught_up()
    check(shop.database.run(items)[1] == ["item:2", "2", "6", "1", "OPEN"], "an item that comes again", shop.database.run(items))
    check(reconcile(shop, status=0)[0] == {} and shop.item()[1] == [60, 21], "nor when the relay goes on", shop.item())
    # A row that is as if it had been put aside, of an item that is there.
    shop.database.run("UPDATE flash_sale_item SET version = 0 WHERE item_id = 'item:1'")
    check(reconcile(shop, status=1)[0] == {"item": 2}, "an item's row is not put aside by hand")
    shop.relay.kill()
    shop.server.stop()


def rows_that_were_there(programs, folder):
    shop = Shop(programs, folder, before="INSERT INTO flash_sale_item (item_id, quantity, sold) VALUES ('item:1', 60, 7)", relay_flags=("--existing-items",))
    sold_some(shop)
    check(shop.item()[1] == [60, 20] and reconcile(shop, status=0)[0] == {}, "what was sold before counts", shop.item())
    shop.database.run("UPDATE flash_sale_item SET sold = 8 WHERE item_id = 'item:1'")
    check(reconcile(shop, "--apply", status=0)[1] == {"sold": 1} and shop.item()[1] == [60, 20], "and stays", shop.item())
    shop.stop()


def an_items_place_that_is_taken(programs, folder):
    """A row that a person made stands where an item's row should, or a constraint refuses it: that is named until it is gone, or
    taken over."""
    shop = Shop(programs, folder, before="INSERT INTO flash_sale_item (item_id, quantity, sold) VALUES ('item:1', 50, 3), ('item:2', 5, 0);"
                                         "ALTER TABLE flash_sale_item ADD CONSTRAINT cheap CHECK (price < 1000)")
    shop.ask(("ITEM", "CREATE", "item:3", "STOCK", 4, "PRICE", 2000), *reserve("item:3", [21]))
    shop.caught_up()
    found, _, told = reconcile(shop, status=1)
    check(found == {"item": 1}, "what a constraint refuses is named", told["list"])
    check("cheap" in told["list"][0]["tables"], "with its words", told["list"])
    shop.database.run("ALTER TABLE flash_sale_item DROP CONSTRAINT cheap")
    until(lambda: shop.database.run("SELECT quantity, sold, price FROM flash_sale_item WHERE item_id = 'item:3'") == [["4", "0", "2000"]], "the item has its row")
    shop.ctl("parked", "retry", "item:3")
    check(shop.orders("item:3") == {21: "PENDING"} and reconcile(shop, status=0)[0] == {}, "and what was parked", shop.orders("item:3"))
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", 20), ("ITEM", "CREATE", "item:2", "STOCK", 9), *reserve("item:1", range(1, 5)), *reserve("item:2", [11]),
             *reserve("item:2", [12], "TTL", 500), ("CONFIRM", "item:1", "1", "ID", id_of(1)), ("RELEASE", "item:2", "11", "ID", id_of(11)), *reserve("item:2", [13]))
    until(lambda: as_map(shop.ask(("ITEM", "GET", "item:2"))[0])["reserved"] == 1, "one expires")
    shop.caught_up()
    check(shop.parked() == [1, 2, 3, 4, 13], "all of it is parked", shop.parked())
    found, mended, told = reconcile(shop, "--apply", status=1)
    check((found, mended) == ({"item": 2}, {}) and "no row, foreign_row" in told["list"][0]["tables"], "it is named", told)
    check("remove it, or start the relay with --existing-items" in shop.ctl("reconcile", "--repair", status=1), "and what a person can do")
    check("nothing of this item is in the tables (foreign_row)" in shop.ctl("parked", "retry", "item:1", status=1), "before that nothing helps")
    # One row goes.
    shop.database.run("DELETE FROM flash_sale_item WHERE item_id = 'item:2'")
    until(lambda: shop.database.run("SELECT version, quantity, sold, state FROM flash_sale_item WHERE item_id = 'item:2'") == [["1", "9", "0", "OPEN"]], "the item has its row")
    check(reconcile(shop, status=1)[0] == {"item": 1}, "what is parked of it is no difference")
    shop.ask(*reserve("item:2", [14]), ("CONFIRM", "item:2", "12", "ID", id_of(12), "RESUME"))
    shop.caught_up()
    check(shop.orders("item:2") == {14: "PENDING"} and shop.parked() == [1, 2, 3, 4, 13, 12], "what comes later is there, but for what has no row to go on from", shop.parked())
    check(reconcile(shop, "--apply", status=1)[1] == {"missing": 1}, "which reconcile makes")
    shop.ctl("parked", "retry", "item:2")
    check(shop.orders("item:2") == {12: "PAID", 13: "PENDING", 14: "PENDING"}, "and the rest is tried again", shop.orders("item:2"))
    # The other one is taken over.
    shop.relay.stop()
    shop.start_relay("--existing-items")
    shop.ask(*reserve("item:1", [5]))
    shop.caught_up()
    check(shop.item()[1] == [50, 4], "as it is", shop.item())
    shop.ctl("parked", "retry")
    check(shop.parked() == [] and shop.item()[1] == [50, 8] and shop.orders() == {1: "PAID", 2: "PENDING", 3: "PENDING", 4: "PENDING", 5: "PENDING"}, "all are there", shop.orders())
    check(reconcile(shop, status=0)[0] == {}, "nothing differs")
    check(shop.database.value("SELECT count(*) FROM holdfast_audit WHERE action = 'claim item'") == "3", "it is on record")
    shop.stop()


def while_it_sells(programs, folder):
    """No false alarm while the relay is at work."""
    shop = Shop(programs, folder)
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", 100_000))
    shop.caught_up()

    def sell():
        for first in range(1, 20_001, 100):
            numbers = range(first, first + 100)
            shop.ask(*reserve("item:1", numbers), *[("CONFIRM" if number % 2 else "RELEASE", "item:1", number, "ID", id_of(number)) for number in numbers])
    selling = threading.Thread(target=sell)
    selling.start()
    rounds = 0
    while selling.is_alive():
        check(reconcile(shop, "--apply", status=0)[0] == {}, "nothing differs")
        rounds += 1
    selling.join()
    print(f"  {rounds} times meanwhile", flush=True)
    shop.caught_up()
    check(reconcile(shop, status=0)[2]["orders"] == 20_000, "all are there")
    shop.stop()


def no_more_rights_than_the_help_says(programs, folder):
    shop = Shop(programs, folder)
    sold_some(shop)
    shop.relay.stop()
    tables = "flash_sale_item, flash_sale_item_history, flash_sale_order, flash_sale_journal, holdfast_cursor, holdfast_item, holdfast_parked, holdfast_audit, holdfast_schema"
    shop.database.run(f"CREATE ROLE reader LOGIN; CREATE ROLE mender LOGIN; GRANT SELECT ON {tables} TO reader; GRANT SELECT, INSERT, UPDATE ON {tables} TO mender;"
                      "GRANT DELETE ON flash_sale_journal TO mender")
    reader, mender = (shop.database.url().replace("user=postgres", f"user={role}") for role in ("reader", "mender"))
    check(shop.ctl("reconcile", "--postgres", reader).endswith("clean\n"), "who may read sees that nothing differs")
    for damage in (each for each in DAMAGE if each.mended == each.found and "all orders" not in each.what):
        shop.database.run(damage.sql)
    shop.database.run("UPDATE holdfast_cursor SET lsn = lsn - 3")
    found = reconcile(shop, "--postgres", reader, status=1)[0]
    check("permission denied" in shop.ctl("reconcile", "--postgres", reader, "--apply", status=2), "but writes nothing")
    check(reconcile(shop, status=1)[0] == found, "at all")
    reconcile(shop, "--postgres", mender, "--apply", status=None)
    reconcile(shop, "--postgres", mender, "--apply", status=None)
    check(reconcile(shop, status=0)[0] == {}, "who may write mends all of it", found)
    check("nothing is parked" in shop.ctl("parked", "list", "--postgres", mender), "and may look at what is parked")
    shop.server.stop()


def progress_is_for_a_terminal(programs, folder):
    shop = Shop(programs, folder)
    sold_some(shop)
    master, terminal = pty.openpty()
    words = [programs.ctl, "--server", f"127.0.0.1:{shop.server.port}", "reconcile"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=terminal, timeout=60, env={**os.environ, "HOLDFAST_POSTGRES": shop.database.url()})
    os.close(terminal)
    shown = os.read(master, 1 << 16)
    os.close(master)
    check(done.returncode == 0 and shown.startswith(b"\r\x1b[K") and b"LSN" in shown and shown.endswith(b"\r\x1b[K"), "a line that goes again", shown)
    check(b"\x1b" not in done.stdout and "\x1b" not in shop.ctl("reconcile"), "and nowhere else")
    shop.stop()


def what_cannot_be_told(programs, folder):
    shop = Shop(programs, folder)
    sold_some(shop)
    shop.stop()
    check("Connection refused" in shop.ctl("reconcile", status=2), "no server")
    empty = programs.database()
    migrated(programs.relay, empty)
    check("the relay has written nothing yet" in shop.ctl("reconcile", "--postgres", empty.url(), status=2), "tables that no relay has had")
    other = Shop(programs, folder, data="other")
    other.ask(("ITEM", "CREATE", "item:1", "STOCK", 10))
    other.relay.kill()
    other.database = shop.database
    check("of log" in other.ctl("reconcile", status=2), "another log", other.ctl("reconcile", status=2))
    other.server.stop()
    check("kinds of differences" in other.ctl("reconcile", "--help"), "help")


CASES = [each_kind_of_damage, rows_that_the_database_refuses, a_cursor_that_was_changed_while_no_relay_ran, a_cursor_that_was_changed, tables_restored_to_before, what_is_parked_is_no_difference, from_a_snapshot, begun_with_a_snapshot, begun_anew, rows_that_were_there, an_items_place_that_is_taken, while_it_sells, no_more_rights_than_the_help_says, progress_is_for_a_terminal, what_cannot_be_told]

if __name__ == "__main__":
    run_shop_cases(__doc__, CASES)
