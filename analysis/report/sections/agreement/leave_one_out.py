"""Judge and each annotator against the majority of the other annotators."""

from collections.abc import Iterator

from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, estimate, number, put
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.text.names import named_comparisons
from analysis.stats.comparison.leave_one_out import leave_one_out
from analysis.stats.core.votes import Votes


def _leave_one_out(votes: Votes, judge: Verdicts) -> Json:
    """The judge and each annotator against the majority of the others, on the same items."""
    found = leave_one_out(votes, judge.answer)
    difference = found.difference
    out: Json = {"n": found.n, "ties": found.n_ties, "people": len(found.annotators)}
    out |= estimate(difference, "difference")
    put(out, "judge_agreement", number(found.model_agreement), difference.reason)
    put(out, "people_agreement", number(found.human_agreement), difference.reason)
    return out


def leave_one_out_table(report: Report) -> Table:
    rows = []
    for name, versus in named_comparisons(report):
        found = versus["leave_one_out"]
        if found["n"]:
            rows.append(
                [
                    name,
                    found["n"],
                    found["judge_agreement"],
                    found["people_agreement"],
                    found["difference"],
                    found["ci"],
                ]
            )
    columns = (
        TableColumn("Run"),
        TableColumn("Answers", "count"),
        TableColumn("Judge", "percent", "As the majority of the others"),
        TableColumn("Person", "percent", "As the majority of the others"),
        TableColumn("Difference", "points"),
        TableColumn("95 % interval", "points_range"),
    )
    return Table(
        "leave_one_out",
        "Judge and person against the majority of the others",
        columns,
        rows,
        "For every answer of a person, the majority of the other people of the item; where they "
        "tie the answer is left out. The interval allows for items and people in common.",
    )


class LeaveOneOutSection(Section):
    """The judge and each person against the majority of the other annotators."""

    name = "leave_one_out"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        runs = zip(study.data.runs, study.judges, strict=True)
        return {
            "comparison": [
                {"leave_one_out": _leave_one_out(study.votes_with_options_of(run), judge)}
                for run, judge in runs
            ]
        }

    def tables(self, report: Report) -> Iterator[Table]:
        yield leave_one_out_table(report)
