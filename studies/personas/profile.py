"""The visible part of a persona."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    key: str
    label: str
    value: str
    text: str


@dataclass(frozen=True)
class HistoryEntry:
    prompt: str
    chosen: str
    rejected: str


@dataclass(frozen=True)
class Profile:
    """The visible part of a persona: chosen facts in order, free text, earlier choices."""

    facts: tuple[Fact, ...]
    text: str
    history: tuple[HistoryEntry, ...]


@dataclass(frozen=True)
class HistoryWords:
    """How an earlier choice is told; `{prompt}` and so on stand for its texts."""

    earlier: str = "Earlier, to “{prompt}”, the person preferred: {chosen}"
    over: str = "over: {rejected}"
