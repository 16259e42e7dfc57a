"""A peer that answers as a Kafka broker does which has just come back: at first it knows the topics, and no broker, not even itself."""
import socketserver
import struct
import threading

METADATA, API_VERSIONS, DESCRIBE_CONFIGS = 3, 18, 32
UNSUPPORTED_VERSION = 35


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def array(parts):
    return struct.pack(">i", len(parts)) + b"".join(parts)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        found = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return found[0]

    def text(self):
        length = max(self.take("h"), 0)
        self.at += length
        return self.data[self.at - length:self.at].decode()


class Requests(socketserver.StreamRequestHandler):
    def handle(self):
        while len(size := self.rfile.read(4)) == 4:
            request = Reader(self.rfile.read(struct.unpack(">i", size)[0]))
            kind, version, number = request.take("h"), request.take("h"), request.take("i")
            request.text()
            answer = struct.pack(">i", number) + self.server.answer(kind, version, request)
            self.wfile.write(struct.pack(">i", len(answer)) + answer)


class KafkaStub(socketserver.ThreadingTCPServer):
    """`settings`: topic -> its own. `unknown_for`: how often each topic is asked for before a broker is known."""
    daemon_threads = True

    def __init__(self, settings, unknown_for):
        super().__init__(("127.0.0.1", 0), Requests)
        self.settings, self.unknown_for, self.asked = settings, unknown_for, {}
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def answer(self, kind, version, request):
        if kind == METADATA:
            return self.metadata([request.text() for _ in range(max(request.take("i"), 0))])
        if kind == DESCRIBE_CONFIGS:
            return struct.pack(">i", 0) + array([self.resource(request) for _ in range(request.take("i"))])
        kinds = [struct.pack(">hhh", each, last, last) for each, last in ((METADATA, 1), (API_VERSIONS, 0), (DESCRIBE_CONFIGS, 0))]
        return struct.pack(">h", UNSUPPORTED_VERSION if version else 0) + array(kinds)

    def metadata(self, topics):
        known = not topics or all(self.asked.get(topic, 0) >= self.unknown_for for topic in topics)
        for topic in topics:
            self.asked[topic] = self.asked.get(topic, 0) + 1
        broker = struct.pack(">i", 1) + text("127.0.0.1") + struct.pack(">ih", self.port, -1)
        partition = struct.pack(">hii", 0, 0, 1) + array([struct.pack(">i", 1)]) * 2
        return (array([broker] if known else []) + struct.pack(">i", 1 if known else -1)
                + array([struct.pack(">h", 0) + text(topic) + b"\0" + array([partition]) for topic in topics or self.settings]))

    def resource(self, request):
        kind, name = request.take("b"), request.text()
        for _ in range(max(request.take("i"), 0)):
            request.text()
        entries = [text(key) + text(value) + b"\0\0\0" for key, value in self.settings.get(name, {}).items()]
        return struct.pack(">hhb", 0, -1, kind) + text(name) + array(entries)
