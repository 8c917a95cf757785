"""The items of a bundle: its format, its checked items, all faults, the report of the import."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from studies.extra import Kind
from studies.importers.files.bundle import WORKBOOKS, Bundle, File
from studies.importers.files.faults import LISTED, Fault, Faults, ImportRow, Refused
from studies.importers.files.json_rows import is_json, json_rows, read_json_lines
from studies.importers.files.lines import BadLine
from studies.importers.files.readers import own_answer_column, read_csv, read_feature_words
from studies.importers.items.joining import joined
from studies.importers.items.records import (
    ItemFacts,
    ItemRecord,
    KeptItems,
    PersonaRecord,
    Warning,
    further_responses,
    read_persona,
)
from studies.importers.items.validation import ROW_OPTIONS, RowRule, Validator
from studies.importers.sets.data_set import Watch
from studies.media import DeliveredMedia

_CSV = (".csv", ".tsv")

RawItems = Iterator[tuple[int, Any] | BadLine]


@dataclass(frozen=True)
class FileFormat:
    """One format of a file of items.

    `own_answer` names the column that is read as first_person, or "". `read` yields raw items with
    their lines from a bundle; it gets that column, and appends the faults of the bundle's other
    files to its second argument. `is_released`: rows of one id are one item, whose sides and
    profile may vary between them.
    """

    name: str
    matches: Callable[[File], bool]
    read: Callable[[Bundle, Faults, str], RawItems]
    own_answer: Callable[[File], str] = lambda file: ""
    is_released: bool = False


def recognise(file: File) -> FileFormat:
    """The format of a file."""
    return next(known for known in file_formats().values() if known.matches(file))


def _is_csv(file: File) -> bool:
    name = file.name.lower()
    if name.endswith((*_CSV, *(f"{ending}.gz" for ending in _CSV), *WORKBOOKS)):
        return True
    return name.endswith(".zip") and not is_json(file)


def _read_csv(bundle: Bundle, faults: Faults, own: str) -> RawItems:
    words: dict[str, dict[str, str]] = {}
    if bundle.feature_words is not None:
        try:
            words = read_feature_words(bundle.feature_words)
        except BadLine as bad:
            faults.append(bad.fault)
    return read_csv(bundle.items, words, own)


def _read_json_lines(bundle: Bundle, faults: Faults, own: str) -> RawItems:
    return json_rows(bundle.items)


def _is_any(file: File) -> bool:
    return True


OWN: tuple[FileFormat, ...] = (
    FileFormat("csv", _is_csv, _read_csv, own_answer=own_answer_column),
    FileFormat("jsonl", _is_any, _read_json_lines),
)
FORMATS: Kind[FileFormat] = Kind("importers", "items")


def file_formats() -> dict[str, FileFormat]:
    """The formats by name. A file is read in the first one that matches; the last matches any."""
    return {known.name: known for known in FORMATS}


_COLUMNS_SHOWN = 20


@dataclass(frozen=True)
class ImportOptions:
    """How files of items are read.

    Items without a task get `task`. `options` and `seed` are those of a data set, or of a rule that
    makes several items of a row. With a `mapping`, columns of any names are read by it, and the
    format does not matter. `media` is a folder with the pictures and sounds that the items name.
    With `skip_faulty`, faulty rows are left out; otherwise they refuse the file. `encoding` is that
    of the file of items, if it was named.
    """

    task: str
    format: str = "auto"
    limit: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    mapping: Mapping[str, Any] | None = None
    media: Path | None = None
    skip_faulty: bool = False
    encoding: str = ""


@dataclass(frozen=True)
class ReadItems:
    """Items without a fault, with facts on how they were read.

    `names` are the files as given, `dataset` is their own description, `rows` counts the rows of
    each file, `dropped` and `notes` what was left out or changed. For a file read by a mapping,
    `mapping` is that mapping and `columns_left_out` are the other columns. `rule` made several
    items of a row, `media` has the pictures and sounds, `skipped` the faults of rows left out on
    request.
    """

    names: tuple[str, ...]
    dataset: Mapping[str, Any]
    format: str
    task: str
    items: KeptItems
    warnings: list[Warning]
    rows: Mapping[str, int]
    limit: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    ties: int | None = None
    mapping: Mapping[str, Any] | None = None
    rule: RowRule | None = None
    columns_left_out: tuple[str, ...] = ()
    media: DeliveredMedia | None = None
    skipped: Sequence[Fault] = ()


def read_bundle(bundle: Bundle, how: ImportOptions, *, watch: Watch | None = None) -> ReadItems:
    """Read and check a bundle, or its first items.

    Raises `Refused` with every fault, and `BadOption`.
    """
    limit, rule = how.limit, None
    bundle = replace(bundle, items=replace(bundle.items, encoding=how.encoding))
    for option in ROW_OPTIONS:
        if option.name in how.options:
            rule = option.rule(how.options[option.name], how.seed)
    if watch is not None:
        watch.total += bundle.items.count_lines() + 1
    rows = 0
    known = file_formats()
    file_format = recognise(bundle.items) if how.format == "auto" else known[how.format]
    faults = Faults(skip=how.skip_faulty)
    personas = _listed_personas(bundle.personas, faults)
    validator = Validator(
        file=bundle.items.name,
        task=how.task,
        personas=personas,
        faults=faults,
        is_released=file_format.is_released,
        rule=rule,
        media=bundle.media,
    )
    items = KeptItems()
    own = file_format.own_answer(bundle.items)
    for row in file_format.read(bundle, faults, own):
        if limit is not None and len(items) + len(faults) >= limit:
            break
        if isinstance(row, BadLine):
            faults.append(row.fault)
        elif rows == 0 and (columns := _other_columns(row[1])):
            raise Refused([_not_items(columns, bundle.items.name)])
        else:
            validated = validator.items(*row)
            for item in validated[: None if limit is None else limit - len(items)]:
                items.append(item)
        rows += 1
        if watch is not None:
            watch.update()
    notes = {f"rows whose column “{own}” was read as first_person": rows} if own else {}
    notes |= bundle.items.changes
    if rule is not None and validator.larger_rows:
        notes[rule.note] = validator.larger_rows
    if file_format.is_released and not faults:
        items = joined(items, faults)
    refuse(faults, has_items=bool(items), remedy="Add one item a line.")
    return ReadItems(
        names=(bundle.name,),
        dataset=bundle.dataset if rule is None else {**bundle.dataset, "importer": rule.record},
        format=file_format.name,
        task=how.task,
        items=items,
        warnings=validator.warnings,
        rows={bundle.items.name: rows},
        limit=limit,
        notes=notes,
        rule=rule,
        media=bundle.media,
        skipped=faults.skipped,
    )


def _other_columns(raw: Any) -> list[str]:
    """The keys of an object without any part of an item, whose columns must be mapped."""
    if not isinstance(raw, dict) or len(raw) < 2 or raw.keys() & {"id", "persona", "responses"}:
        return []
    return [*raw]


def _not_items(columns: Sequence[str], file: str) -> Fault:
    named = ", ".join(f"“{name[:40]}”" for name in columns[:_COLUMNS_SHOWN])
    more = f" and {left:,} more" if (left := len(columns) - _COLUMNS_SHOWN) > 0 else ""
    message = f"the rows have {named}{more}, but not the id, persona and responses of an item."
    remedy = (
        "Say what each column holds: upload the file on the page “Import items”, or give the "
        "command a mapping of the columns."
    )
    return Fault(None, "", "not the item format", message, remedy, file=file)


def read_together(files: Sequence[ReadItems], how: ImportOptions) -> list[ReadItems]:
    """The files, with those of a released format as one. Raises `Refused` with their conflicts."""
    known = file_formats()
    released = [file for file in files if known[file.format].is_released]
    if len(released) < 2:
        return list(files)
    faults = Faults(skip=how.skip_faulty)
    items = joined((item for file in released for item in file.items), faults)
    if faults:
        raise Refused(replace(fault, names_file=True) for fault in faults)
    left_out = [replace(fault, names_file=True) for fault in faults.skipped]
    one = replace(
        released[0],
        names=tuple(name for file in released for name in file.names),
        items=items,
        warnings=[warning for file in released for warning in file.warnings],
        rows=_summed(file.rows for file in released),
        skipped=[*(fault for file in released for fault in file.skipped), *left_out],
    )
    return [one, *(file for file in files if not known[file.format].is_released)]


def refuse(faults: Faults, *, has_items: bool, remedy: str) -> None:
    """Raise `Refused` with the faults of a file, or if it has no items."""
    if not has_items and not faults:
        message = "There are no items in the file."
        empty = Fault(None, "", "empty file", message, remedy)
        raise Refused(faults.skipped or [empty])
    if faults:
        raise Refused(faults)


def _listed_personas(file: File | None, faults: Faults) -> dict[str, PersonaRecord]:
    listed: dict[str, PersonaRecord] = {}
    if file is None:
        return listed
    for entry in read_json_lines(file):
        if isinstance(entry, BadLine):
            faults.append(entry.fault)
            continue
        line, raw = entry
        row = ImportRow(line, file.name)
        persona = read_persona(row, raw)
        if persona is not None and persona.key in listed:
            row.fault("id", "id used twice", f"persona “{persona.key}” is listed twice.")
        elif persona is not None:
            listed[persona.key] = persona
        faults += row.faults
    return listed


LEFT_OUT = "Faulty rows left out"
_SHOWN = 120
_COLUMNS_REPORTED = 30
_SECONDS = "Seconds to read and judge an item (median, 95 %, longest)"
_LABELS = {"r1": "response 1", "r2": "response 2", "tie": "tie", "": "unknown"}


@dataclass(frozen=True)
class ImportReport:
    """A report; `facts` are names with their text, `preview` the first items, shortened."""

    facts: tuple[tuple[str, str], ...]
    preview: tuple[dict[str, str], ...]

    def __str__(self) -> str:
        lines = [f"{name}: {text}" for name, text in self.facts]
        for number, item in enumerate(self.preview, start=1):
            lines.append(f"Item {number}: {item['asked']}")
            lines += [f"  {side}: {item[side]}" for side in ("r1", "r2")]
            lines.append(f"  own answer: {item['own']}; person: {item['person']}")
        return "\n".join(lines)


def report_on(files: Sequence[ReadItems]) -> ImportReport:
    """The report on files that were read together."""
    items = sum((file.items.facts for file in files), ItemFacts())
    count = [f"{sum(len(file.items) for file in files):,}"]
    if left := [f"limit {file.limit:,}" for file in files if file.limit is not None]:
        count.append(f"({left[0]})")
    ties = [file.ties for file in files if file.ties is not None]
    facts = [
        ("Rows read", _counts(_summed(file.rows for file in files))),
        ("Items made", " ".join(count)),
        ("Left out", _counts(_summed(file.dropped for file in files)) or "nothing"),
        (LEFT_OUT, _skipped(files)),
        ("Columns not imported", _columns_left_out(files)),
        ("Only two responses", _further_responses(files)),
        ("Changed", _counts(_summed(file.notes for file in files))),
        ("Ties found", f"{sum(ties):,}" if ties else ""),
        ("Personas", f"{len(items.personas) - len(items.partial):,}"),
        ("Only a part of the profile", _partial(items)),
        ("Person's own answer", _labels(items.labels)),
        ("Characters (median, 95 %, longest)", _lengths(items)),
        (_SECONDS, _seconds(files)),
        ("Languages", _languages(items.languages, files)),
        ("Licence", "; ".join(dict.fromkeys(filter(None, map(_licence, files))))),
        ("Made by", "; ".join(filter(None, map(_made_by, files)))),
    ]
    return ImportReport(
        facts=tuple((name, text) for name, text in facts if text),
        preview=tuple(_preview(item) for item in items.first),
    )


def quantiles(values: Iterable[int]) -> tuple[int, int, int]:
    """Median, 95th percentile and maximum, each a value that occurs (nearest rank)."""
    ordered = sorted(values)
    middle, high = (math.ceil(share * len(ordered)) - 1 for share in (0.5, 0.95))
    return ordered[middle], ordered[high], ordered[-1]


def _summed(counts: Iterable[Any]) -> Counter[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return total


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _labels(counts: Counter[str]) -> str:
    return ", ".join(f"{_LABELS[label]}: {counts[label]:,}" for label in _LABELS if counts[label])


def _partial(facts: ItemFacts) -> str:
    """How many items have a part of a profile, and how many such parts there are."""
    if not facts.partial:
        return ""
    return f"items {facts.partial.total():,}, parts of profiles {len(facts.partial):,}"


def _lengths(facts: ItemFacts) -> str:
    parts = []
    for name, lengths in facts.texts():
        if any(lengths):
            median, high, longest = quantiles(lengths.elements())
            parts.append(f"{name} {median:,}, {high:,}, {longest:,}")
    return "; ".join(parts)


def _seconds(files: Sequence[ReadItems]) -> str:
    """How long annotators need for an item, by the reading speed of its language."""
    seconds_of_items = Counter[int]()
    for file in files:
        language = str(file.dataset.get("language") or "en")
        for effort, number in file.items.facts.efforts.items():
            known = effort._replace(language=effort.language or language)
            seconds_of_items[round(known.seconds())] += number
    if not seconds_of_items:
        return ""
    return ", ".join(f"{seconds:,}" for seconds in quantiles(seconds_of_items.elements()))


def _languages(counts: Counter[str], files: Sequence[ReadItems]) -> str:
    if set(counts) == {"not stated"}:
        return ", ".join(str(f.dataset["language"]) for f in files if f.dataset.get("language"))
    return _counts(counts)


def _licence(file: ReadItems) -> str:
    source = file.dataset.get("source", {})
    licence, passing_on = source.get("licence", ""), source.get("redistribution", "")
    return f"{licence} (passing on: {passing_on})" if licence and passing_on else str(licence)


def _made_by(file: ReadItems) -> str:
    importer = file.dataset.get("importer")
    if not isinstance(importer, dict) or "seed" not in importer or file.ties is None:
        return ""
    return f"{importer['name']} {importer['version']} with seed {importer['seed']}"


def _columns_left_out(files: Sequence[ReadItems]) -> str:
    """The columns that a mapping does not name; none without a mapping."""
    if not any(file.mapping for file in files):
        return ""
    columns = dict.fromkeys(column for file in files for column in file.columns_left_out)
    listed = [_short(column) for column in list(columns)[:_COLUMNS_REPORTED]]
    more = [f"and {left:,} more"] if (left := len(columns) - len(listed)) else []
    return ", ".join([*listed, *more]) or "none"


def _skipped(files: Sequence[ReadItems]) -> str:
    first: dict[tuple[str, int | None], Fault] = {}
    for fault in (fault for file in files for fault in file.skipped):
        first.setdefault((fault.file, fault.line), fault)
    listed = [str(fault) for fault in list(first.values())[:LISTED]]
    more = [f"and {left:,} more"] if (left := len(first) - len(listed)) else []
    return " ".join([f"{len(first):,}.", *listed, *more]) if first else ""


def _further_responses(files: Sequence[ReadItems]) -> str:
    columns = dict.fromkeys(column for file in files for column in file.columns_left_out)
    if not (further := further_responses(columns)):
        return ""
    return ". ".join([f"{', '.join(map(_short, further))} left out", *remedies()])


def remedies() -> list[str]:
    """How to import rows with more responses, if columns were mapped."""
    return [option.remedy for option in ROW_OPTIONS]


def _preview(item: ItemRecord) -> dict[str, str]:
    values = item.values
    asked = values["question"] or values["context"] or values["r1"].get("prompt") or ""
    return {
        "lang": str(values["language"]).replace("_", "-"),
        "asked": _short(asked),
        "r1": _short(values["r1"]["text"]),
        "r2": _short(values["r2"]["text"]),
        "own": _LABELS[values["first_person"]],
        "person": _short(", ".join(f["value"] for f in item.persona.features) or item.persona.text),
    }


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
