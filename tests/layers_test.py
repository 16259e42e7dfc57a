#!/usr/bin/env python3
"""Holds the tree against style.md's rules that a compiler does not know: layers, heavy headers, sizes, leftovers.

usage: layers_test.py            fails and says where
       layers_test.py --report   also the longest files and functions
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.chdir(ROOT)

# A folder may include from these; tests may see everything.
ALLOWED = {
    "protocol": {"protocol"},
    "storage": {"storage", "protocol"},
    "replication": {"replication", "storage", "protocol"},
    "server": {"server", "storage", "protocol"},
    "tools": {"tools", "replication", "storage", "protocol"},
}
# One line a reason: what of another folder a folder may see all the same.
ALLOWED_ALSO = {
    "tools": {"server/options.def", "server/metrics.def"},  # the manual is made from these tables
}
HEAVY = re.compile(r"#include <(boost/asio|boost/beast|librdkafka|pqxx|prometheus|CLI|toml\+\+|spdlog)")
# Files that may be long, each with its reason.
LONG = {}
FILE_LINES_MAX = 450
FUNCTION_LINES_MAX = 70
# In pieces, so that these lines are none themselves.
LEFTOVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|for n" r"ow|not impl" r"emented)\b")
MACHINE_PATH = re.compile(r"(/wo" r"rk/|/ro" r"ot/|/ho" r"me/[a-z])")
SLEEP = re.compile(r"\b(sle" r"ep_for|sle" r"ep_until|usl" r"eep|time\.sle" r"ep)\b|^\s*sle" r"ep [0-9]")
TEXT = {".h", ".cc", ".c", ".def", ".sh", ".py", ".txt", ".md", ".cmake", ".json"}
INCLUDE = re.compile(r'#include "([^"]+)"')

problems = []


def problem(path, line, text):
    problems.append(f"{path}:{line}: {text}")


def tracked():
    names = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True).stdout.split("\0")
    return [path for path in map(pathlib.PurePath, filter(None, names)) if pathlib.Path(path).is_file()]


def check_text(path, lines):
    for number, line in enumerate(lines, 1):
        if LEFTOVER.search(line):
            problem(path, number, f"a leftover: {line.strip()[:80]}")
        if MACHINE_PATH.search(line):
            problem(path, number, f"a path of one machine: {line.strip()[:80]}")
        if path.parts[0] == "tests" and SLEEP.search(line):
            problem(path, number, f"a test that sleeps: {line.strip()[:80]}")


def check_includes(path, lines):
    folder = path.parts[0]
    doctest_at, first = None, True
    for number, line in enumerate(lines, 1):
        if path.suffix == ".h" and HEAVY.match(line):
            problem(path, number, f"a heavy library in a header: {line}")
        include = INCLUDE.match(line)
        if not include:
            continue
        name = include.group(1)
        if not (ROOT / name).is_file() and not name.endswith(".def"):
            problem(path, number, f"{name} is not a path from the root")
        if folder in ALLOWED and name.split("/")[0] not in ALLOWED[folder] and name not in ALLOWED_ALSO.get(folder, ()):
            problem(path, number, f"{folder} must not include {name}")
        own = str(path.with_suffix(".h"))
        if first and path.suffix == ".cc" and (ROOT / own).is_file() and name != own:
            problem(path, number, f"the first include is {own}")
        if doctest_at and not name.startswith("tests/"):
            problem(path, number, "tests/doctest.h comes after every header of the project")
        if name == "tests/doctest.h":
            doctest_at = number
        first = False


def functions(lines):
    """Roughly: from a line in column 0 to 2 that ends with an opened brace to the brace in the same column."""
    start = None
    for number, line in enumerate(lines, 1):
        if start is None:
            opened = re.match(r"^( {0,2})[A-Za-z_~].*\)[^;]*\{$", line)
            if opened and not re.match(r"\s*(namespace|class|struct|enum|if|for|while|switch)\b", line):
                start = (number, opened.group(1), line.strip()[:60])
        elif line.startswith(start[1] + "}"):
            yield number - start[0] + 1, start[0], start[2]
            start = None


def check_header(path, lines):
    if not lines[0].startswith("//"):
        problem(path, 1, "a header begins with what it is, which thread runs it, what it promises")
    if "#pragma once" not in lines:
        problem(path, 1, "no #pragma once")


def check_built(path):
    """What no CMakeLists.txt names is neither compiled nor, a header, verified to compile alone."""
    listing = pathlib.Path(path.parent / "CMakeLists.txt")
    stem = re.sub(r"_(test|fuzz|bench)$", "", path.stem)
    words = re.findall(r"[\w.]+", listing.read_text()) if listing.is_file() else []
    if path.name not in words and (path.suffix != ".cc" or stem not in words):
        problem(path, 1, f"not named in {listing}")


def check_promises(path, lines, tests):
    """Every bullet under "## Promises" names a test that proves it."""
    inside, bullets = False, []
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            inside = line.lstrip("# ").lower().startswith("promises")
        elif inside and line.startswith("- "):
            bullets.append([number, line])
        elif inside and bullets and line.startswith("  "):
            bullets[-1][1] += line
    for number, text in bullets:
        named = re.findall(r"`(\w+_test)`", text)
        if not named:
            problem(path, number, "a promise that names no test")
        for name in named:
            if name not in tests:
                problem(path, number, f"{name} is no test")


def check_kinds():
    """The README's tables of differences are those of the program."""
    for column, macro in (("| difference |", "HOLDFAST_DIFFERENCE"), ("| difference to a topic |", "HOLDFAST_TOPIC_DIFFERENCE")):
        check_kinds_of(column, macro)


