#!/usr/bin/env python3
"""Who may do what on the real server, and how much of it a peer can hold: users, limits, deadlines, floods.

usage: access_test.py --server build/release/bin/holdfastd --tools build/release/bin [--only NAME]
"""
import contextlib
import hashlib
import os
import pathlib
import resource
import select
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import CHOSEN, arguments, run_cases  # noqa: E402
from holdfastd_test import MIB, START_SECONDS, Connection, Lost, Server, check, encode, quietest, refused  # noqa: E402

SECRET, WRONG, NO_AUTH = "5e0f3c-a-secret-of-the-test", "WRONGPASS", "NOAUTH Authentication required."
ROLES = ("reader", "buyer", "loader", "relay", "admin", "metrics")
BOUND_SECONDS = 30  # for what is to happen soon


def digest(secret):
    return "sha256:" + hashlib.sha256(secret.encode()).hexdigest()


def with_users(folder, users=(("default", SECRET, ROLES),), extra=""):
    """The flags for a configuration file with these users."""
    path = os.path.join(folder, "users.toml")
    with open(path, "w") as file:
        file.write(extra + "".join(f'[users.{name}]\nroles = {list(roles)!r}\nsecrets = ["{digest(secret)}"]\n'
                                   for name, secret, roles in users).replace("'", '"'))
    os.chmod(path, 0o600)
    return "--config", path


class Guarded(Server):
    """A server with users; ready() authenticates."""

    def ready(self):
        deadline = time.monotonic() + START_SECONDS
        while True:
            check(self.process.poll() is None and time.monotonic() < deadline, "it starts", self.output()[-500:])
            try:
                with Connection(self.address, BOUND_SECONDS) as connection:
                    if connection.ask("AUTH", SECRET) == "OK" and connection.ask("PING") == "PONG":
                        return
            except Lost:
                pass

    def login(self, secret=SECRET, user="default"):
        connection = Connection(self.address, BOUND_SECONDS)
        check(connection.ask("AUTH", user, secret) == "OK", "AUTH", user)
        return connection

    def info(self, name):
        with self.login() as connection:
            text = connection.ask("INFO").decode()
        return next(line.split(":")[1] for line in text.splitlines() if line.startswith(name + ":"))


def start(tools, folder, *flags, users=None, **more):
    server = Guarded(tools.server, folder, *(users or with_users(folder)), *flags, **more)
    server.ready()
    return server


def closed(sockets, seconds, serve):
    """Waits until the server has closed all of them, calling serve() all the while; what each had received. The time."""
    began, open_ones, received = time.monotonic(), list(sockets), {sock: b"" for sock in sockets}
    while open_ones:
        check(time.monotonic() - began < seconds, "they are closed in time", len(open_ones))
        serve(open_ones)
        for sock in select.select(open_ones, [], [], 0.05)[0]:
            try:
                data = sock.recv(65536)
            except ConnectionError:
                data = b""
            received[sock] += data
            if not data:
                open_ones.remove(sock)
                sock.close()
    return list(received.values()), time.monotonic() - began


def strangers(server, count):
    return [socket.create_connection(server.address) for _ in range(count)]


