"""Report section on ways to combine many answers into one, and their accuracy."""

from collections.abc import Iterator

import numpy as np

from analysis.report.report_json import Json, cell, put, undefined
from analysis.report.section import ReportJson, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import CONDITIONAL, Table, TableColumn
from analysis.report.words import reason
from analysis.stats.accuracy.bands import tie_credit_accuracy
from analysis.stats.core.aggregation import majority_vote
from analysis.stats.core.proportions import EMPTY, wilson_proportion
from analysis.stats.core.results import IntArray
from analysis.stats.core.votes import Votes
from extras.label_models.stats.dawid_skene import DawidSkene, OneCoin, dawid_skene, one_coin
from extras.label_models.stats.fitting import MAX_STEPS
from extras.label_models.stats.label_models import Glad, Mace, glad, mace
from extras.label_models.stats.weights import log_odds_weights, weighted_vote

# Every GLAD step has one dimension per item and per annotator.
GLAD_VOTES = 50_000

# Votes that a label model may process in all its steps; most models converge within 150.
MAX_READ = 60_000_000


def aggregation(study: ReportedStudy, confusions: DawidSkene | None) -> list[Json]:
    """Accuracy of every rule, with a Wilson interval for these annotators."""
    votes, truth = study.votes, study.truth
    at_random = majority_vote(votes, ties="random", rng=study.rng())
    rules = [
        ("majority", majority_vote(votes).answer),
        ("majority, ties by certainty", majority_vote(votes, ties="certainty").answer),
        (f"majority, ties at random (seed {study.seed})", at_random.answer),
        ("weighted by certainty", weighted_vote(votes).answer),
        (
            "weighted by accuracy on the other items (uses the truth)",
            weighted_vote(votes, log_odds_weights(votes, truth)).answer,
        ),
    ]
    out: list[Json] = [{"rule": name} | _score(answer, truth) for name, answer in rules]
    half = tie_credit_accuracy(majority_vote(votes, ties="half"), truth)
    put(out[0], "ties_as_half", half.value, half.reason)
    if confusions is None:
        return out
    steps = _steps(votes)
    coins = one_coin(votes, max_iterations=steps)
    spammers = mace(votes, max_iterations=steps)
    for name, fitted in (("Dawid-Skene", confusions), ("one-coin", coins), ("MACE", spammers)):
        out.append({"rule": name} | _settled(fitted, truth))
    if votes.n > GLAD_VOTES:
        unknown = undefined("too_large", "converged")
        out.append({"rule": "GLAD"} | unknown | _nothing("too_large"))
    else:
        out.append({"rule": "GLAD"} | _settled(glad(votes), truth))
    return out


def _steps(votes: Votes) -> int:
    """The number of steps that a model may take; requires votes."""
    return min(MAX_STEPS, MAX_READ // votes.n)


def informativeness(study: ReportedStudy, confusions: DawidSkene | None) -> list[Json]:
    """The information in each annotator's answer, by the model of their errors."""
    bits = confusions.informativeness if confusions is not None and confusions.converged else None
    reason = "not_settled" if study.votes.n else "no_votes"
    rows = []
    for index in sorted(range(len(study.data.raters)), key=lambda index: study.data.raters[index]):
        row: Json = {}
        put(row, "bits", None if bits is None else float(bits[index]), reason)
        rows.append(row)
    return rows


def _settled(fitted: DawidSkene | OneCoin | Mace | Glad, truth: np.ndarray) -> Json:
    """Score of a converged model; others have no result."""
    score = _score(fitted.answer, truth) if fitted.converged else _nothing("not_settled")
    return {"converged": fitted.converged} | score


def _nothing(reason: str) -> Json:
    """The entries of `_score` without values."""
    return cell(EMPTY) | undefined(reason, "undecided", "accuracy", "ci")


def _score(answer: IntArray, truth: np.ndarray) -> Json:
    scored = (answer >= 0) & (truth >= 0)
    right = wilson_proportion((answer == truth)[scored])
    return {"undecided": int((answer < 0).sum())} | cell(right)


def aggregation_table(report: ReportJson) -> Table:
    rows = [
        [entry["rule"], entry, entry["undecided"], _why_no_result(entry)]
        for entry in report["human"]["aggregation"]
    ]
    columns = (
        TableColumn("Rule"),
        TableColumn("Accuracy", "share"),
        TableColumn("Undecided", "count"),
        TableColumn("No result because"),
    )
    return Table(
        "aggregation",
        "One answer from many, by other rules",
        columns,
        rows if report["human"]["answers"] else [],
        "Every other table uses the first rule. Intervals (Wilson) hold for these people. "
        "Dawid-Skene estimates a confusion matrix per person, for which a few dozen answers "
        "each are too few: use one-coin (one accuracy per person) or MACE (people either know "
        "or spam) instead. GLAD adds the difficulty of each item. These four do not know the "
        "truth: they take mistakes that most people share for right answers. The vote weighted "
        "by accuracy knows the truth of all other items, so it cannot be used for items without "
        f"known answers. {CONDITIONAL}",
    )


def _why_no_result(entry: ReportJson) -> str | None:
    """Why a model gives no answers; empty for one that converged, and for other rules."""
    if entry.get("converged", True):
        return None
    return reason(entry["accuracy_reason"])


class Aggregation(Section):
    """Accuracy of every rule that combines several answers into one, and bits per annotator."""

    name = "aggregation"
    shows = ("aggregation", "table_b_single")
    keys = """
aggregation | list | Accuracy of other rules to combine answers.
aggregation.rule | text | Name of the rule.
ties_as_half | share | Accuracy, counting undecided items as half right.
converged | flag | Whether the estimation converged.
bits | bits | Information about the truth in an answer of the annotator (Dawid-Skene).
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        votes = study.votes
        fitted = dawid_skene(votes, max_iterations=_steps(votes)) if votes.n else None
        return {
            "human": {
                "aggregation": aggregation(study, fitted),
                "raters": informativeness(study, fitted),
            }
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield aggregation_table(report)


RULES = Aggregation()
