"""Verdicts by criterion, of runs that were asked for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.data.arrays import CHOICES, CODE, MISSING, Codes, Dataset, Extra
from analysis.data.extras import Reader
from judging.models import Judgment
from studies.models import Item, Study


@dataclass(frozen=True, eq=False)
class CriterionVerdicts(Extra):
    """One verdict of a run for each item and criterion of the study.

    Attributes
    ----------
    names : tuple of str
        The criteria, in the order of the study.
    runs : mapping of str to ndarray of int8, shape (items, criteria)
        0, 1 or 2 for response 1, response 2 or a tie; -1 without a verdict, also where the run's
        orders and samples are split.
    """

    names: tuple[str, ...]
    runs: Mapping[str, Codes]

    @property
    def digest(self) -> str:
        """Equal for equal contents."""
        found = hashlib.sha256(repr([self.names, list(self.runs)]).encode())
        for codes in self.runs.values():
            found.update(codes.tobytes())
        return found.hexdigest()


def criterion_verdicts_of(
    study: Study, data: Dataset, position: Mapping[int, int]
) -> CriterionVerdicts | None:
    """The verdicts by criterion of a study; None if no run judged by criteria."""
    if not study.criteria:
        return None
    keys = {each["key"]: n for n, each in enumerate(study.criteria)}
    counts: dict[str, Any] = {}
    found = Judgment.objects.filter(
        run__study=study,
        run__bias_probe="",
        details__has_key="criteria",
        item__split=Item.Split.MAIN,
    ).values_list("run__key", "item_id", "details")
    for run, item, details in found.iterator():
        given: Mapping[str, str] = (details or {})["criteria"]
        shape = len(position), len(keys), len(CHOICES)
        table = counts.setdefault(run, np.zeros(shape, dtype=np.int64))
        for key, choice in given.items():
            if key in keys and CODE.get(choice, MISSING) != MISSING:
                table[position[item], keys[key], CODE[choice]] += 1
    judged = {run.run: _most(counts[run.run]) for run in data.runs if run.run in counts}
    if not any((codes >= 0).any() for codes in judged.values()):
        return None
    return CriterionVerdicts(tuple(each["name"] for each in study.criteria), judged)


def _most(counts: Any) -> Codes:
    """The most frequent choice; -1 if there is none, or if two are equally frequent."""
    top = counts.max(axis=2)
    is_clear = (top > 0) & ((counts == top[..., None]).sum(axis=2) == 1)
    return np.where(is_clear, counts.argmax(axis=2), MISSING).astype(np.int8)


CRITERIA = Reader("criterion verdicts", criterion_verdicts_of)