def a_secret_made_by_the_tool_opens_what_its_roles_say(tools, folder):
    run = subprocess.run([tools.ctl, "user-secret", "shop", "buyer", "reader"], capture_output=True, text=True, check=True)
    made, secret = run.stdout, run.stderr.splitlines()[1]
    check(len(secret) == 64 and digest(secret) in made and secret not in made, "the secret and its digest", run)
    path, secret_file = os.path.join(folder, "made.toml"), os.path.join(folder, "secret")
    for name, text in ((path, made), (secret_file, secret + "\n")):
        with open(name, "w") as file:
            file.write(text)
        os.chmod(name, 0o600)
    server = Guarded(tools.server, folder, "--config", path, "--bind", "0.0.0.0")
    ready = lambda: "ready on" in server.output()
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        check(time.monotonic() < deadline, "it is ready", server.output())
        select.select([], [], [], 0.05)
    where = f"127.0.0.1:{server.port}"

    def ctl(*words, environment=None):
        return subprocess.run([tools.ctl, "--server", where, *words], capture_output=True, text=True, timeout=60,
                              env={**os.environ, **(environment or {})})

    with_file = ("--user", "shop", "--secret-file", secret_file)
    check("PONG" in ctl(*with_file, "ping").stdout, "by a file")
    check("PONG" in ctl("--user", "shop", "ping", environment={"HOLDFASTCTL_AUTH": secret}).stdout, "by the environment")
    check("shop" in ctl(*with_file, "ACL", "WHOAMI").stdout, "who it is")
    check("NOPERM" in ctl(*with_file, "ITEM", "CREATE", "a", "STOCK", "1").stdout, "no loader")
    check("NOITEM" in ctl(*with_file, "RESERVE", "a", "u").stdout, "but a buyer")
    without = ctl("ping")
    check(without.returncode == 2 and "--secret-file" in without.stderr, "without a user it says what to do", without)
    wrong = ctl("--user", "shop", "ping", environment={"HOLDFASTCTL_AUTH": "x"})
    check(wrong.returncode == 2 and WRONG in wrong.stderr, "a wrong secret", wrong)
    bench = [tools.bench, "raw", "--server", where, *with_file, "-n", "1000", "-c", "5", "ECHO", "x"]
    run = subprocess.run(bench, capture_output=True, text=True, timeout=60)
    check(run.returncode == 0 and "1000 requests" in run.stdout and " 0 errors" in run.stdout, "holdfast-bench", run)
    server.stop()


def secrets_are_shown_nowhere(tools, folder):
    server = start(tools, folder)
    told = []
    with server.login() as connection:
        check("NOPERM" not in str(connection.ask("AUTH", "default", SECRET + "x")), "refused")
        for words in (("CONFIG", "GET", "*"), ("INFO",), ("CLIENT", "INFO"), ("AUTH", SECRET, SECRET, SECRET),
                      ("HELLO", "2", "AUTH", "default", SECRET), ("ACL", "WHOAMI"), ("COMMAND",)):
            told.append(repr(connection.ask(*words)))
        check(connection.ask("CONFIG", "GET", "requirepass") == [b"requirepass", b""], "requirepass")
    with open(f"/proc/{server.process.pid}/cmdline") as file:
        told.append(file.read())
    server.stop()
    told.append(server.output())
    for text in told:
        check(SECRET not in text and digest(SECRET)[7:] not in text, "a secret", text[:300])


def what_is_wrong_with_users_is_refused(tools, folder):
    check("loopback" in refused(tools.server, folder, "--bind", "0.0.0.0"), "an open bind without users")
    for extra, text in (("prot = 1\n", "users.toml:1: unknown key 'prot'; did you mean 'port'?"), ("port = 1.5\n", "wants a text"),
                        ("port = \"x\"\n", "not a whole number")):
        check(text in refused(tools.server, folder, *with_users(folder, extra=extra)), extra)
    check("'byer' is not a role" in refused(tools.server, folder, *with_users(folder, [("shop", "s", ["byer"])])), "a bad role")
    flags = with_users(folder)
    with open(flags[1]) as file:
        text = file.read().replace("sha256:", "")
    with open(flags[1], "w") as file:
        file.write(text)
    line = refused(tools.server, folder, *flags)
    check("users.toml:3: users.default: a secret stands here as its digest" in line and hashlib.sha256(SECRET.encode()).hexdigest() not in line,
          "a bad digest", line)
    flags = with_users(folder)
    os.chmod(flags[1], 0o602)
    check("everybody may write" in refused(tools.server, folder, *flags), "a file for everybody to write")
    os.chmod(flags[1], 0o604)
    server = start(tools, folder, users=flags)
    check("everybody may read" in server.output(), "a warning of a file for everybody to read", server.output())
    server.stop()


def headers_of_strangers_cost_nothing(tools, folder):
    server = start(tools, folder, "--auth-timeout", "60s")
    before = server.resident()
    clients = strangers(server, 1000)
    for client in clients:
        client.sendall(b"*1048576\r\n")
    with server.login() as connection:
        check(connection.ask("PING") == "PONG", "others are served")
    check(int(server.info("connected_clients")) >= 1000, "all of them wait")
    grown = server.resident() - before
    for client in clients:
        client.sendall(b"$536870912\r\n")
    replies, _ = closed(clients, BOUND_SECONDS, lambda _: None)
    check(set(replies) == {b"-ERR Protocol error: unauthenticated bulk length\r\n"}, "the refusal", set(replies))
    grown = max(grown, server.resident() - before)
    check(server.sanitized() or grown <= 32 * MIB, "memory", grown)
    print(f"  1,000 strangers: {grown >> 10} KiB")
    server.stop()


