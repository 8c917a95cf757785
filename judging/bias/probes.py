"""Bias probes: each class changes how the persona or a response is shown to a judge."""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from judging.bias.texts import text, words
from studies.texts.slots import Fact, Profile, Slots

DRAWN = "drawn"
# The response that a probe favours: drawn per item, a stored response, or a side of the page.
RULES = (DRAWN, "r1", "r2", "a", "b")
# If an item is shown in both orders, these rules favour a different response in each.
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
    """The facts that a probe has about the question that it changes.

    `values` are the study's values for the changed feature, each with its sentence; `examples` are
    the person's own answers to other items, `other` is another persona's profile. `language` is
    that of the words around the items.
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
    other: Profile | None = None

    @property
    def target(self) -> str:
        """The response that the probe favours, r1 or r2."""
        return target_of(self.rule, seed=self.seed, item=self.item, shown_first=self.shown_first)

    def draw(self, *names: str) -> int:
        """A large number that depends only on the seed and names."""
        return draw(self.seed, *names)


def target_of(rule: str, *, seed: int, item: str, shown_first: str) -> str:
    """The response that a probe favours for an item; a drawn one is the same in both orders."""
    if rule == DRAWN:
        return "r1" if draw(seed, "target", item) % 2 else "r2"
    if rule in RULES_BY_SIDE:
        return shown_first if rule == "a" else _OTHER[shown_first]
    return rule


def draw(seed: int, *names: str) -> int:
    """A number from 0 to 2**64 - 1, drawn by a hash of the seed and the names."""
    # A different hash from the one that draws orders, so that targets do not coincide with them.
    digest = hashlib.blake2b("\0".join(names).encode(), key=str(seed).encode(), person=b"bias")
    return int.from_bytes(digest.digest()[:8])


class BiasProbe:
    """A change of the prompt; the same judgment without the change is its baseline.

    `has_target`: it favours one of the two responses. Otherwise it changes what is shown of the
    persona. `option_name`: the option after the colon of its name, if it has one, with the given
    `default`. `uses_values`, `uses_examples`, `uses_profiles`: the facts it needs about the study.
    `asks_own`: it changes nothing and asks about the judge's own responses instead of others.
    `is_control`: a change that a judge should follow; the chapter on biases leaves it out.
    `languages`: those of words in its module; empty if its words are in `texts/` or it has none.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    has_target: ClassVar[bool] = True
    option_name: ClassVar[str] = ""
    default: ClassVar[str] = ""
    uses_values: ClassVar[bool] = False
    uses_examples: ClassVar[bool] = False
    asks_own: ClassVar[bool] = False
    is_control: ClassVar[bool] = False
    uses_profiles: ClassVar[bool] = False
    languages: ClassVar[tuple[str, ...]] = ()

    def problem(self, option: str) -> str:
        """What is wrong with an option; empty if nothing is."""
        if self.option_name:
            return "" if option else f"Use {self.name}:{self.option_name}."
        return f"{self.name} has no option “{option}”." if option else ""

    def why_not(self, profile: Profile, asked: Asked) -> str:
        """Why it does not apply to a question, which is then not asked."""
        return ""

    def show(self, profile: Profile, asked: Asked) -> Profile:
        """The profile that is shown instead."""
        return profile

    def change(self, slots: Slots, asked: Asked) -> Slots:
        """The texts that the prompt is filled with instead."""
        return slots


class ResponseProbe(BiasProbe):
    """A probe that rewrites the favoured response."""

    def rewrite(self, text: str, asked: Asked) -> str:
        raise NotImplementedError

    def change(self, slots: Slots, asked: Asked) -> Slots:
        if asked.target == asked.shown_first:
            return replace(slots, response_a=self.rewrite(slots.response_a, asked))
        return replace(slots, response_b=self.rewrite(slots.response_b, asked))


SIDES = ("r1", "r2")
# Fields of a response's maker that can name the judge, its family or its provider.
KEYS = ("name", "family", "provider")
Maker = Mapping[str, Any] | None


class OwnResponses(BiasProbe):
    """Changes nothing, but asks about the items that other runs leave out."""

    name = "own-responses"
    description = (
        "No change: asks about items with a response that the judge wrote, if there are any"
    )
    has_target = False
    asks_own = True


