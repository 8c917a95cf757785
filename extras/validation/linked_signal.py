"""What the persona is worth, measured in a linked study: the newest report of that study has it.

A linked study asks the same items about other personas. Its source names this study, and an owner
of this study owns it too, so that nobody else can write into a report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from analysis.data.arrays import Dataset, DesignData
from analysis.data.extras import ExtraReader
from analysis.models import Report
from analysis.report.report_json import Json, put
from analysis.report.section import ReportJson
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import run_name
from studies.models import Membership, Study

SIGNAL = "persona_signal"  # the part of a report, and the key in the source of a linked study
_RUN = ("judge", "setting", "features", "wording", "framing")


@dataclass(frozen=True, eq=False)
class LinkedSignal(DesignData):
    """The linked study and what its report says about the persona."""

    study: str
    signal: Mapping[str, Any]

    @property
    def digest(self) -> Any:
        """Equal for equal contents."""
        return [self.study, self.signal]


def linked_signal(study: Study, data: Dataset, position: Mapping[int, int]) -> LinkedSignal | None:
    """The worth in the linked study that was reported last; None without one."""
    owners = study.memberships.filter(role=Membership.Role.OWNER).values("user")
    shared = Q(memberships__role=Membership.Role.OWNER, memberships__user__in=owners)
    linked = Study.objects.filter(source__persona_signal__from=study.slug)
    # The command line makes studies without members.
    reports = Report.objects.filter(
        study__in=linked.filter(shared | Q(memberships=None)),
        state=Report.State.DONE,
        view={},
        result__has_key=SIGNAL,
    )
    newest = reports.order_by("-pk").values_list("study__slug", f"result__{SIGNAL}").first()
    return None if newest is None else LinkedSignal(*newest)


LINKED = ExtraReader("linked_signal", linked_signal)


def signal_entry(linked: LinkedSignal | None) -> Json:
    """The entry of report.json; empty without a linked study."""
    if linked is None:
        return {}
    return {
        "linked_worth": {
            "study": linked.study,
            "people": _gain(linked.signal["people"]),
            "judges": [
                {name: judge[name] for name in ("run", *_RUN) if name in judge} | _gain(judge)
                for judge in linked.signal["judges"]
            ],
        }
    }


def _gain(entry: Mapping[str, Any]) -> Json:
    gain = entry["gain"]
    out: Json = {"n": entry["n"]}
    put(out, "worth", gain["value"], gain.get("value_reason"))
    put(out, "worth_ci", gain["ci"], gain.get("ci_reason"))
    return out


def signal_of(report: ReportJson, judge: ReportJson | None) -> Mapping[str, Any] | None:
    """What the persona is worth to a run of this study asked alike, or to people for None."""
    linked = report.get("linked_worth")
    if linked is None or judge is None:
        return None if linked is None else linked["people"]
    alike = (
        entry
        for entry in linked["judges"]
        if all(entry.get(name) == judge.get(name) for name in _RUN)
    )
    return next(alike, None)


def signal_tables(report: ReportJson) -> Iterator[Table]:
    if linked := report.get("linked_worth"):
        judges = [(run_name(judge, linked["judges"]), judge) for judge in linked["judges"]]
        yield table_of_entries(
            "datasheet_worth",
            "What the persona is worth",
            [*judges, ("People", linked["people"])],
            [
                ("Items", "count", "n"),
                ("Worth", "points", "worth"),
                ("95 %", "points_range", "worth_ci", "Worth"),
            ],
            f"Accuracy with the own persona minus accuracy with another, in percentage points, "
            f"from the newest report of the linked study “{linked['study']}”.",
            first="Who",
        )
