"""The counts behind the article's tables, from the arrays of a study."""

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import CHOICES, MISSING, Dataset, Floats, RunData
from analysis.data.verdicts import Ints, people_verdicts, run_options, run_verdicts
from analysis.report.article import (
    FEWER_FEATURES,
    ArticleData,
    ArticleRun,
    ByCertainty,
    RightOf,
    certainty_bars,
)
from judging.runs.imports import OWN_TRUTHS

Rows = npt.NDArray[np.bool_]
_UNREAD = ("unparseable", "refused")  # a reply that names no side


def count_article(data: Dataset, threshold: int | None = None) -> ArticleData:
    """Count a study, at its own threshold unless another is given."""
    if threshold is None:
        threshold = data.study.certainty_threshold
    people = people_verdicts(data)
    votes = people.majority.votes
    truth = data.scored_truth(offers_tie=data.study.allow_tie).astype(np.int64)
    own = truth[votes.item]
    alone = np.where(own >= 0, votes.choice == own, -1).astype(np.int64)
    per_item = np.bincount(votes.item[alone >= 0], minlength=len(data.items))
    majority = single = None
    if votes.n:
        majority = by_certainty(people.correct, people.certainty, threshold)
        single = by_certainty(alone, votes.certainty, threshold)
    return ArticleData(
        title=data.study.title,
        runs=[_run(data, run, per_item, threshold) for run in data.runs if not run.is_jury],
        majority=majority,
        single=single,
        variables=list(dict.fromkeys(n for rows in data.personas.values() for n, _ in rows)),
        slug="" if "pooled_from" in data.study.source else data.study.slug,
        fewer_features=FEWER_FEATURES.get(data.study.source.get("name", "")),
        is_simulated=data.study.is_simulated,
        threshold=threshold,
    )


def _run(data: Dataset, run: RunData, per_item: Ints, threshold: int) -> ArticleRun:
    correct, certainty, unread = _verdicts(data, run)
    correct = _by_own_file(data, run, correct)
    way = [word for word, usual in zip(run.way, ("", "observer"), strict=True) if word != usual]
    model = f"{run.judge} ({', '.join(way)})" if way else run.judge
    seen = np.where(per_item > 0, correct, -1)
    rows = np.repeat(np.arange(correct.size), per_item)
    return ArticleRun(
        model=model,
        setting=run.setting,
        features=run.features,
        offers_tie=run.offers_tie,
        label=f"{run.setting}, run {run.run[:8]}",
        counts=by_certainty(correct, certainty, threshold),
        answered=by_certainty(seen, certainty, threshold),
        repeated=by_certainty(correct[rows], certainty[rows], threshold),
        bars=certainty_bars(correct, certainty),
        unread=unread,
    )


def _verdicts(data: Dataset, run: RunData) -> tuple[Ints, Floats, int]:
    """A run's items as the article counts them, their certainty, and how many were not read.

    Of each item: 1 right, 0 wrong, -1 not counted. If no reply of an item names a side, it is not
    counted where no tie was offered, and wrong where one was, as in the article's code.
    """
    verdicts = run_verdicts(data, run)
    rows = run.judgments
    of_items = rows.item[np.isin(rows.status, _UNREAD)]
    failed = np.bincount(of_items, minlength=len(data.items)) > 0
    has_truth = data.scored_truth(offers_tie=run.offers_tie) >= 0
    unread = failed & has_truth & (verdicts.majority.n_votes == 0)
    correct = np.where(unread, 0, verdicts.correct) if run.offers_tie else verdicts.correct
    return correct, verdicts.certainty, int(unread.sum())


def _by_own_file(data: Dataset, run: RunData, correct: Ints) -> Ints:
    """Which answers are right; for an imported run by the right answers of its own file."""
    own = run.parameters.get(OWN_TRUTHS, {})
    if not own:
        return correct
    answer, correct = run_verdicts(data, run).answer, correct.copy()
    for index, item in enumerate(data.items):
        if item.key in own and answer[index] >= 0:
            truth = CHOICES.index(own[item.key])
            is_scored = truth < run_options(run)
            correct[index] = answer[index] == truth if is_scored else MISSING
    return correct


def by_certainty(correct: Ints, certainty: Floats, threshold: float) -> ByCertainty:
    """Count answers: 1 right, 0 wrong, -1 not counted. One without a certainty is low.

    Both arrays have the shape (answers,); certainty is NaN where none was stated. If none was
    stated at all, there is neither high nor low.
    """
    scored = correct >= 0
    overall = right_of(correct, scored)
    if not (scored & ~np.isnan(certainty)).any():
        return ByCertainty(overall)
    return ByCertainty(
        overall,
        right_of(correct, scored & (certainty >= threshold)),
        right_of(correct, scored & ~(certainty >= threshold)),
    )


def right_of(correct: Ints, rows: Rows) -> RightOf:
    return RightOf.counted(int((correct[rows] == 1).sum()), int(rows.sum()))
