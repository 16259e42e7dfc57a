#!/usr/bin/python3
"""What holdfastctl does with a real Kafka. Run with Debian's own Python, which has its Kafka client.

usage: kafka_tools_test.py --server build/release/bin/holdfastd --ctl build/release/bin/holdfastctl
"""
import json
import os
import pathlib
import subprocess
import sys

from cases import arguments, run_cases

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "services"))
from holdfastd_test import check  # noqa: E402
from kafka import Kafka  # noqa: E402
from kafka_client import Client  # noqa: E402


class Programs:
    """The programs of a run, and one broker for all cases; each case has topics of its own."""

    def __init__(self, options):
        self.ctl_path, self.kafka, self.cases = os.path.abspath(options.ctl), Kafka(), 0
        self.client = Client(self.kafka.servers())

    def topics(self):
        """The names for a case, and the options that say them."""
        self.cases += 1
        names = [f"{name}.{self.cases}" for name in ("orders", "events", "cursors")]
        return names, [word for name, kind in zip(names, ("orders", "events", "cursor")) for word in (f"--kafka-{kind}-topic", name)]

    def ctl(self, *words, status=0):
        """What it says, with the exit status that it must have."""
        done = subprocess.run([self.ctl_path, *words], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "HOLDFAST_KAFKA": self.kafka.servers()})
        check(done.returncode == status, f"exit status of {words} is {status}", done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr


def states(said):
    return {topic["topic"]: topic["state"] for topic in json.loads(said)["topics"]}


def topics_are_made_once(programs, _):
    names, flags = programs.topics()
    orders, events, cursors = names
    create = ("topic", "create", "--json", *flags)
    one = (*create, "--replicas", "1")
    said = programs.ctl(*create, status=1)
    check(set(states(said).values()) == {"refused"} and "1 broker" in said, "what the brokers refuse is said", said)
    check(set(states(programs.ctl(*one, "--dry-run")).values()) == {"would be made"}, "a dry run tells")
    check(not set(names) & set(programs.client.topics()), "and makes nothing")
    check(set(states(programs.ctl(*one, "--partitions", "3", "--dead-letters")).values()) == {"made"}, "all are made")
    made = programs.client.topics()
    check([made[name] for name in (*names, f"{orders}.DLT", f"{events}.DLT")] == [3, 3, 1, 3, 3], "with their partitions", made)
    check(set(states(programs.ctl(*one)).values()) == {"right"}, "the second time they are right")
    programs.client.drop_topic(events)
    check(states(programs.ctl(*one)) == {orders: "right", events: "made", cursors: "right"}, "what is missing is made")
    check(programs.client.topics()[events] == 12, "as if nothing else were there")


def differences_are_named_and_left(programs, _):
    (orders, events, cursors), flags = programs.topics()
    programs.client.make_topic(orders, 2, cleanup_policy="compact", retention_ms=60000, unclean_leader_election_enable="true")
    programs.client.make_topic(cursors, 3)
    words = ("topic", "create", *flags, "--replicas", "1")
    said = programs.ctl(*words, "--retention-days", "1", "--partitions", "3", status=1)
    for line in ("partitions is 2, wanted is 3", "cleanup.policy is compact, wanted is delete", "unclean.leader.election.enable is true, wanted is false",
                 "retention.ms is 60000, wanted is at least 86400000", f"{events}: made (3 partitions, 1 replicas", "partitions is 3, wanted is 1",
                 "cleanup.policy is delete, wanted is compact",
                 f"--topic {orders} --add-config cleanup.policy=delete,unclean.leader.election.enable=false,retention.ms=86400000"):
        check(line in said, f"it says {line!r}", said)
    again = programs.ctl(*words, status=1)
    check("cleanup.policy is compact" in again and "retention.ms" not in again.split(events)[0], "nothing was changed, and what nobody asked for is right", again)


def nonsense_is_refused(programs, _):
    for words, text in ((("--kafka-events-topic", "x", "--kafka-cursor-topic", "x"), "need a topic each"), (("--replicas", "2", "--min-insync", "3"), "in sync"),
                        (("--partitions", "0"), "partitions"), (("--kafka-property", "isolation.level=read_committed"), "not free"),
                        (("--kafka-property", "no.such.thing=secret"), "no.such.thing"), (("--kafka-property", "secret"), "NAME=VALUE"),
                        (("--kafka-orders-topic", "not a name"), "Invalid topic")):
        said = programs.ctl("topic", "create", *words, status=2)
        check(text in said and "=secret" not in said, f"{words}", said)
    check("examples:" in programs.ctl("topic", "create", "--help"), "help")


def secrets_come_from_files(programs, folder):
    """Over TLS, to brokers that want a password."""
    file = os.path.join(folder, "password")
    pathlib.Path(file).write_text("right\n")
    with Kafka(users={"shop": "right"}) as kafka:
        secure = [word for name, value in (("security.protocol", "SASL_SSL"), ("ssl.ca.location", kafka.authority), ("sasl.mechanism", "PLAIN"),
                                           ("sasl.username", "shop")) for word in ("--kafka-property", f"{name}={value}")]
        create = ("topic", "create", "--kafka", kafka.secure_servers(), "--replicas", "1", *secure)
        check("made" in programs.ctl(*create, "--kafka-property", f"sasl.password=@{file}"), "it is used")
        check("give a file" in programs.ctl(*create, "--kafka-property", "sasl.password=right", status=2), "it is not taken from the command line")
        pathlib.Path(file).write_text("wrong\n")
        said = programs.ctl(*create, "--kafka-property", f"sasl.password=@{file}", status=2)
        check("Invalid username or password" in said and "wrong" not in said, "a wrong one is said to be wrong, and not said", said)


CASES = (topics_are_made_once, differences_are_named_and_left, nonsense_is_refused, secrets_come_from_files)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--ctl", required=True, help="path of holdfastctl")
    options = parser.parse_args()
    programs = Programs(options)
    try:
        run_cases(CASES, options, program=programs)
    finally:
        programs.kafka.remove()


if __name__ == "__main__":
    main()
