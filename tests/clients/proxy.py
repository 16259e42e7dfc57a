"""Between a client and the server: passes everything on, and once armed cuts the connection whose RESERVE the server answered."""
import asyncio
import re
import threading

HELLO_3 = re.compile(rb"(?i)\$5\r\nhello\r\n\$1\r\n3\r\n")
CHUNK_BYTES = 65536


class Proxy:
    """Runs an event loop in a thread of its own. `resp` is the protocol that the clients asked for so far."""

    def __init__(self, server_port):
        self.server_port, self.port, self.resp, self.cuts = server_port, None, 2, 0
        self.armed = False
        self.loop = asyncio.new_event_loop()
        listening = threading.Event()
        self.thread = threading.Thread(target=self.run, args=[listening], daemon=True)
        self.thread.start()
        listening.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def arm(self):
        """The next RESERVE reaches the server, its reply does not reach the client."""
        self.armed = True

    def run(self, listening):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        listening.set()
        self.loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.close()

    async def serve(self, from_client, to_client):
        link = {"cut": False}
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self.server_port)
        except OSError:
            return to_client.close()
        pumps = [asyncio.ensure_future(self.requests(from_client, to_server, link)),
                 asyncio.ensure_future(self.replies(from_server, to_client, link))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            pass  # the proxy ends
        finally:
            for pump in pumps:
                pump.cancel()
            to_client.close()
            to_server.close()

    async def requests(self, source, sink, link):
        while data := await source.read(CHUNK_BYTES):
            if HELLO_3.search(data):
                self.resp = 3
            if self.armed and b"RESERVE" in data.upper():
                self.armed, link["cut"] = False, True
            sink.write(data)

    async def replies(self, source, sink, link):
        while data := await source.read(CHUNK_BYTES):
            if link["cut"]:
                self.cuts += 1
                return
            sink.write(data)
