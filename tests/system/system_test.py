#!/usr/bin/env python3
"""What a server does when the machine around it changes: other clocks, a full disk, a second server, an empty directory.

  system_test.py --server build/release/bin/holdfastd --shim build/release/tests/shim/libholdfast_shim.so
  system_test.py ... --only disk

Needs root: it mounts a small file system and makes time and mount namespaces of its own. Prints a line a case and
"N passed, N failed"; exit status 1 when anything failed.
"""
import contextlib
import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import types
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "crash"))
from cases import CHOSEN, arguments  # noqa: E402
from machine import Broken, Machine  # noqa: E402
from resp import Connection, Refusal, as_map  # noqa: E402

PATIENCE_SECONDS = 30
GRAIN_MS = 3  # deadlines are rounded up to whole milliseconds


def check(condition, what):
    if not condition:
        raise Broken(what)


def machine_of(server, folder, flags=""):
    return Machine(types.SimpleNamespace(server=server, shim=None, undo=None, keep=False, flags=flags, folder=folder, shards=[CHOSEN.shards]))


@contextlib.contextmanager
def running(server, folder, flags=""):
    machine = machine_of(server, folder, flags)
    try:
        machine.start()
        yield machine
    finally:
        machine.remove()


def ask(machine, *words):
    with Connection(machine.address) as connection:
        return connection.ask(*words)


def eventually(condition, what):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        check(time.monotonic() < deadline, f"within {PATIENCE_SECONDS} s: {what}")


def restart(machine, server=None):
    """SIGKILL and start; the seconds between, as the wall clock counts them."""
    began = time.time()
    machine.kill()
    machine.options.server = server or machine.options.server
    machine.start()
    return time.time() - began


def remaining(machine, item, user):
    return as_map(ask(machine, "RESERVATION", "GET", item, "USER", user))["remaining"]


def counter(machine, item, name):
    return as_map(ask(machine, "ITEM", "GET", item))[name]


# Clocks


def in_time(server, boot_seconds):
    """The command of a server whose CLOCK_BOOTTIME is ahead by so many seconds."""
    return f"unshare --time --boottime {boot_seconds} {server}"


def after_reboot(server, folder):
    """The command of a server that finds another boot id."""
    boot_id = os.path.join(folder, "boot_id")
    pathlib.Path(boot_id).write_text(f"{uuid.uuid4()}\n")
    script = f"mount --bind {boot_id} /proc/sys/kernel/random/boot_id && exec {server} \"$@\""
    return f"unshare --mount sh -c '{script}' sh"


def boot_time_while_down_counts(server, folder):
    with running(in_time(server, 0), folder) as machine:
        ask(machine, "ITEM", "CREATE", "i", "STOCK", 3, "TTL", 60000)
        check(ask(machine, "RESERVE", "i", "u") == 2, "one of three is taken")
        check(ask(machine, "RESERVE", "i", "short", "TTL", 15000) == 1, "a second one, for 15 s")
        before = remaining(machine, "i", "u")
        down = restart(machine, in_time(server, 20))
        lost = before - remaining(machine, "i", "u")
        check(20000 - GRAIN_MS <= lost <= 20000 + 1000 * (down + 5), f"20 s of boot time count, {lost} ms did")
        check(ask(machine, "CONFIRM", "i", "short") == -1, "what fell due in those seconds has expired")
        check(ask(machine, "RELEASE", "i", "u") == 3, "a short stop holds nothing back")


def wall_time_counts_after_a_reboot(server, folder):
    with running(server, folder) as machine:
        ask(machine, "ITEM", "CREATE", "i", "STOCK", 2)
        check(ask(machine, "RESERVE", "i", "u", "TTL", 60000) == 1, "one of two is taken")
        before = remaining(machine, "i", "u")
        # Another boot, whose boot time began anew (and stands elsewhere): only the wall clock tells.
        down = restart(machine, after_reboot(in_time(server, 500000), folder))
        lost = before - remaining(machine, "i", "u")
        check(lost <= 1000 * (down + 5), f"a boot time of another boot means nothing: {lost} ms were lost in {down:.1f} s")
        check(ask(machine, "RELEASE", "i", "u") == 2, "a short stop holds nothing back")


