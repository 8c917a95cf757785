"""Other ways to make one answer of many: the choice of rule is shown, not hidden."""

import numpy as np

from analysis.report.encode import Json, cell, number, put
from analysis.stats.accuracy import tie_credit_accuracy
from analysis.stats.aggregation import log_odds_weights, majority_vote, weighted_vote
from analysis.stats.dawid_skene import DawidSkene, dawid_skene
from analysis.stats.label_models import glad, mace
from analysis.stats.one_coin import one_coin
from analysis.stats.proportions import EMPTY, wilson_proportion
from analysis.stats.results import IntArray
from analysis.stats.votes import Votes

# Steps of expectation-maximisation; answers settle long before the likelihood stands still.
MAX_STEPS, FEWEST_STEPS = 100, 20
READ = 10_000_000  # votes read over all steps of a model: where there are many, fewer steps
TOLERANCE = 1e-6
MOVED = 1e-4  # of a probability, below which it counts as settled
# Every step of GLAD climbs in as many dimensions as there are items and people.
GLAD_STEPS = 20
GLAD_VOTES = 15_000


def aggregation(
    votes: Votes, truth: np.ndarray, *, seed: int
) -> tuple[list[Json], DawidSkene | None]:
    """Accuracy of every rule, with an interval for these annotators (Wilson).

    Also returns the model of people's own errors, which says what each of them tells.
    """
    at_random = majority_vote(votes, ties="random", rng=np.random.default_rng(seed))
    rules = [
        ("majority", majority_vote(votes).answer),
        ("majority, ties by certainty", majority_vote(votes, ties="certainty").answer),
        (f"majority, ties at random (seed {seed})", at_random.answer),
        ("weighted by certainty", weighted_vote(votes).answer),
        ("weighted by accuracy", weighted_vote(votes, log_odds_weights(votes, truth)).answer),
    ]
    out: list[Json] = [{"rule": name} | _score(answer, truth) for name, answer in rules]
    half = tie_credit_accuracy(majority_vote(votes, ties="half"), truth)
    put(out[0], "ties_as_half", number(half.value), half.reason)
    if not votes.n:
        return out, None
    steps = max(FEWEST_STEPS, min(MAX_STEPS, READ // votes.n))
    confusions = dawid_skene(votes, max_iterations=steps, tolerance=TOLERANCE)
    coins = one_coin(votes, max_iterations=steps, tolerance=TOLERANCE)
    spammers = mace(votes, max_iterations=steps, tolerance=MOVED)
    for name, fitted in (
        ("Dawid-Skene", confusions),
        ("one-coin", coins),
        ("MACE", spammers),
    ):
        settled = {"steps": fitted.n_iterations, "converged": fitted.converged}
        out.append({"rule": name} | settled | _score(fitted.answer, truth))
    out.append({"rule": "GLAD"} | _glad(votes, truth))
    return out, confusions


def _glad(votes: Votes, truth: np.ndarray) -> Json:
    if votes.n > GLAD_VOTES:
        left: Json = {}
        for key in ("steps", "converged", "undecided"):
            put(left, key, None, "too_large")
        nothing = cell(EMPTY)
        return left | nothing | dict.fromkeys(("accuracy_reason", "ci_reason"), "too_large")
    fitted = glad(votes, max_iterations=GLAD_STEPS, tolerance=MOVED)
    settled = {"steps": fitted.n_iterations, "converged": fitted.converged}
    return settled | _score(fitted.answer, truth)


def _score(answer: IntArray, truth: np.ndarray) -> Json:
    scored = (answer >= 0) & (truth >= 0)
    right = wilson_proportion((answer == truth)[scored])
    return {"undecided": int((answer < 0).sum())} | cell(right)
