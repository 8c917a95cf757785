"""The base classes of bias probes, and the question that a probe changes."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from studies.personas.profile import Profile
from studies.texts.slots import Slots

DRAWN = "drawn"
# The response that a probe favours: drawn for each item, a stored response, or a side of the page.
RULES = (DRAWN, "r1", "r2", "a", "b")
# Where both orders show an item, these rules favour another response in each.
RULES_BY_SIDE = ("a", "b")
_OTHER = {"r1": "r2", "r2": "r1"}


@dataclass(frozen=True, slots=True)
class Example:
    """An item with the person's own answer; `preferred` is r1 or r2."""

    item: str
    question: str
    r1: str
    r2: str
    preferred: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a probe knows of the question that it changes.

    `values` are those that the study has for the feature that the probe changes, each with its
    sentence; `examples` are the person's own answers to other items. The words around the items are
    in `language`.
    """

    item: str
    persona: str
    shown_first: str
    seed: int
    language: str
    rule: str = DRAWN
    option: str = ""
    values: Sequence[tuple[str, str]] = ()
    examples: Sequence[Example] = ()

    @property
    def target(self) -> str:
        """The response that the probe favours, r1 or r2."""
        return target_of(self.rule, seed=self.seed, item=self.item, shown_first=self.shown_first)

    def draw(self, *names: str) -> int:
        """A large number that is the same for the same seed and names."""
        return draw(self.seed, *names)


def target_of(rule: str, *, seed: int, item: str, shown_first: str) -> str:
    """The response that a probe favours at an item; a drawn one is the same in both orders."""
    if rule == DRAWN:
        return "r1" if draw(seed, "target", item) % 2 else "r2"
    if rule in RULES_BY_SIDE:
        return shown_first if rule == "a" else _OTHER[shown_first]
    return rule


def draw(seed: int, *names: str) -> int:
    """A number from 0 to 2**64 - 1, drawn by a hash of the seed and the names."""
    # Not the hash that draws the order of responses, with which a target would coincide.
    digest = hashlib.blake2b("\0".join(names).encode(), key=str(seed).encode(), person=b"bias")
    return int.from_bytes(digest.digest()[:8])


class BiasProbe:
    """A change of the prompt; the same judgment without the change is its baseline.

    `has_target`: it favours one of the two responses. Otherwise it changes what is shown of the
    persona. `option_name`: what follows the colon of its name, if anything does; `default` is used
    if nothing is given. `uses_values`, `uses_examples`: what it needs to know of the study.
    `asks_own`: it changes nothing and asks about the judge's own responses instead of others.
    `languages`: those of words that its module holds; empty if its words are in `texts/`, or none.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    has_target: ClassVar[bool] = True
    option_name: ClassVar[str] = ""
    default: ClassVar[str] = ""
    uses_values: ClassVar[bool] = False
    uses_examples: ClassVar[bool] = False
    asks_own: ClassVar[bool] = False
    languages: ClassVar[tuple[str, ...]] = ()

    def problem(self, option: str) -> str:
        """What is wrong with an option; empty if nothing is."""
        if self.option_name:
            return "" if option else f"Write {self.name}:{self.option_name}."
        return f"{self.name} has no option “{option}”." if option else ""

    def why_not(self, profile: Profile, asked: Asked) -> str:
        """The reason why it does not apply to a question, which is then not asked."""
        return ""

    def show(self, profile: Profile, asked: Asked) -> Profile:
        """The profile that is shown instead."""
        return profile

    def change(self, slots: Slots, asked: Asked) -> Slots:
        """The texts that the prompt is filled with instead."""
        return slots


class ResponseProbe(BiasProbe):
    """A probe that writes the favoured response in another way."""

    def rewrite(self, text: str, asked: Asked) -> str:
        raise NotImplementedError

    def change(self, slots: Slots, asked: Asked) -> Slots:
        if asked.target == asked.shown_first:
            return replace(slots, response_a=self.rewrite(slots.response_a, asked))
        return replace(slots, response_b=self.rewrite(slots.response_b, asked))
