"""The table of clients and what each is expected to do (matrix.txt)."""
import dataclasses
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "matrix.txt"
CELLS = ("RESP", "connect", "reserve", "pipeline", "release", "notices", "reconnect", "resubscribe", "close", "stream", "lost, ID", "lost, no ID")


@dataclasses.dataclass
class Row:
    """A client of the matrix: a library at one version, its folder, and the cells it must reach."""
    name: str
    folder: str
    library: str
    version: str
    option: str
    cells: dict
    notes: list

    @property
    def source(self):
        return HERE / self.folder


def read():
    """The rows in the order of the file. Lines: `#` comments, rows with `|` between cells, `NAME: a note`."""
    rows, header = {}, None
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if "|" not in line:
            name, _, note = line.partition(": ")
            rows[name].notes.append(note)
            continue
        fields = [field.strip() for field in line.split("|")]
        if header is None:
            header = fields
            expected = ["client", "folder", "library", "version", "option", *CELLS]
            if header != expected:
                raise SystemExit(f"{TABLE}:{number}: the columns are {' | '.join(expected)}")
            continue
        if len(fields) != len(header):
            raise SystemExit(f"{TABLE}:{number}: {len(fields)} fields, {len(header)} columns")
        rows[fields[0]] = Row(*fields[:5], dict(zip(CELLS, fields[5:])), [])
    without = {path.parent.name for path in HERE.glob("*/[cC]lient.*")} - {row.folder for row in rows.values()}
    if without:
        raise SystemExit(f"{TABLE}: no row for {', '.join(sorted(without))}")
    return list(rows.values())
