"""Crowd equivalence: how many annotators a judge is worth."""

from collections.abc import Iterator

import numpy as np

from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, number, put, undefined
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.text.names import named_comparisons
from analysis.report.text.reasons import reason
from analysis.stats.comparison.crowd_equivalence import crowd_equivalence
from analysis.stats.core.votes import Votes


def _equivalence(
    votes: Votes, judge: Verdicts, truth: np.ndarray, *, seed: int, draws: int
) -> Json:
    found = crowd_equivalence(
        votes, judge.answer, truth, rng=np.random.default_rng(seed), n_draws=draws
    )
    out: Json = {"n": found.n_items}
    put(out, "people", number(found.people), found.reason)
    put(out, "place", found.place, found.reason)
    # One end can be open: worth less than one annotator, or more than a hundred.
    put(out, "low", number(found.low), found.reason or "below_one")
    put(out, "high", number(found.high), found.reason or "above_any")
    put(out, "judge_accuracy", number(found.judge_accuracy), found.reason)
    put(out, "ceiling", number(found.ceiling), found.reason)
    out["curve"] = [
        {"people": point.k, "accuracy": point.accuracy, "predicted": point.n_items == 0}
        for point in found.curve
    ]
    return out


def equivalence_table(report: Report) -> Table:
    rows = []
    for name, versus in named_comparisons(report):
        found = versus["worth"]
        if found["judge_accuracy"] is not None:
            rows.append(
                [
                    name,
                    found["n"],
                    found["judge_accuracy"],
                    _people(found),
                    _range(found),
                    found["ceiling"],
                ]
            )
    columns = (
        TableColumn("Run"),
        TableColumn("Items", "count"),
        TableColumn("Accuracy", "percent"),
        TableColumn("Worth people"),
        TableColumn("95 % interval"),
        TableColumn("Majority of very many", "percent"),
    )
    return Table(
        "worth",
        "How many people a judge is worth",
        columns,
        rows,
        "The number of people whose majority is as accurate on the same items: counted as far as "
        "items have answers, beyond that from a beta distribution of the items' difficulty. "
        "Intervals resample items: they are about these people, personas and questions.",
    )


def _people(found: Report) -> str:
    if found["people"] is None:
        return {"below one": "less than one", "above any": "more than any number"}.get(
            found["place"], reason(found["people_reason"])
        )
    return f"{found['people']:.1f}"


def _range(found: Report) -> str:
    low = "less than one" if found["low"] is None else f"{found['low']:.1f}"
    high = "any number" if found["high"] is None else f"{found['high']:.1f}"
    return f"{low} to {high}"


class CrowdEquivalenceSection(Section):
    """The number of annotators whose majority is as accurate as each run."""

    name = "crowd_equivalence"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"comparison": [{"worth": self._of_run(study, judge)} for judge in study.judges]}

    def tables(self, report: Report) -> Iterator[Table]:
        yield equivalence_table(report)

    def _of_run(self, study: ReportedStudy, judge: Verdicts) -> Json:
        if not study.is_binary(judge):
            unknown = undefined("not_offered", "people", "place", "ceiling", "judge_accuracy")
            return unknown | {"n": 0, "curve": []}
        return _equivalence(
            study.votes, judge, study.binary_truth, seed=study.seed, draws=study.draws
        )
