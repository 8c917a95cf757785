"""The parts of a data set's importer: description, options, files, counts, seeded draws."""

import hashlib
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol, TypeVar, cast

from studies.errors import BadOption
from studies.importers.files.bundle import WORKBOOKS, bad_zip, open_zip, readable
from studies.importers.files.faults import MAX_BYTES, MAX_ROW, Fault, Faults, Refused, refused
from studies.importers.files.json_rows import json_lines
from studies.importers.files.lines import (
    BadLine,
    decoded_line,
    header_of,
    stated_delimiter,
    table_rows,
)
from studies.importers.files.packed import BROKEN_ZIP


class Watch(Protocol):
    """Shows or stores the progress of reading, in rows."""

    total: int

    def update(self, n: int = 1) -> object: ...


@dataclass
class Tally:
    """Rows read per file, exclusions with reasons, changes, and every fault."""

    watch: Watch | None = None
    rows: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    faults: Faults = field(default_factory=Faults)
    ties: int = 0

    def row(self, file: str) -> None:
        self.rows[file] += 1
        if self.watch is not None:
            self.watch.update()

    def drop(self, reason: str, count: int = 1) -> None:
        if count:
            self.dropped[reason] += count


Value = bool | int | float | str | list[str]
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
ALL = "all"


@dataclass(frozen=True)
class Option:
    """One option; its type is that of its default.

    A default of "all" makes it a list of words, from `words` if they are known. A text must be one
    of `words`, or if `is_open` a list of other words.
    """

    name: str
    default: bool | int | float | str
    meaning: str
    words: tuple[str, ...] = ()
    low: float = 0
    high: float = 1_000_000
    is_open: bool = False
    label: str = ""

    @property
    def is_list(self) -> bool:
        return self.default == ALL

    def parse(self, text: str) -> Value:
        """The value that `text` means. Raises `BadOption` with the allowed values."""
        text = text.strip()
        if isinstance(self.default, bool):
            if text.casefold() not in _FLAGS:
                raise self._bad(text, "true or false")
            return _FLAGS[text.casefold()]
        if isinstance(self.default, (int, float)):
            return self._number(text)
        if self.is_list:
            return self._list(text)
        if text in self.words:
            return text
        listed = _split(text)
        if not self.is_open or not listed:
            also = ", or names with commas between them" if self.is_open else ""
            raise self._bad(text, f"one of {', '.join(self.words)}{also}")
        return listed

    def _number(self, text: str) -> int | float:
        whole = isinstance(self.default, int)
        wanted = f"a {'whole ' if whole else ''}number from {self.low:,} to {self.high:,}"
        try:
            number = int(text) if whole else float(text)
        except ValueError:
            raise self._bad(text, wanted) from None
        if not self.low <= number <= self.high:
            raise self._bad(text, wanted)
        return number

    def _list(self, text: str) -> str | list[str]:
        if text == ALL:
            return ALL
        listed = _split(text)
        if not listed or (self.words and not set(listed) <= set(self.words)):
            some = ", ".join(self.words) if self.words else "names"
            raise self._bad(text, f"all, or some of {some} with commas between them")
        return listed

    def _bad(self, text: str, wanted: str) -> BadOption:
        return BadOption(self.name, f"The option {self.name} must be {wanted}, not “{text[:80]}”.")


def parse_options(options: Sequence[Option], entered: Mapping[str, str]) -> dict[str, Value]:
    """Every option with its value, given or default. Raises `BadOption`."""
    known = {option.name: option for option in options}
    for name in entered:
        if name not in known:
            listed = ", ".join(f"{o.name} ({as_text(o.default)})" for o in options)
            raise BadOption(name, f"There is no option “{name}”. The options are: {listed}.")
    return {
        name: option.parse(entered[name]) if name in entered else option.default
        for name, option in known.items()
    }


