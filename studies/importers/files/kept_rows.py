"""Checked rows of a file, on disk while they wait to be stored, each key once."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

_PORTION = 1_000


class KeptRow(NamedTuple):
    """A row by its line in the file. The values are texts, numbers or None."""

    line: int
    values: list[Any]


class KeptRows:
    """Rows in the order of their file, in a temporary database without a name.

    So an import needs the same memory whatever its size. The rows can be read any number of times.
    """

    def __init__(self) -> None:
        self._rows = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._rows.execute("PRAGMA journal_mode = OFF")
        self._rows.execute("CREATE TABLE kept (line INTEGER, key TEXT UNIQUE, row TEXT)")
        self._count = 0
        self._place: type[int] = int  # lines, or the entries of a list

    def keep(self, line: int, key: Sequence[str | int], values: Sequence[Any]) -> KeptRow | None:
        """Keep a row, or return the earlier row with the same key."""
        name = json.dumps(key)
        self._place = type(line)
        kept = self._rows.execute(
            "INSERT OR IGNORE INTO kept VALUES (?, ?, ?)", (int(line), name, json.dumps(values))
        )
        if kept.rowcount:
            self._count += 1
            return None
        found = self._rows.execute("SELECT line, row FROM kept WHERE key = ?", (name,)).fetchone()
        return KeptRow(self._place(found[0]), json.loads(found[1]))

    def __len__(self) -> int:
        return self._count

    def portions(self) -> Iterator[list[KeptRow]]:
        """All rows, a thousand at a time."""
        found = self._rows.execute("SELECT line, row FROM kept ORDER BY rowid")
        while rows := found.fetchmany(_PORTION):
            yield [KeptRow(self._place(line), json.loads(row)) for line, row in rows]
