"""Read labels from files: who gave which label to which item, and what was missing."""

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from studies.importers.files.answer_rows import PERCENT, ScaleRange, scale_of
from studies.importers.files.bundle import WORKBOOKS, size_of
from studies.importers.files.child import Send, from_child, is_needed
from studies.importers.files.faults import Refused, same_id
from studies.importers.files.packed import about_sheets, sheets_of
from studies.texts.cells import ENCODINGS, WRITTEN_BY_PROGRAMS, is_error, name_of
from studies.texts.normalisation import CONTROL
from thirdperson.check.column_names import kind_is_judge
from thirdperson.check.columns import (
    CheckedRows,
    Columns,
    columns_of,
    share,
)
from thirdperson.check.exports import registry
from thirdperson.check.file_rows import FileRows, file_rows
from thirdperson.check.labels import (
    NO_LABEL,
    BadTable,
    Label,
    LabelTable,
    NoLabels,
    UnclearPeople,
    is_label,
    listed,
    same_label,
)
from thirdperson.check.rendering import set_up
from thirdperson.check.several_files import add_gold, joined, together, with_key
from thirdperson.check.terminal import asked, can_ask


def labels_of(
    rows: CheckedRows, stated: Columns, *, name: str, skipped: Sequence[str] = ()
) -> LabelTable:
    """The labels of rows with columns of any names; `skipped` are faults of left-out rows."""
    if not rows:
        raise BadTable(f"{name} has no rows. Use one row per item, or one per label.")
    names = list(dict.fromkeys(column for _, row in rows for column in row))
    columns = columns_of(names, rows, stated, name=name)
    skips = [*skipped] if stated.skip_faulty else None
    table = LabelTable(reading=columns.words(), scales=stated.scales, skipped=skips)
    notes = {"gold": table.gold, "persona": table.persona, "question": table.question}
    read = []
    for number, (where, row) in enumerate(rows, start=1):
        item = same_id(row.get(columns.item, "").strip()) if columns.item else f"row {number:06}"
        at = f"{where}, item “{item}”" if columns.item and item else where
        try:
            read.append((at, item, row, _of_row(columns, at, item, row)))
        except BadTable as error:
            _skip(table, error)
    judged = [label for *_, labels in read for label in labels if label.is_judge]
    natives = {columns.label, *(judged_label.rater for judged_label in judged)} & set(
        columns.probability
    )
    table.scales = {**table.scales} | {
        judged_label.rater: PERCENT
        for judged_label in judged
        if judged_label.certainty is not None and natives & {judged_label.rater, columns.label}
    }
    missing = _missing_words([label for *_, labels in read for label in labels], read, columns)

    def advice() -> str:
        of_labels = {*columns.named()} - {columns.persona, columns.question}
        free = [name for name in names if name not in of_labels]
        return together(rows, columns.item, free, [*filter(None, [columns.annotator])])

    dropped = Counter[tuple[str, str]]()
    seen: dict[tuple[str, str], str] = {}
    for at, item, row, labels in read:
        try:
            for label in labels:
                if label.value.casefold() in missing:
                    dropped[label.value, "of judges" if label.is_judge else "of people"] += 1
                else:
                    once = not (columns.is_long and label.rater in columns.judges)
                    _add(table, label, seen, advice, is_once=once)
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
            _skip(table, error)
    if dropped:
        table.reading.append(_missing_line(dropped))
    return table


def _skip(table: LabelTable, error: BadTable) -> None:
    if table.skipped is None:
        raise error
    table.skipped.append(str(error))


def _of_row(columns: Columns, where: str, item: str, row: Mapping[str, str]) -> list[Label]:
    if item.casefold() in WRITTEN_BY_PROGRAMS:
        value = f"“{item}”" if item else "empty"
        raise BadTable(f"{where}: {columns.item} is {value}. Name the item in every row.")
    return [*(_long if columns.is_long else _wide)(columns, where, item, row)]


