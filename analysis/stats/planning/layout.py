"""Who answers what in a simulated study, and what its items share."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.checks import relabel
from ..core.results import IntArray
from ..core.shared_variance import Sharing
from ..core.votes import Votes


@dataclass(frozen=True, eq=False)
class Layout:
    """Seats of a study.

    Attributes
    ----------
    seats : ndarray of int, shape (n_items, answers)
        The annotators of each item.
    persona, question : ndarray of int, shape (n_items,)
        Codes from 0.
    """

    seats: IntArray
    persona: IntArray
    question: IntArray

    @property
    def n_items(self) -> int:
        return int(self.seats.shape[0])

    @property
    def answers(self) -> int:
        return int(self.seats.shape[1])

    @property
    def n_annotators(self) -> int:
        return int(self.seats.max()) + 1

    @cached_property
    def sharing(self) -> Sharing:
        """What items share, as in a report."""
        item = np.repeat(np.arange(self.n_items), self.answers)
        votes = Votes.from_long(item, self.seats.ravel(), np.zeros(item.size, dtype=np.int64))
        clusters = {"persona": self.persona, "question": self.question}
        return Sharing.of_items(self.n_items, clusters, votes)


def random_layout(
    persona: IntArray,
    question: IntArray,
    *,
    n_items: int,
    answers: int,
    per_annotator: int,
    rng: np.random.Generator,
) -> Layout:
    """Fill seats at random, items with the fewest answers first.

    Parameters
    ----------
    persona, question : ndarray of int, shape (n,)
        Codes of items that exist or are expected. If `n_items` is smaller, items are drawn from
        them; if it is larger, further items have personas and questions of their own that repeat
        the same pattern, so that everything grows together.
    n_items, answers, per_annotator : int
        Items, answers to each, and items of each annotator.
    rng : numpy.random.Generator

    Returns
    -------
    Layout

    Raises
    ------
    ValueError
        If an annotator would answer an item twice.

    Examples
    --------
    >>> each = np.arange(30)
    >>> found = random_layout(each, each, n_items=30, answers=3, per_annotator=10,
    ...                       rng=np.random.default_rng(1))
    >>> found.n_annotators, bool((np.sort(found.seats, axis=1)[:, 1:] > 0).all())
    (9, True)
    """
    if min(n_items, answers, per_annotator) < 1 or persona.size == 0:
        raise ValueError("There must be at least one item, one answer and one item of a person.")
    if per_annotator > n_items:
        raise ValueError(f"An annotator cannot answer {per_annotator} of {n_items} items.")
    if answers * n_items < per_annotator:
        raise ValueError("There are fewer seats than items of one annotator.")
    seats = np.empty((n_items, answers), dtype=np.int64)
    last = np.empty(0, dtype=np.int64)  # items of the annotator who is not full yet
    for turn in range(answers):
        order = rng.permutation(n_items)
        if last.size:
            # Items that this annotator has already come last in the next round.
            known = np.isin(order, last)
            order = np.concatenate([order[~known], order[known]])
        at = turn * n_items + np.arange(n_items)
        seats[order, turn] = at // per_annotator
        open_items = (turn + 1) * n_items % per_annotator
        last = order[n_items - open_items :] if open_items else order[:0]
    copy, place = np.divmod(np.arange(n_items), persona.size)
    if n_items < persona.size:
        place = rng.permutation(persona.size)[:n_items]
    return Layout(seats, _copied(persona, place, copy), _copied(question, place, copy))


def _copied(codes: IntArray, place: IntArray, copy: IntArray) -> IntArray:
    wide = int(codes.max()) + 1
    if wide == 1:  # A study about one persona or one question stays so.
        return np.zeros(place.size, dtype=np.int64)
    return relabel(codes[place] + copy * wide)[0]
