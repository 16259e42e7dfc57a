"""A TCP proxy before a PostgreSQL server that cuts connections around their COMMIT, as a network does.

    with CuttingProxy(server.port) as proxy:
        proxy.cut("during")      # the next COMMIT: "before" it reaches the server, "during": before its answer, "after": the answer is lost;
                                 # "pass": nothing is cut, it is only counted, when the server has got it
        ... connect to proxy.port
        proxy.cuts               # how many were made
"""
import socket
import threading

COMMIT = b"COMMIT\0"


class CuttingProxy:
    def __init__(self, port):
        self.target, self.mode, self.cuts, self.lock, self.pairs = port, None, 0, threading.Lock(), []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        for pair in self.pairs:
            self.close(pair)

    def cut(self, mode):
        with self.lock:
            self.mode = mode

    @staticmethod
    def close(pair):
        for sock in pair:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            pair = (client, server)
            self.pairs.append(pair)
            # Whether the answer to a COMMIT is to be lost.
            losing = threading.Event()
            threading.Thread(target=self.requests, args=(pair, losing), daemon=True).start()
            threading.Thread(target=self.answers, args=(pair, losing), daemon=True).start()

    def take_mode(self, data):
        if COMMIT not in data:
            return None
        with self.lock:
            mode, self.mode = self.mode, None
        return mode

    def count(self, mode):
        with self.lock:
            self.cuts += mode is not None

    def requests(self, pair, losing):
        client, server = pair
        try:
            while data := client.recv(65536):
                mode = self.take_mode(data)
                if mode == "before":
                    self.count(mode)
                    break
                if mode == "after":
                    losing.set()
                server.sendall(data)
                self.count(mode)
                if mode == "during":
                    break
        except OSError:
            pass
        if losing.is_set():
            return
        self.close(pair)

    def answers(self, pair, losing):
        client, server = pair
        try:
            while data := server.recv(65536):
                if losing.is_set():
                    break
                client.sendall(data)
        except OSError:
            pass
        self.close(pair)
