#!/usr/bin/python3
"""What others make of the relay's topics: their schemas, consumers that know a few members, Java's partitions.

usage: kafka_consumers_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay [--only NAME]
"""
import copy
import json
import os
import pathlib
import subprocess
import time

import jsonschema
from kafka_shop import PARTITIONS, Shop, check, id_of, kafka_arguments, reserve, run_kafka_cases, until
from kafka import jars

HERE = pathlib.Path(__file__).resolve().parent
SCHEMAS = HERE.parent.parent / "deploy" / "kafka"
# What a server writes only when its own law is broken.
NEVER_HERE = {"FENCE", "UNFENCE", "fenced"}


def schema(name):
    """A schema that also refuses members which it does not name."""
    found = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(found)
    return {**found, "unevaluatedProperties": False}


def members(value):
    """All members that a schema names."""
    found = set(value.get("properties", {}))
    for part in value.get("$defs", {}).values():
        found |= members(part)
    return found


def java(folder, name, *words, entered=""):
    """What a program of java/ prints."""
    lib = f"{jars()}/*"
    subprocess.run(["javac", "-cp", lib, "-d", folder, str(HERE / "java" / f"{name}.java")], check=True, timeout=120)
    done = subprocess.run(["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{folder}:{lib}", name, *words], input=entered,
                          capture_output=True, text=True, timeout=180)
    check(done.returncode == 0, f"{name} ends well", done.stdout[-500:], done.stderr[-1500:])
    return done.stdout.splitlines()


def life_of_items(shop):
    """Every event that a sound server writes, and names and numbers that are not easy to write down."""
    ahead = int(time.time() * 1000) + 1500
    with_all = ("PRICE", 990, "CURRENCY", "EUR", "SALE", "s%1", "PRODUCT", "p\xe4".encode())
    shop.ask(("ITEM", "CREATE", "item:12", "STOCK", 100, "LIMIT", 0, *with_all), ("ITEM", "CREATE", b"shoe \xff\n", "STOCK", 9),
             ("ITEM", "CREATE", "item:9007199254740993", "STOCK", 9), ("ITEM", "CREATE", "7", "STOCK", 5),
             ("ITEM", "CREATE", "window", "STOCK", 1, "OPENS-AT", ahead, "CLOSES-AT", ahead + 500))
    shop.ask(*reserve("item:12", range(1, 7)), ("RESERVE", "item:12", "9007199254740993", "QTY", 3), ("RESERVE", "item:12", b"ann\xfe", "ID", id_of(20)),
             ("RESERVE", "item:12", id_of(9), "ID", id_of(21), "TTL", 100), ("RESERVE", b"shoe \xff\n", "1"), ("RESERVE", "item:9007199254740993", "1"),
             ("EXTEND", "item:12", "1", "TTL", 900_000, "ID", id_of(1)), *[("CONFIRM", "item:12", n, "ID", id_of(n)) for n in (1, 2, 3)],
             ("REFUND", "item:12", "1", "ID", id_of(1)), ("REFUND", "item:12", "2", "ID", id_of(2), "WRITEOFF"),
             ("RELEASE", "item:12", "4", "ID", id_of(4)), ("RELEASE", "item:12", "5", "ID", id_of(5), "WRITEOFF"),
             ("ITEM", "ADJUST", "item:12", 5, "ID", id_of(40), "REASON", "found \xe4 %".encode()), ("ITEM", "SET", "item:12", "PRICE", 995, "EXPECT", 990),
             ("ITEM", "RETURNS", "item:12", "HOLD"), ("RELEASE", "item:12", "6", "ID", id_of(6)), ("ITEM", "RETURNS", "item:12", "FREE"),
             ("INCRBY", "{7}:stock", 3), ("ITEM", "PAUSE", "7"), ("ITEM", "OPEN", "7"), ("ITEM", "CLOSE", "7"), ("ITEM", "DROP", "7"),
             ("ITEM", "LOAD", "7", "VERSION", "9007199254740995", "STOCK", 1))
    until(lambda: b"EXPIRED" in shop.ask(("RESERVATION", "GET", "item:12", "ID", id_of(21)))[0], "it expires")
    shop.ask(("CONFIRM", "item:12", id_of(9), "ID", id_of(21), "RESUME"))
    until(lambda: b"CLOSED" in shop.ask(("ITEM", "GET", "window"))[0], "it closes")


