"""Find the template behind prompts with known texts.

Several prompts are read in parallel from the start. If all continue with their own text of the same
slot, the template has the slot there; if all have the same letter, the letter is part of the
template. A text that also occurs in the constant words therefore does no harm.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from judging.errors import JudgingError
from studies.texts.slots import names_in, steps_of

_SIDE_BY_SIDE = 12  # prompts
_MOST_STEPS = 100_000
_SHOWN = 40  # letters before and after a difference


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A prompt of a file, and the texts that it may contain, by slot."""

    line: int
    prompt: str
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RecoveredText:
    """A template in its parts: constant words, and names of slots."""

    parts: tuple["str | SlotName", ...]

    @property
    def text(self) -> str:
        return "".join(
            f"{{{{ {part.name} }}}}" if isinstance(part, SlotName) else part for part in self.parts
        )

    @property
    def slots(self) -> list[str]:
        return [part.name for part in self.parts if isinstance(part, SlotName)]

    def fill(self, texts: Mapping[str, str]) -> str:
        return "".join(
            texts.get(part.name, "") if isinstance(part, SlotName) else part for part in self.parts
        )


@dataclass(frozen=True, slots=True)
class SlotName:
    name: str


class NotRecovered(JudgingError):
    """No template rebuilds these prompts; the message says where they differ."""


def recover(rows: Sequence[PromptRow]) -> RecoveredText:
    """The template that turns the texts of every row into its prompt, byte for byte.

    Raises `NotRecovered`, which names two differing rows and the first difference, or says what too
    few rows leave open.
    """
    if len({row.prompt for row in rows}) < 2:
        raise NotRecovered(
            "The file has fewer than two different prompts, so the constant words cannot be "
            "separated from an item's texts. Use a file with more rows."
        )
    read = _rows_to_read(rows)
    template = _Search(read).template()
    for row in rows:
        if (rebuilt := template.fill(row.texts)) != row.prompt:
            raise NotRecovered(_disagreement(read[0], row, rebuilt))
    template = _with_unvaried(template, rows[0].texts)
    is_one = len(steps_of(template.text)) == 1
    if not is_one or names_in(template.text) != list(dict.fromkeys(template.slots)):
        raise NotRecovered(
            "The constant words of the prompts contain “{{ … }}”, which would be read as a slot."
        )
    return template