def as_text(value: Any) -> str:
    """A value as it is written after `--option NAME=`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    return str(value).removesuffix(".0")


def chosen(value: Any, name: str) -> bool:
    """Whether a list of words, or “all”, contains `name`."""
    return bool(value == ALL or name in value)


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet")
_MOST_FILES = 2_000
_HEAD_LINES = 50


@dataclass(frozen=True)
class SetFile:
    """A file with rows; `folder` distinguishes files of the same name."""

    name: str
    folder: str
    columns: frozenset[str]
    open: Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(frozen=True)
class Role:
    """The role of a file in a data set: recognised by `columns`, and described in `what`.

    `is_mark`: a file with these columns cannot belong to another data set.
    """

    name: str
    columns: tuple[str, ...]
    what: str
    is_mark: bool = False


def parts_of(path: Path) -> list[SetFile]:
    """The files with rows in a file, a folder or a zip. Raises `Refused`."""
    try:
        if path.is_dir():
            return _in_folder(path)
        if path.exists() and not path.is_file():
            return []  # a pipe can be read only once
        if zipfile.is_zipfile(path) and not path.name.lower().endswith(WORKBOOKS):
            return _in_zip(path)
        return [_part(path.name, str(path.parent), path.stat().st_size, partial(_file, path))]
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}."
        raise refused(path.name, message, "Check the path.") from error
    except BROKEN_ZIP as error:
        raise bad_zip(path.name, error) from error


def _in_folder(path: Path) -> list[SetFile]:
    files = sorted(f for f in path.rglob("*") if f.suffix.lower() in _SUFFIXES and f.is_file())
    _not_too_many(path.name, len(files))
    return [
        _part(
            f"{path.name}/{file.relative_to(path).as_posix()}",
            str(file.parent),
            file.stat().st_size,
            partial(_file, file),
        )
        for file in files
    ]


def _in_zip(path: Path) -> list[SetFile]:
    # It stays open while its parts are used: otherwise each would read its list again.
    archive = open_zip(path.name, path)
    infos = [
        info
        for info in archive.infolist()
        if info.filename.lower().endswith(_SUFFIXES) and "__MACOSX" not in info.filename
    ]
    _not_too_many(path.name, len(infos))
    return [
        _part(
            f"{path.name}/{info.filename}",
            f"{path}/{PurePosixPath(info.filename).parent}",
            info.file_size,
            partial(_member, archive, info),
        )
        for info in sorted(infos, key=lambda info: info.filename)
    ]


@contextmanager
def _file(path: Path) -> Iterator[IO[bytes]]:
    with readable(path.open("rb"), path.name) as stream:
        yield stream


@contextmanager
def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    # Buffered, because a member of a zip looks for the end of a line in small steps.
    with archive.open(info) as stream, io.BufferedReader(cast(io.RawIOBase, stream)) as buffered:
        with readable(buffered, info.filename) as lines:
            yield lines


def _part(
    name: str, folder: str, size: int, opener: Callable[[], AbstractContextManager[IO[bytes]]]
) -> SetFile:
    if size > MAX_BYTES:
        raise refused(name, "the file is larger than 200 MB.", "Split it and import the parts.")
    with opener() as stream:
        columns = columns_of(stream)
    return SetFile(name, folder, columns, opener)


def columns_of(stream: IO[bytes]) -> frozenset[str]:
    """The keys of the first JSON object of a file, or the cells of its first row."""
    for _ in range(_HEAD_LINES):
        try:
            line = decoded_line(stream.readline(MAX_ROW))[0].strip()
        except UnicodeDecodeError:
            return frozenset()
        if not line or stated_delimiter(line):
            continue
        if not line.startswith("{"):
            return frozenset(header_of(line) or ())
        try:
            return frozenset(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return frozenset()


class Files:
    """The files that were given for one data set, by their roles in it."""

    def __init__(self, title: str, roles: Sequence[Role], parts: Sequence[SetFile]) -> None:
        self.title, self.parts = title, parts
        self.roles = {role.name: role for role in roles}

    def all(self, role: str) -> list[SetFile]:
        return [part for part in self.parts if role_of(self.roles.values(), part) == role]

    def used(self) -> list[SetFile]:
        """The files that have any role."""
        return [part for part in self.parts if role_of(self.roles.values(), part)]

    def find(self, role: str) -> SetFile | None:
        """The file of this role, if there is one. Raises `Refused` when there are several."""
        parts = self.all(role)
        if len(parts) > 1:
            names = " and ".join(part.name for part in parts[:2])
            message = f"there is more than one file of {self.title} with {self.roles[role].what}"
            raise refused(parts[1].name, f"{message}: {names}.", "Give one of them.")
        return parts[0] if parts else None

    def need(self, role: str) -> SetFile:
        """The file of this role. Raises `Refused` with the file that comes closest."""
        part = self.find(role)
        if part is None:
            raise self.missing(role)
        return part

    def missing(self, role: str) -> Refused:
        wanted = self.roles[role]
        others = [part for part in self.parts if role_of(self.roles.values(), part) is None]
        near = max(others, key=lambda p: len(p.columns & set(wanted.columns)), default=None)
        message = f"{self.title} needs the file with {wanted.what}."
        if near is not None and 2 * len(near.columns & set(wanted.columns)) >= len(wanted.columns):
            lacks = [column for column in wanted.columns if column not in near.columns]
            message += f" {near.name} may be it, but has no column {', '.join(lacks)}."
            return refused(near.name, message, "Use the file as it was released.", line=1)
        files = ", ".join(part.name for part in self.parts[:5]) or "no file with rows"
        message += f" Its columns are: {', '.join(wanted.columns)}. Given: {files}."
        return refused("", message, "Add it.")


def role_of(roles: Iterable[Role], part: SetFile) -> str | None:
    """The first of `roles` whose columns `part` has."""
    return next((role.name for role in roles if part.columns.issuperset(role.columns)), None)


def json_rows(part: SetFile, tally: Tally) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their lines; unreadable ones are faults."""
    with part.open() as stream:
        for entry in json_lines(stream, part.name, tally.notes):
            tally.row(part.name)
            if isinstance(entry, BadLine):
                tally.faults.append(entry.fault)
            elif isinstance(entry[1], dict):
                yield entry
            else:
                message = "the line is not a JSON object."
                tally.faults.append(Fault(entry[0], "", "not an object", message, file=part.name))


