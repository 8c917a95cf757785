"""Sentences that know where their numbers come from, by paths of report.json."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

from analysis.report.encode import Json


@dataclass(frozen=True)
class Text:
    """Words; `parts` are their pieces, each with the path of the number that it shows, or “”."""

    parts: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "".join(text for text, _ in self.parts)

    @property
    def numbers(self) -> list[Json]:
        """Every number: how it is written, from which letter on, and its path."""
        found, start = [], 0
        for text, path in self.parts:
            if path:
                found.append({"at": start, "text": text, "path": path})
            start += len(text)
        return found


def shown(text: object, path: str) -> Text:
    """A number as it is written, and its place in report.json."""
    return Text(((str(text), path),))


def fill(form: str, **values: object) -> Text:
    """`form` with its fields filled in; a field that is a `Text` keeps its places.

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
    """A sentence of report.json cut at its numbers: pieces of text, each with its path or “”."""
    done = 0
    for number in numbers:
        yield sentence[done : number["at"]], ""
        done = number["at"] + len(number["text"])
        yield number["text"], number["path"]
    yield sentence[done:], ""


def at(report: Mapping[str, Any], path: str) -> Any:
    """What is at `path` of report.json, such as “judges.0.high.n”.

    A key with dots in it is taken whole where it is the last one.
    """
    found: Any = report
    keys = path.split(".")
    for index, key in enumerate(keys):
        if isinstance(found, Mapping) and key not in found:
            return found[".".join(keys[index:])]
        found = found[int(key)] if isinstance(found, list) else found[key]
    return found
