"""Contributions of reports and exports to a study's pages."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from analysis.models import Export, Report
from studies.extra import Kind
from studies.models.studies import Study
from studies.pages.workbench import (
    Mark,
    Need,
    SectionPage,
)


@dataclass(frozen=True)
class ReportPart:
    """A part of the page of a finished report: `template` with `context` of the report as `part`.

    The page loads itself again while the `job` of a context is open.
    """

    name: str
    template: str
    context: Callable[[Report], Mapping[str, Any]]


REPORT_PARTS: Kind[ReportPart] = Kind("parts", "report")


def reports_mark(study: Study) -> list[Mark]:
    """The reports and exports of a study, with alerts only about the newest of each."""
    return [
        _mark("report", list(_states(Report.own.filter(study=study)))),
        _mark("exports", list(_states(Export.objects.filter(study=study)))),
    ]


def _states(jobs: QuerySet[Report] | QuerySet[Export]) -> Iterable[str]:
    return jobs.order_by("-pk").values_list("state", flat=True)


def _mark(section: str, states: list[str]) -> Mark:
    """A mark for the states of jobs, newest first."""
    failed = bool(states) and states[0] == Export.State.FAILED
    done = sum(state == Export.State.DONE for state in states)
    return Mark(section, done, "failed" if failed else "")


def report_pages(study: Study) -> list[SectionPage]:
    return [
        SectionPage("report", "All reports", reverse("analysis:list", args=[study.slug])),
        SectionPage(
            "report",
            "Disagreements",
            reverse("disagreements:list", args=[study.slug]),
            once="judges",
        ),
        SectionPage(
            "report", "Another view", reverse("analysis:view", args=[study.slug]), once="report"
        ),
    ]


def report_needs(study: Study) -> Iterator[Need]:
    report = Report.objects.filter(study=study).order_by("-pk").only("state", "public_id").first()
    if report is not None and report.state == Report.State.FAILED:
        address = reverse("analysis:report", args=[study.slug, report.public_id])
        yield Need("The newest report could not be built.", address, "Open the report")
    state = Export.objects.filter(study=study).order_by("-pk").values_list("state", flat=True)
    if state.first() == Export.State.FAILED:
        address = reverse("exports:list", args=[study.slug])
        yield Need("The newest export could not be written.", address, "Look at exports")
