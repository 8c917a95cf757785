"""Other ways to make one answer of many: the choice of rule is shown, not hidden."""

import numpy as np

from analysis.report.encode import Json, cell, number, put, undefined
from analysis.stats.accuracy.bands import tie_credit_accuracy
from analysis.stats.core.fixed_point import MAX_STEPS
from analysis.stats.core.proportions import EMPTY, wilson_proportion
from analysis.stats.core.results import IntArray
from analysis.stats.core.votes import Votes
from analysis.stats.labels.aggregation import log_odds_weights, majority_vote, weighted_vote
from analysis.stats.labels.dawid_skene import DawidSkene, dawid_skene
from analysis.stats.labels.label_models import Glad, Mace, glad, mace
from analysis.stats.labels.one_coin import OneCoin, one_coin

# Votes that a model may read over all its steps; most settle within 150.
READ = 300_000_000
# Every step of GLAD climbs in as many dimensions as there are items and people.
GLAD_VOTES = 50_000


def aggregation(
    votes: Votes, truth: np.ndarray, *, seed: int
) -> tuple[list[Json], DawidSkene | None]:
    """Accuracy of every rule, with an interval for these annotators (Wilson).

    Also returns the model of people's own errors, which says what each of them tells; None where
    it did not settle.
    """
    at_random = majority_vote(votes, ties="random", rng=np.random.default_rng(seed))
    rules = [
        ("majority", majority_vote(votes).answer),
        ("majority, ties by certainty", majority_vote(votes, ties="certainty").answer),
        (f"majority, ties at random (seed {seed})", at_random.answer),
        ("weighted by certainty", weighted_vote(votes).answer),
        (
            "weighted by accuracy on the other items (uses the true answers)",
            weighted_vote(votes, log_odds_weights(votes, truth)).answer,
        ),
    ]
    out: list[Json] = [{"rule": name} | _score(answer, truth) for name, answer in rules]
    half = tie_credit_accuracy(majority_vote(votes, ties="half"), truth)
    put(out[0], "ties_as_half", number(half.value), half.reason)
    if not votes.n:
        return out, None
    steps = min(MAX_STEPS, READ // votes.n)
    confusions = dawid_skene(votes, max_iterations=steps)
    coins = one_coin(votes, max_iterations=steps)
    spammers = mace(votes, max_iterations=steps)
    for name, fitted in (("Dawid-Skene", confusions), ("one-coin", coins), ("MACE", spammers)):
        out.append({"rule": name} | _settled(fitted, truth))
    if votes.n > GLAD_VOTES:
        unknown = undefined("too_large", "steps", "converged")
        out.append({"rule": "GLAD"} | unknown | _nothing("too_large"))
    else:
        out.append({"rule": "GLAD"} | _settled(glad(votes), truth))
    return out, confusions if confusions.converged else None


def _settled(fitted: DawidSkene | OneCoin | Mace | Glad, truth: np.ndarray) -> Json:
    """Score of a model that settled; where it stopped by the way is no result."""
    steps = {"steps": fitted.n_iterations, "converged": fitted.converged}
    found = _score(fitted.answer, truth) if fitted.converged else _nothing("not_settled")
    return steps | found


def _nothing(reason: str) -> Json:
    """The keys of `_score` without any figure."""
    return cell(EMPTY) | undefined(reason, "undecided", "accuracy", "ci")


def _score(answer: IntArray, truth: np.ndarray) -> Json:
    scored = (answer >= 0) & (truth >= 0)
    right = wilson_proportion((answer == truth)[scored])
    return {"undecided": int((answer < 0).sum())} | cell(right)
