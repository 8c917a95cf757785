"""The share of certainty that belongs to the item, and the effect of each annotator's level."""

from collections.abc import Iterator

from analysis.data.verdicts import Ints
from analysis.report.encode import Json, estimate, number, put
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.stats.certainty.calibration import discrimination
from analysis.stats.certainty.scale_use import centred_certainty, certainty_icc
from analysis.stats.core.votes import Votes


def scale_use(votes: Votes, correct: Ints) -> Json:
    """Measure how much certainty depends on the item, and the effect of each annotator's level."""
    centred = centred_certainty(votes)
    out: Json = {
        "icc": estimate(certainty_icc(votes)),
        "icc_centred": estimate(certainty_icc(votes, centred=True)),
    }
    # Only the order affects the area, so differences of -100 to 100 can be put on the scale.
    for key, values in (("auroc", votes.certainty), ("auroc_centred", 50 + centred / 2)):
        found = discrimination(values, correct)
        put(out, key, number(found.auroc), found.reason)
    return out


def scale_use_table(report: Report) -> Table:
    found = report["human"]["scale_use"]
    rows = [
        ["As stated", found["icc"]["value"], found["icc"]["ci"], found["auroc"]],
        [
            "Less each person's mean",
            found["icc_centred"]["value"],
            found["icc_centred"]["ci"],
            found["auroc_centred"],
        ],
    ]
    columns = (
        TableColumn("People's certainty"),
        TableColumn("ICC(1,1)", "decimal"),
        TableColumn("95 % interval", "range"),
        TableColumn("AUROC", "decimal"),
    )
    return Table(
        "scale_use",
        "How people use the scale",
        columns,
        rows if any(row[1] is not None for row in rows) else [],
        "ICC: the share of the variance of certainty that lies between items and not between the "
        "people who answered them.",
    )


class ScaleUse(Section):
    """The share of the variance of certainty that is between items."""

    name = "scale_use"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"human": {"scale_use": scale_use(study.votes, study.correct_alone)}}

    def tables(self, report: Report) -> Iterator[Table]:
        yield scale_use_table(report)
