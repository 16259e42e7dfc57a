"""What tests do with a Kafka as any other client does: topics made, deleted and widened, records written and read. It needs
Debian's package python3-confluent-kafka, and so Debian's own /usr/bin/python3.
"""
import collections
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

WAIT_SECONDS = 60
Record = collections.namedtuple("Record", "topic partition offset key value headers")


def settle(futures):
    for future in futures.values():
        future.result(WAIT_SECONDS)


class Client:
    """By plain connections to `servers`; `settings` are librdkafka's."""

    def __init__(self, servers, **settings):
        self.settings = {"bootstrap.servers": servers, "log_level": 2, **{name.replace("_", "."): value for name, value in settings.items()}}
        self.admin = AdminClient(self.settings)

    def topics(self):
        """Name -> number of partitions."""
        return {name: len(topic.partitions) for name, topic in self.admin.list_topics(timeout=WAIT_SECONDS).topics.items()}

    def leader(self, topic, partition=0):
        return self.admin.list_topics(topic, timeout=WAIT_SECONDS).topics[topic].partitions[partition].leader

    def make_topic(self, name, partitions=1, replication=1, **config):
        """A setting's dots are underscores here: cleanup_policy="compact"."""
        words = {word.replace("_", "."): str(value) for word, value in config.items()}
        settle(self.admin.create_topics([NewTopic(name, partitions, replication, config=words)]))
        self.wait(lambda: self.topics().get(name) == partitions)

    def drop_topic(self, name):
        """Returns when it is gone; until then it could not be made again."""
        settle(self.admin.delete_topics([name]))
        self.wait(lambda: name not in self.topics())

    def widen_topic(self, name, partitions):
        settle(self.admin.create_partitions([NewPartitions(name, partitions)]))
        self.wait(lambda: self.topics().get(name) == partitions)

    def write(self, topic, values, key=None, **settings):
        """Records of one key, acknowledged by all replicas in sync."""
        self.put(topic, [(value, key, None, None) for value in values], **settings)

    def put(self, topic, records, **settings):
        """Value, key, headers and partition (None: the key chooses it) of each."""
        refused = []
        producer = Producer({**self.settings, "acks": "all", "partitioner": "murmur2_random",
                             **{name.replace("_", "."): value for name, value in settings.items()}})
        for value, key, headers, partition in records:
            more = {} if partition is None else {"partition": partition}
            producer.produce(topic, value, key, headers=headers, on_delivery=lambda error, _: refused.append(error) if error else None, **more)
            producer.poll(0)
        left = producer.flush(WAIT_SECONDS)
        if left or refused:
            raise RuntimeError(f"{left} records were not answered, {len(refused)} refused: {refused[:3]}")

    def read(self, topic, isolation="read_committed", partitions=None):
        """All records up to each partition's end as it is found, partition by partition in the log's order."""
        consumer = Consumer({**self.settings, "group.id": "assigned", "enable.auto.commit": False, "enable.partition.eof": True, "isolation.level": isolation})
        try:
            wanted = range(self.topics()[topic]) if partitions is None else partitions
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in wanted])
            return self.read_to_ends(consumer, len(wanted))
        finally:
            consumer.close()

    @staticmethod
    def read_to_ends(consumer, partitions):
        found, ended, deadline = [], set(), time.monotonic() + WAIT_SECONDS
        while len(ended) < partitions:
            messages = consumer.consume(1000, 0.5)
            for message in messages:
                if message.error() is None:
                    found.append(Record(message.topic(), message.partition(), message.offset(), message.key(), message.value(), message.headers() or []))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
            if time.monotonic() > deadline:
                raise RuntimeError(f"{partitions - len(ended)} partitions have no end within {WAIT_SECONDS} s; {len(found)} records so far")
        return sorted(found, key=lambda record: (record.partition, record.offset))

    @staticmethod
    def wait(condition):
        """Asks the broker until it holds; its answers take their time themselves."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise RuntimeError(f"not within {WAIT_SECONDS} s")
