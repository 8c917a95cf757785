"""Expected values under the truth model, in closed form."""

from collections.abc import Sequence
from itertools import product
from statistics import NormalDist

from demo.truth import ANSWERS_PER_ITEM, CERTAINTY_SHIFTS, STRATA, TIE_RATE, Stratum, binomial_three


def certainty_probabilities(stratum: Stratum) -> list[float]:
    """P(certainty = 0..100) of any annotator's answer; the entry for 0 is 0."""
    total = [0.0] * 101
    for shift in CERTAINTY_SHIFTS:
        normal = NormalDist(stratum.certainty_mean + shift, stratum.own_sd)
        upper = [0.0, *(normal.cdf(value + 0.5) for value in range(1, 100)), 1.0]
        for value in range(1, 101):
            total[value] += (upper[value] - upper[value - 1]) / len(CERTAINTY_SHIFTS)
    return total


def sum_probabilities(pmf: Sequence[float], count: int) -> list[float]:
    """The distribution of the sum of `count` independent draws from `pmf`."""
    total = [1.0]
    for _ in range(count):
        longer = [0.0] * (len(total) + len(pmf) - 1)
        for (i, p), (j, q) in product(enumerate(total), enumerate(pmf)):
            longer[i + j] += p * q
        total = longer
    return total


def expected(sizes: dict[str, int], threshold: int = 80) -> dict[str, dict[str, float]]:
    """Expected accuracies with three answers per item; `sizes` = items per stratum.

    Certainty does not depend on being right within a stratum, and the majority's certainty is the
    mean over the annotators who chose the winner: two or three of three.
    """
    single = {"n": 0.0, "correct": 0.0, "high_n": 0.0, "high_correct": 0.0}
    majority = dict(single)
    agreement = 0.0
    for name, size in sizes.items():
        s = STRATA[name]
        pmf = certainty_probabilities(s)
        p_high = sum(pmf[threshold:])
        answers = ANSWERS_PER_ITEM * size
        single["n"] += answers
        single["correct"] += answers * s.accuracy
        single["high_n"] += answers * p_high
        single["high_correct"] += answers * p_high * s.accuracy
        agreement += size * s.agreement
        _, one, two, three = binomial_three(s.c)
        for winners, with_guess, against in ((2, two, one), (3, three, (1 - s.c) ** 3)):
            p_high = sum(sum_probabilities(pmf, winners)[threshold * winners :])
            n = size * (with_guess + against)
            correct = size * (with_guess * s.r + against * (1 - s.r))
            majority["n"] += n
            majority["correct"] += correct
            majority["high_n"] += n * p_high
            majority["high_correct"] += correct * p_high
    return {
        "individual": _rates(single),
        "majority": _rates(majority),
        "agreement": {"percent": agreement / sum(sizes.values())},
    }


def _rates(sums: dict[str, float]) -> dict[str, float]:
    low_n = sums["n"] - sums["high_n"]
    return {
        "accuracy": sums["correct"] / sums["n"],
        "high_n": sums["high_n"],
        "high_accuracy": sums["high_correct"] / sums["high_n"],
        "low_n": low_n,
        "low_accuracy": (sums["correct"] - sums["high_correct"]) / low_n,
    }


def expected_ties() -> dict[str, float]:
    """Expected values of the study of true ties; three different answers have no majority."""
    t, side = TIE_RATE, (1 - TIE_RATE) / 2
    all_different = 6 * t * side * side
    return {
        "accuracy": t,
        "agreement": t**2 + 2 * side**2,
        "majority_shared": all_different,
        "majority_accuracy": (3 * t**2 - 2 * t**3) / (1 - all_different),
    }
