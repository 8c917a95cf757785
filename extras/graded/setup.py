"""The page where a researcher chooses what annotators answer next to the choice."""

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

from extras.graded.asking import GradesAsked, asked_in
from extras.graded.models import MOST_CRITERIA, GradeQuestions, ReasonAsked, ScoreScale
from studies.errors import FrozenStudy, StaleVersion, StudyError
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.pages.workbench import (
    SectionPage,
    SetupTask,
    TaskState,
)
from studies.selectors import get_study
from studies.services.studies import lock_study, record
from studies.services.whole_studies import copy_rows
from studies.study_folder import Folder, to_toml, value_of

FIELDS = ("strength", "scale", "criteria", "reason")
_NOTHING = {"strength": False, "scale": 0, "criteria": False, "reason": str(ReasonAsked.NO)}


def values_in(study: Study) -> dict[str, Any]:
    """What a study asks, by field."""
    rows = GradeQuestions.objects.filter(study=study)
    return rows.values(*FIELDS).first() or _NOTHING


@transaction.atomic
def set_questions(
    *, study_id: int, wanted: Mapping[str, Any], version: int | None = None, user: User | None
) -> None:
    """Store what a study asks next to the choice; the same again changes nothing.

    Raises `FrozenStudy` if the study has answers, `StaleVersion` if it is no longer at `version`,
    and `StudyError` if there is no criterion to ask about, or too many.
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
            f"“{study.slug}” has answers, so what people answer next to the choice cannot change. "
            "Nothing was saved. Copy the study to ask something else."
        )
    if wanted["criteria"] and (problem := problem_of_criteria(study)):
        raise StudyError(problem)
    GradeQuestions.objects.update_or_create(study=study, defaults=dict(wanted))
    study.version += 1
    study.save(update_fields=["version"])
    record(study, "graded answers changed", user=user, before=before, after=dict(wanted))


def problem_of_criteria(study: Study) -> str:
    """Why nobody can be asked about the criteria of a study; empty if they can."""
    n = len(study.criteria)
    if not n:
        return "The study has no criteria. Add them under Settings, “Criteria”, then come back."
    if n > MOST_CRITERIA:
        return (
            f"The study has {n} criteria, and people are asked about {MOST_CRITERIA} at most. "
            "Remove some under Settings, “Criteria”."
        )
    return ""


class QuestionsForm(forms.Form):
    """What annotators answer next to the choice."""

    strength = forms.BooleanField(
        label="How strong the preference is: slightly, clearly or strongly", required=False
    )
    scale = forms.TypedChoiceField(
        label="A score for each response", choices=ScoreScale, coerce=int
    )
    criteria = forms.BooleanField(
        label="Which response is better by each criterion of the study", required=False
    )
    reason = forms.ChoiceField(label="A reason in one line", choices=ReasonAsked)
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)


# The protocol that asks a judge the same, by what people are asked.
def settings_for_judges(asked: GradesAsked) -> list[tuple[str, str]]:
    """What people are asked, and the setting that asks judges the same."""
    found = {
        "Strength of the preference": "strength" if asked.strength else "",
        "A score for each response": f"score-{asked.scale}" if asked.scale else "",
        "A verdict by each criterion": "criteria" if asked.criteria else "",
        "A reason in one line": "reason-line" if asked.asks_reason else "",
    }
    return [(what, setting) for what, setting in found.items() if setting]


@login_required
@require_http_methods(["GET", "POST"])
def questions(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what annotators answer next to the choice, or store it (POST)."""
    role = Membership.Role.EDITOR if request.method == "POST" else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    may_edit = role_of(request.user, study) != Membership.Role.VIEWER
    form = QuestionsForm(initial=values_in(study) | {"version": study.version})
    if request.method == "POST":
        form = QuestionsForm(request.POST)
        if form.is_valid():
            wanted = {name: form.cleaned_data[name] for name in FIELDS}
            try:
                set_questions(
                    study_id=study.pk,
                    wanted=wanted,
                    version=form.cleaned_data["version"],
                    user=cast(User, request.user),
                )
            except StudyError as error:
                # A second press replaces what somebody else saved meanwhile.
                now = Study.objects.get(pk=study.pk).version
                form = QuestionsForm(request.POST.dict() | {"version": str(now)})
                form.add_error(None, str(error))
            else:
                messages.success(request, "Saved. The preview shows the page of an item.")
                return redirect("graded:questions", slug=slug)
    if not may_edit or study.frozen_at:
        for field in form.fields.values():
            field.disabled = True
    settings = settings_for_judges(asked_in(study))
    context = {
        "study": study,
        "form": form,
        "may_edit": may_edit and not study.frozen_at,
        "criteria": [name for name, _ in study.shown_criteria],
        "most": MOST_CRITERIA,
        "settings": settings,
        "judges": urlencode([("settings", setting) for _, setting in settings]),
    }
    return render(request, "graded/questions.html", context, status=422 if form.is_bound else 200)


def setup_task(study: Study) -> Iterator[SetupTask]:
    """An optional step after the question."""
    asked = asked_in(study)
    names = [what[0].lower() + what[1:] for what, _ in settings_for_judges(asked)]
    state = TaskState.DONE if asked else TaskState.NOT_STARTED
    words = f"Asked next to the choice: {', '.join(names)}" if names else "Only a choice is asked"
    if asked.criteria and (problem := problem_of_criteria(study)):
        state, words = TaskState.ATTENTION, problem
    address = reverse("graded:questions", args=[study.slug])
    yield SetupTask(
        "graded", "Strength, scores, reasons", state, words, address, True, after="question"
    )


def pages(study: Study) -> list[SectionPage]:
    address = reverse("graded:questions", args=[study.slug])
    return [SectionPage("settings", "Graded answers", address)]


def needed(study: Study) -> Iterator[str]:
    """What has to end before graded answers can be turned off."""
    if study.is_under_way and asked_in(study):
        yield "Annotators are asked more than the choice. Close the study first."


def copy_questions(study: Study, copy: Study) -> None:
    copy_rows(GradeQuestions.objects.filter(study=study), study_id=copy.pk)


class GradedFile:
    """graded.toml: what annotators answer next to the choice."""

    name, file = "graded", "graded.toml"

    def write(self, study: Study) -> dict[str, str]:
        values = values_in(study)
        return {} if values == _NOTHING else {self.file: to_toml(values)}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        content = folder.toml(file, known=FIELDS)
        wanted = {
            name: value_of(content, name, type(nothing), where=file, default=nothing)
            for name, nothing in _NOTHING.items()
        }
        for name, known in (("scale", ScoreScale), ("reason", ReasonAsked)):
            if wanted[name] not in known.values:
                words = ", ".join(map(str, known.values))
                raise StudyError(f"{file}: {name} is {wanted[name]!r}. Use one of: {words}.")
        set_questions(study_id=study.pk, wanted=wanted, user=user)
        return []


FILE = GradedFile()
