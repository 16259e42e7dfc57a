#!/usr/bin/env python3
"""What PostgreSQL refuses, from the server to `holdfastctl parked`: a real server, relay and database.

usage: parked_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay --ctl build/release/bin/holdfastctl
"""
import json
import urllib.request

from relay_bench import audit, check, id_of, until
from relay_shop import Shop, reserve, run_shop_cases


def lowered(shop):
    """Ten orders of which the last four find no room, since a person lowered quantity; another item meanwhile."""
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", 20), ("ITEM", "CREATE", "item:2", "STOCK", 20))
    shop.caught_up()
    shop.database.run("UPDATE flash_sale_item SET quantity = 6 WHERE item_id = 'item:1'")
    shop.ask(*[request for number in range(1, 11) for request in (*reserve("item:1", [number]), *reserve("item:2", [100 + number]))])
    shop.caught_up()
    check(shop.parked() == [7, 8, 9, 10], "exactly what does not fit is parked", shop.parked())
    check(set(shop.database.run("SELECT reason, detail FROM holdfast_parked")[0]) == {"no_room", "quantity 6, sold 6"}, "and why")


def lowered_and_tried_again(programs, folder):
    shop = Shop(programs, folder)
    lowered(shop)
    check(shop.orders() == dict.fromkeys(range(1, 7), "PENDING"), "others of the item are there", shop.orders())
    check(len(shop.orders("item:2")) == 10, "other items flow")
    check(shop.item() == ([20, 10, 10, 0], [6, 6]), "no stock returns", shop.item())
    alarms = urllib.request.urlopen(f"http://127.0.0.1:{shop.metrics}/metrics", timeout=10).read().decode()
    check('holdfast_relay_parked_total{sink="postgres"} 4' in alarms, "it is counted", alarms)
    until(lambda: shop.stage(7) == "done", "the server is told: parked is done, too")
    # What happens to them meanwhile is kept with them.
    shop.ask(("CONFIRM", "item:1", "7", "ID", id_of(7)), ("CONFIRM", "item:1", "1", "ID", id_of(1)), ("RELEASE", "item:1", "2", "ID", id_of(2)))
    shop.caught_up()
    check(shop.orders()[1] == "PAID" and shop.orders()[2] == "CANCELLED", "the others go on", shop.orders())
    shop.database.run("UPDATE flash_sale_item SET quantity = 5 WHERE item_id = 'item:1'")
    said = shop.ctl("parked", "retry", "item:1", id_of(7), status=1)
    check("stays parked: no room: quantity 5, sold 5" in said, "without room it stays", said)
    check(shop.parked() == [7, 8, 9, 10] and 7 not in shop.orders(), "nothing was written")
    shop.database.run("UPDATE flash_sale_item SET quantity = 20 WHERE item_id = 'item:1'")
    listed = json.loads(shop.ctl("parked", "list", "--json"))["parked"]
    check([(entry["user"], entry["to"], entry["reason"]) for entry in listed] == [("7", "PAID", "no_room"), *((str(n), "PENDING", "no_room") for n in (8, 9, 10))],
          "list", listed)
    check("sequences=10..14" in shop.ctl("parked", "show", "item:1", id_of(7)), "show", shop.ctl("parked", "show", "item:1", id_of(7)))
    shop.ctl("parked", "retry", "item:1", id_of(7))
    check(shop.orders()[7] == "PAID" and shop.item() == ([20, 11, 7, 2], [20, 6]), "with its whole chain", shop.orders(), shop.item())
    shop.ctl("parked", "retry")
    check(shop.parked() == [] and shop.item()[1] == [20, 9], "all are there", shop.item())
    check("nothing is parked" in shop.ctl("parked", "list"), "the list is empty")
    shop.ctl("parked", "retry", "item:1", id_of(7), status=1)
    # And the chain goes on as if nothing had been.
    shop.ask(("REFUND", "item:1", "7", "ID", id_of(7)), ("CONFIRM", "item:1", "8", "ID", id_of(8)))
    shop.caught_up()
    check((shop.orders()[7], shop.orders()[8]) == ("REFUNDED", "PAID"), "later events find their rows", shop.orders())
    check(audit(shop.database) == [], "sums, gaps, states", audit(shop.database))
    check(shop.database.run("SELECT action, count(*) FROM holdfast_audit GROUP BY 1") == [["parked retry", "4"]], "it is on record")
    shop.stop()


