"""Whether a model changed during a run: anchors asked twice, and the versions a server names.

Anchors are separate judgments that count nowhere else.

Both have the words, order and seed of the run's own question, so a model gets the same request
twice. Samples of the same question, if a run has them, show how often an unchanged model
contradicts itself: a pair of samples corresponds to the start and end of an anchor.
"""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import nsmallest
from itertools import groupby
from math import comb

from django.db.models import F, Max, Min, QuerySet

from judging.models import JudgeRun, Judgment

State = Judgment.State
Anchor = Judgment.Anchor


def waiting(run: JudgeRun) -> QuerySet[Judgment]:
    """The anchors that are not answered yet."""
    return _anchors(run).filter(state__in=Judgment.OPEN)


def create_anchors(run: JudgeRun, *, asks_more: bool) -> int:
    """Create the anchors that a run lacks, and return how many.

    A new run gets a start and an end. An ended run that asks more (`asks_more`) gets another end
    for the same items.
    """
    if not run.anchors:
        return 0
    starts = list(_anchors(run).filter(anchor=Anchor.START).order_by("pk"))
    new = []
    if not starts:
        chosen = _choose(run)
        new += [_anchor(run, judgment, Anchor.START, 1) for judgment in chosen]
        new += [_anchor(run, judgment, Anchor.END, 1) for judgment in chosen]
    elif asks_more and not _ends(run).filter(state__in=Judgment.OPEN).exists():
        last = _ends(run).aggregate(last=Max("sample"))["last"] or 0
        new += [_anchor(run, start, Anchor.END, last + 1) for start in starts]
    Judgment.everything.bulk_create(new)
    return len(new)


def count_new(run: JudgeRun, *, items: int, questions: int) -> int:
    """The number of anchors that starting a run, stored or not, would ask.

    It has `items`, and would ask this many `questions` of its own.
    """
    if not run.anchors:
        return 0
    known = 0 if run.pk is None else _anchors(run).filter(anchor=Anchor.START).count()
    if not known:
        return 2 * min(run.anchors, items)
    there = waiting(run).count()
    ends_again = questions and not _ends(run).filter(state__in=Judgment.OPEN).exists()
    return there + (known if ends_again else 0)


def retry_failed_anchors(run: JudgeRun) -> int:
    """Ask failed anchors again; return how many.

    A start is repeated only while no other question of the run has an answer; later it would not be
    a start.
    """
    failed = _anchors(run).filter(state=State.ERROR)
    if Judgment.objects.filter(run=run, answered_at__isnull=False).exists():
        failed = failed.filter(anchor=Anchor.END)
    return failed.update(state=State.PENDING, error="")


def _anchors(run: JudgeRun) -> QuerySet[Judgment]:
    return Judgment.everything.filter(run=run.pk).exclude(anchor="")


def _ends(run: JudgeRun) -> QuerySet[Judgment]:
    return _anchors(run).filter(anchor=Anchor.END)


def _choose(run: JudgeRun) -> list[Judgment]:
    """One question about each of some items, drawn by a hash of the run's seed."""
    asked = (
        Judgment.objects.filter(run=run.pk, sample=1)
        .exclude(state=State.SKIPPED)
        .annotate(item_key=F("item__key"))
        .order_by("pk")
        .values_list("item_key", "shown_first", "pk")
    )
    drawn = nsmallest(2 * run.anchors, asked.iterator(), key=lambda row: _hash(run, *row[:2]))
    by_item: dict[str, int] = {}
    for key, _, pk in drawn:
        by_item.setdefault(key, pk)
    chosen = list(by_item.values())[: run.anchors]
    return list(Judgment.objects.filter(pk__in=chosen).order_by("pk"))


def _hash(run: JudgeRun, key: str, shown_first: str) -> tuple[bytes, bytes]:
    """By item, then by order."""
    item = hashlib.sha256(f"anchor|{run.seed}|{key}".encode()).digest()
    return item, hashlib.sha256(item + shown_first.encode()).digest()


def _anchor(run: JudgeRun, like: Judgment, anchor: str, sample: int) -> Judgment:
    return Judgment(
        run=run,
        item_id=like.item_id,
        shown_first=like.shown_first,
        sample=sample,
        anchor=anchor,
    )


LEVEL = 0.95


