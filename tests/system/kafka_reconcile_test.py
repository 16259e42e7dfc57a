#!/usr/bin/python3
"""`holdfastctl reconcile --kafka` on topics that people damaged: a real server, relay and Kafka. DAMAGE is the table of what is
damaged how, and which kinds are named.

usage: kafka_reconcile_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay --ctl build/release/bin/holdfastctl
"""
import json
import os
import subprocess
import threading

from kafka_shop import PARTITIONS, Shop, check, id_of, kafka_arguments, reserve, run_kafka_cases, until
from relay_bench import CUT_FLAGS, cut_log

ORDERS = 20
KINDS = ("missing", "duplicate", "order", "unknown", "content", "cursor")


class CheckedShop(Shop):
    def __init__(self, programs, folder, *flags, **more):
        super().__init__(programs, folder, *flags, **more)
        self.ctl_path = os.path.abspath(programs.options.ctl)

    def ctl(self, *words, status=0):
        done = subprocess.run([self.ctl_path, "--server", f"127.0.0.1:{self.server.port}", *words], capture_output=True, text=True, timeout=120)
        check(done.returncode == status, f"exit status of {words} is {status}", done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def reconcile(self, *words, status=0):
        return self.ctl("reconcile", "--kafka", self.servers, *self.topic_flags(), *words, status=status)

    def found(self, status=0):
        """Kinds and how often, and all that is told."""
        told = json.loads(self.reconcile("--json", status=status))
        check(tuple(told["kinds"]) == KINDS, "all kinds are told", told["kinds"])
        return {kind: count for kind, count in told["kinds"].items() if count}, told

    def clean(self, what):
        found, told = self.found()
        check(found == {} and told["differences"] == 0, what, told)
        return told


class Copy:
    """A shop's topics as lists of records, to be damaged and put into topics of their own."""

    def __init__(self, shop, records=None):
        self.shop = shop
        self.records = records or [shop.client.read(topic) for topic in (shop.orders, shop.events, shop.cursors)]
        self.orders, self.events, self.cursors = ([[r.value, r.key, r.headers, r.partition] for r in of_topic] for of_topic in self.records)

    def again(self):
        """As it was before it was damaged."""
        return Copy(self.shop, self.records)

    @staticmethod
    def of(records, item, sequence):
        return next(record for record in records if json.loads(record[0])["sequence"] == sequence and json.loads(record[0])["item"] == item)

    @staticmethod
    def change(record, **members):
        record[0] = json.dumps({**json.loads(record[0]), **members}).encode()

    def move_cursor(self, lsn):
        """As the last one, with that LSN."""
        last = next(record for record in reversed(self.cursors) if record[1].startswith(b"cursor/") and record[0])
        self.change(last, **({"lsn": lsn} if lsn else {}))
        self.cursors = [record for record in self.cursors if not record[1].startswith(b"cursor/")] + [last]

    def put(self, number):
        """Returns the flags that name the topics."""
        names = [f"{topic}.copy{number}" for topic in (self.shop.orders, self.shop.events, self.shop.cursors)]
        # What the cursor says of topics is of others.
        self.change(self.cursors[-1], topics={name: [0] for name in names})
        for name, records in zip(names, (self.orders, self.events, self.cursors)):
            self.shop.client.make_topic(name, 1 if records is self.cursors else PARTITIONS)
            self.shop.client.put(name, [tuple(record) for record in records], enable_idempotence=True)
        return ("--kafka-orders-topic", names[0], "--kafka-events-topic", names[1], "--kafka-cursor-topic", names[2])


class Damage:
    def __init__(self, what, do, found, says=(), lsn=None):
        """`found`: kinds and how often; `says`: texts of the differences; `lsn`: what the cursor is made to say."""
        self.what, self.do, self.found, self.says, self.lsn = what, do, found, says, lsn


def again(records, item, sequence, /, **members):
    record = list(Copy.of(records, item, sequence))
    if members:
        Copy.change(record, **members)
    records.append(record)


def last_of(records, item, sequence):
    record = Copy.of(records, item, sequence)
    records.remove(record)
    records.append(record)


def of_other_key(records, item, sequence):
    Copy.of(records, item, sequence)[1] = b"item:9"


PAID = 8  # the sequence of the reservation that is confirmed, of item:1
DAMAGE = [
    Damage("nothing", lambda copy: None, {}),
    Damage("an order and two events gone", lambda copy: (copy.orders.remove(copy.of(copy.orders, "item:1", PAID)), copy.events.remove(copy.of(copy.events, "item:1", 1)),
                                                         copy.events.remove(copy.of(copy.events, "item:2", 3))), {"missing": 3}, ("no record", "RESERVE")),
    Damage("an order and an event twice", lambda copy: (again(copy.orders, "item:1", PAID), again(copy.events, "item:1", 5)), {"duplicate": 2}, (", too",)),
    Damage("an event behind later ones", lambda copy: last_of(copy.events, "item:1", 5), {"order": 1}),
    Damage("an order of an item that is not", lambda copy: again(copy.orders, "item:1", PAID, item="item:9", itemId=9), {"unknown": 1}, ("knows none",)),
    Damage("an order and an event of later than all", lambda copy: (again(copy.orders, "item:1", PAID, sequence=900), again(copy.events, "item:1", 5, sequence=900)),
           {"unknown": 2}),
    Damage("an order that was none", lambda copy: again(copy.orders, "item:1", PAID, sequence=1), {"unknown": 1}),
    Damage("records that are nothing", lambda copy: (copy.orders.append([b"\x00spam", None, [], 0]), copy.events.append([None, b"item:1", [], 1])), {"unknown": 2}, ("no order", "no event")),
    Damage("a price and a quantity changed", lambda copy: copy.change(copy.of(copy.orders, "item:1", PAID), price=1, quantity=3), {"content": 1}, ("price 1 instead of 500", "quantity 3 instead of 1")),
    Damage("ids and times changed", lambda copy: (copy.change(copy.of(copy.orders, "item:1", PAID), userId=77, orderId=id_of(900)), copy.change(copy.of(copy.events, "item:1", PAID), at=5, expiresAt=6)),
           {"content": 2}, ("userId 77 instead of 5", id_of(900), "at 5 instead of", "expiresAt 6 instead of")),
    Damage("a member removed, and one added", lambda copy: copy.of(copy.events, "item:1", PAID).__setitem__(0, json.dumps({
        **{name: value for name, value in json.loads(copy.of(copy.events, "item:1", PAID)[0]).items() if name != "userId"}, "more": 1}).encode()),
           {"content": 1}, ("userId gone instead of 5", "more 1 added")),
    Damage("another key", lambda copy: of_other_key(copy.orders, "item:1", PAID), {"content": 1}, ('key "item:9" instead of "item:1"',)),
    Damage("the cursor moved back", lambda copy: None, {"cursor": 1}, ("the topics have everything through LSN",), lsn=5),
    Damage("the cursor moved beyond the log", lambda copy: None, {"cursor": 1}, ("and the log ends at",), lsn=100_000),
    Damage("all at once", lambda copy: (copy.events.remove(copy.of(copy.events, "item:2", 3)), again(copy.orders, "item:1", PAID), last_of(copy.events, "item:1", 5),
                                        copy.change(copy.of(copy.events, "item:1", PAID), available=1), copy.orders.append([b"{}", b"x", [], 0])),
           {"missing": 1, "duplicate": 1, "order": 1, "content": 1, "unknown": 1}),
]


def sold_some(shop):
    """Twenty orders of item:1 in several states and at two prices, three of item:2, and an item with an odd name."""
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", 40, "PRICE", 500, "CURRENCY", "EUR", "SALE", "77"), ("ITEM", "CREATE", "item:2", "STOCK", 3), ("ITEM", "CREATE", b"w\xff%", "STOCK", 3),
             *reserve("item:1", range(1, 11)), *reserve("item:2", [101, 102, 103]), *reserve(b"w\xff%", [201]))
    shop.ask(("ITEM", "SET", "item:1", "PRICE", 700, "EXPECT", 500), *reserve("item:1", range(11, ORDERS + 1)), *[("CONFIRM", "item:1", n, "ID", id_of(n)) for n in range(5, 9)],
             *[("RELEASE", "item:1", n, "ID", id_of(n)) for n in (13, 14)], ("EXTEND", "item:1", "1", "TTL", 900000, "ID", id_of(1)))
    shop.caught_up()


