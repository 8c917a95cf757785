"""How the items that annotators get were drawn from all items of a study."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import CODE, TIE, Dataset, Extra, Floats
from analysis.data.extras import ExtraReader
from judging.models import Judgment
from studies.models import Item, Study


@dataclass(frozen=True, eq=False)
class Draw(Extra):
    """A sample of the items for annotators.

    Attributes
    ----------
    probability : ndarray of float, shape (items,), or None
        With which each item was drawn, NaN for items that were added after the draw; None if all
        were drawn alike, topic by topic.
    """

    probability: Floats | None

    @property
    def digest(self) -> str:
        """Equal for equal contents."""
        given = np.empty(0) if self.probability is None else self.probability
        return hashlib.sha256(given.astype("<f8").tobytes()).hexdigest()


def draw_of(study: Study, data: Dataset, position: Mapping[int, int]) -> Draw | None:
    """The draw of a study's items, in their order; None if annotators get all of them."""
    if study.human_sample is None:
        return None
    if not study.draw:
        return Draw(None)
    probability = np.full(len(position), np.nan)
    rows = Item.objects.filter(study=study).exclude(draw_probability=None)
    for pk, each in rows.values_list("pk", "draw_probability"):
        probability[position[pk]] = each
    return Draw(probability)


DRAW = ExtraReader("draw", draw_of)


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """A run's certainty of every item of a study.

    Attributes
    ----------
    keys : list of str
        Of all items, sorted.
    certainty : ndarray of float, shape (items,)
        Mean of those of the readings that gave its answer, in percent; NaN without one.
    correct : ndarray of int, shape (items,)
        By the own answer: 1 right, 0 wrong, -1 unknown.
    """

    keys: list[str]
    certainty: Floats
    correct: np.ndarray[tuple[int], np.dtype[np.int64]]


def judged_items(study: Study, run_key: str) -> JudgedItems:
    """Read the certainty of one run, without anything else of the study."""
    truths = dict(Item.objects.filter(study=study).values_list("key", "first_person"))
    readings: dict[str, list[tuple[str, int | None]]] = defaultdict(list)
    found = Judgment.objects.filter(
        run__study=study, run__key=run_key, item__split=Item.Split.MAIN, state=Judgment.State.DONE
    )
    for key, choice, certainty in found.values_list("item__key", "choice", "certainty"):
        readings[key].append((choice, certainty))
    keys = sorted(truths)
    stated, correct = np.full(len(keys), np.nan), np.full(len(keys), -1)
    for place, key in enumerate(keys):
        counts = Counter(choice for choice, _ in readings[key]).most_common(2)
        if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
            continue
        answer = counts[0][0]
        given = [each for choice, each in readings[key] if choice == answer and each is not None]
        if given:
            stated[place] = sum(given) / len(given)
        if CODE[truths[key]] in (0, 1) and CODE[answer] != TIE:
            correct[place] = int(answer == truths[key])
    return JudgedItems(keys, stated, correct)
