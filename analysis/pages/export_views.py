"""Pages to request, follow, download and delete a study's exports."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import IO, Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from analysis.data.answer_rows import changes_of_people
from analysis.errors import ExportError
from analysis.exports.catalogue import LICENCES
from analysis.exports.requests import (
    Since,
    ask_again,
    clear_stale,
    delete_export,
    format_labels,
    labels,
    listed_exports,
    name_of,
    note_download,
    request_export,
    stale_elsewhere,
)
from analysis.exports.study_export import check_choice
from analysis.lifecycle.storage import export_dir
from analysis.models import Export
from studies.models.studies import Membership, Study
from studies.pages.addressed import pressed
from studies.selectors import get_study, studies_for

_USUAL = ("", "Default (JSON; CSV for matrices)")
# JSON and TOML have one content each, where they are the usual format.
_NOT_CHOSEN = ("json", "toml")


def _format_choices(study: Study) -> list[tuple[str, str]]:
    return [_USUAL, *(pair for pair in format_labels(study).items() if pair[0] not in _NOT_CHOSEN)]


def _checkbox(label: str, help_text: str) -> forms.BooleanField:
    """An option that is off by default."""
    return forms.BooleanField(label=label, required=False, help_text=help_text)


class ExportForm(forms.Form):
    what = forms.ChoiceField(label="Content", initial="all")
    format = forms.ChoiceField(
        label="Format",
        required=False,
        help_text="“Everything” always contains JSON Lines and CSV.",
    )
    licence = forms.ChoiceField(
        label="Licence of the answers",
        required=False,
        choices=[("", "Not stated"), *((name, name) for name in LICENCES)],
        help_text="It is written to the data card. The items keep the licence of their source.",
    )
    fresh_pseudonyms = _checkbox(
        "New names for annotators",
        "Names differ from those in earlier exports. Times, durations and flags are left out, "
        "because they could match rows.",
    )
    free_text = _checkbox(
        "Include free text", "Feedback from participants, and reasons for exclusions."
    )
    identified = _checkbox(
        "Include platform ids",
        "Also includes all demographic answers, for example for payments.",
    )
    confirmation = forms.CharField(
        label="Short name of the study, to confirm",
        required=False,
        help_text="Required for free text or platform ids. The study’s log records your name.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    OWNERS_ONLY = ("free_text", "identified", "confirmation")

    def __init__(self, *args: Any, study: Study, is_owner: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        for name, choices in (
            ("what", list(labels(study).items())),
            ("format", _format_choices(study)),
        ):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101
            field.choices = choices
        if not is_owner:
            for name in self.OWNERS_ONLY:
                del self.fields[name]

    def open_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self.OWNERS_ONLY]

    def owners_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name in self.OWNERS_ONLY]

    def clean(self) -> dict[str, Any]:
        chosen = super().clean() or self.cleaned_data
        if "what" in chosen:
            try:
                check_choice(chosen["what"], chosen.get("format", ""), chosen.get("licence", ""))
            except ExportError as error:
                self.add_error("format", str(error))
        names_people = chosen.get("identified") or chosen.get("free_text")
        typed = chosen.pop("confirmation", "").strip()
        if names_people and typed != self.study.slug:
            self.add_error(
                "confirmation", f"Type {self.study.slug} to export data that name people."
            )
        return chosen


@require_GET
@login_required
def list_exports(request: HttpRequest, slug: str) -> HttpResponse:
    """List the exports of the study, with their progress."""
    study = get_study(request.user, slug)
    form = ExportForm(study=study, is_owner=_may(request.user, study, Membership.Role.OWNER))
    return render(request, "analysis/exports.html", _context(request, study) | {"form": form})


@require_GET
@login_required
def table(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the list that the page fetches while an export is being written."""
    study = get_study(request.user, slug)
    return render(request, "analysis/_exports_table.html", _context(request, study))


