"""The chapter on groups."""

from collections.abc import Mapping
from typing import Any

from analysis.report.section import ReportPage, Section
from analysis.report.sections.groups.accuracy import GroupAccuracy
from analysis.report.sections.groups.annotator_groups import AnnotatorGroups
from analysis.report.sections.groups.cross_group import CrossGroupAccuracy
from analysis.report.sections.groups.errors import GroupsOfErrors


class GroupsSection(Section):
    """Accuracy by topic, by persona feature, and across groups of annotators."""

    name = "groups"
    title = "Who and what is hard"
    inside = "By topic, by persona feature, and who judges whom"
    parts = (GroupAccuracy(), GroupsOfErrors(), CrossGroupAccuracy(), AnnotatorGroups())

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        tables = page.tables
        return {
            "groups": [
                (shown, tables.get(name.replace("group_", "differences_")))
                for name, shown in tables.items()
                if name.startswith("group_")
                and not ("heat_topics" in page.figures and name == "group_1")
            ],
            "whom": [shown for name, shown in tables.items() if name.startswith("whom_")],
            "annotators": [
                (shown, tables.get(name.replace("annotators_", "annotator_differences_")))
                for name, shown in tables.items()
                if name.startswith("annotators_")
            ],
        }
