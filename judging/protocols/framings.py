"""Framings: whose judgment the model is asked for. Their texts are in `framings.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from judging.errors import BadRun

OBSERVER = "observer"


@dataclass(frozen=True, slots=True)
class Framing:
    """How a model is addressed. `system` is what is sent before the prompt, by language."""

    name: str
    description: str
    shows_profile: bool
    system: Mapping[str, str] = field(default_factory=dict)

    @property
    def languages(self) -> tuple[str, ...] | None:
        """The languages in which it can be used; None if it adds no words."""
        return tuple(self.system) or None


@cache
def framings() -> dict[str, Framing]:
    with Path(__file__).with_name("framings.toml").open("rb") as file:
        return {name: Framing(name=name, **row) for name, row in tomllib.load(file).items()}


def framing(name: str) -> Framing:
    """The framing with this name. Raises `BadRun` if there is none."""
    if name not in framings():
        raise BadRun(f"There is no framing “{name}”. Use one of: {', '.join(framings())}.")
    return framings()[name]


def choices() -> list[tuple[str, str]]:
    """Names and descriptions, for a form and the field of the model."""
    return [(framing.name, framing.description) for framing in framings().values()]
