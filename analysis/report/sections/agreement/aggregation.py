"""Other rules that combine several answers into one, shown next to the majority."""

from collections.abc import Iterator

import numpy as np

from analysis.report.encode import Json, cell, number, put, undefined
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import CONDITIONAL, Table, TableColumn
from analysis.report.text.reasons import reason
from analysis.stats.accuracy.bands import tie_credit_accuracy
from analysis.stats.core.proportions import EMPTY, wilson_proportion
from analysis.stats.core.results import IntArray
from analysis.stats.labels.aggregation import log_odds_weights, majority_vote, weighted_vote
from analysis.stats.labels.dawid_skene import DawidSkene
from analysis.stats.labels.label_models import Glad, Mace, glad, mace
from analysis.stats.labels.one_coin import OneCoin, one_coin

# Every step of GLAD has as many dimensions as there are items and annotators.
GLAD_VOTES = 50_000


def aggregation(study: ReportedStudy) -> list[Json]:
    """Accuracy of every rule, with an interval for these annotators (Wilson)."""
    votes, truth = study.votes, study.truth
    at_random = majority_vote(votes, ties="random", rng=study.rng())
    rules = [
        ("majority", majority_vote(votes).answer),
        ("majority, ties by certainty", majority_vote(votes, ties="certainty").answer),
        (f"majority, ties at random (seed {study.seed})", at_random.answer),
        ("weighted by certainty", weighted_vote(votes).answer),
        (
            "weighted by accuracy on the other items (uses the true answers)",
            weighted_vote(votes, log_odds_weights(votes, truth)).answer,
        ),
    ]
    out: list[Json] = [{"rule": name} | _score(answer, truth) for name, answer in rules]
    half = tie_credit_accuracy(majority_vote(votes, ties="half"), truth)
    put(out[0], "ties_as_half", number(half.value), half.reason)
    confusions = study.confusions
    if confusions is None:
        return out
    steps = study.label_steps
    coins = one_coin(votes, max_iterations=steps)
    spammers = mace(votes, max_iterations=steps)
    for name, fitted in (("Dawid-Skene", confusions), ("one-coin", coins), ("MACE", spammers)):
        out.append({"rule": name} | _settled(fitted, truth))
    if votes.n > GLAD_VOTES:
        unknown = undefined("too_large", "steps", "converged")
        out.append({"rule": "GLAD"} | unknown | _nothing("too_large"))
    else:
        out.append({"rule": "GLAD"} | _settled(glad(votes), truth))
    return out


def _settled(fitted: DawidSkene | OneCoin | Mace | Glad, truth: np.ndarray) -> Json:
    """Score of a model that converged; a model that stopped earlier has no result."""
    steps = {"steps": fitted.n_iterations, "converged": fitted.converged}
    found = _score(fitted.answer, truth) if fitted.converged else _nothing("not_settled")
    return steps | found


def _nothing(reason: str) -> Json:
    """The keys of `_score` without values."""
    return cell(EMPTY) | undefined(reason, "undecided", "accuracy", "ci")


def _score(answer: IntArray, truth: np.ndarray) -> Json:
    scored = (answer >= 0) & (truth >= 0)
    right = wilson_proportion((answer == truth)[scored])
    return {"undecided": int((answer < 0).sum())} | cell(right)


def aggregation_table(report: Report) -> Table:
    rows = [
        [entry["rule"], entry, entry["undecided"], _reached(entry)]
        for entry in report["human"]["aggregation"]
    ]
    columns = (
        TableColumn("Rule"),
        TableColumn("Accuracy", "share"),
        TableColumn("Undecided", "count"),
        TableColumn("Steps"),
    )
    return Table(
        "aggregation",
        "One answer of many, by other rules",
        columns,
        rows if report["human"]["answers"] else [],
        "Every other table uses the first rule. Intervals (Wilson) hold for these people. "
        "Dawid-Skene gives everybody a confusion matrix of their own, which a few dozen answers "
        "each do not carry: there read one-coin (one accuracy per person) or MACE (people "
        "either know or spam). GLAD adds how hard each item is. None of these four knows the "
        "truth: mistakes that most people share are right answers to them. The vote weighted by "
        "accuracy does know it, of all items but the one that it answers, so it is no rule for "
        f"items without known answers. {CONDITIONAL}",
    )


def _reached(entry: Report) -> str | None:
    """The steps that a model took, and whether it converged; other rules take none."""
    if "steps" not in entry:
        return None
    if entry["steps"] is None:
        return reason(entry["steps_reason"])
    steps = f"{entry['steps']}"
    return steps if entry["converged"] else f"{steps}, {reason('not_settled')}: no result"


class Aggregation(Section):
    """Accuracy of every rule that combines several answers into one."""

    name = "aggregation"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"human": {"aggregation": aggregation(study)}}

    def tables(self, report: Report) -> Iterator[Table]:
        yield aggregation_table(report)