@require_POST
@login_required
def create(request: HttpRequest, slug: str) -> HttpResponse:
    """Choose what to export, and queue it."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    is_owner = _may(request.user, study, Membership.Role.OWNER)
    form = ExportForm(request.POST, study=study, is_owner=is_owner)
    if form.is_valid():
        ask = partial(request_export, study_id=study.pk, user=_user(request), **form.cleaned_data)
        return _queued(request, slug, ask)
    context = _context(request, study) | {"form": form}
    return render(request, "analysis/exports.html", context, status=422)


@require_POST
@login_required
def again(request: HttpRequest, slug: str) -> HttpResponse:
    """Request a failed export again, with the same choices."""
    public_id = request.POST.get("export", "")
    export = find_export(request.user, slug, public_id, role=Membership.Role.EDITOR)
    return _queued(request, slug, partial(ask_again, export=export, user=_user(request)))


@require_POST
@login_required
def stale(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete, or delete and rewrite, files with people who have left since."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    rebuild = pressed(request, "do", "rebuild", "delete") == "rebuild"
    try:
        n = clear_stale(study_id=study.pk, user=_user(request), rebuild=rebuild)
    except ExportError as error:
        messages.error(request, str(error))
    else:
        again = " They are being written again without these people." if rebuild and n else ""
        messages.success(request, f"Outdated files deleted: {n}.{again}")
    return redirect("exports:list", slug)


def _queued(request: HttpRequest, slug: str, ask: Callable[[], Export]) -> HttpResponse:
    """Send the request and return to the list, with a message."""
    try:
        ask()
    except ExportError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "The file will appear here when it is ready.")
    return redirect("exports:list", slug)


@require_GET
@login_required
def download(request: HttpRequest, slug: str, public_id: str) -> HttpResponse | FileResponse:
    """Send the finished file. Copies that name annotators are for owners only and are logged.

    If somebody was excluded after it was written, it is sent after a confirmation; if somebody
    withdrew, never.
    """
    if (token := getattr(request, "access_token", None)) and "export" not in token.scopes:
        raise PermissionDenied
    export = find_export(request.user, slug, public_id, role=Membership.Role.VIEWER)
    since = Since.of(export, changes_of_people(export.study))
    if since.withdrew or (since.others and request.GET.get("outdated") != "yes"):
        context = {
            "study": export.study,
            "export": export,
            "name": name_of(export),
            "stale": since.words,
            "withdrew": since.withdrew,
            "may_export": _may(request.user, export.study, Membership.Role.EDITOR),
        }
        return render(request, "analysis/stale_export.html", context, status=409)
    content = export_file(export)
    note_download(export=export, user=_user(request))
    response = FileResponse(content, as_attachment=True, filename=export.filename)
    response["Cache-Control"] = "private, no-store"
    return response


@require_http_methods(["GET", "POST"])
@login_required
def delete(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Ask for confirmation, then delete the file or stop the export."""
    export = find_export(request.user, slug, public_id, role=Membership.Role.EDITOR)
    if request.method == "POST":
        delete_export(export_id=export.pk, user=_user(request))
        messages.success(request, "The file is deleted. The list still shows the export.")
        return redirect("exports:list", slug)
    context = {"study": export.study, "export": export, "name": name_of(export)}
    return render(request, "analysis/delete_export.html", context)


def find_export(user: User | AnonymousUser, slug: str, public_id: str, *, role: str) -> Export:
    """Find an export that the user may have; one that names annotators needs an owner."""
    study = get_study(user, slug, role=role)
    export = get_object_or_404(study.exports.select_related("study"), public_id=public_id)
    if export.names_people and not _may(user, study, Membership.Role.OWNER):
        raise Http404
    return export


def export_file(export: Export) -> IO[bytes]:
    """The finished file of an export; 404 if there is none."""
    if export.state == Export.State.DONE:
        with suppress(FileNotFoundError):
            return (export_dir(export.public_id) / export.filename).open()
    raise Http404("The file of this export does not exist. Export again.")


def _context(request: HttpRequest, study: Study) -> dict[str, Any]:
    exports = listed_exports(study)
    return {
        "study": study,
        "exports": exports,
        "has_stale": any(listed.stale for listed in exports),
        "stale_elsewhere": stale_elsewhere(study),
        "may_export": _may(request.user, study, Membership.Role.EDITOR),
        "is_owner": _may(request.user, study, Membership.Role.OWNER),
    }


def _may(user: User | AnonymousUser, study: Study, role: str) -> bool:
    return studies_for(user, role=role).filter(pk=study.pk).exists()


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)