def talk(clients):
    for client in clients:
        with contextlib.suppress(ConnectionError):  # it may be closed by now
            client.send(b"\r\n")


def a_stranger_gets_few_bytes_and_little_time(tools, folder):
    server = start(tools, folder, "--auth-timeout", "1s")
    talkers = strangers(server, 20)
    for client in talkers:
        client.sendall(b"PING\r\n" * 2000)
    replies, _ = closed(talkers, BOUND_SECONDS, lambda _: None)
    check(all(len(reply) <= 5000 for reply in replies), "4 KiB and a reply at most", max(map(len, replies)))
    with server.login() as friend:
        silent = strangers(server, 20)
        _, took = closed(silent, BOUND_SECONDS, talk)
        check(took > 0.9, "not before its time", took)
        check(friend.ask("PING") == "PONG", "who has authenticated stays")
        check(friend.ask("RESET") == "RESET" and str(friend.ask("PING")) == "-" + NO_AUTH, "RESET forgets him")
        _, took = closed([friend.socket], BOUND_SECONDS, lambda _: None)
    check(int(server.info("timed_out_clients")) >= 21, "they are counted")
    server.stop()
    without = Server(tools.server, folder, "--auth-timeout", "100ms")
    without.ready()
    with Connection(without.address) as connection:
        select.select([connection.socket], [], [], 1.5)  # a stretch of time in which nothing is to happen
        check(connection.ask("PING") == "PONG", "without users there is no such deadline")
    without.stop()


def guessing_ends_after_three_and_others_are_served(tools, folder):
    server = start(tools, folder)
    guess, rounds = encode("AUTH", "default", "guess"), 30
    with server.login() as friend:
        guessers, wrong = strangers(server, 300), 0
        for _ in range(rounds):
            for client in guessers:
                try:
                    client.sendall(guess)
                except ConnectionError:
                    pass
            check(friend.ask("PING") == "PONG", "others are served")  # within the connection's own time limit
            for number, client in enumerate(guessers):
                try:
                    reply = client.recv(1000)
                except ConnectionError:
                    reply = b""
                wrong += reply.count(b"-WRONGPASS invalid username-password pair or user is disabled.\r\n")
                if not reply:
                    client.close()
                    guessers[number] = socket.create_connection(server.address)
        for client in guessers:
            client.close()
    check(wrong > 300 * rounds / 2, "most guesses were answered", wrong)
    with Connection(server.address) as connection:
        connection.send([("AUTH", "x"), ("AUTH", "y"), ("HELLO", "3", "AUTH", "z", "z"), ("AUTH", SECRET)])
        check([WRONG in str(connection.read()) for _ in range(3)] == [True] * 3, "three tries")
        _, took = closed([connection.socket], BOUND_SECONDS, lambda _: None)
    check(int(server.info("acl_access_denied_auth")) >= wrong, "they are counted")
    server.stop()


def a_trickle_does_not_extend_a_command(tools, folder):
    server = start(tools, folder, "--command-timeout", "2s")
    with server.login() as friend:
        clients = [server.login() for _ in range(50)]
        for client in clients:
            client.send([("PING",)])
            check(client.read() == "PONG", "a whole command")
            client.socket.sendall(b"*2\r\n$4\r\nECHO\r\n$1000\r\n")
        served, last = 0, time.monotonic()

        def trickle(open_ones):
            nonlocal served, last
            check(friend.ask("PING") == "PONG", "others are served")
            served += 1
            if time.monotonic() - last > 0.2:
                last = time.monotonic()
                for sock in open_ones:
                    try:
                        sock.send(b"x")
                    except OSError:
                        pass

        _, took = closed([client.socket for client in clients], BOUND_SECONDS, trickle)
    check(took > 1.5 and served >= 10, "not before its time, and others meanwhile", took, served)
    server.stop()


