"""Rows of released files that show the same item, as one item with the fullest known profile.

A judge may have been shown a part of a person's profile, and files may show the two responses in
either order, so no row alone is the item. What becomes of the rows never depends on the order of
the files.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from studies.importers.files.faults import Fault, Faults
from studies.importers.items.records import (
    PARTIAL,
    ItemRecord,
    KeptItems,
    PersonaRecord,
)
from studies.models import Side, Task
from studies.texts.normalisation import canonical, digest

_SWAP = {Side.R1.value: Side.R2.value, Side.R2.value: Side.R1.value}
_TEXT = 40  # characters of a response in a message
# Characters of a question that one person asked: of 1,270 in PRISM, none of 20 or more has two.
_UNIQUE = 20
_NUMBER = re.compile(r"_\d+$")
_UNKNOWN = {"first_person": "", "first_person_source": "unknown"}
_KEEP_ONE = "Keep one of the rows, or leave faulty rows out: the item then has no right answer."
KEPT = "Leave faulty rows out: the item keeps the study's right answer."

# The facts of a profile: feature and value, without the numbers of repeated features.
Facts = frozenset[tuple[str, str]]


def facts_of(persona: PersonaRecord) -> Facts:
    return frozenset(
        (_NUMBER.sub("", feature["key"]), feature["value"].casefold())
        for feature in persona.features
    )


def contradict(one: Facts, other: Facts) -> bool:
    """Whether two profiles cannot be parts of one: they differ in a feature that both have.

    >>> age, also = frozenset({("age", "31")}), frozenset({("age", "31"), ("sex", "male")})
    >>> contradict(age, also), contradict(age, frozenset({("sex", "male")}))
    (False, False)
    >>> contradict(also, frozenset({("age", "40"), ("sex", "male")}))
    True
    """
    if one <= other or other <= one:
        return False
    mine, theirs = _by_feature(one), _by_feature(other)
    shared = mine.keys() & theirs.keys()
    return any(not (mine[k] <= theirs[k] or theirs[k] <= mine[k]) for k in shared)


def _by_feature(facts: Facts) -> dict[str, set[str]]:
    values = defaultdict[str, set[str]](set)
    for key, value in facts:
        values[key].add(value)
    return values


def with_profile(item: ItemRecord, persona: PersonaRecord, *, partial: bool) -> ItemRecord:
    """An item with another profile, and whether that is only a part of the person's."""
    metadata = {k: v for k, v in item.values["metadata"].items() if k != PARTIAL}
    if partial:
        metadata[PARTIAL] = True
    return replace(item, persona=persona, values={**item.values, "metadata": metadata})


def joined(rows: Iterable[ItemRecord], faults: Faults) -> KeptItems:
    """One item for all rows of an id; an item whose profiles contradict each other is left out."""
    by_key: dict[str, list[ItemRecord]] = {}
    for row in rows:
        by_key.setdefault(row.key, []).append(row)
    items = KeptItems()
    for item in _completed([item for of in by_key.values() for item in _one(of, faults)]):
        items.append(item)
    return items


def _one(rows: list[ItemRecord], faults: Faults) -> Iterator[ItemRecord]:
    if contradictions := list(_contradictions(rows)):
        faults += contradictions
        return
    rows = _turned_alike(rows)
    truths = {row.values["first_person"] for row in rows}
    if len(truths) > 1:
        faults += _contradicting_truths(rows)
    # The smallest by content, whatever file comes first.
    item = min(rows, key=lambda row: canonical({**row.values, "metadata": {}}))
    if len(truths) > 1:
        item = replace(item, values={**item.values, **_UNKNOWN})
    yield with_profile(item, _fullest(rows), partial=all(row.is_partial for row in rows))


def _turned_alike(rows: list[ItemRecord]) -> list[ItemRecord]:
    """The rows with their responses in one order: that of all files or, if they differ, by text."""
    firsts: dict[str, ItemRecord] = {}
    for row in rows:
        firsts.setdefault(row.file, row)
    first = min(sides(row.values) for row in firsts.values())
    return [row if sides(row.values) == first else turned(row) for row in rows]


def sides(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(values[side]["text"], values[side].get("prompt") or "") for side in ("r1", "r2")]


def turned(row: ItemRecord) -> ItemRecord:
    """A row with its responses the other way round."""
    values, truth = row.values, row.values["first_person"]
    other = {"r1": values["r2"], "r2": values["r1"], "first_person": _SWAP.get(truth, truth)}
    return replace(row, values={**values, **other})


def alike_sides(row: ItemRecord, known: Mapping[str, Any]) -> ItemRecord:
    """A row with its responses in the order of a known item with the same ones."""
    return row if sides(row.values) == sides(known) else turned(row)


def _contradicting_truths(rows: list[ItemRecord]) -> Iterator[Fault]:
    stated = [row for row in rows if row.values["first_person"]]
    for row in stated[1:]:
        if row.values["first_person"] != stated[0].values["first_person"]:
            where = _where(stated[0], row)
            where = f"{where}, which shows the same item"
            yield truth_fault(row, where, stated[0].values, remedy=_KEEP_ONE)


