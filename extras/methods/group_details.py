"""Groups of items and personas compared with one another."""

from analysis.report.section import Section


class GroupDetails(Section):
    """Differences between groups, and personas on which each side errs."""

    name = "group_details"
    shows = ("differences_*", "errors_by_group")


GROUP_DETAILS = GroupDetails()
