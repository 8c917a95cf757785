"""Whether the longer response is chosen more often than it is right."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.data.arrays import MISSING, TIE
from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, estimate, number, put
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.text.names import run_names
from analysis.stats.accuracy.verbosity import length_pull, verbosity_bias


def verbosity(study: ReportedStudy, verdicts: Verdicts) -> Json:
    """Measure the pull of the longer response in one side's verdicts; ties have none."""
    data = study.data
    lengths = np.array([item.lengths for item in data.items], dtype=np.int64).reshape(-1, 2)
    answer, truth = (
        np.where(choice == TIE, MISSING, choice).astype(np.int64)
        for choice in (verdicts.answer, data.truth)
    )
    columns = (lengths[:, 0], lengths[:, 1], answer, truth)
    found = verbosity_bias(*columns)
    items = np.arange(len(data.items))
    clusters = study.shared.of_items(items, by_people=verdicts is study.people)
    out: Json = {"n": found.n, "equal": found.n_equal}
    put(out, "longer_chosen", number(found.longer_chosen), found.difference.reason)
    put(out, "longer_true", number(found.longer_true), found.difference.reason)
    out["difference"] = estimate(found.difference)
    out["per_doubling"] = estimate(length_pull(*columns, clusters=clusters).per_doubling)
    return out


def verbosity_table(report: Report) -> Table:
    human = report["human"]
    sides = [("People, majority", human["verbosity"])]
    sides += [
        (name, judge["verbosity"])
        for name, judge in zip(run_names(report), report["judges"], strict=True)
    ]
    rows = []
    for who, found in sides:
        if found["n"]:
            row: list[Any] = [who, found["n"], found["longer_chosen"], found["longer_true"]]
            for part in (found["difference"], found["per_doubling"]):
                row += [part["value"], part["ci"]]
            rows.append(row)
    columns = (
        TableColumn("Who"),
        TableColumn("Items", "count"),
        TableColumn("is chosen", "percent", "The longer response"),
        TableColumn("is right", "percent", "The longer response"),
        TableColumn("Difference", "points"),
        TableColumn("95 % interval", "points_range"),
        TableColumn("Log odds per doubling", "decimal"),
        TableColumn("95 %", "range"),
    )
    return Table(
        "verbosity",
        "Is the longer response chosen more often than it is right?",
        columns,
        rows,
        "Length in characters; responses of one length are left out. The difference (Tango) takes "
        "items as independent. Log odds of choosing a response for each time it is twice as long, "
        "among items with the same right response: above 0 length itself pulls.",
    )


class LengthSection(Section):
    """The preference for the longer response, of the majority and every run."""

    name = "length"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {
            "human": {"verbosity": verbosity(study, study.people)},
            "judges": [{"verbosity": verbosity(study, judge)} for judge in study.judges],
        }

    def tables(self, report: Report) -> Iterator[Table]:
        yield verbosity_table(report)
