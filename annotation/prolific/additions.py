"""What extras add to recruiting on Prolific: actions of the command, and parts of its pages."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from studies.extra import Kind
from studies.models import Study


@dataclass(frozen=True)
class ProlificAction:
    """An action of the command `prolific`, which prints `lines` of the study and its options.

    With `looks_itself`, running it again shows the result of a call whose answer was lost.
    """

    name: str
    help: str
    lines: Callable[[Study, Mapping[str, Any]], Iterable[str]]
    add_options: Callable[[ArgumentParser], object] = lambda _parser: None
    looks_itself: bool = False


ACTIONS: Kind[ProlificAction] = Kind("recruiting", "actions")


@dataclass(frozen=True)
class ProlificPart:
    """A template that a page about recruiting includes; it sees the page's context and its own."""

    name: str
    page: str
    template: str
    context: Callable[[Study], Mapping[str, Any]] | None = None


PARTS: Kind[ProlificPart] = Kind("recruiting", "pages")