def lowered_and_cancelled(programs, folder):
    shop = Shop(programs, folder)
    lowered(shop)
    shop.ask(("CONFIRM", "item:1", "8", "ID", id_of(8)))
    shop.caught_up()
    shop.ctl("parked", "cancel", "item:1", id_of(7), status=2)
    # Returned: available again, nothing in the table but the order that was.
    shop.ctl("parked", "cancel", "item:1", id_of(7), "--unit", "return")
    check(shop.item() == ([20, 11, 8, 1], [6, 6]), "it is available again", shop.item())
    check(shop.orders()[7] == "CANCELLED", "the order is on record", shop.orders())
    # Written off: out of the server's total; the table's quantity lacks it already.
    shop.ctl("parked", "cancel", "item:1", id_of(8), "--unit", "write-off")
    check(shop.item() == ([19, 11, 8, 0], [6, 6]), "a confirmed one leaves the total", shop.item())
    check(shop.orders()[8] == "REFUNDED", "and is refunded", shop.orders())
    # With room in the table by now, quantity still stays as the person has it.
    shop.ask(("RELEASE", "item:1", "1", "ID", id_of(1)))
    shop.caught_up()
    shop.ctl("parked", "cancel", "item:1", id_of(9), "--unit", "write-off")
    check(shop.item() == ([18, 12, 6, 0], [6, 5]), "with room it is the same", shop.item())
    # A relay that is away: the server has done it, the table follows.
    shop.relay.stop()
    said = shop.ctl("parked", "cancel", "item:1", id_of(10), "--unit", "write-off", "--wait", "0", status=1)
    check("when it runs, do the same again" in said, "it says what to do", said)
    check("being cancelled" in shop.ctl("parked", "retry", "item:1", id_of(10), status=1), "nobody can write it meanwhile")
    shop.start_relay()
    shop.caught_up()
    shop.ctl("parked", "cancel", "item:1", id_of(10), "--unit", "write-off")
    check("cancelled already" in shop.ctl("parked", "cancel", "item:1", id_of(10), "--unit", "write-off"), "once is enough")
    check(shop.item() == ([17, 12, 5, 0], [6, 5]), "the last one", shop.item())
    check(shop.parked() == [] and shop.database.run("SELECT DISTINCT state FROM holdfast_parked") == [["cancelled"]], "all are closed")
    check(audit(shop.database) == [], "sums, gaps, states", audit(shop.database))
    shop.stop()


def one_that_is_being_cancelled_is_in_nobodys_way(programs, folder):
    shop = Shop(programs, folder)
    lowered(shop)
    shop.relay.stop()
    shop.ctl("parked", "cancel", "item:1", id_of(8), "--unit", "return", "--wait", "0", status=1)
    shop.database.run("UPDATE flash_sale_item SET quantity = 20 WHERE item_id = 'item:1'")
    said = shop.ctl("parked", "retry", status=1)
    check("being cancelled" in said, "it is told", said)
    check(shop.parked() == [8], "and those behind it are written", shop.parked())
    shop.start_relay()
    shop.caught_up()
    shop.ctl("parked", "cancel", "item:1", id_of(8), "--unit", "return")
    check(shop.parked() == [] and audit(shop.database) == [], "it ends", shop.parked(), audit(shop.database))
    shop.stop()


def one_of_an_item_that_was_dropped(programs, folder):
    """No end of it will come: it is closed by itself, and by nobody before the relay knows."""
    shop = Shop(programs, folder)
    lowered(shop)
    shop.ask(*[("CONFIRM", "item:1", str(number), "ID", id_of(number)) for number in range(1, 11)])
    shop.caught_up()
    shop.relay.stop()
    check(shop.ask(("ITEM", "DROP", "item:1", "CONFIRMED-TOO")) == [1], "paid orders go with it")
    said = shop.ctl("parked", "cancel", "item:1", id_of(7), "--unit", "return", status=2)
    check("does not have version 1 of item:1" in said, "the server is asked first", said)
    check(shop.database.value("SELECT count(*) FROM holdfast_parked WHERE cancel IS NOT NULL") == "0", "nothing is marked")
    shop.start_relay()
    shop.caught_up()
    for number in (7, 8, 9, 10):
        check("has ended" in shop.ctl("parked", "cancel", "item:1", id_of(number), "--unit", "return"), "it is closed", number)
    check(shop.parked() == [], "all are", shop.parked())
    shop.stop()