def each_kind_of_damage(programs, folder):
    shop = CheckedShop(programs, folder)
    sold_some(shop)
    told = shop.clean("what the relay wrote is the log")
    check(told["orders"] == ORDERS + 4 and told["sink"] == "kafka" and told["oldest"] == 1 and told["replayed"] == 0, "what there was", told)
    check(told["events"] == told["changes"] == len(shop.read(shop.events)), "each change is an event", told)
    check("\nclean\n" in shop.reconcile() and "24 orders and" in shop.reconcile(), "as text")
    shop.relay.stop()
    whole = Copy(shop)
    for number, damage in enumerate(DAMAGE):
        copy = whole.again()
        damage.do(copy)
        copy.move_cursor(damage.lsn)
        words = ("reconcile", "--kafka", shop.servers, *copy.put(number))
        status = 1 if damage.found else 0
        told = json.loads(shop.ctl(*words, "--json", status=status))
        found = {kind: count for kind, count in told["kinds"].items() if count}
        check(found == damage.found, damage.what, found, damage.found, told["list"][:5])
        texts = " ".join(f"{each.get('says')} {each.get('log')}" for each in told["list"][:5])
        check(all(text in texts for text in damage.says), f"{damage.what}: what is told", texts)
        check(all("record" in each for each in told["list"] if each["kind"] not in ("missing", "cursor")), f"{damage.what}: where", told["list"][:5])
    text = shop.ctl(*words, "--repair", status=1)
    check(text.count("  for a person: ") == sum(damage.found.values()) and "clean" not in text, "what a person does", text)
    shop.server.stop()


