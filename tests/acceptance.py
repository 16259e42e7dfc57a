#!/usr/bin/env python3
"""Runs the black-box suites of the contract, core and resp, against a built holdfastd.

The suites lie in ../shared/acceptance, or where HOLDFAST_ACCEPTANCE says; without them this fails. Both run whole; a server that does not end with status 0 on SIGTERM (as after a sanitizer's report) fails.

Examples:
  tests/acceptance.py build/release/bin/holdfastd
  tests/acceptance.py build/asan-ubsan/bin/holdfastd --quick --only core
"""
import argparse
import hashlib
import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Several servers at once would want the same port for it.
OFF = ["--metrics-port", "0"]
READY_SECONDS, STOP_SECONDS = 60, 60
# How the bytes of each request travel; every mode must give the same replies.
RESP_MODES = ([], ["--split", "1"], ["--split", "2"], ["--split", "3"], ["--split", "7"], ["--merge"])
# The users of the run with a password, and the limit of connections that RC-28 fills.
PASSWORD, READER, MAXCLIENTS = "a secret of the suites", ("reader", "another one"), 60
USERS = f"""maxclients = {MAXCLIENTS}
[users.default]
roles = ["reader", "buyer", "loader", "relay", "admin", "metrics"]
secrets = ["sha256:{hashlib.sha256(PASSWORD.encode()).hexdigest()}"]
[users.{READER[0]}]
roles = ["reader"]
secrets = ["sha256:{hashlib.sha256(READER[1].encode()).hexdigest()}"]
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", type=pathlib.Path, help="the program to test")
    parser.add_argument("--only", choices=("core", "resp"), help="one of the two suites")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--shim", type=pathlib.Path, help="libholdfast_shim.so; adds the row about a server that is loading")
    parser.add_argument("--shards", type=int, default=1, help="of every server")
    parser.add_argument("--fuzz-seconds", type=int, default=10, help="of mutated requests, after the resp cases")
    return parser.parse_args()


def suites():
    folder = pathlib.Path(os.environ.get("HOLDFAST_ACCEPTANCE", ROOT / ".." / "shared" / "acceptance")).resolve()
    for script in ("core/suite.py", "resp/run.py", "resp/fuzz.py"):
        if not (folder / script).is_file():
            sys.exit(f"no {script} in {folder}; HOLDFAST_ACCEPTANCE names the folder of the suites")
    return folder


def run(words):
    print("$", *[word if len(word) < 60 else word[:57] + "..." for word in words[1:]], flush=True)
    return subprocess.run(words, check=False).returncode == 0


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
            # With users or without, the last word is PONG once the log is replayed.
            sock.sendall(f'AUTH default "{PASSWORD}"\r\nPING\r\nQUIT\r\n'.encode())
            return b"\r\n+PONG\r\n" in b"".join(iter(lambda: sock.recv(4096), b""))
    except OSError:
        return False


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return True
    except OSError:
        return False


class Server:
    """A holdfastd on a free port, in a directory of its own, with a configuration file if one is given."""

    def __init__(self, args, config="", folder=None, environment=None, until=None):
        self.folder, self.port = folder or tempfile.mkdtemp(prefix="holdfast-acceptance-"), free_port()
        path = os.path.join(self.folder, "config.toml")
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(config)
        words = [args.server, "--shards", str(args.shards), "--data-dir", os.path.join(self.folder, "data"), "--port", str(self.port), "--config", path, *OFF]
        self.process = subprocess.Popen(words, env={**os.environ, **(environment or {})})
        for _ in range(READY_SECONDS * 10):
            if (until or answers)(self.port):
                return
            try:
                sys.exit(f"the server ended with status {self.process.wait(0.1)} before it was ready")
            except subprocess.TimeoutExpired:
                pass
        self.process.kill()
        sys.exit(f"the server was not ready in {READY_SECONDS} s")

    def stop(self, keep=False):
        """Whether it was still there and ended well. Its folder stays when it is to be kept."""
        self.process.terminate()
        try:
            status = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "none: SIGTERM did not end it"
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        if status != 0:
            print(f"the server's exit status: {status}")
        return status == 0


def core(folder, args):
    script = str(folder / "core/suite.py")
    quick = ["--quick"] if args.quick else []
    return run([sys.executable, script, "--server", shlex.join([str(args.server), *OFF]), "--shards", str(args.shards), *quick])


def resp(folder, args):
    script, passed = str(folder / "resp/run.py"), True
    server = Server(args)
    port = ["--port", str(server.port)]
    for mode in [RESP_MODES[0], RESP_MODES[-1]] if args.quick else RESP_MODES:
        passed &= run([sys.executable, script, *port, *mode])
    fuzz = [sys.executable, str(folder / "resp/fuzz.py"), *port, "--seconds", str(args.fuzz_seconds)]
    passed &= run([*fuzz, "--pid", str(server.process.pid)])
    return (server.stop() and passed) & resp_with_users(folder, args)


def resp_with_users(folder, args):
    """The same rows as a user with a password, and those that are only about users."""
    server = Server(args, USERS)
    words = ["--port", str(server.port), "--password", PASSWORD]
    script = [sys.executable, str(folder / "resp/run.py"), *words]
    passed = run([*script, "--reader", ":".join(READER), "--maxclients", str(MAXCLIENTS)])
    passed &= args.quick or run([*script, "--merge"])
    fuzz = [sys.executable, str(folder / "resp/fuzz.py"), *words, "--seconds", str(args.fuzz_seconds)]
    passed &= run([*fuzz, "--pid", str(server.process.pid)])
    return server.stop() and passed


def resp_while_loading(folder, args):
    """The row about a server that replays its log: the shim makes it wait for a segment."""
    first = Server(args)
    environment = {"LD_PRELOAD": str(args.shim.resolve()), "HOLDFAST_SHIM_ROOT": os.path.join(first.folder, "data"),
                   "HOLDFAST_SHIM_DIR": first.folder, "HOLDFAST_SHIM_FAULTS": "open:segment-0000000001:1:delay=3000"}
    passed = first.stop(keep=True)
    server = Server(args, folder=first.folder, environment=environment, until=listens)
    passed &= run([sys.executable, str(folder / "resp/run.py"), "--port", str(server.port), "--loading"])
    return server.stop() and passed


def main():
    args = arguments()
    folder = suites()
    args.server = args.server.resolve()
    if not args.server.is_file():
        sys.exit(f"no {args.server}; build it first")
    chosen = [suite for suite in (core, resp) if args.only in (None, suite.__name__)]
    if args.shim:
        chosen.append(resp_while_loading)
    passed = [suite(folder, args) for suite in chosen]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
