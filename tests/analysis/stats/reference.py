"""Reference cases, and designs of studies that several tests share."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from analysis.stats import Votes


@cache
def _vectors() -> dict[str, Any]:
    path = Path(__file__).parent.parent / "vectors.json"
    return json.loads(path.read_text())["vectors"]


def vector(name: str) -> dict[str, Any]:
    """One case of tests/analysis/vectors.json."""
    return _vectors()[name]


def count_rows(annotators_by_items: list[list[int | None]]) -> tuple[np.ndarray, np.ndarray]:
    """Count rows of a table of annotators by items, and the values of their columns."""
    table = np.array(annotators_by_items, dtype=float).T
    values = np.unique(table[~np.isnan(table)])
    return (table[:, :, None] == values).sum(axis=1), values


def random_votes(
    rng: np.random.Generator,
    *,
    n_items: int = 20,
    n_annotators: int = 6,
    n_options: int = 2,
    answered: float = 0.6,
) -> Votes:
    """Ragged votes with some certainties missing."""
    labels = rng.integers(0, n_options, (n_items, n_annotators))
    labels[rng.random(labels.shape) > answered] = -1
    certainty = rng.integers(1, 101, labels.shape).astype(float)
    certainty[rng.random(labels.shape) > 0.8] = np.nan
    return Votes.from_matrix(labels, certainty, n_options=n_options)


def block_design(
    n_items: int = 300, n_annotators: int = 30, k: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Item and annotator of each answer: groups of k annotators share the same items."""
    per_block = n_items * k // n_annotators
    item = np.repeat(np.arange(n_items), k)
    return item, item // per_block * k + np.tile(np.arange(k), n_items)


def spread_design(
    n_items: int = 300, n_annotators: int = 30, k: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Like `block_design`, but every annotator shares items with many others: one block."""
    per_column = n_annotators // k
    orders = [np.random.default_rng(column).permutation(n_items) for column in range(k)]
    annotator = [
        column * per_column + order // (n_items // per_column)
        for column, order in enumerate(orders)
    ]
    return np.repeat(np.arange(n_items), k), np.stack(annotator, axis=1).ravel()


def crowd(
    rng: np.random.Generator, n: int, k: int, a: float = 4, b: float = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Answers of k people to n items, where 0 is always right, and the items' ease."""
    ease = rng.beta(a, b, n)
    return (rng.random((n, k)) > ease[:, None]).astype(np.int64), ease


def majority_of(rng: np.random.Generator, ease: np.ndarray, k: int) -> np.ndarray:
    """A judge that answers like the majority of k such people."""
    wrong = (rng.random((ease.size, k)) > ease[:, None]).sum(axis=1)
    return (wrong > k / 2).astype(np.int64)


def people_and_model(
    rng: np.random.Generator,
    n: int,
    *,
    c: float,
    r: float,
    when_right: float,
    when_wrong: float,
    k: int = 3,
) -> tuple[Votes, np.ndarray, np.ndarray]:
    """Votes, model and truth when k people follow a shared guess with probability c.

    The guess is right with probability r; the model follows it with `when_right` or `when_wrong`.
    Option 0 is always right.
    """
    guess = (rng.random(n) >= r).astype(np.int64)
    people = np.where(rng.random((n, k)) < c, guess[:, None], 1 - guess[:, None])
    follows = rng.random(n) < np.where(guess == 0, when_right, when_wrong)
    return (
        Votes.from_matrix(people),
        np.where(follows, guess, 1 - guess),
        np.zeros(n, dtype=np.int64),
    )
