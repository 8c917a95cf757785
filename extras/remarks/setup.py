"""The page where a researcher chooses which remarks annotators can make."""

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
from extras.remarks.asking import ASKED, FIELDS, asked_in
from extras.remarks.flagged import flagged_items
from extras.remarks.models import RemarkQuestions
from studies.models import Study
from studies.pages.workbench import SectionPage, SetupTask, TaskState
from studies.study_folder import Folder, to_toml, value_of

_NOTHING = dict.fromkeys(FIELDS, False)
_WORDS = {
    "flags": "something is wrong with the item",
    "either": "the other response would do as well",
    "others": "how many others choose the same",
}
# The settings that ask a judge the same.
_SETTINGS = {"either": "response-set", "others": "others"}


QUESTIONS = AskedSettings(
    RemarkQuestions, _NOTHING, event="remarks changed", what="what annotators are asked"
)
values_in, set_questions, copy_questions = QUESTIONS.values, QUESTIONS.store, QUESTIONS.copy


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
    results = forms.BooleanField(
        label="Show people their own numbers at the end: items, time, how often with the majority",
        required=False,
        help_text="It tells which answers were popular, and people may pass that on. It counts "
        "items that all others have answered, from five on, and nobody sees it before the last "
        "answer.",
    )
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)


@login_required
@require_http_methods(["GET", "POST"])
def remarks(request: HttpRequest, slug: str) -> HttpResponse:
    """Show which remarks annotators can make and the flagged items, or store the former (POST)."""
    return QUESTIONS.page(
        request,
        slug,
        form_class=RemarksSettingsForm,
        template="remarks/remarks.html",
        address="remarks:remarks",
        more=_more,
    )


def _more(study: Study) -> Mapping[str, Any]:
    settings = [_SETTINGS[name] for name in ASKED if name in asked_in(study) & _SETTINGS.keys()]
    return {
        "settings": settings,
        "judges": urlencode([("settings", setting) for setting in settings]),
        "flagged": flagged_items(study),
    }


def setup_task(study: Study) -> Iterator[SetupTask]:
    """An optional step after the question."""
    asked = asked_in(study)
    names = ", ".join(_WORDS[name] for name in ASKED if name in asked)
    state = TaskState.DONE if asked else TaskState.NOT_STARTED
    words = f"Annotators can say: {names}" if asked else "Annotators are asked for a choice alone"
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
