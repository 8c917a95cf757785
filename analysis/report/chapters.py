"""The chapters that extras add to a report.

They are named here, away from `sections`, because every process learns of them when it starts, and
few of them load statistics.
"""

from typing import TYPE_CHECKING

from studies.additions import Additions

if TYPE_CHECKING:
    from analysis.report.section import Section

MORE: "Additions[Section]" = Additions()
