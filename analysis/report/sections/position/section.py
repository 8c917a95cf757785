"""The chapter on position, length and ties."""

from collections.abc import Mapping
from typing import Any

from analysis.report.section import Page, Section
from analysis.report.sections.position.length import Length
from analysis.report.sections.position.noise import Noise
from analysis.report.sections.position.sides import Sides, lights
from analysis.report.sections.position.ties import Ties


class Position(Section):
    """Effects of the side of the screen, of length, and of a tie option."""

    name = "position"
    title = "Position, length and ties"
    inside = "Sides of the screen, lengths, ties, and noise"
    parts = (Sides(), Length(), Ties(), Noise())

    def context(self, page: Page) -> Mapping[str, Any]:
        return {"lights": lights(page.report)}
