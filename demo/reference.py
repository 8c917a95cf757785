"""Scores in plain Python: slow, literal, and without any code of the analysis.

The demo's truth and the end-to-end tests compare the product's report with it, so it follows the
definitions literally and uses exact fractions where a comparison decides.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import ceil
from typing import Any, Literal

import krippendorff

UPPER_BAND_ENDS = {
    20: "uncertain",
    40: "moderately_confident",
    60: "quite_confident",
    80: "confident",
    100: "highly_confident",
}


@dataclass(frozen=True)
class ReferenceAnswer:
    """One answer: an item, its annotator, r1 / r2 / tie, certainty or None."""

    item: str
    rater: str
    choice: str
    certainty: int | None


@dataclass(frozen=True)
class ReferenceVerdict:
    """The result of several answers to one item; `choice` is None on a tie."""

    choice: str | None
    certainty: Fraction | None


def verdicts(rows: Iterable[ReferenceAnswer]) -> dict[str, ReferenceVerdict]:
    """The majority of each item and the mean certainty of those who chose the winner."""
    of_item: dict[str, list[ReferenceAnswer]] = defaultdict(list)
    for row in rows:
        of_item[row.item].append(row)
    return {item: _verdict(answers) for item, answers in of_item.items()}


def _verdict(answers: list[ReferenceAnswer]) -> ReferenceVerdict:
    votes = Counter(row.choice for row in answers)
    most = max(votes.values())
    winners = [choice for choice, count in votes.items() if count == most]
    if len(winners) > 1:
        return ReferenceVerdict(None, None)
    stated = [
        row.certainty for row in answers if row.choice == winners[0] and row.certainty is not None
    ]
    return ReferenceVerdict(winners[0], Fraction(sum(stated), len(stated)) if stated else None)


def score(
    pairs: Iterable[tuple[str, ReferenceVerdict]], truth: Mapping[str, str], *, threshold: int = 80
) -> dict[str, Any]:
    """Counts and accuracies of (item, verdict) pairs, whole and by certainty.

    Truth "tie" counts as a label here; leave such items out of `truth` where no tie was offered.
    """
    cells = {name: [0, 0] for name in ("all", "high", "low", "none")}
    ties = no_truth = 0
    for item, verdict in pairs:
        if verdict.choice is None:
            ties += 1
            continue
        if item not in truth:
            no_truth += 1
            continue
        if verdict.certainty is None:
            band = "none"
        else:
            band = "high" if verdict.certainty >= threshold else "low"
        for name in ("all", band):
            cells[name][0] += verdict.choice == truth[item]
            cells[name][1] += 1
    result: dict[str, Any] = _cell(cells["all"])
    result |= {"ties": ties, "no_truth": no_truth, "no_certainty": cells["none"][1]}
    result |= {"high": _cell(cells["high"]), "low": _cell(cells["low"])}
    return result


def individual(
    rows: Iterable[ReferenceAnswer], truth: Mapping[str, str], *, threshold: int = 80
) -> dict[str, Any]:
    """Scores of single answers, without a majority."""
    pairs = [
        (
            row.item,
            ReferenceVerdict(
                row.choice, None if row.certainty is None else Fraction(row.certainty)
            ),
        )
        for row in rows
    ]
    return score(pairs, truth, threshold=threshold)


def by_band(rows: Iterable[ReferenceAnswer], truth: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Counts and accuracies of single answers by named band of certainty."""
    cells = {name: [0, 0] for name in UPPER_BAND_ENDS.values()}
    for row in rows:
        if row.certainty is not None and row.item in truth:
            end = min(end for end in UPPER_BAND_ENDS if row.certainty <= end)
            cells[UPPER_BAND_ENDS[end]][0] += row.choice == truth[row.item]
            cells[UPPER_BAND_ENDS[end]][1] += 1
    return {name: _cell(cell) for name, cell in cells.items()}


