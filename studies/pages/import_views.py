"""Importing items on a page: small files immediately, large ones by a worker with progress."""

import base64
from collections.abc import Sequence
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from studies.errors import BadOption, StudyError
from studies.importers.columns.recognition import needs_mapping
from studies.importers.columns.uploads import OtherColumns, head_of, keep_upload
from studies.importers.files.faults import STOPPED, Fault, Refused, faults_csv, group
from studies.importers.files.packed import ZIPPED
from studies.importers.items.import_report import LEFT_OUT
from studies.importers.items.replacement import counts, why_not
from studies.importers.items.storage import ImportResult
from studies.importers.sets import data_sets
from studies.importers.uploads import import_now, is_quick, keep_for_import, warnings_shown
from studies.jobs.pages import Retry, job_status
from studies.models import ImportJob, Membership
from studies.pages.forms import ImportForm
from studies.selectors import get_study
from studies.tasks import import_file

_REFUSED = 422


@require_http_methods(["GET", "POST"])
@login_required
def import_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Import items from files, or map the columns of a table to fields."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    dataset = data_sets().get(request.GET.get("set", ""))
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    there = counts(study)
    reason = why_not(study) if any(there) else ""
    form = ImportForm(
        *sent,
        dataset=dataset,
        initial={"task": study.task},
        there=there if there[0] and not reason else None,
    )
    context: dict[str, Any] = {
        "study": study,
        "form": form,
        "dataset": dataset,
        "why_not": reason,
        "sets": data_sets().values(),
    }
    if form.is_valid():
        uploads, reading = form.cleaned_data["file"], form.reading()
        dry_run, user = "check" in request.POST, cast(User, request.user)
        try:
            if dataset is None and _asks_for_columns(request, uploads):
                upload = keep_upload(
                    uploads, study=study, task=reading.task, replace=form.replaces(), user=user
                )
                return redirect("studies:import-columns", slug, upload.public_id)
            quick = is_quick(uploads, reading)
        except Refused as error:
            context |= refusal(error.faults, is_cut=False)
            return render(request, "studies/import.html", context, status=_REFUSED)
        except OtherColumns as error:
            form.add_error("file", str(error))
            return render(request, "studies/import.html", context, status=_REFUSED)
        if not quick:
            job = keep_for_import(
                uploads,
                study_id=study.pk,
                reading=reading,
                dry_run=dry_run,
                replace=form.replaces(),
                user=user,
            )
            import_file.delay_on_commit(job.pk)  # type: ignore[attr-defined]
            return redirect("studies:import-job", slug, job.public_id)
        try:
            result, report = import_now(
                uploads,
                slug=slug,
                reading=reading,
                dry_run=dry_run,
                replace=form.replaces(),
                user=user,
            )
        except Refused as error:
            context |= refusal(error.faults, is_cut=error.is_cut)
            return render(request, "studies/import.html", context, status=_REFUSED)
        except BadOption as error:
            form.refuse(error)
        except StudyError as error:
            form.add_error(None, str(error))
        else:
            if not dry_run:
                announce(request, result)
                for name, text in report.facts:
                    if name == LEFT_OUT:
                        messages.warning(request, f"{name}: {text}")
                return redirect("studies:detail", slug)
            context |= {"result": result, "report": report}
    status = _REFUSED if form.errors else 200
    return render(request, "studies/import.html", context, status=status)


def _asks_for_columns(request: HttpRequest, uploads: Sequence[UploadedFile]) -> bool:
    """Whether the columns are mapped first: the user asks for it, or the file needs it."""
    heads = [head_of(upload) for upload in uploads]
    if any(head.head().startswith(ZIPPED) for head in heads):
        return False
    return "columns" in request.POST or all(needs_mapping(head) for head in heads)


def announce(request: HttpRequest, result: ImportResult) -> None:
    """Say what was imported, and warn of what is missing."""
    messages.success(request, str(result))
    if result.created:
        messages.info(request, "A worker audits the items. The findings are under Items, Audit.")
    for sentence in warnings_shown(result):
        messages.warning(request, sentence)


@require_GET
@login_required
def import_job(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Show the progress of an import, or its result."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    job = get_object_or_404(ImportJob, study=study, public_id=public_id)
    is_imported = job.state == ImportJob.State.DONE and not job.dry_run
    label = "Import another file" if is_imported else "Import the file again"
    again = reverse("studies:import", args=[slug])
    if (upload := job.reading.get("upload")) and not is_imported:
        label, again = "Back to the columns", reverse("studies:import-columns", args=[slug, upload])
    context: dict[str, Any] = {
        "study": study,
        "job": job,
        "status_url": reverse("studies:import-status", args=[slug, public_id]),
        "retry": Retry(again, label, is_link=True),
    }
    if job.faults:
        faults = [Fault(**fault) for fault in job.faults]
        context |= refusal(faults, is_cut=STOPPED.strip() in job.message)
    return render(request, "studies/import_job.html", context)


@require_GET
@login_required
def import_status(request: HttpRequest, slug: str, public_id: str) -> JsonResponse:
    """Show the progress that the page fetches while a worker imports."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    return job_status(get_object_or_404(ImportJob, study=study, public_id=public_id))


def refusal(faults: Sequence[Fault], *, is_cut: bool) -> dict[str, Any]:
    """The faults by rule, and all of them as a file that is embedded in the page."""
    data = base64.b64encode(faults_csv(faults).encode()).decode()
    return {
        "groups": group(faults),
        "count": len(faults),
        "faults_url": f"data:text/csv;charset=utf-8;base64,{data}",
        "is_cut": is_cut,
    }
