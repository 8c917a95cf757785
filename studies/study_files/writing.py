"""The design of a study as files."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from studies.models import Study
from studies.study_files.parts import Content, registered
from studies.study_files.settings import write_settings


def files_of(study: Study) -> Iterator[tuple[str, Content]]:
    """Every file of a study's design: its path, and its content."""
    mains: dict[str, str] = {}
    found: list[tuple[str, Content]] = []
    for part in registered():
        if files := part.write(study):
            mains[part.name] = part.file
            found += files.items()
    yield from write_settings(study, mains).items()
    yield from found


def write_study(
    study: Study, folder: Path, *, on_rows: Callable[[int], object] | None = None
) -> dict[str, int]:
    """Write the design of a study into an empty folder; return the numbers of files and items."""
    counts = {"files": 0, "items": 0}
    for name, content in files_of(study):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            with content() as source, path.open("wb") as copy:
                shutil.copyfileobj(source, copy)
            counts["files"] += 1
            continue
        with path.open("w", encoding="utf-8", newline="") as out:
            if isinstance(content, str):
                out.write(content)
            else:
                for line in content:
                    out.write(line)
                    counts["items"] += 1
                    if on_rows is not None:
                        on_rows(1)
        counts["files"] += 1
    return counts


@dataclass(frozen=True)
class Snapshot:
    """The files of a study at one time; of long files, a hash of each row by its id."""

    texts: dict[str, str] = field(default_factory=dict)
    rows: dict[str, dict[str, bytes]] = field(default_factory=dict)


def snapshot(study: Study) -> Snapshot:
    taken = Snapshot()
    for name, content in files_of(study):
        if isinstance(content, str):
            taken.texts[name] = content
        elif not callable(content):
            taken.rows[name] = {
                json.loads(line)["id"]: hashlib.sha256(line.encode()).digest() for line in content
            }
    return taken
