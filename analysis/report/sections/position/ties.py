"""How often a run answers tie, and how often a tie is true."""

from collections.abc import Iterator

from analysis.data.arrays import TIE, Dataset, RunData
from analysis.data.verdicts import (
    Verdicts,
)
from analysis.report.encode import Json, put, undefined
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries
from analysis.report.text.names import named_entries


def _ties(data: Dataset, run: RunData, verdicts: Verdicts) -> Json:
    """How often the run answers tie, and how often a tie is true; only if it can choose a tie."""
    if not run.offers_tie:
        return {"n": 0, "ties": 0} | undefined("not_offered", "share", "truth_share")
    answered, known = verdicts.answer >= 0, data.truth >= 0
    out: Json = {"n": int(answered.sum()), "ties": int((verdicts.answer == TIE).sum())}
    put(out, "share", out["ties"] / out["n"] if out["n"] else None)
    put(out, "truth_share", float((data.truth[known] == TIE).mean()) if known.any() else None)
    return out


def ties(report: Report) -> Table:
    runs = [(name, judge) for name, judge in named_entries(report, "judges") if judge["ties"]["n"]]
    return table_of_entries(
        "ties",
        "How often a tie is chosen, and how often it is true",
        runs,
        [
            ("Decided", "count", "ties.n"),
            ("Text tie", "count", "ties.ties"),
            ("Share", "percent", "ties.share"),
            ("Share of true ties", "percent", "ties.truth_share"),
        ],
    )


class Ties(Section):
    """Ties of the runs that had a tie option."""

    name = "ties"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        runs = zip(study.data.runs, study.judges, strict=True)
        return {"judges": [{"ties": _ties(study.data, *run)} for run in runs]}

    def tables(self, report: Report) -> Iterator[Table]:
        yield ties(report)