def who_never_reads_holds_one_mib_and_is_closed(tools, folder):
    server = start(tools, folder, "--write-timeout", "2s")
    with server.login() as client, server.login() as friend:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.socket.setblocking(False)
        request, held, deadline = encode("ECHO", b"x" * 60_000), 0, time.monotonic() + BOUND_SECONDS
        while True:
            check(time.monotonic() < deadline, "it is closed")
            _, writable, _ = select.select([], [client.socket], [], 0.1)
            try:
                if writable:
                    client.socket.send(request)
            except BlockingIOError:
                pass
            except OSError:
                break
            text = friend.ask("INFO").decode()
            held = max(held, int(text.split("mem_clients_normal:")[1].split("\r\n")[0]))
    print(f"  held at most {held >> 10} KiB")
    # What waits, a last reply and what is sent of it: 3/2; the input, which doubles as it grows: 1/4; the friend's own INFO.
    check(MIB / 2 < held < 2 * MIB, "what connections hold", held)
    with server.login() as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deadline = time.monotonic() + BOUND_SECONDS
        while int(server.info("mem_clients_normal")) < 300_000:
            check(time.monotonic() < deadline, "the system takes no more of its replies")
            client.send([("ECHO", b"x" * 60_000)])
        client.send([("QUIT",)])
        began = time.monotonic()
        while int(server.info("connected_clients")) > 1:
            check(time.monotonic() < deadline, "who says QUIT and reads nothing is closed as well")
        check(time.monotonic() - began > 1, "not before its time", time.monotonic() - began)
    server.stop()


def silence_is_ended_by_timeout_only(tools, folder):
    server = start(tools, folder)
    with (server.login() as connection, server.login() as other, server.login() as subscriber,
          server.login() as monitor):
        subscriber.ask("SUBSCRIBE", "news")
        check(monitor.ask("MONITOR") == "OK", "MONITOR")
        select.select([connection.socket], [], [], 2)  # a stretch of time in which nothing is to happen
        local = f"{server.address[1]:04X}"  # TCP asks on its own whether they are still there: timer 2 is keep-alive
        lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        probed = [line for line in lines if line[1].endswith(":" + local) and line[3] == "01" and line[5][:2] == "02"]
        check(len(probed) == 4, "connections are probed", probed)
        check(other.ask("CONFIG", "SET", "timeout", "1") == "OK", "CONFIG SET timeout")
        _, took = closed([connection.socket], BOUND_SECONDS, lambda _: other.ask("PING"))
        check(other.ask("PING") == "PONG", "who talks stays")
        check(other.ask("PUBLISH", "news", "x") == 1, "who is subscribed stays")
        check("monitor_clients:1\r" in other.ask("INFO", "clients").decode(), "who monitors stays")
    server.stop()


def connections_are_bounded_also_by_address(tools, folder):
    server = start(tools, folder, "--maxclients-per-address", "5", "--maxclients", "8")

    def admitted(source, count):
        clients = [socket.create_connection(server.address, source_address=(source, 0)) for _ in range(count)]
        answers = []
        for client in clients:
            client.settimeout(BOUND_SECONDS)
            try:
                client.sendall(encode("AUTH", SECRET))
                answers.append(client.recv(100))
            except ConnectionError:
                answers.append(b"-")
        return clients, answers

    first = server.login()
    deadline = time.monotonic() + BOUND_SECONDS
    while b"connected_clients:1\r" not in first.ask("INFO"):  # the connections before are gone a moment after they close
        check(time.monotonic() < deadline, "it is alone")
    near, answers = admitted("127.0.0.1", 6)
    check([answer == b"+OK\r\n" for answer in answers] == [True] * 4 + [False] * 2, "five of one address", answers)
    check(set(answers[4:]) <= {b"-ERR max number of clients reached for this address\r\n", b"-"}, "the text", answers)
    far, answers = admitted("127.0.0.2", 4)
    check([answer == b"+OK\r\n" for answer in answers] == [True] * 3 + [False], "eight in all", answers)
    check(set(answers[3:]) <= {b"-ERR max number of clients reached\r\n", b"-"}, "the text", answers)
    check(first.ask("CONFIG", "SET", "maxclients", "9") == "OK", "CONFIG SET maxclients")
    more, answers = admitted("127.0.0.3", 2)
    check([answer == b"+OK\r\n" for answer in answers] == [True, False], "one more", answers)
    for client in [first.socket, *near, *far, *more]:
        client.close()
    server.ready()
    server.stop()


