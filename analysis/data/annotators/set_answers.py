"""Answers to every pair of a set whose responses an annotator put in order on one screen.

Only one item of such a set has seats, so one answer is stored. Everything that reads answers for a
number reads them through here: each pair gets the choice that follows from the order.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from django.db.models.fields.json import KT

from studies.models import Item, Study


class PairAnswer(NamedTuple):
    """The answer to one item; `is_own` if it is the one that has the seat."""

    item: int
    key: str
    truth: str
    choice: str
    shown_first: str
    is_own: bool


class _Pair(NamedTuple):
    item: int
    key: str
    truth: str
    r1: int
    r2: int


class SetPairs:
    """The pairs of each set of a study in which annotators see whole sets; else there are none."""

    def __init__(self, study: Study, keys: Collection[str] | None = None) -> None:
        """With `keys`, only the sets of the items with these keys."""
        self._set_of: dict[int, tuple[int, str]] = {}
        self._pairs: dict[tuple[int, str], list[_Pair]] = defaultdict(list)
        if not study.shows_whole_sets:
            return
        found = Item.objects.filter(study=study).exclude(option_set={})
        if keys is not None:
            named = found.filter(key__in=keys).values_list("persona", KT("option_set__id"))
            sets = set(named)
            found = found.filter(persona__in={persona for persona, _ in sets})
        rows = found.values_list(
            "pk",
            "key",
            "first_person",
            "persona",
            KT("option_set__id"),
            KT("option_set__place__r1"),
            KT("option_set__place__r2"),
        )
        for pk, key, truth, persona, set_id, r1, r2 in sorted(rows, key=lambda row: row[1]):
            if keys is None or (persona, set_id) in sets:
                self._set_of[pk] = persona, set_id
                pair = _Pair(pk, key, truth, int(r1), int(r2))
                self._pairs[persona, set_id].append(pair)

    @property
    def items(self) -> Collection[int]:
        """The ids of all items of the sets."""
        return self._set_of.keys()

    def of_set(self, item: int) -> list[int]:
        """The ids of all pairs of the set of an item, with its own."""
        return [pair.item for pair in self._pairs[self._set_of[item]]]

    def answers(self, item: int, ranking: Mapping[str, Any]) -> Iterator[PairAnswer]:
        """The answers that a ranking stored at `item` gives to the pairs of its set."""
        place = {number: place for place, number in enumerate(ranking["ranking"])}
        shown = {number: place for place, number in enumerate(ranking["shown"])}
        for pair in self._pairs[self._set_of[item]]:
            if pair.r1 in place and pair.r2 in place:
                yield PairAnswer(
                    pair.item,
                    pair.key,
                    pair.truth,
                    "r1" if place[pair.r1] < place[pair.r2] else "r2",
                    "r1" if shown[pair.r1] < shown[pair.r2] else "r2",
                    pair.item == item,
                )
