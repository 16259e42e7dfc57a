"""What tests of several shard threads share: which thread owns an item, and many connections driven at full speed by one loop."""
import binascii
import itertools
import pathlib
import re
import selectors
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from holdfastd_test import Server, check  # noqa: E402
from resp import Connection  # noqa: E402

PATIENCE_SECONDS = 150  # a bound only: the slowest is a sanitizer on a busy machine
SHARDS = 4
SLOTS = 16384
RECEIVE_BYTES = 1 << 18


def running(program, folder, *flags, shards=SHARDS, **more):
    server = Server(program, folder, "--shards", str(shards), *flags, **more)
    server.ready()
    return server


def eventually(condition, what, *found):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        check(time.monotonic() < deadline, what, *found)


def owner(key, shards=SHARDS):
    """The shard of a key or an item, by Redis's rule of hash tags."""
    tag = re.search(r"\{([^}]+)\}", key)
    return binascii.crc_hqx((tag[1] if tag else key).encode(), 0) % SLOTS * shards // SLOTS


def names_everywhere(prefix, count, shards=SHARDS):
    """So many names that begin so, the shards taking turns."""
    found = [[] for _ in range(shards)]
    for number in itertools.count():
        name = f"{prefix}{number}"
        found[owner(name, shards)].append(name)
        if min(map(len, found)) * shards >= count:
            return [name for turn in zip(*found) for name in turn][:count]


def tags_everywhere(count, shards=SHARDS):
    """Hash tags for items that stay with their shard whatever follows the tag."""
    return ["{%s}" % name for name in names_everywhere("t", count, shards)]


def connections(server, count):
    """Dealt over the threads in turn, so that as many as there are threads reach each."""
    return [Connection(server.address, PATIENCE_SECONDS) for _ in range(count)]


def create(connection, names, *options):
    replies = connection.ask_all([("ITEM", "CREATE", name, *options) for name in names])
    check(set(replies) == {"OK"}, "items are created", replies[:3])


def listed(connection, *words):
    """All that a command with a cursor (where @ stands) tells, page by page."""
    cursor, found = b"0", []
    while True:
        cursor, page = connection.ask(*[cursor if word == "@" else word for word in words])
        found += page
        if cursor == b"0":
            return found


def known_flags(program, *flags):
    """Those pairs of an option and its value that the program knows."""
    told = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    return [word for option, value in zip(flags[::2], flags[1::2]) if f"{option} " in told for word in (option, value)]


class Line:
    """A connection under a loop: what is to be sent, and the whole lines that came."""

    def __init__(self, address, loop):
        self.socket = socket.create_connection(address, PATIENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.loop, self.unsent, self.part, self.writes = loop, memoryview(b""), b"", False
        loop.register(self.socket, selectors.EVENT_READ, self)

    def send(self, data):
        self.unsent = memoryview(bytes(self.unsent) + data) if self.unsent else memoryview(data)
        self.write()

    def write(self):
        try:
            while self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent):]
        except BlockingIOError:
            pass
        if self.writes != bool(self.unsent):
            self.writes = bool(self.unsent)
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.writes else 0)
            self.loop.modify(self.socket, events, self)

    def read(self):
        """The lines that are whole now, without their ends."""
        try:
            data = self.socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return []
        check(data, "the server keeps the connection", self.part[:200])
        *lines, self.part = (self.part + data).split(b"\r\n")
        return lines

    def close(self):
        self.loop.unregister(self.socket)
        self.socket.close()


class Lines:
    """Connections that are read as soon as something comes."""

    def __init__(self, server, count):
        self.loop = selectors.DefaultSelector()
        self.each = [Line(server.address, self.loop) for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for line in self.each:
            line.close()
        self.loop.close()

    def turn(self, seconds=PATIENCE_SECONDS):
        """Moves what can be moved; (connection, its new lines) for those that got some."""
        ready = self.loop.select(seconds)
        check(ready or seconds < PATIENCE_SECONDS, "replies come")
        for key, events in ready:
            if events & selectors.EVENT_WRITE:
                key.data.write()
            if events & selectors.EVENT_READ:
                lines = key.data.read()
                if lines:
                    yield key.data, lines

    def exchange(self, payloads, counts):
        """Sends each connection its bytes, all at once; the so many lines that each gets back."""
        found = {line: [] for line in self.each}
        for line, payload in zip(self.each, payloads):
            line.send(payload)
        waiting = {line for line, count in zip(self.each, counts) if count}
        wanted = dict(zip(self.each, counts))
        while waiting:
            for line, lines in self.turn():
                found[line] += lines
                check(len(found[line]) <= wanted[line], "one reply a request", found[line][-3:])
                if len(found[line]) == wanted[line]:
                    waiting.discard(line)
        return [found[line] for line in self.each]