def values_are_as_the_schemas_say(programs, folder):
    lines = os.path.join(folder, "lines")
    shop = Shop(programs, folder, "--sink", f"file={lines}", server_flags=("--redis-view-writes", "adjust"))
    life_of_items(shop)
    shop.caught_up()
    until(lambda: shop.acknowledged("file") >= shop.acknowledged(), "so does the other sink")
    shop.audit()
    events, orders = shop.read(shop.events), shop.read(shop.orders)
    for name, values in (("event", events), ("order", orders)):
        wanted = schema(name)
        validator = jsonschema.Draft202012Validator(wanted)
        for value in values:
            wrong = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]
            check(not wrong, f"an {name} of its schema", value, wrong)
        seen = {member for value in values for member in value}
        check(members(wanted) - seen <= NEVER_HERE, "all members that it names are written", members(wanted) - seen)
        for member in set(wanted["required"]):
            broken = copy.deepcopy(values[0])
            del broken[member]
            check(not validator.is_valid(broken), f"{name}: {member} is needed")
        check(not validator.is_valid({**values[0], "more": 1}), "and others would be found")
    names = set(schema("event")["properties"]["event"]["enum"])
    check(names - {event["event"] for event in events} == NEVER_HERE & names, "all events were there", {event["event"] for event in events})
    by_place = {(event["item"], event["version"], event["sequence"]): event for event in events}
    written = [json.loads(line) for line in pathlib.Path(lines).read_text().splitlines()]
    check(len(written) == len(events) and all(by_place[line["item"], line["version"], line["sequence"]] == line for line in written), "the file sink writes the same")
    ids = {order["item"]: order["itemId"] for order in orders}
    check(ids == {"item:12": 12, "shoe %FF%0A": "shoe %FF%0A", "item:9007199254740993": "9007199254740993"}, "itemId", ids)
    users = {order["orderId"]: order["userId"] for order in orders if order["item"] == "item:12"}
    check([users[id_of(1)], users[id_of(20)], users[id_of(21)]] == [1, "ann%FE", id_of(9)] and "9007199254740993" in users.values(), "userId", users)
    shop.stop()


def orders_are_read_by_who_knows_three_members(programs, folder):
    """In Python, whatever the headers; and in Java as services with Spring read them, by the type in a header."""
    shop = Shop(programs, folder, "--kafka-header", "__TypeId__=shop.OrderPlaced")
    shop.ask(("ITEM", "CREATE", "item:1001", "STOCK", 1000), ("ITEM", "CREATE", "item:1002", "STOCK", 1000))
    shop.ask(*reserve("item:1001", range(1, 501)), *reserve("item:1002", range(501, 1001)))
    shop.whole()
    wanted = {(id_of(n), 1001 if n <= 500 else 1002, n) for n in range(1, 1001)}
    known = [(order["orderId"], order["itemId"], order["userId"]) for order in shop.read(shop.orders)]
    check(set(known) == wanted and len(known) == 1000, "each once", len(known))
    read = [tuple(line.split(" ")) for line in java(folder, "Orders", shop.servers, shop.orders, "1000")]
    check({(order, int(item), int(user)) for order, item, user in read} == wanted and len(read) == 1000, "each once in Java", len(read))
    shop.stop()


def partitions_are_those_of_java(programs, folder):
    """For keys of all lengths modulo four, with every high bit, of text and of bytes that are none."""
    shop = Shop(programs, folder)
    names = [f"item:{number}".encode() for number in range(200)] + ["ünïcödé".encode(), "商品:1".encode(), b"\xff", b"\x80\xfe\x00\x01", b"a b", b"x" * 128]
    names += [bytes([128 + length, *range(length)]) for length in range(1, 40)]
    shop.ask(*[("ITEM", "CREATE", name, "STOCK", 1) for name in names])
    shop.caught_up()
    ours = {record.key: record.partition for record in shop.client.read(shop.events)}
    check(set(ours) == set(names), "the key is the raw name", set(names) ^ set(ours))
    topic = f"java.{programs.cases}"
    shop.client.make_topic(topic, PARTITIONS)
    theirs = [int(line) for line in java(folder, "Partitions", shop.servers, topic, entered="\n".join(name.hex() for name in names))]
    wrong = [(name, ours[name], partition) for name, partition in zip(names, theirs, strict=True) if ours[name] != partition]
    check(not wrong and len(set(theirs)) == PARTITIONS, "the same", wrong)
    shop.stop()


CASES = [values_are_as_the_schemas_say, orders_are_read_by_who_knows_three_members, partitions_are_those_of_java]

if __name__ == "__main__":
    run_kafka_cases(CASES, kafka_arguments(__doc__).parse_args())
