"""How precise the accuracy from a number of items is, before there are answers.

Pages compute this, so it needs no numpy.
"""

import math
import operator
from collections import Counter
from collections.abc import Iterable
from functools import cache
from statistics import NormalDist

# A typical accuracy in this field, where intervals are nearly at their widest.
EXPECTED = 0.6
# Assumed standard deviations on the logit scale: the difficulty shared by items of one persona, or
# of one question, and that of a single item.
SD_SHARED, SD_ITEM = 0.25, 1.0


def times_as_many(n: int, *kinds: Counter[int]) -> float:
    """The design effect: how many times more items it takes because they share personas or
    questions.

    `kinds` count the items of each persona and of each question. Correctness on two items that
    share one is correlated as in `alike`.
    """
    pairs = sum(size * (size - 1) for kind in kinds for size in kind.values())
    return 1 + alike() * pairs / n


@cache
def alike() -> float:
    """Correlation of correctness on two items that share a persona or a question."""
    steps = [n / 4 for n in range(-24, 25)]
    weights = [math.exp(-(step**2) / 2) for step in steps]
    total, rest = sum(weights), math.hypot(SD_ITEM, SD_SHARED)

    def mean(values: Iterable[float]) -> float:
        return sum(map(operator.mul, weights, values)) / total

    def given_shared(ease: float) -> list[float]:
        return [
            mean(1 / (1 + math.exp(-ease - SD_SHARED * shared - rest * own)) for own in steps)
            for shared in steps
        ]

    low, high = 0.0, 5.0
    for _ in range(50):
        ease = (low + high) / 2
        low, high = (ease, high) if mean(given_shared(ease)) < EXPECTED else (low, ease)
    both = mean(share**2 for share in given_shared(low))
    return (both - EXPECTED**2) / (EXPECTED * (1 - EXPECTED))


def half_width(n: float) -> float:
    """Half the width of Wilson's 95 % interval of the expected accuracy from `n` answers."""
    z = NormalDist().inv_cdf(0.975)
    return z / (1 + z**2 / n) * math.sqrt(EXPECTED * (1 - EXPECTED) / n + (z / (2 * n)) ** 2)


def items_for(margin: float) -> int:
    """The fewest items whose interval is no wider than the margin on either side."""
    few, many = 1, 2
    while half_width(many) > margin:
        few, many = many, 2 * many
    while many - few > 1:
        middle = math.floor((few + many) / 2)
        few, many = (middle, many) if half_width(middle) > margin else (few, middle)
    return many
