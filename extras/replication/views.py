"""The page that recovers the wording of a released result file."""

from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from extras.replication.wordings.recovered import import_protocol
from judging.errors import JudgingError
from judging.wordings import WordingSource
from studies.errors import StudyError
from studies.importers.files.bundle import File
from studies.models import Membership
from studies.selectors import get_study

MOST_MEGABYTES = 10  # of a result file: over twice the largest released one
SOURCE = WordingSource(
    "released file",
    "Find wording in a result file",
    "replication:recover-wording",
    option="recover",
    help="FILE is a released result file: find the wording in the prompts of its rows, and store "
    "it only if it rebuilds every prompt byte for byte; the study needs items from the same file",
    read=import_protocol,
)


class ReleasedFileForm(forms.Form):
    """A result file with prompts in its rows, and a name for the wording."""

    file = forms.FileField(
        label="Result file",
        help_text="JSON Lines with prompt, user_info, ground_truth and answer in every row, as "
        f"released with the paper; at most {MOST_MEGABYTES} MB.",
        error_messages={"required": "Choose a file.", "empty": "The file is empty."},
    )
    name = forms.CharField(
        max_length=60,
        required=False,
        label="Name",
        help_text=(
            "By default, the name of the file. An existing name gets a new version, or is "
            "replaced if no run uses it yet."
        ),
    )

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        if (file.size or 0) > MOST_MEGABYTES * 1_000_000:
            raise forms.ValidationError(
                f"The file has {(file.size or 0) / 1_000_000:,.1f} MB. Upload at most "
                f"{MOST_MEGABYTES} MB, for example the first rows of the file."
            )
        return file


@login_required
@require_http_methods(["GET", "POST"])
def recover_wording(request: HttpRequest, slug: str) -> HttpResponse:
    """Recover the wording of a released result file, check it on every row, and store it."""
    study, user = get_study(request.user, slug, role=Membership.Role.EDITOR), request.user
    form = ReleasedFileForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    if form.is_valid():
        upload: UploadedFile = form.cleaned_data["file"]
        file = File(str(upload.name), upload.read())
        try:
            protocol = import_protocol(
                study_id=study.pk,
                file=file,
                name=form.cleaned_data["name"],
                user=cast(User, user),
            )
        except (StudyError, JudgingError) as error:
            form.add_error("file", f"Nothing was stored. {error}")
        else:
            messages.success(request, protocol.proof)
            return redirect("judging:wording", slug, protocol.wording.public_id)
    context = {"study": study, "form": form}
    status = 422 if form.errors else 200
    return render(request, "replication/recover.html", context, status=status)
