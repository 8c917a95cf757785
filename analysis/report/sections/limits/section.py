"""The chapter on limits."""

from collections.abc import Iterator

from analysis.report.section import Report, Section, Sentence
from analysis.report.sections.limits.claims import Claims
from analysis.report.text.thresholds import late_changes


class LimitsSection(Section):
    """Limits of a report, as every section states its own."""

    name = "limits"
    title = "Limits"
    inside = "All limits of this study"
    is_printed = True
    parts = (Claims(),)

    def sentences(self, report: Report) -> Iterator[Sentence]:
        """Warn where nothing was announced, or was changed later."""
        registered = report["registration"]
        if registered["plan"] is None:
            words = f"{registered['because']} All of this is exploratory."
            yield Sentence.of("limit", words, "explored")
        for words in late_changes(report):
            yield Sentence.of("limit", words, "late_change")