def one_that_ends_before_it_is_written_off(programs, folder):
    shop = Shop(programs, folder)
    lowered(shop)
    # Its owner gives it up between the two steps: the unit came back, and quantity is as it was.
    shop.relay.stop()
    shop.ask(("RELEASE", "item:1", "7", "ID", id_of(7)), ("RELEASE", "item:1", "1", "ID", id_of(1)))
    shop.ctl("parked", "cancel", "item:1", id_of(7), "--unit", "write-off", "--wait", "0", status=1)
    shop.start_relay()
    shop.caught_up()
    shop.ctl("parked", "cancel", "item:1", id_of(7), "--unit", "write-off")
    check(shop.item() == ([20, 12, 8, 0], [6, 5]), "it is available, and nothing was written off", shop.item())
    check(audit(shop.database) == [], "sums, gaps, states", audit(shop.database))
    shop.stop()


def a_refused_change_of_stock(programs, folder):
    shop = Shop(programs, folder)
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", 20), *reserve("item:1", range(1, 11)))
    shop.caught_up()
    shop.database.run("UPDATE flash_sale_item SET quantity = 12 WHERE item_id = 'item:1'")
    shop.ask(("ITEM", "ADJUST", "item:1", "-5", "ID", id_of(900), "REASON", "damaged"))
    shop.caught_up()
    check("stock -5" in shop.ctl("parked", "list"), "it is listed", shop.ctl("parked", "list"))
    shop.ctl("parked", "cancel", "item:1", f"adjust:{id_of(900)}")
    check(shop.item() == ([15, 5, 10, 0], [12, 10]) and shop.parked() == [], "it stays out of the table", shop.item())
    shop.stop()


def a_name_against_numbers(programs, folder):
    shop = Shop(programs, folder, "--ids", "bigint")
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", 20), ("RESERVE", "item:1", "alice", "ID", id_of(50), "TTL", 1500), *reserve("item:1", [1, 2]),
             ("RESERVE", "item:1", "bob", "ID", id_of(51)))
    shop.caught_up()
    check(shop.orders("1") == {1: "PENDING", 2: "PENDING"}, "the item flows", shop.orders("1"))
    check("the user is no number" in shop.ctl("parked", "list", "item:1"), "alice is parked")
    shop.ctl("parked", "retry", "item:1", id_of(51), status=1)
    until(lambda: shop.parked() == [51], "her EXPIRED follows her there and the chain resolves itself", shop.parked)
    check(shop.database.run(f"SELECT state, to_status FROM holdfast_parked WHERE key = '{id_of(50)}'") == [["resolved", "EXPIRED"]], "on record")
    shop.ctl("parked", "cancel", "item:1", id_of(51), "--unit", "write-off")
    check(shop.item() == ([19, 17, 2, 0], [19, 2]), "bob's unit left the total, here and there", shop.item())
    check(shop.orders("1") == {1: "PENDING", 2: "PENDING"} and shop.parked() == [], "nothing of them is in the tables")
    check(audit(shop.database) == [], "sums, gaps, states", audit(shop.database))
    shop.database.run("UPDATE flash_sale_order SET status = 'PAID' WHERE user_id = 1; UPDATE flash_sale_item SET sold = 3")
    check([each[0] for each in audit(shop.database)] == ["sum", "order"], "the audit sees what is wrong in tables of numbers, too", audit(shop.database))
    shop.stop()


def wrong_words(programs, folder):
    shop = Shop(programs, folder)
    check("nothing of item:1" in shop.ctl("parked", "show", "item:1", id_of(1), status=1), "what is not there")
    shop.ctl("parked", status=2)
    shop.ctl("parked", "cancel", "item:1", id_of(1), "--unit", "burn", status=2)
    check("Connection refused" in shop.ctl("parked", "list", "--postgres", "host=127.0.0.1 port=1 sslmode=disable", status=2), "no database")
    shop.stop()


CASES = [lowered_and_tried_again, lowered_and_cancelled, one_that_is_being_cancelled_is_in_nobodys_way, one_of_an_item_that_was_dropped,
         one_that_ends_before_it_is_written_off, a_refused_change_of_stock, a_name_against_numbers, wrong_words]


if __name__ == "__main__":
    run_shop_cases(__doc__, CASES)
