"""The shim and holdfast-undo, tried with a small program: what a power cut may and may not leave, and the faults.

python3 shim_test.py --shim libholdfast_shim.so --undo holdfast-undo --probe shim_probe --posix-tests PROGRAM [unittest options]
"""
import argparse
import collections
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

TOOLS = None
SECTORS = 8  # in a block of 4 KiB


class Folder:
    """A root for the program and a side folder for the shim, next to each other."""

    def __init__(self):
        self.top = os.path.abspath(tempfile.mkdtemp(prefix="holdfast-shim-", dir=TOOLS.folder))
        self.root, self.side = os.path.join(self.top, "root"), os.path.join(self.top, "side")
        os.mkdir(self.root), os.mkdir(self.side)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top)

    def environment(self, faults=""):
        return {**os.environ, "LD_PRELOAD": os.path.abspath(TOOLS.shim), "HOLDFAST_SHIM_ROOT": self.root,
                "HOLDFAST_SHIM_DIR": self.side, "HOLDFAST_SHIM_FAULTS": faults}

    def run(self, *steps, faults=""):
        """The lines the probe prints; it ends by itself or by its own SIGKILL."""
        done = subprocess.run([TOOLS.probe, self.root, *steps], env=self.environment(faults), capture_output=True, text=True)
        assert done.returncode in (0, -9), (done.returncode, done.stderr)
        return done.stdout.splitlines()

    def cut_power(self, seed, *options):
        done = subprocess.run([TOOLS.undo, "--root", self.root, "--side", self.side, "--seed", str(seed), *options],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def names(self):
        return sorted(os.listdir(self.root))

    def sectors(self, name):
        with open(os.path.join(self.root, name), "rb") as file:
            return list(file.read()[::512])

    def counters(self):
        with open(os.path.join(self.side, "counters"), "rb") as file:
            slots = struct.iter_unpack("<Q56s", file.read())
            return {name.rstrip(b"\0").decode(): count for count, name in slots if count}


def still_running_after(process, seconds):
    try:
        raise AssertionError(f"ended by itself: {process.wait(seconds)}")
    except subprocess.TimeoutExpired:
        pass


PREPARE = ("create:a", "write:a:0:2:1", "sync:a", "syncdir")  # two durable blocks of ones


class Bytes(unittest.TestCase):
    def outcomes(self, *steps, seeds=40, options=(), faults=""):
        """How often each content of file a came out."""
        seen = collections.Counter()
        for seed in range(seeds):
            with Folder() as folder:
                folder.run(*PREPARE, *steps, faults=faults)
                folder.cut_power(seed, *options)
                seen[tuple(folder.sectors("a"))] += 1
        return seen

    def test_what_was_synced_stays(self):
        self.assertEqual(list(self.outcomes("write:a:0:2:2", "sync:a", "kill", seeds=10)), [(2,) * 16])

    def test_what_was_not_synced_is_kept_lost_or_zeroed_by_sector(self):
        seen = self.outcomes("write:a:0:2:2", "kill")
        self.assertEqual(set().union(*seen), {0, 1, 2})
        self.assertGreater(len(seen), 5)
        self.assertIn((1,) * 16, seen)
        self.assertIn((2,) * 16, seen)

    def test_garbled_sectors_only_when_asked_for(self):
        seen = self.outcomes("write:a:0:2:2", "kill", options=("--garble",))
        self.assertFalse(set().union(*seen) <= {0, 1, 2})

    def test_a_durable_write_stays_and_the_one_in_flight_is_torn(self):
        seen = self.outcomes("close:a", "durable:a", "write:a:0:1:2", "write:a:1:1:3", faults="write_durable:a:2:kill")
        self.assertEqual({content[:SECTORS] for content in seen}, {(2,) * SECTORS})
        self.assertGreater(len({content[SECTORS:] for content in seen}), 5)

    def test_a_sector_written_twice_may_hold_either_write(self):
        seen = self.outcomes("write:a:0:1:2", "write:a:0:1:3", "kill", seeds=60)
        self.assertLessEqual({1, 2, 3}, {content[0] for content in seen})

    def test_a_file_that_grew_may_have_any_of_its_sizes(self):
        seen = self.outcomes("write:a:2:1:2", "write:a:3:1:2", "kill")
        self.assertEqual({len(content) for content in seen}, {16, 24, 32})

    def test_a_cut_file_may_be_whole_again(self):
        seen = self.outcomes("truncate:a:1", "kill")
        self.assertEqual({len(content) for content in seen}, {8, 16})
        self.assertIn((1,) * 16, seen)

    def test_what_one_process_left_the_next_can_sync(self):
        with Folder() as folder:
            folder.run(*PREPARE, "write:a:0:2:2", "kill")
            folder.run("open:a", "sync:a", "kill")
            folder.cut_power(1, "--manner", "lost")
            self.assertEqual(folder.sectors("a"), [2] * 16)

    def test_a_journal_record_that_the_kill_cut_short_hides_nothing_after_it(self):
        with Folder() as folder:
            folder.run(*PREPARE, "write:a:0:2:2", "kill")
            with open(os.path.join(folder.side, "journal"), "r+b") as journal:
                begin = journal.read(60)
                journal.seek(0, os.SEEK_END)
                journal.write(begin)
            folder.run("open:a", "sync:a", "kill")
            folder.cut_power(1, "--manner", "lost")
            self.assertEqual(folder.sectors("a"), [2] * 16)

    def test_after_a_cut_nothing_is_pending(self):
        with Folder() as folder:
            folder.run(*PREPARE, "write:a:0:2:2", "kill")
            folder.cut_power(1, "--manner", "kept")
            self.assertIn("open: 0 sectors, 0 sizes, 0 names", folder.cut_power(1, "--manner", "lost"))
            self.assertEqual(folder.sectors("a"), [2] * 16)


class Names(unittest.TestCase):
    def outcomes(self, *steps, seeds=30):
        seen = collections.Counter()
        for seed in range(seeds):
            with Folder() as folder:
                folder.run(*PREPARE, *steps)
                folder.cut_power(seed)
                seen[tuple(folder.names())] += 1
        return set(seen)

    def test_a_rename_leaves_the_old_or_the_new_name_never_neither(self):
        self.assertEqual(self.outcomes("rename:a:b", "kill"), {("a",), ("b",)})
        self.assertEqual(self.outcomes("rename:a:b", "syncdir", "kill", seeds=8), {("b",)})

    def test_a_replaced_file_may_come_back(self):
        with Folder() as folder:
            folder.run(*PREPARE, "create:b", "write:b:0:1:7", "sync:b", "syncdir", "rename:b:a", "kill")
            folder.cut_power(1, "--manner", "lost")
            self.assertEqual((folder.sectors("a"), folder.sectors("b")), ([1] * 16, [7] * 8))

    def test_a_new_name_may_vanish_even_if_the_file_was_synced(self):
        self.assertEqual(self.outcomes("create:b", "sync:b", "kill"), {("a",), ("a", "b")})

    def test_an_unlinked_file_may_come_back_whole(self):
        self.assertEqual(self.outcomes("unlink:a", "kill"), {(), ("a",)})
        self.assertEqual(self.outcomes("unlink:a", "syncdir", "kill", seeds=8), {()})
        with Folder() as folder:
            folder.run(*PREPARE, "unlink:a", "kill")
            folder.cut_power(1, "--manner", "lost")
            self.assertEqual(folder.sectors("a"), [1] * 16)

    def test_a_kill_during_a_rename_is_undone_too(self):
        seen = set()
        for seed in range(20):
            with Folder() as folder:
                folder.run(*PREPARE, "rename:a:b", faults="rename:b:1:kill")
                folder.cut_power(seed)
                seen.add(tuple(folder.names()))
        self.assertEqual(seen, {("a",), ("b",)})

    def test_saved_files_go_when_the_directory_is_synced(self):
        with Folder() as folder:
            folder.run(*PREPARE, "unlink:a", "syncdir", "kill")
            self.assertEqual([name for name in os.listdir(folder.side) if name.startswith("saved")], [])


class Faults(unittest.TestCase):
    def test_the_nth_call_fails_once_or_from_then_on(self):
        with Folder() as folder:
            lines = folder.run(*PREPARE, "write:a:0:1:2", "write:a:0:1:3", "rename:a:b", "rename:a:b",
                               faults="write:a:2:ENOSPC;rename:*:1:EIO:sticky")
            self.assertEqual([line.split()[-1] for line in lines[4:]], ["ENOSPC", "ok", "EIO", "EIO"])

    def test_short_writes(self):
        with Folder() as folder:
            lines = folder.run(*PREPARE, "write:a:0:2:2", "write:a:0:2:3", faults="write:a:2:short;write:a:3:EIO+half")
            self.assertEqual([line.split()[1:] for line in lines[4:]], [["4096", "ok"], ["-1", "EIO"]])
            self.assertEqual(folder.sectors("a"), [3] * 8 + [1] * 8)

    def test_a_failed_flush_then_succeeds_and_has_made_nothing_durable(self):
        with Folder() as folder:
            lines = folder.run(*PREPARE, "write:a:0:2:2", "sync:a", "sync:a", "kill", faults="sync:a:2:EIO")
            self.assertEqual([line.split()[-1] for line in lines[5:]], ["EIO", "ok"])
            self.assertEqual(folder.sectors("a"), [2] * 16)  # the page cache shows what is not there
            folder.cut_power(1, "--manner", "kept")
            self.assertEqual(folder.sectors("a"), [1] * 16)

    def test_a_failed_flush_of_a_removed_file_is_not_that_of_the_next_file_in_its_place(self):
        for _ in range(20):  # until the file system gives the second file the inode of the first, as most do at once
            with Folder() as folder:
                folder.run(*PREPARE, "write:a:0:2:2", "sync:a", faults="sync:a:2:EIO")
                inode = os.stat(os.path.join(folder.root, "a")).st_ino
                folder.run("unlink:a", "syncdir")
                folder.run("create:b", "write:b:0:2:3", "sync:b", "syncdir", "kill")
                same = os.stat(os.path.join(folder.root, "b")).st_ino == inode
                folder.cut_power(1, "--manner", "lost")
                self.assertEqual(folder.sectors("b"), [3] * 16)
                if same:
                    return

    def test_direct_reads_after_a_failed_flush_show_the_device(self):
        with Folder() as folder:
            folder.run(*PREPARE, "write:a:0:2:2", "sync:a", faults="sync:a:2:EIO")
            self.assertEqual(folder.run("open:a", "read:a")[1].split(), ["2"] * 16)
            self.assertEqual(folder.run("direct:a", "read:a")[1].split(), ["1"] * 16)

    def test_delay(self):
        with Folder() as folder:
            start = time.monotonic()
            folder.run(*PREPARE, faults="sync:a:1:delay=300")
            self.assertGreater(time.monotonic() - start, 0.3)

    def test_counters_survive_the_kill_and_add_up(self):
        with Folder() as folder:
            folder.run(*PREPARE, "create:segment-12.log", "kill")
            folder.run("open:a", "sync:a", "kill")
            found = folder.counters()
            self.assertEqual(found, {"create a": 1, "write a": 1, "sync a": 2, "open root": 1, "sync_directory root": 1,
                                     "close root": 1, "create segment-#.log": 1, "open a": 1})

    def test_a_rule_that_is_not_understood_stops_the_program(self):
        with Folder() as folder:
            done = subprocess.run([TOOLS.probe, folder.root, "create:a"], env=folder.environment("wirte:*:1:EIO"), capture_output=True)
            self.assertEqual(done.returncode, 70)

    def test_storage_without_direct_io(self):
        """The real file system's tests again where O_DIRECT is refused: its fallbacks."""
        with Folder() as folder:
            environment = folder.environment("open_direct:*:1:EINVAL:sticky")
            done = subprocess.run([os.path.abspath(TOOLS.posix_tests)], cwd=folder.root, env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("direct: here false", done.stdout)
            self.assertIn("sync a", folder.counters())


class Threads(unittest.TestCase):
    def test_every_acknowledged_block_of_four_threads_is_there(self):
        acknowledged = 0
        for seed in range(10):
            with Folder() as folder:
                command = [TOOLS.probe, folder.root, "threads:4"]
                with subprocess.Popen(command, env=folder.environment(), stdout=subprocess.PIPE) as process:
                    process.stdout.readline()
                    still_running_after(process, 0.01 * seed)
                    process.kill()
                    lines = process.stdout.read().decode().splitlines()
                folder.cut_power(seed, "--garble")
                acknowledged += self.check(folder, [line.split() for line in lines if line.count(" ") == 2])
        self.assertGreater(acknowledged, 100)

    def check(self, folder, lines):
        for number in range(4):
            blocks = [int(line[2]) for line in lines if line[:2] == ["ack", str(number)]]
            if not blocks:
                continue
            found = folder.sectors(f"thread{number}")
            last = blocks[-1]  # what comes after it is in flight; what was before may be overwritten by that
            for block in range(max(1, last - 100), last + 1):
                at = block % 128 * SECTORS
                self.assertEqual(found[at:at + SECTORS], [block % 255 + 1] * SECTORS, (number, block, last))
        return len(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for tool in ("shim", "undo", "probe"):
        parser.add_argument(f"--{tool}", required=True)
    parser.add_argument("--posix-tests", required=True)
    parser.add_argument("--folder", default=".", help="on a disk, for the files")
    TOOLS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