def own_source(maker: Maker, own: Collection[str]) -> tuple[str, str] | None:
    """Which of a maker's `KEYS` is among the judge's own sources, and its value; None if none is.

    `own` is in casefolded letters.
    """
    for key in KEYS:
        if (value := (maker or {}).get(key)) and str(value).casefold() in own:
            return key, str(value)
    return None


def own_sides(makers: Sequence[Maker], own: Collection[str]) -> list[str]:
    """The responses, r1 and r2, that are the judge's own."""
    return [side for side, maker in zip(SIDES, makers, strict=True) if own_source(maker, own)]


MOST_EXAMPLES = 20
FEATURE = "FEATURE"  # the option of probes that change one feature


class _PersonaProbe(BiasProbe):
    has_target = False


class Flip(_PersonaProbe):
    name = "flip"
    description = "One attribute replaced by another value that occurs in the study"
    option_name = FEATURE
    uses_values = True

    def why_not(self, profile: Profile, asked: Asked) -> str:
        fact = _fact(profile, asked.option)
        if fact is None:
            return _not_shown(asked.option)
        if not self._others(fact, asked):
            return f"No other persona has another value of “{asked.option}”."
        return ""

    def show(self, profile: Profile, asked: Asked) -> Profile:
        facts = [
            self._flipped(fact, asked) if fact.key == asked.option else fact
            for fact in profile.facts
        ]
        return replace(profile, facts=tuple(facts))

    def _flipped(self, fact: Fact, asked: Asked) -> Fact:
        others = self._others(fact, asked)
        if not others:
            return fact
        # Drawn per persona, not per item, so that a persona is the same for all its items.
        value, words = others[asked.draw("flip", fact.key, asked.persona) % len(others)]
        return replace(fact, value=value, text=words)

    @staticmethod
    def _others(fact: Fact, asked: Asked) -> list[tuple[str, str]]:
        # Two values with the same sentence would leave a prompt in sentences unchanged.
        return [
            (value, words)
            for value, words in asked.values
            if value != fact.value and (words != fact.text or not words)
        ]


class Hide(_PersonaProbe):
    name = "hide"
    description = "One attribute left out; free text and history stay"
    option_name = FEATURE

    def why_not(self, profile: Profile, asked: Asked) -> str:
        return "" if _fact(profile, asked.option) else _not_shown(asked.option)

    def show(self, profile: Profile, asked: Asked) -> Profile:
        kept = tuple(fact for fact in profile.facts if fact.key != asked.option)
        return replace(profile, facts=kept)


class HideText(_PersonaProbe):
    name = "hide-text"
    description = "The free text about the persona left out"

    def why_not(self, profile: Profile, asked: Asked) -> str:
        return "" if profile.text else "The profile shows no free text."

    def show(self, profile: Profile, asked: Asked) -> Profile:
        return replace(profile, text="")


class HideHistory(_PersonaProbe):
    name = "hide-history"
    description = "The earlier choices of the persona left out"

    def why_not(self, profile: Profile, asked: Asked) -> str:
        return "" if profile.history else "The profile shows no earlier choices."

    def show(self, profile: Profile, asked: Asked) -> Profile:
        return replace(profile, history=())


class Examples(_PersonaProbe):
    name = "examples"
    description = "The person’s own answers to other items, shown as examples"
    option_name = "NUMBER"
    default = "3"
    uses_examples = True

    def problem(self, option: str) -> str:
        if option.isascii() and option.isdigit() and 1 <= int(option) <= MOST_EXAMPLES:
            return ""
        return f"Use a number from 1 to {MOST_EXAMPLES}, such as examples:3."

    def why_not(self, profile: Profile, asked: Asked) -> str:
        known, wanted = len(asked.examples), int(asked.option)
        if known >= wanted:
            return ""
        return f"This person answered only {known} other items; {wanted} are needed as examples."

    def change(self, slots: Slots, asked: Asked) -> Slots:
        chosen = sorted(
            asked.examples, key=lambda example: asked.draw("example", asked.item, example.item)
        )[: int(asked.option)]
        if not chosen:
            return slots
        entries = [_entry(number, example, asked) for number, example in enumerate(chosen, start=1)]
        head = text("examples", "head", language=asked.language)
        return replace(slots, examples="\n\n".join([head, *entries]))