def a_topic_made_anew(programs, folder):
    """The relay would stop at it; what it lacks is named all the same."""
    shop = CheckedShop(programs, folder)
    sold_some(shop)
    shop.relay.stop()
    copy = Copy(shop)
    copy.events.remove(copy.of(copy.events, "item:1", PAID))
    shop.make_again(shop.events)
    shop.client.put(shop.events, [tuple(record) for record in copy.events])
    found, told = shop.found(status=1)
    check(found.get("missing") == 1 and found.get("cursor") == 1 and len(found) == 2, "its end is not the relay's", found, told["list"][:5])
    check("was deleted and made anew" in told["list"][-1]["says"], "and why", told["list"][:5])
    shop.make_again(shop.events)
    found, told = shop.found(status=1)
    check(found.get("missing") == told["changes"], "an empty one lacks everything", found, told["list"][:3])
    shop.client.drop_topic(shop.events)
    check("does not exist" in shop.reconcile(status=2), "one that is gone cannot be compared")
    shop.server.stop()


def what_was_sent_again_is_no_difference(programs, folder):
    shop = CheckedShop(programs, folder)
    dead = f"{shop.orders}.DLT"
    shop.client.make_topic(dead, PARTITIONS)
    sold_some(shop)
    refused = [record for record in shop.client.read(shop.orders) if json.loads(record.value)["userId"] in (3, 4, 5)]
    shop.client.put(dead, [(record.value, record.key, record.headers, record.partition) for record in refused])
    dlt = ("--kafka", shop.servers, "--topic", shop.orders, "--kafka-cursor-topic", shop.cursors)
    letters = [json.loads(line) for line in shop.ctl("--json", "dlt", "list", *dlt).splitlines()]
    shop.ctl("dlt", "replay", letters[0]["letter"], *dlt)
    shop.ctl("dlt", "cancel", letters[1]["letter"], *dlt)
    shop.caught_up()
    told = shop.clean("neither a replay nor a cancel is one")
    check(told["replayed"] == 1 and told["dead-letters"] == {dead[:-4]: 1}, "they are told of", told)
    text = shop.reconcile()
    check("1 sent again by holdfastctl dlt" in text and f"1 dead letters wait: holdfastctl dlt list --topic {shop.orders}" in text, "as text", text)
    shop.stop()


