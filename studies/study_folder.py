"""The files of a study, written by hand or exported, and parts of its design that extras add."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

from django.contrib.auth.models import User

from studies.errors import StudyError
from studies.extra import Kind
from studies.importers.files.bundle import File, file_at
from studies.importers.files.faults import MAX_BYTES
from studies.importers.files.lines import document
from studies.models import Study
from studies.texts.json_values import NotJson
from studies.texts.toml_values import NotToml, toml_value

T = TypeVar("T")
_MISSING: Any = object()
_KINDS: dict[Any, str] = {
    str: "a text in quotes",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


@dataclass(frozen=True)
class Folder:
    """The folder of a study.toml and of the files that it names, by paths relative to it."""

    path: Path

    def file(self, name: str) -> File:
        """A file of the folder, to be read as a stream. Raises `StudyError`."""
        path = self.path / name
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise StudyError(f"{name} is outside the folder of the study. Copy it into the folder.")
        try:
            if path.stat().st_size > MAX_BYTES:
                limit = f"{MAX_BYTES // 2**20} MB"
                raise StudyError(f"{path} is larger than {limit}. Use a smaller file.")
            return file_at(path)
        except OSError as error:
            raise StudyError(
                f"{path} cannot be read: {error.strerror}. Add the file, or remove its name from "
                "study.toml."
            ) from error

    def text(self, name: str) -> str:
        """The exact text of a file, with its line endings. Raises `StudyError`."""
        try:
            return self.file(name).read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise StudyError(f"{name} is not in UTF-8. Save it as UTF-8.") from error

    def toml(self, name: str, *, known: tuple[str, ...] = ()) -> dict[str, Any]:
        """The content of a TOML file, which may have only `known` keys, if given."""
        try:
            content = toml_value(self.text(name))
        except NotToml as error:
            raise StudyError(f"{name} is not TOML: {error}.") from error
        if known:
            refuse_unknown(content, known, where=name)
        return content

    def json(self, name: str) -> dict[str, Any]:
        """The object in a JSON file."""
        try:
            with self.file(name).open() as stream:
                content = document(stream)
        except NotJson as error:
            raise StudyError(f"{name} is not JSON: {error}.") from error
        if not isinstance(content, dict):
            raise StudyError(f"{name} must contain one JSON object.")
        return content


def refuse_unknown(table: Mapping[str, Any], known: tuple[str, ...], *, where: str) -> None:
    """Raise `StudyError` if a table has a key that is not `known`."""
    if unknown := [key for key in table if key not in known]:
        raise StudyError(f"{where}: “{unknown[0]}” is not known. Use: {', '.join(known)}.")


def value_of(
    table: Mapping[str, Any], key: str, kind: type[T], *, where: str, default: T = _MISSING
) -> T:
    """A value of a table, if it is of this kind. Raises `StudyError` otherwise."""
    value = table.get(key, default)
    if value is _MISSING:
        raise StudyError(f"{where}: {key} is missing. Add {_KINDS[kind]}.")
    is_number = kind is float and isinstance(value, int)
    if isinstance(value, bool) is not (kind is bool) or not (isinstance(value, kind) or is_number):
        raise StudyError(f"{where}: {key} is {value!r}. Use {_KINDS[kind]}.")
    return value


def tables_of(content: Mapping[str, Any], key: str, *, where: str) -> list[dict[str, Any]]:
    """The tables `[[key]]` of a TOML file; none if it has no such table."""
    rows = value_of(content, key, list, where=where, default=[])
    if not all(isinstance(row, dict) for row in rows):
        raise StudyError(f"{where}: start every {key} with [[{key}]], in double brackets.")
    return rows


# The content of a file: a text, the lines of a long text, or a function that opens a binary file,
# whose name identifies its content.
Content = str | Iterator[str] | Callable[[], IO[bytes]]


class StudyFilePart(Protocol):
    """A part of the design. `name` is its key in study.toml, `file` the main file of an export."""

    name: str
    file: str

    def write(self, study: Study) -> Mapping[str, Content]:
        """Its files by path, the main file included; empty if the study has no such part.

        A file depends only on the design, not on clocks, row ids or the database.
        """
        ...

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        """Give the study what the file says, and return remarks for the user who applies it.

        Runs under the lock of the study, in the transaction of all parts. Raises `StudyError`.
        """
        ...


MORE: Kind[StudyFilePart] = Kind("files", "study")


def to_toml(content: dict[str, Any]) -> str:
    """A TOML text. Keys stay in their order."""
    import tomli_w  # Imported here, because only exports of a study write TOML.

    return tomli_w.dumps(content)


def to_json(content: Any) -> str:
    """A JSON text that does not depend on the key order of the database."""
    return json.dumps(content, ensure_ascii=False, sort_keys=True, indent=1) + "\n"
