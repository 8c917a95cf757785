"""One answer per item for each side, and sources of a run's certainty."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import CHOICES, MISSING, TIE, Codes, Dataset, Floats, Index, RunData
from analysis.stats.core.aggregation import MajorityVote, majority_vote
from analysis.stats.core.results import relabel
from analysis.stats.core.votes import Votes

# Reasons for an item without a valid judgment; the first that applies is reported.
FAILURES = ("refused", "unparseable", "skipped", "error", "open")

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """One side's answer to every item of the study, -1 without a verdict.

    `certainty` is the mean of the votes for the answer, NaN without one; `correct` is 1 right, 0
    wrong, -1 without an answer or a truth. `excluded` counts other items, each under one reason.
    """

    answer: Ints
    certainty: Floats
    correct: Ints
    majority: MajorityVote
    excluded: dict[str, int]

    @property
    def scored(self) -> npt.NDArray[np.bool_]:
        return self.correct >= 0


def people_votes(data: Dataset, *, with_excluded: bool = False) -> Votes:
    """The answers of annotators, optionally including excluded annotators."""
    parts, n_raters = [data.answers], len(data.raters)
    if with_excluded and data.set_aside is not None:
        parts.append(data.set_aside)
        n_raters += len(data.set_aside_raters)
    item, rater, choice, certainty = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("item", "rater", "choice", "certainty")
    )
    return Votes.from_long(
        item,
        rater,
        choice.astype(np.int64),
        certainty,
        # Imported answers can have ties that the study does not offer.
        n_options=3 if data.study.allow_tie or (choice == TIE).any() else 2,
        n_items=len(data.items),
        n_annotators=n_raters,
    )


def run_options(run: RunData) -> int:
    return 3 if run.offers_tie or (run.judgments.choice == TIE).any() else 2


def people_verdicts(data: Dataset) -> Verdicts:
    """The majority's answer to every item; a tied vote is no answer."""
    majority = majority_vote(people_votes(data), ties=data.ties)
    truth = data.scored_truth(offers_tie=data.study.allow_tie)
    decided = majority.answer >= 0
    excluded = {
        "no_votes": int((majority.n_votes == 0).sum()),
        "tie": int(majority.undecided.sum()),
        "no_truth": int((decided & (truth == MISSING)).sum()),
    }
    return _verdicts(majority, truth, excluded)


def run_votes(data: Dataset, run: RunData) -> Votes:
    """A run's valid judgments as votes; each order and sample is a rater."""
    rows = run.judgments
    samples = rows.sample - rows.sample.min(initial=0)
    readings, _ = relabel((rows.shown_first + 1) * (samples.max(initial=0) + 1) + samples)
    return Votes.from_long(
        rows.item,
        readings,
        rows.choice.astype(np.int64),
        rows.certainty,
        n_options=run_options(run),
        n_items=len(data.items),
    )


def repeated_readings(data: Dataset, run: RunData) -> Votes:
    """A run's valid judgments with each sample as a rater, to measure chance alone.

    Of a run in both orders, only readings with response 1 first count; otherwise a difference
    between the orders would count as chance.
    """
    rows = run.judgments
    chosen = rows.shown_first == 0 if run.orders == "both" else np.ones(len(rows), dtype=np.bool_)
    return Votes.from_long(
        rows.item[chosen],
        rows.sample[chosen] - 1,
        rows.choice[chosen].astype(np.int64),
        rows.certainty[chosen],
        # Runs with and without a tie option are compared as if both had one.
        n_options=len(CHOICES),
        n_items=len(data.items),
    )


def run_verdicts(data: Dataset, run: RunData) -> Verdicts:
    """The majority of a run's valid judgments, over orders and samples, for every item."""
    majority = majority_vote(run_votes(data, run), ties=data.ties)
    truth = data.scored_truth(offers_tie=run.offers_tie)
    decided = majority.answer >= 0
    excluded = {
        "tie": int(majority.undecided.sum()),
        "no_truth": int((decided & (truth == MISSING)).sum()),
    }
    rows = run.judgments
    asked = np.bincount(rows.item, minlength=len(data.items)) > 0
    failed = asked & (majority.n_votes == 0)
    for status in FAILURES:
        hit = np.bincount(rows.item[rows.status == status], minlength=len(data.items)) > 0
        excluded[status] = int((failed & hit).sum())
        failed &= ~hit
    return _verdicts(majority, truth, excluded)


