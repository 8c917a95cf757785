"""Reading of checked items from paths (files, folders, zips) in any format.

An export whose source forbids redistributing texts lists only ids and content hashes. Anyone who
has the source's own files imports them `like` that list, and gets exactly its items with the
content that was judged.
"""

import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import django

from studies.errors import BadOption
from studies.importers.columns.mapped_items import read_mapped
from studies.importers.columns.mapping import ColumnMapping
from studies.importers.files.bundle import (
    Bundle,
    File,
    bad_zip,
    file_at,
    open_path,
    open_zip,
    size_of,
)
from studies.importers.files.child import Send, from_child, is_needed
from studies.importers.files.faults import Fault, Faults, Refused, refused
from studies.importers.files.json_rows import read_json_lines
from studies.importers.files.lines import BadLine
from studies.importers.files.packed import BROKEN_ZIP, DAMAGED_ZIP
from studies.importers.files.readers import REQUIRED
from studies.importers.items.item_bundle import (
    ImportOptions,
    ReadItems,
    file_formats,
    read_bundle,
    read_together,
)
from studies.importers.items.records import ItemRecord, KeptItems
from studies.importers.items.validation import ROW_OPTIONS, Validator
from studies.importers.sets import data_sets
from studies.importers.sets.data_set import (
    DEFAULT_SEED,
    DataSet,
    Files,
    SetFile,
    Tally,
    Watch,
    columns_of,
    parse_options,
    parts_of,
    role_of,
)
from studies.media import keeper

_BUNDLE = ("items.jsonl", "items.csv", "dataset.json")
_ROWS_SENT = 1_000
_NEUTRAL = ({"id", "responses"}, {"persona", "responses"}, set(REQUIRED))


def format_names() -> list[str]:
    """The allowed values of `format`."""
    return ["auto", *file_formats(), *data_sets()]


def read_paths(
    paths: Sequence[Path], how: ImportOptions, *, watch: Watch | None = None
) -> list[ReadItems]:
    """Read and check the files at `paths`; the files of a data set are read as one.

    Files that are not small are read in a child process. Raises `Refused` with every fault, and
    `BadOption` for an option that the format lacks.
    """
    size = sum(map(size_of, [*paths, *([how.media] if how.media else [])]))
    if not is_needed(size):
        return _read(paths, how, watch)
    name = ", ".join(path.name for path in paths)
    read: list[ReadItems] = []
    for part in from_child(_send, paths, how, name=name, size=size, prepare=django.setup):
        if isinstance(part, ReadItems):
            read.append(part)
        elif watch is not None:
            rows, watch.total = part
            watch.update(rows)
    return read


class _Progress:
    """Sends how many rows were read to the parent, a thousand at a time."""

    def __init__(self, send: Send) -> None:
        self.total = self._rows = 0
        self._send = send

    def update(self, n: int = 1) -> None:
        self._rows += n
        if self._rows >= _ROWS_SENT:
            self._send((self._rows, self.total))
            self._rows = 0


def _send(send: Send, paths: Sequence[Path], how: ImportOptions) -> None:
    for read in _read(paths, how, _Progress(send)):
        send(read)


def _read(paths: Sequence[Path], how: ImportOptions, watch: Watch | None) -> list[ReadItems]:
    by_rule = [option for option in ROW_OPTIONS if option.name in how.options]
    if how.mapping is not None:
        for option in by_rule:
            message = f"{option.name}: leave the mapping out. {option.remedy}."
            raise BadOption(option.name, message)
        columns = ColumnMapping.of(how.mapping)
        return [
            _read_bundle(
                lambda bundle: read_mapped(bundle.items, columns, how, watch=watch), opened
            )
            for opened in map(open_path, paths)
        ]
    parts: dict[Path, list[SetFile]] = {}
    sets = data_sets()
    if how.format == "auto" or how.format in sets:
        parts = {path: [] if _is_bundle(path) else parts_of(path) for path in paths}
    if how.format == "auto":
        how = replace(how, format=_recognised(parts))
    if how.format in sets:
        if how.encoding:
            raise BadOption("encoding", f"encoding is not for {how.format}: save it as UTF-8.")
        names = tuple(path.name for path in paths)
        files = [part for of_one in parts.values() for part in of_one]
        return [_read_set(sets[how.format], names, files, how, watch)]
    others = how.options.keys() - {option.name for option in by_rule}
    if others or (how.seed is not None and not by_rule):
        name = min(others, default="seed")
        message = f"{name} belongs to a data set: {', '.join(sets)}. These files are {how.format}."
        raise BadOption(name, message)
    bundles = [open_path(path) for path in paths]
    if how.media is not None:
        delivered = keeper().in_folder(how.media)
        bundles = [replace(bundle, media=delivered) for bundle in bundles]
    return read_together(
        [
            _read_bundle(lambda bundle: read_bundle(bundle, how, watch=watch), opened)
            for opened in bundles
        ],
        how,
    )


