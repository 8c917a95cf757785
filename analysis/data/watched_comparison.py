"""The judge less each annotator who has finished, in the order in which they did."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from analysis.data.annotators.answers import COUNTED
from analysis.data.annotators.set_answers import SetPairs
from annotation.models import Annotation, Annotator
from judging.models import JudgeRun, Judgment
from studies.models import Choice, Item, Study

_WORKING = (
    Annotator.State.ARRIVED,
    Annotator.State.CONSENTED,
    Annotator.State.SCREENED,
    Annotator.State.INSTRUCTED,
    Annotator.State.QUALIFIED,
    Annotator.State.ANNOTATING,
)


@dataclass(frozen=True)
class Watched:
    """One observation for each annotator who has completed: mean of judge right less them right.

    `items` and `answers` are behind them, `working` are annotators who have not finished yet.
    """

    observations: list[float]
    items: int
    answers: int
    working: int


def has_answers(study: Study) -> bool:
    return Annotation.objects.filter(assignment__annotator__study=study).exists()


def watched_answers(study: Study, run: JudgeRun) -> Watched:
    """Read what a comparison rests on now. Annotators excluded from the analysis do not count."""
    right = _judge_right(study, run)
    rows = (
        Annotation.objects.filter(
            assignment__annotator__study=study,
            assignment__annotator__state=Annotator.State.COMPLETED,
            assignment__annotator__excluded_at=None,
            assignment__item__split=Item.Split.MAIN,
            standing__in=COUNTED,
        )
        .order_by("assignment__annotator__ended_at", "assignment__annotator", "assignment__item")
        .values_list(
            "assignment__annotator",
            "assignment__item",
            "assignment__item__first_person",
            "choice",
            "ranking",
        )
    )
    gaps: dict[int, list[int]] = defaultdict(list)
    items = set()
    for annotator, item, truth, choice in _each_pair(rows.iterator(), SetPairs(study)):
        if item in right and _scores(study, truth):
            gaps[annotator].append(right[item] - (choice == truth))
            items.add(item)
    return Watched(
        [sum(own) / len(own) for own in gaps.values()],
        len(items),
        sum(map(len, gaps.values())),
        Annotator.objects.filter(study=study, state__in=_WORKING).count(),
    )


def _each_pair(
    rows: Iterable[tuple[Any, ...]], pairs: SetPairs
) -> Iterator[tuple[int, int, str, str]]:
    """Annotator, item, truth and choice; an order of a whole set is one answer for each pair."""
    for annotator, item, truth, choice, ranking in rows:
        if ranking is None:
            yield annotator, item, truth, choice
        else:
            for each in pairs.answers(item, ranking):
                yield annotator, each.item, each.truth, each.choice


def _judge_right(study: Study, run: JudgeRun) -> dict[int, int]:
    """Whether the run is right at each item that it decides and that has a truth."""
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    truths = {}
    rows = Judgment.objects.filter(run=run, state=Judgment.State.DONE).exclude(choice="")
    for item, truth, choice in rows.values_list("item", "item__first_person", "choice"):
        if _scores(study, truth):
            votes[item][choice] += 1
            truths[item] = truth
    found = {}
    for item, counts in votes.items():
        (first, most), *rest = counts.most_common(2)
        if not rest or rest[0][1] < most:
            found[item] = int(first == truths[item])
    return found


def _scores(study: Study, truth: str) -> bool:
    return bool(truth) and (study.allow_tie or truth != Choice.TIE)
