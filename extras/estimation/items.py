"""The named systems that wrote the two responses of each item."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models.fields.json import KeyTextTransform, KeyTransform

from analysis.data.arrays import MISSING, Dataset, Extra, Index
from analysis.data.extras import ExtraReader
from studies.models import Item, Study

MIN_CONTESTS = 10  # items a system needs to be compared


@dataclass(frozen=True, eq=False)
class SystemsOfItems(Extra):
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
        found = hashlib.sha256("|".join([*self.names, "", *self.few]).encode())
        for codes in (self.first, self.second):
            found.update(codes.astype("<i8").tobytes())
        return found.hexdigest()


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


SYSTEMS = ExtraReader("systems", read_systems)
