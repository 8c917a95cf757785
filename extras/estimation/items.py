"""The named systems that wrote the responses of each item, and a run's certainty about it."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models.fields.json import KeyTextTransform, KeyTransform

from analysis.data.arrays import CODE, MISSING, TIE, Dataset, DesignData, Floats, Index
from analysis.data.extras import ExtraReader
from judging.models import Judgment
from studies.models import Item, Study

MIN_CONTESTS = 10  # items a system needs to be compared


@dataclass(frozen=True, eq=False)
class SystemsOfItems(DesignData):
    """The systems that are compared, and where.

    Attributes
    ----------
    names : tuple of str
    first, second : ndarray of int, shape (items,)
        Positions in `names` of the systems of response 1 and response 2; -1 in both where an item
        does not compare two of them.
    few : tuple of str
        Systems with fewer than 10 such items, which are left out.
    """

    names: tuple[str, ...]
    first: Index
    second: Index
    few: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A digest of the contents."""
        digest = hashlib.sha256("|".join([*self.names, "", *self.few]).encode())
        for codes in (self.first, self.second):
            digest.update(codes.astype("<i8").tobytes())
        return digest.hexdigest()


def read_systems(study: Study, data: Dataset, position: Mapping[int, int]) -> SystemsOfItems | None:
    """The systems of a study's items; None if fewer than two have enough."""
    makers: list[tuple[str | None, str | None]] = [(None, None)] * len(position)
    rows = Item.objects.filter(study=study).values_list("pk", _maker("r1"), _maker("r2"))
    for pk, one, two in rows.iterator():
        makers[position[pk]] = one, two
    return systems_of(makers)


def _maker(response: str) -> KeyTextTransform:
    """The name of the system that wrote a response; None without one."""
    return KeyTextTransform("name", KeyTransform("generated_by", response))


def systems_of(makers: Sequence[tuple[str | None, str | None]]) -> SystemsOfItems | None:
    """The systems of items that name those of both responses; None if fewer than two have enough.

    Dropping a system can remove items of others, so this repeats until all have enough.
    """
    pairs = [(one, two) if one and two and one != two else None for one, two in makers]
    named = {name for pair in pairs if pair for name in pair}
    kept = named
    while kept:
        met = Counter(name for pair in pairs if pair and kept.issuperset(pair) for name in pair)
        enough = {name for name in kept if met[name] >= MIN_CONTESTS}
        if enough == kept:
            break
        kept = enough
    if len(kept) < 2:
        return None
    names = sorted(kept)
    place = {name: code for code, name in enumerate(names)}
    codes = np.full((2, len(pairs)), MISSING, dtype=np.int64)
    for at, pair in enumerate(pairs):
        if pair and kept.issuperset(pair):
            codes[:, at] = place[pair[0]], place[pair[1]]
    return SystemsOfItems(tuple(names), codes[0], codes[1], tuple(sorted(named - kept)))


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """A run's certainty of every item of a study.

    Attributes
    ----------
    keys : list of str
        Keys of all items, sorted.
    certainty : ndarray of float, shape (items,)
        Mean over the readings that gave its answer, in percent; NaN without one.
    correct : ndarray of int, shape (items,)
        By own answer: 1 right, 0 wrong, -1 unknown.
    """

    keys: list[str]
    certainty: Floats
    correct: np.ndarray[tuple[int], np.dtype[np.int64]]


def judged_items(study: Study, run_key: str) -> JudgedItems:
    """Read the certainty of one run and nothing else."""
    truths = dict(Item.objects.filter(study=study).values_list("key", "first_person"))
    readings: dict[str, list[tuple[str, int | None]]] = defaultdict(list)
    judgments = Judgment.objects.filter(
        run__study=study,
        run__key=run_key,
        item__split=Item.Split.MAIN,
        state=Judgment.State.DONE,
    )
    for key, choice, certainty in judgments.values_list("item__key", "choice", "certainty"):
        readings[key].append((choice, certainty))
    keys = sorted(truths)
    stated, correct = np.full(len(keys), np.nan), np.full(len(keys), -1)
    for place, key in enumerate(keys):
        counts = Counter(choice for choice, _ in readings[key]).most_common(2)
        if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
            continue
        answer = counts[0][0]
        of_answer = [
            reading for choice, reading in readings[key] if choice == answer and reading is not None
        ]
        if of_answer:
            stated[place] = sum(of_answer) / len(of_answer)
        if CODE[truths[key]] in (0, 1) and CODE[answer] != TIE:
            correct[place] = int(answer == truths[key])
    return JudgedItems(keys, stated, correct)


SYSTEMS = ExtraReader("systems", read_systems)
