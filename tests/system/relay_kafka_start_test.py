#!/usr/bin/python3
"""Where holdfast-relay's kafka sink begins: cursors that are gone, foreign or compacted, topics that are not what they were,
bootstrap and adopt.

usage: relay_kafka_start_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay --ctl build/release/bin/holdfastctl --only cursor
"""
import os
import subprocess

from kafka_shop import PARTITIONS, Shop, check, kafka_arguments, reserve, run_kafka_cases
from kafka_stub import KafkaStub
from relay_bench import AgainServer, Connection, Postgres, Relay, audit, caught_up, migrated, until

ITEMS = [("ITEM", "CREATE", f"item:{number}", "STOCK", 100_000) for number in range(10)]


def sold(shop, first=1, count=100):
    for number in range(10):
        shop.ask(*reserve(f"item:{number}", range(first, first + count)))


def begun(programs, folder, *flags, **more):
    shop = Shop(programs, folder, *flags, **more)
    shop.ask(*ITEMS)
    sold(shop)
    shop.caught_up()
    return shop


def refused(shop, text, *flags, status=1):
    shop.start_relay(*flags)
    shop.ends_with(status, text)


def a_cursor_topic_that_was_emptied(programs, folder):
    shop = begun(programs, folder)
    shop.relay.stop()
    before = shop.read(shop.events)
    shop.make_again(shop.cursors)
    sold(shop, 1001)
    refused(shop, f"topic {shop.cursors} has no cursor of sink kafka, and topic {shop.events} has or had records")
    check(shop.read(shop.events) == before and shop.read(shop.cursors) == [], "nothing was written")
    ctl(programs, shop, "snapshot")
    status, said = shop.run("bootstrap")
    check(status == 2 and "--set-aside leaves them there and begins anew behind them" in said, "what is there is not ignored", status, said)
    status, said = shop.run("bootstrap", "--set-aside")
    check(status == 0 and "10 items" in said and f"what it had is in {shop.events}" in said, "it begins anew", status, said)
    shop.start_relay()
    sold(shop, 2001)
    shop.caught_up()
    events = [event for event in shop.read(shop.events) if event["item"] == "item:5"]
    check([event["sequence"] for event in events] == [*range(1, 104), *range(204, 304)], "it goes on behind the snapshot", len(events))
    shop.stop()


def a_cursor_topic_that_is_emptied_under_it(programs, folder):
    shop = begun(programs, folder)
    shop.make_again(shop.cursors)
    sold(shop, 1001)
    shop.ends_with(1, "run holdfast-relay bootstrap")
    events = [event["sequence"] for event in shop.read(shop.events) if event["item"] == "item:5"]
    check(events == sorted(set(events)), "nothing is there twice", len(events))
    shop.server.stop()


def a_cursor_topic_that_was_compacted(programs, folder):
    shop = begun(programs, folder, cursors={"segment_ms": 500, "min_cleanable_dirty_ratio": 0.01, "delete_retention_ms": 100, "max_compaction_lag_ms": 500})
    shop.ask(("ITEM", "CREATE", "gone", "STOCK", 1), ("ITEM", "CLOSE", "gone"), ("ITEM", "DROP", "gone"))
    for number in range(10):
        sold(shop, 1001 + 100 * number)
        shop.caught_up()

    def compacted():
        sold(shop, 10_001 + 100 * len(seen))
        shop.caught_up()
        seen.append(len(shop.client.read(shop.cursors)))
        return len(seen) > 1 and seen[-1] < max(seen)
    seen = []
    until(compacted, "the broker compacts it", lambda: seen, seconds=120)
    shop.relay.stop()
    sold(shop, 50_001)
    shop.start_relay()
    shop.whole()
    shop.stop()


def another_logs_cursor(programs, folder):
    shop = begun(programs, folder)
    shop.relay.stop()
    os.mkdir(os.path.join(folder, "other"))
    other = AgainServer(programs.server, os.path.join(folder, "other"))
    other.ready()
    with Connection(other.address) as connection:
        connection.ask_all([("ITEM", "CREATE", "item:1", "STOCK", 1000), *reserve("item:1", range(1, 900))])
    shop.start_relay(server=other)
    shop.ends_with(1, "and the server has log")
    check("connect to the server of that log" in shop.relay.output(), "what to do", shop.relay.output())
    status, said = shop.run("adopt", server=other)
    check(status == 1 and "does not go on from that one" in said, "nor by hand", status, said)
    # Under a name of its own, and with topics of its own, it may use the same cursor topic.
    for topic in (f"{shop.orders}.other", f"{shop.events}.other"):
        shop.client.make_topic(topic, 2)
    own = Relay(programs.relay, folder, other, f"kafka:other={shop.servers}",
                flags=("--kafka-orders-topic", f"{shop.orders}.other", "--kafka-events-topic", f"{shop.events}.other", "--kafka-cursor-topic", shop.cursors, *shop.flags))
    until(lambda: len(shop.read(f"{shop.events}.other")) == 902, "the other log's events", own.output)
    own.stop()
    other.stop()
    shop.start_relay()
    sold(shop, 1001)
    shop.whole()
    shop.stop()


