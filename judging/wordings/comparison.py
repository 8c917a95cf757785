"""The difference between two versions of a text, line by line. Pure."""

from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True)
class DiffLine:
    """A line of two texts: `kind` is "same", "added" or "removed"."""

    kind: str
    text: str


def compare(old: str, new: str) -> list[DiffLine]:
    """All lines of both texts in reading order."""
    before, after = old.split("\n"), new.split("\n")
    lines: list[DiffLine] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += [DiffLine("same", line) for line in before[a:b]]
            continue
        lines += [DiffLine("removed", line) for line in before[a:b]]
        lines += [DiffLine("added", line) for line in after[c:d]]
    return lines
