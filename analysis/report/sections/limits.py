"""The chapter on limits."""

from analysis.report.section import Section


class Limits(Section):
    """Limits of a report, as every section states its own."""

    name = "limits"
    title = "Limits"
