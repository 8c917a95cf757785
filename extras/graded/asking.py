"""The questions next to the choice on the page of an item: their form, and how it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _

from annotation.content.added_questions import AddedQuestions
from annotation.models import Annotation, Annotator, Assignment
from annotation.services.endings import AtEnd
from extras.graded.models import (
    LONGEST_REASON,
    GradeQuestions,
    Grades,
    ReasonAsked,
    ScoreScale,
)
from studies.models import Study, Task
from studies.pages.responses import whole_number
from studies.texts.languages import isolated
from studies.texts.normalisation import storable

# The number of the last score that a digit key can choose; 0 chooses 10.
_TEN = 10
_STRENGTHS = (("1", _("Slightly")), ("2", _("Clearly")), ("3", _("Strongly")))
_SIDES = (("a", _("Response A")), ("b", _("Response B")), ("tie", _("No difference")))
_HOW_STRONG = {
    Task.PREFERENCE: _("How strongly would this person prefer it?"),
    Task.SURVEY_ANSWER: _("How strongly would this person hold this answer?"),
    Task.AUTHORSHIP: _("How strongly do the texts differ?"),
    Task.QUESTION_ANSWER_AUTHORSHIP: _("How strongly do the answers differ?"),
}
_HOW_STRONG_FOR_ME = _("How strongly do you prefer it?")
# In the words of the protocols that ask judges for scores.
HOW_GOOD = {
    Task.PREFERENCE: _("How well does this response suit this person?"),
    Task.SURVEY_ANSWER: _("How likely is it that this person would give this answer?"),
    Task.AUTHORSHIP: _("How likely is it that this person wrote this response?"),
    Task.QUESTION_ANSWER_AUTHORSHIP: _("How likely is it that this person wrote this answer?"),
}
_RIGHT_OR_WRONG = (("1", _("Wrong")), ("2", _("Right")))
_IS_RIGHT = _("Is this response right?")
_HOW_GOOD_FOR_ME = _("How well does this response suit you?")


@dataclass(frozen=True)
class GradesAsked:
    """What a study asks. `criteria` have a key, a name and a description each."""

    strength: bool = False
    scale: int = 0
    criteria: tuple[tuple[str, str, str], ...] = ()
    reason: str = ReasonAsked.NO

    def __bool__(self) -> bool:
        return bool(self.strength or self.scale or self.criteria or self.asks_reason)

    @property
    def asks_reason(self) -> bool:
        return self.reason != ReasonAsked.NO


_NOTHING = GradesAsked()


@lru_cache(maxsize=1024)
def _stored(study_id: int, export_key: str, version: int) -> tuple[bool, int, bool, str] | None:
    """The row of a study, read once by each process: saving it changes the study's version.

    The key of exports tells a study from an earlier one with its id.
    """
    rows = GradeQuestions.objects.filter(study=study_id)
    return rows.values_list("strength", "scale", "criteria", "reason").first()


def asked_in(study: Study) -> GradesAsked:
    """What a study asks next to the choice; false if nothing."""
    stored = _stored(study.pk, study.export_key, study.version)
    if stored is None:
        return _NOTHING
    strength, scale, criteria, reason = stored
    named = tuple(
        (criterion["key"], criterion["name"], criterion["description"])
        for criterion in study.criteria
    )
    return GradesAsked(strength, scale, named if criteria else (), reason)


@dataclass(frozen=True)
class GradeOption:
    """An option of a group, and the key that chooses it."""

    value: str
    label: Any
    key: str
    id: str
    is_chosen: bool


@dataclass(frozen=True)
class GradeGroup:
    """A question that is answered by one of several options."""

    name: str
    legend: Any
    hint: str
    options: Sequence[GradeOption]
    error: Any
    kind: str


class GradesForm:
    """The questions next to the choice at one item (see `AddedForm`)."""

    name: ClassVar[str] = "graded"
    template: ClassVar[str] = "annotation/_graded.html"

    def __init__(self, study: Study, asked: GradesAsked) -> None:
        self.study, self.asked = study, asked
        self.given: Mapping[str, str] = {}
        self.errors: Mapping[str, Any] = {}
        self._has_strength = asked.strength

    @property
    def names(self) -> list[str]:
        asked = self.asked
        return [
            *(["strength"] if asked.strength else []),
            *(["score_a", "score_b"] if asked.scale else []),
            *(_criterion(n) for n in range(len(asked.criteria))),
            *(["reason"] if asked.asks_reason else []),
        ]

    def fill(self, entered: Mapping[str, Any]) -> None:
        self.given = {
            name: " ".join(storable(str(entered.get(name) or "")).split()) for name in self.names
        }

    def check(self, choice: str) -> Mapping[str, Any]:
        self._has_strength = self.asked.strength and choice != "tie"
        self.errors = dict(self._faults())
        return self.errors

    def _faults(self) -> Iterator[tuple[str, Any]]:
        asked, fields = self.asked, self.given
        if self._has_strength and fields["strength"] not in dict(_STRENGTHS):
            yield (
                "strength-1",
                _("Select how strong the preference is: slightly, clearly or strongly"),
            )
        for side in ("a", "b") if asked.scale else ():
            if not 1 <= (whole_number(fields[f"score_{side}"]) or 0) <= asked.scale:
                words = _("Give response %(letter)s a score from 1 to %(most)s")
                if asked.scale == ScoreScale.RIGHT:
                    words = _("Select whether response %(letter)s is right or wrong")
                yield f"score_{side}-1", words % {"letter": side.upper(), "most": asked.scale}
        for n, (_key, name, _description) in enumerate(asked.criteria):
            if fields[_criterion(n)] not in dict(_SIDES):
                words = _("Select a response, or no difference, for “%(name)s”")
                yield f"{_criterion(n)}-a", words % {"name": isolated(name)}
        if asked.asks_reason:
            if len(fields["reason"]) > LONGEST_REASON:
                yield "reason", _("Shorten your reason to 300 characters")
            elif asked.reason == ReasonAsked.REQUIRED and not fields["reason"]:
                yield "reason", _("Give your reason in one line")

    @property
    def groups(self) -> Iterator[GradeGroup]:
        """The questions with options, in the order of the page."""
        asked, own = self.asked, self.study.asks_own_answers
        task = Task(self.study.task)
        if asked.strength:
            legend = _HOW_STRONG_FOR_ME if own else _HOW_STRONG[task]
            yield self._group("strength", legend, _STRENGTHS, kind="strength")
        scores: Sequence[tuple[str, Any]] = [(str(n), str(n)) for n in range(1, asked.scale + 1)]
        hint, kind = _HOW_GOOD_FOR_ME if own else HOW_GOOD[task], "score"
        if asked.scale == ScoreScale.RIGHT:
            scores, hint, kind = _RIGHT_OR_WRONG, _IS_RIGHT, "right"
        for side, response in _SIDES[:2] if asked.scale else ():
            yield self._group(f"score_{side}", response, scores, hint=hint, kind=kind)
        for n, (_key, name, description) in enumerate(asked.criteria):
            yield self._group(_criterion(n), name, _SIDES, hint=description, kind="criterion")

    def _group(
        self,
        name: str,
        legend: Any,
        options: Sequence[tuple[str, Any]],
        *,
        kind: str,
        hint: Any = "",
    ) -> GradeGroup:
        ids = [f"{name}-{value}" for value, _label in options]
        return GradeGroup(
            name,
            legend,
            hint,
            [
                GradeOption(value, label, _shortcut(value), id, self.given.get(name) == value)
                for (value, label), id in zip(options, ids, strict=True)
            ],
            self.errors.get(ids[0], ""),
            kind,
        )

    @property
    def reason(self) -> str:
        return self.given.get("reason", "")

    @property
    def most(self) -> int:
        return LONGEST_REASON

    def entered(self, assignment: Assignment) -> Mapping[str, str]:
        draft, answer = (getattr(assignment, name, None) for name in ("draft", "annotation"))
        kept: Mapping[str, str] | None = draft.added.get(self.name) if draft else None
        if kept is None and answer is not None and (grades := grades_of(answer)):
            kept = _as_entered(grades)
        return dict.fromkeys(self.names, "") | self._on_sides(kept or {}, assignment)

    def _on_sides(self, kept: Mapping[str, str], assignment: Assignment) -> dict[str, str]:
        """What was kept in content terms, by the names and sides of the page."""
        values = {}
        for side in ("a", "b"):
            values[f"score_{side}"] = kept.get(f"score_{assignment.as_content(side)}", "")
        for n, (key, _name, _description) in enumerate(self.asked.criteria):
            choice = kept.get(f"criterion_{key}", "")
            values[_criterion(n)] = assignment.as_displayed(choice) if choice else ""
        values |= {name: kept.get(name, "") for name in ("strength", "reason")}
        return {name: values[name] for name in self.names}

    def draft(self, assignment: Assignment) -> Mapping[str, str]:
        fields = self.given
        kept = {
            name: fields[name][:LONGEST_REASON] for name in ("strength", "reason") if name in fields
        }
        for side in ("a", "b") if self.asked.scale else ():
            kept[f"score_{assignment.as_content(side)}"] = fields[f"score_{side}"][:2]
        for n, (key, _name, _description) in enumerate(self.asked.criteria):
            if fields[_criterion(n)] in dict(_SIDES):
                kept[f"criterion_{key}"] = assignment.as_content(fields[_criterion(n)])
        return kept

    def is_stored(self, answer: Annotation) -> bool:
        grades = grades_of(answer)
        values = self._values(answer.assignment)
        return grades is not None and all(getattr(grades, name) == values[name] for name in values)

    def store(self, answer: Annotation) -> None:
        Grades.objects.create(
            answer=answer, revision=answer.revision, **self._values(answer.assignment)
        )

    def _values(self, assignment: Assignment) -> dict[str, Any]:
        """What was filled in, checked, as stored: in content terms."""
        asked, fields = self.asked, self.given
        scores = {}
        for side in ("a", "b") if asked.scale else ():
            scores[assignment.as_content(side)] = int(fields[f"score_{side}"])
        return {
            "strength": int(fields["strength"]) if self._has_strength else None,
            "score_1": scores.get("r1"),
            "score_2": scores.get("r2"),
            "criteria": {
                key: assignment.as_content(fields[_criterion(n)])
                for n, (key, _name, _description) in enumerate(asked.criteria)
            },
            "reason": self.reason,
        }


def _criterion(place: int) -> str:
    """The name of the field of a criterion, by its place from 0."""
    return f"criterion_{place + 1}"


def _shortcut(value: str) -> str:
    return {"tie": "t", str(_TEN): "0"}.get(value, value)


def grades_of(answer: Annotation) -> Grades | None:
    """The grades of an answer as it is now."""
    return Grades.objects.filter(answer=answer, revision=answer.revision).first()


def _as_entered(grades: Grades) -> dict[str, str]:
    """Stored grades in the form of a draft."""
    fields = {
        "strength": grades.strength,
        "score_r1": grades.score_1,
        "score_r2": grades.score_2,
        "reason": grades.reason,
    }
    kept = {name: "" if value is None else str(value) for name, value in fields.items()}
    return kept | {f"criterion_{key}": choice for key, choice in grades.criteria.items()}


def _form_for(study: Study) -> GradesForm | None:
    asked = asked_in(study)
    return GradesForm(study, asked) if asked else None


QUESTIONS = AddedQuestions(GradesForm.name, _form_for)


def _forget(annotator: Annotator) -> None:
    """Delete the texts of somebody who withdraws; their other grades leave the analysis."""
    of_person = {"answer__assignment__annotator": annotator}
    Grades.objects.filter(**of_person).exclude(reason="").update(reason="")


AT_END = AtEnd("graded", completed=lambda annotator: None, withdrew=_forget)