def probability_certainty(data: Dataset, run: RunData, verdicts: Verdicts) -> Floats:
    """The probability, in percent, that a run's readings gave its verdict on each item.

    Averaged within each order, then over orders, so that an order with more readings does not weigh
    more. NaN if no probability is known.
    """
    rows = run.judgments
    known = ~np.isnan(rows.probabilities).any(axis=1) & (verdicts.answer[rows.item] >= 0)
    item = rows.item[known]
    share = rows.probabilities[known, verdicts.answer[item]]
    return mean_of_orders(share, item, rows.shown_first[known], len(data.items))


def is_native(run: RunData) -> bool:
    """Whether the judge answers with probabilities instead of text."""
    backend = str(run.parameters.get("backend", ""))
    if not backend:  # of a table of labels, which need not wait for the backends
        return False
    from judging.backends.kinds import gives_only_probabilities

    return gives_only_probabilities(backend)


def native_certainty(data: Dataset, run: RunData, verdicts: Verdicts) -> Floats:
    """The probability of the verdict from a judge that answers with probabilities, in percent."""
    return probability_certainty(data, run, verdicts) if is_native(run) else _unknown(data)


def log_probability_certainty(data: Dataset, run: RunData, verdicts: Verdicts) -> Floats:
    """The same from the log-probabilities of a judge that answers with text."""
    return _unknown(data) if is_native(run) else probability_certainty(data, run, verdicts)


def _unknown(data: Dataset) -> Floats:
    return np.full(len(data.items), np.nan)


def mean_of_orders(
    share: Floats, item: Index, shown_first: Codes, n_items: int, *, fewest: int = 1
) -> Floats:
    """In percent; only orders with as many readings as `fewest`, NaN where there is none."""
    means = []
    for first in (0, 1, MISSING):  # judgment files do not always state the order
        here = shown_first == first
        sums = np.bincount(item[here], weights=share[here], minlength=n_items)
        counts = np.bincount(item[here], minlength=n_items)
        means.append(np.divide(sums, counts, out=np.full(n_items, np.nan), where=counts >= fewest))
    orders = np.stack(means)
    known = ~np.isnan(orders)
    total, n = np.where(known, orders, 0.0).sum(axis=0), known.sum(axis=0)
    return 100 * np.divide(total, n, out=np.full(n_items, np.nan), where=n > 0)


def agreement_certainty(verdicts: Verdicts) -> Floats:
    """The share, in percent, of an item's readings that gave the verdict; NaN with under two."""
    votes = verdicts.majority
    several = (votes.n_votes >= 2) & (verdicts.answer >= 0)
    return np.where(several, 100 * votes.share, np.nan)


def _verdicts(majority: MajorityVote, truth: npt.ArrayLike, excluded: dict[str, int]) -> Verdicts:
    answer = majority.answer.astype(np.int64)
    truths = np.asarray(truth, dtype=np.int64)
    right = np.where(answer == truths, 1, 0)
    correct = np.where((answer >= 0) & (truths >= 0), right, MISSING).astype(np.int64)
    return Verdicts(answer, majority.certainty, correct, majority, excluded)


@dataclass(frozen=True, eq=False)
class Shares:
    """A run's `shares` of the options for every item, shape (items, 3); NaN if there are none.

    `noise` is half the sum of their variances as shares of a few readings: 0 if they are exact, NaN
    if an order was read once.
    """

    shares: Floats
    noise: Floats


def probability_shares(data: Dataset, run: RunData, verdicts: Verdicts) -> Shares:
    """The probabilities that a run's readings gave the options: mean by order, then over orders."""
    rows = run.judgments
    total = rows.probabilities.sum(axis=1)
    known = np.isfinite(total) & (total > 0)
    readings = rows.probabilities[known] / total[known, None]
    shares, _ = over_orders(readings, rows.item[known], rows.shown_first[known], len(data.items))
    return Shares(shares, np.zeros(len(data.items)))


def over_orders(
    readings: Floats, item: Index, shown_first: Codes, n_items: int
) -> tuple[Floats, Floats]:
    """The mean within each order, then over orders, and its noise as in `Shares`."""
    total, noise = np.zeros((n_items, len(CHOICES))), np.zeros(n_items)
    orders = np.zeros(n_items)
    for first in (0, 1, MISSING):  # judgment files do not always state the order
        here = shown_first == first
        n = np.bincount(item[here], minlength=n_items)
        sums = np.zeros((n_items, len(CHOICES)))
        np.add.at(sums, item[here], readings[here])
        mean = sums / np.maximum(n, 1)[:, None]
        total += mean
        orders += n > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            own = (mean * (1 - mean)).sum(axis=1) / 2 / np.where(n > 1, n - 1, np.nan)
        noise += np.where(n > 0, own, 0.0)
    there = orders > 0
    shares = np.full_like(total, np.nan)
    shares[there] = total[there] / orders[there, None]
    return shares, np.where(there, noise / np.maximum(orders, 1) ** 2, np.nan)