def set_aside_goes_on(programs, shop):
    """What a person does about topics that do not have what came before."""
    ctl(programs, shop, "snapshot")
    status, said = shop.run("bootstrap", "--set-aside")
    check(status == 0, "a person lets it go on", status, said)
    shop.start_relay()
    sold(shop, 2001)
    shop.caught_up()
    events = [event["sequence"] for event in shop.read(shop.events) if event["item"] == "item:5"]
    check(events == [*range(204, 304)], "it goes on behind the snapshot", events[:3], len(events))


def a_topic_that_was_deleted_and_made_again(programs, folder):
    for again in (True, False):
        os.mkdir(os.path.join(folder, str(again)))
        shop = begun(programs, os.path.join(folder, str(again)))
        if not again:
            shop.relay.stop()
        shop.make_again(shop.events)
        sold(shop, 1001)
        if not again:
            shop.start_relay()
        shop.ends_with(1, "the topic was deleted and made anew, or lost records")
        check(shop.read(shop.events) == [], "nothing became visible there")
        set_aside_goes_on(programs, shop)
        shop.stop()


def a_topic_that_is_gone(programs, folder):
    for idle in (True, False):
        os.mkdir(os.path.join(folder, str(idle)))
        shop = begun(programs, os.path.join(folder, str(idle)))
        shop.client.drop_topic(shop.orders)
        if not idle:
            sold(shop, 1001)
        shop.ends_with(1, f"topic {shop.orders}: it does not exist; holdfastctl topic create makes it")
        check("--accept-partitions" not in shop.relay.output(), "and nothing else", shop.relay.output())
        shop.server.stop()


def a_topic_of_another_name(programs, folder):
    shop = begun(programs, folder)
    shop.relay.stop()
    sold(shop, 1001)
    was = {"orders": shop.orders, "events": shop.events}
    for kind, topic in was.items():
        other = f"{topic}.other"
        shop.client.make_topic(other, PARTITIONS)
        setattr(shop, kind, other)
        refused(shop, f"did not write to topic {other} when it last wrote: it would begin there in the middle")
        check("bootstrap --set-aside" in shop.relay.output() and shop.read(other) == [], "what to do, and nothing was written", shop.relay.output())
        setattr(shop, kind, topic)
    shop.start_relay()
    shop.whole()
    shop.relay.stop()
    shop.orders, shop.events = (f"{topic}.other" for topic in was.values())
    set_aside_goes_on(programs, shop)
    shop.stop()


def a_count_of_partitions_that_was_raised(programs, folder):
    shop = begun(programs, folder)
    shop.client.widen_topic(shop.events, 5)
    sold(shop, 1001)
    shop.ends_with(1, f"topic {shop.events} has 5 partitions, and had 3 when the sink last wrote")
    check("--accept-partitions" in shop.relay.output(), "what to do", shop.relay.output())
    refused(shop, "--accept-partitions")
    before = shop.read(shop.events)
    shop.start_relay("--accept-partitions")
    sold(shop, 2001)
    shop.caught_up()
    shop.relay.stop()
    shop.start_relay()  # it is known now
    sold(shop, 3001)
    shop.caught_up()
    events = shop.read(shop.events)
    for item in {event["item"] for event in events}:
        sequences = [event["sequence"] for event in events if event["item"] == item]
        check(sorted(sequences) == list(range(1, len(sequences) + 1)), "each once", item)
    check(len(events) > len(before) and len({record.partition for record in shop.client.read(shop.events)}) > 3, "the new ones are used")
    shop.stop()


def a_record_that_is_too_large(programs, folder):
    shop = begun(programs, folder)
    shop.client.set_config(shop.events, max_message_bytes=1000)
    shop.relay.stop()
    shop.start_relay("--kafka-property", "compression.codec=none")
    long = "x" * 128
    shop.ask(("ITEM", "CREATE", long, "STOCK", 10))
    shop.ends_with(1, "raise max.message.bytes of the topic; nothing is left out")
    check(long[:20] in shop.relay.output() and shop.events in shop.relay.output(), "which", shop.relay.output())
    sold(shop, 1001)
    shop.client.set_config(shop.events, max_message_bytes=1_000_000)
    shop.start_relay()
    shop.whole()
    shop.stop()


