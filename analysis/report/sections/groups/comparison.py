"""Cells and differences of groups, and each side's accuracy in them."""

from collections.abc import Sequence

from analysis.report.encode import Json, cell, estimate, number, put
from analysis.report.tables import TableColumn
from analysis.stats.core.groups import GroupComparison
from analysis.stats.core.proportions import EMPTY

# The name of the analysis that lists the tables of groups.
FAMILY = "groups"


def group_cell(side: GroupComparison, code: int) -> Json:
    return cell(side.cells.get(code, EMPTY)) | {"support": side.support.get(code, "nothing")}


def differences(side: GroupComparison, names: Sequence[str]) -> list[Json]:
    out = []
    for pair in side.differences:
        found = pair.difference
        entry: Json = {"first": names[pair.first], "second": names[pair.second]}
        entry |= estimate(found, "difference")
        put(entry, "p", number(pair.p), found.interval_reason or "no_variation")
        put(entry, "p_holm", number(pair.p_adjusted), found.interval_reason or "no_variation")
        out.append(entry)
    return out


DIFFERENCE = (
    TableColumn("Difference", "points"),
    TableColumn("95 % interval", "points_range"),
    TableColumn("p", "p"),
    TableColumn("Holm p", "p"),
)