def _rows_to_read(rows: Sequence[PromptRow]) -> list[PromptRow]:
    """A sample of rows from all parts of the file, with every text, and each text in a variant."""
    most = max(sum(map(bool, row.texts.values())) for row in rows)
    full = [row for row in rows if sum(map(bool, row.texts.values())) == most]
    first = full[0]
    others = [
        next((row for row in full if row.texts.get(name) != text), first)
        for name, text in first.texts.items()
    ]
    step = max(1, len(full) // _SIDE_BY_SIDE)
    more = full if len({row.prompt for row in full}) > 1 else rows
    chosen = {row.prompt: row for row in [first, *others, *full[::step], *more]}
    return list(chosen.values())[:_SIDE_BY_SIDE]


def _with_unvaried(template: RecoveredText, texts: Mapping[str, str]) -> RecoveredText:
    """The template with slots for texts shared by all rows, if they occur once."""
    for name, text in texts.items():
        if not text or name in template.slots:
            continue
        parts: list[str | SlotName] = []
        count = sum(part.count(text) for part in template.parts if isinstance(part, str))
        if count > 1:
            raise NotRecovered(
                f"The {name} is the same in every row and occurs {count} times in the prompts, "
                "so its place is ambiguous. Use a file with more variety."
            )
        for part in template.parts:
            if count and isinstance(part, str) and text in part:
                before, after = part.split(text)
                parts += [before, SlotName(name), after]
            else:
                parts.append(part)
        template = RecoveredText(tuple(part for part in parts if part))
    return template


_Places = tuple[int, ...]
_Ways = Iterator[tuple[str | SlotName, _Places]]


class _Search:
    """A depth-first search through several prompts in parallel."""

    def __init__(self, rows: Sequence[PromptRow]) -> None:
        self._rows = rows
        # Long texts first, so that a text is not mistaken for another with the same beginning.
        self._slots = sorted(
            (
                name
                for name in rows[0].texts
                if all(row.texts.get(name) for row in rows)
                and len({row.texts[name] for row in rows}) > 1
            ),
            key=lambda name: -sum(len(row.texts[name]) for row in rows),
        )

    def template(self) -> RecoveredText:
        """The constant words and slots from start to end. Raises `NotRecovered`."""
        start = (0,) * len(self._rows)
        end = tuple(len(row.prompt) for row in self._rows)
        furthest, seen = start, {start}
        parts: list[str | SlotName] = []
        ways = [self._ways_on(start)]
        while ways:
            way = next(ways[-1], None)
            if way is None:
                ways.pop()
                if parts:
                    parts.pop()
                continue
            part, places = way
            if places == end:
                return RecoveredText(tuple(_joined([*parts, part])))
            if places in seen:
                continue
            if len(seen) > _MOST_STEPS:
                raise NotRecovered(
                    "The texts occur in the prompts in too many ways. Use a file with longer texts."
                )
            seen.add(places)
            furthest = max(furthest, places)
            parts.append(part)
            ways.append(self._ways_on(places))
        raise NotRecovered(self._dead_end(furthest))

    def _ways_on(self, places: _Places) -> _Ways:
        """Ways to continue from `places`: slots first, then a constant letter."""
        both = list(zip(self._rows, places, strict=True))
        for name in self._slots:
            if all(row.prompt.startswith(row.texts[name], at) for row, at in both):
                yield SlotName(name), tuple(at + len(row.texts[name]) for row, at in both)
        letters = {row.prompt[at : at + 1] for row, at in both}
        if len(letters) == 1 and (letter := letters.pop()):
            yield letter, tuple(at + 1 for at in places)

    def _dead_end(self, places: _Places) -> str:
        """The message about the first two rows that continue differently."""
        pairs = combinations(zip(self._rows, places, strict=True), 2)
        (one, at), (other, there) = next(
            ((one, at), (other, there))
            for (one, at), (other, there) in pairs
            if one.prompt[at : at + 1] != other.prompt[there : there + 1]
        )
        return (
            f"Lines {one.line} and {other.line} have no common template. At the first difference "
            f"that no item text explains, line {one.line} at character {at + 1:,} has "
            f"{_excerpt(one.prompt, at)}, line {other.line} at character {there + 1:,} has "
            f"{_excerpt(other.prompt, there)}."
        )


def _joined(parts: Sequence[str | SlotName]) -> Iterator[str | SlotName]:
    """Parts, with neighbouring letters joined."""
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        if text:
            yield text
        yield part
        text = ""
    if text:
        yield text


def _disagreement(one: PromptRow, other: PromptRow, rebuilt: str) -> str:
    """The message about a row that the template of another row does not rebuild."""
    at = next(
        (i for i, (a, b) in enumerate(zip(rebuilt, other.prompt, strict=False)) if a != b),
        min(len(rebuilt), len(other.prompt)),
    )
    return (
        f"Lines {one.line} and {other.line} have no common template. With the words of line "
        f"{one.line}, the prompt of line {other.line} would have {_excerpt(rebuilt, at)} at "
        f"character {at + 1:,}, but it has {_excerpt(other.prompt, at)}."
    )


def _excerpt(text: str, at: int) -> str:
    if at >= len(text):
        return "its end"
    before = "…" if at > _SHOWN else ""
    after = "…" if at + _SHOWN < len(text) else ""
    part = text[max(0, at - _SHOWN) : at + _SHOWN].replace("\n", "⏎")
    return f"“{before}{part}{after}”"