def while_it_sells(programs, folder):
    shop = CheckedShop(programs, folder)
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", 10_000_000, "LIMIT", 0))
    ended = threading.Event()

    def sell():
        while not ended.is_set():
            shop.ask(*[("RESERVE", "item:1", f"u{n}") for n in range(20)])
    seller = threading.Thread(target=sell)
    seller.start()
    try:
        until(lambda: shop.acknowledged() > 2000, "it sells", seconds=60)
        cursors = [shop.clean("no false alarm")["cursor"] for _ in range(3)]
        check(cursors == sorted(set(cursors)), "the relay wrote meanwhile", cursors)
    finally:
        ended.set()
        seller.join()
    shop.whole()
    shop.clean("and at the end")
    shop.stop()


def a_log_that_has_been_cut(programs, folder):
    """What the log no longer has, the events show."""
    shop = CheckedShop(programs, folder, server_flags=CUT_FLAGS)
    sold_some(shop)
    cut_log(shop)
    shop.ask(("ITEM", "SET", "item:1", "PRICE", 900, "EXPECT", 700), *reserve("item:1", [50]), *reserve("item:2", []), ("CONFIRM", "item:2", 101, "ID", id_of(101)))
    shop.caught_up()
    told = shop.clean("nothing differs")
    check(told["oldest"] > 1 and told["events"] > told["changes"], "the log has less than the topic", told)
    shop.relay.stop()
    copy = Copy(shop)
    # Of before the log, behind its beginning and across it.
    copy.events.remove(copy.of(copy.events, "item:1", PAID))
    copy.orders.remove(copy.of(copy.orders, "item:1", PAID + 1))
    copy.orders.remove(copy.of(copy.orders, "item:1", max(json.loads(record[0])["sequence"] for record in copy.orders if record[1] == b"item:1")))
    again(copy.events, "item:2", 3)
    copy.move_cursor(None)
    told = json.loads(shop.ctl("reconcile", "--json", "--kafka", shop.servers, *copy.put("cut"), status=1))
    found = {kind: count for kind, count in told["kinds"].items() if count}
    check(found == {"missing": 3, "unknown": 1, "duplicate": 1}, "what differs is named", found, told["list"][:5])
    shop.server.stop()


def a_beginning_that_has_been_deleted(programs, folder):
    shop = CheckedShop(programs, folder)
    sold_some(shop)
    for topic in (shop.orders, shop.events):
        shop.client.set_config(topic, retention_ms=1)
        until(lambda topic=topic: shop.client.begins(topic) == shop.client.ends(topic, "read_uncommitted"), "retention", lambda topic=topic: shop.client.begins(topic), seconds=120)
        shop.client.set_config(topic, retention_ms=-1)
    shop.ask(*reserve("item:1", [30, 31, 32]))
    shop.caught_up()
    told = shop.clean("what is gone is not asked for")
    check(told["orders"] == told["events"] == 3 and sorted(told["beginning-deleted"]) == sorted((shop.orders, shop.events)), "it is said", told)
    text = shop.reconcile()
    check("partitions has been deleted; each is compared from its first record on" in text, "as text", text)
    shop.relay.stop()
    copy = [record for record in shop.client.read(shop.events) if json.loads(record.value)["userId"] == 31]
    shop.client.put(shop.events, [(record.value, record.key, record.headers, record.partition) for record in copy])
    check(shop.found(status=1)[0] == {"duplicate": 1}, "what is there is compared")
    shop.server.stop()


