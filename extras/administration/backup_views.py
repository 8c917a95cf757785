"""Backups on the Server page: make, download, delete a file, and restore everything from one."""

from pathlib import Path
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from extras.administration import backup_jobs
from extras.administration.backups import BackupError
from extras.administration.models import BackupJob
from extras.administration.views import for_superusers
from studies.jobs.retry import job_status
from studies.models import Backup
from studies.pages.accounts.forms import WithPasswordForm
from studies.pages.responses import REFUSED, whole_number

_WORD = "replace"


class RestoreForm(WithPasswordForm):
    """A restore, confirmed by a word and the password."""

    field_order = ("word", "password")
    word = forms.CharField(
        label=f"Type {_WORD} to confirm",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def clean_word(self) -> str:
        if (word := self.cleaned_data["word"].strip()) != _WORD:
            raise forms.ValidationError(f"Type {_WORD}, to delete everything that is newer.")
        return word


@require_POST
@for_superusers
def make(request: HttpRequest) -> HttpResponse:
    """Ask a worker for a new backup."""
    try:
        backup_jobs.request_backup(user_name=_name(request))
    except BackupError as error:
        messages.error(request, str(error))
    return redirect("administration:server")


@require_GET
@for_superusers
def status(request: HttpRequest) -> JsonResponse:
    """The progress that the page polls while a backup is made or restored."""
    return job_status(BackupJob.objects.first())


@require_GET
@for_superusers
def download(request: HttpRequest, backup_id: int) -> FileResponse:
    """Send the file of a backup, if this web server sees it."""
    path = _file(get_object_or_404(Backup, pk=backup_id))
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name)


@require_POST
@for_superusers
def delete(request: HttpRequest) -> HttpResponse:
    """Delete the file of a backup; its row stays, because copies of the file are unknown."""
    number = whole_number(request.POST.get("backup", ""))
    path = _file(get_object_or_404(Backup, pk=number))
    path.unlink(missing_ok=True)
    messages.success(request, f"{path} was deleted. Copies of it elsewhere were not.")
    return redirect("administration:server")


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@for_superusers
def restore(request: HttpRequest, backup_id: int) -> HttpResponse:
    """Replace everything by a backup, once a word and the password were typed."""
    backup = get_object_or_404(Backup, pk=backup_id)
    _file(backup)
    form: Any = RestoreForm(request.POST or None, request=request, user=cast(User, request.user))
    if form.is_valid():
        try:
            backup_jobs.request_restore(backup, user_name=_name(request))
            return redirect("administration:server")
        except BackupError as error:
            form.add_error(None, str(error))
    context = {"backup": backup, "form": form, "obstacle": backup_jobs.obstacle()}
    status = REFUSED if form.errors else 200
    return render(request, "administration/restore.html", context, status=status)


def _name(request: HttpRequest) -> str:
    return cast(User, request.user).get_username()


def _file(backup: Backup) -> Path:
    path = Path(backup.file)
    if not path.is_file():
        raise Http404("The file is not on the disk of this web server.")
    return path
