"""Probes that change what is shown of the persona."""

from collections.abc import Sequence
from dataclasses import replace

from judging.bias.probe import Asked, BiasProbe, Example
from judging.bias.texts import text, words
from studies.personas.profile import Fact, Profile
from studies.texts.slots import Slots

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
        # Drawn for the persona, not for the item: a persona is the same one at all of its items.
        value, words = others[asked.draw("flip", fact.key, asked.persona) % len(others)]
        return replace(fact, value=value, text=words)

    @staticmethod
    def _others(fact: Fact, asked: Asked) -> list[tuple[str, str]]:
        # Two values with the same sentence would leave a prompt in sentences as it is.
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
        return f"Write a number from 1 to {MOST_EXAMPLES}, such as examples:3."

    def why_not(self, profile: Profile, asked: Asked) -> str:
        known, wanted = len(asked.examples), int(asked.option)
        if known >= wanted:
            return ""
        return f"This person answered {known} other items, and {wanted} are shown as examples."

    def change(self, slots: Slots, asked: Asked) -> Slots:
        chosen = sorted(
            asked.examples, key=lambda each: asked.draw("example", asked.item, each.item)
        )[: int(asked.option)]
        if not chosen:
            return slots
        entries = [_entry(number, each, asked) for number, each in enumerate(chosen, start=1)]
        head = text("examples", "head", language=asked.language)
        return replace(slots, examples="\n\n".join([head, *entries]))


def not_the_same(example: Example, *, question: str, r1: str, r2: str) -> bool:
    """Whether an example is about another question and other responses than an item.

    Another pair of responses to the same question says too much about the item.
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
    # The words come last, so that a slot inside an imported text stays text.
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
