"""Simulate who answers what, and answers with a known probability of being right."""

from functools import cache

import numpy as np

from analysis.stats import Votes
from analysis.stats.core.results import BoolArray, FloatArray, IntArray

EASE = 0.5  # the intercept of the logit of being right


def block_design(
    n_items: int = 300, n_annotators: int = 30, k: int = 3
) -> tuple[IntArray, IntArray]:
    """Item and annotator of each answer: groups of k annotators share the same items."""
    per_block = n_items * k // n_annotators
    item = np.repeat(np.arange(n_items), k)
    return item, item // per_block * k + np.tile(np.arange(k), n_items)


def spread_design(
    n_items: int = 300, n_annotators: int = 30, k: int = 3
) -> tuple[IntArray, IntArray]:
    """Like `block_design`, but every annotator shares items with many others: one block."""
    per_column = n_annotators // k
    orders = [np.random.default_rng(column).permutation(n_items) for column in range(k)]
    annotator = [
        column * per_column + order // (n_items // per_column)
        for column, order in enumerate(orders)
    ]
    return np.repeat(np.arange(n_items), k), np.stack(annotator, axis=1).ravel()


def unequal_seats(rng: np.random.Generator, n: int, n_people: int, *, load: float) -> IntArray:
    """The order in which people get a seat at each item, shape (n, n_people).

    Among the remaining people, each one's chance falls with the rank to the power of `load`.
    """
    waiting = -np.log1p(-rng.random((n, n_people))) * np.arange(1, n_people + 1) ** load
    return np.argsort(waiting, axis=1)


def logistic(x: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-x)), dtype=np.float64)


def chances(
    rng: np.random.Generator,
    item: IntArray,
    annotator: IntArray,
    *,
    sd_item: float,
    sd_annotator: float,
) -> FloatArray:
    """The chance that each answer is right, from logits of items and annotators."""
    items = rng.normal(0, sd_item, item.max() + 1)
    annotators = rng.normal(0, sd_annotator, annotator.max() + 1)
    return logistic(EASE + items[item] + annotators[annotator])


@cache
def true_accuracy(*, sd_item: float, sd_annotator: float) -> tuple[float, float]:
    """Accuracy of one annotator and of a majority of three, over all items and people."""
    n = 400_000
    rng = np.random.default_rng(0)
    item, annotator = np.repeat(np.arange(n), 3), np.arange(3 * n)
    p = chances(rng, item, annotator, sd_item=sd_item, sd_annotator=sd_annotator)
    a, b, c = p.reshape(n, 3).T
    return float(p.mean()), float((a * b + a * c + b * c - 2 * a * b * c).mean())


def answered(
    rng: np.random.Generator,
    design: tuple[IntArray, IntArray],
    *,
    sd_item: float = 1.0,
    sd_annotator: float = 0.6,
) -> tuple[BoolArray, BoolArray]:
    """Which answers and which majorities of three are right, in one study."""
    item, annotator = design
    p = chances(rng, item, annotator, sd_item=sd_item, sd_annotator=sd_annotator)
    right = rng.random(item.size) < p
    return right, right.reshape(-1, 3).sum(axis=1) >= 2


def runs_of(rng: np.random.Generator, p: FloatArray, n_runs: int) -> Votes:
    """Runs of one judge that choose option 1 with probability `p` on each item."""
    return Votes.from_matrix((rng.random((len(p), n_runs)) < p[:, None]).astype(np.int64))
