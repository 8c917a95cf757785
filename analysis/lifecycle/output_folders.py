"""Output folders of commands: an earlier result is replaced, other files are kept."""

from collections.abc import Iterable
from pathlib import Path

from analysis.errors import ForeignFiles

OF_REPORT = (
    "report.json",
    "report.html",
    "tables",
    "figures",
    "item_rows",
    "cite.bib",
    "methods.txt",
)
OF_REPLICATION = ("replication.json", "replication.html", "tables")
OF_REPRODUCTION = ("reproduction.json", "reproduction.html", "tables")


def holds_report(folder: Path) -> bool:
    return begins_with(folder / "report.json", '{\n "schema": "thirdperson.report/')


def holds_replication(folder: Path) -> bool:
    return begins_with(folder / "replication.json", '{\n "schema": "thirdperson.replication/')


def holds_reproduction(folder: Path) -> bool:
    return begins_with(folder / "reproduction.json", '{\n "schema": "thirdperson.reproduction/')


def check_output_folder(folder: Path, names: Iterable[str], *, is_ours: bool) -> None:
    """Raise `ForeignFiles` if `folder` has one of `names` and no earlier result (`is_ours`)."""
    there = [name for name in names if (folder / name).exists()]
    if there and not is_ours:
        raise ForeignFiles(
            f"{folder} contains {there[0]}, which is not from this command and would be replaced. "
            "Choose a new or empty folder, or the folder of an earlier result."
        )


def begins_with(path: Path, words: str) -> bool:
    """Whether a file begins so; one that cannot be read does not."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(len(words)) == words
    except OSError:
        return False
