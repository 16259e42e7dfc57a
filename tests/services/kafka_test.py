#!/usr/bin/python3
"""The Kafka that other tests start does what they rely on. Run with Debian's own Python, which has its Kafka client.

usage: kafka_test.py [--only NAME]
"""
import argparse
import time

from cutting_proxy import CuttingProxy
from kafka import Kafka, answers
from kafka_client import Client


def check(holds, text, *more):
    if not holds:
        raise AssertionError(f"{text}: {more}")


def values(records):
    return [record.value.decode() for record in records]


def keeps_what_was_written():
    """Over a kill and a stop, on the same ports; paused it does not answer."""
    with Kafka() as kafka:
        client, node = Client(kafka.servers()), kafka.nodes[0]
        client.make_topic("kept", 3)
        client.write("kept", ["1", "2"], key="item:1")
        node.kill()
        check(not answers(node.port), "a killed node answers")
        node.start()
        client.write("kept", ["3"], key="item:1")
        node.stop()
        node.start()
        node.pause()
        check(not answers(node.port), "a paused node answers")
        node.resume()
        records = client.read("kept")
        check(values(records) == ["1", "2", "3"] and len({record.partition for record in records}) == 1, "what was acknowledged is there", records)
        client.drop_topic("kept")
        client.make_topic("kept", 1)
        client.widen_topic("kept", 2)
        check(client.read("kept") == [], "a new topic of an old name is empty")
        check(node.resident_bytes() < 600 * 1024 * 1024, "it is small", node.resident_bytes())


def has_other_ways_in():
    with CuttingProxy(0) as proxy, Kafka(through=[proxy.port], users={"relay": "right"}) as kafka:
        proxy.target = kafka.nodes[0].proxied_port
        Client(kafka.servers(through=True)).make_topic("through")
        told = Client(kafka.servers(through=True)).admin.list_topics(timeout=30).brokers[1]
        check(told.port == proxy.port, "clients are told the proxy's port", told)
        def secure(secret):
            return Client(kafka.secure_servers(), security_protocol="SASL_SSL", ssl_ca_location=kafka.authority, sasl_mechanism="PLAIN",
                          sasl_username="relay", sasl_password=secret)
        secure("right").write("through", ["1"])
        kafka.set_users({"relay": "other"})
        try:
            secure("right").admin.list_topics(timeout=3)
            check(False, "a secret that is not valid any more")
        except Exception as error:  # noqa: BLE001: whatever the library says
            check("transport" in str(error).lower(), "is refused", error)
        check(values(secure("other").read("through")) == ["1"], "and the new one is not")


def moves_a_leader():
    with Kafka(nodes=3) as kafka:
        client = Client(kafka.servers())
        client.make_topic("moved", replication=3, min_insync_replicas=2)
        client.write("moved", ["1"])
        first = client.leader("moved")
        began = time.monotonic()
        kafka.nodes[first - 1].kill()
        client.write("moved", ["2"])
        client.wait(lambda: client.leader("moved") not in (first, -1))
        print(f"  the leader moved within {time.monotonic() - began:.1f} s", flush=True)
        kafka.start()
        client.write("moved", ["3"])
        check(values(client.read("moved")) == ["1", "2", "3"], "nothing is lost")
        kafka.stop()
        kafka.start()
        check(values(client.read("moved")) == ["1", "2", "3"], "also when all stop")


CASES = (keeps_what_was_written, has_other_ways_in, moves_a_leader)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name has this word")
    only = parser.parse_args().only
    for case in (case for case in CASES if only in case.__name__):
        began = time.monotonic()
        case()
        print(f"{case.__name__}: {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
