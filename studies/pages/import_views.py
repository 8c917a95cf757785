"""Importing items on a page: small files immediately, large ones by a worker with progress."""

import base64
from collections.abc import Sequence
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from studies.errors import BadOption, StudyError
from studies.importers.files.bundle import MAX_BYTES
from studies.importers.files.faults import STOPPED, Fault, Refused, faults_csv, group
from studies.importers.files.packed import ZIPPED
from studies.importers.items.item_bundle import LEFT_OUT, ImportOptions
from studies.importers.items.storage import ImportResult, counts, why_not
from studies.importers.items.validation import ROW_OPTIONS
from studies.importers.sets import data_sets
from studies.importers.sets.data_set import DEFAULT_SEED, DataSet, Option, as_text, parse_options
from studies.importers.uploads import (
    OtherColumns,
    head_of,
    import_now,
    is_quick,
    keep_for_import,
    keep_upload,
    needs_mapping,
    warnings_shown,
)
from studies.jobs.retry import Retry, job_status
from studies.models import ImportJob, Membership, Task
from studies.pages.responses import REFUSED
from studies.pages.workbench import AFTER_IMPORT
from studies.selectors import get_study
from studies.tasks import import_file

REPLACING = ("replace", "seen")


class FilesInput(forms.FileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """One or more files, each checked like a single one."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> Any:
        files = data if isinstance(data, list) else [data]
        cleaned = [super(FilesField, self).clean(file, initial) for file in files or [None]]
        names = [file.name for file in cleaned]
        if len(set(names)) != len(names):
            raise forms.ValidationError(
                "Two files have the same name. Rename one, or zip their folders."
            )
        return cleaned


class ImportForm(forms.Form):
    """Files with items or, with a `dataset`, its released files and its options."""

    file = FilesField(
        label="Item files",
        help_text="CSV, JSON Lines, Parquet, a zipped bundle, or result files released with the "
        "paper; at most 200 MB each.",
        error_messages={"required": "Choose a file.", "empty": "The file is empty."},
    )
    task = forms.ChoiceField(
        label="Default task",
        choices=Task.choices,
        help_text="For items that do not name a task. It determines how the question is worded "
        "for annotators and judges.",
    )
    skip_faulty = forms.BooleanField(
        label="Leave faulty rows out",
        required=False,
        help_text="Imports the other rows and lists those left out. Otherwise a file with a fault "
        "is refused as a whole.",
    )

    def __init__(
        self,
        *args: Any,
        dataset: DataSet | None = None,
        there: tuple[int, int] | None = None,
        **kwargs: Any,
    ) -> None:
        """`there`: the numbers of items and personas that can be replaced."""
        super().__init__(*args, **kwargs)
        self.dataset = dataset
        if dataset is not None:
            self._ask_of(dataset)
        else:
            self.fields |= {option.name: option.field() for option in ROW_OPTIONS}
            self.order_fields(["file", "task", *(option.name for option in ROW_OPTIONS)])
        if there is not None:
            items, personas = there
            self.fields["replace"] = forms.BooleanField(
                label=f"Replace the {items:,} items and {personas:,} personas of this study",
                required=False,
                help_text="Removes them and imports these items instead. Nobody has answered any "
                "of them yet.",
            )
            self.fields["seen"] = forms.IntegerField(
                widget=forms.HiddenInput, initial=items, required=False, min_value=0
            )

    def replaces(self) -> int | None:
        """The number of items to replace, as the page showed it; None for no replacement."""
        data = self.cleaned_data
        return data.get("seen") or 0 if data.get("replace") else None

    def _ask_of(self, dataset: DataSet) -> None:
        del self.fields["task"]
        self.fields["file"].label = f"Files of {dataset.title}"
        self.fields["file"].help_text = f"{dataset.files}; at most 200 MB each."
        for option in dataset.options:
            self.fields[option.name] = _field_of(option)
        self.fields["seed"] = forms.IntegerField(
            label="Seed",
            required=False,
            initial=DEFAULT_SEED,
            help_text="The same files, options and seed give the same items.",
        )
        self.fields["limit"] = forms.IntegerField(
            label="Maximum number of items",
            required=False,
            min_value=1,
            max_value=1_000_000,
            help_text="Imports the first items only. Leave empty to import all.",
        )

    def option_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in ("file", "task", *REPLACING)]

    def replace_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in REPLACING if name in self.fields]

    def clean_file(self) -> Any:
        files = self.cleaned_data["file"]
        for file in files:
            if file.size > MAX_BYTES:
                raise forms.ValidationError(
                    f"{file.name} is larger than 200 MB. Import it in parts."
                )
        return files

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if self.data.get("replace") and "replace" not in self.fields:
            raise forms.ValidationError(
                "The items of this study cannot be replaced: there are none, or annotators or "
                "judges already have some of them. Nothing was imported. Clear the box “Replace”."
            )
        if self.dataset is not None:
            try:
                parse_options(self.dataset.options, self._options(data))
            except BadOption as error:
                self.refuse(error)
        return data

    def refuse(self, error: BadOption) -> None:
        """Show the error of an option at its field."""
        self.add_error(error.name if error.name in self.fields else None, str(error))

    def reading(self) -> ImportOptions:
        data = self.cleaned_data
        if self.dataset is None:
            options = {o.name: data[o.name] for o in ROW_OPTIONS if data[o.name]}
            return ImportOptions(
                task=data["task"], options=options, skip_faulty=data["skip_faulty"]
            )
        return ImportOptions(
            task=self.dataset.task,
            format=self.dataset.name,
            limit=data["limit"],
            options=self._options(data),
            seed=data["seed"],
            skip_faulty=data["skip_faulty"],
        )

    def _options(self, data: dict[str, Any]) -> dict[str, str]:
        """The options that were filled in, as written in a command."""
        names = [option.name for option in self.dataset.options] if self.dataset else []
        return {name: as_text(data[name]) for name in names if data.get(name) not in (None, "")}


def _field_of(option: Option) -> forms.Field:
    label = option.label or option.name.replace("_", " ").capitalize()
    about: dict[str, Any] = {
        "label": label,
        "help_text": option.meaning,
        "initial": option.default if isinstance(option.default, bool) else as_text(option.default),
        "required": False,
    }
    if isinstance(option.default, bool):
        return forms.BooleanField(**about)
    if isinstance(option.default, (int, float)):
        step = "1" if isinstance(option.default, int) else "any"
        return forms.CharField(**about, widget=forms.NumberInput(attrs={"step": step}))
    if option.words and not option.is_open and not option.is_list:
        return forms.ChoiceField(**about, choices=[(word, word) for word in option.words])
    if option.words:
        also = "" if option.is_open else "all, or some of "
        about["help_text"] += f" Write {also}{', '.join(option.words)}."
    return forms.CharField(**about)


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
            return render(request, "studies/import.html", context, status=REFUSED)
        except OtherColumns as error:
            form.add_error("file", str(error))
            return render(request, "studies/import.html", context, status=REFUSED)
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
            return render(request, "studies/import.html", context, status=REFUSED)
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
    status = REFUSED if form.errors else 200
    return render(request, "studies/import.html", context, status=status)


def _asks_for_columns(request: HttpRequest, uploads: Sequence[UploadedFile]) -> bool:
    """Whether to map the columns first: the user asks for it, or the file needs it."""
    heads = [head_of(upload) for upload in uploads]
    if any(head.head().startswith(ZIPPED) for head in heads):
        return False
    return "columns" in request.POST or all(needs_mapping(head) for head in heads)


def announce(request: HttpRequest, result: ImportResult) -> None:
    """Say what was imported and what is missing."""
    messages.success(request, str(result))
    if result.created:
        for part in AFTER_IMPORT.of(result.study):
            messages.info(request, part.sentence)
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
        "retry": Retry(again, label, is_link=True),
        "links": [
            (part.words, part.address(study))
            for part in (AFTER_IMPORT.of(study) if is_imported else ())
        ],
    }
    if job.faults:
        faults = [Fault(**fault) for fault in job.faults]
        context |= refusal(faults, is_cut=STOPPED.strip() in job.message)
    return render(request, "studies/import_job.html", context)


@require_GET
@login_required
def import_status(request: HttpRequest, slug: str, public_id: str) -> JsonResponse:
    """The progress that the page fetches while a worker imports."""
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