@dataclass(frozen=True)
class Share:
    """`count` of `n`; shares and intervals are undefined for n = 0."""

    count: int
    n: int

    @property
    def value(self) -> float | None:
        return self.count / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The exact interval of Clopper and Pearson at 95 %."""
        if not self.n:
            return None
        from scipy.special import betaincinv

        tail, misses = (1 - LEVEL) / 2, self.n - self.count
        low = float(betaincinv(self.count, misses + 1, tail)) if self.count else 0.0
        high = float(betaincinv(self.count + 1, misses, 1 - tail)) if misses else 1.0
        return low, high

    @property
    def words(self) -> str:
        if self.interval is None or self.value is None:
            return f"{self.count:,} of {self.n:,}"
        low, high = self.interval
        share = f"{100 * self.value:.1f} %, 95 % interval {100 * low:.1f} to {100 * high:.1f} %"
        return f"{self.count:,} of {self.n:,} ({share})"


@dataclass(frozen=True)
class AnchorComparison:
    """The anchors of one run.

    `anchors` were chosen, `compared` have an answer at the start and at the last end, and `changed`
    of these have another choice. `pairs` are other items with two samples in the same order, of
    which `differ` have two choices. `certainty_shift` is the mean absolute change of the certainty
    of anchors that have it twice.
    """

    anchors: int
    asked_at_start: int
    asked_at_end: int
    compared: int
    changed: int
    pairs: int
    differ: int
    certainty_shift: float | None
    is_random: bool  # whether the judge draws its words at random

    @property
    def change(self) -> Share:
        return Share(self.changed, self.compared)

    @property
    def sampling(self) -> Share:
        return Share(self.differ, self.pairs)

    @property
    def expected(self) -> float | None:
        """The expected number of anchors that sampling alone would change."""
        share = self.sampling.value
        return None if share is None else share * self.compared

    @property
    def p_value(self) -> float | None:
        """P value of Fisher's exact test that anchors change more often than samples differ."""
        if not (self.compared and self.pairs):
            return None
        return chance_of_as_many(self.change, self.sampling)

    @property
    def sentences(self) -> list[str]:
        """The result, for readers."""
        if not self.compared:
            return [
                f"Anchors: {self.asked_at_start:,} of {self.anchors:,} have an answer from the "
                f"start and {self.asked_at_end:,} from the end, so none can be compared yet."
            ]
        found = [f"Anchors: {self.change.words} changed between the start and the end of the run."]
        missing = self.anchors - self.compared
        if missing:
            found.append(f"{missing:,} could not be compared.")
        if self.expected is not None and self.p_value is not None:
            found.append(
                f"Two samples of the same question differ on {self.sampling.words} other items, "
                f"so sampling alone would change {self.expected:.1f} anchors (exact test for "
                f"more changes: p = {self.p_value:.3f})."
            )
        elif self.is_random:
            found.append(
                "The run has no second samples of other items, so it is unknown how many changes "
                "sampling alone explains."
            )
        return found

    @property
    def is_suspicious(self) -> bool:
        """Whether to warn readers of changes that chance may not explain."""
        return bool(self.changed) and (self.p_value is None or self.p_value < 1 - LEVEL)


def chance_of_as_many(change: Share, sampling: Share) -> float:
    """The chance of at least this many changes, if anchors change as often as samples differ.

    The hypergeometric distribution of the changes, given the changes of both together.
    """
    total, changes = change.n + sampling.n, change.count + sampling.count
    most = min(changes, change.n)
    ways = sum(
        comb(changes, count) * comb(total - changes, change.n - count)
        for count in range(change.count, most + 1)
    )
    return ways / comb(total, change.n)


@dataclass(frozen=True)
class _Answer:
    choice: str  # empty if there is no answer
    certainty: int | None


_NONE = _Answer("", None)


def anchors_of(runs: Collection[JudgeRun]) -> dict[int, AnchorComparison]:
    """The anchors of runs that have some, by run id; two queries."""
    with_anchors = [run for run in runs if run.anchors]
    if not with_anchors:
        return {}
    answers: dict[int, dict[int, dict[tuple[str, int], _Answer]]] = {}
    rows = Judgment.everything.filter(
        run__in=with_anchors, anchor__in=(Anchor.START, Anchor.END)
    ).values_list("run", "item", "anchor", "sample", "choice", "certainty")
    for run, item, anchor, sample, choice, certainty in rows:
        found = answers.setdefault(run, {}).setdefault(item, {})
        found[anchor, sample] = _Answer(choice, certainty)
    pairs = _pairs(with_anchors, {run: set(items) for run, items in answers.items()})
    return {
        run.pk: _compared(run, answers.get(run.pk, {}), pairs.get(run.pk, (0, 0)))
        for run in with_anchors
    }


