"""The columns of a table as variables: numbers with labels, texts, and reasons for what is missing.

SPSS and Stata files begin with the widths and labels of all variables, so a whole table is read
before it is written. A number takes nine bytes at most.
"""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from analysis.exports.columns import Column
from analysis.exports.table_files import ExportRow, ExportTableFile, TableBatch
from extras.documents.data_files.meanings import Rule, WhyMissing, rules_of, words_of
from studies.exporters.tables import TooLarge

VariableKind = Literal["coded", "number", "time", "text"]
MOST_ROWS = 2_000_000
_NO_YES = ("no", "yes")
_TRUTHS = {True: 1, False: 0, "true": 1, "false": 0}


@dataclass
class Variable:
    """One column. `words` are the codes of a coded one; `rule` says why a value is missing.

    A missing number is NaN, and `reasons` has its code of `WhyMissing`, or 0 without one.
    """

    column: Column
    kind: VariableKind
    words: dict[str, int]
    rule: Rule | None
    numbers: "array[float]" = field(default_factory=lambda: array("d"))
    texts: list[Any] = field(default_factory=list)
    reasons: "array[int]" = field(default_factory=lambda: array("b"))

    @classmethod
    def of(cls, table: str, column: Column, rule: Rule | None) -> "Variable":
        if column.kind == "boolean":
            return cls(column, "coded", {word: code for code, word in enumerate(_NO_YES)}, rule)
        if (words := words_of(table, column)) is not None:
            codes = {word: code for code, word in enumerate(words, start=1)}
            return cls(column, "coded", codes, rule)
        kinds: dict[str, VariableKind] = {"integer": "number", "number": "number", "time": "time"}
        kind = kinds.get(column.kind, "text")
        return cls(column, kind, {}, None if kind == "text" else rule)

    @property
    def labels(self) -> dict[int, str]:
        return {code: word for word, code in self.words.items()}

    @property
    def values(self) -> Iterator[float | None]:
        return (None if math.isnan(number) else number for number in self.numbers)

    def add(self, values: Sequence[Any], rows: Sequence[ExportRow]) -> None:
        if self.kind == "text":
            import pyarrow

            texts = [None if value is None else _text(value) for value in values]
            self.texts.append(pyarrow.array(texts, pyarrow.string()))
            return
        self.numbers.extend(math.nan if v is None or v == "" else self._number(v) for v in values)
        if self.rule is not None:
            last = self.numbers[-len(values) :]
            cells = zip(last, rows, strict=True)
            self.reasons.extend(
                (self.rule(row) or 0) if math.isnan(number) else 0 for number, row in cells
            )

    def _number(self, value: Any) -> float:
        if self.kind == "time":
            return datetime.fromisoformat(value).timestamp()
        if self.column.kind == "boolean":
            return _TRUTHS[value]
        if self.kind == "coded" and isinstance(value, str):
            return self.words.setdefault(value, len(self.words) + 1)
        return float(value)

    def counts(self) -> dict[int, int]:
        """How often each code was given."""
        counts = Counter(self.numbers if self.kind == "coded" else ())
        return {code: counts[code] for code in self.words.values()}

    def counts_of_missing(self) -> dict[WhyMissing, int]:
        counts = Counter(self.reasons)
        return {why: counts[why] for why in WhyMissing}

    @property
    def present(self) -> int:
        """How many values are not missing."""
        if self.kind == "text":
            return sum(len(part) - part.null_count for part in self.texts)
        return sum(not math.isnan(number) for number in self.numbers)


def _text(value: Any) -> str:
    """A text without the character that ends texts in SPSS and Stata."""
    return str(value).replace("\0", "\ufffd")


class Variables:
    """All variables of a table; `put` adds rows."""

    def __init__(self, table: ExportTableFile) -> None:
        rules = rules_of(table)
        self.table = table
        self.all = [
            Variable.of(table.name, column, rules.get(column.name)) for column in table.columns
        ]
        self.rows = 0

    def put(self, batch: TableBatch) -> None:
        self.rows += len(batch.rows)
        if self.rows > MOST_ROWS:
            raise TooLarge(
                f"The table “{self.table.name}” has more than {MOST_ROWS:,} rows, the most that "
                "this format holds in memory. Export CSV or Parquet instead."
            )
        for variable, values in zip(self.all, batch.columns, strict=True):
            variable.add(values, batch.rows)


# Words of the languages of SPSS and Stata, which cannot name a variable.
_RESERVED = set(
    "all and by eq ge gt le lt ne not or to with _all _b _cons _n _pi _pred _rc _skip byte double "
    "float if in int long using".split()
)


def variable_names(columns: Iterable[Column], *, most: int) -> dict[str, str]:
    """A name for every column that SPSS and Stata accept, unique in any case of letters.

    >>> columns = [Column(name, "text", "") for name in ("item-1", "Item_1", "by")]
    >>> variable_names(columns, most=32)
    {'item-1': 'item_1', 'Item_1': 'Item_1_2', 'by': 'by_2'}
    """
    names: dict[str, str] = {}
    taken = set(_RESERVED)
    for column in columns:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", column.name)
        if not plain[:1].isalpha():
            plain = f"v{plain}"
        name, number = plain[:most].rstrip("_") or "v", 1
        while name.lower() in taken:
            number += 1
            name = f"{plain[: most - len(str(number)) - 1]}_{number}"
        taken.add(name.lower())
        names[column.name] = name
    return names


def named_study(table: ExportTableFile) -> tuple[str, str]:
    """The short name and the title of a table's study."""
    return ("", "") if table.study is None else (table.study.slug, table.study.title)


def label_of(column: Column, name: str) -> str:
    """The meaning of a column, after its own name where a file cannot have that."""
    return column.meaning if name == column.name else f"{column.name}: {column.meaning}"


def shortened(text: str, *, most: int, in_bytes: bool) -> str:
    """A text with an ellipsis where it is longer than a format allows."""
    if len(text.encode() if in_bytes else text) <= most:
        return text
    kept = text.encode()[: most - 3].decode(errors="ignore") if in_bytes else text[: most - 1]
    return f"{kept}…"


def labels_of_missing(variable: Variable) -> Mapping[WhyMissing, str]:
    """The codes that a variable may have instead of a value; empty without a rule."""
    return {} if variable.rule is None else {why: why.label for why in WhyMissing}
