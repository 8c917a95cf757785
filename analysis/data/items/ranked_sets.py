"""Sets of options that items were paired from, and how judges and annotators ranked them."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from analysis.data.annotators.answers import COUNTED
from analysis.data.arrays import MISSING, Dataset, Extra, Index, Item
from analysis.data.extras import Reader
from annotation.models import Annotation
from judging.models import Judgment
from studies.models import Item as ItemRow
from studies.models import Study


class Ranked(NamedTuple):
    """A reply about a whole set: the options shown, and ranked with the best first, by number."""

    option_set: int
    sample: int
    shown: tuple[int, ...]
    ranking: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RankedSets(Extra):
    """The sets of more than two responses that items were paired from.

    Attributes
    ----------
    set_of : ndarray of int, shape (items,)
        The set of each item; -1 for an item without one.
    sizes, chosen, item : ndarray of int, shape (sets,)
        Responses of each set, the number of the one that the persona chose (0 if unknown), and the
        first of its items.
    rules : tuple of str
        The rules by which pairs were made.
    rankings : mapping of str to tuple of Ranked
        The replies of each run that was shown whole sets, one for each request.
    people : tuple of Ranked
        The orders that annotators gave who saw whole sets; `sample` is the position of the rater.
    """

    not_pooled = (
        "its items are pairs of sets of 3 to 5 responses, and a pooled report would take the pairs "
        "of a set as unrelated. Report it separately."
    )

    set_of: Index
    sizes: Index
    chosen: Index
    item: Index
    rules: tuple[str, ...]
    rankings: Mapping[str, tuple[Ranked, ...]]
    people: tuple[Ranked, ...] = ()

    @property
    def digest(self) -> str:
        """Equal for equal contents."""
        orders = [
            self.rules,
            sorted(self.rankings.items()),
            *([self.people] if self.people else []),
        ]
        found = hashlib.sha256(repr(orders).encode())
        for codes in (self.set_of, self.sizes, self.chosen, self.item):
            found.update(codes.astype("<i8").tobytes())
        return found.hexdigest()

    def questions(self, items: Sequence[Item]) -> Sequence[Hashable]:
        """The question of each item; pairs of a set without a question ask about the set."""
        return [
            item.question if item.question or number < 0 else number
            for item, number in zip(items, self.set_of.tolist(), strict=True)
        ]


def ranked_sets_of(study: Study, data: Dataset, position: Mapping[int, int]) -> RankedSets | None:
    """The sets of a study whose items were paired from some, with their rankings; else None."""
    rows = (
        ItemRow.objects.filter(study=study).exclude(option_set={}).values_list("pk", "option_set")
    )
    found = sorted(
        ((position[pk], stored) for pk, stored in rows.iterator()), key=lambda each: each[0]
    )
    if not found:
        return None
    set_of = np.full(len(data.items), MISSING, dtype=np.int64)
    codes: dict[tuple[str, str], int] = {}
    sizes, chosen, first_items, rules = [], [], [], set()
    for place, option_set in found:
        key = option_set["id"], data.items[place].persona
        if key not in codes:
            codes[key] = len(codes)
            sizes.append(len(option_set["others"]) + 2)
            chosen.append(option_set["chosen"] or 0)
            first_items.append(place)
        set_of[place] = codes[key]
        rules.add(option_set["rule"])
    rankings = _rankings(study, position, set_of)
    return RankedSets(
        set_of=set_of,
        sizes=np.array(sizes, dtype=np.int64),
        chosen=np.array(chosen, dtype=np.int64),
        item=np.array(first_items, dtype=np.int64),
        rules=tuple(sorted(rules)),
        rankings={run.run: rankings[run.run] for run in data.runs if run.run in rankings},
        people=_of_people(study, position, set_of, data.raters) if study.shows_whole_sets else (),
    )


def _of_people(
    study: Study, position: Mapping[int, int], set_of: Any, raters: Sequence[str]
) -> tuple[Ranked, ...]:
    """The orders that count, by set and rater."""
    number = {pseudonym: index for index, pseudonym in enumerate(raters)}
    found = Annotation.objects.filter(
        assignment__annotator__study=study,
        assignment__annotator__excluded_at=None,
        assignment__item__split=ItemRow.Split.MAIN,
        standing__in=COUNTED,
        ranking__isnull=False,
    ).values_list("assignment__item", "assignment__annotator__pseudonym", "ranking")
    orders = []
    for item, rater, ranking in found.iterator():
        given: Mapping[str, Any] = ranking or {}
        option_set = int(set_of[position[item]])
        shown, ranked = tuple(given["shown"]), tuple(given["ranking"])
        orders.append(Ranked(option_set, number[rater], shown, ranked))
    return tuple(sorted(orders))


def _rankings(
    study: Study, position: Mapping[int, int], set_of: Any
) -> dict[str, tuple[Ranked, ...]]:
    """The replies of each run about whole sets, by its key, in an order of their content."""
    found = Judgment.objects.filter(
        run__study=study,
        run__bias_probe="",
        details__has_key="ranking",
        asked_with=None,
        item__split=ItemRow.Split.MAIN,
    ).values_list("run__key", "item_id", "sample", "details")
    runs: dict[str, list[Ranked]] = {}
    for run, item, sample, details in found.iterator():
        given: Mapping[str, Any] = details or {}
        row = Ranked(
            int(set_of[position[item]]), sample, tuple(given["shown"]), tuple(given["ranking"])
        )
        runs.setdefault(run, []).append(row)
    return {run: tuple(sorted(rows)) for run, rows in runs.items()}


RANKED_SETS = Reader("ranked sets", ranked_sets_of)
