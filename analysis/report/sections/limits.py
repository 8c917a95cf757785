"""The chapter on limits."""

from analysis.report.section import Section


class Limits(Section):
    """What a report cannot say: every section states its own limits."""

    name = "limits"
    title = "Limits"
