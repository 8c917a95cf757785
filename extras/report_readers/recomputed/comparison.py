"""The page with two versions of a report side by side."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.lifecycle.main_numbers import ComparedRow, compare_results, compare_settings
from analysis.lifecycle.storage import report_dir, reports_for
from analysis.models import Report
from extras.report_readers.recomputed.differences import ReportDifference, differences
from studies.importers.files.lines import BadLine, table_rows
from studies.selectors import get_study

SHOWN = 100
# Data, records and descriptions are not listed, because readers compare numbers.
LISTED_FIRST = ("inputs", "seed", "parameters", "study", "human", "judges", "comparison")
NOT_LISTED = (
    "items",
    "deviations",
    "software",
    "registration",
    "headline",
    "certainty_headline",
    "bands",
)


@dataclass(frozen=True)
class VersionComparison:
    """Changes in how the reports were made, in their main numbers, and in every value.

    `n_items` is the number of changed items, which are not listed; None if the files of a report
    are gone.
    """

    made: list[ComparedRow]
    found: list[ComparedRow]
    changes: list[ReportDifference]
    n_changes: int
    n_items: int | None


def compare_reports(first: Report, second: Report) -> VersionComparison:
    before, after = first.result or {}, second.result or {}
    listed = list(differences(_listed(before), _listed(after)))
    return VersionComparison(
        made=compare_settings(before, after),
        found=compare_results(before, after),
        changes=listed[:SHOWN],
        n_changes=len(listed),
        n_items=_changed_items(first, second),
    )


def _changed_items(first: Report, second: Report) -> int | None:
    """Number of rows that differ in the item tables; None if a report has no files."""
    try:
        old, new = _item_rows(first), _item_rows(second)
    except OSError:
        return None
    return sum(old.get(key) != new.get(key) for key in old | new)


def _item_rows(report: Report) -> dict[str, int]:
    """A hash of each row by item key, because the rows may take a hundred megabytes."""
    path = report_dir(report.public_id) / "tables" / "items.csv"
    with path.open() as file:
        rows = (line[1] for line in table_rows(file, path.name) if not isinstance(line, BadLine))
        return {row["Item"]: hash(tuple(row.values())) for row in rows}


def _listed(report: Mapping[str, Any]) -> dict[str, Any]:
    """The keys compared value by value, in a fixed order because a database may change it."""
    rest = sorted(key for key in report if key not in (*LISTED_FIRST, *NOT_LISTED))
    return {key: report[key] for key in (*LISTED_FIRST, *rest) if key in report}


class CompareForm(forms.Form):
    """A form to choose two versions of a study's report."""

    before = forms.ChoiceField(label="Before")
    after = forms.ChoiceField(label="After")

    def __init__(self, *args: Any, reports: Iterable[Report], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reports = {report.public_id: report for report in reports}
        choices = [
            (key, f"v{report.number} of {report.created_at:%d %b %Y, %H:%M} UTC")
            for key, report in self.reports.items()
        ]
        for name in ("before", "after"):
            cast(forms.ChoiceField, self.fields[name]).choices = choices

    def chosen(self) -> tuple[Report, Report]:
        data = self.cleaned_data
        return self.reports[data["before"]], self.reports[data["after"]]


@login_required
@require_GET
def compare(request: HttpRequest, slug: str) -> HttpResponse:
    """Show two versions side by side, by default the last two."""
    study = get_study(request.user, slug)
    reports = list(reports_for(request.user, slug).filter(state=Report.State.DONE))
    form = CompareForm(request.GET or None, reports=reports)
    chosen = (reports[1], reports[0]) if len(reports) > 1 else None
    if form.is_bound and form.is_valid():
        chosen = form.chosen()
    elif chosen:
        form.initial = {"before": chosen[0].public_id, "after": chosen[1].public_id}
    context = {"study": study, "form": form, "chosen": chosen}
    if chosen:
        context["compared"] = compare_reports(*chosen)
        context["headlines"] = [
            (report, (report.result or {}).get("headline")) for report in chosen
        ]
    status = 422 if form.is_bound and form.errors else 200
    return render(request, "verification/compare.html", context, status=status)
