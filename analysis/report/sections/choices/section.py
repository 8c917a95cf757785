"""The chapter on other choices."""

from collections.abc import Iterator

from analysis.report.encode import Json
from analysis.report.figures import Figure
from analysis.report.section import Report, Section, Sentence
from analysis.report.sections.choices.figure import specification_curve
from analysis.report.sections.choices.multiverse import multiverse
from analysis.report.sections.choices.table import multiverse_table
from analysis.report.study import Study
from analysis.report.tables import Table
from analysis.report.text.thresholds import late_changes


def _choices(report: Report) -> Iterator[tuple[str, str]]:
    """Warn where the headline depends on a choice, and where nothing was announced."""
    for claim in report["multiverse"]["claims"]:
        if claim["holds"] < claim["of"]:
            what = "all items" if claim["claim"] == "all" else "the items that each is certain of"
            yield (
                f"multiverse_{claim['claim']}",
                f"The comparison over {what} depends on choices: it comes out the same in "
                f"{claim['holds']} of {claim['of']} specifications.",
            )
    if report["registration"]["plan"] is None:
        yield "explored", f"{report['registration']['because']} All of this is exploratory."
    for sentence in late_changes(report):
        yield "late_change", sentence


class Choices(Section):
    """The headline under every specification."""

    name = "choices"
    title = "Other choices"
    inside = "The finding under every combination of choices"
    needs = ("headline", "certainty_headline", "paired_difference", "high_sets")

    def compute(self, study: Study, earlier: Report) -> Json:
        return {"multiverse": multiverse(earlier, study.data, study.shared)}

    def tables(self, report: Report) -> Iterator[Table]:
        yield multiverse_table(report)

    def figures(self, report: Report) -> Iterator[Figure | None]:
        yield specification_curve(report)

    def sentences(self, report: Report) -> Iterator[Sentence]:
        for code, text in _choices(report):
            yield Sentence.of("limit", text, code)
