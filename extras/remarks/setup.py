"""The page where a researcher chooses which remarks annotators can make."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from extras.remarks.asking import FIELDS, asked_in
from extras.remarks.flagged import flagged_items
from extras.remarks.models import RemarkQuestions
from studies.errors import FrozenStudy, StaleVersion, StudyError
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.pages.workbench import SectionPage, SetupTask, TaskState
from studies.selectors import get_study
from studies.services.studies import lock_study, record
from studies.services.whole_studies import copy_rows
from studies.study_folder import Folder, to_toml, value_of

_NOTHING = dict.fromkeys(FIELDS, False)
_WORDS = {
    "flags": "something is wrong with the item",
    "either": "the other response would do as well",
    "others": "how many others choose the same",
}
# The settings that ask a judge the same.
_SETTINGS = {"either": "response-set", "others": "others"}


def values_in(study: Study) -> dict[str, bool]:
    """What a study asks, by field."""
    rows = RemarkQuestions.objects.filter(study=study)
    return rows.values(*FIELDS).first() or _NOTHING


@transaction.atomic
def set_questions(
    *, study_id: int, wanted: Mapping[str, bool], version: int | None = None, user: User | None
) -> None:
    """Store which remarks annotators can make; the same again changes nothing.

    Raises `FrozenStudy` if the study has answers, and `StaleVersion` if it is no longer at
    `version`.
    """
    study = lock_study(study_id)
    before = values_in(study)
    if version is not None and version != study.version:
        raise StaleVersion(
            f"Someone else changed “{study.slug}” while you edited this page. Nothing was saved. "
            "Check your choices, then save again."
        )
    if before == wanted:
        return
    if study.frozen_at is not None:
        raise FrozenStudy(
            f"“{study.slug}” has answers, so what annotators are asked cannot change. Nothing was "
            "saved. Copy the study to ask something else."
        )
    RemarkQuestions.objects.update_or_create(study=study, defaults=dict(wanted))
    study.version += 1
    study.save(update_fields=["version"])
    record(study, "remarks changed", user=user, before=before, after=dict(wanted))


class RemarksSettingsForm(forms.Form):
    """Which remarks annotators can make."""

    flags = forms.BooleanField(
        label="Flag an item: it makes no sense, both are the same, offensive, known, other",
        required=False,
    )
    either = forms.BooleanField(
        label="Say that the other response would do as well for this person", required=False
    )
    others = forms.BooleanField(
        label="Guess how many of 100 others choose as they do", required=False
    )
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)


@login_required
@require_http_methods(["GET", "POST"])
def remarks(request: HttpRequest, slug: str) -> HttpResponse:
    """Show which remarks annotators can make and the flagged items, or store the former (POST)."""
    role = Membership.Role.EDITOR if request.method == "POST" else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    may_edit = role_of(request.user, study) != Membership.Role.VIEWER
    form = RemarksSettingsForm(initial=values_in(study) | {"version": study.version})
    if request.method == "POST":
        form = RemarksSettingsForm(request.POST)
        if form.is_valid():
            try:
                set_questions(
                    study_id=study.pk,
                    wanted={name: form.cleaned_data[name] for name in FIELDS},
                    version=form.cleaned_data["version"],
                    user=cast(User, request.user),
                )
            except StudyError as error:
                # A second press replaces what somebody else saved meanwhile.
                now = Study.objects.get(pk=study.pk).version
                form = RemarksSettingsForm(request.POST.dict() | {"version": str(now)})
                form.add_error(None, str(error))
            else:
                messages.success(request, "Saved. The preview shows the page of an item.")
                return redirect("remarks:remarks", slug=slug)
    if not may_edit or study.frozen_at:
        for field in form.fields.values():
            field.disabled = True
    settings = [_SETTINGS[name] for name in FIELDS if name in asked_in(study) & _SETTINGS.keys()]
    context = {
        "study": study,
        "form": form,
        "may_edit": may_edit and not study.frozen_at,
        "settings": settings,
        "judges": urlencode([("settings", setting) for setting in settings]),
        "flagged": flagged_items(study),
    }
    status = 422 if form.is_bound else 200
    return render(request, "remarks/remarks.html", context, status=status)


def setup_task(study: Study) -> Iterator[SetupTask]:
    """An optional step after the question."""
    asked = asked_in(study)
    names = ", ".join(_WORDS[name] for name in FIELDS if name in asked)
    state = TaskState.DONE if asked else TaskState.NOT_STARTED
    words = f"Annotators can say: {names}" if asked else "Annotators can say nothing at an item"
    address = reverse("remarks:remarks", args=[study.slug])
    yield SetupTask("remarks", "Remarks at items", state, words, address, True, after="question")


def pages(study: Study) -> list[SectionPage]:
    return [
        SectionPage("settings", "Remarks", reverse("remarks:remarks", args=[study.slug])),
    ]


def needed(study: Study) -> Iterator[str]:
    """What has to end before remarks can be turned off."""
    if study.is_under_way and asked_in(study):
        yield "Annotators are asked for remarks. Close the study first."


def copy_questions(study: Study, copy: Study) -> None:
    copy_rows(RemarkQuestions.objects.filter(study=study), study_id=copy.pk)


class RemarksFile:
    """remarks.toml: which remarks annotators can make."""

    name, file = "remarks", "remarks.toml"

    def write(self, study: Study) -> dict[str, str]:
        values = values_in(study)
        return {} if values == _NOTHING else {self.file: to_toml(values)}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        content = folder.toml(file, known=FIELDS)
        wanted: dict[str, Any] = {
            name: value_of(content, name, bool, where=file, default=False) for name in FIELDS
        }
        set_questions(study_id=study.pk, wanted=wanted, user=user)
        return []


FILE = RemarksFile()
