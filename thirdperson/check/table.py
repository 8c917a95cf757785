"""Labels from a table: CSV, JSON Lines or JSON, with columns of any names."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from studies.importers.columns.table_file import table_of
from studies.importers.files.bundle import File
from studies.importers.files.faults import Refused, place
from studies.importers.files.import_row import same_id
from studies.importers.files.lines import BadLine
from thirdperson.check.columns import Columns, Rows, columns_of, kind_is_judge
from thirdperson.check.errors import BadTable
from thirdperson.check.labels import (
    NO_LABEL,
    WRITTEN_BY_PROGRAMS,
    Label,
    LabelTable,
    is_label,
    listed,
    same_label,
)

MOST_FAULTS = 10


def read_table(path: Path, given: Columns) -> LabelTable:
    """The labels of a table. Raises `BadTable` with every fault of a line, up to `MOST_FAULTS`."""
    rows: list[tuple[str, Mapping[str, str]]] = []
    faults: list[str] = []
    skipped: list[str] = []
    try:
        for found in table_of(File(path.name, path).once()):
            if isinstance(found, BadLine):
                may_be_skipped = given.skip_faulty and not found.fault.ends_reading
                (skipped if may_be_skipped else faults).append(str(found.fault))
            else:
                line, cells = found
                rows.append((f"{path.name}, {place(line).lower()}", cells))
            if len(faults) == MOST_FAULTS:
                break
    except Refused as error:
        faults += [str(fault) for fault in error.faults]
    if faults:
        raise BadTable("\n".join([f"{path.name} cannot be read.", *faults]))
    return labels_of(_one_label_a_row(rows), given, name=path.name, skipped=skipped)


def _one_label_a_row(rows: Rows) -> Rows:
    """The rows of a LeWiDi file, whose annotators and labels are lists, as one row for each label.

    Other rows stay as they are.
    """
    found = []
    for where, row in rows:
        names = [name.strip() for name in row.get("annotators", "").split(",")]
        of_each = {
            name.removeprefix("annotations."): value
            for name, value in row.items()
            if name.startswith("annotations.")
        }
        values = [value.strip() for value in row.get("annotations", "").split(",")]
        if not of_each and row.get("annotations") and len(values) == len(names):
            of_each = dict(zip(names, values, strict=True))
        if "annotators" not in row or not of_each:
            return rows
        rest = {n: v for n, v in row.items() if not n.startswith(("annotators", "annotations"))}
        found += [(where, rest | {"annotator": a, "label": v}) for a, v in of_each.items()]
    return found


def labels_of(rows: Rows, given: Columns, *, name: str, skipped: Sequence[str] = ()) -> LabelTable:
    """The labels of rows with columns of any names; `skipped` are faults of left-out rows."""
    if not rows:
        raise BadTable(f"{name} has no rows. Write one row for each item, or one for each label.")
    names = list(dict.fromkeys(column for _, row in rows for column in row))
    columns = columns_of(names, rows, given, name=name)
    skips = [*skipped] if given.skip_faulty else None
    found = LabelTable(reading=columns.words(), scales=given.scales, skipped=skips)
    notes = {"gold": found.gold, "persona": found.persona, "question": found.question}
    read = []
    for number, (where, row) in enumerate(rows, start=1):
        item = same_id(row.get(columns.item, "").strip()) if columns.item else f"row {number:06}"
        at = f"{where}, item “{item}”" if columns.item and item else where
        try:
            read.append((at, item, row, _of_row(columns, at, item, row)))
        except BadTable as error:
            _skip(found, error)
    missing = _missing_words([label for *_, labels in read for label in labels], read, columns)
    dropped = Counter[tuple[str, str]]()
    seen: dict[tuple[str, str], str] = {}
    for at, item, row, labels in read:
        try:
            for label in labels:
                if label.value.casefold() in missing:
                    dropped[label.value, "of judges" if label.is_judge else "of people"] += 1
                else:
                    once = not (columns.is_long and label.rater in columns.judges)
                    _add(found, label, seen, is_once=once)
            for part, store in notes.items():
                _note(
                    store,
                    item,
                    row,
                    at,
                    getattr(columns, part),
                    missing if part == "gold" else NO_LABEL,
                )
        except BadTable as error:
            _skip(found, error)
    if dropped:
        found.reading.append(_missing_line(dropped))
    return found


def _skip(found: LabelTable, error: BadTable) -> None:
    if found.skipped is None:
        raise error
    found.skipped.append(str(error))


def _of_row(columns: Columns, where: str, item: str, row: Mapping[str, str]) -> list[Label]:
    if not item:
        raise BadTable(f"{where}: {columns.item} is empty. Name the item in every row.")
    return [*(_long if columns.is_long else _wide)(columns, where, item, row)]


def _missing_words(
    labels: Sequence[Label],
    read: Sequence[tuple[str, str, Mapping[str, str], object]],
    columns: Columns,
) -> Collection[str]:
    """The words that stand for no label here, in lower case.

    A word such as “none” is a label if an option names it, if both people and judges use it, if it
    is a right label too, or if it is written as no program writes it.
    """
    if columns.missing is not None:
        return {"", *(word.casefold() for word in columns.missing)}
    people = {label.value.casefold() for label in labels if not label.is_judge}
    judges = {label.value.casefold() for label in labels if label.is_judge}
    gold = {row.get(columns.gold, "").casefold() for _, _, row, _ in read}
    as_labels = (people & judges) | (people & gold) | (judges & gold)
    if any(label.value == "none" for label in labels):
        as_labels.add("none")
    if (people | judges | gold) - NO_LABEL == {"+"}:
        as_labels.add("-")
    return (NO_LABEL - as_labels - columns.named_labels) | (
        WRITTEN_BY_PROGRAMS - columns.named_labels
    )


def _missing_line(dropped: Mapping[tuple[str, str], int]) -> str:
    counted = sorted(dropped.items())
    shown = listed([f"{n:,} {f'“{word}”' if word else 'empty'} {of}" for (word, of), n in counted])
    words = sorted({word for word, _ in dropped if word})
    remedy = (
        f" (if “{words[0]}” is a label, choose the words: --missing WORD,WORD)" if words else ""
    )
    return f"missing: {shown}{remedy}"


def _wide(columns: Columns, where: str, item: str, row: Mapping[str, str]) -> Iterator[Label]:
    """The labels of a row that is an item."""
    for column in (*columns.people, *columns.judges):
        yield _label(columns, where, item, row, column, column, column in columns.judges)


def _long(columns: Columns, where: str, item: str, row: Mapping[str, str]) -> Iterator[Label]:
    """The label of a row, and those of judges with a column of their own."""
    rater = same_id(row.get(columns.annotator, "").strip())
    if not rater and is_label(row.get(columns.label, "")):
        raise BadTable(f"{where}: {columns.annotator} is empty. Say who gave the label.")
    is_judge = rater in columns.judge_raters
    if columns.kind:
        is_judge = kind_is_judge(row.get(columns.kind, ""), where, columns.kind)
    yield _label(columns, where, item, row, columns.label, rater, is_judge)
    for column in columns.judges:
        yield _label(columns, where, item, row, column, column, True)


def _label(
    columns: Columns,
    where: str,
    item: str,
    row: Mapping[str, str],
    column: str,
    rater: str,
    is_judge: bool,
) -> Label:
    stated = row.get(columns.certainty.get(column, ""), "").strip()
    certainty = None
    if is_label(stated):
        try:
            certainty = float(stated.removesuffix("%"))
        except ValueError:
            raise BadTable(
                f"{where}: {columns.certainty[column]} is “{stated}”. Write a number from 1 to "
                "100, or leave it empty."
            ) from None
    return Label(where, item, rater, is_judge, row.get(column, "").strip(), certainty)


def _add(
    found: LabelTable, label: Label, seen: dict[tuple[str, str], str], *, is_once: bool
) -> None:
    """Add a label; a judge's column repeats its label in every row of an item."""
    key = (label.item, label.rater)
    if key not in seen:
        seen[key] = same_label(label.value)
        found.labels.append(label)
    elif is_once:
        raise BadTable(
            f"{label.where}: a second label of “{label.rater}” for this item. Keep one of them, or "
            "name the column that tells items apart: --item COLUMN."
        )
    elif seen[key] != same_label(label.value):
        raise BadTable(
            f"{label.where}: {label.rater} is “{label.value}” here and another label in an earlier "
            "row of this item. A judge has one label for each item."
        )


def _note(
    store: dict[str, str],
    item: str,
    row: Mapping[str, str],
    where: str,
    column: str,
    missing: Collection[str],
) -> None:
    """Keep what a row says about its item; all rows of an item must say the same."""
    value = row.get(column, "").strip()
    if column and value.casefold() not in missing and store.setdefault(item, value) != value:
        raise BadTable(
            f"{where}: {column} is “{value}”, but “{store[item]}” in an earlier row of this item. "
            "Make them equal, or name another column of items: --item COLUMN."
        )
