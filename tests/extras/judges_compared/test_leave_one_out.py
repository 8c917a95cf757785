import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.stats import Votes
from extras.judges_compared.stats import leave_one_out


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_counts_are_those_of_taking_each_annotator_out_by_hand(seed):
    rng = np.random.default_rng(seed)
    labels, model = rng.integers(-1, 3, (20, 4)), rng.integers(-1, 3, 20)

    result = leave_one_out(Votes.from_matrix(labels, n_options=3), model)

    for entry in result.annotators:
        b = c = n = ties = 0
        for i in range(20):
            own = labels[i, entry.annotator]
            others = np.delete(labels[i], entry.annotator)
            counts = np.bincount(others[others >= 0], minlength=3)
            if own < 0 or model[i] < 0 or counts.sum() == 0:
                continue
            if (counts == counts.max()).sum() > 1:
                ties += 1
                continue
            winner, n = counts.argmax(), n + 1
            b += model[i] == winner != own
            c += own == winner != model[i]
        assert (entry.pairs.b, entry.pairs.c, entry.pairs.n, entry.n_ties) == (b, c, n, ties)
    assert result.n == sum(entry.pairs.n for entry in result.annotators)
    assert result.n_ties == sum(entry.n_ties for entry in result.annotators)


def test_without_usable_items_there_is_no_difference():
    alone = leave_one_out(Votes.from_matrix([[0, -1], [-1, 1]]), [0, 1])

    assert (alone.difference.value, alone.difference.reason) == (None, "no_pairs")
    assert alone.annotators == ()
