"""Reads how the anchors of runs were answered."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby

from judging.drift.comparison import AnchorComparison
from judging.models import JudgeRun, Judgment

State = Judgment.State
Anchor = Judgment.Anchor


@dataclass(frozen=True)
class _Answer:
    choice: str  # empty if there is no answer
    certainty: int | None


_NONE = _Answer("", None)


def anchors_of(runs: Collection[JudgeRun]) -> dict[int, AnchorComparison]:
    """The anchors of those of the runs that have some, by the run's id; two queries."""
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
    """The start against the last end that has answers."""
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
    """Items with two samples in one order, and how many of these differ; without the anchors.

    One pair for each item, so that pairs are independent of each other.
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
