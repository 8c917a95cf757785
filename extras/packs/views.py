"""Packs of a run: request one, download it, upload replies to it."""

import base64
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from extras.packs import jobs
from extras.packs.delivery import discard_packs
from extras.packs.models import PackJob
from extras.packs.packing import may_pack
from extras.packs.tasks import work_on_pack
from judging.models import JudgeRun
from judging.selectors import get_run
from studies.importers.files.faults import STOPPED, Fault, faults_csv, group
from studies.jobs.retry import Retry, job_status
from studies.models import Membership, Study
from studies.pages.import_views import FilesField
from studies.selectors import get_study


class RepliesForm(forms.Form):
    """Files of raw replies."""

    replies = FilesField(
        label="Files of replies",
        help_text="Output of vllm run-batch or of a provider’s batch. You can choose several.",
    )


@login_required
@require_POST
def ask_for_pack(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Let a worker write the open questions of a run as a pack."""
    _, run = _study_and_run(request, slug, run_id)
    if not may_pack(run):
        messages.info(request, "No pack was written, because the state of the run has changed.")
        return redirect("judging:run", slug, run_id)
    job = jobs.request_pack(run, task=work_on_pack, user=cast(User, request.user))
    if job.state == PackJob.State.QUEUED:
        work_on_pack.delay_on_commit(job.pk)  # type: ignore[attr-defined]
    return redirect("packs:job", slug, run_id, job.public_id)


@login_required
@require_POST
def discard_pack(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Stop waiting for the replies to packs of a run."""
    _, run = _study_and_run(request, slug, run_id)
    if not discard_packs(run_id=run.pk, user=cast(User, request.user)):
        messages.info(request, "Nothing was done, because the state of the run has changed.")
    return redirect("judging:run", slug, run_id)


@login_required
@require_http_methods(["GET", "POST"])
def upload_replies(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """Upload raw replies to packs of a run; a worker reads them."""
    study, run = _study_and_run(request, slug, run_id)
    form = RepliesForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    if form.is_valid():
        files = form.cleaned_data["replies"]
        job = jobs.keep_replies(files, run=run, user=cast(User, request.user))
        work_on_pack.delay_on_commit(job.pk)  # type: ignore[attr-defined]
        return redirect("packs:job", slug, run_id, job.public_id)
    context = {"study": study, "run": run, "form": form}
    return render(request, "packs/replies.html", context, status=422 if form.errors else 200)


@login_required
@require_GET
def pack_job(request: HttpRequest, slug: str, run_id: str, job_id: str) -> HttpResponse:
    """Show the progress of a job on packs, or its result."""
    study, run = _study_and_run(request, slug, run_id)
    job = _job(run, job_id)
    if job.kind == PackJob.Kind.WRITE:
        retry = Retry(reverse("packs:write", args=[slug, run_id]), "Write the pack again")
    else:
        again = reverse("packs:replies", args=[slug, run_id])
        retry = Retry(again, "Upload other files", is_link=True)
    context: dict[str, Any] = {
        "study": study,
        "run": run,
        "job": job,
        "retry": retry,
        "has_file": _has_file(job),
    }
    if job.faults:
        faults = [Fault(**fault) for fault in job.faults]
        data = base64.b64encode(faults_csv(faults).encode()).decode()
        context |= {
            "groups": group(faults),
            "count": len(faults),
            "faults_url": f"data:text/csv;charset=utf-8;base64,{data}",
            "is_cut": STOPPED.strip() in job.message,
        }
    return render(request, "packs/job.html", context)


@login_required
@require_GET
def pack_status(request: HttpRequest, slug: str, run_id: str, job_id: str) -> JsonResponse:
    """The progress that the page fetches while a worker writes or reads a pack."""
    _, run = _study_and_run(request, slug, run_id)
    return job_status(_job(run, job_id))


@login_required
@require_GET
def download_pack(request: HttpRequest, slug: str, run_id: str, job_id: str) -> FileResponse:
    """Send a pack as a zip file; for editors, because it contains texts of the study."""
    _, run = _study_and_run(request, slug, run_id)
    job = _job(run, job_id)
    if not _has_file(job):
        raise Http404("The file of this pack does not exist. Write another pack.")
    name = f"pack-{slug}-{run.public_id}.zip"
    response = FileResponse(jobs.archive_of(job).open(), as_attachment=True, filename=name)
    response["Cache-Control"] = "private, no-store"
    return response


def _study_and_run(request: HttpRequest, slug: str, run_id: str) -> tuple[Study, JudgeRun]:
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    return study, get_run(study, run_id)


def _job(run: JudgeRun, job_id: str) -> PackJob:
    return get_object_or_404(PackJob, run=run, public_id=job_id)


def _has_file(job: PackJob) -> bool:
    is_written = job.kind == PackJob.Kind.WRITE and job.state == PackJob.State.DONE
    return is_written and jobs.archive_of(job).is_file()
