"""Sets of responses that items compare with each other, and raters' rankings of them."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django.db.models.fields.json import KeyTextTransform

from analysis.data.answer_rows import COUNTED
from analysis.data.arrays import MISSING, Dataset, DesignData, Index, ItemData
from analysis.data.extras import ExtraReader
from annotation.models import Annotation
from judging.models import Judgment
from studies.models import Item as ItemRow
from studies.models import Study

FEWEST = 3


@dataclass(frozen=True, eq=False)
class OptionSets(DesignData):
    """Which items compare responses of the same set.

    Attributes
    ----------
    of_item : ndarray of int, shape (items,)
        The set of each item: persona, question and context; -1 without one.
    first, second : ndarray of int, shape (items,)
        Response 1 and response 2 as numbers within their set; -1 without one.
    """

    of_item: Index
    first: Index
    second: Index

    @property
    def digest(self) -> str:
        """Equal for equal contents."""
        hashed = hashlib.sha256()
        for codes in (self.of_item, self.first, self.second):
            hashed.update(codes.astype("<i8").tobytes())
        return hashed.hexdigest()


def option_sets_of(study: Study, data: Dataset, position: Mapping[int, int]) -> OptionSets | None:
    """The sets of a study; None if no three items ask one persona the same question.

    Texts are read only for items that may belong to a set.
    """
    items = data.items
    alike = Counter((item.persona, item.question) for item in items if item.question)
    asked = [
        item.key for item in items if item.question and alike[item.persona, item.question] >= FEWEST
    ]
    if not asked:
        return None
    texts = [KeyTextTransform("text", side) for side in ("r1", "r2")]
    rows = ItemRow.objects.filter(study=study, question__in={q for _, q in alike})
    read = {key: rest for key, *rest in rows.values_list("key", "context", *texts)}
    return sets_of(items, {key: (read[key][0], read[key][1], read[key][2]) for key in asked})


def sets_of(
    items: Sequence[ItemData], texts: Mapping[str, tuple[str, str, str]]
) -> OptionSets | None:
    """Sets from the context and both responses of items, by key."""
    members: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for at, item in enumerate(items):
        if item.key in texts:
            members[item.persona, item.question, texts[item.key][0]].append(at)
    codes = np.full((3, len(items)), MISSING, dtype=np.int64)
    n_sets = 0
    for member in members.values():
        number: dict[str, int] = {}
        pairs = [texts[items[at].key][1:] for at in member]
        if len({text for pair in pairs for text in pair}) < FEWEST:
            continue
        for at, (one, two) in zip(member, pairs, strict=True):
            if one != two:
                for row, text in ((1, one), (2, two)):
                    codes[row, at] = number.setdefault(text, len(number))
                codes[0, at] = n_sets
        n_sets += 1
    return OptionSets(*codes) if n_sets else None


class Ranked(NamedTuple):
    """A reply about a whole set: options as shown, and as ranked with the best first, by number."""

    option_set: int
    sample: int
    shown: tuple[int, ...]
    ranking: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RankedSets(DesignData):
    """The sets of more than two responses from which items were paired.

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
        The rankings by annotators who saw whole sets; `sample` is the position of the rater.
    """

    not_pooled = (
        "its items are pairs of sets of 3 to 5 responses, and a pooled report would treat the "
        "pairs of a set as unrelated. Report it separately."
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
        hashed = hashlib.sha256(repr(orders).encode())
        for codes in (self.set_of, self.sizes, self.chosen, self.item):
            hashed.update(codes.astype("<i8").tobytes())
        return hashed.hexdigest()

    def questions(self, items: Sequence[ItemData]) -> Sequence[Hashable]:
        """The question of each item; pairs of a set without a question ask about the set."""
        return [
            item.question if item.question or number < 0 else number
            for item, number in zip(items, self.set_of.tolist(), strict=True)
        ]


def ranked_sets_of(study: Study, data: Dataset, position: Mapping[int, int]) -> RankedSets | None:
    """The sets from which a study's items were paired, with rankings; None without sets."""
    rows = (
        ItemRow.objects.filter(study=study).exclude(option_set={}).values_list("pk", "option_set")
    )
    placed = sorted(
        ((position[pk], stored) for pk, stored in rows.iterator()), key=lambda pair: pair[0]
    )
    if not placed:
        return None
    set_of = np.full(len(data.items), MISSING, dtype=np.int64)
    codes: dict[tuple[str, str], int] = {}
    sizes, chosen, first_items, rules = [], [], [], set()
    for place, option_set in placed:
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
    """The counting rankings, by set and rater."""
    number = {pseudonym: index for index, pseudonym in enumerate(raters)}
    answers = Annotation.objects.filter(
        assignment__annotator__study=study,
        assignment__annotator__excluded_at=None,
        assignment__item__split=ItemRow.Split.MAIN,
        standing__in=COUNTED,
        ranking__isnull=False,
    ).values_list("assignment__item", "assignment__annotator__pseudonym", "ranking")
    orders = []
    for item, rater, ranking in answers.iterator():
        order: Mapping[str, Any] = ranking or {}
        option_set = int(set_of[position[item]])
        places, ranked = tuple(order["shown"]), tuple(order["ranking"])
        orders.append(Ranked(option_set, number[rater], places, ranked))
    return tuple(sorted(orders))


def _rankings(
    study: Study, position: Mapping[int, int], set_of: Any
) -> dict[str, tuple[Ranked, ...]]:
    """The replies of each run about whole sets, by run key, sorted by content."""
    judgments = Judgment.objects.filter(
        run__study=study,
        run__bias_probe="",
        details__has_key="ranking",
        asked_with=None,
        item__split=ItemRow.Split.MAIN,
    ).values_list("run__key", "item_id", "sample", "details")
    runs: dict[str, list[Ranked]] = {}
    for run, item, sample, details in judgments.iterator():
        order: Mapping[str, Any] = details or {}
        row = Ranked(
            int(set_of[position[item]]), sample, tuple(order["shown"]), tuple(order["ranking"])
        )
        runs.setdefault(run, []).append(row)
    return {run: tuple(sorted(rows)) for run, rows in runs.items()}


OPTION_SETS = ExtraReader("option sets", option_sets_of)
RANKED_SETS = ExtraReader("ranked sets", ranked_sets_of)
