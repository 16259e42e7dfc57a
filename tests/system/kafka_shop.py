"""A server, the topics of a real Kafka, and the relay between them, as tests of the kafka sink need them. Debian's own Python
runs these: it has the Kafka client."""
import json
import os
import pathlib
import subprocess

from cases import arguments, run_cases
from relay_bench import AgainServer, Connection, Relay, as_map, check, durable_lsn, free_port, id_of, until
from kafka import Kafka
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import ConfigResource
from cutting_proxy import CuttingProxy
from scrape import scrape
from kafka_client import WAIT_SECONDS, Client, settle

PARTITIONS = 3
# What a relay leaves open is undone soon.
SHORT = ("--kafka-property", "transaction.timeout.ms=3000")
# A broker whose users may do nothing but what they got a right for; who comes without a secret may do all.
GUARDED = ("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users=User:ANONYMOUS")
# Kafka's numbers of requests.
PRODUCE, END_TRANSACTION = 0, 26


class KafkaProxy(CuttingProxy):
    """Cuts around requests of one kind: what its base does around COMMIT."""

    def __init__(self):
        super().__init__(0)
        self.request = PRODUCE

    def cut(self, mode, request=PRODUCE):
        self.request = request
        super().cut(mode)

    def take_mode(self, data):
        # Length, kind ...; a request that came with the one before it is not seen.
        if len(data) < 6 or int.from_bytes(data[4:6], "big") != self.request:
            return None
        with self.lock:
            mode, self.mode = self.mode, None
        return mode


class ShopClient(Client):
    def ends(self, topic, isolation):
        """Each partition's: of what transactions wrote that took place, or of all."""
        return [end for _, end in self.bounds(topic, isolation)]

    def begins(self, topic):
        """Offsets of the first records."""
        return [begin for begin, _ in self.bounds(topic, "read_uncommitted")]

    def bounds(self, topic, isolation):
        consumer = Consumer({**self.settings, "group.id": "none", "isolation.level": isolation})
        try:
            return [consumer.get_watermark_offsets(TopicPartition(topic, number), WAIT_SECONDS) for number in range(self.topics()[topic])]
        finally:
            consumer.close()

    def set_config(self, topic, **config):
        """The topic has these settings and no others of its own. A setting's dots are underscores here."""
        words = {word.replace("_", "."): str(value) for word, value in config.items()}
        settle(self.admin.alter_configs([ConfigResource("topic", topic, set_config=words)]))


class Programs:
    """The programs of a run, and one broker for all cases that do not harm it; each case has topics of its own."""

    def __init__(self, options):
        self.server, self.relay, self.options = os.path.abspath(options.server), os.path.abspath(options.relay), options
        self.kafka, self.cases = None, 0

    def broker(self):
        self.kafka = self.kafka or Kafka(settings=["log.cleaner.backoff.ms=500", "log.retention.check.interval.ms=500"])
        return self.kafka

    def end(self):
        if self.kafka:
            self.kafka.remove()


