"""Items that compare three or more responses to one question of one persona with each other."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models.fields.json import KeyTextTransform

from analysis.data.arrays import MISSING, Dataset, Extra, Index, Item
from analysis.data.extras import Reader
from studies.models import Item as ItemRow
from studies.models import Study

FEWEST = 3


@dataclass(frozen=True, eq=False)
class OptionSets(Extra):
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
        found = hashlib.sha256()
        for codes in (self.of_item, self.first, self.second):
            found.update(codes.astype("<i8").tobytes())
        return found.hexdigest()


def option_sets_of(study: Study, data: Dataset, position: Mapping[int, int]) -> OptionSets | None:
    """The sets of a study; None if no three items ask one persona the same question.

    Texts are read only for items that could belong to a set.
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


def sets_of(items: Sequence[Item], texts: Mapping[str, tuple[str, str, str]]) -> OptionSets | None:
    """Sets from the context and both responses of items, by key."""
    members: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for at, item in enumerate(items):
        if item.key in texts:
            members[item.persona, item.question, texts[item.key][0]].append(at)
    codes = np.full((3, len(items)), MISSING, dtype=np.int64)
    n_sets = 0
    for found in members.values():
        number: dict[str, int] = {}
        pairs = [texts[items[at].key][1:] for at in found]
        if len({text for pair in pairs for text in pair}) < FEWEST:
            continue
        for at, (one, two) in zip(found, pairs, strict=True):
            if one != two:
                for row, text in ((1, one), (2, two)):
                    codes[row, at] = number.setdefault(text, len(number))
                codes[0, at] = n_sets
        n_sets += 1
    return OptionSets(*codes) if n_sets else None


OPTION_SETS = Reader("option sets", option_sets_of)
