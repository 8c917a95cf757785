"""Participants' forms: they check the format of the input; the services decide."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import ComprehensionQuestion, DemographicQuestion
from studies.models import Study, Task
from studies.pages.numbers import whole_number
from studies.prompts import BANDS, band_of

_PERCENT = re.compile(r"([0-9]{1,3})\s*%?")
_MAX_ACTIVE_MS = 24 * 3600 * 1000


@dataclass(frozen=True)
class ErrorLink:
    """A line of the error summary: what is missing, and the control it links to."""

    target: str
    message: str


class ParticipantForm(forms.Form):
    """A form whose errors know the first control they apply to."""

    def target_of(self, field: str) -> str:
        return field

    @property
    def error_links(self) -> list[ErrorLink]:
        return [
            ErrorLink(self.target_of(field), str(messages[0]))
            for field, messages in self.errors.items()
        ]


class ConsentForm(ParticipantForm):
    """Yes or no, by two buttons of equal weight."""

    consent = forms.ChoiceField(
        choices=[("yes", "yes"), ("no", "no")],
        error_messages={
            "required": _("Select whether you want to take part"),
            "invalid_choice": _("Select whether you want to take part"),
        },
    )

    def target_of(self, field: str) -> str:
        return "consent-yes"


class CertaintyField(forms.CharField):
    """A whole number from 1 to 100; “72 %” and “ 72 ” are read as 72, nothing is rounded."""

    default_error_messages = {
        "required": _("Enter a certainty from 1 to 100"),
        "invalid": _("Enter a certainty from 1 to 100"),
    }

    def to_python(self, value: Any) -> int | None:  # type: ignore[override]
        text = unicodedata.normalize("NFKC", super().to_python(value) or "").strip()
        if not text:
            return None
        match = _PERCENT.fullmatch(text)
        if not match or not 1 <= int(match[1]) <= 100:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        return int(match[1])


_CHOOSE = {
    Task.PREFERENCE: _("Select the response this person would prefer"),
    Task.SURVEY_ANSWER: _("Select the answer this person would give"),
    Task.AUTHORSHIP: _("Select the response this person wrote"),
    Task.QUESTION_ANSWER_AUTHORSHIP: _("Select the answer this person wrote"),
}


def _milliseconds(text: str) -> int | None:
    """A time measured by the browser; an answer is never refused because of it."""
    if not text.isascii() or not text.isdigit():
        return None
    milliseconds = int(text[:12])
    return milliseconds if milliseconds <= _MAX_ACTIVE_MS else None


class AnswerForm(ParticipantForm):
    """A choice as displayed, and a certainty where the study asks for one."""

    certainty = CertaintyField(required=False)
    level = forms.CharField(required=False)
    control = forms.CharField(required=False)
    active_ms = forms.CharField(required=False)

    def __init__(self, *args: Any, study: Study, task: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        nothing_chosen = _CHOOSE[Task(task)]
        self.fields["choice"] = forms.ChoiceField(
            choices=[("a", "A"), ("b", "B"), *([("tie", "tie")] if study.allow_tie else [])],
            error_messages={"required": nothing_chosen, "invalid_choice": nothing_chosen},
        )
        self.order_fields(["choice", "level", "certainty", "control", "active_ms"])

    def target_of(self, field: str) -> str:
        return {"choice": "choice-a"}.get(field, field)

    def clean_active_ms(self) -> int | None:
        return _milliseconds(self.cleaned_data["active_ms"])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.study.ask_certainty or data.get("choice") == "tie":
            # The value of a hidden box has no meaning.
            self.errors.pop("certainty", None)
            data["certainty"] = None
            data["control"] = ""
            return data
        if "certainty" not in self.errors and data.get("certainty") is None:
            required = self.fields["certainty"].error_messages["required"]
            self.add_error("certainty", forms.ValidationError(required, code="required"))
        data["control"] = self._control(data)
        level = next((band for band in BANDS if band.slug == data.get("level")), None)
        certainty = data.get("certainty")
        if level and certainty is not None and not level.low <= certainty <= level.high:
            words = _("Enter a number from %(low)s to %(high)s, or select another level")
            self.add_error("certainty", words % {"low": level.low, "high": level.high})
        return data

    def _control(self, data: dict[str, Any]) -> str:
        """The control used to enter the certainty, if the study offers it."""
        offered = self.study.certainty_control
        if offered == Study.CertaintyControl.LEVELS:
            return offered if data.get("level") else Study.CertaintyControl.NUMBER
        return offered if data.get("control") == offered else Study.CertaintyControl.NUMBER

    @property
    def level_shown(self) -> str:
        """The level that was selected, otherwise the one that contains the certainty."""
        if self.is_bound and self["level"].value():
            return str(self["level"].value())
        certainty = whole_number(str(self["certainty"].value() or ""), most=100)
        return band_of(certainty).slug if certainty else ""


class DraftForm(forms.Form):
    """An item as far as it is filled in; the certainty is any text that was typed."""

    stamp = forms.CharField(max_length=30)
    choice = forms.ChoiceField(required=False, choices=[(c, c) for c in ("a", "b", "tie")])
    certainty = forms.CharField(required=False, max_length=20)
    active_ms = forms.CharField(required=False)

    def clean_active_ms(self) -> int:
        return _milliseconds(self.cleaned_data["active_ms"]) or 0


class AboutForm(ParticipantForm):
    """The questions of a study's quotas; “prefer not to say” is allowed, no answer is not."""

    def __init__(self, *args: Any, questions: Iterable[DemographicQuestion], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for question in questions:
            unanswered = _("Answer “%(question)s”, or select “Prefer not to say”")
            message = unanswered % {"question": question.label}
            self.fields[f"attr_{question.key}"] = forms.ChoiceField(
                label=question.label,
                choices=question.choices(),
                error_messages={"required": message, "invalid_choice": message},
            )

    def target_of(self, field: str) -> str:
        return f"{field}-0"

    @property
    def demographics(self) -> dict[str, str]:
        """The answers by question key."""
        return {
            name.removeprefix("attr_"): value
            for name, value in self.cleaned_data.items()
            if name.startswith("attr_")
        }


class QuizForm(ParticipantForm):
    """One question on the instructions; `try` is the number of the try that the page is for."""

    def __init__(self, *args: Any, question: ComprehensionQuestion, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        unanswered = _("Select an answer")
        self.fields["answer"] = forms.TypedChoiceField(
            choices=[(str(n), label) for n, label in enumerate(question.options)],
            coerce=int,
            error_messages={"required": unanswered, "invalid_choice": unanswered},
        )
        self.fields["try"] = forms.IntegerField(required=False)

    def target_of(self, field: str) -> str:
        return "answer-0"


AI_USE = {
    "no": _("No"),
    "some": _("Yes, for some answers"),
    "most": _("Yes, for most answers"),
    "unsaid": _("Prefer not to say"),
}


class FeedbackForm(ParticipantForm):
    """Comments of the annotator, and whether an AI assistant helped; all of it optional."""

    ai_use = forms.ChoiceField(
        required=False,
        choices=list(AI_USE.items()),
        error_messages={"invalid_choice": _("Select one of the answers, or none")},
    )

    comments = forms.CharField(
        required=False,
        max_length=5000,
        widget=forms.Textarea,
        error_messages={"max_length": _("Shorten your comments to 5,000 characters")},
    )

    def target_of(self, field: str) -> str:
        return {"ai_use": "ai_use-0"}.get(field, field)
