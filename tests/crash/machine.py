"""The server under test on a disk that loses power: started under the shim, killed, its files put back as a power cut leaves them."""
import itertools
import os
import random
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

from resp import Connection, Lost

START_SECONDS = 60


class Broken(Exception):
    """The server did what it must not, or did not do what it must."""


def free_port():
    """Below those that systems give out by themselves, so that two runs hardly meet."""
    while True:
        port = random.SystemRandom().randrange(15000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


class Machine:
    """One data directory; a server that runs on it, or none."""

    def __init__(self, options):
        self.options, self.process, self.address = options, None, None
        self.shards = itertools.cycle(options.shards)
        self.folder = os.path.abspath(tempfile.mkdtemp(prefix="holdfast-crash-", dir=options.folder))
        self.data, self.side = os.path.join(self.folder, "data"), os.path.join(self.folder, "side")
        os.mkdir(self.side)

    def spawn(self, faults=""):
        """Starts the process without waiting until it serves."""
        port = free_port()
        self.address = ("127.0.0.1", port)
        environment = dict(os.environ)
        if self.options.shim:
            faults = ";".join(filter(None, (faults, getattr(self.options, "always", ""))))
            environment |= {"LD_PRELOAD": os.path.abspath(self.options.shim), "HOLDFAST_SHIM_ROOT": self.data,
                            "HOLDFAST_SHIM_DIR": self.side, "HOLDFAST_SHIM_FAULTS": faults}
        command = [*shlex.split(self.options.server), "--data-dir", self.data, "--bind", "127.0.0.1", "--port", str(port),
                   "--metrics-port", "0", "--shards", str(next(self.shards)), *shlex.split(self.options.flags)]
        with open(os.path.join(self.folder, "output"), "ab") as output:
            self.process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)

    def start(self, faults="", tries=3):
        self.spawn(faults)
        deadline = time.monotonic() + START_SECONDS
        while not self.serves():
            if self.process.poll() is not None and tries and "already in use" in self.output_tail().lower():
                return self.start(faults, tries - 1)
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Broken(f"start-up needs help: exit status {self.process.poll()}, output ends {self.output_tail()!r}")
            self.exit_status(0.01)

    def serves(self):
        try:
            with Connection(self.address, timeout=5) as connection:
                return connection.ask("PING") == "PONG"
        except Lost:
            return False

    def output_tail(self):
        with open(os.path.join(self.folder, "output"), errors="replace") as file:
            return file.read()[-500:]

    def kill(self):
        """SIGKILL, unless it is gone already; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        return self.process.wait()

    def exit_status(self, seconds):
        """How the process ended by itself, or None if it still runs after this time."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def cut_power(self, seed):
        """What was not durable is undone as the seed says; the line that holdfast-undo prints."""
        if self.options.keep:
            shutil.copytree(self.folder, f"{self.folder}-before-{seed}", dirs_exist_ok=True)
        if not self.options.undo or not os.path.exists(self.data):
            return "no undo"
        command = [self.options.undo, "--root", self.data, "--side", self.side, "--seed", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(f"holdfast-undo: {done.stderr}")
        return done.stdout.strip()

    def counters(self):
        """How often each kind of call was made on each kind of file."""
        path = os.path.join(self.side, "counters")
        if not os.path.exists(path):
            return {}
        with open(path, "rb") as file:
            return {name.rstrip(b"\0").decode(): count for count, name in struct.iter_unpack("<Q56s", file.read()) if count}

    def remove(self):
        self.kill() if self.process else None
        shutil.rmtree(self.folder, ignore_errors=True)