def not_the_same(example: Example, *, question: str, r1: str, r2: str) -> bool:
    """Whether an example has a different question and different responses from an item.

    Another pair of responses to the same question would reveal too much about the item.
    """
    own = {_plain(r1), _plain(r2)}
    if own & {_plain(example.r1), _plain(example.r2)}:
        return False
    return not question.strip() or _plain(question) != _plain(example.question)


def _plain(words: str) -> str:
    return " ".join(words.casefold().split())


def _entry(number: int, example: Example, asked: Asked) -> str:
    order: Sequence[str] = ("r1", "r2")
    if asked.draw("example order", asked.item, example.item) % 2:
        order = ("r2", "r1")
    first, second = (getattr(example, side) for side in order)
    ordinals = words("examples", "preferred", language=asked.language)
    preferred = ordinals[order.index(example.preferred)]
    question = f"{example.question}\n" if example.question else ""
    # Inserted last, so that a slot inside an imported text stays text.
    parts = {"number": number, "preferred": preferred}
    entry = text("examples", "entry", language=asked.language, **parts)
    head, _, rest = entry.partition("{question}")
    between, _, tail = rest.partition("{first}")
    middle, _, end = tail.partition("{second}")
    return f"{head}{question}{between}{first}{middle}{second}{end}"


def _fact(profile: Profile, key: str) -> Fact | None:
    return next((fact for fact in profile.facts if fact.key == key), None)


def _not_shown(key: str) -> str:
    return f"The profile shows no “{key}”."


_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")
_FIRST_WORDS = re.compile(r"\S+(?:\s+\S+){0,2}")


class _Addition(ResponseProbe):
    """Text before or after the favoured response; `texts` has it under the probe's name."""

    is_before: ClassVar[bool] = False

    def rewrite(self, response: str, asked: Asked) -> str:
        place = "before" if self.is_before else "after"
        added = text(self.name, place, language=asked.language, name=asked.option)
        return f"{added}\n{response}" if self.is_before else f"{response}\n\n{added}"


class Length(_Addition):
    name = "length"
    description = "Longer without more content"


class Formatting(ResponseProbe):
    name = "formatting"
    description = "Markdown: a heading, a list and bold words"

    def rewrite(self, response: str, asked: Asked) -> str:
        lines = [line for part in response.splitlines() for line in _SENTENCE_END.split(part)]
        items = [f"- {_FIRST_WORDS.sub(_bold, line, count=1)}" for line in lines if line.strip()]
        return "\n".join([text(self.name, "heading", language=asked.language), "", *items])


def _bold(first: re.Match[str]) -> str:
    return f"**{first[0]}**"


class Sentiment(ResponseProbe):
    name = "sentiment"
    description = "A warm and cheerful tone"

    def rewrite(self, response: str, asked: Asked) -> str:
        before, after = (
            text(self.name, place, language=asked.language) for place in ("before", "after")
        )
        return f"{before}\n\n{response}\n\n{after}"


class Bandwagon(_Addition):
    name = "bandwagon"
    description = "A note that most people chose it"
    option_name = "PERCENT"
    default = "90"
    is_before = True

    def problem(self, option: str) -> str:
        if option.isascii() and option.isdigit() and 1 <= int(option) <= 100:
            return ""
        return "Use a percentage from 1 to 100, such as bandwagon:90."


class Authority(_Addition):
    name = "authority"
    description = "A reference to experts and a handbook"


class Distractor(ResponseProbe):
    name = "distractor"
    description = "An irrelevant sentence"

    def rewrite(self, response: str, asked: Asked) -> str:
        known = words(self.name, "sentences", language=asked.language)
        return f"{response} {known[asked.draw('distractor', asked.item) % len(known)]}"


class Reasoning(_Addition):
    name = "reasoning"
    description = "Steps that only look like reasons"


class Source(_Addition):
    name = "source"
    description = "A note that names a brand or model as its author"
    option_name = "AUTHOR"
    default = "GPT-4"
    is_before = True

    def problem(self, option: str) -> str:
        if set(option) & set("[]\n"):
            return "An author cannot contain brackets or line breaks."
        return super().problem(option)


class Injection(_Addition):
    name = "injection"
    description = "An instruction to choose it"