def _missing_words(
    labels: Sequence[Label],
    read: Sequence[tuple[str, str, Mapping[str, str], object]],
    columns: Columns,
) -> Collection[str]:
    """The words that mean no label here, in lower case.

    A word such as “none” is a label if an option names it, if people and judges both use it, if it
    is also a right label, or if its spelling is not a program's.
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
    counts = listed([f"{n:,} {f'“{word}”' if word else 'empty'} {of}" for (word, of), n in counted])
    words = sorted({word for word, _ in dropped if word})
    remedy = (
        f" (if “{words[0]}” is a label, name the words for no label: --missing WORD,WORD)"
        if words
        else ""
    )
    return f"missing: {counts}{remedy}"


def _wide(columns: Columns, where: str, item: str, row: Mapping[str, str]) -> Iterator[Label]:
    """The labels of a row that is an item."""
    for column in (*columns.people, *columns.judges):
        yield _label(columns, where, item, row, column, column, column in columns.judges)


def _long(columns: Columns, where: str, item: str, row: Mapping[str, str]) -> Iterator[Label]:
    """The label of a row, and labels by judges with their own column."""
    rater = same_id(row.get(columns.annotator, "").strip())
    if not rater and is_label(row.get(columns.label, "")):
        raise BadTable(f"{where}: {columns.annotator} is empty. Enter who gave the label.")
    is_judge = rater in columns.judge_raters
    if columns.kind:
        is_judge = kind_is_judge(row.get(columns.kind, ""), where, columns.kind)
    yield _label(columns, where, item, row, columns.label, rater, is_judge)
    # A file with the marks of one person has no column of the judge.
    for column in filter(row.__contains__, columns.judges):
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
    value = name_of(row.get(column, ""))
    for part in (item, rater, value):
        if control := CONTROL.search(part):
            raise BadTable(
                f"{where}: “{part.replace(control[0], '')}” has the control character "
                f"U+{ord(control[0]):04X}. Remove it."
            )
        if is_error(part) and part.casefold() not in NO_LABEL:
            raise BadTable(
                f"{where}: {part} is the error of a spreadsheet instead of a value. Correct the "
                "cell, or leave it empty."
            )
    stated = row.get(columns.certainty.get(column, ""), "").strip()
    certainty = None
    if is_judge and column in columns.probability:
        certainty = _native(columns.probability[column], where, row, value)
    elif is_label(stated):
        try:
            certainty = float(stated.removesuffix("%"))
        except ValueError:
            raise BadTable(
                f"{where}: {columns.certainty[column]} is “{stated}”. Use a number from 1 to "
                "100, or leave it empty."
            ) from None
    return Label(where, item, rater, is_judge, value, certainty)


def _native(
    columns: Mapping[str, str], where: str, row: Mapping[str, str], label: str
) -> float | None:
    """100 × the probability of a judge's label; None without one.

    If a single column is of another label, the judge's has the rest.
    """
    own = columns.get("") or columns.get(same_label(label))
    rest = next(iter(columns.values())) if len(columns) == 1 else ""
    stated = row.get(own or rest, "").strip()
    if not is_label(stated):
        return None
    probability = share(stated)
    if probability is None:
        raise BadTable(
            f"{where}: {own or rest} is “{stated}”. Write a probability from 0 to 1, or leave it "
            "empty."
        )
    return max(1.0, 100 * (probability if own else 1 - probability))


def _add(
    table: LabelTable,
    label: Label,
    seen: dict[tuple[str, str], str],
    advice: Callable[[], str],
    *,
    is_once: bool,
) -> None:
    """Add a label; a judge's column repeats its label in every row of an item."""
    key = (label.item, label.rater)
    if key not in seen:
        seen[key] = same_label(label.value)
        table.labels.append(label)
    elif is_once:
        several = f", or several: --on {on}" if (on := advice()) else ""
        raise BadTable(
            f"{label.where}: a second label of “{label.rater}” for this item. Keep one of them, "
            f"or name the column that identifies items: --item COLUMN{several}."
        )
    elif seen[key] != same_label(label.value):
        several = f", or several that name it together: --on {on}" if (on := advice()) else ""
        raise BadTable(
            f"{label.where}: {label.rater} is “{label.value}” here but differs in an earlier row "
            "of this item. A judge has one label per item: correct it, or name the column of the "
            f"judge (--judge COLUMN) or of items (--item COLUMN{several})."
        )


