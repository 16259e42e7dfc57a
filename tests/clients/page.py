#!/usr/bin/env python3
"""Writes MATRIX.md, the page of client libraries, from matrix.txt and the examples.

usage: page.py            writes it
       page.py --check    fails when it is not what it would write
"""
import sys

import table

PAGE = table.HERE / "MATRIX.md"
LANGUAGES = {".mjs": "js", ".py": "python", ".c": "c", ".cpp": "cpp", ".go": "go", ".java": "java", ".rs": "rust"}
HEAD = """<!-- Made by tests/clients/page.py from matrix.txt and the examples; do not edit. -->
# Client libraries

Each of these was run against a real server with its default protocol by `tests/clients/run.py`, which fails when a cell
of this table is no longer true.

- **connect**, **close**: without an error event.
- **reserve**: RESERVE, the same again with the same ID (success, nothing taken twice), and again without an ID (-2).
- **pipeline**: 100 RESERVE in one go, replies in order. **release**: RELEASE.
- **notices**: `SUBSCRIBE holdfast:items`; first what is not selling, then what changes.
- **reconnect**, **resubscribe**: the server was stopped and started; the same client object reserves again, and hears notices again.
- **stream**: the library's own XREAD waits at the end of `log`, sees a sale as it goes on, and after a restart goes on behind the
  last id that it saw. `-` is not tried.
- **lost, ID** and **lost, no ID**: the connection is cut after RESERVE has reached the server and before the reply has
  reached the client. `client` means that the library sends the request again by itself, `caller` that the call fails
  and was made again. Then the answer. One unit was taken in every case; only with an `ID` does the caller learn that it is his.

`option` means yes, with what the column "needs" names, and no without it.

"""


def matrix(rows):
    lines = ["| client | version | " + " | ".join(table.CELLS) + " | needs |", "|---" * (len(table.CELLS) + 3) + "|"]
    for row in rows:
        lines.append(f"| [{row.name}](#{row.folder}) | {row.version} | " + " | ".join(row.cells.values()) + f" | {row.option} |")
    return "\n".join(lines) + "\n\n"


def notes(rows):
    return "\n".join(f"- **{row.name}**: {note}" for row in rows for note in row.notes) + "\n\n"


def example(folder):
    path = next(path for path in sorted((table.HERE / folder).iterdir()) if path.stem.lower() == "example")
    return f"### {folder}\n\n```{LANGUAGES[path.suffix]}\n{path.read_text()}```\n"


def page():
    rows = table.read()
    examples = "\n".join(example(folder) for folder in dict.fromkeys(row.folder for row in rows))
    return HEAD + matrix(rows) + notes(rows) + "## Examples\n\nEach ran as it stands; `tests/clients/FOLDER` also has what builds it.\n\n" + examples


def main():
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != page():
            sys.exit(f"{PAGE.name} is stale; tests/clients/page.py writes it")
        print(f"{PAGE.name} is fresh")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        PAGE.write_text(page())


if __name__ == "__main__":
    main()
