"""Answers given before an item's advice was shown, aligned with those after it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.data.arrays import CODE, MISSING, Answers, Codes, Dataset, DesignData, Floats, RunData
from analysis.data.extras import ExtraReader
from annotation.models import InitialAnswer
from judging.models import Judgment
from studies.models import Item, Study


@dataclass(frozen=True, eq=False)
class Before:
    """Answers before the advice, one for each row of the answers after it.

    `choice` is -1 and `certainty` NaN where there was none.
    """

    choice: Codes
    certainty: Floats


@dataclass(frozen=True, eq=False)
class Advised(DesignData):
    """The advice of items, and the answers before it.

    Attributes
    ----------
    kinds : tuple of str
        The kind of each item's advice: advice, debate, consultancy; empty without one.
    favors : ndarray of int8, shape (items,)
        The response that the advice argues for, 0 or 1; -1 if neither.
    people : Before
        One entry for each row of the study's answers.
    runs : mapping of str to Before
        For each run that showed the advice, one entry for each of its judgments.
    """

    follows_answers = True

    kinds: tuple[str, ...]
    favors: Codes
    people: Before
    runs: Mapping[str, Before]

    @property
    def digest(self) -> str:
        """Equal for equal contents."""
        digest = hashlib.sha256("|".join([*self.kinds, *self.runs]).encode())
        digest.update(self.favors.tobytes())
        for before in (self.people, *self.runs.values()):
            digest.update(before.choice.tobytes() + before.certainty.astype("<f8").tobytes())
        return digest.hexdigest()


def advice_of(study: Study, data: Dataset, position: Mapping[int, int]) -> Advised | None:
    """The advice of a study's items with the answers before it; None without advice."""
    rows = Item.objects.filter(study=study).exclude(advice={}).values_list("pk", "advice")
    kinds, favors = [""] * len(position), np.full(len(position), MISSING, dtype=np.int8)
    for pk, advice in rows.iterator():
        kinds[position[pk]] = advice["kind"]
        favors[position[pk]] = CODE[advice["favors"]]
    if not any(kinds):
        return None
    of_runs = _of_runs(study, position)
    return Advised(
        kinds=tuple(kinds),
        favors=favors,
        people=_of_people(study, position, data.raters, data.answers),
        runs={run.run: _aligned(run, of_runs[run.run]) for run in data.runs if run.run in of_runs},
    )


_Given = tuple[int, float]  # the code of a choice, and a certainty


def _of_people(
    study: Study, position: Mapping[int, int], raters: Sequence[str], answers: Answers
) -> Before:
    number = {pseudonym: index for index, pseudonym in enumerate(raters)}
    rows = InitialAnswer.objects.filter(assignment__annotator__study=study).values_list(
        "assignment__item_id", "assignment__annotator__pseudonym", "choice", "certainty"
    )
    answers_of = {
        (position[item], number[rater]): _given(choice, certainty)
        for item, rater, choice, certainty in rows
        if rater in number and item in position
    }
    keys = zip(answers.item.tolist(), answers.rater.tolist(), strict=True)
    return _before(answers_of.get(key) for key in keys)


def _of_runs(
    study: Study, position: Mapping[int, int]
) -> dict[str, dict[tuple[int, int, int], _Given]]:
    """The first answer of each judgment, by the run's key and then by item, order and sample."""
    judgments = Judgment.objects.filter(
        run__study=study, details__has_key="before_advice", item__split=Item.Split.MAIN
    ).values_list("run__key", "item_id", "shown_first", "sample", "details")
    runs: dict[str, dict[tuple[int, int, int], _Given]] = {}
    for run, item, first, sample, details in judgments.iterator():
        first_answer: dict[str, Any] = (details or {})["before_advice"]
        key = position[item], CODE[first], sample
        runs.setdefault(run, {})[key] = _given(first_answer["choice"], first_answer["certainty"])
    return runs


def _aligned(run: RunData, answers_of: Mapping[tuple[int, int, int], _Given]) -> Before:
    rows = run.judgments
    keys = zip(rows.item.tolist(), rows.shown_first.tolist(), rows.sample.tolist(), strict=True)
    return _before(answers_of.get(key) for key in keys)


def _given(choice: str, certainty: int | None) -> _Given:
    return CODE[choice], np.nan if certainty is None else float(certainty)


def _before(rows: Iterable[_Given | None]) -> Before:
    known = [row or (MISSING, np.nan) for row in rows]
    return Before(
        np.array([choice for choice, _ in known], dtype=np.int8),
        np.array([certainty for _, certainty in known], dtype=np.float64),
    )


ADVISED = ExtraReader("advice", advice_of)
