#!/usr/bin/python3
"""holdfast-relay between a real server and a real Kafka: what consumers get, where a sink begins, and what it refuses.

usage: relay_kafka_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay --only orders
       relay_kafka_test.py ... --only killed --kills 100
"""
import random
import signal

from kafka_shop import SHORT, Shop, check, id_of, kafka_arguments, reserve, run_kafka_cases
from relay_bench import Connection, as_map, until
from relay_test import Busy

PACE = 0.02  # seconds between a client's requests
# By then a broker has undone what is older than SHORT: it looks for such every 10 s.
UNDONE_SECONDS = 3 + 10 + 5
TEN_ITEMS = [("ITEM", "CREATE", f"item:{number}", "STOCK", 10_000_000) for number in range(10)]


def ten_thousand_orders_of_one_item(programs, folder):
    shop = Shop(programs, folder, "--kafka-header", "__TypeId__=shop.OrderPlaced")
    shop.ask(("ITEM", "CREATE", "item:1001", "STOCK", 20_000, "PRICE", 995, "CURRENCY", "EUR"))
    shop.ask(*reserve("item:1001", range(1, 10_001)))
    shop.ask(*[("CONFIRM", "item:1001", number, "ID", id_of(number)) for number in range(1, 501)])
    shop.whole()
    orders = shop.client.read(shop.orders)
    check(len(orders) == 10_000 and {record.key for record in orders} == {b"item:1001"} and len({record.partition for record in orders}) == 1, "one key, one partition")
    values = shop.read(shop.orders)
    check([order["userId"] for order in values] == list(range(1, 10_001)), "numbers, in order")
    first = values[0]
    check(first["orderId"] == id_of(1) and first["itemId"] == 1001 and first["quantity"] == 1 and first["price"] == 995 and first["currency"] == "EUR", "an order", first)
    check(abs(first["expiresAt"] - first["reservedAt"] - 600_000) <= 1, "it lives for ten minutes", first)
    headers = dict(orders[0].headers)
    check(headers["__TypeId__"] == b"shop.OrderPlaced" and headers["ce_specversion"] == b"1.0" and headers["content-type"] == b"application/json", "headers", headers)
    check(len({dict(record.headers)["ce_id"] for record in orders}) == 10_000, "ids of their own")
    shop.stop()


def the_whole_life_of_several_items(programs, folder):
    shop = Shop(programs, folder)
    shop.ask(*TEN_ITEMS, ("ITEM", "CREATE", b"w\xff", "STOCK", 10))
    shop.caught_up()
    with Connection(shop.server.address) as connection:
        connection.ask_all(reserve(b"w\xff", range(1, 4)))
        for number in range(10):
            connection.ask_all(reserve(f"item:{number}", range(1, 101)))
            connection.ask_all([(word, f"item:{number}", each, *more, "ID", id_of(each))
                                  for word, each, *more in (("CONFIRM", 1), ("CONFIRM", 2), ("REFUND", 2), ("RELEASE", 3), ("EXTEND", 4, "TTL", 900_000))])
            connection.ask("RESERVE", f"item:{number}", "bob", "ID", id_of(200), "TTL", 500)
        # A sink that has everything is told of a reservation by the stage of its name.
        reply = connection.ask("RESERVATION", "WAIT", "item:1", "ID", id_of(1), "STAGE", "kafka", "TIMEOUT", 60_000)
        check(as_map(reply)["sinks"] == [b"kafka", b"acknowledged"], "the stage answers", reply)
        until(lambda: as_map(connection.ask("RESERVATION", "GET", "item:9", "ID", id_of(200)))["state"] == b"EXPIRED", "bob's expires")
    shop.ask(("ITEM", "CREATE", "gone", "STOCK", 1), ("ITEM", "CLOSE", "gone"), ("ITEM", "DROP", "gone"))
    streams = shop.whole()
    check(len(streams) == 12 and len({record.partition for record in shop.client.read(shop.events)}) == shop.client.topics()[shop.events], "several partitions")
    check([event["state"] for event in streams["gone", 1]] == ["DRAFT", "READY", "OPEN", "CLOSED", "DROPPED"], "an item that is gone", streams["gone", 1])
    names = [event["event"] for event in streams["item:9", 1]]
    check(names[:4] == ["LOAD", "READY", "OPEN", "RESERVE"] and names[-1] == "EXPIRE" and {"CONFIRM", "REFUND", "RELEASE", "EXTEND"} <= set(names), "its life", names)
    raw = [record for record in shop.client.read(shop.orders) if record.key == b"w\xff"]
    check(len(raw) == 3 and b'"itemId":"w%FF"' in raw[0].value, "a name that is no text", raw[:1])
    shop.stop()


def events_without_orders(programs, folder):
    shop = Shop(programs, folder, start=False)
    shop.flags += ("--kafka-orders-topic", "")
    shop.topic_flags = lambda: ("--kafka-events-topic", shop.events, "--kafka-cursor-topic", shop.cursors)
    shop.start_relay()
    shop.ask(*TEN_ITEMS[:1], *reserve("item:0", range(1, 11)))
    shop.caught_up()
    check(len(shop.read(shop.events)) == 13 and shop.read(shop.orders) == [], "events, and no orders")
    shop.stop()


def killed_relays_repeat_nothing(programs, folder):
    shop = Shop(programs, folder)
    shop.ask(*TEN_ITEMS)
    dice = random.Random(1)
    with Busy(shop.server, item="item:1", pause=PACE), Busy(shop.server, item="item:2", pause=PACE):
        for number in range(programs.options.kills):
            if number % 5 == 0:
                shop.goes_on()
            # At any moment from its start on, in transactions above all.
            until(lambda: dice.random() < 0.05, "a moment passes")
            check(shop.relay.process.poll() is None, "it did not end by itself", shop.relay.output())
            shop.relay.kill()
            if number % 5 == 4:
                shop.server.again()
            shop.start_relay()
        shop.goes_on()
    shop.whole()
    shop.stop()


