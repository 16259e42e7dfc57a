#!/usr/bin/env python3
"""Runs the black-box suites of the contract, core and resp, against a built holdfastd.

The suites lie in ../shared/acceptance, or where HOLDFAST_ACCEPTANCE says; without them this fails. Both run whole but
for the rows named here; a server that does not end with status 0 on SIGTERM (as after a sanitizer's report) fails.

Examples:
  tests/acceptance.py build/release/bin/holdfastd
  tests/acceptance.py build/asan-ubsan/bin/holdfastd --quick --only core
  tests/acceptance.py build/release/bin/holdfastd --without CT-231,RC-63
"""
import argparse
import hashlib
import os
import pathlib
import re
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
RESP_MODES = ([], ["--split", "1"], ["--split", "7"], ["--merge"])
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
    parser.add_argument("--without", default="", metavar="CT-n,RC-n,...", help="rows that this server cannot pass yet")
    parser.add_argument("--fuzz-seconds", type=int, default=10, help="of mutated requests, after the resp cases")
    return parser.parse_args()


def suites():
    folder = pathlib.Path(os.environ.get("HOLDFAST_ACCEPTANCE", ROOT / ".." / "shared" / "acceptance")).resolve()
    for script in ("core/suite.py", "resp/run.py", "resp/fuzz.py"):
        if not (folder / script).is_file():
            sys.exit(f"no {script} in {folder}; HOLDFAST_ACCEPTANCE names the folder of the suites")
    return folder


def rows(script, without):
    """The ids of a suite without some; one that the suite does not know is a mistake of ours."""
    listed = subprocess.run([sys.executable, script, "--list"], capture_output=True, text=True, check=True).stdout
    known = re.findall(r"^([CR][TC]-\w+)", listed, re.MULTILINE)
    prefix = known[0][:2]
    unknown = [row for row in without if row.startswith(prefix) and row not in known]
    if unknown:
        sys.exit(f"{script} has no {', '.join(unknown)}")
    return ",".join(row for row in known if row not in without)


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
            sock.sendall(b"PING\r\n")
            return sock.recv(64) in (b"+PONG\r\n", b"-NOAUTH Authentication required.\r\n")
    except OSError:
        return False


class Server:
    """A holdfastd on a free port, in a directory of its own, with a configuration file if one is given."""

    def __init__(self, program, config=""):
        self.folder, self.port = tempfile.mkdtemp(prefix="holdfast-acceptance-"), free_port()
        path = os.path.join(self.folder, "config.toml")
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(config)
        words = [program, "--data-dir", os.path.join(self.folder, "data"), "--port", str(self.port), "--config", path, *OFF]
        self.process = subprocess.Popen(words)
        for _ in range(READY_SECONDS * 10):
            if answers(self.port):
                return
            try:
                sys.exit(f"the server ended with status {self.process.wait(0.1)} before it was ready")
            except subprocess.TimeoutExpired:
                pass
        self.process.kill()
        sys.exit(f"the server was not ready in {READY_SECONDS} s")

    def stop(self):
        """Whether it was still there and ended well."""
        self.process.terminate()
        try:
            status = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "none: SIGTERM did not end it"
        shutil.rmtree(self.folder, ignore_errors=True)
        if status != 0:
            print(f"the server's exit status: {status}")
        return status == 0


def core(folder, args, without):
    script = str(folder / "core/suite.py")
    quick = ["--quick"] if args.quick else []
    return run([sys.executable, script, "--server", shlex.join([str(args.server), *OFF]), "--only", rows(script, without), *quick])


def resp(folder, args, without):
    script = str(folder / "resp/run.py")
    chosen, passed = rows(script, without), True
    server = Server(args.server)
    port = ["--port", str(server.port)]
    for mode in RESP_MODES[:1] + RESP_MODES[3:] if args.quick else RESP_MODES:
        passed &= run([sys.executable, script, *port, "--only", chosen, *mode])
    fuzz = [sys.executable, str(folder / "resp/fuzz.py"), *port, "--seconds", str(args.fuzz_seconds)]
    passed &= run([*fuzz, "--pid", str(server.process.pid)])
    return (server.stop() and passed) & resp_with_users(folder, args, chosen)


def resp_with_users(folder, args, chosen):
    """The same rows as a user with a password, and those that are only about users."""
    server = Server(args.server, USERS)
    words = ["--port", str(server.port), "--password", PASSWORD]
    script = [sys.executable, str(folder / "resp/run.py"), *words, "--only", chosen]
    passed = run([*script, "--reader", ":".join(READER), "--maxclients", str(MAXCLIENTS)])
    passed &= args.quick or run([*script, "--merge"])
    fuzz = [sys.executable, str(folder / "resp/fuzz.py"), *words, "--seconds", str(args.fuzz_seconds)]
    passed &= run([*fuzz, "--pid", str(server.process.pid)])
    return server.stop() and passed


def main():
    args = arguments()
    folder, without = suites(), list(filter(None, args.without.split(",")))
    args.server = args.server.resolve()
    if not args.server.is_file():
        sys.exit(f"no {args.server}; build it first")
    chosen = [suite for suite in (core, resp) if args.only in (None, suite.__name__)]
    passed = [suite(folder, args, without) for suite in chosen]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
