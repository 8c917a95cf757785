"""What the models answered, counted as the paper counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.data.arrays import MISSING, Dataset, RunData
from analysis.data.dataset import load_dataset
from analysis.data.verdicts import run_verdicts
from extras.replication.recipes.asking import Planned, runs_of
from extras.replication.recipes.recipe import DataQuestion, Recipe

_COUNTED = ("done", "unparseable", "refused")  # an item that the model has replied about
NOTHING = {"n": 0, "correct": 0, "accuracy": None}


@dataclass(frozen=True)
class ModelAnswers:
    """The answers of one model to one question about a data set.

    `rules`: counts by the paper's rule and part, as `replication.counts` gives them for a file.
    `bars`: right and wrong answers by stated certainty in tens.
    """

    question: DataQuestion
    model: str
    items: int
    answered: int
    rules: Mapping[str, Mapping[str, Mapping[str, Any]]]
    bars: tuple[tuple[str, int, int], ...]


def collect(recipe: Recipe, planned: Sequence[Planned]) -> list[ModelAnswers]:
    """The answers to every question; a run without any is there with empty counts."""
    data: dict[str, Dataset] = {}
    found = []
    for one in planned:
        slug = one.study.slug
        if slug not in data:
            data[slug] = load_dataset(slug)
        by_key = {run.run: run for run in data[slug].runs}
        for row in runs_of(one):
            run = by_key.get(row.key)
            found.append(_answers(recipe, one.question, row.judge.name, data[slug], run))
    return found


def _answers(
    recipe: Recipe, question: DataQuestion, model: str, data: Dataset, run: RunData | None
) -> ModelAnswers:
    items = len(data.items)
    if run is None:
        empty = {rule: dict.fromkeys(("overall", "high", "low"), NOTHING) for rule in _RULES}
        return ModelAnswers(question, model, items, 0, empty, ())
    verdicts = run_verdicts(data, run)
    correct, certainty = verdicts.correct, verdicts.certainty
    rows = run.judgments
    replied = np.isin(rows.status, _COUNTED)
    asked = np.bincount(rows.item[replied], minlength=items) > 0
    has_truth = data.scored_truth(offers_tie=run.offers_tie) != MISSING
    counted = {"drop_nonAB": correct >= 0, "all_rows": asked & has_truth}
    # As in the paper, an answer without a certainty is not a high one.
    high = np.nan_to_num(certainty, nan=-1.0) >= recipe.threshold
    rules = {
        rule: {
            "overall": _share(correct, kept),
            "high": _share(correct, kept & high),
            "low": _share(correct, kept & ~high),
        }
        for rule, kept in counted.items()
    }
    bars = _bars(correct, certainty)
    return ModelAnswers(question, model, items, int(asked.sum()), rules, bars)


_RULES = ("drop_nonAB", "all_rows")


def _share(correct: Any, kept: Any) -> dict[str, Any]:
    n, right = int(kept.sum()), int((kept & (correct == 1)).sum())
    return {"n": n, "correct": right, "accuracy": right / n if n else None}


def _bars(correct: Any, certainty: Any) -> tuple[tuple[str, int, int], ...]:
    """Right and wrong answers by certainty in tens, cut to 40 to 90 as in the paper."""
    stated = (correct >= 0) & ~np.isnan(certainty)
    tens = np.clip(certainty[stated] // 10, 4, 9).astype(int) * 10
    right = correct[stated] == 1
    return tuple(
        (str(at), int((right & (tens == at)).sum()), int((~right & (tens == at)).sum()))
        for at in sorted(set(tens.tolist()))
    )
