"""The items of a study: list, read, and import by a worker."""

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import File, Form, Query, Router, Schema, Status
from ninja.files import UploadedFile
from pydantic import ConfigDict, Field

from api.v1.access import EDITOR, READ, WRITE, needs, refuse_form, study_of, user_of
from api.v1.responses import JobOut, PageOf, PageQuery, job_fields, page
from studies.exporters.items import shape_of
from studies.importers.items.storage import counts, why_not
from studies.importers.uploads import keep_for_import
from studies.models import ImportJob, Item
from studies.pages.import_views import ImportForm
from studies.pages.listing import find_items
from studies.tasks import import_file

router = Router(tags=["items"])


@router.get(
    "studies/{slug}/items",
    response=PageOf[dict[str, Any]],
    auth=needs(READ),
    operation_id="list_items",
)
def list_items(
    request: HttpRequest,
    slug: str,
    query: Query[PageQuery],
    split: Literal["", "main", "practice", "attention_check", "example", "left_out"] = "",
    search: str = "",
) -> dict[str, Any]:
    """The items of a study by id, in the interchange format (docs/formats.md).

    If the source forbids passing its texts on, they are left out, as in exports.
    """
    study = study_of(request, slug)
    items = find_items(study, search=search, split=split).select_related("persona")
    if after := query.after("items", str):
        items = items.filter(key__gt=after[0])
    rows = list(items[: query.limit + 1])
    return page("items", rows, query, key=lambda item: [item.key], show=shape_of(study))


@router.get(
    "studies/{slug}/items/{path:key}",
    response=dict[str, Any],
    auth=needs(READ),
    operation_id="read_item",
)
def read_item(request: HttpRequest, slug: str, key: str) -> dict[str, Any]:
    """An item, with its numbers of answers and seats."""
    study = study_of(request, slug)
    items = Item.everything.filter(study=study).select_related("persona")
    item = get_object_or_404(items, key=key)
    seats = {"needed": item.seats_needed, "taken": item.seats_taken, "answered": item.answered}
    return shape_of(study)(item) | {"seats": seats}


import_router = Router(tags=["imports"])
_MOST = 2_147_483_647


class NewImport(Schema):
    model_config = ConfigDict(extra="forbid")

    task: Literal["", "preference", "survey_answer", "authorship", "question_answer_authorship"] = (
        Field("", description="The task of items that name none; empty for that of the study.")
    )
    pairs: str = Field("", max_length=60, description="How to pair items with 3 to 5 responses.")
    dry_run: bool = Field(False, description="Only check the files.")
    replace: int | None = Field(
        None, ge=0, le=_MOST, description="The number of items that the import replaces."
    )


class ImportOut(JobOut):
    file_name: str
    dry_run: bool
    faults: list[dict[str, Any]] = Field(description="The faults of the files, by line.")
    report: dict[str, Any] = Field(description="Counts and first items.")


@import_router.post(
    "studies/{slug}/imports",
    response={202: ImportOut},
    auth=needs(WRITE),
    operation_id="import_items",
)
def create_import(
    request: HttpRequest, slug: str, body: Form[NewImport], file: File[list[UploadedFile]]
) -> Status[dict[str, Any]]:
    """Import files of items (docs/formats.md): CSV, JSON Lines or a zipped bundle."""
    study = study_of(request, slug, EDITOR)
    there = counts(study)
    data: dict[str, Any] = {"task": body.task or study.task, "pairs": body.pairs}
    if body.replace is not None:
        data |= {"replace": "on", "seen": body.replace}
    replaceable = any(there) and not why_not(study)
    form = ImportForm(data, {"file": file}, there=there if replaceable else None)
    if not form.is_valid():
        refuse_form(form)
    job = keep_for_import(
        form.cleaned_data["file"],
        study_id=study.pk,
        reading=form.reading(),
        dry_run=body.dry_run,
        replace=form.replaces(),
        user=user_of(request),
    )
    import_file.delay_on_commit(job.pk)  # type: ignore[attr-defined]
    return Status(202, _shown_import(job))


@import_router.get(
    "studies/{slug}/imports",
    response=PageOf[ImportOut],
    auth=needs(READ),
    operation_id="list_imports",
)
def list_imports(request: HttpRequest, slug: str, query: Query[PageQuery]) -> dict[str, Any]:
    """The imports of a study, newest first; for editors."""
    jobs = study_of(request, slug, EDITOR).imports.order_by("-pk")
    if after := query.after("imports", int):
        jobs = jobs.filter(pk__lt=after[0])
    rows = list(jobs[: query.limit + 1])
    return page("imports", rows, query, key=lambda job: [job.pk], show=_shown_import)


@import_router.get(
    "studies/{slug}/imports/{job}",
    response=ImportOut,
    auth=needs(READ),
    operation_id="read_import",
)
def read_import(request: HttpRequest, slug: str, job: str) -> dict[str, Any]:
    """An import, or its progress; for editors."""
    study = study_of(request, slug, EDITOR)
    return _shown_import(get_object_or_404(ImportJob, study=study, public_id=job))


def _shown_import(job: ImportJob) -> dict[str, Any]:
    names = ("file_name", "dry_run", "faults", "report")
    return job_fields(job, job.public_id) | {name: getattr(job, name) for name in names}