def _read_bundle(read: Callable[[Bundle], ReadItems], bundle: Bundle) -> ReadItems:
    """The items of a bundle. A damaged zip is found while it is read, before anything is stored."""
    try:
        return read(bundle)
    except DAMAGED_ZIP as error:
        raise bad_zip(bundle.name, error) from error


def _read_set(
    dataset: DataSet,
    names: tuple[str, ...],
    parts: Sequence[SetFile],
    how: ImportOptions,
    watch: Watch | None,
) -> ReadItems:
    """Make and check the items of a data set, or the first `limit` of them."""
    chosen = parse_options(dataset.options, how.options)
    seed = DEFAULT_SEED if how.seed is None else how.seed
    files = Files(dataset.title, dataset.roles, parts)
    tally = Tally(watch=watch, faults=Faults(skip=how.skip_faulty))
    items = KeptItems()
    validators: dict[str, Validator] = {}
    try:
        if watch is not None:
            watch.total += sum(_lines(part) for part in files.used())
        for file, line, raw in islice(dataset.read(files, chosen, seed, tally), how.limit):
            validator = validators.get(file)
            if validator is None:
                validator = Validator(file=file, task=dataset.task, faults=tally.faults)
                validators[file] = validator
            item = validator.item(line, raw)
            if item is not None:
                items.append(item)
    except BROKEN_ZIP as error:
        raise bad_zip(", ".join(names), error) from error
    except Refused as error:
        if not error.is_cut:
            raise
        raise Refused(_named(error.faults, parts), is_cut=True) from error
    unused = [part.name for part in parts if part not in files.used() and "/" not in part.name]
    if unused:
        tally.notes[f"files that are not used here ({', '.join(unused)})"] = len(unused)
    faults: list[Fault] = tally.faults
    if not items and not faults:
        listed = ", ".join(f"{count:,} {reason}" for reason, count in tally.dropped.items())
        message = f"no item could be made. Left out: {listed or 'nothing; the files have no rows'}."
        faults = [Fault(None, "", "no items", message, "Change the options.", file=names[0])]
    if faults:
        raise Refused(_named(faults, parts))
    return ReadItems(
        names=names,
        dataset=dataset.dataset(chosen, seed),
        format=dataset.name,
        task=dataset.task,
        items=items,
        warnings=[warning for v in validators.values() for warning in v.warnings],
        rows=tally.rows,
        limit=how.limit,
        dropped=tally.dropped,
        notes=tally.notes,
        ties=tally.ties,
        skipped=tally.faults.skipped,
    )


def _named(faults: Iterable[Fault], parts: Sequence[SetFile]) -> list[Fault]:
    """Add the file's name to faults if there are several files."""
    return [replace(fault, names_file=len(parts) > 1) for fault in faults]