def a_long_stop_holds_returns(server, folder):
    with running(in_time(server, 0), folder) as machine:
        ask(machine, "ITEM", "CREATE", "i", "STOCK", 5, "TTL", 1000 * 3600 * 48, "MAX-HOLD", 1000 * 3600 * 48, "LIMIT", 0)
        for user in "abc":
            ask(machine, "RESERVE", "i", user)
        restart(machine, in_time(server, 25 * 3600))
        check(ask(machine, "RELEASE", "i", "a") == 2, "25 h later a unit that comes back is not sold again by itself")
        check(counter(machine, "i", "held") == 1, "it is held")
        restart(machine)
        check(ask(machine, "RELEASE", "i", "b") == 2 and counter(machine, "i", "held") == 2, "also after another start")
        check(ask(machine, "ITEM", "RETURNS", "*", "FREE") == "OK", "until an operator says so")
        check(counter(machine, "i", "available") == 4 and ask(machine, "RELEASE", "i", "c") == 5, "then all is free")


# Disk


@contextlib.contextmanager
def small_file_system(folder, mebibytes):
    where = tempfile.mkdtemp(prefix="small-", dir=folder)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", where], check=True)
    try:
        yield where
    finally:
        subprocess.run(["umount", where], check=True)


def a_full_disk_refuses_only_new_units(server, folder):
    with small_file_system(folder, 24) as small, running(server, small, "--segment-bytes 1MiB") as machine:
        ask(machine, "ITEM", "CREATE", "i", "STOCK", 10**6, "LIMIT", 0)
        ids = {user: str(uuid.uuid4()) for user in "abcd"}
        for user, id in ids.items():
            ask(machine, "RESERVE", "i", user, "ID", id)
        ballast = os.path.join(small, "ballast")
        with open(ballast, "wb") as file:
            room = os.statvfs(small)
            file.write(bytes(room.f_bavail * room.f_frsize - (1 << 20)))

        def refused():
            reply = ask(machine, "RESERVE", "i", "new")
            return isinstance(reply, Refusal) and reply.text.startswith("OVERLOADED")
        eventually(refused, "a new RESERVE is -OVERLOADED")
        left = counter(machine, "i", "available")
        check(ask(machine, "RESERVE", "i", "a", "ID", ids["a"]) == left, "a known ID gets its answer")
        check(ask(machine, "CONFIRM", "i", "a", "ID", ids["a"]) == 1, "CONFIRM goes on")
        check(ask(machine, "RELEASE", "i", "b", "ID", ids["b"]) == left + 1, "RELEASE goes on")
        os.remove(ballast)
        eventually(lambda: not isinstance(ask(machine, "RESERVE", "i", "new"), Refusal), "it sells again when there is space")
        before = ask(machine, "ITEM", "GET", "i")
        restart(machine)
        check(ask(machine, "ITEM", "GET", "i") == before, "nothing is lost")
        check(ask(machine, "ITEM", "VERIFY", "*") == [], "the law holds")


def a_disk_that_hangs_refuses_only_new_units(server, folder, shim):
    machine = machine_of(server, folder, "--slow-flush-max 200ms")
    machine.options.shim = shim
    try:
        machine.start(faults="write_durable:*:6:delay=3000")
        ask(machine, "ITEM", "CREATE", "i", "STOCK", 10**6, "LIMIT", 0)
        replies = []
        buyer = threading.Thread(target=lambda: replies.extend(ask(machine, "RESERVE", "i", n) for n in range(12)))
        buyer.start()  # one of its writes hangs
        with Connection(machine.address) as other:
            eventually(lambda: b"has not finished a write" in other.ask("INFO"), "INFO says that a write hangs")
            reply = other.ask("RESERVE", "i", "new")
            check(isinstance(reply, Refusal) and reply.text.startswith("OVERLOADED"), f"a new RESERVE is refused: {reply}")
            check(buyer.is_alive(), "it is told so while the write still hangs")
            buyer.join()
            check(sum(isinstance(reply, int) for reply in replies) >= 1, "what waited is answered when the write is done")
            eventually(lambda: isinstance(other.ask("RESERVE", "i", "new"), int), "then it sells again")
    finally:
        machine.remove()