class Shop:
    """A server, topics and a relay. `kafka`: one of the case's own. `servers`: how the relay reaches it, if not directly."""

    def __init__(self, programs, folder, *relay_flags, kafka=None, servers=None, replication=1, server_flags=(), orders=None, events=None, cursors=None,
                 start=True):
        programs.cases += 1
        self.programs, self.folder, self.kafka = programs, folder, kafka or programs.broker()
        self.servers = servers or self.kafka.servers()
        self.client, self.sink = ShopClient(self.kafka.servers()), "kafka"
        self.orders, self.events, self.cursors = (f"{name}.{programs.cases}" for name in ("orders", "events", "cursors"))
        in_sync = {"min_insync_replicas": 2} if replication > 1 else {}
        self.configs = {self.orders: orders or {}, self.events: events or {}, self.cursors: {"cleanup_policy": "compact", **(cursors or {})}}
        for topic, config in self.configs.items():
            self.client.make_topic(topic, 1 if topic == self.cursors else PARTITIONS, replication, **in_sync, **config)
        self.flags = (*(() if replication > 1 else ("--allow-unreplicated",)), *relay_flags)
        self.server = AgainServer(programs.server, folder, *server_flags)
        self.server.ready()
        self.relay = None
        if start:
            self.start_relay()

    def topic_flags(self):
        return ("--kafka-orders-topic", self.orders, "--kafka-events-topic", self.events, "--kafka-cursor-topic", self.cursors)

    def start_relay(self, *flags, server=None):
        """`server`: another one to carry the log of."""
        self.metrics = free_port()
        self.relay = Relay(self.programs.relay, self.folder, server or self.server, f"{self.sink}={self.servers}",
                           flags=("--metrics-port", str(self.metrics), *self.topic_flags(), *self.flags, *flags))
        return self.relay

    def run(self, word, *flags, server=None):
        """bootstrap or adopt: the exit status, and what it says."""
        words = [self.programs.relay, word, "--from", f"127.0.0.1:{(server or self.server).port}", "--sink", f"{self.sink}={self.servers}",
                 *self.topic_flags(), *self.flags, *flags]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    def make_again(self, topic):
        """Deleted, and made as it was."""
        self.client.drop_topic(topic)
        self.client.make_topic(topic, 1 if topic == self.cursors else PARTITIONS, **self.configs[topic])

    def ask(self, *requests):
        """The replies, none of which may be an error."""
        with Connection(self.server.address) as connection:
            replies = connection.ask_all(requests)
        wrong = [(request, reply) for request, reply in zip(requests, replies) if not isinstance(reply, (int, bytes, str, list))]
        check(not wrong, "the server takes it", wrong[:3])
        return replies

    def acknowledged(self, sink="kafka"):
        """How far the sink is, as the server knows it."""
        sinks = [as_map(each) for each in as_map(self.ask(("LOG", "SINKS"))[0])["sinks"]]
        return next((int(each["lsn"]) for each in sinks if each["name"].decode() == sink), 0)

    def runs(self):
        """The relay has not ended by itself, if it was started at all."""
        ended = self.relay is not None and self.relay.process.poll() is not None
        check(not ended, "the relay runs", ended and (self.relay.process.returncode, self.relay.output()[-1500:]))
        return True

    def caught_up(self, seconds=120):
        lsn = durable_lsn(self.server)
        until(lambda: self.runs() and self.acknowledged() >= lsn, "the sink catches up", lsn, self.acknowledged, lambda: self.relay.output()[-1500:], seconds=seconds)

    def goes_on(self, seconds=120):
        """Waits until it writes something more."""
        before = self.acknowledged()
        until(lambda: self.runs() and self.acknowledged() > before, "it goes on", lambda: self.relay.output()[-1500:], seconds=seconds)

    def says(self, text, seconds=60):
        until(lambda: text in self.relay.output(), f"it says {text!r}", lambda: self.relay.output()[-1500:], seconds=seconds)

    def ends_with(self, status, text):
        until(lambda: self.relay.process.poll() is not None, f"it ends, {text!r}", lambda: self.relay.output()[-1500:])
        found = self.relay.wait()
        check(found == status and text in self.relay.output(), f"exit status {status}, {text!r}", found, self.relay.output()[-1500:])

    def open_transaction(self):
        """Whether one has written events and has not ended."""
        return self.client.ends(self.events, "read_uncommitted") != self.client.ends(self.events, "read_committed")

    def figure(self, name):
        """Of what the relay tells Prometheus of this sink."""
        return scrape(self.metrics).value(f"holdfast_relay_kafka_{name}", sink="kafka")

    def read(self, topic, **options):
        return [json.loads(record.value) for record in self.client.read(topic, **options)]

    def audit(self):
        """That events are dense and in order in each partition, and each RESERVE is one order, in their order, too; all events by
        item and version."""
        streams, orders = self.streams(self.events), self.streams(self.orders)
        for key, events in streams.items():
            sequences = [event["sequence"] for event in events]
            check(sequences == list(range(1, len(events) + 1)), f"{key}: each once, in order", first_wrong(sequences))
            reserved = [event["sequence"] for event in events if event["event"] == "RESERVE"]
            ordered = [order["sequence"] for order in orders.pop(key, [])]
            check(ordered == reserved, f"{key}: each reservation is one order, in order", len(ordered), len(reserved))
        check(not orders, "no order of anything else", list(orders))
        return streams

    def streams(self, topic):
        """The values by item and version, as they are read."""
        found = {}
        for value in self.read(topic):
            found.setdefault((value["item"], value["version"]), []).append(value)
        return found

    def whole(self):
        """What most cases end with."""
        self.caught_up()
        streams = self.audit()
        with Connection(self.server.address) as connection:
            for item, version in streams:
                reply = connection.ask("ITEM", "GET", item)
                found = as_map(reply) if isinstance(reply, list) else {"version": None}  # dropped
                if found["version"] == version:
                    check(found["sequence"] == len(streams[item, version]), f"{item}: all of it is there", found["sequence"], len(streams[item, version]))
        return streams

    def stop(self):
        self.relay.stop()
        self.server.stop()


def first_wrong(sequences):
    for place, sequence in enumerate(sequences, 1):
        if sequence != place:
            return place, sequences[max(0, place - 3):place + 5]
    return None


def with_secret(kafka, folder):
    """What makes a program be the user `relay`, whose secret is `right`."""
    pathlib.Path(folder, "secret").write_text("right\n")
    words = [("security.protocol", "SASL_SSL"), ("ssl.ca.location", kafka.authority), ("sasl.mechanism", "PLAIN"), ("sasl.username", "relay"),
             ("sasl.password", f"@{folder}/secret")]
    return [word for name, value in words for word in ("--kafka-property", f"{name}={value}")]


def rights(kafka, what, *words):
    """Gives that user some, or takes them: KIND:NAME:OPERATION."""
    kafka.tool(str(pathlib.Path(__file__).resolve().parent / "java" / "Rights.java"), kafka.servers(), what, "relay", *words)


def reserve(item, numbers, *more):
    return [("RESERVE", item, number, "ID", id_of(number), *more) for number in numbers]


def kafka_arguments(doc):
    parser = arguments(doc)
    parser.add_argument("--relay", required=True, help="path of holdfast-relay")
    parser.add_argument("--kills", type=int, default=10, help="of the relay, in the case of that name")
    return parser


def run_kafka_cases(cases, options):
    programs = Programs(options)
    try:
        run_cases(cases, options, program=programs)
    finally:
        programs.end()
