"""The chapter on position, length and ties."""

from collections.abc import Mapping
from typing import Any

from analysis.report.section import ReportPage, Section
from analysis.report.sections.position.length import LengthSection
from analysis.report.sections.position.noise import Noise
from analysis.report.sections.position.sides import SidesSection, lights
from analysis.report.sections.position.ties import Ties


class Position(Section):
    """Effects of the side of the screen, of length, and of a tie option."""

    name = "position"
    title = "Position, length and ties"
    inside = "Sides of the screen, lengths, ties, and noise"
    parts = (SidesSection(), LengthSection(), Ties(), Noise())

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        return {"lights": lights(page.report)}
