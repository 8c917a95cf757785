"""What a judge is worth in people, what it shares with them, and how both do together."""

import numpy as np

from analysis.data.arrays import TIE, Dataset
from analysis.data.verdicts import Verdicts
from analysis.report.clusters import Shared
from analysis.report.encode import Json, estimate, number, put, put_interval, undefined
from analysis.stats.certainty.interaction import certainty_by_source
from analysis.stats.comparison.cost_accuracy import price_mixes
from analysis.stats.comparison.crowd_equivalence import worth_in_people
from analysis.stats.comparison.mistakes import shared_guess
from analysis.stats.core.votes import Votes


def worth_entry(data: Dataset, judge: Verdicts, people: Verdicts, *, seed: int, draws: int) -> Json:
    """Defined between two options; a tie that only one side could say has no place here."""
    votes = people.majority.votes
    if votes.n_options != 2 or (judge.answer == TIE).any():
        return {
            "worth": undefined("not_offered", "people", "place", "ceiling", "judge_accuracy")
            | {"n": 0, "curve": []},
            "mixes": [],
            "shared_guess": {"n": 0}
            | {key: undefined("not_offered", "value", "ci") for key in _GUESS},
        }
    truth = data.scored_truth(offers_tie=False).astype(np.int64)
    return {
        "worth": _worth(votes, judge, truth, seed=seed, draws=draws),
        "mixes": _mixes(votes, judge, truth, seed=seed, draws=draws),
        "shared_guess": _shared_guess(votes, judge, truth, seed=seed, draws=draws),
    }


def _worth(votes: Votes, judge: Verdicts, truth: np.ndarray, *, seed: int, draws: int) -> Json:
    found = worth_in_people(
        votes, judge.answer, truth, rng=np.random.default_rng(seed), n_draws=draws
    )
    out: Json = {"n": found.n_items}
    put(out, "people", number(found.people), found.reason)
    put(out, "place", found.place, found.reason)
    # One end may be open: worth less than one person, or more than a hundred.
    put(out, "low", number(found.low), found.reason or "below_one")
    put(out, "high", number(found.high), found.reason or "above_any")
    put(out, "judge_accuracy", number(found.judge_accuracy), found.reason)
    put(out, "ceiling", number(found.ceiling), found.reason)
    out["curve"] = [
        {"people": point.k, "accuracy": point.accuracy, "predicted": point.n_items == 0}
        for point in found.curve
    ]
    return out


def _mixes(
    votes: Votes, judge: Verdicts, truth: np.ndarray, *, seed: int, draws: int
) -> list[Json]:
    """The mixes that nothing cheaper reaches; the price is people's answers per item."""
    mixes = price_mixes(
        votes,
        judge.answer,
        judge.certainty,
        truth,
        price_person=1.0,
        price_judge=0.0,
        rng=np.random.default_rng(seed),
        n_draws=draws,
    )
    out = []
    for mix in mixes:
        if mix.best:
            entry: Json = {"policy": mix.policy, "people": mix.people}
            put(entry, "threshold", mix.threshold, "no_threshold")
            entry |= {"answers_per_item": mix.price, "accuracy": mix.accuracy}
            put_interval(entry, "ci", mix.interval, "no_variation")
            put(entry, "often_best", number(mix.often_best), "too_few_items")
            out.append(entry)
    return out


_GUESS = ("people_follow", "right", "model_follows_right", "model_follows_wrong")


def _shared_guess(
    votes: Votes, judge: Verdicts, truth: np.ndarray, *, seed: int, draws: int
) -> Json:
    found = shared_guess(votes, judge.answer, truth, n_draws=draws, rng=np.random.default_rng(seed))
    return {"n": found.n} | {key: estimate(getattr(found, key)) for key in _GUESS}


def interaction(
    judge: Verdicts, votes: Votes, alone: np.ndarray, shared: Shared, *, threshold: float
) -> Json:
    """Does high certainty raise the judge's odds of being right more than a person's?

    Single answers of people beside the run's verdicts; `alone` says which of the former are
    right.
    """
    items = np.arange(judge.correct.size)
    item = np.concatenate([votes.item, items])
    is_model = np.arange(item.size) >= votes.n
    annotator = np.concatenate([votes.annotator, np.full(items.size, votes.n_annotators)])
    found = certainty_by_source(
        np.concatenate([alone, judge.correct]),
        np.concatenate([votes.certainty, judge.certainty]),
        is_model,
        {
            "item": item,
            "annotator": annotator,
            "persona": shared.persona[item],
            "question": shared.question[item],
        },
        threshold=threshold,
    )
    out: Json = {"n": found.n}
    out |= {key: estimate(getattr(found, key)) for key in ("people", "model", "interaction")}
    put(out, "p", number(found.p), found.interaction.reason or found.interaction.interval_reason)
    return out
