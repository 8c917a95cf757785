"""Annotators whose errors resemble a judge's: compared by a worker, shown as advice."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.answer_rows import SetPairs
from analysis.data.arrays import CODE, MISSING, Codes, Dataset, RunData
from analysis.data.dataset import load_dataset
from analysis.data.item_comparisons import fingerprint_of, runs_to_compare
from analysis.data.verdicts import Verdicts, run_verdicts
from annotation.models import Annotation, Annotator
from annotation.quality import quality_of
from extras.likeness.models import ErrorComparison
from extras.likeness.stats.shared_errors import (
    FALSE_FLAGS_PER_1000,
    FALSE_FLAGS_PER_1000_WHEN_HURRIED,
    HURRIED_PACE,
    LIMIT,
    LIMIT_WHEN_HURRIED,
    READING_PACE,
    SharedErrors,
    shared_errors,
    stands_out,
)
from studies.jobs.runner import JobProgress, carry_out
from studies.models import Item, Study


@dataclass(frozen=True)
class ErrorsWithJudge:
    """Errors that an annotator shares with a judge that read the whole persona."""

    judge: str
    setting: str
    errors: SharedErrors


@dataclass(frozen=True)
class Likeness:
    """One annotator compared with every judge, most similar first.

    `probability` is the smallest over judges, corrected for their number; None if no judge has one.
    """

    rater: str
    is_counted: bool
    words_per_minute: float | None
    judges: tuple[ErrorsWithJudge, ...]
    probability: float | None
    stands_out: bool

    @property
    def closest(self) -> ErrorsWithJudge | None:
        return self.judges[0] if self.judges else None


def likenesses(slug: str) -> list[Likeness]:
    """All annotators with answers in the study `slug`: flagged ones, then the most similar."""
    data = load_dataset(slug)
    answers = _all_answers(data)
    truth = data.scored_truth(offers_tie=data.study.allow_tie)[:, None]
    known = (answers.choice >= 0) & (truth >= 0)
    wrong = np.where(known, answers.choice != truth, np.int8(-1))
    runs = _whole_runs(data)
    by_run = [
        shared_errors(wrong, _errors(run_verdicts(data, run)), measure=answers.is_counted)
        for run in runs
    ]
    found = []
    for column, rater in enumerate(answers.raters):
        judges = [
            ErrorsWithJudge(run.judge, run.setting, results[column])
            for run, results in zip(runs, by_run, strict=True)
        ]
        judges.sort(key=lambda found: _rank(found.errors.probability))
        pace = answers.pace[column]
        defined = [b.errors.probability for b in judges if b.errors.probability is not None]
        probability, is_striking = stands_out(defined, pace)
        found.append(
            Likeness(
                rater=rater,
                is_counted=answers.is_counted[column],
                words_per_minute=pace,
                judges=tuple(judges),
                probability=probability,
                stands_out=is_striking,
            )
        )
    return sorted(found, key=lambda one: (not one.stands_out, _rank(one.probability), one.rater))


def _whole_runs(data: Dataset) -> list[RunData]:
    """Runs in which a judge read the same text as annotators; no juries, which repeat judges."""
    return [
        run for run in data.runs if run.features == "all" and not run.is_jury and len(run.judgments)
    ]


def _errors(verdicts: Verdicts) -> npt.NDArray[np.int64]:
    """The errors of a side: 1 wrong, 0 right, -1 unknown."""
    return np.where(verdicts.scored, 1 - verdicts.correct, -1)


def _rank(probability: float | None) -> float:
    return 2.0 if probability is None else probability


def compare_queued(*, comparison_id: int) -> ErrorComparison:
    """Compute a queued comparison of annotators; safe to run twice."""
    return carry_out(ErrorComparison, comparison_id, _compare, expected=())


def _compare(comparison: ErrorComparison, progress: JobProgress) -> Mapping[str, Any]:
    study = comparison.study
    fingerprint = fingerprint_of(study, runs_to_compare(study))
    if fingerprint == comparison.fingerprint:
        return {}
    progress(10, "The answers and judgments are being compared.")
    found = likenesses(study.slug)
    return {
        "fingerprint": fingerprint,
        "rule": _rule(),
        "annotators": [asdict(each) for each in found],
        "striking": [each.rater for each in found if each.stands_out],
    }


def _rule() -> dict[str, float]:
    """When an annotator is flagged, and how often without cause."""
    return {
        "reading_pace": READING_PACE,
        "hurried_pace": HURRIED_PACE,
        "limit": LIMIT,
        "limit_when_hurried": LIMIT_WHEN_HURRIED,
        "false_flags": FALSE_FLAGS_PER_1000,
        "false_flags_when_hurried": FALSE_FLAGS_PER_1000_WHEN_HURRIED,
    }


@dataclass(frozen=True, eq=False)
class AllAnswers:
    """All answers to a dataset's items, including those that reports do not count.

    Attributes
    ----------
    raters : tuple of str
        Pseudonyms, sorted.
    is_counted : tuple of bool
        False for annotators whom a researcher excluded.
    pace : tuple of float or None
        Words read per minute.
    choice : ndarray of int8, shape (items, raters)
        Choices; -1 is missing.
    """

    raters: tuple[str, ...]
    is_counted: tuple[bool, ...]
    pace: tuple[float | None, ...]
    choice: Codes


def _all_answers(data: Dataset) -> AllAnswers:
    """All answers in the study of `data`, without withdrawn ones."""
    study = Study.objects.get(slug=data.study.slug)
    quality = quality_of(study)
    people = sorted(
        Annotator.objects.filter(pk__in=quality).values_list("pseudonym", "pk", "excluded_at")
    )
    column = {pk: index for index, (_, pk, _) in enumerate(people)}
    row = {item.key: index for index, item in enumerate(data.items)}
    choices = np.full((len(data.items), len(people)), MISSING, dtype=np.int8)
    found = (
        Annotation.objects.filter(
            assignment__annotator__study=study, assignment__item__split=Item.Split.MAIN
        )
        .exclude(standing=Annotation.Standing.WITHDRAWN)
        .values_list("assignment__item__key", "assignment__annotator", "choice")
    )
    for item, annotator, choice in found.filter(ranking__isnull=True):
        choices[row[item], column[annotator]] = CODE[choice]
    pairs = SetPairs(study)
    ranked = found.filter(ranking__isnull=False).values_list(
        "assignment__item", "assignment__annotator", "ranking"
    )
    for item_id, annotator, ranking in ranked:
        for pair in pairs.answers(item_id, ranking or {}):
            choices[row[pair.key], column[annotator]] = CODE[pair.choice]
    return AllAnswers(
        raters=tuple(pseudonym for pseudonym, _, _ in people),
        is_counted=tuple(excluded is None for *_, excluded in people),
        pace=tuple(quality[pk].words_per_minute for _, pk, _ in people),
        choice=choices,
    )
