"""Answers that were given before an item's advice was shown, next to those after it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.data.arrays import CODE, MISSING, Advice, Answers, Before, Run
from annotation.models import InitialAnswer
from judging.models import Judgment
from studies.models import Item, Study


def advice_of(
    study: Study,
    position: Mapping[int, int],
    raters: Sequence[str],
    answers: Answers,
    runs: Sequence[Run],
) -> Advice | None:
    """The advice of a study whose items have some, with the answers before it; else None."""
    rows = Item.objects.filter(study=study).exclude(advice={}).values_list("pk", "advice")
    kinds, favors = [""] * len(position), np.full(len(position), MISSING, dtype=np.int8)
    for pk, advice in rows.iterator():
        kinds[position[pk]] = advice["kind"]
        favors[position[pk]] = CODE[advice["favors"]]
    if not any(kinds):
        return None
    of_runs = _of_runs(study, position)
    return Advice(
        kinds=tuple(kinds),
        favors=favors,
        people=_of_people(study, position, raters, answers),
        runs={run.run: _aligned(run, of_runs[run.run]) for run in runs if run.run in of_runs},
    )


_Given = tuple[int, float]  # the code of a choice, and a certainty


def _of_people(
    study: Study, position: Mapping[int, int], raters: Sequence[str], answers: Answers
) -> Before:
    number = {pseudonym: index for index, pseudonym in enumerate(raters)}
    found = InitialAnswer.objects.filter(assignment__annotator__study=study).values_list(
        "assignment__item_id", "assignment__annotator__pseudonym", "choice", "certainty"
    )
    given = {
        (position[item], number[rater]): _given(choice, certainty)
        for item, rater, choice, certainty in found
        if rater in number and item in position
    }
    keys = zip(answers.item.tolist(), answers.rater.tolist(), strict=True)
    return _before(given.get(key) for key in keys)


def _of_runs(
    study: Study, position: Mapping[int, int]
) -> dict[str, dict[tuple[int, int, int], _Given]]:
    """The first answer of each judgment, by the run's key and then by item, order and sample."""
    found = Judgment.objects.filter(
        run__study=study, details__has_key="before_advice", item__split=Item.Split.MAIN
    ).values_list("run__key", "item_id", "shown_first", "sample", "details")
    runs: dict[str, dict[tuple[int, int, int], _Given]] = {}
    for run, item, first, sample, details in found.iterator():
        first_answer: dict[str, Any] = (details or {})["before_advice"]
        key = position[item], CODE[first], sample
        runs.setdefault(run, {})[key] = _given(first_answer["choice"], first_answer["certainty"])
    return runs


def _aligned(run: Run, given: Mapping[tuple[int, int, int], _Given]) -> Before:
    rows = run.judgments
    keys = zip(rows.item.tolist(), rows.shown_first.tolist(), rows.sample.tolist(), strict=True)
    return _before(given.get(key) for key in keys)


def _given(choice: str, certainty: int | None) -> _Given:
    return CODE[choice], np.nan if certainty is None else float(certainty)


def _before(rows: Iterable[_Given | None]) -> Before:
    known = [row or (MISSING, np.nan) for row in rows]
    return Before(
        np.array([choice for choice, _ in known], dtype=np.int8),
        np.array([certainty for _, certainty in known], dtype=np.float64),
    )