def percent_agreement(rows: Iterable[ReferenceAnswer]) -> float | None:
    """Mean over items of the share of ordered pairs of raters with the same choice."""
    shares = []
    for choices in _choices(rows).values():
        pairs = list(permutations(choices, 2))
        if pairs:
            shares.append(Fraction(sum(a == b for a, b in pairs), len(pairs)))
    return float(sum(shares) / len(shares)) if shares else None


def krippendorff_alpha(rows: Iterable[ReferenceAnswer]) -> float | None:
    """Nominal alpha of the choices."""
    return alpha(_choices(rows).values())


def alpha(
    units: Iterable[Sequence[Any]], level: Literal["nominal", "interval"] = "nominal"
) -> float | None:
    """Krippendorff's alpha by the package krippendorff; None where all values are the same.

    Each unit holds the values of one item; those with a single value do not count.
    """
    paired = [unit for unit in units if len(unit) > 1]
    values = sorted({value for unit in paired for value in unit})
    if len(values) < 2:
        return None
    counts = [[unit.count(value) for value in values] for unit in paired]
    domain = list(range(len(values))) if level == "nominal" else values
    coefficient = krippendorff.alpha(
        value_counts=counts, value_domain=domain, level_of_measurement=level
    )
    return float(coefficient)


def compare(
    people: Mapping[str, ReferenceVerdict],
    judge: Mapping[str, ReferenceVerdict],
    truth: Mapping[str, str],
) -> dict[str, Any]:
    """Compare the annotators' majority with a judge on the items that both decided."""
    both = [item for item in people if item in judge and people[item].choice and judge[item].choice]
    pairs = [(people[item].choice, judge[item].choice) for item in both]
    agreement = Fraction(sum(a == b for a, b in pairs), len(pairs))
    chance = Fraction(sum(a == b for a, _ in pairs for _, b in pairs), len(pairs) ** 2)
    labelled = [item for item in both if item in truth]
    right = [(people[i].choice == truth[i], judge[i].choice == truth[i]) for i in labelled]
    judge_only = sum(j and not h for h, j in right)
    people_only = sum(h and not j for h, j in right)
    return {
        "n": len(both),
        "agreement_with_majority": float(agreement),
        "cohen_kappa": float((agreement - chance) / (1 - chance)) if chance != 1 else None,
        "mcnemar": {"b": judge_only, "c": people_only},
        "difference": (judge_only - people_only) / len(labelled),
    }


def calibration(
    pairs: Iterable[tuple[str, ReferenceVerdict]], truth: Mapping[str, str]
) -> dict[str, float | None]:
    """ECE over ten bins of ten, Brier score, and AUROC of the stated certainty."""
    rows = [
        (verdict.certainty, verdict.choice == truth[item])
        for item, verdict in pairs
        if verdict.choice is not None and verdict.certainty is not None and item in truth
    ]
    if not rows:
        return {"ece": None, "brier": None, "auroc": None}
    bins: dict[int, list[tuple[Fraction, bool]]] = defaultdict(list)
    for certainty, right in rows:
        bins[max(1, ceil(certainty / 10))].append((certainty / 100, right))
    gaps = [
        abs(Fraction(sum(right for _, right in group)) - sum(stated for stated, _ in group))
        for group in bins.values()
    ]
    ece = sum(gaps) / len(rows)
    brier = sum((certainty / 100 - int(right)) ** 2 for certainty, right in rows) / len(rows)
    wins = [
        Fraction(1 if high > low else 0) if high != low else Fraction(1, 2)
        for high, right in rows
        if right
        for low, wrong in rows
        if not wrong
    ]
    return {
        "ece": float(ece),
        "brier": float(brier),
        "auroc": float(sum(wins) / len(wins)) if wins else None,
    }


def _choices(rows: Iterable[ReferenceAnswer]) -> dict[str, list[str]]:
    choices: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        choices[row.item].append(row.choice)
    return choices


def _cell(cell: list[int]) -> dict[str, Any]:
    correct, n = cell
    return {"n": n, "correct": correct, "accuracy": correct / n if n else None}
