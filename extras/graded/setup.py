"""The page where a researcher chooses what annotators answer next to the choice."""

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from annotation.researchers.asked_settings import AskedSettings
from extras.graded.asking import GradesAsked, asked_in
from extras.graded.models import MOST_CRITERIA, GradeQuestions, ReasonAsked, ScoreScale
from judging.pages.campaign_forms import settings_for
from studies.errors import StudyError
from studies.models import Study
from studies.pages.workbench import (
    SectionPage,
    SetupTask,
    TaskState,
)
from studies.study_folder import Folder, to_toml, value_of

_NOTHING = {"strength": False, "scale": 0, "criteria": False, "reason": str(ReasonAsked.NO)}


def _problem(study: Study, wanted: Mapping[str, Any]) -> str:
    return problem_of_criteria(study) if wanted["criteria"] else ""


QUESTIONS = AskedSettings(
    GradeQuestions,
    _NOTHING,
    event="graded answers changed",
    what="what people answer next to the choice",
    problem=_problem,
)
values_in, set_questions, copy_questions = QUESTIONS.values, QUESTIONS.store, QUESTIONS.copy


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
    score = f"score-{asked.scale}" if asked.scale else ""
    if asked.scale == ScoreScale.RIGHT:
        score = "right-wrong"
    settings = {
        "Strength of the preference": "strength" if asked.strength else "",
        "A score for each response": score,
        "A verdict by each criterion": "criteria" if asked.criteria else "",
        "A reason in one line": "reason-line" if asked.asks_reason else "",
    }
    return [(what, setting) for what, setting in settings.items() if setting]


@login_required
@require_http_methods(["GET", "POST"])
def questions(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what annotators answer next to the choice, or store it (POST)."""
    return QUESTIONS.page(
        request,
        slug,
        form_class=QuestionsForm,
        template="graded/questions.html",
        address="graded:questions",
        more=_more,
    )


def _more(study: Study) -> Mapping[str, Any]:
    settings = settings_for_judges(asked_in(study))
    possible = {name for name, _ in settings_for(study)}
    return {
        "criteria": [name for name, _ in study.shown_criteria],
        "most": MOST_CRITERIA,
        "settings": [(what, setting, setting in possible) for what, setting in settings],
        "judges": urlencode([("settings", name) for _, name in settings if name in possible]),
    }


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


class GradedFile:
    """graded.toml: what annotators answer next to the choice."""

    name, file = "graded", "graded.toml"

    def write(self, study: Study) -> dict[str, str]:
        values = values_in(study)
        return {} if values == _NOTHING else {self.file: to_toml(values)}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        content = folder.toml(file, known=tuple(_NOTHING))
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
