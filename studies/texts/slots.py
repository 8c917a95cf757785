"""The values of a prompt: the texts of an item and the visible part of a persona. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields


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
    """How an earlier choice is described; `{prompt}` and so on are replaced by its texts."""

    earlier: str = "Earlier, to “{prompt}”, the person preferred: {chosen}"
    over: str = "over: {rejected}"


# Separates the messages of a prompt with several steps.
_STEP = "\n\n{{ then }}\n\n"
_SLOT = re.compile(r"\{\{ (\w+) \}\}")
# Marks a picture or sound by its checksum. Imported texts have no control characters.
_MEDIA = re.compile("\x02([0-9a-f]{64})\x03")


@dataclass(frozen=True, slots=True)
class Slots:
    """The texts that `{{ name }}` stands for in a template; empty where an item has none.

    `context` and `question` have headings and end with an empty line; `context_text` and
    `question_text` are the texts alone, for templates with their own headings. `examples` are other
    answers of the same person, `criteria` those of the study, `advice` is shown after a first
    answer, `others` are replies of other judges, `options` all responses of a set, `reference` the
    reference answer, if the setting shows it.
    """

    persona: str
    context: str
    question: str
    response_a: str
    response_b: str
    bands: str
    ask: str = ""
    criteria: str = ""
    examples: str = ""
    context_text: str = ""
    question_text: str = ""
    advice: str = ""
    others: str = ""
    options: str = ""
    reference: str = ""


_NAMES = [field.name for field in fields(Slots)]


def names_in(template: str) -> list[str]:
    """The slots of a template, each once, in order."""
    return list(dict.fromkeys(name for step in steps_of(template) for name in _SLOT.findall(step)))


def steps_of(template: str) -> list[str]:
    """The templates of the messages of a prompt, one for each step."""
    return template.split(_STEP)


def as_steps(templates: Sequence[str]) -> str:
    """One template of several messages."""
    return _STEP.join(templates)


def fill(template: str, slots: Slots) -> str:
    """The template with its slots filled. Raises `KeyError` for a slot that does not exist.

    One pass: a slot written inside an imported text stays text.
    """
    texts = {name: getattr(slots, name) for name in _NAMES}  # `asdict` copies each text
    return _SLOT.sub(lambda match: texts[match[1]], template)


def media_mark(sha256: str) -> str:
    """The mark of a picture or sound in a text of a prompt."""
    return f"\x02{sha256}\x03"


def without_marks(text: str) -> tuple[str, list[tuple[int, str]]]:
    """A filled prompt for a model, and the place and checksum of each picture or sound in it."""
    pieces, places, done, length = [], [], 0, 0
    for mark in _MEDIA.finditer(text):
        pieces.append(text[done : mark.start()])
        length += mark.start() - done
        places.append((length, mark[1]))
        done = mark.end()
    return "".join([*pieces, text[done:]]), places