def _note(
    store: dict[str, str],
    item: str,
    row: Mapping[str, str],
    where: str,
    column: str,
    missing: Collection[str],
) -> None:
    """Store a row's facts about its item; all rows of an item must agree."""
    value = row.get(column, "").strip()
    if column and value.casefold() not in missing and store.setdefault(item, value) != value:
        raise BadTable(
            f"{where}: {column} is “{value}”, but “{store[item]}” in an earlier row of this item. "
            "Make them equal, or name another column of items: --item COLUMN."
        )


def read_labels(options: Namespace) -> LabelTable:
    """The labels of the files, after a question at a terminal if columns may be of people.

    Raises `BadTable`, which names the other sheets of a workbook.
    """
    try:
        return _labels_of(options)
    except BadTable as error:
        about = [
            f"{file.name}: {about}"
            for file in options.files
            if file.name.lower().endswith(WORKBOOKS) and (about := _about_sheets(file))
        ]
        if about and "the sheets" not in str(error):
            raise BadTable("\n".join([str(error), *about])) from error
        raise


def _about_sheets(file: Path) -> str:
    with file.open("rb") as stream:
        return about_sheets(sheets_of(stream))


def _labels_of(options: Namespace) -> LabelTable:
    try:
        return _read(options)
    except UnclearPeople as unclear:
        columns = unclear.columns
        question = f"Are {listed(columns, 40)} people, who all labelled the same thing? (yes/no) "
        if not can_ask(options) or asked(question, ("yes", "no")) != "yes":
            raise
    options.people = columns
    return _read(options)


def _read(options: Namespace) -> LabelTable:
    """The labels of the files; larger ones are read in a child process."""
    files = [*options.files, *filter(None, [options.gold_file])]
    size = sum(map(size_of, files))
    if not is_needed(size):
        return _labels(options)
    name = options.name
    try:
        [labels] = from_child(_send, options, name=name, size=size, prepare=set_up)
    except Refused as error:
        raise BadTable(f"{name}: {error.faults[0]}") from error
    return cast(LabelTable, labels)


def _send(send: Send, options: Namespace) -> None:
    send(_labels(options))


def _labels(options: Namespace) -> LabelTable:
    rows, columns, read = rows_of(options)
    skipped = [fault for table in read.tables.values() for fault in table.skipped]
    try:
        labels = labels_of(rows, columns, name=options.name, skipped=skipped)
    except NoLabels as error:
        places = [place for table in read.tables.values() for place in table.places if "*" in place]
        hint = f" If each label is a record of its own: {listed(places, 4)}." if places else ""
        raise BadTable(f"{error}{hint}") from None
    known = {table.format for table in read.tables.values()} - {""}
    changes = sum((Counter(table.changes) for table in read.tables.values()), Counter[str]())
    labels.reading += [f"{what}: {count:,}" for what, count in changes.items()]
    labels.reading[:0] = [f"format: {name}" for name in sorted(known)]
    if len(read.tables) > 1:
        words = f"joined by {columns.item}; one rater each: {listed(read.raters)}"
        labels.reading[:0] = [
            f"files: {words if read.raters else 'parts of one table'}",
            *(_only_in(read.tables, columns.item) if read.raters else ()),
        ]
    if options.gold_file:
        gold = _table(options.gold_file, options, read.options)
        on = ", ".join(options.on)
        add_gold(labels, gold.rows, options.gold_file, gold=read.options.gold, on=on)
    return labels


def _only_in(tables: Mapping[Path, FileRows], item: str) -> Iterator[str]:
    """The items of each file that no other has, which ids written in two ways would be."""
    keys = {
        file.name: {same_id(row.get(item, "").strip()) for _, row in table.rows}
        for file, table in tables.items()
    }
    for name, own in keys.items():
        if only := own.difference(*(of for other, of in keys.items() if other != name)):
            items = "item" if len(only) == 1 else "items"
            yield f"  {len(only):,} {items} only in {name}, such as “{min(only)[:40]}”"


