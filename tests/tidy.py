"""Runs clang-tidy over sources, several at a time, and skips those that passed before with the same content.

usage: tidy.py COMPILE_COMMANDS CACHE_DIRECTORY FILE...

What a result depends on is hashed: the file, the project's headers that it includes, its compiler options, .clang-tidy
and the version of clang-tidy. A hash that passed is an empty file in the cache directory, which clones may share.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

TIDY = "clang-tidy-14"
ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# What clang does not take from g++, or what only the linker or the dependency scanner wants.
DROPPED_WITH_VALUE = {"-o", "-c", "-MT", "-MF", "-include"}
DROPPED = {"-MD", "-Winvalid-pch", "-fpch-preprocess"}
KEPT_HASHES_MAX = 20_000


def options_of(entry):
    """The compiler's options of a line of compile_commands.json, without compiler, launcher, input and outputs."""
    words = shlex.split(entry["command"])
    words = words[next(i for i, word in enumerate(words) if re.search(r"(g\+\+|gcc|clang(\+\+)?)(-\d+)?$", word)) + 1 :]
    options, skip = [], False
    for word in words:
        if skip or word in DROPPED:
            skip = False
        elif word in DROPPED_WITH_VALUE:
            skip = True
        elif not re.search(r"\.(cc|c)(\.o)?$", word):
            options.append(word)
    return options


def options_by_file(database):
    entries = json.loads(pathlib.Path(database).read_text())
    return {str(pathlib.Path(e["file"]).relative_to(ROOT)): options_of(e)
            for e in entries if pathlib.Path(e["file"]).is_relative_to(ROOT)}


def options_for(path, known):
    """A source that the release preset does not build (a fuzz target) is read with all include paths and definitions."""
    if path in known:
        return known[path]
    merged = ["-std=c++20"]
    for options in known.values():
        for at, word in enumerate(options):
            if word.startswith(("-I", "-D")) and word not in merged:
                merged.append(word)
            elif word == "-isystem" and options[at + 1] not in merged:
                merged += [word, options[at + 1]]
    return merged


def project_files(path, seen):
    """The file and what it includes of the project, in a fixed order."""
    if path in seen or not (ROOT / path).is_file():
        return seen
    seen[path] = (ROOT / path).read_bytes()
    for name in INCLUDE.findall(seen[path]):
        project_files(name.decode(), seen)
    return seen


def digest(path, options, common):
    parts = hashlib.sha256(common)
    parts.update("\0".join(options).replace(str(ROOT), "").encode())
    for name, content in sorted(project_files(path, {}).items()):
        parts.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return parts.hexdigest()


def check(path, directory):
    """What clang-tidy says, empty when it is content; and the seconds it took."""
    started = time.monotonic()
    done = subprocess.run([TIDY, "--quiet", "-p", directory, path], cwd=ROOT, capture_output=True, text=True)
    text = done.stdout.strip()
    if done.returncode != 0 and not text:
        text = done.stderr.strip()
    return text if done.returncode != 0 or text else "", time.monotonic() - started


def forget_oldest(cache):
    kept = sorted(cache.iterdir(), key=lambda file: file.stat().st_mtime)
    for file in kept[: max(0, len(kept) - KEPT_HASHES_MAX)]:
        file.unlink(missing_ok=True)


def main():
    database, cache, files = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    cache.mkdir(parents=True, exist_ok=True)
    known = options_by_file(database)
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    common = version + (ROOT / ".clang-tidy").read_bytes()
    options = {path: options_for(path, known) for path in files}
    hashes = {path: digest(path, options[path], common) for path in files}
    todo = [path for path in files if not (cache / hashes[path]).exists()]
    bad, slowest, started = [], (0.0, ""), time.monotonic()
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        entries = [{"directory": str(ROOT), "file": str(ROOT / path),
                    "arguments": ["clang++-14", *options[path], "-c", str(ROOT / path)]} for path in todo]
        (pathlib.Path(directory) / "compile_commands.json").write_text(json.dumps(entries))
        running = {pool.submit(check, path, directory): path for path in todo}
        for future in concurrent.futures.as_completed(running):
            path, (text, seconds) = running[future], future.result()
            slowest = max(slowest, (seconds, path))
            if text:
                bad.append(path)
                print(f"{path}:\n{text}", flush=True)
            else:
                (cache / hashes[path]).touch()
    forget_oldest(cache)
    told = f", slowest {slowest[1]} {slowest[0]:.1f} s" if todo else ""
    print(f"clang-tidy: {len(files)} sources, {len(files) - len(todo)} passed before, {len(todo)} read now in "
          f"{time.monotonic() - started:.0f} s{told}; {len(bad)} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
