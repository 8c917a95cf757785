"""The chapter on methods."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.report.section import Report, ReportPage, Section
from analysis.report.sections.methods.runs import flat, prompts
from analysis.report.sections.methods.tables import as_registered, band_definitions, registered
from analysis.report.tables import Table
from analysis.report.text.thresholds import threshold_standing


def _origin(report: Mapping[str, Any]) -> str:
    """The origin of the report's threshold, for the rules of the methods."""
    if report["parameters"]["explored"]:
        return "explored: chosen for this report, post hoc"
    standing = threshold_standing(report)
    return {
        "registered": "registered in the plan that was frozen before the data",
        "set before the data": "set before the data in the study's settings",
    }.get(standing, f"{standing}, post hoc")


class Methods(Section):
    """Every rule, run and prompt, and what was registered."""

    name = "methods"
    title = "Methods"
    inside = "Items, checks, rules, formulas, runs, prompts, and where each number comes from"

    def tables(self, report: Report) -> Iterator[Table]:
        yield band_definitions(report)
        yield registered(report)
        yield as_registered(report)

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        report, sources = page.report, page.tables["methods"].table
        # Without a truth the page has no tables of accuracy, but their files exist.
        hidden = set() if page.has_truth else {"at_a_glance", "table_b", "comparison"}
        return {
            "linked": set(page.tables) - hidden,
            "source_rows": [(cells, cells[2].text, cells[3].text) for cells in sources.cells],
            "prompts": prompts(report),
            "threshold_origin": _origin(report),
            "source": list(flat(report["study"]["source"], "study.source")),
        }