def the_largest_holder_goes_first(tools, folder):
    server = start(tools, folder, "--maxmemory-clients", "6MiB", "--write-timeout", "60s")
    with server.login() as small, server.login() as kept:
        check(kept.ask("CLIENT", "NO-EVICT", "ON") == "OK", "NO-EVICT")
        kept.send([("ECHO", b"x" * 60_000)] * 10)
        greedy = [server.login() for _ in range(12)]
        for number, client in enumerate(greedy):
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.socket.settimeout(0.3)
            try:
                for _ in range(400):
                    client.socket.sendall(encode("ECHO", b"x" * 60_000))
            except OSError:
                pass
            check(small.ask("PING") == "PONG", "who holds little stays", number)
        text = small.ask("INFO").decode()
        check("evicted_clients:0" not in text, "some were closed", text)
        check(kept.read() == b"x" * 60_000, "who asked to stay does")
        for client in greedy:
            client.socket.close()
    deadline = time.monotonic() + BOUND_SECONDS
    while "maxmemory-clients" not in server.output():
        check(time.monotonic() < deadline, "a line says so", server.output())
        select.select([], [], [], 0.1)
    server.stop()


def without_descriptors_some_are_turned_away_and_it_rests(tools, folder):
    """With 64 files it lowers maxclients; with 20, and 2 for each further thread, its own files and the connections do not fit."""
    for files, comes_back in ((64, False), (18 + 2 * CHOSEN.shards, True)):
        server = start(tools, folder, files=files)
        check("maxclients is lowered" in server.output(), "it says that maxclients does not fit", server.output())
        told, turned, clients = b"-ERR max number of clients reached\r\n", 0, strangers(server, 200)

        def press():
            """A second of it; whoever is closed connects again, if they do."""
            nonlocal turned
            end = time.monotonic() + 1
            while time.monotonic() < end:
                for client in select.select(clients, [], [], 0.1)[0]:
                    try:
                        data = client.recv(4096)
                    except ConnectionError:
                        data = b""
                    turned += data.count(told)
                    if data:
                        continue
                    clients.remove(client)
                    client.close()
                    if comes_back:
                        clients.append(socket.create_connection(server.address))

        began = time.monotonic()
        used = quietest(server, press, 0.2)
        rate = turned / (time.monotonic() - began)
        check(rate < 200 or not comes_back, "10 at once, then a pause of 100 ms", rate)
        check(turned >= 100 or comes_back, "the others are told that there is no room", turned)
        check(turned > 0, "some are told that there is no room")
        print(f"  {files} files: {turned} turned away, {used:.2f} s of CPU in the quietest second")
        for client in clients:
            client.close()
        server.ready()
        sanitized = server.sanitized()
        server.stop()
        # UBSan opens a pipe to look at an object's type; without a descriptor for it, it takes a good object for a bad one.
        if sanitized:
            return


ALL = [a_secret_made_by_the_tool_opens_what_its_roles_say, secrets_are_shown_nowhere, what_is_wrong_with_users_is_refused,
       headers_of_strangers_cost_nothing, a_stranger_gets_few_bytes_and_little_time, guessing_ends_after_three_and_others_are_served,
       a_trickle_does_not_extend_a_command, who_never_reads_holds_one_mib_and_is_closed, silence_is_ended_by_timeout_only,
       connections_are_bounded_also_by_address, the_largest_holder_goes_first, without_descriptors_some_are_turned_away_and_it_rests]


class Tools:
    def __init__(self, server, folder):
        self.server = os.path.abspath(server)
        self.ctl, self.bench = (os.path.join(os.path.abspath(folder), name) for name in ("holdfastctl", "holdfast-bench"))


def main():
    parser = arguments(__doc__)
    parser.add_argument("--tools", required=True, help="the folder of holdfastctl and holdfast-bench")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    run_cases(ALL, options, Tools(options.server, options.tools))


if __name__ == "__main__":
    main()