def of_two_relays_one_is_fenced(programs, folder):
    shop = Shop(programs, folder, *SHORT)
    shop.ask(*TEN_ITEMS)
    first = shop.relay
    with Busy(shop.server, item="item:1", pause=PACE):
        shop.goes_on()
        second = shop.start_relay()
        check(first.wait() == 3 and "another relay has taken over" in first.output(), "the first exits with 3, and says why", first.process.returncode, first.output())
        shop.goes_on()
        # Stopped in the middle of what it does, for longer than its transaction may last.
        second.process.send_signal(signal.SIGSTOP)
        third = shop.start_relay()
        shop.goes_on()
        lsn = shop.acknowledged()
        until(lambda: shop.acknowledged() > lsn + 1000, "the third works", third.output)
        second.process.send_signal(signal.SIGCONT)
        check(second.wait() == 3, "the second exits with 3", second.process.returncode, second.output())
    shop.whole()
    # With nothing to write, too.
    shop.start_relay()
    check(third.wait() == 3, "the third learns it idle", third.process.returncode, third.output())
    shop.stop()


def sleeps_in_a_transaction(shop):
    """Whether it does now; else it is awake again."""
    shop.relay.process.send_signal(signal.SIGSTOP)
    if shop.open_transaction():
        return True
    shop.relay.process.send_signal(signal.SIGCONT)
    return False


def one_that_slept_alone_goes_on(programs, folder):
    shop = Shop(programs, folder, *SHORT)
    shop.ask(*TEN_ITEMS)
    with Busy(shop.server, item="item:1", pause=PACE):
        for _ in range(3):
            shop.goes_on()
            until(lambda: sleeps_in_a_transaction(shop), "it sleeps in a transaction", seconds=120)
            until(lambda: not shop.open_transaction(), "what it left open is undone", seconds=UNDONE_SECONDS)
            shop.relay.process.send_signal(signal.SIGCONT)
    shop.whole()
    check(shop.relay.process.poll() is None, "it never ended", shop.relay.output())
    shop.stop()


def what_a_crash_left_open_blocks_nobody_for_long(programs, folder):
    shop = Shop(programs, folder, *SHORT)
    shop.ask(*TEN_ITEMS)
    dice = random.Random(2)

    def left_open():
        shop.start_relay()
        shop.goes_on()
        until(lambda: dice.random() < 0.1, "a moment passes")
        shop.relay.kill()
        return shop.open_transaction()
    shop.relay.kill()
    with Busy(shop.server, item="item:1"), Busy(shop.server, item="item:2"):
        until(left_open, "a transaction is open", seconds=120)
    until(lambda: not shop.open_transaction(), "it is undone", seconds=UNDONE_SECONDS)
    shop.start_relay()
    shop.whole()
    shop.stop()


def refused_at_the_start(programs, folder):
    shop = Shop(programs, folder, start=False)
    def refused(text, *flags):
        shop.start_relay(*flags)
        shop.ends_with(1, text)
    shop.flags = ()
    refused("it has 1 replicas, and a lost broker loses nothing with 3: make it with more, or say --allow-unreplicated")
    shop.flags = ("--allow-unreplicated",)
    for topic, policy, text in ((shop.cursors, "delete", "set it to compact"), (shop.events, "compact", "set it to delete"), (shop.orders, "compact,delete", "set it to delete")):
        was = "compact" if topic == shop.cursors else "delete"
        shop.client.set_config(topic, cleanup_policy=policy)
        refused(text)
        shop.client.set_config(topic, cleanup_policy=was)
    shop.client.set_config(shop.events, unclean_leader_election_enable="true")
    refused("unclean.leader.election.enable is true")
    shop.client.set_config(shop.events, unclean_leader_election_enable="false")
    shop.client.drop_topic(shop.orders)
    refused(f"topic {shop.orders}: it does not exist; holdfastctl topic create makes it")
    shop.orders = "no topic"
    refused("a topic's name has at most 249 of a-z A-Z 0-9 . _ -")
    for name, value in (("acks", "1"), ("transactional.id", "x")):
        shop.start_relay("--kafka-property", f"{name}={value}")
        shop.ends_with(2, f"--kafka-property: {name} is not free to choose")
    refused("property no.such.thing: No such configuration property", "--kafka-property", "no.such.thing=1")
    shop.server.stop()


def what_it_tells_prometheus(programs, folder):
    shop = Shop(programs, folder)
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", 50), *reserve("item:1", range(50)))
    streams = shop.whole()
    written = len(shop.read(shop.orders)) + sum(len(events) for events in streams.values())

    def others():
        """Records that are neither orders nor events: a cursor for each transaction, what the item is, the end of a cursor without a log."""
        return shop.figure("records_total") - shop.figure("transactions_total") - written
    until(lambda: 0 < others() <= 4, "records and transactions", others)
    check(0 < shop.figure("commit_seconds_total") < 60 and shop.figure("transactions_total") >= 2, "commits take their time", shop.figure("commit_seconds_total"))
    check(shop.figure("given_up_total") == 0, "nothing was given up")
    shop.stop()


CASES = [what_it_tells_prometheus, ten_thousand_orders_of_one_item, the_whole_life_of_several_items, events_without_orders, killed_relays_repeat_nothing,
         of_two_relays_one_is_fenced, one_that_slept_alone_goes_on, what_a_crash_left_open_blocks_nobody_for_long, refused_at_the_start]

if __name__ == "__main__":
    run_kafka_cases(CASES, kafka_arguments(__doc__).parse_args())