def begun_with_a_snapshot(programs, folder):
    shop = CheckedShop(programs, folder, start=False)
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", 40), *reserve("item:1", range(1, 6)))
    shop.ctl("snapshot")
    status, said = shop.run("bootstrap")
    check(status == 0, "it begins with the snapshot", said)
    shop.clean("nothing is due yet")
    shop.ask(*reserve("item:1", range(6, 11)), ("CONFIRM", "item:1", 1, "ID", id_of(1)))
    shop.start_relay()
    shop.caught_up()
    told = shop.clean("what came behind it is there")
    check(told["orders"] == 5 and told["events"] == 6 and told["begins"] > 0, "and nothing else", told)
    check("the sink began with a snapshot" in shop.reconcile(), "it is said")
    # Begun anew behind what is there, which is of no sink any more.
    shop.relay.stop()
    shop.ctl("snapshot")
    status, said = shop.run("bootstrap", "--set-aside")
    check(status == 0, "it begins anew", said)
    shop.start_relay()
    shop.ask(*reserve("item:1", [20]))
    shop.caught_up()
    check(shop.clean("what was set aside is not compared")["events"] == 1, "only what came later")
    shop.relay.stop()
    record = shop.client.read(shop.events)[-1]
    shop.client.put(shop.events, [(record.value, record.key, record.headers, record.partition)])
    check(shop.found(status=1)[0] == {"duplicate": 1}, "what came later is compared")
    shop.server.stop()


def what_cannot_be_told(programs, folder):
    shop = CheckedShop(programs, folder, start=False)
    check("no relay has written there" in shop.reconcile(status=2), "no cursor")
    for words, text in (((), "say --postgres URL, --kafka BROKERS, or both"), (("--kafka", shop.servers, "--apply"), "--apply writes to tables"), (("--kafka", "127.0.0.1:1"), "127.0.0.1:1")):
        check(text in shop.ctl("reconcile", *words, status=2), f"{words} is answered")
    text = shop.ctl("reconcile", "--help")
    check(all(f"\n  {kind}" in text.split("kinds of differences to the topics:")[1] for kind in KINDS), "help has all kinds", text)
    shop.start_relay()
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", 3), *reserve("item:1", [1]))
    shop.caught_up()
    other = os.path.join(folder, "other")
    os.mkdir(other)
    server = type(shop.server)(programs.server, other)
    server.ready()
    check("log" in shop.reconcile("--server", f"127.0.0.1:{server.port}", status=2), "another server's log")
    server.stop()
    text = shop.ctl("reconcile", "--kafka", shop.servers, "--kafka-orders-topic", "other", "--kafka-events-topic", shop.events, "--kafka-cursor-topic", shop.cursors, status=2)
    check(f"does not write to topic other, but to {shop.cursors}, {shop.events}, {shop.orders}" in text, "other topics", text)
    # Two sinks that share a cursor topic.
    shop.relay.stop()
    own = shop.events, shop.orders
    shop.orders, shop.events, shop.sink = f"{own[1]}.second", f"{own[0]}.second", "kafka:second"
    for topic in (shop.orders, shop.events):
        shop.client.make_topic(topic, PARTITIONS)
    shop.start_relay()
    until(lambda: shop.acknowledged("second") >= 3, "the second one is there")
    check("has the cursors of kafka, second: --kafka-sink says which" in shop.reconcile(status=2), "which of them")
    check("clean" in shop.reconcile("--kafka-sink", "second"), "that one")
    shop.stop()


CASES = [each_kind_of_damage, a_topic_made_anew, what_was_sent_again_is_no_difference, while_it_sells, a_log_that_has_been_cut, a_beginning_that_has_been_deleted, begun_with_a_snapshot,
         what_cannot_be_told]

if __name__ == "__main__":
    parser = kafka_arguments(__doc__)
    parser.add_argument("--ctl", required=True, help="path of holdfastctl")
    run_kafka_cases(CASES, parser.parse_args())
