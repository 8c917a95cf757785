"""The chapter on biases of judges."""

from collections.abc import Mapping
from typing import Any

from analysis.report.section import Report, ReportPage, Section
from analysis.report.sections.bias.own_responses import OwnResponsesSection
from analysis.report.sections.bias.probes import Probes

TABLES = ("bias_probes", "bias_position", "persona_probes", "own_responses")


class Bias(Section):
    """Probes of judges' biases, and whether they prefer their own responses."""

    name = "bias"
    title = "Bias probes"
    inside = "Probes of responses, of the side, of the persona, and of own responses"
    parts = (Probes(), OwnResponsesSection())

    def is_needed(self, report: Report) -> bool:
        return not {"probes", "own"}.isdisjoint(report.get("bias", ()))

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        return {"bias_tables": [page.tables[name] for name in TABLES if name in page.tables]}
