"""The parts of a study's design; every app registers its own, and each has one file or more."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, Protocol

from django.contrib.auth.models import User

from studies.models import Study
from studies.study_files.folder import Folder

# The content of a file: a text, the lines of a long one, or what opens a file of bytes, whose name
# says its content.
Content = str | Iterator[str] | Callable[[], IO[bytes]]


class StudyFilePart(Protocol):
    """A part of the design. `name` is its key in study.toml, `file` the main file of an export."""

    name: str
    file: str

    def write(self, study: Study) -> Mapping[str, Content]:
        """Its files by path, the main file included; empty if the study has no such part.

        A file depends on the design only: not on clocks, ids of rows, or the database.
        """
        ...

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        """Give the study what the file says, and return remarks for the user who applies it.

        Runs under the lock of the study, in the transaction of all parts. Raises `StudyError`.
        """
        ...


_parts: list[StudyFilePart] = []


def register(part: StudyFilePart) -> None:
    """Add a part; a second call changes nothing. Parts are applied in the order of registration."""
    if all(known.name != part.name for known in _parts):
        _parts.append(part)


def registered() -> tuple[StudyFilePart, ...]:
    return tuple(_parts)


def to_toml(content: dict[str, Any]) -> str:
    """A TOML text. Keys stay in their order."""
    import tomli_w  # Here, because only exports of a study write TOML.

    return tomli_w.dumps(content)


def to_json(content: Any) -> str:
    """A JSON text that does not depend on the order in which a database keeps keys."""
    return json.dumps(content, ensure_ascii=False, sort_keys=True, indent=1) + "\n"
