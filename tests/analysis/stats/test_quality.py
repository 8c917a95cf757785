import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from analysis.stats import Votes, annotator_quality
from tests.analysis.stats.reference import random_votes


@given(st.integers(0, 2**32 - 1))
def test_measures_equal_counting_by_hand(seed):
    rng = np.random.default_rng(seed)
    votes, truth = random_votes(rng, n_items=12, n_annotators=5), rng.integers(-1, 2, 12)

    for quality in annotator_quality(votes, truth):
        own = [r for r in range(votes.n) if votes.annotator[r] == quality.annotator]
        hits, agreed, tied, shares, scored = [], [], 0, [], []
        for r in own:
            item, choice = votes.item[r], votes.choice[r]
            rest = [
                votes.choice[s]
                for s in range(votes.n)
                if votes.item[s] == item and votes.annotator[s] != quality.annotator
            ]
            ones, zeros = rest.count(1), rest.count(0)
            if ones == zeros:
                tied += 1
            else:
                agreed.append(choice == int(ones > zeros))
            if rest:
                shares.append(rest.count(choice) / len(rest))
            if truth[item] >= 0:
                hits.append(choice == truth[item])
                if not np.isnan(votes.certainty[r]):
                    scored.append((hits[-1], votes.certainty[r]))
        assert quality.n == len(own)
        assert (quality.accuracy.correct, quality.accuracy.n) == (sum(hits), len(hits))
        assert (quality.majority_agreement.correct, quality.majority_agreement.n) == (
            *(sum(agreed), len(agreed)),
        )
        assert quality.others_tied == tied
        assert quality.pair_agreement.value == (pytest.approx(np.mean(shares)) if shares else None)
        if len({right for right, _ in scored}) == 2:
            expected = roc_auc_score(*zip(*scored, strict=True))
            assert quality.certainty_auroc.value == pytest.approx(expected)
        else:
            assert quality.certainty_auroc.value is None


def test_a_straight_liner_has_one_long_run_in_the_order_the_items_were_seen():
    votes = Votes.from_long(range(6), [0] * 6, [0, 1, 0, 1, 0, 1])

    (seen,) = annotator_quality(votes, side=[0, 0, 1, 0, 0, 0], position=[5, 4, 1, 2, 3, 6])
    (gap,) = annotator_quality(votes, side=[0, 0, -1, -1, 0, 0])
    (unknown,) = annotator_quality(votes)

    assert (seen.longest_run, gap.longest_run, unknown.longest_run) == (5, 2, 0)


def test_times_and_certainties_ignore_what_is_missing():
    votes = Votes.from_matrix([[0], [0], [1]], [[40], [60], [np.nan]])

    (quality,) = annotator_quality(votes, seconds=[2.0, np.nan, 10.0])

    assert quality.median_seconds.value == 6
    assert quality.certainty_mean.value == 50
    assert quality.certainty_sd.value == pytest.approx(200**0.5)
    assert quality.favourite_share.value == pytest.approx(2 / 3)


def test_an_annotator_without_answers_has_reasons_in_place_of_numbers():
    votes = Votes.from_long([0], [1], [0])

    idle, lonely = annotator_quality(votes, [0])

    assert (idle.n, idle.accuracy.reason, idle.favourite_share.reason) == (
        *(0, "empty_group", "empty_group"),
    )
    assert (lonely.n, lonely.others_tied, lonely.pair_agreement.reason) == (1, 1, "empty_group")
    assert lonely.certainty_auroc.value is None


def test_arrays_of_another_length_are_refused():
    votes = Votes.from_matrix([[0, 1]])

    with pytest.raises(ValueError, match=r"`seconds` must have one value per vote \(2\)"):
        annotator_quality(votes, seconds=[1.0])
    with pytest.raises(ValueError, match="`truth` has 2 items, `votes` has 1"):
        annotator_quality(votes, [0, 1])
