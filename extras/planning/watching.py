"""A comparison that is fixed before any answer and may be checked after every annotator.

Each annotator who has finished gives one observation: the judge's accuracy minus the annotator's on
the same items.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from analysis.data.answer_rows import COUNTED, SetPairs
from analysis.data.item_comparisons import runs_to_compare
from analysis.errors import AnalysisError
from annotation.models import Annotation, Annotator
from extras.planning.models import WatchedComparison
from extras.planning.sources import items_for_people, rates_of
from judging.models import JudgeRun, Judgment
from studies.models import Choice, Item, Study
from studies.money import format_money
from studies.services.studies import lock_study, record
from studies.statements.kept_figures import kept

SETTLED = ("better", "worse", "equivalent")
_WORKING = (
    Annotator.State.ARRIVED,
    Annotator.State.CONSENTED,
    Annotator.State.SCREENED,
    Annotator.State.INSTRUCTED,
    Annotator.State.QUALIFIED,
    Annotator.State.ANNOTATING,
)


class NotWatchable(AnalysisError):
    """A comparison cannot be fixed: it already is, or there are answers."""


@dataclass(frozen=True)
class Watched:
    """One observation per completed annotator: the judge's accuracy minus the annotator's.

    They rest on `items` and `answers`; `working` annotators have not finished yet.
    """

    observations: list[float]
    items: int
    answers: int
    working: int


@dataclass(frozen=True)
class WatchNow:
    """The current conclusion, valid however often somebody has looked before.

    `low` and `high` are the ends of the interval, None until the first annotator has finished.
    `saved` is the money that stopping saves, empty if unknown or nothing; `people_left` are
    annotators still needed who have not started.
    """

    comparison: WatchedComparison
    state: str
    value: float | None
    low: float | None
    high: float | None
    annotators: int
    answers: int
    people_left: int
    saved: str

    @property
    def is_settled(self) -> bool:
        return self.state in SETTLED

    @property
    def words(self) -> str:
        """The state as a sentence."""
        margin = f"{self.comparison.margin * 100:g} points"
        name = self.comparison.run.judge.name
        return {
            "better": f"Settled: {name} is right more often than one person.",
            "worse": f"Settled: {name} is right less often than one person.",
            "equivalent": f"Settled: {name} is right as often as one person, within {margin}.",
            "not_worse": (
                f"{name} is not worse than one person by {margin} or more. Whether it is better "
                "or equally good is not settled."
            ),
            "open": "Not settled yet.",
        }[self.state]

    @property
    def interval(self) -> str:
        if self.low is None or self.high is None or self.value is None:
            return "no annotator has finished"
        return f"{_points(self.value)} ({_points(self.low)} to {_points(self.high)})"


def fix_comparison(*, study_id: int, run_id: str, user: User | None = None) -> WatchedComparison:
    """Fix the run and the margin to watch, before any answer.

    Raises `NotWatchable` if there are answers or the run cannot be compared.
    """
    with transaction.atomic():
        # Answers lock the study too, so that none arrives between the check and the new row.
        study = lock_study(study_id)
        if WatchedComparison.objects.filter(study=study).exists():
            raise NotWatchable("The comparison is already fixed and cannot change.")
        if has_answers(study):
            raise NotWatchable(
                "The study already has answers. Fix the watched comparison before the first "
                "answer, so that answers cannot influence the choice of the judge."
            )
        run = next((run for run in runs_to_compare(study) if run.public_id == run_id), None)
        if run is None:
            raise NotWatchable("Choose a judge run of this study.")
        fixed = WatchedComparison.objects.create(
            study=study, run=run, margin=study.equivalence_margin, fixed_by=user
        )
        record(study, "watched comparison fixed", user=user, judge=run.judge.name, run=run_id)
    return fixed


def watched(study: Study) -> WatchNow | None:
    """The current conclusion of a study's fixed comparison; None if none was fixed."""
    fixed = (
        WatchedComparison.objects.filter(study=study).select_related("run__judge", "study").first()
    )
    if fixed is None:
        return None
    answers = kept(
        "watched",
        study.pk,
        count=lambda: watched_answers(study, fixed.run),
        rows=lambda w: w.answers,
    )
    low = high = value = None
    if answers.observations:
        from extras.planning.stats.confidence_sequence import confidence_sequence

        sequence = confidence_sequence(answers.observations)
        low, high = float(sequence.low[-1]), float(sequence.high[-1])
        value = sum(answers.observations) / len(answers.observations)
    left = _people_left(study, answers)
    return WatchNow(
        comparison=fixed,
        state=state_of(low, high, fixed.margin),
        value=value,
        low=low,
        high=high,
        annotators=len(answers.observations),
        answers=answers.answers,
        people_left=left,
        saved=_saved(study, left),
    )


def state_of(low: float | None, high: float | None, margin: float) -> str:
    """The headline that the interval settles."""
    if low is None or high is None:
        return "open"
    if low > 0:
        return "better"
    if high < 0:
        return "worse"
    if -margin < low and high < margin:
        return "equivalent"
    return "not_worse" if low > -margin else "open"


def _people_left(study: Study, watched: Watched) -> int:
    seats = items_for_people(study) * study.annotations_per_item
    wanted = -(-seats // study.items_per_annotator)
    return max(0, wanted - len(watched.observations) - watched.working)


def _saved(study: Study, people: int) -> str:
    if not people or not study.reward:
        return ""
    rates, rewards = rates_of(study), people * study.reward
    if rates.fee is None:
        return f"{format_money(rewards, study.currency)} plus fee and tax"
    return format_money(round(rewards * (1 + rates.fee * (1 + (rates.tax or 0)))), study.currency)


def _points(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value) * 100:.1f}"


def has_answers(study: Study) -> bool:
    return Annotation.objects.filter(assignment__annotator__study=study).exists()


def watched_answers(study: Study, run: JudgeRun) -> Watched:
    """Read the current data of a comparison. Annotators excluded from the analysis do not count."""
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
    """Annotator, item, truth and choice; the ranking of a whole set is one answer per pair."""
    for annotator, item, truth, choice, ranking in rows:
        if ranking is None:
            yield annotator, item, truth, choice
        else:
            for answer in pairs.answers(item, ranking):
                yield annotator, answer.item, answer.truth, answer.choice


def _judge_right(study: Study, run: JudgeRun) -> dict[int, int]:
    """Whether the run is right on each decided item with a known truth."""
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    truths = {}
    rows = Judgment.objects.filter(run=run, state=Judgment.State.DONE).exclude(choice="")
    for item, truth, choice in rows.values_list("item", "item__first_person", "choice"):
        if _scores(study, truth):
            votes[item][choice] += 1
            truths[item] = truth
    right = {}
    for item, counts in votes.items():
        (first, most), *rest = counts.most_common(2)
        if not rest or rest[0][1] < most:
            right[item] = int(first == truths[item])
    return right


def _scores(study: Study, truth: str) -> bool:
    return bool(truth) and (study.allow_tie or truth != Choice.TIE)
