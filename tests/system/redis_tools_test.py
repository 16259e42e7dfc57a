#!/usr/bin/env python3
"""holdfastd under Redis's own tools: redis-cli by hand (at a pseudo terminal) and in its modes, redis-benchmark.

usage: redis_tools_test.py --server build/release/bin/holdfastd [--only NAME]
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import arguments, run_cases  # noqa: E402
from holdfastd_test import Server, check  # noqa: E402
from resp import encode  # noqa: E402

PATIENCE_SECONDS = 60
PROMPT = r"> $"  # what is typed before it comes is thrown away


class Terminal:
    """redis-cli as at a terminal."""

    def __init__(self, server, *words):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", HOME=server.folder, REDISCLI_HISTFILE="/dev/null")
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
            os.execvp("redis-cli", ["redis-cli", "-p", str(server.port), *words])

    def until(self, *wanted):
        """Waits until it has shown all of these."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not all(re.search(pattern, self.plain()) for pattern in wanted):
            check(time.monotonic() < deadline, "redis-cli shows", wanted, self.seen[-800:])
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    data = os.read(self.fd, 65536)
                except OSError:
                    data = b""
                check(data, "redis-cli goes on", wanted, self.seen[-800:])
                self.seen += data.decode(errors="replace")
        self.seen = ""

    def plain(self):
        """What it has shown, without colours and moves of the cursor."""
        return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", self.seen).replace("\r", "")

    def write(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def running(program, folder):
    server = Server(program, folder)
    server.ready()
    return server


def tool(*words, given=None, seconds=PATIENCE_SECONDS):
    """A tool's output. It must end with status 0."""
    run = subprocess.run(words, input=given, capture_output=True, timeout=seconds, check=False)
    check(run.returncode == 0, "exit status 0", words, run.returncode, run.stdout[-500:], run.stderr[-500:])
    return run.stdout.decode(errors="replace")


def cli(server, *words, **given):
    return tool("redis-cli", "-p", str(server.port), *words, **given)


# By hand


def it_completes_and_explains_our_commands(program, folder):
    server = running(program, folder)
    terminal = Terminal(server)
    terminal.until(PROMPT)
    terminal.write("resERV\t\t\t\t\t\t\t")  # each shows another one
    terminal.until(r"RESERVATION", r"RESERVE\b")
    terminal.write("\x15help reserve\r")
    terminal.until(r"Takes units for a user", r"summary:", r"since:", r"group: reservation", PROMPT)
    terminal.write("help client kill\r")
    terminal.until(r"Closes connections", r"group: connection", PROMPT)
    terminal.write("help @item\r")
    terminal.until(r"ITEM VERIFY", PROMPT)
    terminal.write("item create a stock 3\r")
    terminal.until(r"OK\n", PROMPT)
    terminal.write("reserve a u\r")
    terminal.until(r"\(integer\) 2", PROMPT)
    terminal.write("client help\r")
    terminal.until(r"Prints this help", PROMPT)
    terminal.end()
    server.stop()


def it_shows_a_monitor(program, folder):
    server = running(program, folder)
    terminal = Terminal(server, "monitor")
    terminal.until(r"OK\n")
    cli(server, "reserve", 'a"b', "u")
    terminal.until(r'\d+\.\d{6} \[0 127\.0\.0\.1:\d+\] "reserve" "a\\"b" "u"')
    terminal.end()
    server.stop()


# Its modes


def it_speaks_resp3_and_json(program, folder):
    server = running(program, folder)
    cli(server, "item", "create", "a", "stock", "3")
    check(re.search(r"available[ \n]3\n", cli(server, "-3", "item", "get", "a")), "a map of RESP3")
    found = json.loads(cli(server, "--json", "item", "get", "a"))
    check(found["item"] == "a" and found["available"] == 3, "--json", found)
    check(json.loads(cli(server, "--json", "client", "id")) > 0, "--json of a number")
    server.stop()


def it_pipes_lines_and_requests(program, folder):
    server = running(program, folder)
    cli(server, "item", "create", "a", "stock", "100000")
    lines = []
    for user in range(10_000):
        lines.append(b"RESERVE a %d\r\n" % user if user % 3 else encode("RESERVE", "a", user))
        if user % 500 == 0:
            lines.append(b"\r\n")
    output = cli(server, "--pipe", given=b"".join(lines))
    check("errors: 0, replies: 10000" in output, "--pipe", output)
    check(cli(server, "get", "{a}:stock").strip() == "90000", "all are sold")
    server.stop()


def its_watching_modes_work(program, folder):
    server = running(program, folder)
    cli(server, "item", "create", "a", "stock", "3")
    terminal = Terminal(server, "--stat", "-i", "0.2")
    line = r"\n1 +\d[\d.]*[KMG] +\d+ +\d+ +\d+ \(\+\d+\) +\d+"  # keys, memory, clients, blocked, requests, connections
    terminal.until(r"keys\W+mem\W+clients\W+blocked\W+requests\W+connections", f"({line}.*){{3}}".replace(".*", r"[^\n]*"))
    terminal.end()
    latency = cli(server, "--latency", "--raw", "-i", "1").split()
    check(len(latency) == 4 and int(latency[3]) > 10 and int(latency[0]) <= int(latency[1]), "--latency: least, most, average, count", latency)
    cli(server, "reserve", "a", "u")
    output = cli(server, "--bigkeys")
    check("-------- summary" in output and '"{a}:stock"' in output and '"{a}:buyers"' in output, "--bigkeys", output)
    check(sorted(cli(server, "--scan").split()) == ["{a}:buyers", "{a}:stock"], "--scan")
    script = os.path.join(folder, "script.lua")
    pathlib.Path(script).write_text("return redis.call('NOSUCH')\n")
    run = subprocess.run(["redis-cli", "-p", str(server.port), "--eval", script], capture_output=True, text=True,
                         timeout=PATIENCE_SECONDS, check=False)
    check("ERR" in run.stdout + run.stderr and "RESERVE" in run.stdout + run.stderr, "--eval says what to use instead", run)
    server.stop()


def it_reads_info_and_saves(program, folder):
    server = running(program, folder)
    check("redis_version:7.2." in cli(server, "info", "server"), "INFO")
    check(cli(server, "bgsave").strip() == "Background saving started", "BGSAVE")
    check(cli(server, "save").strip() == "OK", "SAVE")
    began, saved = time.monotonic(), int(cli(server, "lastsave"))
    while int(cli(server, "lastsave")) == saved:  # who saves and waits until it is done
        check(time.monotonic() - began < PATIENCE_SECONDS, "LASTSAVE goes on")
    check("ERR This instance has cluster support disabled" in cli(server, "cluster", "nodes"), "CLUSTER NODES")
    cli(server, "shutdown", "nosave")
    check(server.process.wait(PATIENCE_SECONDS) == 0, "SHUTDOWN: exit status 0")


# redis-benchmark


def benchmarks_end_well(program, folder):
    server = running(program, folder)
    for item, flags in enumerate(([], ["-P", "16"], ["-3"], ["--threads", "2"], ["-P", "16", "-3", "--threads", "2"])):
        common = ["redis-benchmark", "-p", str(server.port), "-q", "-c", "20", *flags]
        tool(*common, "-n", "2000", "-t", "ping,get")
        cli(server, "item", "create", f"i{item}", "stock", "1000")
        tool(*common, "-n", "5000", "-r", "1000000", "RESERVE", f"i{item}", "u:__rand_int__")
        check(cli(server, "get", "{i%d}:stock" % item).strip() == "0", "it is sold out", flags)
        tool(*common, "-n", "2000", "-r", "1000000", "RELEASE", f"i{item}", "u:__rand_int__")
        check(cli(server, "item", "verify", "*").strip() == "", "the law holds", flags)
    server.stop()


ALL = [it_completes_and_explains_our_commands, it_shows_a_monitor, it_speaks_resp3_and_json, it_pipes_lines_and_requests,
       its_watching_modes_work, it_reads_info_and_saves, benchmarks_end_well]


def main():
    options = arguments(__doc__).parse_args()
    for name in ("redis-cli", "redis-benchmark"):
        check(shutil.which(name), f"{name} is installed (Debian's redis-tools)")
    run_cases(ALL, options)


if __name__ == "__main__":
    main()
