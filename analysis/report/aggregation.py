"""Other ways to make one answer of many: the choice of rule is shown, not hidden."""

import numpy as np

from analysis.report.encode import Json, cell, number, put
from analysis.stats.accuracy import tie_credit_accuracy
from analysis.stats.aggregation import log_odds_weights, majority_vote, weighted_vote
from analysis.stats.one_coin import one_coin
from analysis.stats.proportions import wilson_proportion
from analysis.stats.votes import Votes

# Steps of expectation-maximisation; answers settle long before the likelihood stands still.
MAX_STEPS = 100
TOLERANCE = 1e-6


def aggregation(votes: Votes, truth: np.ndarray) -> list[Json]:
    """Accuracy of every rule; an interval for these annotators (Wilson)."""
    rules = [
        ("majority", majority_vote(votes).answer),
        ("majority, ties by certainty", majority_vote(votes, ties="certainty").answer),
        ("weighted by certainty", weighted_vote(votes).answer),
        ("weighted by accuracy", weighted_vote(votes, log_odds_weights(votes, truth)).answer),
    ]
    if votes.n:
        # Confusion matrices of each person's few answers (Dawid-Skene) would be noise here.
        fitted = one_coin(votes, max_iterations=MAX_STEPS, tolerance=TOLERANCE)
        rules.append(("one accuracy per person", fitted.answer))
    out = []
    for name, answer in rules:
        scored = (answer >= 0) & (truth >= 0)
        right = wilson_proportion((answer == truth)[scored])
        out.append({"rule": name, "undecided": int((answer < 0).sum())} | cell(right))
    half = tie_credit_accuracy(majority_vote(votes, ties="half"), truth)
    put(out[0], "ties_as_half", number(half.value), half.reason)
    return out
