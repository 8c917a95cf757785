"""Reference cases, and designs of studies that several tests share."""

import json
from dataclasses import replace
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


def shuffled(votes: Votes, rng: np.random.Generator) -> tuple[Votes, np.ndarray]:
    """The same votes with other codes for items and annotators, in another order of rows.

    Also returns the new code of each item.
    """
    items, annotators = rng.permutation(votes.n_items), rng.permutation(votes.n_annotators)
    rows = rng.permutation(votes.n)
    moved = replace(
        votes,
        item=items[votes.item][rows],
        annotator=annotators[votes.annotator][rows],
        choice=votes.choice[rows],
        certainty=votes.certainty[rows],
    )
    return moved, items


def swapped(votes: Votes) -> Votes:
    """The same votes with r1 and r2 exchanged; a tie stays a tie."""
    return replace(votes, choice=np.where(votes.choice < 2, 1 - votes.choice, votes.choice))
