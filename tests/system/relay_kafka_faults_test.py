#!/usr/bin/python3
"""holdfast-relay when its Kafka fails under it: each event once and in order, and it goes on by itself.

usage: relay_kafka_faults_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay --only leaders
       relay_kafka_faults_test.py ... --only away --away 60
"""
import threading
import time

from kafka_shop import END_TRANSACTION, GUARDED, PRODUCE, SHORT, Kafka, KafkaProxy, Shop, check, kafka_arguments, rights, run_kafka_cases, with_secret
from relay_bench import until
from relay_test import Busy

PACE = 0.05  # seconds between a client's requests: a backlog is not what these cases are about
# Longer than all time limits, when a transaction's is SHORT: that of the brokers for looking at transactions is 10 s.
STILL_SECONDS = 20
# A relay has 5 s to end by itself, and is cut off; a question about topics waits for its answer for 10 s.
END_SECONDS = 5 + 10 + 2
ITEMS = [("ITEM", "CREATE", f"item:{number}", "STOCK", 10_000_000) for number in range(3)]


def never_ended(shop):
    shop.whole()
    check(shop.relay.process.poll() is None, "it never ended", shop.relay.output()[-1500:])
    shop.stop()


def cut_around_commits_and_acknowledgements(programs, folder):
    with KafkaProxy() as proxy, Kafka(through=[proxy.port]) as kafka:
        proxy.target = kafka.nodes[0].proxied_port
        shop = Shop(programs, folder, kafka=kafka, servers=kafka.servers(through=True))
        shop.ask(*ITEMS)
        with Busy(shop.server, item="item:1", pause=PACE):
            shop.goes_on()
            for number in range(programs.options.cuts):
                for request in (PRODUCE, END_TRANSACTION):
                    for mode in ("before", "during", "after"):
                        made = proxy.cuts
                        proxy.cut(mode, request)
                        until(lambda: proxy.cuts > made, "one is cut", mode, request, number, lambda: shop.relay.output()[-500:])
                        if number % 2:
                            shop.goes_on()
            shop.goes_on()
        print(f"  {proxy.cuts} cuts", flush=True)
        never_ended(shop)


def a_broker_that_is_away(programs, folder):
    with Kafka() as kafka:
        shop = Shop(programs, folder, *SHORT, kafka=kafka)
        shop.ask(*ITEMS)
        with Busy(shop.server, item="item:1", pause=PACE):
            shop.goes_on()
            kafka.stop()
            shop.says("retrying: kafka: ")
            threading.Event().wait(programs.options.away)
            kafka.start()
            shop.goes_on()
            check(shop.figure("given_up_total") >= 1, "it counts what it had to give up", shop.figure("given_up_total"), lambda: shop.relay.output()[-500:])
            kafka.nodes[0].kill()
            kafka.start()
            shop.goes_on()
        never_ended(shop)


def a_broker_that_stands_still(programs, folder):
    with Kafka() as kafka:
        shop = Shop(programs, folder, *SHORT, kafka=kafka)
        shop.ask(*ITEMS)
        with Busy(shop.server, item="item:1", pause=PACE):
            shop.goes_on()
            kafka.nodes[0].pause()
            shop.says("retrying: kafka: ")
            threading.Event().wait(STILL_SECONDS)
            kafka.nodes[0].resume()
            shop.goes_on()
        never_ended(shop)


class PausingProxy(KafkaProxy):
    """Its broker stands still from the moment on when the next request of a kind is there."""

    def take_mode(self, data):
        found = super().take_mode(data)
        if found:
            self.node.pause()
        return found


