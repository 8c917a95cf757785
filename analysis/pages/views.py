"""Pages to build, follow and open a study's reports."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from analysis.data.views import View
from analysis.errors import BadParameters
from analysis.lifecycle.requests import (
    GIVEN_OUT,
    GivenOut,
    request_report,
    run_names_in,
)
from analysis.lifecycle.storage import (
    BOOTSTRAP_RANGE,
    SEED_RANGE,
    get_report,
    registered,
    report_dir,
    reports_for,
)
from analysis.pages.another_view import query_of
from analysis.pages.workbench import REPORT_PARTS
from analysis.report import added_files
from analysis.report.rules import MORE_PAGES
from studies.jobs.retry import Retry, job_status
from studies.models.studies import Membership, Study
from studies.selectors import get_study, studies_for


class ReportForm(forms.Form):
    threshold = forms.IntegerField(
        label="High-certainty threshold",
        min_value=1,
        max_value=100,
        required=False,
        help_text="From 1 to 100. Values other than the study’s are marked as explored.",
    )
    bootstrap = forms.IntegerField(
        label="Resamples",
        min_value=BOOTSTRAP_RANGE[0],
        max_value=BOOTSTRAP_RANGE[1],
        required=False,
        help_text="For the bootstrap and permutation tests. The paper uses 1,000.",
    )
    seed = forms.IntegerField(
        label="Seed",
        min_value=SEED_RANGE[0],
        max_value=SEED_RANGE[1],
        required=False,
        help_text="The same answers and the same seed give the same report.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = registered(study)
        self.defaults = {
            "threshold": own.threshold,
            "bootstrap": own.bootstrap,
            "seed": own.seed,
        }
        self.initial = {**self.defaults, **self.initial}

    def chosen(self) -> dict[str, Any]:
        """The entered values, with defaults for empty fields."""
        return {
            name: default if self.cleaned_data[name] is None else self.cleaned_data[name]
            for name, default in self.defaults.items()
        }


@login_required
@require_GET
def list_reports(request: HttpRequest, slug: str) -> HttpResponse:
    """List the versions of the report, and build a new one."""
    study = get_study(request.user, slug)
    context = {
        "study": study,
        "reports": reports_for(request.user, slug),
        "registered": registered(study),
        "form": ReportForm(study=study),
        "may_build": _may_build(request, slug),
    }
    return render(request, "analysis/list.html", context)


@login_required
@require_POST
def build(request: HttpRequest, slug: str) -> HttpResponse:
    """Queue a new version of the report."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    form = ReportForm(request.POST, study=study)
    if form.is_valid():
        try:
            user = cast(User, request.user)
            report = request_report(study_id=study.pk, user=user, **form.chosen())
        except BadParameters as error:
            messages.error(request, str(error))
        else:
            return redirect("analysis:report", slug=slug, public_id=report.public_id)
    context = {
        "study": study,
        "reports": reports_for(request.user, slug),
        "registered": registered(study),
        "form": form,
        "may_build": True,
    }
    return render(request, "analysis/list.html", context, status=422)


@login_required
@require_GET
def show_report(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Show the progress of a report, or its result and downloads."""
    report = get_report(request.user, slug, public_id)
    same = {
        "action": "build",
        "threshold": report.threshold,
        "bootstrap": report.bootstrap,
        "seed": report.seed,
    }
    again = f"{reverse('analysis:view', args=[slug])}?{query_of(report.view)}"
    context = {
        "study": report.study,
        "report": report,
        "retry": Retry(again, "Change or rebuild this view", is_link=True)
        if report.view
        else Retry(
            reverse("analysis:list", args=[slug]),
            "Rebuild with current answers",
            fields=same,
        ),
        "headline": report.result.get("headline") if report.result else None,
        "changes": View.of(report.view).changes(run_names_in(report.study)) if report.view else (),
        "again": again,
        "what_changes": (report.result or {}).get("view", {}).get("what_changes", ()),
        "has_card": (report_dir(public_id) / "card.svg").is_file(),
        "own_pages": MORE_PAGES.of(report.study),
        "added_files": added_files.MORE.of(report.study),
        "registered": registered(report.study),
        "parts": [(part.template, part.context(report)) for part in REPORT_PARTS.of(report.study)],
        "may_build": _may_build(request, slug),
        "given_out": _given_out(request, slug),
    }
    return render(request, "analysis/report.html", context)


def _given_out(request: HttpRequest, slug: str) -> list[GivenOut]:
    owned = studies_for(request.user, role=Membership.Role.OWNER).filter(slug=slug)
    return list(GIVEN_OUT) if owned.exists() else []


@login_required
@require_GET
def status(request: HttpRequest, slug: str, public_id: str) -> JsonResponse:
    """Show the progress that the page polls while a report is being built."""
    return job_status(get_report(request.user, slug, public_id))


def _may_build(request: HttpRequest, slug: str) -> bool:
    return studies_for(request.user, role=Membership.Role.EDITOR).filter(slug=slug).exists()