def truth_fault(row: ItemRecord, where: str, known: Mapping[str, Any], *, remedy: str) -> Fault:
    """The fault of a row whose right answer is another one than that of the `known` item."""
    alike = alike_sides(row, known)
    return Fault(
        row.line,
        "ground_truth",
        "item has two truths",
        f"ground_truth contradicts {where}: {truth_words(alike.values, known['first_person'])} "
        f"there, {truth_words(alike.values, alike.values['first_person'])} here.",
        remedy,
        row.key,
        row.file,
        item=row.key,
    )


def truth_words(values: Mapping[str, Any], truth: str) -> str:
    """A right answer in words, with the beginning of its response.

    >>> truth_words({"r2": {"text": "Coffee."}}, "r2"), truth_words({}, "tie")
    ('response 2 (“Coffee.”)', 'a tie')
    """
    if truth not in _SWAP:
        return "a tie" if truth else "none"
    text = " ".join(values[truth]["text"].split())
    excerpt = text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"
    return f"{Side(truth).label} (“{excerpt}”)"


def _contradictions(rows: list[ItemRecord]) -> Iterator[Fault]:
    """Rows of one item that show two persons, each with the row that it contradicts."""
    first: dict[Facts, ItemRecord] = {}
    for row in rows:
        first.setdefault(facts_of(row.persona), row)
    for (one, known), (other, row) in combinations(first.items(), 2):
        if contradict(one, other):
            yield profile_fault(row, _where(known, row), known.persona)


def profile_fault(row: ItemRecord, where: str, known: PersonaRecord) -> Fault:
    """The fault of a row with another person than the `known` one of the same item."""
    theirs = {feature["key"]: feature for feature in known.features}
    differs = next(
        (
            (theirs[feature["key"]], feature)
            for feature in row.persona.features
            if feature["key"] in theirs and theirs[feature["key"]]["value"] != feature["value"]
        ),
        None,
    )
    difference = f": “{differs[0]['text']}” there, “{differs[1]['text']}” here" if differs else ""
    return Fault(
        row.line,
        "persona",
        "item has two persons",
        f"the profile contradicts {where}, which shows the same item{difference}.",
        "Keep the rows of one person.",
        row.key,
        row.file,
        item=row.key,
    )


def _where(known: ItemRecord, row: ItemRecord) -> str:
    return f"line {known.line}" if known.file == row.file else f"{known.file}, line {known.line}"


def _fullest(rows: list[ItemRecord]) -> PersonaRecord:
    """The profile with the most features; what only other rows know is added."""
    first, *others = sorted(
        {row.persona.key: row.persona for row in rows}.values(),
        key=lambda persona: (-len(persona.features), persona.key),
    )
    features, known = list(first.features), set(facts_of(first))
    for other in others:
        for feature in other.features:
            key = _NUMBER.sub("", feature["key"])
            if (fact := (key, feature["value"].casefold())) not in known:
                known.add(fact)
                again = sum(of == key for of, _ in known)
                features.append({**feature, "key": key if again == 1 else f"{key}_{again}"})
    if len(features) == len(first.features):
        return first
    kind = first.key.partition("-")[0]
    key = f"{kind}-{digest(' '.join(feature['text'] for feature in features))[:16]}"
    return replace(first, key=key, features=features)


def _completed(items: list[ItemRecord]) -> Iterator[ItemRecord]:
    """The items, each with the whole profile of its person if another item has it."""
    most: dict[str, int] = {}
    for item in items:
        task = item.values["task"]
        most[task] = max(most.get(task, 0), len(item.persona.features))
    marked = [
        with_profile(
            item,
            item.persona,
            # A file may have another name than it was released under.
            partial=item.is_partial or 2 * len(item.persona.features) < most[item.values["task"]],
        )
        for item in items
    ]
    whole = Profiles(marked)
    for item in marked:
        yield whole.complete(item)


class Profiles:
    """The whole profiles of persons, found by what they asked.

    Two items are about one person if they have the same question and a response in common, or a
    question that is too long to be asked by two: “Hello” has many askers.
    """

    def __init__(self, items: Iterable[ItemRecord]) -> None:
        self._asked = defaultdict[tuple[str, str], dict[str, PersonaRecord]](dict)
        for item in items:
            # In other tasks, many people are asked the same.
            if item.values["task"] == Task.PREFERENCE and not item.is_partial:
                for place in _places(item):
                    self._asked[place][item.persona.key] = item.persona

    def complete(self, item: ItemRecord) -> ItemRecord:
        """The item with the whole profile, if a single person is found whom its part fits."""
        if item.values["task"] != Task.PREFERENCE:
            return item
        part = facts_of(item.persona)
        fitting = {
            persona.key: persona
            for place in _places(item)
            for persona in self._asked.get(place, {}).values()
            if part <= facts_of(persona)
            and (item.is_partial or 2 * len(part) < len(persona.features))
        }
        if len(fitting) != 1:
            return item
        return with_profile(item, next(iter(fitting.values())), partial=False)


def _places(item: ItemRecord) -> Iterator[tuple[str, str]]:
    question = item.values["question"]
    if len(question) >= _UNIQUE:
        yield question, ""
    for side in ("r1", "r2"):
        yield question, item.values[side]["text"]
