"""The questions of “About you” as a form: wording, options, order."""

import re
from collections.abc import Sequence
from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods

from annotation.errors import QuotaError
from annotation.models import DemographicQuestion
from annotation.researchers.setup.rows import Row, arranged, lines, read_rows
from annotation.seats.quotas import (
    QuotaQuestion,
    have_entered,
    is_sentence,
    seen_questions,
    set_about_questions,
)
from studies.errors import StaleVersion
from studies.models import Membership, Study
from studies.selectors import get_study

_REFUSED = 422
_MOST = 20
_MOST_OPTIONS = 40
_FIELDS = ("key", "label", "options", "sentence")
_KEY = re.compile(r"[-a-zA-Z0-9_]{1,40}")

# Questions that studies often balance, under the names that Prolific's filters know.
READY: dict[str, Row] = {
    "gender": {
        "key": "gender",
        "label": "What is your gender?",
        "options": "Woman\nMan\nNon-binary",
    },
    "age": {
        "key": "age",
        "label": "How old are you?",
        "options": "18–29\n30–44\n45–59\n60 or older",
    },
    "politics": {
        "key": "politics",
        "label": "Generally speaking, what do you consider yourself?",
        "options": "Democrat\nRepublican\nIndependent",
    },
    "education": {
        "key": "education",
        "label": "What is the highest level of education that you completed?",
        "options": "No formal education\nSecondary school\nVocational training\nBachelor’s degree\n"
        "Master’s degree or higher",
    },
}
NAMES = {
    "gender": "gender",
    "age": "age",
    "politics": "political affiliation",
    "education": "education",
}


@require_http_methods(["GET", "POST"])
@login_required
def questions(request: HttpRequest, slug: str) -> HttpResponse:
    """Show, arrange and store the questions; only “Save questions” stores anything."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    fixed = have_entered(study)
    seen = now = seen_questions(study)  # Before the rows are read: a later change is then noticed.
    rows, fault = _stored_rows(study), ""
    if request.method == "POST" and not fixed:
        action = request.POST.get("do", "save")
        if ready := READY.get(action.removeprefix("use-")) if action[:4] == "use-" else None:
            return _use(request, study, [*rows, ready], seen=now)
        seen = request.POST.get("seen", now)
        rows = arranged(read_rows(request.POST, "question", _FIELDS, most=_MOST), action)
        if action == "add" or action.removeprefix("add-") in READY:
            rows.append(READY.get(action.removeprefix("add-"), dict.fromkeys(_FIELDS, "")))
        if action == "save":
            try:
                set_about_questions(
                    study_id=study.pk,
                    questions=_read(study, rows),
                    seen=request.POST.get("seen"),
                    user=cast(User, request.user),
                )
            except QuotaError as error:
                fault = str(error)
            except StaleVersion as error:
                fault, seen = str(error), now
            else:
                messages.success(request, f"Questions saved: {len(rows)}.")
                return redirect("people:questions", slug)
    used = {key for group in study.quota_groups.all() for key in group.criteria}
    taken = {row["key"] for row in rows}
    context = {
        "study": study,
        "rows": [row | {"is_used": row["key"] in used} for row in rows],
        "seen": seen,
        "fixed": fixed,
        "fault": fault,
        "ready": [(key, name) for key, name in NAMES.items() if key not in taken],
        "is_full": len(rows) >= _MOST,
        "has_groups": bool(used) or study.quota_groups.exists(),
    }
    status = _REFUSED if fault else 200
    return render(request, "annotation/researcher/setup/questions.html", context, status=status)


def _use(request: HttpRequest, study: Study, rows: Sequence[Row], *, seen: str) -> HttpResponse:
    """Store one more of the usual questions, and show the quota groups that it makes."""
    try:
        set_about_questions(
            study_id=study.pk,
            questions=_read(study, rows),
            seen=seen,
            user=cast(User, request.user),
        )
    except (QuotaError, StaleVersion) as error:
        messages.error(request, str(error))
    return redirect("people:quota", study.slug)


def _stored_rows(study: Study) -> list[Row]:
    return [
        {
            "key": question.key,
            "label": question.label,
            "options": "\n".join(option["label"] for option in question.options),
            "sentence": question.sentence,
        }
        for question in study.demographic_questions.all()
    ]


def _read(study: Study, rows: Sequence[Row]) -> list[QuotaQuestion]:
    """The questions in the rows; `QuotaError` says what is missing, and in which question."""
    stored = {question.key: question for question in study.demographic_questions.all()}
    found: list[QuotaQuestion] = []
    for number, row in enumerate(rows, start=1):
        labels = lines(row["options"])
        _check(number, row["label"], labels)
        _check_sentence(number, row.get("sentence", ""))
        key = row["key"] or _name(row["label"], {question.key for question in found})
        if not _KEY.fullmatch(key):
            raise QuotaError(f"Question {number} has no usable name. Remove it and add it again.")
        if any(question.key == key for question in found):
            raise QuotaError(f"Question {number} is there twice. Remove one of the two.")
        known = {o["label"]: o["value"] for o in stored[key].options} if key in stored else {}
        values: dict[str, str] = {}
        for label in labels:
            values[known.get(label) or _name(label, {*values, *known.values()})] = label
        found.append(QuotaQuestion(key, row["label"], values, row.get("sentence", "")))
    return found


def _check(number: int, label: str, options: Sequence[str]) -> None:
    if not label:
        raise QuotaError(f"Question {number} has no text. Write the question, or remove it.")
    if len(label) > 200:
        raise QuotaError(f"Question {number} is longer than 200 letters. Shorten it.")
    if not 2 <= len(options) <= _MOST_OPTIONS:
        raise QuotaError(
            f"Question {number} has {len(options)} option{'' if len(options) == 1 else 's'}. "
            f"Write 2 to {_MOST_OPTIONS}, one per line."
        )
    if len(set(options)) < len(options):
        raise QuotaError(f"Question {number} has the same option twice. Remove one of them.")
    if any(len(option) > 200 for option in options):
        raise QuotaError(f"Question {number} has an option of more than 200 letters. Shorten it.")


def _check_sentence(number: int, sentence: str) -> None:
    if sentence and not is_sentence(sentence):
        raise QuotaError(
            f"Question {number}: write {{answer}} where the answer belongs in the sentence, in up "
            "to 200 letters, for example “The person is {answer}.”"
        )


def _name(label: str, taken: set[str]) -> str:
    """A short name for exports, made of the words on the page and not used yet."""
    base = slugify(label).replace("-", "_")[:36] or "option"
    names = [base, *(f"{base}_{number}" for number in range(2, 1000))]
    reserved = {*taken, DemographicQuestion.PREFER_NOT_TO_SAY}
    return next(name for name in names if name not in reserved)
