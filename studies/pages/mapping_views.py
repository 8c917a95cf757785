"""Mapping the columns of an uploaded file, with a preview of the items, and importing by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from studies.importers.columns.mapped_items import MappedRows
from studies.importers.columns.mapping import (
    ANSWERS,
    FEATURE,
    FIELDS,
    NOT_IMPORTED,
    UNREAD,
    ColumnMapping,
    ValueCount,
    counted,
    field_choices,
    label_of,
    meaning_of,
    repeated_id,
    with_doubts,
)
from studies.importers.columns.table_file import Head
from studies.importers.files.faults import LIMITS, Fault, Faults, Refused, group
from studies.importers.items.item_bundle import LEFT_OUT, ImportOptions, remedies
from studies.importers.items.records import MAX_TEXT, ItemRecord, further_responses
from studies.importers.items.validation import Validator
from studies.importers.uploads import (
    Kept,
    delete_files,
    files_of,
    folder_of_upload,
    import_paths,
    keep_copy_for_import,
    mapping_of,
    note_mapping,
    read_again,
    read_kept,
)
from studies.models import Item, Membership, Persona, Study, Upload
from studies.pages.import_views import announce, refusal
from studies.pages.responses import REFUSED, with_frames
from studies.selectors import get_study
from studies.services.items import show_item
from studies.tasks import import_file
from studies.texts.cells import ENCODINGS
from studies.texts.normalisation import storable

PREVIEWED = 3
# A page has at most this many columns, the guessed ones first; the others are not imported.
MAX_SHOWN = 150
_SAMPLES = 3
_VALUES = 30
_LONGEST_VALUE = 80


@dataclass(frozen=True)
class ColumnRow:
    """A column on the page. `number` names its controls: its name may have any characters."""

    number: int
    column: str
    samples: Sequence[str]
    field: str
    label: str

    @property
    def is_imported(self) -> bool:
        return self.field != NOT_IMPORTED


@dataclass(frozen=True)
class HeadItems:
    """What the first rows become: items, and faults for which an import would refuse them."""

    items: Sequence[ItemRecord]
    faults: Sequence[Fault]


class MappingForm:
    """The mapping of one file, from the stored one or from what was sent."""

    choices = field_choices()
    encodings = [("", "Detected"), *ENCODINGS.items()]

    def __init__(self, head: Head, mapping: ColumnMapping, *, task: str) -> None:
        self.head, self.mapping, self._task = head, mapping, task

    @cached_property
    def rows(self) -> list[ColumnRow]:
        fields, labels = self.mapping.fields, self.mapping.labels
        columns = sorted(
            self.head.columns, key=lambda column: fields.get(column, "") == NOT_IMPORTED
        )
        first = set(columns[:MAX_SHOWN])
        return [
            ColumnRow(
                number,
                column,
                [cells.get(column, "") for _, cells in self.head.rows[:_SAMPLES]],
                fields.get(column, NOT_IMPORTED),
                labels.get(column) or label_of(column),
            )
            for number, column in enumerate(self.head.columns)
            if column in first
        ]

    @property
    def hidden(self) -> int:
        """The number of columns that are not on the page."""
        return len(self.head.columns) - len(self.rows)

    @property
    def left_out(self) -> list[str]:
        return [row.column for row in self.rows if not row.is_imported]

    @cached_property
    def values(self) -> list[ValueCount]:
        """The values of the own answer in the first rows, the unread ones first."""
        if self.mapping.is_pair or self.mapping.column_of("own_answer") is None:
            return []
        mapped = MappedRows(self.mapping)
        counts = counted(mapped.answers(cells) for _, cells in self.head.rows)
        return [one for one in counts if one.value]

    @property
    def asked_values(self) -> list[ValueCount]:
        """The values whose meaning the page asks for; texts of responses need no question."""
        faults = {
            one.value: one
            for one in reversed(self.values)
            if one.answer is None
            or one.answer == self.mapping.answers.get(one.value, meaning_of(one.value))
        }
        return [one for one in reversed(faults.values()) if len(one.value) <= _LONGEST_VALUE][
            :_VALUES
        ]

    @property
    def equal_texts(self) -> int:
        """How many of the first rows give the text or model of a response as own answer."""
        asked = {(one.value, one.answer) for one in self.asked_values}
        return sum(o.count for o in self.values if o.answer and (o.value, o.answer) not in asked)

    @property
    def unread(self) -> int:
        """How many of the first rows have an own answer that cannot be read."""
        return sum(one.count for one in self.values if one.answer is None)

    @property
    def read(self) -> int:
        return sum(one.count for one in self.values if one.answer)

    @cached_property
    def first(self) -> HeadItems:
        """The items of the first rows, checked by the rules of the item format."""
        faults = Faults(self.head.faults)
        if self.mapping.faults():
            return HeadItems([], faults)
        mapped = MappedRows(self.mapping)
        validator = Validator(file=self.head.name, task=self._task, faults=faults)
        raw = ((line, mapped.item(cells)) for line, cells in self.head.rows)
        checked = [validator.item(line, item) for line, item in raw if item is not None]
        return HeadItems([item for item in checked if item][:PREVIEWED], faults)


def sent_mapping(head: Head, stored: ColumnMapping, data: Mapping[str, str]) -> ColumnMapping:
    """The mapping that a page sent. Columns that were not on it are not imported."""
    fields, labels = {}, {}
    for number, column in enumerate(head.columns):
        field = data.get(f"field-{number}", NOT_IMPORTED)
        fields[column] = field if field in FIELDS else NOT_IMPORTED
        label = storable(data.get(f"label-{number}", ""))[:120]
        if fields[column] == FEATURE and label and label != label_of(column):
            labels[column] = label
    answers = dict(stored.answers)
    for number in range(_VALUES):
        value, answer = data.get(f"value-{number}"), data.get(f"answer-{number}")
        if value is None:
            continue
        answers.pop(value, None)
        if answer in (*ANSWERS, "none"):
            answers[value] = "" if answer == "none" else str(answer)
        if not answer:
            answers[value] = UNREAD
    mapping = ColumnMapping(
        fields,
        labels,
        {value: answer for value, answer in answers.items() if value},
        storable(data.get("question", ""))[: LIMITS["question"]],
        storable(data.get("persona_text", ""))[:MAX_TEXT],
        encoding if (encoding := data.get("encoding", "")) in ENCODINGS else "",
    )
    return with_doubts(head, mapping)


def unsaved(study: Study, record: ItemRecord) -> Item:
    """The item of a record, without storing it."""
    persona = record.persona
    return Item(
        study=study,
        persona=Persona(
            study=study,
            key=persona.key,
            features=persona.features,
            text=persona.text,
            history=persona.history,
        ),
        **record.values,
    )


_ANSWERS = [("r1", "Response 1"), ("r2", "Response 2"), ("tie", "Tie"), ("none", "No answer")]


@require_http_methods(["GET", "POST"])
@login_required
def columns(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Show the columns with their fields and three items; import them by the mapping."""
    study, upload = _upload(request, slug, public_id)
    kept = read_kept(upload)
    if kept is None:
        messages.warning(request, "This file has been deleted. Choose it again.")
        return redirect("studies:import", slug)
    if request.method == "GET":
        return _page(request, study, kept)
    mapping = sent_mapping(kept.head, mapping_of(upload), request.POST.dict())
    is_read_again = mapping.encoding != mapping_of(upload).encoding
    note_mapping(upload, mapping)
    if is_read_again:
        read_again(upload)
    if "update" in request.POST or is_read_again:
        address = reverse("studies:import-columns", args=[slug, public_id])
        return redirect(f"{address}#result")
    if faults := mapping.faults():
        return _page(request, study, kept, problems=faults, status=REFUSED)
    return _import(request, study, kept)


