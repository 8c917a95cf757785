"""Choose studies, follow the report about them, open its pages and take all of its files."""

from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser, User
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET, require_http_methods

from analysis.pages.files import scripted_page, zipped
from extras.report_readers import tasks
from extras.report_readers.models import StudiesReport
from extras.report_readers.several import building
from studies.file_storage.storage import Stored
from studies.jobs.retry import Retry, job_status
from studies.models import Study
from studies.pages.workbench import ListPart
from studies.selectors import studies_for

MOST = 24
LINK = ListPart(
    "several_studies",
    "several_studies/_link.html",
    lambda user: {"has_several": studies_for(user)[:2].count() > 1},
)


class ChosenStudies(forms.ModelMultipleChoiceField):
    def label_from_instance(self, study: Study) -> str:
        return f"{study.title} ({study.slug}{', simulated' if study.is_simulated else ''})"


class StudiesForm(forms.Form):
    studies = ChosenStudies(
        queryset=None,
        label="Studies",
        to_field_name="slug",
        widget=forms.CheckboxSelectMultiple,
        help_text="Each gets its own report, as it is now, and a row in the tables of all.",
        error_messages={"required": "Choose at least two studies."},
    )
    is_pooled = forms.BooleanField(
        label="Also pool them in one report",
        required=False,
        help_text="For a pilot and its main study, or for waves. Only studies that asked the same "
        "question in the same way are pooled; the page says which are not, and why.",
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        studies = studies_for(user).order_by("-created_at", "-pk")
        cast(ChosenStudies, self.fields["studies"]).queryset = studies

    def clean_studies(self) -> Any:
        studies = self.cleaned_data["studies"]
        if len(studies) < 2:
            raise forms.ValidationError("Choose at least two studies.")
        if len(studies) > MOST:
            raise forms.ValidationError(f"Choose at most {MOST} studies.")
        return studies


@require_http_methods(["GET", "POST"])
@login_required
def choose(request: HttpRequest) -> HttpResponse:
    """Show the form, with studies of the address chosen, and the reports so far."""
    user = cast(User, request.user)
    form = StudiesForm(
        request.POST if request.method == "POST" else None,
        user=user,
        initial={"studies": request.GET.getlist("studies")},
    )
    if form.is_valid():
        report = building.request_report(user=user, task=tasks.build, **form.cleaned_data)
        return redirect("several_studies:show", report.public_id)
    context = {
        "form": form,
        "reports": building.reports_of(user),
        "has_several": studies_for(user)[:2].count() > 1,
    }
    status = 422 if form.is_bound else 200
    return render(request, "several_studies/choose.html", context, status=status)


def _get(user: User | AnonymousUser, report_id: str) -> StudiesReport:
    matches = (known for known in building.reports_of(user) if known.public_id == report_id)
    report = next(matches, None)
    if report is None:
        raise Http404("There is no such report, or it is about a study that you cannot see.")
    return report


def _folder(user: User | AnonymousUser, report_id: str) -> tuple[StudiesReport, Stored]:
    report = _get(user, report_id)
    if report.state != StudiesReport.State.DONE:
        raise Http404("The files of this report do not exist. Build it again.")
    return report, building.folder_of(report)


@require_GET
@login_required
def show(request: HttpRequest, report_id: str) -> HttpResponse:
    """Show the progress of a report, or its pages and downloads."""
    report = _get(request.user, report_id)
    chosen = urlencode({"studies": report.slugs}, doseq=True)
    context = {
        "report": report,
        "studies": Study.objects.filter(slug__in=report.slugs).order_by("pk"),
        "has_article": (building.folder_of(report) / "article/article.html").is_file(),
        "pooled": building.pooled_of(report),
        "retry": Retry(
            f"{reverse('several_studies:choose')}?{chosen}", "Choose again", is_link=True
        ),
    }
    return render(request, "several_studies/report.html", context)


@require_GET
@login_required
def status(request: HttpRequest, report_id: str) -> JsonResponse:
    return job_status(_get(request.user, report_id))


@require_GET
@login_required
def download(request: HttpRequest, report_id: str) -> FileResponse:
    _, folder = _folder(request.user, report_id)
    return FileResponse(zipped(folder, ""), as_attachment=True, filename="studies.zip")


# The pages of a report have neither secrets nor words of a request, so they may be compressed.
@gzip_page
@require_GET
@login_required
def file(request: HttpRequest, report_id: str, name: str) -> HttpResponseBase:
    """Send a page, or any other file as a download."""
    report, folder = _folder(request.user, report_id)
    wanted = next(
        (stored for stored in folder.files() if stored.path == f"{folder.path}/{name}"), None
    )
    if wanted is None:
        raise Http404("This report has no such file.")
    if name.endswith(".html"):
        return scripted_page(request, wanted, report.content_security_policy)
    return FileResponse(wanted.open(), as_attachment=True, filename=name.rsplit("/", 1)[-1])
