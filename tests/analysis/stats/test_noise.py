import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import Votes, change_beyond_noise, percent_agreement, run_noise
from tests.analysis.stats.reference import random_votes, shuffled


def runs_of(p, n_runs, seed=0):
    """Runs that choose option 1 with probability `p` on each item."""
    rng = np.random.default_rng(seed)
    return Votes.from_matrix((rng.random((len(p), n_runs)) < np.asarray(p)[:, None]).astype(int))


def test_the_baseline_is_the_agreement_of_two_runs():
    runs = runs_of(np.linspace(0, 1, 200), 4)

    noise = run_noise(runs, np.ones(200, dtype=int), rng=np.random.default_rng(1))

    assert noise.same_choice == percent_agreement(runs.counts(), rng=np.random.default_rng(1))
    counts = runs.counts()
    assert noise.flipped.value == pytest.approx(np.mean(counts.min(axis=1) > 0))
    assert (noise.n_runs, noise.n_items) == (4, 200)


def test_the_spread_of_accuracy_is_that_of_running_again():
    p = np.random.default_rng(2).beta(4, 2, 400)
    expected = np.sqrt(np.mean(p * (1 - p)) / 400)

    noise = run_noise(runs_of(p, 12, seed=3), np.ones(400, dtype=int))

    assert noise.accuracy_sd == pytest.approx(expected, rel=0.05)
    again = [runs_of(p, 1, seed=s).choice.mean() for s in range(400)]
    assert noise.accuracy_sd == pytest.approx(np.std(again, ddof=1), rel=0.12)
    assert noise.run_variance == pytest.approx(np.mean(p * (1 - p)), rel=0.05)
    assert noise.item_variance == pytest.approx(p.var(), rel=0.15)


def test_a_judge_at_temperature_zero_has_no_noise():
    noise = run_noise(runs_of([0, 1, 1, 0], 3), [0, 1, 0, 0])

    assert noise.same_choice.value == 1
    assert (noise.flipped.value, noise.accuracy_sd, noise.run_variance) == (0, 0, 0)
    assert noise.accuracy == (0.75, 0.75, 0.75)


def test_two_runs_give_a_baseline_and_no_variance():
    noise = run_noise(runs_of([0.5] * 50, 2), np.ones(50, dtype=int))

    assert noise.same_choice.value is not None
    assert (noise.accuracy_sd, noise.reason, noise.accuracy_reason) == (
        *(None, "too_few_annotators", "too_few_annotators"),
    )
    assert run_noise(runs_of([0.5] * 9, 3)).accuracy_reason == "empty_group"
    assert run_noise(runs_of([0.5] * 9, 1)).same_choice.reason == "no_pairs"


def test_the_spread_of_certainty_between_runs_is_pooled_over_items():
    certainty = [[80, 90, 70], [50, 50, np.nan], [60, np.nan, np.nan]]
    runs = Votes.from_matrix([[0, 0, 0]] * 3, certainty)

    assert run_noise(runs).certainty_sd == pytest.approx((200 / 3) ** 0.5)


@given(st.integers(0, 10_000))
def test_the_order_of_items_runs_and_rows_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    runs = random_votes(rng, n_annotators=4)
    truth = rng.integers(-1, 2, runs.n_items)
    moved, items = shuffled(runs, rng)
    moved_truth = np.empty_like(truth)
    moved_truth[items] = truth

    one, other = run_noise(runs, truth), run_noise(moved, moved_truth)

    assert one.same_choice.value == pytest.approx(other.same_choice.value, abs=1e-12)
    assert sorted(one.accuracy) == pytest.approx(sorted(other.accuracy))
    assert one.certainty_sd == pytest.approx(other.certainty_sd)


def test_the_excess_is_that_of_all_pairs_of_runs_by_hand():
    rng = np.random.default_rng(5)
    base, changed = random_votes(rng), random_votes(rng)

    change = change_beyond_noise(base, changed)

    def chosen(votes, i):
        return votes.choice[votes.item == i]

    def same(a):
        return np.mean([a[j] == a[k] for j in range(len(a)) for k in range(len(a)) if j != k])

    both = [(chosen(base, i), chosen(changed, i)) for i in range(base.n_items)]
    used = [(a, b) for a, b in both if len(a) >= 2 and len(b) >= 2]
    within = np.mean([(same(a) + same(b)) / 2 for a, b in used])
    across = np.mean([np.mean(a[:, None] == b[None, :]) for a, b in used])
    assert (change.within, change.across) == pytest.approx((within, across))
    assert change.excess.value == pytest.approx(within - across)
    assert change.n_items == len(used)
    assert change_beyond_noise(changed, base).excess.value == pytest.approx(change.excess.value)


def test_a_noisy_judge_that_did_not_change_has_no_excess_and_a_changed_one_has():
    p = np.full(600, 0.7)

    same = change_beyond_noise(
        runs_of(p, 3, seed=1), runs_of(p, 3, seed=2), rng=np.random.default_rng(0)
    )
    other = change_beyond_noise(
        runs_of(p, 3, seed=1), runs_of(1 - p, 3, seed=2), rng=np.random.default_rng(0)
    )

    assert same.across < 0.65  # 42% of the answers differ, by chance alone
    assert same.excess.interval.low < 0 < same.excess.interval.high
    assert other.excess.interval.low > 0
    assert other.excess.value == pytest.approx((0.7 - 0.3) ** 2, abs=0.05)


def test_one_run_of_a_setting_cannot_tell_a_change_from_noise():
    change = change_beyond_noise(runs_of([0.5] * 20, 1), runs_of([0.5] * 20, 3))

    assert (change.within, change.excess.reason, change.n_items) == (None, "no_pairs", 0)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="`truth` has 2 items"):
        run_noise(runs_of([0.5] * 3, 2), [0, 1])
    with pytest.raises(ValueError, match="the same items and options"):
        change_beyond_noise(runs_of([0.5], 2), runs_of([0.5] * 2, 2))