def told_to_end_while_brokers_are_away(programs, folder):
    with PausingProxy() as proxy, Kafka(through=[proxy.port]) as kafka:
        proxy.target, proxy.node = kafka.nodes[0].proxied_port, kafka.nodes[0]
        shop = Shop(programs, folder, *SHORT, kafka=kafka, servers=kafka.servers(through=True))
        shop.ask(*ITEMS)

        def stands_still(request):
            before = proxy.cuts
            proxy.cut("pass", request)
            until(lambda: proxy.cuts > before, "a request is there", request)

        def is_ended(what):
            begun = time.monotonic()
            shop.relay.stop()
            took = time.monotonic() - begun
            print(f"  {what}: ended in {took:.1f} s", flush=True)
            check(took < END_SECONDS, "it ends soon", what, took, shop.relay.output()[-500:])

        with Busy(shop.server, item="item:1", pause=PACE):
            for request in (PRODUCE, END_TRANSACTION):
                shop.goes_on()
                stands_still(request)
                is_ended(f"request {request} is not answered")
                connections = len(proxy.pairs)
                shop.start_relay()
                until(lambda: len(proxy.pairs) > connections, "the next one asks")
                is_ended("no request is answered")
                kafka.nodes[0].resume()
                shop.start_relay()
            shop.goes_on()
            kafka.stop()
            shop.says("retrying: kafka: ")
            is_ended("no broker is there")
            shop.start_relay()
            shop.says("retrying: kafka: ")
            is_ended("no broker was there")
            kafka.start()
            shop.start_relay()
            shop.goes_on()
        never_ended(shop)


def leaders_that_move(programs, folder):
    with Kafka(nodes=3) as kafka:
        shop = Shop(programs, folder, kafka=kafka, replication=3)
        shop.ask(*ITEMS)
        with Busy(shop.server, item="item:1", pause=PACE), Busy(shop.server, item="item:2", pause=PACE):
            shop.goes_on()
            for topic, end in ((shop.events, "kill"), (shop.cursors, "stop"), ("__transaction_state", "kill")):
                leader = kafka.nodes[shop.client.leader(topic) - 1]
                getattr(leader, end)()
                shop.goes_on()
                leader.start()
                shop.goes_on()
        never_ended(shop)
        kafka.stop()


def a_secret_that_is_not_valid_any_more(programs, folder):
    with Kafka(users={"relay": "right"}) as kafka:
        shop = Shop(programs, folder, *with_secret(kafka, folder), kafka=kafka, servers=kafka.secure_servers())
        shop.ask(*ITEMS)
        with Busy(shop.server, item="item:1", pause=PACE):
            shop.goes_on()
            kafka.set_users({"relay": "other"})
            shop.says("Authentication failed")
            kafka.set_users({"relay": "right"})
            shop.goes_on()
        check("right" not in shop.relay.output(), "no secret is told", shop.relay.output())
        never_ended(shop)


def rights_that_are_taken_away(programs, folder):
    with Kafka(users={"relay": "right"}, settings=GUARDED) as kafka:
        shop = Shop(programs, folder, *with_secret(kafka, folder), kafka=kafka, servers=kafka.secure_servers(), start=False)
        shop.ask(*ITEMS)
        topics = [f"TOPIC:{topic}:{operation}" for topic in (shop.orders, shop.events, shop.cursors) for operation in ("READ", "WRITE", "DESCRIBE", "DESCRIBE_CONFIGS")]
        transactions = [f"TRANSACTIONAL_ID:holdfast/{shop.cursors}/kafka:{operation}" for operation in ("WRITE", "DESCRIBE")]
        for missing, words in (("of the topics", topics), ("of the cluster", ["CLUSTER:kafka-cluster:DESCRIBE_CONFIGS"]), ("of the transactional id", transactions)):
            shop.start_relay()
            shop.ends_with(1, missing)
            check("give its user" in shop.relay.output(), "what to do", shop.relay.output())
            rights(kafka, "give", *words)
        shop.start_relay()
        with Busy(shop.server, item="item:1", pause=PACE):
            shop.goes_on()
            rights(kafka, "take", f"TOPIC:{shop.events}:WRITE")
            shop.ends_with(1, "give its user Read, Write, Describe and DescribeConfigs of the topics")
            rights(kafka, "give", f"TOPIC:{shop.events}:WRITE")
            shop.start_relay()
            shop.goes_on()
        never_ended(shop)


CASES = [cut_around_commits_and_acknowledgements, a_broker_that_is_away, a_broker_that_stands_still, told_to_end_while_brokers_are_away, leaders_that_move, a_secret_that_is_not_valid_any_more,
         rights_that_are_taken_away]

if __name__ == "__main__":
    parser = kafka_arguments(__doc__)
    parser.add_argument("--cuts", type=int, default=4, help="of each kind")
    parser.add_argument("--away", type=int, default=5, help="seconds without a broker, once it is noticed")
    run_kafka_cases(CASES, parser.parse_args())
