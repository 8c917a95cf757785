"""Participants' forms: they check the format of the input; the services decide."""

import datetime as dt
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core import signing
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.content.added_questions import AddedForm
from annotation.machine_signs import read_signals
from annotation.models import Assignment, ComprehensionQuestion, DemographicQuestion, Translated
from studies.models import Study, Task
from studies.pages.responses import whole_number
from studies.prompts import BANDS, band_of
from studies.texts.languages import isolated

# Letters of the responses on a page; in names and ids in lower case.
LETTERS = "abcde"
_PERCENT = re.compile(r"(\d{1,3})\s*[%\u066a]?")
_MAX_ACTIVE_MS = 24 * 3600 * 1000
_SALT = "annotation.assignment"
_LEVELS = frozenset(band.slug for band in BANDS)


@dataclass(frozen=True)
class ErrorLink:
    """A line of the error summary: what is missing, and the control it links to."""

    target: str
    message: str


class ParticipantForm(forms.Form):
    """A form whose errors link to the first control that they concern."""

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

    def __init__(self, *args: Any, statements: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._boxes = [f"agree-{number}" for number in range(len(statements))]

    @property
    def ticked(self) -> set[int]:
        return {number for number, name in enumerate(self._boxes) if self.data.get(name) == "yes"}

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if values.get("consent") == "yes" and len(self.ticked) < len(self._boxes):
            self.add_error(
                None, _("Tick every statement, or select that you do not want to take part")
            )
        return values

    def target_of(self, field: str) -> str:
        if field != NON_FIELD_ERRORS:
            return "consent-yes"
        return next(name for n, name in enumerate(self._boxes) if n not in self.ticked)


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


_ENTER = _("Enter a certainty from 1 to 100")


@dataclass(frozen=True)
class Entered:
    """A field of the item page: its value and its errors."""

    value: str
    errors: list[Any]


@dataclass(frozen=True)
class AssignmentToken:
    """An item as it was shown, for an answer that comes after the cookie has expired.

    `earlier_ms` is the active time of earlier visits to it.
    """

    annotator_id: int
    assignment_id: int
    shown_at: dt.datetime
    earlier_ms: int


def assignment_token(assignment: Assignment, *, shown_at: dt.datetime, earlier_ms: int = 0) -> str:
    """The value of the hidden field `assignment`; only this installation can create one."""
    shown_ms = round(shown_at.timestamp() * 1000)
    return signing.dumps([assignment.annotator_id, assignment.pk, shown_ms, earlier_ms], salt=_SALT)


def read_assignment_token(token: str) -> AssignmentToken:
    """Read a token; raises `signing.BadSignature` if this installation did not create it."""
    annotator_id, assignment_id, shown_ms, *earlier_ms = signing.loads(token, salt=_SALT)
    shown_at = dt.datetime.fromtimestamp(shown_ms / 1000, tz=dt.UTC)
    return AssignmentToken(annotator_id, assignment_id, shown_at, *(earlier_ms or [0]))


class AnswerForm:
    """A choice as displayed, and a certainty where the study asks for one.

    Not a Django form, which would take longer than everything else in an answer; pages and services
    use it in the same way. `task` is the item's, and words the error for a missing choice.
    `options` is the number of responses of a set to rank instead of a choice. `added` are the forms
    of extras, filled in and checked with this one.
    """

    def __init__(
        self,
        data: QueryDict | None = None,
        *,
        study: Study,
        task: str,
        initial: dict[str, str] | None = None,
        options: int = 0,
        added: Sequence[AddedForm] = (),
    ) -> None:
        self.study = study
        self.added = added
        self.options = options
        self._first_wrong = "a"
        self.is_bound = data is not None
        self.data: Any = data if data is not None else {}
        self._shown: Any = self.data if self.is_bound else initial or {}
        self.errors: dict[str, list[Any]] = {}
        self.cleaned_data: dict[str, Any] = {}
        for form in added:
            form.fill(self._shown)
        if self.is_bound:
            self._check(_CHOOSE[Task(task)])
            for form in added:
                faults = form.check(self.cleaned_data["choice"])
                self.errors |= {control: [words] for control, words in faults.items()}
            if "certainty" in self.errors:  # the last question of the page
                self.errors["certainty"] = self.errors.pop("certainty")

    def is_valid(self) -> bool:
        return self.is_bound and not self.errors

    def _text(self, name: str) -> str:
        return str(self.data.get(name) or "").strip()

    @property
    def active_ms(self) -> int | None:
        """The active time that the browser states; services limit it by the server's clock."""
        return _milliseconds(self._text("active_ms"))

    @property
    def media_missing(self) -> bool:
        """Whether the annotator chose to answer without a picture that did not load."""
        return self._text("media_missing") == "yes"

    def _check(self, nothing_chosen: Any) -> None:
        if self.options:
            self._check_places()
            return
        choice = self.data.get("choice")
        if choice not in ("a", "b") and not (choice == "tie" and self.study.allow_tie):
            self.errors["choice"] = [nothing_chosen]
            choice = ""
        # The value of a hidden box is ignored.
        self._clean(choice, asks=self.study.ask_certainty and choice != "tie")

    def _clean(self, choice: str, *, asks: bool) -> None:
        control = ""
        if asks:
            control = self.study.certainty_control
            if control == Study.CertaintyControl.LEVELS:
                is_used = bool(self._text("level"))
            else:
                is_used = self._text("control") == control
            control = control if is_used else Study.CertaintyControl.NUMBER
        # What the page's script found translated; an answer is never refused because of it.
        part = self._text("translated")
        self.cleaned_data = {
            "choice": choice,
            "certainty": self._certainty() if asks else None,
            "certainty_control": control,
            "active_ms": self.active_ms,
            "media_missing": self.media_missing,
            "translated": part if part in Translated.values else Translated.NOTHING,
            "signals": read_signals(self._text("signals")) if self.study.measures_signs else None,
            "added": self.added,
        }

    def _check_places(self) -> None:
        """Check that every response of a set has its own place."""
        letters = LETTERS[: self.options]
        places = {letter: whole_number(self._text(f"place_{letter}")) for letter in letters}
        wrong = [
            letter
            for letter, place in places.items()
            if place is None or not 1 <= place <= self.options
        ]
        held = [place for letter, place in places.items() if letter not in wrong]
        shared = [
            letter for letter in letters if letter not in wrong and held.count(places[letter]) > 1
        ]
        if len(wrong) == self.options:
            self.errors["choice"] = [
                _("Put the responses in order: select a place for each of them")
            ]
        elif wrong:
            names = ", ".join(letter.upper() for letter in wrong)
            words = _("Select a place for each response. No place yet: %(names)s")
            self.errors["choice"] = [words % {"names": names}]
        elif shared:
            names = ", ".join(letter.upper() for letter in shared)
            words = _("Give each response its own place. These share a place: %(names)s")
            self.errors["choice"] = [words % {"names": names}]
        self._first_wrong = (wrong or shared or ["a"])[0]
        self._clean("", asks=self.study.ask_certainty)
        if "choice" not in self.errors:
            ranked = sorted(letters, key=lambda letter: places[letter] or 0)
            self.cleaned_data["ranking"] = [letters.index(letter) for letter in ranked]

    def _certainty(self) -> int | None:
        """A whole number from 1 to 100; “72 %” and “ 72 ” are read as 72, nothing is rounded."""
        match = _PERCENT.fullmatch(unicodedata.normalize("NFKC", self._text("certainty")).strip())
        if not match or not 1 <= int(match[1]) <= 100:
            self.errors["certainty"] = [_ENTER]
            return None
        certainty = int(match[1])
        slug = self._text("level")
        level = next((band for band in BANDS if band.slug == slug), None)
        if level and not level.low <= certainty <= level.high:
            words = _("Enter a number from %(low)s to %(high)s, or select another level")
            self.errors["certainty"] = [words % {"low": level.low, "high": level.high}]
        return certainty

    @property
    def error_links(self) -> list[ErrorLink]:
        target = {"choice": f"place-{self._first_wrong}-1" if self.options else "choice-a"}
        return [
            ErrorLink(target.get(field, field), str(messages[0]))
            for field, messages in self.errors.items()
        ]

    @property
    def choice(self) -> Entered:
        return Entered(str(self._shown.get("choice") or ""), self.errors.get("choice", []))

    def place(self, letter: str) -> str:
        """The place given to the response with this letter; empty without one."""
        return str(self._shown.get(f"place_{letter}") or "")

    @property
    def certainty(self) -> Entered:
        return Entered(str(self._shown.get("certainty") or ""), self.errors.get("certainty", []))

    @property
    def level_shown(self) -> str:
        """The selected level, otherwise the one that contains the certainty."""
        if self.is_bound and (level := self.data.get("level")) in _LEVELS:
            return str(level)
        certainty = whole_number(self.certainty.value, most=100)
        return band_of(certainty).slug if certainty else ""


class DraftForm(forms.Form):
    """A partly filled item; the certainty is any typed text.

    Places of the responses of a set are in `places`, by letter.
    """

    stamp = forms.CharField(max_length=30)
    choice = forms.ChoiceField(required=False, choices=[(c, c) for c in ("a", "b", "tie")])
    certainty = forms.CharField(required=False, max_length=20)
    active_ms = forms.CharField(required=False)

    def clean_active_ms(self) -> int:
        return _milliseconds(self.cleaned_data["active_ms"]) or 0

    @property
    def places(self) -> dict[str, int]:
        numbers = ((name, whole_number(self.data.get(f"place_{name}", ""))) for name in LETTERS)
        return {name: place for name, place in numbers if place and place <= len(LETTERS)}


class AboutForm(ParticipantForm):
    """The questions of a study's quotas; each needs an answer, at least “prefer not to say”."""

    def __init__(self, *args: Any, questions: Iterable[DemographicQuestion], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for question in questions:
            unanswered = _("Answer “%(question)s”, or select “Prefer not to say”")
            message = unanswered % {"question": isolated(question.label)}
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
    """One question about the instructions; `try` is the number of the try on the page."""

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
    """Comments of the annotator, and whether an AI assistant helped; both optional."""

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