def the_first_write_of_the_log_fails(server, folder, shim):
    machine = machine_of(server, folder)
    machine.options.shim = shim
    try:
        for fault in ("write_durable:*:1:EIO:sticky", "write_durable:*:1:ENOSPC:sticky", "write_durable:*:1:short:sticky"):
            machine.spawn(faults=fault)
            check(machine.exit_status(PATIENCE_SECONDS) == 74, f"{fault}: exit status {machine.process.poll()}, {machine.output_tail()!r}")
        machine.start()
        check(isinstance(ask(machine, "ITEM", "CREATE", "i", "STOCK", 1), str), "it starts by itself when the disk writes again")
    finally:
        machine.remove()


# Directories


def refusal_to_start(machine):
    """What the server says when it does not start, and its exit status."""
    machine.spawn()
    status = machine.exit_status(PATIENCE_SECONDS)
    check(status not in (None, 0), f"it refuses to start, exit status {status}")
    return machine.output_tail()


def a_second_server_refuses(server, folder):
    with running(server, folder) as machine:
        ask(machine, "ITEM", "CREATE", "i", "STOCK", 1)
        second = machine_of(server, folder)
        first_data, second.data = second.data, machine.data
        try:
            said = refusal_to_start(second)
            check("lock" in said.lower() or "another" in said.lower(), f"it says why: {said!r}")
        finally:
            second.data = first_data
            second.remove()
        check(ask(machine, "RESERVE", "i", "u") == 0, "the first one serves on")


def an_empty_directory_is_a_question(server, folder):
    with running(server, folder) as machine:
        ask(machine, "ITEM", "CREATE", "i", "STOCK", 1)
        machine.kill()
        os.rename(machine.data, machine.data + ".away")
        os.mkdir(machine.data)
        machine.options.flags = "--require-data"
        refusal_to_start(machine)
        check(os.listdir(machine.data) == [], "refused with --require-data, and nothing is written")
        machine.options.flags = ""
        machine.start()
        check("holds no log" in machine.output_tail(), "without it a new log begins, with a warning")
        check(isinstance(ask(machine, "ITEM", "GET", "i"), Refusal), "and it is empty")


CASES = (boot_time_while_down_counts, wall_time_counts_after_a_reboot, a_long_stop_holds_returns,
         a_full_disk_refuses_only_new_units, a_disk_that_hangs_refuses_only_new_units,
         the_first_write_of_the_log_fails, a_second_server_refuses, an_empty_directory_is_a_question)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--shim", required=True, help="path of libholdfast_shim.so")
    parser.add_argument("--folder", default=None, help="where temporary folders are made")
    args = parser.parse_args()
    CHOSEN.shards = args.shards
    if os.geteuid() != 0:
        sys.exit("system_test.py: mounting and namespaces need root")
    server, failed, passed = os.path.abspath(args.server), 0, 0
    for case in CASES:
        title = case.__name__.replace("_", " ")
        if args.only not in title:
            continue
        with tempfile.TemporaryDirectory(prefix="holdfast-system-", dir=args.folder) as folder:
            try:
                case(server, folder, *([os.path.abspath(args.shim)] if "shim" in inspect.signature(case).parameters else []))
                passed += 1
                print(f"ok    {title}", flush=True)
            except Exception as error:  # pylint: disable=broad-except
                failed += 1
                print(f"FAIL  {title}: {type(error).__name__}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
