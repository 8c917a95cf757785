"""Accuracy as a share of what is possible, where it is known how often people repeat answers."""

from collections.abc import Iterator

from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, estimate
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.text.names import run_name
from analysis.report.text.numbers import percent
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.agreement.ceiling import retest_ceiling, share_of_ceiling
from analysis.stats.core.results import Estimate
from analysis.stats.core.shared_variance import Sharing


def possible_accuracy(study: ReportedStudy) -> Json:
    """The entry of report.json; empty if the source of the items states no agreement of a retest.

    Only with two options: a third one has another chance and another ceiling.
    """
    retest = study.data.study.source.get("retest_agreement")
    # The source of an imported file is stored as it is.
    if not isinstance(retest, int | float) or not 0.5 < retest <= 1 or study.votes.n_options > 2:
        return {}
    ceiling = retest_ceiling(retest)
    judges = zip(study.data.runs, study.judges, strict=True)
    return {
        "possible_accuracy": {
            "retest": retest,
            "ceiling": ceiling,
            "people": _side(study.people, study.shared.items, retest),
            "judges": [
                identity(run) | _side(judge, study.shared.judged, retest) for run, judge in judges
            ],
        }
    }


def _side(side: Verdicts, sharing: Sharing, retest: float) -> Json:
    found = general_proportion(side.correct[side.scored] == 1, sharing.take(side.scored))
    accuracy = Estimate(found.value, found.reason, found.interval, found.interval_reason)
    share = share_of_ceiling(accuracy, retest)
    return {"items": found.n, "accuracy": estimate(accuracy), "share": estimate(share)}


def possible_accuracy_table(report: Report) -> Table:
    found = report["possible_accuracy"]
    named = [(run_name(entry, found["judges"]), entry) for entry in found["judges"]]
    return table_of_entries(
        "possible_accuracy",
        "Accuracy against own answers, as a share of what is possible",
        [("Majority of annotators", found["people"]), *named],
        [
            ("Items", "count", "items"),
            ("Accuracy", "percent", "accuracy.value"),
            ("95 % interval", "percent_range", "accuracy.ci"),
            ("Estimate", "percent", "share.value", "Share of what is possible"),
            ("95 % interval", "percent_range", "share.ci", "Share of what is possible"),
        ],
        "The source of the items states that people repeat "
        f"{percent(found['retest'])} of their own answers when asked again. If their slips are as "
        f"likely either way, no judge can be right on more than {percent(found['ceiling'])} in the "
        "long run. Share: 0 is chance, 100 % that ceiling; by chance it can be more. The stated "
        "agreement counts as known exactly.",
        first="Who",
    )


class PossibleAccuracy(Section):
    """Accuracy as a share of the ceiling that own answers set."""

    name = "possible_accuracy"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return possible_accuracy(study)

    def tables(self, report: Report) -> Iterator[Table]:
        if "possible_accuracy" in report:
            yield possible_accuracy_table(report)