@dataclass(frozen=True)
class ReadFiles:
    """The tables of the files, the raters that are a file each, and what options name."""

    tables: Mapping[Path, FileRows]
    raters: Sequence[str]
    options: Columns


def rows_of(options: Namespace) -> tuple[CheckedRows, Columns, ReadFiles]:
    """The rows of all files as one table, with the columns that are known. Raises `BadTable`."""
    formats = ["auto", "table", *registry.READERS]
    if options.format not in formats:
        raise BadTable(f"--format {options.format}: use one of {listed(formats, 20)}.")
    if options.encoding not in ("", *ENCODINGS):
        raise BadTable(f"--encoding {options.encoding}: use one of: {listed([*ENCODINGS], 20)}.")
    stated = _given(options)
    on = ", ".join(options.on)
    if len(options.on) > 1 and not stated.item:
        stated = replace(stated, item=on)
    tables = {file: _table(file, options, stated) for file in options.files}
    if options.metric and not any(table.format for table in tables.values()):
        raise BadTable("--metric is for exports. In a table, name the columns: --people, --judge.")
    raters: list[str] = []
    first, *others = tables.values()
    if all(first.format and other.columns == first.columns for other in others):
        # One file, or parts of one export, whose columns the reader knows.
        rows: CheckedRows = [row for table in tables.values() for row in table.rows]
        columns = first.columns
    else:
        whole = joined({file: table.rows for file, table in tables.items()}, stated, on)
        rows, columns = whole.rows, whole.with_options(stated)
        raters = [*whole.columns.people, *whole.columns.judges]
    names = {column for _, row in rows for column in row}
    if len(tables) > 1 or options.gold_file:
        # A named column can be in one of the files only, such as that of the right labels.
        columns = replace(
            columns,
            gold=columns.gold if columns.gold in names else "",
            label=columns.label if columns.label in names else "",
        )
    return rows, columns, ReadFiles(tables, raters, stated)


def _table(path: Path, options: Namespace, stated: Columns) -> FileRows:
    rows = file_rows(path, options, stated)
    return replace(rows, rows=with_key(rows.rows, options.on, path.name))


def _given(options: Namespace) -> Columns:
    named = [*options.labels, *options.tie, *options.positive]
    certainty = dict(pair.partition("=")[::2] for pair in options.certainty)
    if faulty := [name for name, column in certainty.items() if not column]:
        raise BadTable(f"--certainty {faulty[0]}: use LABEL_COLUMN=CERTAINTY_COLUMN.")
    return Columns(
        item=options.item,
        people=options.people,
        annotator=options.annotator,
        label=options.label,
        judges=options.judge,
        judge_raters=options.judge_raters,
        kind=options.kind,
        gold=options.gold,
        persona=options.persona,
        question=options.question,
        certainty=certainty,
        probability=_named_probabilities(options.probability),
        missing=options.missing,
        named_labels=frozenset(map(same_label, named)),
        scales=dict(map(_scale, options.scale)),
        skip_faulty=options.skip_faulty,
        has_numbers=options.level == "score" or (options.level == "ordinal" and not options.labels),
        needs="nothing" if options.mark else "right labels" if options.against else "people",
    )


def _named_probabilities(texts: Sequence[str]) -> dict[str, dict[str, str]]:
    """What the option names, by the column of labels; `columns_of` reads the rest."""
    shares: dict[str, dict[str, str]] = {}
    for pair in texts:
        of, _, column = pair.partition("=")
        if not column:
            raise BadTable(f"--probability {of}: write JUDGE_COLUMN=COLUMN or COLUMN:LABEL.")
        shares.setdefault(of, {})[column] = column
    return shares


def _scale(text: str) -> tuple[str, ScaleRange]:
    """“judge=0-1” as a name with two numbers; without a name it applies to everybody."""
    name, _, span = text.rpartition("=")
    if (scale := scale_of(span)) is None:
        raise BadTable(f"--scale {text}: use NAME=LOW-HIGH, such as people=1-5 or judge=0-100.")
    return name.strip(), scale
