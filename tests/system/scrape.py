"""A scrape as Python values, and what metrics.def says of each metric."""
from http.client import HTTPConnection, HTTPException
import pathlib
import re
import socket

METRICS_DEF = pathlib.Path(__file__).resolve().parent.parent.parent / "server" / "metrics.def"
SERIES = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def http(port, request, timeout=20):
    """Status, headers and body of the answer to raw bytes; the connection is closed by the server or after the body."""
    with socket.create_connection(("127.0.0.1", port), timeout) as sock:
        sock.sendall(request)
        return read_answer(sock.makefile("rb"))


def read_answer(stream, head=False):
    status = stream.readline().split()
    if len(status) < 2:
        raise ConnectionError("closed without an answer")
    headers = {}
    for line in iter(stream.readline, b"\r\n"):
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    body = b"" if head else stream.read(int(headers.get("content-length", 0)))
    return int(status[1]), headers, body


def get(port, path, timeout=20):
    connection = HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except HTTPException as error:
        raise ConnectionError(str(error)) from None
    finally:
        connection.close()


class Scrape:
    def __init__(self, text):
        self.text, self.series = text, {}
        for line in text.splitlines():
            found = SERIES.match(line)
            if found and not line.startswith("#"):
                self.series[found[1], tuple(sorted(LABEL.findall(found[2] or "")))] = float(found[3])

    def value(self, name, **labels):
        return self.series.get((name, tuple(sorted(labels.items()))))

    def total(self, name, **labels):
        """The sum over all series with these labels."""
        wanted = set(labels.items())
        return sum(value for (series, found), value in self.series.items() if series == name and wanted <= set(found))


def scrape(port):
    status, text = get(port, "/metrics")
    if status != 200:
        raise ConnectionError(f"/metrics answers {status}: {text}")
    return Scrape(text)


def info_fields():
    """(metric, field of INFO) of the metrics that INFO shows too."""
    lines = re.findall(r'^HOLDFAST_METRIC\(\w+, "(\w+)", \w+, "[^"]*", "(\w+)"', METRICS_DEF.read_text(), re.MULTILINE)
    return lines


def info(connection, *sections):
    text = connection.ask("INFO", *sections).decode()
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)
