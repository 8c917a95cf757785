import numpy as np

from analysis.stats import (
    Votes,
    answer_accuracy,
    individual_accuracy,
    majority_accuracy,
    majority_vote,
)
from tests.analysis.stats.reference import (
    block_design,
    spread_design,
)


def cells_of(result):
    return [result.overall, result.high, result.low, result.no_certainty]


def counts_of(result):
    return [(cell.correct, cell.n) for cell in cells_of(result)]


def test_a_certainty_of_exactly_the_threshold_is_high_and_is_counted():
    cells = answer_accuracy([0, 0, 1, 1], [0, 0, 1, 0], [80, 79.999, 80, np.nan])

    assert counts_of(cells) == [(3, 4), (2, 2), (1, 1), (0, 1)]
    assert cells.n_at_threshold == 2


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
