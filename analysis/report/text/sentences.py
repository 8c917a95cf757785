"""Sentences that store the source of their numbers, as paths of report.json."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

from analysis.report.encode import Json


@dataclass(frozen=True)
class Text:
    """A text; `parts` are its pieces, each with the path of the number that it shows, or “”."""

    parts: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "".join(text for text, _ in self.parts)

    @property
    def numbers(self) -> list[Json]:
        """Every number: its text, its position in the sentence, and its path."""
        found, start = [], 0
        for text, path in self.parts:
            if path:
                found.append({"at": start, "text": text, "path": path})
            start += len(text)
        return found


def shown(text: object, path: str) -> Text:
    """A number as text, with its place in report.json."""
    return Text(((str(text), path),))


def fill(form: str, **values: object) -> Text:
    """Fill in the fields of `form`; a field that is a `Text` keeps its places.

    >>> filled = fill("{who} on {n} items.", who="People", n=shown("1,200", "inputs.items"))
    >>> str(filled), filled.numbers
    ('People on 1,200 items.', [{'at': 10, 'text': '1,200', 'path': 'inputs.items'}])
    """
    parts: list[tuple[str, str]] = []
    for literal, name, _, _ in Formatter().parse(form):
        parts.append((literal, ""))
        if name is not None:
            value = values[name]
            parts += value.parts if isinstance(value, Text) else [(str(value), "")]
    return Text(tuple(part for part in parts if part[0]))


def pieces(sentence: str, numbers: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Cut a sentence of report.json at its numbers: pieces of text, each with its path or “”."""
    done = 0
    for number in numbers:
        yield sentence[done : number["at"]], ""
        done = number["at"] + len(number["text"])
        yield number["text"], number["path"]
    yield sentence[done:], ""


def at(report: Mapping[str, Any], path: str) -> Any:
    """The value at `path` of report.json, such as “judges.0.high.n”.

    A key that contains dots is taken whole if it is the last one.
    """
    found: Any = report
    keys = path.split(".")
    for index, key in enumerate(keys):
        if isinstance(found, Mapping) and key not in found:
            return found[".".join(keys[index:])]
        found = found[int(key)] if isinstance(found, list) else found[key]
    return found
