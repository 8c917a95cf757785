"""The remarks on the page of an item: their form, and how they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _

from annotation.content.added_questions import AddedQuestions
from annotation.models import Annotation, Assignment
from extras.remarks.models import ItemFlag, RemarkQuestions, Remarks
from studies.models import Study
from studies.pages.responses import whole_number

ASKED = ("flags", "either", "others")
FIELDS = (*ASKED, "results")
# The words of the page; those of `ItemFlag` are for researchers.
_FLAGS = (
    ("", _("No")),
    (ItemFlag.SENSE, _("It does not make sense")),
    (ItemFlag.SAME, _("Both responses are the same")),
    (ItemFlag.OFFENSIVE, _("It is offensive")),
    (ItemFlag.KNOWN, _("I know this person")),
    (ItemFlag.OTHER, _("Something else")),
)
_YES = "yes"


@lru_cache(maxsize=1024)
def _stored(study_id: int, export_key: str, version: int) -> frozenset[str]:
    """The remarks of a study, read once by each process: saving them changes its version.

    The key of exports tells a study from an earlier one with its id.
    """
    row = RemarkQuestions.objects.filter(study=study_id).values(*FIELDS).first() or {}
    return frozenset(name for name, is_asked in row.items() if is_asked)


def asked_in(study: Study) -> frozenset[str]:
    """The remarks that a study asks for."""
    return _stored(study.pk, study.export_key, study.version).intersection(ASKED)


def shows_results(study: Study) -> bool:
    """Whether people who completed see their own numbers."""
    return "results" in _stored(study.pk, study.export_key, study.version)


class RemarksForm:
    """The remarks at one item (see `AddedForm`). None of them has to be made."""

    name: ClassVar[str] = "remarks"
    template: ClassVar[str] = "annotation/_remarks.html"
    flags = _FLAGS

    def __init__(self, study: Study, asked: frozenset[str]) -> None:
        self.asked = asked
        self.asks_own_answers = study.asks_own_answers
        self.names = [
            field
            for field, question in (("flag", "flags"), ("either", "either"), ("others", "others"))
            if question in asked
        ]
        self.values: Mapping[str, str] = dict.fromkeys(self.names, "")
        self.errors: Mapping[str, Any] = {}
        self._is_tie = False

    def fill(self, entered: Mapping[str, Any]) -> None:
        self.values = {name: str(entered.get(name) or "").strip()[:10] for name in self.names}

    def check(self, choice: str) -> Mapping[str, Any]:
        self._is_tie = choice == "tie"
        self.errors = {}
        if self.values.get("flag", "") not in ("", *ItemFlag.values):
            self.errors = {"flag": _("Select one of the listed reasons, or “No”")}
        others = self.values.get("others", "")
        number = whole_number(others)
        if others and (number is None or not 0 <= number <= 100):
            self.errors |= {"others": _("Enter a whole number from 0 to 100, or nothing")}
        return self.errors

    def entered(self, assignment: Assignment) -> Mapping[str, str]:
        draft, answer = (getattr(assignment, name, None) for name in ("draft", "annotation"))
        kept: Mapping[str, str] | None = draft.added.get(self.name) if draft else None
        if kept is None and answer is not None and (stored := remarks_of(answer)):
            kept = {
                "flag": stored.flag,
                "either": _YES if stored.either else "",
                "others": "" if stored.others is None else str(stored.others),
            }
        return {name: (kept or {}).get(name, "") for name in self.names}

    def draft(self, assignment: Assignment) -> Mapping[str, str]:
        return dict(self.values)

    def is_stored(self, answer: Annotation) -> bool:
        stored, values = remarks_of(answer), self._values()
        return stored is not None and all(getattr(stored, name) == values[name] for name in values)

    def store(self, answer: Annotation) -> None:
        Remarks.objects.create(answer=answer, revision=answer.revision, **self._values())

    def _values(self) -> dict[str, Any]:
        """What was filled in, checked, as stored. A tie already says that both would do."""
        asks_either = "either" in self.names and not self._is_tie
        return {
            "flag": self.values.get("flag", ""),
            "either": self.values["either"] == _YES if asks_either else None,
            "others": whole_number(self.values.get("others", "")),
        }


def remarks_of(answer: Annotation) -> Remarks | None:
    """The remarks of an answer as it is now."""
    return Remarks.objects.filter(answer=answer, revision=answer.revision).first()


def _form_for(study: Study) -> RemarksForm | None:
    asked = asked_in(study)
    return RemarksForm(study, asked) if asked else None


QUESTIONS = AddedQuestions(RemarksForm.name, _form_for)
