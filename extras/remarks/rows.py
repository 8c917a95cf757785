"""Remarks of people and judges, aligned with their answers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.data.answer_rows import COUNTED
from analysis.data.arrays import MISSING, Dataset, DesignData, Floats
from analysis.data.extras import ExtraReader
from analysis.data.judgment_details import details_of_runs
from extras.remarks.asking import asked_in
from extras.remarks.flagged import current_remarks
from extras.remarks.models import ItemFlag
from studies.models import Item, Study

FLAGS = tuple(ItemFlag.values)


@dataclass(frozen=True, eq=False)
class RemarkRows:
    """Remarks of answers, or of the judgments of a run, one row each; NaN where nothing was said.

    Attributes
    ----------
    either : ndarray of float, shape (n,)
        1 if the other response would do as well, otherwise 0.
    others : ndarray of float, shape (n,)
        The share of others, from 0 to 1, who choose the same.
    """

    either: Floats
    others: Floats

    @classmethod
    def empty(cls, n: int) -> RemarkRows:
        return cls(np.full(n, np.nan), np.full(n, np.nan))

    def put(self, row: int, *, either: bool | None, others: int | None) -> None:
        self.either[row] = np.nan if either is None else either
        self.others[row] = np.nan if others is None else others / 100


@dataclass(frozen=True, eq=False)
class StudyRemarks(DesignData):
    """The remarks of a study.

    Attributes
    ----------
    asked : frozenset of str
        What annotators could say: flags, either, others.
    people : RemarkRows
        One row for each of the study's answers.
    flags : ndarray of int, shape (items, kinds of flags)
        How many of the counted answers flag an item.
    n_asked : int
        Counted answers that could be remarked: not those of a file, or of before the questions.
    runs : mapping of str to RemarkRows
        For each run that was asked, one row for each of its judgments.
    """

    follows_answers = True

    asked: frozenset[str]
    people: RemarkRows
    flags: Any
    n_asked: int
    runs: Mapping[str, RemarkRows]

    @property
    def digest(self) -> str:
        """Equal for equal contents."""
        facts = sorted(self.asked), self.n_asked, [*self.runs]
        content = hashlib.sha256(repr(facts).encode())
        for rows in (self.people, *self.runs.values()):
            content.update(rows.either.tobytes() + rows.others.tobytes())
        content.update(np.ascontiguousarray(self.flags).tobytes())
        return content.hexdigest()


def remarks_in(study: Study, data: Dataset, position: Mapping[int, int]) -> StudyRemarks | None:
    """The remarks of a study; None if its annotators could make none."""
    asked = asked_in(study)
    if not asked:
        return None
    rater = {pseudonym: index for index, pseudonym in enumerate(data.raters)}
    keys = zip(data.answers.item.tolist(), data.answers.rater.tolist(), strict=True)
    place = {key: row for row, key in enumerate(keys)}
    people = RemarkRows.empty(len(data.answers))
    flags = np.zeros((len(data.items), len(FLAGS)), dtype=np.int64)
    n_asked = 0
    rows = current_remarks(study).filter(
        answer__assignment__item__split=Item.Split.MAIN,
        answer__assignment__annotator__excluded_at=None,
        answer__standing__in=COUNTED,
    )
    values = rows.values_list(
        "answer__assignment__item_id",
        "answer__assignment__annotator__pseudonym",
        "flag",
        "either",
        "others",
    )
    for item, name, flag, either, others in values.iterator():
        row = place.get((position.get(item, MISSING), rater.get(name, MISSING)))
        if row is None:
            continue
        people.put(row, either=either, others=others)
        n_asked += 1
        if flag:
            flags[position[item], FLAGS.index(flag)] += 1
    return StudyRemarks(asked, people, flags, n_asked, _of_runs(study, data, position))


def _of_runs(study: Study, data: Dataset, position: Mapping[int, int]) -> dict[str, RemarkRows]:
    remarks: dict[str, RemarkRows] = {}
    for run, row, details in details_of_runs(study, data, position, ("either", "others")):
        rows = remarks.setdefault(run.run, RemarkRows.empty(len(run.judgments)))
        rows.put(row, either=details.get("either"), others=details.get("others"))
    return {run.run: remarks[run.run] for run in data.runs if run.run in remarks}


REMARKS = ExtraReader("remarks", remarks_in)
