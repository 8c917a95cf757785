"""Mapping the columns of an uploaded file, with a preview of the items, and importing by it."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from studies.errors import StudyError
from studies.importers import uploads
from studies.importers.columns.fields import NOT_IMPORTED
from studies.importers.columns.uploads import (
    Kept,
    delete_files,
    files_of,
    folder_of,
    mapping_of,
    note_mapping,
    read_kept,
)
from studies.importers.files.faults import Refused, group
from studies.importers.items.import_report import LEFT_OUT
from studies.importers.items.unknown_columns import further_responses
from studies.importers.uploads import UploadReading, import_paths, keep_copy_for_import
from studies.models import Membership, Study, Upload
from studies.pages.framed import with_frames
from studies.pages.import_views import announce, refusal
from studies.pages.items.mapping_form import MappingForm, sent_mapping, unsaved
from studies.selectors import get_study
from studies.services.items.item_preview import show_item
from studies.tasks import import_file

_REFUSED = 422
_ANSWERS = [("r1", "Response 1"), ("r2", "Response 2"), ("tie", "Tie"), ("none", "No answer")]


@require_http_methods(["GET", "POST"])
@login_required
def columns(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Show the columns with their fields and three items; import them by the mapping."""
    study, upload = _upload(request, slug, public_id)
    kept = read_kept(upload)
    if kept is None:
        messages.warning(request, "We no longer have this file. Choose it again.")
        return redirect("studies:import", slug)
    if request.method == "GET":
        return _page(request, study, kept)
    mapping = sent_mapping(kept.head, mapping_of(upload), request.POST.dict())
    note_mapping(upload, mapping)
    if "update" in request.POST:
        address = reverse("studies:import-columns", args=[slug, public_id])
        return redirect(f"{address}#result")
    if faults := mapping.faults():
        return _page(request, study, kept, problems=faults, status=_REFUSED)
    return _import(request, study, kept)


_ANNOUNCED = ("Columns not imported", "Left out", LEFT_OUT, "Changed")


def _import(request: HttpRequest, study: Study, kept: Kept) -> HttpResponse:
    upload = kept.upload
    skips = "skip_faulty" in request.POST
    reading = UploadReading(task=upload.task, mapping=upload.mapping, skip_faulty=skips)
    how: dict[str, Any] = {"reading": reading, "dry_run": "check" in request.POST}
    how |= {"replace": upload.replace, "user": cast(User, request.user)}
    if not uploads.are_quick(files_of(upload)):
        if not how["dry_run"]:
            note_mapping(upload, mapping_of(upload), is_imported=True)
        how |= {"study_id": study.pk, "upload": upload.public_id, "names": upload.files}
        job = keep_copy_for_import(folder_of(upload), **how)
        import_file.delay_on_commit(job.pk)  # type: ignore[attr-defined]
        return redirect("studies:import-job", study.slug, job.public_id)
    try:
        with folder_of(upload).local() as folder:
            paths = [folder / name for name in upload.files]
            result, report = import_paths(paths, slug=study.slug, **how)
    except Refused as error:
        faults = refusal(error.faults, is_cut=error.is_cut)
        return _page(request, study, kept, status=_REFUSED, **faults)
    except StudyError as error:
        return _page(request, study, kept, problems=[str(error)], status=_REFUSED)
    if how["dry_run"]:
        return _page(request, study, kept, result=result, report=report)
    note_mapping(upload, mapping_of(upload), is_imported=True)
    delete_files(upload)
    announce(request, result)
    for name, text in report.facts:
        if name in _ANNOUNCED and text not in (
            "none",
            "nothing",
        ):
            messages.info(request, f"{name}: {text}.")
    return redirect("studies:detail", study.slug)


def _page(
    request: HttpRequest, study: Study, kept: Kept, *, status: int = 200, **extra: Any
) -> HttpResponse:
    upload = kept.upload
    form = MappingForm(kept.head, mapping_of(upload), task=upload.task)
    context: dict[str, Any] = {
        "study": study,
        "upload": upload,
        "name": ", ".join(upload.files),
        "form": form,
        "since": kept.since,
        "answers": _ANSWERS,
        "missing": form.mapping.faults(),
        "further": further_responses(form.mapping.columns_of(NOT_IMPORTED)),
        "head_groups": group(form.first.faults),
        "frames": [
            reverse("studies:import-preview", args=[study.slug, upload.public_id, number])
            for number in range(1, len(form.first.items) + 1)
        ],
        **extra,
    }
    return with_frames(render(request, "studies/import_columns.html", context, status=status))


@require_GET
@login_required
def mapping_file(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """The mapping as a file, for the command `import_items --mapping`."""
    _, upload = _upload(request, slug, public_id)
    response = JsonResponse(upload.mapping, json_dumps_params={"indent": 2, "ensure_ascii": False})
    response.headers["Content-Disposition"] = 'attachment; filename="mapping.json"'
    return response


@require_http_methods(["GET", "POST"])
@login_required
def preview_item(request: HttpRequest, slug: str, public_id: str, number: int) -> HttpResponse:
    """One of the first items as annotators will see it. Sending it changes nothing."""
    study, upload = _upload(request, slug, public_id)
    kept = read_kept(upload)
    if kept is None:
        raise Http404
    if request.method == "POST":
        return redirect(request.path)
    items = MappingForm(kept.head, mapping_of(upload), task=upload.task).first.items
    if not 1 <= number <= len(items):
        raise Http404
    item = unsaved(study, items[number - 1])
    return show_item(request, study=study, item=item, number=number, total=len(items))


def _upload(request: HttpRequest, slug: str, public_id: str) -> tuple[Study, Upload]:
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    return study, get_object_or_404(Upload, study=study, public_id=public_id)