def csv_rows(
    part: SetFile, tally: Tally, *, escape: str | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with their lines; unreadable ones are faults."""
    with part.open() as stream:
        for entry in table_rows(stream, part.name, escape=escape, changes=tally.notes):
            tally.row(part.name)
            if isinstance(entry, BadLine):
                tally.faults.append(entry.fault)
            else:
                yield entry


def _not_too_many(name: str, count: int) -> None:
    if count > _MOST_FILES:
        message = f"there are {count:,} files in it; at most {_MOST_FILES:,} are read."
        raise refused(name, message, "Give only the folder of the data set.")


DEFAULT_SEED = 20240701
# A raw item in the neutral format, with its file and the line on which it begins.
Raw = tuple[str, int, dict[str, Any]]
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._:-]+")
Reader = Callable[[Files, Mapping[str, Any], int, Tally], Iterator[Raw]]
# An answer as a row of a file of answers, with the line that it comes from.
RawAnswer = tuple[int, dict[str, Any]]
RawAnswerReader = Callable[[Files, Tally], Iterator[RawAnswer]]


@dataclass(frozen=True)
class DataSet:
    """A released data set: its files, its options, and the function that makes its items.

    `version` changes when the same files and options give other items. `answers` reads the answers
    of several people to the same items, if the files have them.
    """

    name: str
    title: str
    about: str
    task: str
    files: str
    source: dict[str, str]
    roles: tuple[Role, ...]
    options: tuple[Option, ...]
    read: Reader
    version: str = "1"
    language: str = "en"
    answers: RawAnswerReader | None = None

    def dataset(self, options: Mapping[str, Value], seed: int) -> dict[str, Any]:
        """The content of dataset.json for an import."""
        importer = {
            "name": self.name,
            "version": self.version,
            "options": dict(options),
            "seed": seed,
        }
        return {
            "name": self.name,
            "title": self.title,
            "language": self.language,
            "source": dict(self.source),
            "importer": importer,
        }


def item(
    *,
    key: str,
    task: str,
    persona: dict[str, Any],
    own: dict[str, Any],
    other: dict[str, Any],
    own_is_first: bool,
    tie: bool = False,
    margin: float | None = None,
    source: str = "self_report",
    **fields: Any,
) -> dict[str, Any]:
    """A raw item with the persona's own answer and the other response on the drawn sides."""
    first, second = (own, other) if own_is_first else (other, own)
    label = "tie" if tie else "r1" if own_is_first else "r2"
    return {
        "id": key,
        "task": task,
        "persona": persona,
        "responses": [{"key": "r1", **first}, {"key": "r2", **second}],
        "first_person": {"label": label, "tie": tie, "margin": margin, "source": source},
        "language": "en",
        **fields,
    }


def fact(key: str, label: str, value: str, text: str) -> dict[str, str]:
    return {"key": key, "label": label, "value": value, "text": text}


def lower_first(text: str) -> str:
    """`text` as written within a sentence: “working full-time” but “US citizen”."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def for_id(text: str) -> str:
    """`text` as a part of an item's id."""
    return _NOT_IN_IDS.sub("-", text)


T = TypeVar("T")


def rank(seed: int, *names: object) -> int:
    """A number from 0 to 2⁶⁴-1 that is random for each seed and name."""
    text = ":".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def draw(items: Iterable[T], size: int, *, by: Callable[[T], float | int]) -> list[T]:
    """The `size` items with the lowest `by`, in their original order."""
    listed = list(items)
    order = sorted(range(len(listed)), key=lambda n: (by(listed[n]), n))
    return [listed[n] for n in sorted(order[:size])]


FIRST = "first"  # of options that draw by seed, or take what comes first


def draw_or_first(
    items: Iterable[T], size: int, *, rule: str, by: Callable[[T], float | int]
) -> list[T]:
    """The first `size` items if `rule` says so, otherwise what `draw` takes."""
    return list(items)[:size] if rule == FIRST else draw(items, size, by=by)


class Sides:
    """Decides for each item whether the persona's own answer is r1.

    A seeded coin makes it r1 in one of every two successive items. So any number of first items is
    balanced, and does not depend on what follows.
    """

    def __init__(self, seed: int, name: str) -> None:
        self.seed, self.name = seed, name
        self._next: bool | None = None

    def own_is_first(self, key: str) -> bool:
        if self._next is not None:
            is_first, self._next = self._next, None
            return is_first
        is_first = rank(self.seed, "side", self.name, key) % 2 == 0
        self._next = not is_first
        return is_first