def check_kinds_of(column, macro):
    table = pathlib.Path("README.md").read_text().split(column)[-1].split("\n\n")[0]
    told = [kind for row in table.split("\n") if row.startswith("| `") for kind in re.findall(r"`(\w+)`", row.split("|")[1].split(":")[0])]
    known = re.findall(rf'^{macro}\(\w+, "(\w+)"', pathlib.Path("replication/difference_kinds.def").read_text(), re.M)
    if told != known:
        problem("README.md", 1, f"its differences are {told}, difference_kinds.def has {known}")


def main():
    check_kinds()
    files = tracked()
    tests = {path.stem for path in files if path.parts[0] == "tests"}
    for path in files:
        if path.name == "CMakeLists.txt":
            tests.update(re.findall(r"holdfast_(?:script_|shards_)?test\((\w+)", pathlib.Path(path).read_text()))
    lengths, bodies = [], []
    for path in files:
        if path.suffix not in TEXT and path.parts[0] != ".ci":
            continue
        lines = pathlib.Path(path).read_text().split("\n")
        check_text(path, lines)
        if path.name == "README.md":
            check_promises(path, lines, tests)
        if path.suffix not in {".h", ".cc", ".c"}:
            continue
        check_includes(path, lines)
        if path.suffix == ".h":
            check_header(path, lines)
        if path.suffix != ".h" or path.parts[0] != "tests":
            check_built(path)
        lengths.append((len(lines) - 1, str(path)))
        bodies += [(size, f"{path}:{at}: {what}") for size, at, what in functions(lines)]
        if len(lines) - 1 > FILE_LINES_MAX and str(path) not in LONG:
            problem(path, 1, f"{len(lines) - 1} lines; at most {FILE_LINES_MAX}, or a reason in {pathlib.Path(__file__).name}")
    for size, what in bodies:
        if size > FUNCTION_LINES_MAX + 1:
            problems.append(f"{what}: {size} lines")
    if "--report" in sys.argv:
        for title, rows in (("files", lengths), ("functions", bodies)):
            print(f"The longest {title}:")
            for size, what in sorted(rows, reverse=True)[:10]:
                print(f"  {size:5} {what}")
    for text in problems:
        print(text)
    print(f"{len(files)} tracked files, {len(problems)} against the rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
