"""A private PostgreSQL server in a folder of its own, for tests, measurements and the demo: from Debian's package postgresql,
on a free port of 127.0.0.1 and a socket in its folder, as an unprivileged user, since it refuses to run as root.

    with Postgres() as server:
        server.run("SELECT 1")                  # [["1"]]
        subprocess.run([relay, "--sink", f"postgres={server.url()}"])
"""
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

START_SECONDS, STOP_SECONDS = 60, 60
USER = "postgres"  # whom the package makes; only for who is root


class Missing(Exception):
    """PostgreSQL's programs are not installed."""


def programs():
    """The folder of the newest installed version's programs."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[-2]))
    if not found:
        raise Missing("no /usr/lib/postgresql/*/bin; install Debian's package postgresql")
    return found[-1]


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Postgres:
    """Started when made; `settings` are lines of postgresql.conf. `data` is a stopped server's folder to go on with."""

    def __init__(self, settings=(), folder=None):
        self.bin, self.port, self.process = programs(), free_port(), None
        self.folder = folder or tempfile.mkdtemp(prefix="holdfast-postgres-")
        self.data, self.owner = os.path.join(self.folder, "data"), None
        if os.geteuid() == 0:
            self.owner = pwd.getpwnam(USER)
            os.chown(self.folder, self.owner.pw_uid, self.owner.pw_gid)
        if not os.path.isdir(self.data):
            self.tool("initdb", "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        lines = ["listen_addresses = '127.0.0.1'", f"unix_socket_directories = '{self.folder}'", "max_connections = 50", "fsync = on",
                 "shared_buffers = '128MB'", "max_wal_size = '2GB'", "lc_messages = 'C'", *settings]
        self.write(os.path.join(self.data, "postgresql.auto.conf"), "\n".join(lines) + "\n")
        try:
            self.start()
        except BaseException:
            self.stop(signal.SIGQUIT)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def write(self, path, text):
        pathlib.Path(path).write_text(text)
        if self.owner:
            os.chown(path, self.owner.pw_uid, self.owner.pw_gid)

    def identity(self):
        """What makes a process run as the unprivileged user."""
        return {"user": self.owner.pw_uid, "group": self.owner.pw_gid, "extra_groups": []} if self.owner else {}

    def tool(self, name, *words, **options):
        done = subprocess.run([os.path.join(self.bin, name), *words], capture_output=True, text=True, cwd=self.folder, **self.identity(), **options)
        if done.returncode != 0:
            raise RuntimeError(f"{name}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def start(self):
        with open(os.path.join(self.folder, "output"), "ab") as output:
            self.process = subprocess.Popen([os.path.join(self.bin, "postgres"), "-D", self.data, "-p", str(self.port)], stdout=output,
                                            stderr=output, cwd=self.folder, **self.identity())
        deadline = time.monotonic() + START_SECONDS
        while True:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("it does not start: " + pathlib.Path(self.folder, "output").read_text()[-500:])
            try:
                return self.run("SELECT 1", database="postgres")
            except RuntimeError:
                try:
                    self.process.wait(0.1)
                except subprocess.TimeoutExpired:
                    pass

    def stop(self, how=signal.SIGINT):
        """SIGINT: clients are cut off, data is written. SIGQUIT: as after a crash of the machine's software."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(STOP_SECONDS)
        self.process = None

    def kill(self):
        """SIGKILL to the server and, by its own means, to all that it started."""
        self.process.kill()
        self.process.wait()
        self.process = None
        # Those that serve clients notice that it is gone; the port is free when the shared memory is.
        deadline = time.monotonic() + STOP_SECONDS
        while self.children() and time.monotonic() < deadline:
            for child in self.children():
                try:
                    os.kill(child, signal.SIGQUIT)
                except ProcessLookupError:
                    pass
        pathlib.Path(self.data, "postmaster.pid").unlink(missing_ok=True)

    def children(self):
        """Processes of this server that are left: those whose working folder is its data."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "cwd") == self.data:
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def remove(self):
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database="postgres", port=None, **parameters):
        """A connection string over TCP; another port is that of a proxy."""
        words = {"host": "127.0.0.1", "port": port or self.port, "user": USER, "dbname": database, "sslmode": "disable", **parameters}
        return " ".join(f"{name}={value}" for name, value in words.items())

    def run(self, sql, database="postgres"):
        """The rows of one or more statements, each a list of texts; NULL is None."""
        words = [os.path.join(self.bin, "psql"), self.url(database), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-F", "\x1f", "-R", "\x1e",
                 "-P", "null=\x1d", "-c", sql]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-500:])
        text = done.stdout[:-1]
        return [[None if field == "\x1d" else field for field in row.split("\x1f")] for row in text.split("\x1e")] if text else []

    def value(self, sql, database="postgres"):
        return self.run(sql, database)[0][0]

    def base_backup(self, folder):
        """A copy of the running server's data, from which Postgres(folder=...) goes on."""
        target = os.path.join(folder, "data")
        os.makedirs(folder, exist_ok=True)
        if self.owner:
            os.chown(folder, self.owner.pw_uid, self.owner.pw_gid)
        self.tool("pg_basebackup", "-D", target, "-d", self.url(), "-X", "stream", "-c", "fast")
        return folder
