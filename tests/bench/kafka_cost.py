#!/usr/bin/python3
"""What the kafka sink costs and how fast it is, on a real Kafka of one node, which shares the machine:

1. a backlog of reservations, two records each, carried into the topics: records/s, the relay's processor time and memory
2. the server's processor time for a sale that refuses 98% of its requests, with the relay and without, in turn

usage: kafka_cost.py [--build build/release] [--rounds 5] [--orders 500000] [--requests 1000000] [--only speed]
       kafka_cost.py --only speed --rounds 1 --orders 10000000       memory with the backlog of an hour without a broker
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import types

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "crash"), str(TESTS / "system"), str(TESTS / "services"), str(TESTS / "bench")]
from kafka_shop import Kafka, Shop, as_map, check  # noqa: E402
from relay_cost import cpu_seconds, resident_most  # noqa: E402


def shop_of(options, kafka, folder, number, stock):
    programs = types.SimpleNamespace(server=str(options.build / "bin" / "holdfastd"), relay=str(options.build / "bin" / "holdfast-relay"), cases=number)
    shop = Shop(programs, folder, kafka=kafka, start=False)
    shop.ask(("ITEM", "CREATE", "hot", "STOCK", stock, "TTL", 3_600_000))
    return shop


def load(options, shop, requests):
    subprocess.run([options.build / "bin" / "holdfast-bench", "raw", "--server", f"127.0.0.1:{shop.server.port}", "-P", "16", "-c", "50", "-n", str(requests), "--json",
                    "RESERVE", "hot", "__rand_int__"], check=True, capture_output=True)


def backlog(options, kafka, folder, number):
    """Records a second, processor seconds a million records, MiB."""
    shop = shop_of(options, kafka, folder, number, 10 * options.orders)
    load(options, shop, options.orders)
    records = 2 * as_map(shop.ask(("ITEM", "GET", "hot"))[0])["reserved"] + 3
    began, relay = time.monotonic(), shop.start_relay()
    shop.caught_up(seconds=1200)
    seconds, cost, memory = time.monotonic() - began, cpu_seconds(relay.process.pid), resident_most(relay.process.pid)
    ends = sum(sum(shop.client.ends(topic, "read_committed")) for topic in (shop.orders, shop.events))
    check(ends >= records, "they are there", ends, records)
    shop.stop()
    for topic in (shop.orders, shop.events, shop.cursors):
        shop.client.drop_topic(topic)
    return records / seconds, cost * 1e6 / records, memory


def sale(options, kafka, folder, number, with_relay):
    """Processor seconds of the server for a million requests, 98% of them refused."""
    shop = shop_of(options, kafka, folder, number, options.requests // 50)
    if with_relay:
        shop.start_relay()
        shop.caught_up()
    before = cpu_seconds(shop.server.process.pid)
    load(options, shop, options.requests)
    if with_relay:
        shop.caught_up()
    cost = (cpu_seconds(shop.server.process.pid) - before) * 1e6 / options.requests
    if with_relay:
        shop.relay.stop()
    shop.server.stop()
    return cost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--orders", type=int, default=500_000)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--only", choices=("speed", "cpu"))
    options = parser.parse_args()
    options.build = options.build.resolve()
    found, costs = [], {False: [], True: []}
    with Kafka() as kafka:
        for number in range(options.rounds):
            if options.only != "cpu":
                with tempfile.TemporaryDirectory(prefix="holdfast-kafka-cost-") as folder:
                    found.append(backlog(options, kafka, folder, 3 * number))
            if options.only != "speed":
                for with_relay in (False, True):
                    with tempfile.TemporaryDirectory(prefix="holdfast-kafka-cost-") as folder:
                        costs[with_relay].append(sale(options, kafka, folder, 3 * number + 1 + with_relay, with_relay))
    if found:
        rates, processor, memory = zip(*found)
        print(f"relay: {statistics.median(rates):.0f} records/s, {statistics.median(processor):.2f} CPU seconds a million records, at most {max(memory):.0f} MiB "
              f"(rounds: {' '.join(f'{rate:.0f}' for rate in rates)})")
    if costs[True]:
        without, along = (statistics.median(costs[each]) for each in (False, True))
        print(f"server: {without:.3f} CPU seconds a million requests without the relay, {along:.3f} with it; ratio {along / without:.3f} "
              f"(rounds: {' '.join(f'{a:.2f}/{b:.2f}' for a, b in zip(costs[False], costs[True]))})")


if __name__ == "__main__":
    main()
