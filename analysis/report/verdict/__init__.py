"""The first screen of a report: the answer, a chart, caveats, and what would settle it.

It is computed from report.json when a page is rendered, so a report's numbers never change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.report.verdict.answer import VerdictAnswer, answer_of
from analysis.report.verdict.first_screen import (
    VerdictChart,
    caveats_of,
    chart_of,
    sensitivity_of,
    settling_of,
)


@dataclass(frozen=True)
class ReportVerdict:
    """What a reader sees before scrolling; `chart` is None if nothing can be compared.

    `sensitivity` says for which epsilon the answer holds, if it depends on one.
    """

    answer: VerdictAnswer
    chart: VerdictChart | None
    caveats: list[str]
    settling: str
    sensitivity: str


def verdict_of(report: Mapping[str, Any]) -> ReportVerdict:
    return ReportVerdict(
        answer_of(report),
        chart_of(report),
        caveats_of(report),
        settling_of(report),
        sensitivity_of(report),
    )
