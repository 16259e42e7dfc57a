#!/usr/bin/python3
"""Dead letters, from a consumer that refuses orders to `holdfastctl dlt`: a real server, relay and Kafka.

usage: kafka_dlt_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay --ctl build/release/bin/holdfastctl
"""
import collections
import json
import os
import random
import struct
import subprocess
import time

from kafka_shop import GUARDED, Connection, Kafka, Shop, as_map, check, id_of, kafka_arguments, reserve, rights, run_kafka_cases, until, with_secret


class DeadShop(Shop):
    """A shop with a consumer of its orders that refuses some, and holdfastctl."""

    def __init__(self, programs, folder, *flags, **more):
        super().__init__(programs, folder, *flags, **more)
        self.access = ["--kafka", self.servers]
        self.dead = f"{self.orders}.DLT"
        self.client.make_topic(self.dead, self.client.topics()[self.orders])
        self.ctl_path = os.path.abspath(programs.options.ctl)

    def words(self, *words, server=None):
        return [self.ctl_path, "dlt", *words, *self.access, "--topic", self.orders, "--kafka-cursor-topic", self.cursors,
                "--server", f"127.0.0.1:{(server or self.server).port}"]

    def dlt(self, *words, status=0, server=None):
        """What it says, with the exit status that it must have."""
        done = subprocess.run(self.words(*words, server=server), capture_output=True, text=True, timeout=120)
        check(done.returncode == status, f"exit status of {words} is {status}", done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def listed(self, *words):
        return [json.loads(line) for line in self.dlt("list", "--json", *words).splitlines()]

    def refuse(self, numbers):
        """As Spring's DeadLetterPublishingRecoverer does: the same partition, its own headers behind those that are there."""
        letters = []
        for record in self.client.read(self.orders):
            if record.key != b"item:1" or json.loads(record.value)["userId"] not in numbers:
                continue
            why = [("kafka_dlt-original-topic", self.orders.encode()), ("kafka_dlt-original-partition", struct.pack(">i", record.partition)),
                   ("kafka_dlt-original-offset", struct.pack(">q", record.offset)), ("kafka_dlt-exception-fqcn", b"shop.NoSuchUser"),
                   ("kafka_dlt-exception-message", b"nobody of that name")]
            letters.append((record.value, record.key, [*record.headers, *why], record.partition))
        self.client.put(self.dead, letters)

    def letters(self):
        """User -> place."""
        return {int(each["user"]): each["letter"] for each in self.listed()}

    def count(self):
        """User -> how many records of orders there are."""
        return collections.Counter(json.loads(record.value)["userId"] for record in self.client.read(self.orders) if record.key == b"item:1")

    def item(self, name="item:1"):
        found = as_map(self.ask(("ITEM", "GET", name))[0])
        return [found[counter] for counter in ("total", "available", "reserved", "confirmed")]


def sold(programs, folder, users, refused, *flags, **more):
    shop = DeadShop(programs, folder, *flags, **more)
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", users), *reserve("item:1", range(1, users + 1)))
    shop.whole()
    shop.refuse(refused)
    return shop


def letters_are_sent_again_once(programs, folder):
    shop = sold(programs, folder, 10, {3, 7, 8}, "--kafka-header", "__TypeId__=shop.OrderPlaced")
    letters = shop.letters()
    check(set(letters) == {3, 7, 8}, "those that were refused", letters)
    said = shop.dlt("list")
    check(said.count("shop.NoSuchUser: nobody of that name") == 3 and f"order {id_of(3)} user 3 x1" in said, "with the reason", said)
    shown = shop.dlt("show", letters[3])
    for line in ("state: waiting", "reason: shop.NoSuchUser: nobody of that name", "key: item:1", "header __TypeId__: shop.OrderPlaced", '"userId":3', "was: "):
        check(line in shown, f"show has {line!r}", shown)
    check(f"{shop.dead} {letters[3]} replayed to {shop.orders}" in shop.dlt("replay", letters[3]), "sent again")
    check(shop.count() == collections.Counter([*range(1, 11), 3]), "once", shop.count())
    first, again = (record for record in shop.client.read(shop.orders) if json.loads(record.value)["userId"] == 3)
    check((first.key, first.value, first.partition) == (again.key, again.value, again.partition), "as it was", first, again)
    check([*first.headers, ("holdfast_replay", f"{shop.dead}/{letters[3]}".encode())] == again.headers, "with its headers", again.headers)
    for _ in range(2):
        check("is not sent again" in shop.dlt("replay", letters[3], status=1), "a second time is refused")
    check("was replayed" in shop.dlt("cancel", letters[3], status=1), "and so is an end")
    check(set(shop.letters()) == {7, 8} and {each["state"] for each in shop.listed("--all")} == {"waiting", "replayed"}, "the list", shop.listed("--all"))
    check("2 replayed" in shop.dlt("replay", "--all") and "0 replayed" in shop.dlt("replay", "--all"), "all others")
    check(shop.count() == collections.Counter([*range(1, 11), 3, 7, 8]) and "nothing waits" in shop.dlt("list"), "once each", shop.count())
    # The relay goes on beside it, and what a consumer refuses again is another letter.
    shop.ask(("ITEM", "ADJUST", "item:1", 5, "ID", id_of(100), "REASON", "more"), *reserve("item:1", [11]))
    shop.refuse({7})
    shop.caught_up()
    check(len(shop.listed()) == 2 and {each["user"] for each in shop.listed()} == {"7"}, "refused again, each of them", shop.listed())
    shop.stop()


def orders_are_ended_by_id(programs, folder):
    shop = sold(programs, folder, 10, set(range(1, 8)))
    letters = shop.letters()
    shop.ask(("CONFIRM", "item:1", 2, "ID", id_of(2)), ("CONFIRM", "item:1", 4, "ID", id_of(4)), ("RELEASE", "item:1", 5, "ID", id_of(5)))
    # The user's newer reservation is none of the letter's.
    shop.ask(("RELEASE", "item:1", 1, "ID", id_of(1)), ("RESERVE", "item:1", 1, "ID", id_of(101)))
    check("had ended: RELEASED" in shop.dlt("cancel", letters[1]) and shop.item() == [10, 1, 7, 2], "only by id", shop.item())
    check("cancelled: refunded" in shop.dlt("cancel", letters[2]) and shop.item() == [10, 2, 7, 1], "a confirmed one", shop.item())
    check("cancelled: released" in shop.dlt("cancel", letters[3]) and shop.item() == [10, 3, 6, 1], "a reserved one", shop.item())
    shop.dlt("cancel", letters[4], "--unit", "write-off")
    check(shop.item() == [9, 3, 6, 0], "written off", shop.item())
    check("had ended: RELEASED" in shop.dlt("cancel", letters[5]) and shop.item() == [9, 3, 6, 0], "one that had ended", shop.item())
    check("is cancelled already" in shop.dlt("cancel", letters[3]) and shop.item() == [9, 3, 6, 0], "twice", shop.item())
    check("was cancelled" in shop.dlt("replay", letters[3], status=1), "what was ended is not sent again")
    check(shop.count() == collections.Counter([*range(1, 11), 1]), "nothing was sent", shop.count())
    other = os.path.join(folder, "other")
    os.mkdir(other)
    server = type(shop.server)(programs.server, other)
    server.ready()
    check("the server has another one" in shop.dlt("cancel", letters[6], status=2, server=server), "another server is refused")
    server.stop()
    check(set(shop.letters()) == {6, 7} and shop.item() == [9, 3, 6, 0], "and nothing was done")
    with Connection(shop.server.address) as connection:
        for user in (1, 6, 7, 8, 9, 10):
            connection.ask("RELEASE", "item:1", user)
    shop.ask(("ITEM", "CLOSE", "item:1"), ("ITEM", "DROP", "item:1"))
    check("was dropped" in shop.dlt("cancel", letters[6]), "of an item that is gone")
    shop.ask(("ITEM", "CREATE", "item:1", "STOCK", 3))
    check("version of the item has ended" in shop.dlt("cancel", letters[7]) and shop.item() == [3, 3, 0, 0], "of an older version")
    shop.stop()


def replays_at_once_send_one(programs, folder):
    shop = sold(programs, folder, 3, {1, 2, 3})
    letters = shop.letters()
    for user in (1, 2, 3):
        place = letters[user]
        running = [subprocess.Popen(shop.words("replay", place), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)]
        said = [(process.communicate(timeout=120), process.returncode) for process in running]
        check({status for _, status in said} <= {0, 1, 2} and sum(status == 0 for _, status in said) <= 1, "at most one did it", said)
        # Whether each was cut off by the next one, or one of them did it.
        until(lambda: subprocess.run(shop.words("replay", place), capture_output=True, timeout=120).returncode == 1, "it is done with", place)
        check(shop.count()[user] == 2, "it was sent once", shop.count(), said)
    shop.stop()


def killed_replays_send_each_once(programs, folder):
    """Killed at any moment, and begun again until all are sent."""
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    shop = sold(programs, folder, 2600, set(range(1, 201)))
    kills, began = 0, time.monotonic()
    shop.dlt("replay", "--all")
    whole = time.monotonic() - began
    for first in range(201, 2401, 200):
        shop.refuse(set(range(first, first + 200)))
        process = subprocess.Popen(shop.words("replay", "--all"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(chance.uniform(0.5, 1) * whole)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    shop.dlt("replay", "--all")
    count = shop.count()
    wrong = {user: times for user, times in count.items() if times != (2 if user <= 2400 else 1)}
    check(not wrong and len(count) == 2600 and shop.listed() == [], f"each once (seed {seed})", wrong)
    check(kills > 0, "one was killed", seed)
    print(f"  {kills} of 11 were killed", flush=True)
    shop.stop()


def letters_of_any_kind_are_shown(programs, folder):
    shop = sold(programs, folder, 3, {1})
    shop.client.put(shop.dead, [(b"\xff\x00 no order", "other", None, 0)])
    letter = next(each for each in shop.listed() if "order" not in each)
    check(letter["key"] == "other" and "no order" in shop.dlt("list"), "it is listed", letter)
    check("value: %FF%00 no order" in shop.dlt("show", letter["letter"]), "and shown")
    check("is no order" in shop.dlt("cancel", letter["letter"], status=1), "it has nothing to release")
    shop.dlt("replay", letter["letter"])
    check([record for record in shop.client.read(shop.orders) if record.key == b"other"][0].value == b"\xff\x00 no order", "it can be sent again")
    # A topic that is made anew has other letters in the same places.
    place = shop.letters()[1]
    shop.dlt("replay", place)
    shop.client.drop_topic(shop.dead)
    check("does not exist" in shop.dlt("list", status=2), "no topic")
    shop.client.make_topic(shop.dead, shop.client.topics()[shop.orders])
    check("nothing waits" in shop.dlt("list"), "an empty one")
    shop.refuse({2})
    check(shop.letters() == {2: place}, "the place of another letter before", shop.letters(), place)
    shop.dlt("replay", place)
    check(shop.count()[2] == 2, "is no mark of this one")
    for words, status, text in ((("show", "0/999"), 1, "has no 0/999"), (("show", "99/0"), 1, "has no 99/0"), (("replay", "x"), 2, "PARTITION/OFFSET"),
                                (("replay",), 2, "say which one, or --all"), (("cancel",), 2, "letter"), (("replay", place, "--all"), 2, "--all")):
        check(text in shop.dlt(*words, status=status), f"{words} is answered")
    check("examples:" in shop.dlt("--help"), "help")
    shop.stop()


def rights_are_as_the_help_says(programs, folder):
    with Kafka(users={"relay": "right"}, settings=GUARDED) as kafka:
        shop = sold(programs, folder, 3, {1, 2, 3}, kafka=kafka)
        letters = shop.letters()
        shop.access = ["--kafka", kafka.secure_servers(), *with_secret(kafka, folder)]
        reading = [f"TOPIC:{shop.orders}:DESCRIBE", f"TOPIC:{shop.dead}:READ", f"TOPIC:{shop.cursors}:READ"]
        writing = [f"TOPIC:{topic}:{right}" for topic in (shop.orders, shop.cursors) for right in ("WRITE", "DESCRIBE_CONFIGS")]
        writing.append(f"TRANSACTIONAL_ID:holdfast-dlt/{shop.cursors}/{shop.orders}:WRITE")
        rights(kafka, "give", *reading)
        check(shop.letters() == letters and "state: waiting" in shop.dlt("show", letters[1]), "what is read")
        check("give its user" in shop.dlt("replay", letters[1], status=2), "and not written")
        rights(kafka, "give", *writing)
        shop.dlt("replay", letters[1])
        shop.dlt("cancel", letters[2])
        check(set(shop.letters()) == {3} and shop.count()[1] == 2, "both are done", shop.letters())
        shop.stop()


CASES = [letters_are_sent_again_once, orders_are_ended_by_id, replays_at_once_send_one, killed_replays_send_each_once, letters_of_any_kind_are_shown,
         rights_are_as_the_help_says]

if __name__ == "__main__":
    parser = kafka_arguments(__doc__)
    parser.add_argument("--ctl", required=True, help="path of holdfastctl")
    run_kafka_cases(CASES, parser.parse_args())
