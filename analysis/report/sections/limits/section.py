"""The chapter on limits."""

from analysis.report.section import Section
from analysis.report.sections.limits.claims import Claims


class Limits(Section):
    """Limits of a report, as every section states its own."""

    name = "limits"
    title = "Limits"
    inside = "All limits of this study"
    is_printed = True
    parts = (Claims(),)