_ANNOUNCED = ("Columns not imported", "Left out", LEFT_OUT, "Changed")


def _import(request: HttpRequest, study: Study, kept: Kept) -> HttpResponse:
    upload = kept.upload
    skips = "skip_faulty" in request.POST
    reading = ImportOptions(task=upload.task, mapping=upload.mapping, skip_faulty=skips)
    how: dict[str, Any] = {"reading": reading, "dry_run": "check" in request.POST}
    how |= {"replace": upload.replace, "user": cast(User, request.user)}
    if not uploads.are_quick(files_of(upload)):
        if not how["dry_run"]:
            note_mapping(upload, mapping_of(upload), is_imported=True)
        how |= {"study_id": study.pk, "upload": upload.public_id, "names": upload.files}
        job = keep_copy_for_import(folder_of_upload(upload), **how)
        import_file.delay_on_commit(job.pk)  # type: ignore[attr-defined]
        return redirect("studies:import-job", study.slug, job.public_id)
    try:
        with folder_of_upload(upload).local() as folder:
            paths = [folder / name for name in upload.files]
            result, report = import_paths(paths, slug=study.slug, **how)
    except Refused as error:
        faults = refusal(error.faults, is_cut=error.is_cut)
        return _page(request, study, kept, status=REFUSED, **faults)
    except StudyError as error:
        return _page(request, study, kept, problems=[str(error)], status=REFUSED)
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
            messages.info(request, f"{name}: {text.rstrip('.')}.")
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
        "repeated_id": repeated_id(kept.head, form.mapping),
        "further": further_responses(form.mapping.columns_of(NOT_IMPORTED)),
        "remedies": remedies(),
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
