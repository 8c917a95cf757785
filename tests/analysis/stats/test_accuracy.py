import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import (
    Votes,
    answer_accuracy,
    individual_accuracy,
    majority_accuracy,
    majority_vote,
)
from tests.analysis.stats.reference import (
    block_design,
    random_votes,
    shuffled,
    spread_design,
    swapped,
)


def cells_of(result):
    return [result.overall, result.high, result.low, result.no_certainty]


def counts_of(result):
    return [(cell.correct, cell.n) for cell in cells_of(result)]


def test_a_certainty_of_exactly_the_threshold_is_high_and_is_counted():
    cells = answer_accuracy([0, 0, 1, 1], [0, 0, 1, 0], [80, 79.999, 80, np.nan])

    assert counts_of(cells) == [(3, 4), (2, 2), (1, 1), (0, 1)]
    assert cells.n_at_threshold == 2


def test_a_mean_certainty_just_below_the_threshold_is_low_without_rounding():
    votes = Votes.from_matrix([[0, 0], [0, 0]], [[79, 80], [80, 80]])

    cells = majority_accuracy(majority_vote(votes), [0, 0])

    assert counts_of(cells)[1:3] == [(1, 1), (1, 1)]


def test_a_missing_certainty_is_its_own_band_and_low_only_for_the_papers_sake():
    answer, truth, certainty = [0, 1], [0, 0], [np.nan, np.nan]

    assert counts_of(answer_accuracy(answer, truth, certainty)) == [(1, 2), (0, 0), (0, 0), (1, 2)]
    assert counts_of(answer_accuracy(answer, truth, certainty, paper_compat=True)) == [
        *[(1, 2), (0, 0), (1, 2), (0, 0)]
    ]


def test_what_does_not_count_is_named_once_with_its_reason():
    votes = Votes.from_matrix([[0, 0], [0, 1], [-1, -1], [1, 1], [0, 1]])

    majority = majority_accuracy(majority_vote(votes), [0, 1, 0, -1, -1])
    single = individual_accuracy(votes, [0, 1, 0, -1, 2])
    model = answer_accuracy([0, -1, 1, -1], [0, 0, -1, -1])

    assert counts_of(majority)[0] == (1, 1)
    assert dict(majority.excluded) == {"no_votes": 1, "no_truth": 2, "tie": 1}
    assert counts_of(single)[0] == (3, 4)
    assert dict(single.excluded) == {"no_truth": 4, "no_answer": 0}
    assert dict(model.excluded) == {"no_truth": 2, "no_answer": 1}


def test_a_true_tie_counts_only_where_a_tie_was_offered():
    offered = answer_accuracy([2, 0], [2, 2], n_options=3)
    not_offered = answer_accuracy([1, 0], [2, 2])

    assert counts_of(offered)[0] == (1, 2)
    assert counts_of(not_offered)[0] == (0, 0)
    assert not_offered.excluded["no_truth"] == 2


def test_an_answer_outside_the_options_is_refused():
    with pytest.raises(ValueError, match="`answer` holds option 2, of 2 options"):
        answer_accuracy([2], [1])
    with pytest.raises(ValueError, match="`truth` has 1 items, `votes` has 2"):
        individual_accuracy(Votes.from_matrix([[0], [0]]), [0])


def test_a_model_that_answers_an_item_three_times_is_clustered_by_item():
    answer, truth = np.repeat([0, 1, 0, 1] * 20, 3), np.repeat([0, 1, 1, 1] * 20, 3)

    repeated = answer_accuracy(answer, truth, item=np.repeat(np.arange(80), 3))
    naive = answer_accuracy(answer, truth)

    assert (repeated.overall.correct, repeated.overall.n) == (180, 240)
    assert repeated.overall.interval.method == "item-clustered wilson"
    assert repeated.overall.interval.low < naive.overall.interval.low - 0.02


def test_the_majority_has_the_interval_that_the_design_allows():
    rng = np.random.default_rng(6)
    truth = np.zeros(300, dtype=int)
    choice = (rng.random(900) > 0.65).astype(int)
    same_three = (np.repeat(np.arange(300), 3), np.tile(np.arange(3), 300))

    blocked, spread, alone = (
        majority_accuracy(majority_vote(Votes.from_long(item, person, choice)), truth).overall
        for item, person in (block_design(), spread_design(), same_three)
    )

    assert blocked.interval.method == "block t(9)"
    assert spread.interval.method == "shared-annotator wilson"
    assert alone.interval.method == "wilson"
    assert (blocked.interval.note, spread.interval.note) == (None, None)
    assert alone.interval.note == "conditional on these annotators"
    assert blocked.correct == spread.correct == alone.correct
    people = [cell.interval.n_annotators for cell in (blocked, spread, alone)]
    assert people == [30, 30, 3]


@given(st.integers(0, 2**32 - 1), st.integers(2, 3))
def test_cells_of_all_shapes_are_counted_as_by_hand_and_stay_finite(seed, n_options):
    rng = np.random.default_rng(seed)
    votes = random_votes(
        rng, n_items=10, n_annotators=4, n_options=n_options, answered=rng.random()
    )
    truth = rng.integers(-1, 3, 10)

    cells = individual_accuracy(votes, truth)

    by_hand = [[0, 0] for _ in range(4)]
    for i, c, x in zip(votes.item, votes.choice, votes.certainty, strict=True):
        if 0 <= truth[i] < n_options:
            band = 3 if x != x else 1 if x >= 80 else 2
            for cell in (0, band):
                by_hand[cell][0] += int(c == truth[i])
                by_hand[cell][1] += 1
    assert counts_of(cells) == [tuple(cell) for cell in by_hand]
    for cell in [*cells_of(cells), *cells_of(majority_accuracy(majority_vote(votes), truth))]:
        assert (cell.value is None) == (cell.n == 0) == (cell.reason == "empty_group")
        if cell.interval:
            assert 0 <= cell.interval.low <= cell.value + 1e-12
            assert cell.value - 1e-12 <= cell.interval.high <= 1
        elif cell.n:
            assert cell.interval_reason in {"too_few_items", "too_few_annotators"}


@given(st.integers(0, 2**32 - 1))
def test_accuracy_does_not_depend_on_codes_order_or_which_response_is_r1(seed):
    rng = np.random.default_rng(seed)
    votes, truth = random_votes(rng), rng.integers(-1, 2, 20)
    other, new_code = shuffled(votes, rng)
    moved_truth = np.empty_like(truth)
    moved_truth[new_code] = truth
    mirror = np.where(truth >= 0, 1 - truth, -1)

    for measure in (
        individual_accuracy,
        lambda v, t: majority_accuracy(majority_vote(v, ties="certainty"), t),
    ):
        one, two, three = (
            measure(votes, truth),
            measure(other, moved_truth),
            measure(swapped(votes), mirror),
        )
        assert counts_of(one) == counts_of(two) == counts_of(three)
        assert one.excluded == two.excluded == three.excluded
        if one.overall.interval:
            assert one.overall.interval.low == pytest.approx(two.overall.interval.low, abs=1e-9)
            assert one.overall.interval.low == pytest.approx(three.overall.interval.low, abs=1e-9)


def test_an_empty_study_has_empty_cells():
    votes = Votes.from_long([], [], [])

    for cells in (
        individual_accuracy(votes, []),
        majority_accuracy(majority_vote(votes), []),
        answer_accuracy([], []),
    ):
        assert counts_of(cells) == [(0, 0)] * 4
        assert all(cell.reason == "empty_group" for cell in cells_of(cells))
