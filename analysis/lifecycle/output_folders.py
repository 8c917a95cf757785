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


def holds(folder: Path, name: str) -> bool:
    """Whether `folder` has an earlier result of this program in `NAME.json`."""
    return begins_with(folder / f"{name}.json", f'{{\n "schema": "thirdperson.{name}/')


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
