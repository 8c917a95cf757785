"""Items that the same annotators answered alike: one row each, for models that read them often."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from analysis.stats.core.checks import kinds_of
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.votes import Votes


@dataclass(frozen=True, eq=False)
class Patterns:
    """The different sets of votes that items have. Any model of labels treats such items alike.

    Attributes
    ----------
    of_item : ndarray of int, shape (n_items,)
        Pattern of each item; -1 without votes.
    n_items : ndarray of float, shape (n_patterns,)
        Items with each pattern.
    given : tuple of sparse matrix, one per option, each of shape (n_patterns, n_annotators)
        How often each annotator chose the option on one item with the pattern.
    received : tuple of sparse matrix, each of shape (n_annotators, n_patterns)
        The same on all items with the pattern.
    """

    of_item: IntArray
    n_items: FloatArray
    given: tuple[sparse.csr_array, ...]
    received: tuple[sparse.csr_array, ...]

    @classmethod
    def of(cls, votes: Votes) -> "Patterns":
        of_item, n_items, example = _alike(votes)
        kept = np.flatnonzero(example[votes.item] >= 0)
        pattern = example[votes.item[kept]]
        shape = (n_items.size, votes.n_annotators)
        given = []
        for option in range(votes.n_options):
            chosen = votes.choice[kept] == option
            place = (pattern[chosen], votes.annotator[kept][chosen])
            given.append(sparse.csr_array((np.ones(place[0].size), place), shape=shape))
        received = tuple((sparse.diags_array(n_items) @ one).T.tocsr() for one in given)
        return cls(of_item, n_items, tuple(given), received)

    @property
    def chosen(self) -> FloatArray:
        """Votes by annotator and option."""
        return self.expected_right(np.ones((len(self.given), self.n_items.size)))

    @property
    def shares(self) -> FloatArray:
        """Share of the votes that each option has, shape (n_options, n_patterns)."""
        counts = np.stack([one.sum(axis=1) for one in self.given])
        return np.asarray(counts / counts.sum(axis=0))

    def priors(self, posterior: FloatArray) -> FloatArray:
        """Mean over the items with votes, shape (n_options,); uniform where there are none."""
        n_items = self.n_items.sum()
        if not n_items:
            return np.full(len(posterior), 1 / len(posterior))
        return np.asarray(posterior @ self.n_items / n_items)

    def log_joint(self, gain: FloatArray) -> FloatArray:
        """Sum of `gain` over the votes, shape (n_options, n_patterns).

        `gain` has the shape (n_options, n_annotators, n_options): true option, annotator, choice.
        """
        columns = [
            sum(one @ true[:, option] for option, one in enumerate(self.given)) for true in gain
        ]
        return np.stack(columns)

    def log_joint_of_right(self, gain: FloatArray) -> FloatArray:
        """The same for votes that gain only if they are right, shape (n_annotators, n_options)."""
        return np.stack([one @ own for one, own in zip(self.given, gain.T, strict=True)])

    def expected(self, posterior: FloatArray) -> FloatArray:
        """Expected votes by annotator, true option and choice."""
        cells = [[one @ true for one in self.received] for true in posterior]
        return np.asarray(cells, dtype=np.float64).transpose(2, 0, 1)

    def expected_right(self, posterior: FloatArray) -> FloatArray:
        """Expected votes for the true option, by annotator and option."""
        cells = [one @ true for one, true in zip(self.received, posterior, strict=True)]
        return np.stack(cells, axis=1)

    def by_item(self, values: FloatArray, otherwise: FloatArray) -> FloatArray:
        """Values of the patterns, (n_options, n_patterns), for items: shape (n_items, n_options).

        Items without votes get the values `otherwise`, shape (n_options,).
        """
        return np.column_stack([values, otherwise]).T[self.of_item]


def normalised(log_joint: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probability of each option, shape (n_options, n_patterns), and the log of their total."""
    top = log_joint.max(axis=0)
    shares = np.exp(log_joint - top)
    total = shares.sum(axis=0)
    return shares / total, top + np.log(total)


def log_or_impossible(probability: FloatArray) -> FloatArray:
    """Logarithms; that of 0 is minus infinity, which is right for an impossible option."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probability))


def allowed_shares(guess: FloatArray, near: FloatArray) -> FloatArray:
    """Turn a guess into shares that add up to 1, each at least a hundredth of `near`.

    So no option becomes impossible: a share that reaches 0 never rises again.
    """
    kept = np.maximum(guess, near / 100)
    return np.asarray(kept / kept.sum(axis=0))


def _alike(votes: Votes) -> tuple[IntArray, FloatArray, IntArray]:
    """Pattern of each item, items of each pattern, and the pattern that an item is the example of.

    The last is -1 for all items but the first of each pattern.
    """
    cell = votes.annotator * votes.n_options + votes.choice
    of_item, n_patterns = kinds_of(votes.item, cell, votes.n_items)
    voted = np.flatnonzero(of_item >= 0)
    _, first = np.unique(of_item[voted], return_index=True)
    # In the order of their first items, so that sums do not depend on the names of the options.
    order = np.argsort(first)
    number = np.empty(n_patterns, dtype=np.int64)
    number[order] = np.arange(n_patterns)
    of_item[voted] = number[of_item[voted]]
    example = np.full(votes.n_items, -1)
    example[voted[first[order]]] = np.arange(n_patterns)
    n_items = np.bincount(of_item[voted], minlength=n_patterns).astype(np.float64)
    return of_item, n_items, example