def a_log_that_was_restored(programs, folder):
    shop = begun(programs, folder)
    shop.relay.stop()
    lsn = shop.acknowledged()
    sold(shop, 1001)
    shop.server.stop()
    backup = os.path.join(folder, "backup")
    holdfastctl(programs, "backup", backup, "--data-dir", os.path.join(folder, "data"))
    for name, until_lsn in (("later", lsn + 500), ("earlier", lsn - 500)):
        os.mkdir(os.path.join(folder, name))
        holdfastctl(programs, "restore", backup, "--into", os.path.join(folder, name, "data"), "--until", str(until_lsn))
    # One that has all that the sink has, and goes on from there.
    shop.server = AgainServer(programs.server, os.path.join(folder, "later"))
    shop.server.ready()
    sold(shop, 2001)
    shop.start_relay()
    shop.ends_with(1, "run holdfast-relay adopt")
    status, said = shop.run("adopt")
    check(status == 0 and f"sink kafka: goes on at LSN {lsn} of log" in said, "it goes on there", status, said)
    shop.start_relay()
    shop.whole()
    shop.stop()
    # One that has less: what the sink has more never happened there.
    shop.server = AgainServer(programs.server, os.path.join(folder, "earlier"))
    shop.server.ready()
    before = shop.read(shop.events)
    status, said = shop.run("adopt")
    check(status == 1 and "run holdfast-relay bootstrap" in said, "it says so", status, said)
    ctl(programs, shop, "snapshot")
    status, said = shop.run("bootstrap", "--set-aside")
    check(status == 0, "it begins anew", status, said)
    shop.start_relay()
    sold(shop, 3001)
    shop.caught_up()
    check(len(shop.read(shop.events)) == len(before) + 1000, "behind what is there")
    shop.stop()


def both_sinks_each_at_its_own_pace(programs, folder):
    with Postgres() as database:
        shop = Shop(programs, folder, start=False)
        migrated(programs.relay, database)
        shop.flags += ("--sink", f"postgres={database.url()}")
        shop.ask(*ITEMS)
        shop.start_relay()
        sold(shop)
        shop.caught_up()
        caught_up(shop.server, database, shop.relay)
        database.stop()
        sold(shop, 1001)
        shop.caught_up()
        check(shop.acknowledged("postgres") < shop.acknowledged(), "one flows without the other")
        database.start()
        caught_up(shop.server, database, shop.relay)
        shop.kafka.nodes[0].pause()
        sold(shop, 2001)
        caught_up(shop.server, database, shop.relay)
        check(shop.acknowledged("postgres") > shop.acknowledged(), "and the other without the one")
        shop.kafka.nodes[0].resume()
        shop.whole()
        check(audit(database) == [], "and both have all", audit(database))
        shop.stop()


def ctl(programs, shop, *words):
    holdfastctl(programs, *words, "--server", f"127.0.0.1:{shop.server.port}")


def holdfastctl(programs, *words):
    done = subprocess.run([programs.options.ctl, *words], capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, "holdfastctl", words, done.stdout, done.stderr)


def a_cluster_that_has_just_come_back(programs, folder):
    """It knows the topics, and for a moment no broker."""
    server = AgainServer(programs.server, folder)
    server.ready()
    topics = {"orders": {"cleanup.policy": "delete"}, "events": {"cleanup.policy": "delete"}, "cursors": {"cleanup.policy": "compact"}}
    with KafkaStub(topics, unknown_for=2) as kafka:
        relay = Relay(programs.relay, folder, server, f"kafka=127.0.0.1:{kafka.port}",
                      flags=("--allow-unreplicated", "--kafka-orders-topic", "orders", "--kafka-events-topic", "events", "--kafka-cursor-topic", "cursors"))
        # It is tried again; the broker that is there then is none that a sink could use.
        check(relay.wait() == 1 and "retrying: kafka: the cluster: Broker: Broker not available" in relay.output()
              and "the broker has no transaction.partition.verification.enable" in relay.output(), "it waits for a broker", relay.process.returncode, relay.output())
    server.stop()


CASES = [a_cursor_topic_that_was_emptied, a_cursor_topic_that_is_emptied_under_it, a_cursor_topic_that_was_compacted, another_logs_cursor,
         a_topic_that_was_deleted_and_made_again, a_topic_that_is_gone, a_topic_of_another_name, a_count_of_partitions_that_was_raised, a_record_that_is_too_large,
         a_log_that_was_restored, a_cluster_that_has_just_come_back, both_sinks_each_at_its_own_pace]

if __name__ == "__main__":
    parser = kafka_arguments(__doc__)
    parser.add_argument("--ctl", required=True, help="path of holdfastctl")
    run_kafka_cases(CASES, parser.parse_args())
