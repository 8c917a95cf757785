"""Where results are written to: an earlier result is replaced, and nothing else."""

from collections.abc import Iterable
from pathlib import Path

from analysis.errors import NotOurs

OF_REPORT = ("report.json", "report.html", "tables", "figures", "cite.bib", "methods.txt")
OF_REPLICATION = ("replication.json", "replication.html", "tables")


def holds_report(folder: Path) -> bool:
    return _begins_with(folder / "report.json", '{\n "schema": "thirdperson.report/')


def holds_replication(folder: Path) -> bool:
    return _begins_with(folder / "replication.json", '{\n "schema": "thirdperson.replication/')


def check_place(folder: Path, names: Iterable[str], *, is_ours: bool) -> None:
    """Raise `NotOurs` where `folder` has some of `names` and `is_ours` denies that we made them."""
    there = [name for name in names if (folder / name).exists()]
    if there and not is_ours:
        raise NotOurs(
            f"{folder} holds {there[0]}, which would be replaced and is not from this command. "
            "Name a new folder, an empty one, or that of an earlier result."
        )


def _begins_with(path: Path, words: str) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(len(words)) == words
    except OSError:
        return False
