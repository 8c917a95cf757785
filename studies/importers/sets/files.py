"""Finds the files of a data set by their columns, and reads them row by row."""

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from studies.importers.files.bundle import bad_zip, open_zip, readable
from studies.importers.files.faults import Fault, Refused
from studies.importers.files.limits import MAX_BYTES, MAX_ROW
from studies.importers.files.packed import BROKEN_ZIP
from studies.importers.files.readers import BadLine, json_lines
from studies.importers.files.table import header_of, stated_delimiter, table_rows
from studies.importers.sets.tally import Tally

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
        if zipfile.is_zipfile(path):
            return _in_zip(path)
        return [_part(path.name, str(path.parent), path.stat().st_size, partial(_file, path))]
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}."
        raise refused(path.name, message, "Check the path.") from error
    except BROKEN_ZIP as error:
        raise bad_zip(path.name, error) from error


def _in_folder(path: Path) -> list[SetFile]:
    found = sorted(f for f in path.rglob("*") if f.suffix.lower() in _SUFFIXES and f.is_file())
    _not_too_many(path.name, len(found))
    return [
        _part(
            f"{path.name}/{file.relative_to(path).as_posix()}",
            str(file.parent),
            file.stat().st_size,
            partial(_file, file),
        )
        for file in found
    ]


def _in_zip(path: Path) -> list[SetFile]:
    # It stays open as long as its parts are used, because each would read its list again.
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
            line = stream.readline(MAX_ROW).decode("utf-8-sig").strip()
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
        found = self.all(role)
        if len(found) > 1:
            names = " and ".join(part.name for part in found[:2])
            message = f"there is more than one file of {self.title} with {self.roles[role].what}"
            raise refused(found[1].name, f"{message}: {names}.", "Give one of them.")
        return found[0] if found else None

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
        given = ", ".join(part.name for part in self.parts[:5]) or "no file with rows"
        message += f" Its columns are: {', '.join(wanted.columns)}. Given: {given}."
        return refused("", message, "Add it.")


def role_of(roles: Iterable[Role], part: SetFile) -> str | None:
    """The first of `roles` whose columns `part` has."""
    return next((role.name for role in roles if part.columns.issuperset(role.columns)), None)


def json_rows(part: SetFile, tally: Tally) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their lines; unreadable ones are faults."""
    with part.open() as stream:
        for found in json_lines(stream, part.name):
            tally.row(part.name)
            if isinstance(found, BadLine):
                tally.faults.append(found.fault)
            elif isinstance(found[1], dict):
                yield found
            else:
                message = "the line is not a JSON object."
                tally.faults.append(Fault(found[0], "", "not an object", message, file=part.name))


def csv_rows(
    part: SetFile, tally: Tally, *, escape: str | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with their lines; unreadable ones are faults."""
    with part.open() as stream:
        for found in table_rows(stream, part.name, escape=escape):
            tally.row(part.name)
            if isinstance(found, BadLine):
                tally.faults.append(found.fault)
            else:
                yield found


def _not_too_many(name: str, count: int) -> None:
    if count > _MOST_FILES:
        message = f"there are {count:,} files in it; at most {_MOST_FILES:,} are read."
        raise refused(name, message, "Give the folder of the data set alone.")


def refused(name: str, message: str, remedy: str, line: int | None = None) -> Refused:
    return Refused([Fault(line, "", "file cannot be used", message, remedy, file=name)])