def _compared(
    run: JudgeRun, items: dict[int, dict[tuple[str, int], _Answer]], pairs: tuple[int, int]
) -> AnchorComparison:
    """Compare the start with the last end that has answers."""
    ends = {sample for found in items.values() for anchor, sample in found if anchor == Anchor.END}
    answered = [
        sample
        for sample in sorted(ends)
        if any(found.get((Anchor.END, sample), _NONE).choice for found in items.values())
    ]
    last = answered[-1] if answered else 1
    both = [
        (found.get((Anchor.START, 1), _NONE), found.get((Anchor.END, last), _NONE))
        for found in items.values()
    ]
    compared = [(start, end) for start, end in both if start.choice and end.choice]
    shifts = [
        abs(end.certainty - start.certainty)
        for start, end in compared
        if start.certainty is not None and end.certainty is not None
    ]
    return AnchorComparison(
        anchors=len(items),
        asked_at_start=sum(bool(start.choice) for start, _ in both),
        asked_at_end=sum(bool(end.choice) for _, end in both),
        compared=len(compared),
        changed=sum(start.choice != end.choice for start, end in compared),
        pairs=pairs[0],
        differ=pairs[1],
        certainty_shift=sum(shifts) / len(shifts) if shifts else None,
        is_random=run.judge.temperature > 0,
    )


def _pairs(runs: list[JudgeRun], anchors: dict[int, set[int]]) -> dict[int, tuple[int, int]]:
    """Items with two samples in the same order, and how many differ, without anchors.

    One pair per item, so that pairs are independent.
    """
    sampled = [run.pk for run in runs if run.samples > 1]
    if not sampled:
        return {}
    rows = (
        Judgment.objects.filter(run__in=sampled, sample__lte=2, state=State.DONE)
        .order_by("run", "item", "shown_first", "sample")
        .values_list("run", "item", "shown_first", "choice")
    )
    found: dict[int, tuple[int, int]] = {}
    for run, differs in _first_pairs(rows.iterator(), anchors):
        pairs, differ = found.get(run, (0, 0))
        found[run] = pairs + 1, differ + differs
    return found


def _first_pairs(
    rows: Iterator[tuple[int, int, str, str]], anchors: dict[int, set[int]]
) -> Iterator[tuple[int, bool]]:
    for (run, item), of_item in groupby(rows, key=lambda row: row[:2]):
        if item in anchors.get(run, set()):
            continue
        for _, of_order in groupby(of_item, key=lambda row: row[2]):
            choices = [choice for *_, choice in of_order]
            if len(choices) == 2:
                yield run, choices[0] != choices[1]
                break


# Answers are stored slightly later than their time stamp.
_OVERLAP = timedelta(seconds=30)


class VersionWatch:
    """Watches a run and reports each new model or fingerprint once.

    It reads only answers since the last check, so frequent checks are cheap.
    """

    def __init__(self, run_id: int) -> None:
        self._run_id = run_id
        self._known: list[tuple[str, str]] = []
        self._since: datetime | None = None

    def look(self) -> list[str]:
        """A sentence for each new version; none for the first."""
        answers = Judgment.everything.filter(
            run=self._run_id, answered_at__isnull=False, reused_from=None
        ).exclude(model_snapshot="", fingerprint="")
        newest = answers.order_by("-answered_at").values_list("answered_at", flat=True).first()
        if newest is None:
            return []
        if self._since is not None:
            answers = answers.filter(answered_at__gte=self._since)
        self._since = newest - _OVERLAP
        found = (
            answers.order_by()
            .values_list("model_snapshot", "fingerprint")
            .annotate(first=Min("answered_at"))
            .order_by("first", "model_snapshot", "fingerprint")
        )
        sentences = []
        for model, fingerprint, first in found:
            version = model, fingerprint
            if version in self._known:
                continue
            if self._known:
                sentences.append(
                    f"The model changed during this run. Since {first:%H:%M:%S} UTC the server "
                    f"names {_named(*version)}; before, it named {_named(*self._known[-1])}."
                )
            self._known.append(version)
        return sentences


def _named(model: str, fingerprint: str) -> str:
    name = f"“{model}”" if model else "no model"
    return f"{name} with the fingerprint “{fingerprint}”" if fingerprint else name
