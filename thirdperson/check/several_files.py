"""Labels in several files: one for each rater, or parts of one table; right labels of their own.

Files are joined by the column of items. A file with one column of labels is one rater, named after
the file, or the right labels if its name says so; of another file, all columns are taken. Files
with the same columns are parts of one table if each row is one label, or if no item is in two of
them.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from studies.importers.files.faults import same_id
from thirdperson.check.column_names import (
    certainty_column,
    guessed_column,
    names_judge,
    people_columns,
)
from thirdperson.check.columns import CheckedRows, Columns
from thirdperson.check.exports.reader import ExportedColumns
from thirdperson.check.labels import BadTable, LabelTable, is_label, listed

Tables = Mapping[Path, CheckedRows]
_SHORT = 80  # longest value that can be a part of an item's name


def with_key(rows: CheckedRows, on: Sequence[str], name: str) -> CheckedRows:
    """The rows with one column for several that name the item together."""
    if len(on) < 2:
        return rows
    for column in on:
        if not any(column in row for _, row in rows):
            raise BadTable(
                f"{name} has no column “{column}”. It has: {listed(_names(rows), 40)}. Name the "
                "columns of items that all files have: --on COLUMN,COLUMN."
            )
    key = ", ".join(on)
    return [
        (where, {**row, key: " / ".join(row.get(column, "").strip() for column in on)})
        for where, row in rows
    ]


def joined(tables: Tables, stated: Columns, on: str) -> ExportedColumns:
    """The rows of several files as one table, with what their names and columns say."""
    names = {file: _names(rows) for file, rows in tables.items()}
    item = stated.item or on or _common_item(names)
    for file, columns in names.items():
        if item not in columns:
            raise BadTable(
                f"{file.name} has no column “{item}”. It has: {listed(columns, 40)}. Name the "
                "column of items that all files have: --on COLUMN."
            )
    long = [file for file, own in names.items() if _annotator(own, stated)]
    parts = long or ([] if _shared_items(tables, item) else [*tables])
    if len({frozenset(names[file]) for file in parts}) > 1 and not _are_marks(parts, names, stated):
        raise BadTable(
            f"{listed([file.name for file in parts])} are parts of one table, but have different "
            "columns. Give them the same columns."
        )
    rows = [(where, dict(row)) for file in parts for where, row in tables[file]]
    if len(parts) == len(tables):
        return ExportedColumns(rows, Columns(item=item))
    rest = {file: part for file, part in tables.items() if file not in parts}
    if not _shared_items({Path(): rows, **rest}, item):
        raise BadTable(
            f"{listed([file.name for file in parts])} and {listed([file.name for file in rest])} "
            f"have no {item} in common, so these are labels of other items. Check which files "
            "belong together."
        )
    return _by_rater(rest, names, stated, item, long=rows)


def _names(rows: CheckedRows) -> list[str]:
    return list(dict.fromkeys(column for _, row in rows for column in row))


def _common_item(names: Mapping[Path, Sequence[str]]) -> str:
    """The column of items that all files have."""
    common = [one for one in next(iter(names.values())) if all(one in of for of in names.values())]
    column = guessed_column("item", common) or (common[0] if len(common) == 1 else "")
    if not column:
        raise BadTable(
            f"The files {listed([file.name for file in names])} have no common column that names "
            f"the item. Common columns: {listed(common, 20) or 'none'}. Name one: --on COLUMN, or "
            "several that name it together: --on COLUMN,COLUMN."
        )
    return column


def _shared_items(tables: Tables, item: str) -> bool:
    """Whether an item is in more than one file."""
    counts = Counter(
        key
        for rows in tables.values()
        for key in {same_id(row.get(item, "").strip()) for _, row in rows}
    )
    return any(n > 1 for n in counts.values())


def _are_marks(files: Sequence[Path], names: Mapping[Path, Sequence[str]], stated: Columns) -> bool:
    """Whether each row of all files is a label, in columns of one name."""
    own = {
        (_annotator(names[file], stated), stated.label or guessed_column("label", names[file]))
        for file in files
    }
    return len(own) == 1 and all(next(iter(own)))


def _annotator(columns: Sequence[str], stated: Columns) -> str:
    return stated.annotator if stated.annotator in columns else guessed_column("annotator", columns)


def _by_rater(
    tables: Tables,
    names: Mapping[Path, Sequence[str]],
    options: Columns,
    item: str,
    *,
    long: list[tuple[str, dict[str, str]]],
) -> ExportedColumns:
    """One row for each item, or those of `long`, which has a row for each label."""
    raters = _rater_names([*tables])
    judges: list[str] = []
    people: list[str] = []
    certainty: dict[str, str] = {}
    gold = options.gold
    cells_of: dict[str, tuple[str, dict[str, str]]] = {}
    common = [
        name for name in next(iter(names.values())) if all(name in of for of in names.values())
    ]
    for file, rows in tables.items():
        label, stated = _label_of(names[file], options, item), certainty_column(names[file])
        rater = raters[file]
        as_named = {label: rater, stated: f"{rater} certainty"} if label else {}
        if label and not gold and guessed_column("gold", [rater, label]):
            gold = rater
        elif label:
            says_so = names_judge(rater) or names_judge(label)
            is_judge = rater in options.judges or (not options.judges and says_so)
            (judges if is_judge else people).append(rater)
            if stated:
                certainty[rater] = as_named[stated]
        _merge(cells_of, rows, item, as_named, common)
    if long and people:
        raise BadTable(
            f"{listed(people)}: is this a judge? Name it: --judge {people[0]}. Labels of people "
            "belong in the file with a row for each label."
        )
    columns = Columns(item, tuple(people), judges=tuple(judges), certainty=certainty, gold=gold)
    if not long:
        return ExportedColumns(list(cells_of.values()), columns)
    own = _names(long)
    label, stated = options.label or guessed_column("label", own), certainty_column(own)
    if label and stated:
        columns = replace(columns, certainty={**certainty, label: stated})
    labels = [
        (where, row | cells_of.get(same_id(row.get(item, "").strip()), ("", {}))[1])
        for where, row in long
    ]
    return ExportedColumns(labels, columns)


def _merge(
    cells_of: dict[str, tuple[str, dict[str, str]]],
    rows: CheckedRows,
    item: str,
    as_named: Mapping[str, str],
    common: Sequence[str],
) -> None:
    """Add the cells of a file to those of its items; columns that all files share count once."""
    seen: set[str] = set()
    for where, row in rows:
        key = same_id(row.get(item, "").strip())
        if not key:
            raise BadTable(f"{where}: {item} is empty. Name the item in every row.")
        if key in seen:
            on = together(rows, item, common)
            several = (
                f"name the columns that identify items together: --on {on}, or " if on else "name "
            )
            raise BadTable(
                f"{where}, item “{key}”: a second row in this file. Keep one of them, {several}"
                "the one that says who gave a label: --annotator COLUMN."
            )
        seen.add(key)
        _, cells = cells_of.setdefault(key, (where, {}))
        for column, value in row.items():
            cells.setdefault(as_named.get(column, column), value)


def together(rows: CheckedRows, item: str, names: Sequence[str], by: Sequence[str] = ()) -> str:
    """The item's column, and one of `names` with which it tells all rows of a rater apart.

    Empty if the item's column alone does.
    """
    others = [name for name in names if name not in (item, *by)]
    for other in ("", *others):
        cells = [[row.get(name, "") for name in (item, other, *by)] for _, row in rows]
        if all(len(of) < _SHORT for _, of, *_ in cells) and len(set(map(tuple, cells))) == len(
            rows
        ):
            return f"{item},{other}".replace(", ", ",") if other else ""
    return "COLUMN,COLUMN" if others else ""


def _rater_names(files: Sequence[Path]) -> dict[Path, str]:
    """The names of files, without what all of them have in common at the beginning."""
    stems = [re.sub(r"\.(csv|tsv|jsonl?|parquet|xlsx)$", "", file.stem) for file in files]
    if len(set(stems)) < len(stems):
        stems = [f"{file.parent.name}/{stem}" for file, stem in zip(files, stems, strict=True)]
    if len(set(stems)) < len(stems):
        raise BadTable("Two files have the same name. Rename one of them: names are raters.")
    return dict(zip(files, stems, strict=True))


def _label_of(columns: Sequence[str], wanted: Columns, item: str) -> str:
    """The column of labels of a file with one rater; empty if it has several or none."""
    if wanted.label in columns:
        return wanted.label
    if len(people_columns(columns)) > 1:
        return ""
    stated = certainty_column(columns)
    rest = [name for name in columns if name not in (item, stated)]
    return guessed_column("label", columns) or (rest[0] if len(rest) == 1 else "")


def add_gold(labels: LabelTable, rows: CheckedRows, file: Path, *, gold: str, on: str) -> None:
    """Take the right labels from a file of their own."""
    names = _names(rows)
    item = on if on in names else guessed_column("item", names) or names[0]
    rest = [name for name in names if name != item]
    column = gold or guessed_column("gold", rest) or guessed_column("label", rest)
    column = column or (rest[0] if len(rest) == 1 else "")
    if column not in names:
        raise BadTable(
            f"{file.name}: which column has the right labels? It has: {listed(names, 40)}. Name "
            "it: --gold COLUMN."
        )
    known = {*labels.items}
    columns: dict[str, str] = {}
    for where, row in rows:
        key, value = same_id(row.get(item, "").strip()), row.get(column, "").strip()
        if is_label(value) and columns.setdefault(key, value) != value:
            raise BadTable(f"{where}, item “{key}”: a second right label. Keep one of them.")
    shared = columns.keys() & known
    if not shared:
        raise BadTable(
            f"{file.name}: no item of its column “{item}” is in the table, such as "
            f"“{next(iter(columns), '')[:40]}”. Name the column of items: --on COLUMN."
        )
    labels.gold.clear()
    labels.gold.update({key: columns[key] for key in shared})
    labels.reading = [line for line in labels.reading if not line.startswith("right label:")]
    labels.reading.append(
        f"right label: {column} of {file.name}, for {len(shared):,} of {len(known):,} items"
    )
    if unused := len(columns) - len(shared):
        labels.reading.append(f"  {unused:,} of its items are not in the table")
