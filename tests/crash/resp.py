"""RESP2 as Python values: requests out; replies as int, str, bytes, list, None or Refusal in."""
import socket


class Lost(Exception):
    """The connection ended, or no reply came in time: the outcome of what was sent is unknown."""


class Refusal:
    """An error reply."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return f"-{self.text}"


def encode(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def as_map(reply):
    """A flat array of names and values as a dict."""
    return {name.decode(): value for name, value in zip(reply[::2], reply[1::2])}


class Connection:
    def __init__(self, address, timeout=20):
        try:
            self.socket = socket.create_connection(address, timeout)
        except OSError as error:
            raise Lost(str(error)) from None
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def send(self, requests):
        """Each a tuple of words; all in one write."""
        try:
            self.socket.sendall(b"".join(encode(*request) for request in requests))
        except OSError as error:
            raise Lost(str(error)) from None

    def read(self):
        try:
            line = self.stream.readline()
            if not line.endswith(b"\r\n"):
                raise Lost("closed")
            kind, rest = line[:1], line[1:-2]
            if kind == b":":
                return int(rest)
            if kind == b"+":
                return rest.decode()
            if kind == b"-":
                return Refusal(rest.decode(errors="replace"))
            count = int(rest)
            if count < 0:
                return None
            if kind == b"*":
                return [self.read() for _ in range(count)]
            data = self.stream.read(count + 2)
            if len(data) != count + 2:
                raise Lost("closed")
            return data[:-2]
        except OSError as error:
            raise Lost(str(error)) from None

    def ask(self, *words):
        self.send([words])
        return self.read()

    def ask_all(self, requests, at_once=200):
        """The replies to many requests, never so many at once that both sides wait for each other."""
        replies = []
        for begin in range(0, len(requests), at_once):
            part = requests[begin:begin + at_once]
            self.send(part)
            replies += [self.read() for _ in part]
        return replies
