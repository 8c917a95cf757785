"""The counts behind the article's tables: right answers of runs and people, by certainty.

They come from the arrays of a study. An extra makes the same from files that others released.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Dataset, Floats, RunData
from analysis.data.verdicts import Ints, people_verdicts, run_verdicts

Rows = npt.NDArray[np.bool_]
# A bar of a figure: its label, right and wrong answers.
CertaintyBars = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class RightOf:
    """Right answers of all; `correct` and `n` are None if only the share is known."""

    correct: int | None
    n: int | None
    accuracy: float | None

    @classmethod
    def counted(cls, correct: int, n: int) -> "RightOf":
        return cls(correct, n, correct / n if n else None)


@dataclass(frozen=True)
class ByCertainty:
    """All answers, and those with a high and a low certainty; None if nobody was asked for one."""

    overall: RightOf
    high: RightOf | None = None
    low: RightOf | None = None


@dataclass(frozen=True)
class ArticleRun:
    """One run as the article counts it; `label` names it in the notes.

    `answered` and `repeated` are about the items that people answered: each once, as in Table 5,
    and once for each of people's answers, as in Table 7.
    """

    model: str
    setting: str
    features: str
    offers_tie: bool
    label: str
    counts: ByCertainty
    answered: ByCertainty | None = None
    repeated: ByCertainty | None = None
    bars: CertaintyBars = ()


@dataclass(frozen=True)
class ArticleData:
    """One data set: its runs, its people (majority and single answers), and persona variables.

    `slug` is the study's short name; empty without a study that can ask more. `missing_is_low`
    says that answers without a certainty are counted as low, as the article's code does.
    """

    title: str
    runs: Sequence[ArticleRun] = ()
    majority: ByCertainty | None = None
    single: ByCertainty | None = None
    variables: Sequence[str] = ()
    slug: str = ""
    is_simulated: bool = False
    threshold: int = 80
    missing_is_low: bool = False


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
        is_simulated=data.study.is_simulated,
        threshold=threshold,
    )


def _run(data: Dataset, run: RunData, per_item: Ints, threshold: int) -> ArticleRun:
    found = run_verdicts(data, run)
    correct, certainty = found.correct, found.certainty
    way = [word for word, usual in zip(run.way, ("", "observer"), strict=True) if word != usual]
    model = f"{run.judge} ({', '.join(way)})" if way else run.judge
    seen = np.where(per_item > 0, correct, -1)
    each = np.repeat(np.arange(correct.size), per_item)
    return ArticleRun(
        model=model,
        setting=run.setting,
        features=run.features,
        offers_tie=run.offers_tie,
        label=f"{run.setting}, run {run.run[:8]}",
        counts=by_certainty(correct, certainty, threshold),
        answered=by_certainty(seen, certainty, threshold),
        repeated=by_certainty(correct[each], certainty[each], threshold),
        bars=certainty_bars(correct, certainty),
    )


def by_certainty(correct: Ints, certainty: Floats, threshold: float) -> ByCertainty:
    """Count answers: 1 right, 0 wrong, -1 not counted. Without a certainty: neither high nor low.

    Both arrays have the shape (answers,); certainty is NaN where none was stated.
    """
    scored = correct >= 0
    overall = right_of(correct, scored)
    if not (scored & ~np.isnan(certainty)).any():
        return ByCertainty(overall)
    return ByCertainty(
        overall,
        right_of(correct, scored & (certainty >= threshold)),
        right_of(correct, scored & (certainty < threshold)),
    )


def right_of(correct: Ints, rows: Rows) -> RightOf:
    return RightOf.counted(int((correct[rows] == 1).sum()), int(rows.sum()))


def certainty_bars(correct: Ints, certainty: Floats) -> CertaintyBars:
    """Right and wrong answers by certainty in tens, clipped to 40–90 as in the article.

    >>> certainty_bars(np.array([1, 0, 1, -1]), np.array([12.0, 100.0, np.nan, 50.0]))
    (('40', 1, 0), ('90', 0, 1))
    """
    stated = (correct >= 0) & ~np.isnan(certainty)
    tens = np.clip(certainty[stated] // 10, 4, 9).astype(int) * 10
    right = correct[stated] == 1
    return tuple(
        (str(at), int((right & (tens == at)).sum()), int((~right & (tens == at)).sum()))
        for at in sorted(set(tens.tolist()))
    )
