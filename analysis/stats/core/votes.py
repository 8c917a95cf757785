"""Choices of annotators on items: the input of most statistics."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .results import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Votes:
    """Choices of annotators on items, one row per choice.

    Rows may come in any order and items may have any number of them. One annotator may have
    several rows on one item (repeated readings). Build it with `from_long` or `from_matrix`,
    which check the input; missing choices are dropped there and counted.

    Attributes
    ----------
    item, annotator : ndarray of int, shape (n,)
        Codes ``0..n_items-1`` and ``0..n_annotators-1``.
    choice : ndarray of int, shape (n,)
        Option ``0..n_options-1`` in content terms: 0 is r1, 1 is r2, 2 is the tie.
    certainty : ndarray of float, shape (n,)
        1 to 100; NaN where it is missing.
    n_items, n_annotators, n_options : int
        Sizes, including items without a vote and options that nobody chose.
    n_missing : int
        Rows of long form dropped because they had no choice; 0 for a matrix, which does not show
        whether an item was unanswered or not asked.
    """

    item: IntArray
    annotator: IntArray
    choice: IntArray
    certainty: FloatArray
    n_items: int
    n_annotators: int
    n_options: int
    n_missing: int = 0

    @classmethod
    def from_long(
        cls,
        item: npt.ArrayLike,
        annotator: npt.ArrayLike,
        choice: npt.ArrayLike,
        certainty: npt.ArrayLike | None = None,
        *,
        n_options: int = 2,
        n_items: int | None = None,
        n_annotators: int | None = None,
    ) -> "Votes":
        """Build votes from long form.

        Parameters
        ----------
        item, annotator : array_like of int, shape (n,)
            Codes from 0.
        choice : array_like of int, shape (n,)
            Option ``0..n_options-1``; -1 is missing.
        certainty : array_like of float, shape (n,), optional
            1 to 100, NaN is missing. None: missing everywhere.
        n_options : int, default 2
            Options offered, chosen or not; 3 if a tie was offered.
        n_items, n_annotators : int, optional
            Sizes; by default one more than the largest code.

        Raises
        ------
        ValueError
            If the arrays do not fit together or a value is out of range.

        Examples
        --------
        >>> votes = Votes.from_long([0, 0, 0, 1], [0, 1, 2, 0], [1, 1, 0, -1], [70, 90, 100, 5])
        >>> votes.counts().tolist(), votes.n_missing
        ([[1, 2], [0, 0]], 1)
        """
        items, annotators, choices = (
            _codes(x, n) for x, n in ((item, "item"), (annotator, "annotator"), (choice, "choice"))
        )
        certainties = (
            np.full(items.shape, np.nan)
            if certainty is None
            else np.asarray(certainty, dtype=np.float64)
        )
        if not items.shape == annotators.shape == choices.shape == certainties.shape:
            raise ValueError(
                "`item`, `annotator`, `choice` and `certainty` must have one length, got "
                f"{items.size}, {annotators.size}, {choices.size}, {certainties.size}."
            )
        if n_options < 2:
            raise ValueError(f"`n_options` must be at least 2, got {n_options}.")
        _check_range("choice", choices, -1, n_options - 1)
        _check_certainty(certainties)
        sizes = []
        for name, codes, size in (
            ("item", items, n_items),
            ("annotator", annotators, n_annotators),
        ):
            size = int(codes.max(initial=-1)) + 1 if size is None else size
            _check_range(name, codes, 0, size - 1)
            sizes.append(size)

        answered = choices >= 0
        return cls(
            item=items[answered],
            annotator=annotators[answered],
            choice=choices[answered],
            certainty=certainties[answered],
            n_items=sizes[0],
            n_annotators=sizes[1],
            n_options=n_options,
            n_missing=int((~answered).sum()),
        )

    @classmethod
    def from_matrix(
        cls,
        labels: npt.ArrayLike,
        certainty: npt.ArrayLike | None = None,
        *,
        n_options: int = 2,
    ) -> "Votes":
        """Build votes from a matrix of items by annotators.

        Parameters
        ----------
        labels : array_like of int, shape (n_items, n_annotators)
            Option; -1 is missing.
        certainty : array_like of float, shape (n_items, n_annotators), optional
            1 to 100, NaN is missing.
        n_options : int, default 2
            Options offered.

        Raises
        ------
        ValueError
            If `labels` is not a matrix, the shapes differ or a value is out of range.

        Examples
        --------
        >>> Votes.from_matrix([[0, 0, 1], [1, -1, 1]]).counts().tolist()
        [[2, 1], [0, 2]]
        """
        matrix = np.asarray(labels)
        if matrix.ndim != 2:
            raise ValueError(f"`labels` must be a matrix, got shape {matrix.shape}.")
        if certainty is not None and np.shape(certainty) != matrix.shape:
            raise ValueError(
                f"`certainty` has shape {np.shape(certainty)}, `labels` has {matrix.shape}."
            )
        item, annotator = np.indices(matrix.shape)
        votes = cls.from_long(
            item.ravel(),
            annotator.ravel(),
            matrix.ravel(),
            None if certainty is None else np.asarray(certainty, dtype=np.float64).ravel(),
            n_options=n_options,
            n_items=matrix.shape[0],
            n_annotators=matrix.shape[1],
        )
        return replace(votes, n_missing=0)

    @property
    def n(self) -> int:
        """Number of choices."""
        return int(self.item.size)

    def counts(self) -> IntArray:
        """Votes per item and option, shape (n_items, n_options)."""
        cell = self.item * self.n_options
        cell += self.choice
        counts = np.bincount(cell, minlength=self.n_items * self.n_options)
        return counts.reshape(self.n_items, self.n_options).astype(np.int64, copy=False)

    def take(self, rows: BoolArray) -> "Votes":
        """Votes of the rows where `rows`, shape (n,), is true; the sizes stay the same."""
        return replace(
            self,
            item=self.item[rows],
            annotator=self.annotator[rows],
            choice=self.choice[rows],
            certainty=self.certainty[rows],
        )


def _codes(values: npt.ArrayLike, name: str) -> IntArray:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"`{name}` must be one-dimensional, got shape {array.shape}.")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"`{name}` must hold whole numbers, got {array.dtype}.")
    return array.astype(np.int64)


def _check_range(name: str, codes: IntArray, low: int, high: int) -> None:
    if codes.size and not (low <= codes.min() and codes.max() <= high):
        raise ValueError(f"`{name}` must lie in {low}..{high}, got {codes.min()}..{codes.max()}.")


def _check_certainty(certainty: FloatArray) -> None:
    stated = certainty[~np.isnan(certainty)]
    if stated.size and not (1 <= stated.min() and stated.max() <= 100):
        raise ValueError(f"`certainty` must lie in 1..100, got {stated.min():g}..{stated.max():g}.")
