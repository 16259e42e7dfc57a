"""A small durable server that speaks the part of the protocol crash.py uses, to try crash.py itself: as it should be, and with
mistakes (--mutant) that a crash test must find.

Its log is a chain of growing files of lines, each "checksum json"; one line, padded to whole blocks, holds one batch of records and is flushed before its replies leave.
"""
import argparse
import json
import os
import selectors
import signal
import socket
import sys
import zlib

SEGMENT_BYTES, BLOCK_BYTES = 1 << 20, 4096
MUTANTS = ("reply-before-flush", "no-directory-sync", "append-after-damage")


class Store:
    """Items and reservations in memory; apply() is the only thing that changes them."""

    def __init__(self):
        self.items = {}

    def apply(self, record):
        verb, name, *rest = record
        if verb == "CREATE":
            self.items[name] = {"total": rest[0], "reserved": 0, "confirmed": 0, "sequence": 3, "rows": {}}
            return
        item = self.items[name]
        user, id, quantity = rest
        item["sequence"] += 1
        row = item["rows"].setdefault(id, {"user": user, "quantity": quantity, "state": "RESERVED"})
        if verb != "RESERVE":
            item["reserved"] -= quantity
            row["state"] = "CONFIRMED" if verb == "CONFIRM" else "RELEASED"
        item["confirmed" if verb == "CONFIRM" else "reserved"] += quantity if verb != "RELEASE" else 0

    def available(self, item):
        return item["total"] - item["reserved"] - item["confirmed"]


class Commands:
    """Answers one request; what it changes is put into `records`."""

    def __init__(self, store):
        self.store, self.records = store, []

    def change(self, *record):
        self.store.apply(record)
        self.records.append(record)

    def answer(self, words):
        verb = words[0]
        if verb == "PING":
            return "+PONG\r\n"
        if verb == "ITEM" and words[1] in ("VERIFY", "CREATE"):
            return self.whole_item(words)
        item = self.store.items.get(words[2] if verb in ("ITEM", "RESERVATION") else words[1])
        if item is None:
            return "-NOITEM not loaded\r\n"
        if verb == "ITEM":
            shown = {name: item[name] for name in ("total", "reserved", "confirmed", "sequence")}
            return flat({**shown, "held": 0, "available": self.store.available(item)})
        if verb == "RESERVATION":
            row = item["rows"].get(words[4])
            return flat(row) if row else "*-1\r\n"
        return f":{getattr(self, verb.lower())(item, words)}\r\n"

    def whole_item(self, words):
        if words[1] == "VERIFY":
            return "*0\r\n"
        self.change("CREATE", words[2], int(words[4]))
        return "+OK\r\n"

    def reserve(self, item, words):
        user, quantity, id = words[2], int(words[4]), words[6]
        row = item["rows"].get(id)
        if row:
            return -8 if row["state"] == "RELEASED" else self.store.available(item)
        if self.store.available(item) < quantity:
            return -1
        self.change("RESERVE", words[1], user, id, quantity)
        return self.store.available(item)

    def confirm(self, item, words):
        row = item["rows"].get(words[4])
        if row and row["state"] == "RESERVED":
            self.change("CONFIRM", words[1], row["user"], words[4], row["quantity"])
        return 1 if row and row["state"] == "CONFIRMED" else -3 if row else -1

    def release(self, item, words):
        row = item["rows"].get(words[4])
        if not row or row["state"] != "RESERVED":
            return -1 if not row else -3 if row["state"] == "RELEASED" else -2
        self.change("RELEASE", words[1], row["user"], words[4], row["quantity"])
        return self.store.available(item)


def flat(fields):
    parts = [f"*{2 * len(fields)}\r\n"]
    for name, value in fields.items():
        parts.append(f"${len(name)}\r\n{name}\r\n" + (f":{value}\r\n" if isinstance(value, int) else f"${len(value)}\r\n{value}\r\n"))
    return "".join(parts)


class Log:
    def __init__(self, folder, mutant):
        self.folder, self.mutant, self.fd, self.size, self.number = folder, mutant, None, 0, 0

    def recover(self, store):
        os.makedirs(self.folder, exist_ok=True)
        names = sorted(name for name in os.listdir(self.folder) if name.endswith(".log"))
        for name in names:
            with open(os.path.join(self.folder, name), "rb") as file:
                for record in (record for batch in read_batches(file.read()) for record in batch):
                    store.apply(record)
        self.number = int(names[-1].split(".")[0]) if names else 0
        if self.mutant == "append-after-damage" and names:
            self.open_existing(names[-1])
        else:
            self.open_segment()

    def open_existing(self, name):
        self.fd = os.open(os.path.join(self.folder, name), os.O_WRONLY)
        self.size = os.fstat(self.fd).st_size

    def open_segment(self):
        """A new file under another name, synced, renamed, its name synced: only then is anything written to it."""
        if self.fd is not None:
            os.close(self.fd)
        self.number, self.size = self.number + 1, 0
        path = os.path.join(self.folder, f"{self.number:08}.log")
        self.fd = os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.fsync(self.fd)
        os.rename(path + ".tmp", path)
        if self.mutant != "no-directory-sync":
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            os.fsync(folder)
            os.close(folder)

    def append(self, records):
        text = json.dumps(records).encode()
        line = b"%08x %s\n" % (zlib.crc32(text), text)
        line += b"\n" * (-len(line) % BLOCK_BYTES)  # a torn write must not touch what was flushed before
        try:
            if self.size + len(line) > SEGMENT_BYTES:
                self.open_segment()
            if os.pwrite(self.fd, line, self.size) != len(line):
                raise OSError("short write")
            self.size += len(line)
            if self.mutant != "reply-before-flush":
                os.fdatasync(self.fd)
        except OSError as error:
            print(f"log: {error}", file=sys.stderr)
            os._exit(74)


def read_batches(data):
    """Up to the first line that is not whole."""
    for line in filter(None, data.split(b"\n")):
        checksum, _, text = line.partition(b" ")
        if checksum != b"%08x" % zlib.crc32(text):
            return
        yield json.loads(text)


class Peer:
    def __init__(self, sock):
        self.sock, self.input = sock, b""

    def requests(self):
        """Whole requests that have come in."""
        while (end := self.frame_end()) is not None:
            words = self.input[:end].split(b"\r\n")[2::2]
            self.input = self.input[end:]
            yield [word.decode() for word in words]

    def frame_end(self):
        at = self.input.find(b"\r\n")
        if at < 0:
            return None
        for _ in range(2 * int(self.input[1:at])):
            at = self.input.find(b"\r\n", at + 2)
            if at < 0:
                return None
        return at + 2


def serve(options):
    store = Store()
    log = Log(options.data_dir, options.mutant)
    log.recover(store)
    commands = Commands(store)
    listener = socket.create_server((options.bind, options.port))
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        replies = []
        for key, _ in selector.select():
            if key.fileobj is listener:
                sock, _ = listener.accept()
                selector.register(sock, selectors.EVENT_READ, Peer(sock))
                continue
            peer = key.data
            data = peer.sock.recv(1 << 16)
            if not data:
                selector.unregister(peer.sock)
                peer.sock.close()
                continue
            peer.input += data
            replies.append((peer.sock, "".join(commands.answer(words) for words in peer.requests())))
        if commands.records:
            log.append(commands.records)
            commands.records = []
        for sock, text in replies:
            try:
                sock.sendall(text.encode())
            except OSError:
                pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--bind", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--metrics-port", help="has none")
    parser.add_argument("--shards", help="has none")
    parser.add_argument("--mutant", choices=MUTANTS)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    serve(parser.parse_args())