def _recognised(parts: Mapping[Path, Sequence[SetFile]]) -> str:
    """The data set that the files clearly belong to; “auto” if they are neutral or unknown.

    A data set is recognised by the file that it requires. A bundle, and a file with the columns
    of the item format, never belong to one. Raises `Refused` if both are given together.
    """
    kinds = {path: _set_of(of_one) for path, of_one in parts.items()}
    recognised = sorted({kind for kind in kinds.values() if kind})
    if not recognised:
        return "auto"
    neutral = [
        path
        for path, of_one in parts.items()
        if _is_bundle(path) or any(_is_neutral(part) for part in of_one)
    ]
    if len(recognised) > 1 or neutral:
        listed = [f"{path.name} ({kind})" for path, kind in kinds.items() if kind]
        listed += [f"{path.name} (items)" for path in neutral]
        message = f"the files are of different kinds: {', '.join(listed)}."
        remedy = "Import each kind by itself."
        raise refused("", message, remedy)
    return recognised[0]


def is_of_a_set(file: File) -> bool:
    """Whether a single file has the columns of a data set's main table."""
    with file.open() as stream:
        part = SetFile(file.name, "", columns_of(stream), file.open)
    return _set_of([part]) is not None


def _set_of(parts: Sequence[SetFile]) -> str | None:
    for dataset in data_sets().values():
        marks = [role for role in dataset.roles if role.is_mark]
        if any(role_of(marks, part) and not _is_neutral(part) for part in parts):
            return dataset.name
    return None


def _is_bundle(path: Path) -> bool:
    """Whether a folder or a zip has the files of a bundle, in their usual places."""
    try:
        if path.is_dir():
            return any((path / name).is_file() for name in _BUNDLE)
        if not path.is_file() or not zipfile.is_zipfile(path):
            return False
    except OSError:
        return False  # who reads it next says why it cannot be read
    try:
        with open_zip(path.name, path) as archive:
            names = archive.namelist()
    except BROKEN_ZIP as error:
        raise bad_zip(path.name, error) from error
    return any(n.rpartition("/")[2] in _BUNDLE and n.count("/") <= 1 for n in names)


def _is_neutral(part: SetFile) -> bool:
    return any(part.columns.issuperset(columns) for columns in _NEUTRAL)


def _lines(part: SetFile) -> int:
    with part.open() as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))


def read_list(path: Path) -> dict[str, str]:
    """The content hash of each item that an export's items.jsonl lists. Raises `Refused`."""
    try:
        return dict(_listed(file_at(path)))
    except OSError as error:
        raise _refused(path, f"{path} cannot be read: {error.strerror}.") from error
    except (KeyError, TypeError) as error:
        raise _refused(path, f"{path} does not list items by id and content_hash.") from error


def _listed(file: File) -> Iterator[tuple[str, str]]:
    for entry in read_json_lines(file):
        if isinstance(entry, BadLine):
            raise TypeError
        yield entry[1]["id"], entry[1]["content_hash"]


def only_listed(
    files: Sequence[ReadItems], listed: dict[str, str], known: dict[str, str]
) -> list[ReadItems]:
    """The items of `files` that `listed` names.

    `known` are the content hashes of items that an earlier import stored. Raises `Refused` unless
    all listed items are there unchanged.
    """
    kept: list[ReadItems] = []
    unchanged = {key for key, content_hash in known.items() if listed.get(key) == content_hash}
    other: dict[str, ItemRecord] = {}
    for file in files:
        same = KeptItems()
        for item in file.items:
            if listed.get(item.key) == item.content_hash:
                same.append(item)
                unchanged.add(item.key)
            elif item.key in listed:
                other[item.key] = item
        kept.append(replace(file, items=same))
    faults = [_fault(key, other.get(key)) for key in listed if key not in unchanged]
    if faults:
        raise Refused(faults)
    return kept


def _fault(key: str, item: ItemRecord | None) -> Fault:
    remedy = "Give the files that the export's README.md names, in that revision and order."
    if item is None:
        return Fault(
            None, "id", "item is missing", f"item “{key}” is in none of the files.", remedy, key
        )
    message = f"item “{key}” differs from the exported one."
    return Fault(item.line, "id", "item has other content", message, remedy, key, item.file)


def _refused(path: Path, message: str) -> Refused:
    remedy = "Give the file jsonl/items.jsonl of an export."
    return Refused([Fault(None, "", "list of items", message, remedy, file=path.name)])
