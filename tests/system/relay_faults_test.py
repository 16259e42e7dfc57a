#!/usr/bin/env python3
"""holdfast-relay when its database or its server fail under it: nothing lost, nothing twice, and it goes on by itself.

usage: relay_faults_test.py --server build/release/bin/holdfastd --relay build/release/bin/holdfast-relay --only commit
"""
import os
import shutil
import pathlib
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "services"))
from cases import arguments, run_cases  # noqa: E402
from cutting_proxy import CuttingProxy  # noqa: E402
from relay_bench import AgainServer, Postgres, Relay, audit, caught_up, check, durable_lsn, migrated, until  # noqa: E402
from relay_test import Busy, Programs, ask_all, ready  # noqa: E402

PACE = 0.02  # seconds between a client's requests: a backlog is not what these cases are about


def cursor(database):
    return int(database.value("SELECT coalesce(max(lsn), 0) FROM holdfast_cursor"))


def goes_on(database, relay, seconds=60):
    """Waits until it writes something more."""
    before = cursor(database)
    until(lambda: cursor(database) > before, "it goes on", lambda: relay.output()[-500:], seconds=seconds)


def connections_to(pid, port):
    """Established ones of a process."""
    sockets = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            sockets.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    rows = [line.split() for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return [row for row in rows if f"socket:[{row[9]}]" in sockets and row[3] == "01" and int(row[2].split(":")[1], 16) == port]


def tries_again(database):
    """Waits until two more of its transactions have failed: the first may be one of before that is counted late."""
    def failed():
        return int(database.value("SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()"))
    before = failed()
    until(lambda: failed() > before + 1, "it tries again")


def whole(server, database, relay):
    """What every case ends with."""
    caught_up(server, database, relay)
    check(audit(database) == [], "sums, gaps, states", audit(database))
    check(database.value("SELECT count(*) FROM holdfast_parked") == "0", "nothing is parked")
    check(relay.process.poll() is None, "it never ended", relay.output()[-500:])
    relay.stop()


def begun(programs, folder, database, server, *, port=None):
    migrated(programs.relay, database)
    ask_all(server, [("ITEM", "CREATE", "item:1", "STOCK", 10_000_000)])
    return Relay(programs.relay, folder, server, f"postgres={database.url(port=port)}")


def cut_around_a_commit(programs, folder):
    with Postgres() as database, CuttingProxy(database.port) as proxy:
        server = ready(programs, folder)
        relay = begun(programs, folder, database, server, port=proxy.port)
        with Busy(server, pause=PACE):
            goes_on(database, relay)
            for number in range(programs.cuts):
                for mode in ("before", "during", "after"):
                    made = proxy.cuts
                    proxy.cut(mode)
                    until(lambda: proxy.cuts > made, "a commit is cut", mode, number, lambda: relay.output()[-500:])
                    # Now and then the next commit is cut as well: that of taking the sink over again.
                    if number % 4 != 3 or mode == "after":
                        goes_on(database, relay)
        whole(server, database, relay)
        check("whether the commit took place is not known" in relay.output(), "it was not sure", relay.output()[-500:])
        print(f"  {proxy.cuts} cuts, {cursor(database)} records", flush=True)
        server.stop()


def a_database_that_is_away(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        relay = begun(programs, folder, database, server)
        with Busy(server, pause=PACE):
            goes_on(database, relay)
            database.stop()
            lsn = durable_lsn(server)
            threading.Event().wait(programs.away)
            check(durable_lsn(server) > lsn, "the server does not care")
            database.start()
            goes_on(database, relay)
            # Killed and restarted while it is being written to.
            for _ in range(programs.restarts):
                database.kill()
                database.start()
                goes_on(database, relay)
            # And ended by its administrator, as clients see that.
            database.stop(signal.SIGINT)
            database.start()
            goes_on(database, relay)
        whole(server, database, relay)
        server.stop()


def killed_in_the_middle_of_a_commit(programs, folder):
    # Every commit takes a while, in which it is on its way to the disk.
    with Postgres(["commit_delay = 50000", "commit_siblings = 0"]) as database, CuttingProxy(database.port) as proxy:
        server = ready(programs, folder)
        relay = begun(programs, folder, database, server, port=proxy.port)
        with Busy(server, pause=PACE):
            for number in range(2 * programs.restarts):
                goes_on(database, relay)
                made = proxy.cuts
                proxy.cut("pass")
                until(lambda: proxy.cuts > made, "a commit begins", number, lambda: relay.output()[-500:])
                threading.Event().wait(0.01 * (number % 8))
                database.kill()
                database.start()
        whole(server, database, relay)
        server.stop()


def a_disk_that_is_full(programs, folder):
    check(os.geteuid() == 0, "only root can mount a small disk")
    with Postgres() as database:
        disk = os.path.join(database.folder, "disk")
        os.mkdir(disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=16m,uid={database.owner.pw_uid},mode=0700", "tmpfs", disk], check=True)
        try:
            server = ready(programs, folder)
            relay = begun(programs, folder, database, server)
            database.run(f"CREATE TABLESPACE small LOCATION '{disk}'")
            database.run("ALTER TABLE flash_sale_journal SET TABLESPACE small")
            with Busy(server, pause=PACE):
                goes_on(database, relay)
                filler = pathlib.Path(disk, "filler")
                with open(filler, "wb", buffering=0) as file:
                    try:
                        while file.write(bytes(4096)):
                            pass
                    except OSError:
                        pass
                until(lambda: "retrying: postgres: could not extend file" in relay.output(), "it says what fails", lambda: relay.output()[-500:])
                at = cursor(database)
                tries_again(database)
                check(cursor(database) == at, "nothing is written without the journal")
                filler.unlink()
                goes_on(database, relay)
            whole(server, database, relay)
            server.stop()
        finally:
            database.stop()
            subprocess.run(["umount", disk], check=True)


def restored_from_a_backup_of_before(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        relay = begun(programs, folder, database, server)
        with Busy(server, pause=PACE):
            goes_on(database, relay)
            backup = database.base_backup(os.path.join(database.folder, "backup"))
            saved = cursor(database)
            goes_on(database, relay)
            late = cursor(database)
            database.stop(signal.SIGQUIT)
            # The relay meets the restored server at the old one's address.
            relay.process.send_signal(signal.SIGSTOP)
            shutil.rmtree(database.data)
            os.rename(os.path.join(backup, "data"), database.data)
            database.start()
            check(cursor(database) <= saved < late, "the cursor stepped back", cursor(database), saved, late)
            relay.process.send_signal(signal.SIGCONT)
            until(lambda: cursor(database) > late, "it sends again what is missing", lambda: relay.output()[-500:])
        whole(server, database, relay)
        server.stop()


def deadlocks_and_locks_that_take_too_long(programs, folder):
    with Postgres(["deadlock_timeout = '100ms'"]) as database:
        server = ready(programs, folder)
        relay = begun(programs, folder, database, server)
        with Busy(server, pause=PACE):
            goes_on(database, relay)
            for attempt in range(programs.restarts):
                # A person's transaction has the item's row and then wants the cursor's: with the relay, a deadlock. It may be
                # either that dies; the relay must go on.
                try:
                    database.run("BEGIN; SELECT 1 FROM flash_sale_item WHERE item_id = 'item:1' FOR UPDATE; SELECT pg_sleep(0.3);"
                                 "SELECT 1 FROM holdfast_cursor FOR UPDATE; COMMIT")
                except RuntimeError as error:
                    check("deadlock detected" in str(error), "nothing else fails", str(error), attempt)
                goes_on(database, relay)
            # A trigger that fails as a serialization failure does, for a while; then as a full disk.
            for state in ("40001", "53100", "57014"):
                said = relay.output().count("retrying: postgres: made")
                database.run(f"CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'made' USING ERRCODE = '{state}'; END $$;"
                             "CREATE TRIGGER fail BEFORE INSERT ON flash_sale_journal EXECUTE FUNCTION fail()")
                until(lambda: relay.output().count("retrying: postgres: made") > said, "it says what fails", state, lambda: relay.output()[-500:])
                at = cursor(database)
                tries_again(database)
                check(cursor(database) == at, "nothing is written without the journal")
                database.run("DROP TRIGGER fail ON flash_sale_journal")
                goes_on(database, relay)
        whole(server, database, relay)
        server.stop()


def ended_while_the_database_hangs(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        relay = begun(programs, folder, database, server)
        with Busy(server, pause=PACE):
            for stopped in ("backend", "all", "backend"):
                goes_on(database, relay)
                found = database.run("SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast-relay'")
                hung = [int(pid) for pid, in found] if stopped == "backend" else [database.process.pid, *database.children()]
                for pid in hung:
                    os.kill(pid, signal.SIGSTOP)
                try:
                    lsn = durable_lsn(server)
                    until(lambda: durable_lsn(server) > lsn + 50, "the relay has something to write, and waits for an answer")
                    began = time.monotonic()
                    relay.process.terminate()
                    status = relay.wait(30)
                    took = time.monotonic() - began
                    check(status == 0 and took < 10, "SIGTERM ends it", stopped, status, took, relay.output()[-500:])
                    check("is cut off" in relay.output(), "it says so", stopped, took, relay.output()[-500:])
                finally:
                    for pid in hung:
                        os.kill(pid, signal.SIGCONT)
                relay = Relay(programs.relay, folder, server, f"postgres={database.url()}")
        whole(server, database, relay)
        server.stop()


def ended_while_the_server_hangs(programs, folder):
    with Postgres() as database:
        server = ready(programs, folder)
        relay = begun(programs, folder, database, server)
        caught_up(server, database, relay)
        for starts in (False, True):
            os.kill(server.process.pid, signal.SIGSTOP)
            try:
                if starts:
                    # It is connected, and nobody answers.
                    relay = Relay(programs.relay, folder, server, f"postgres={database.url()}")
                    until(lambda: connections_to(relay.process.pid, server.port), "it connects")
                began = time.monotonic()
                relay.process.terminate()
                status = relay.wait(30)
                took = time.monotonic() - began
                check(status == 0 and took < 10, "SIGTERM ends it", starts, status, took, relay.output()[-500:])
                # It may have been between two requests.
                check("is cut off" in relay.output() or took < 1 and not starts, "it says so", starts, took, relay.output()[-500:])
            finally:
                os.kill(server.process.pid, signal.SIGCONT)
        relay = Relay(programs.relay, folder, server, f"postgres={database.url()}")
        ask_all(server, [("RESERVE", "item:1", "u")])
        whole(server, database, relay)
        server.stop()


def a_server_killed_under_load(programs, folder):
    with Postgres() as database:
        server = AgainServer(programs.server, folder, shim=programs.shim, undo=programs.undo)
        server.ready()
        relay = begun(programs, folder, database, server)
        with Busy(server, pause=PACE):
            for number in range(programs.restarts):
                goes_on(database, relay)
                server.again(seed=number)
        whole(server, database, relay)
        server.stop()


CASES = [cut_around_a_commit, a_database_that_is_away, killed_in_the_middle_of_a_commit, a_disk_that_is_full, restored_from_a_backup_of_before, deadlocks_and_locks_that_take_too_long,
         ended_while_the_database_hangs, ended_while_the_server_hangs, a_server_killed_under_load]


def main():
    parser = arguments(__doc__)
    parser.add_argument("--relay", required=True, help="path of holdfast-relay")
    parser.add_argument("--cuts", type=int, default=5, help="of each kind")
    parser.add_argument("--restarts", type=int, default=2, help="of a service under load")
    parser.add_argument("--away", type=int, default=5, help="seconds for which the database is stopped")
    parser.add_argument("--shim", help="libholdfast_shim.so: the server's power is cut as well")
    parser.add_argument("--undo", help="holdfast-undo")
    options = parser.parse_args()
    programs = Programs(os.path.abspath(options.server), os.path.abspath(options.relay))
    programs.shim, programs.undo = options.shim, options.undo
    programs.cuts, programs.restarts, programs.away = options.cuts, options.restarts, options.away
    run_cases(CASES, options, program=programs)


if __name__ == "__main__":
    main()
