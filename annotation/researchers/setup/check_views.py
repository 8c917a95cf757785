"""The comprehension check as a form, and the items that serve as practice or attention checks."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from annotation.content.attention_check_rules import ready_checks, texts_of, unfair_checks
from annotation.content.comprehension import (
    MOST,
    QuestionText,
    as_toml,
    questions_of,
    read_questions,
    seen_text,
    set_questions,
    standard_questions,
)
from annotation.errors import ComprehensionError
from annotation.models import ComprehensionAnswer
from annotation.researchers.setup.rows import Row, arranged, read_rows
from annotation.seats.assignment import checks_needed
from studies.errors import StaleVersion, StudyError
from studies.importers.editing import add_checks, use_item_as
from studies.importers.files.faults import Refused
from studies.importers.items.replacement import why_not
from studies.models import Item, Membership, Side, Study
from studies.selectors import get_study

_REFUSED = 422
_OPTIONS = [f"option-{number}" for number in range(MOST)]
_FIELDS = ("text", "pointer", "right", *_OPTIONS)
_FEWEST_BOXES = 4
_SUGGESTED = 300


@require_http_methods(["GET", "POST"])
@login_required
def checks(request: HttpRequest, slug: str) -> HttpResponse:
    """The questions on the instructions; buttons that arrange them store nothing."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    stored = questions_of(study)
    rows, text, fault, target = [_row(q) for q in stored], as_toml(stored), "", "quiz"
    seen = request.POST.get("seen", seen_text(stored))
    if request.method == "POST" and (action := request.POST.get("do", "")) not in ("", "save"):
        rows = arranged(read_rows(request.POST, "quiz", _FIELDS, most=MOST), action)
        if action == "add":
            rows.append(dict.fromkeys(_FIELDS, ""))
    elif request.method == "POST":
        text = request.POST.get("questions", text)
        try:
            asked = _sent(request, study)
            set_questions(
                study_id=study.pk,
                questions=asked,
                seen=request.POST.get("seen"),
                user=cast(User, request.user),
            )
        except (ComprehensionError, StaleVersion) as error:
            fault = str(error)
            if isinstance(error, StaleVersion):
                seen = seen_text(stored)
            if action:
                rows = read_rows(request.POST, "quiz", _FIELDS, most=MOST)
            else:
                target = "questions"
        else:
            messages.success(request, f"Saved {len(asked)} comprehension questions.")
            return redirect("people:checks", slug)
    context = _about_items(study) | {
        "study": study,
        "rows": [_shown(number, row) for number, row in enumerate(rows)],
        "is_stored": bool(stored),
        "is_full": len(rows) >= MOST,
        "is_fixed": ComprehensionAnswer.objects.filter(question__study=study).exists(),
        "text": text,
        "seen": seen,
        "fault": fault,
        "target": target,
        "own_instructions": bool(study.instructions),
        "example": as_toml(standard_questions(study)[:1]),
    }
    status = _REFUSED if fault else 200
    return render(request, "annotation/researcher/checks.html", context, status=status)


def _sent(request: HttpRequest, study: Study) -> list[QuestionText]:
    """The questions of the form, of the TOML text, or the standard ones."""
    if "standard" in request.POST:
        return standard_questions(study)
    if request.POST.get("do") == "save":
        rows = read_rows(request.POST, "quiz", _FIELDS, most=MOST)
        return [_question(number, row) for number, row in enumerate(rows, start=1)]
    return read_questions(request.POST.get("questions", ""))


def _row(question: QuestionText) -> Row:
    options = dict(zip(_OPTIONS, question.options, strict=False))
    about = {"text": question.text, "pointer": question.pointer, "right": str(question.right)}
    return dict.fromkeys(_FIELDS, "") | about | options


def _shown(number: int, row: Row) -> dict[str, Any]:
    """A row with boxes for its options and one more, at least four."""
    used = max((n for n, name in enumerate(_OPTIONS) if row[name]), default=-1) + 1
    boxes = min(MOST, max(_FEWEST_BOXES, used + 1))
    options = [
        {"name": f"quiz-{number}-{name}", "value": row[name], "is_right": row["right"] == str(n)}
        for n, name in enumerate(_OPTIONS[:boxes])
    ]
    return {"number": number, "text": row["text"], "pointer": row["pointer"], "options": options}


def _question(number: int, row: Row) -> QuestionText:
    """A question as typed; `ComprehensionError` says what is missing."""
    for name, words, longest in (
        ("text", "text", 300),
        ("pointer", "sentence of the instructions", 500),
    ):
        if not row[name]:
            raise ComprehensionError(f"Question {number} has no {words}. Write it, please.")
        if len(row[name]) > longest:
            raise ComprehensionError(
                f"Question {number}: the {words} has more than {longest} letters. Shorten it."
            )
    options = [row[name] for name in _OPTIONS if row[name]]
    if len(options) < 2:
        raise ComprehensionError(f"Question {number} needs at least two options.")
    if len(set(options)) < len(options):
        raise ComprehensionError(f"Question {number} has the same option twice. Change one.")
    right = row.get(f"option-{row['right']}", "")
    if not right:
        raise ComprehensionError(f"Question {number}: select the right option.")
    return QuestionText(row["text"], tuple(options), options.index(right), row["pointer"])


def _about_items(study: Study) -> dict[str, Any]:
    """The practice items and attention checks, and what can be chosen as one."""
    kinds = (Item.Split.PRACTICE, Item.Split.ATTENTION_CHECK)
    found = list(Item.everything.filter(study=study, split__in=kinds).order_by("key"))
    reason = why_not(study)
    ordinary = Item.objects.filter(study=study).order_by("key")
    return {
        "practice": [item for item in found if item.split == Item.Split.PRACTICE],
        "attention": [
            (item, *texts_of(item)) for item in found if item.split == Item.Split.ATTENTION_CHECK
        ],
        "needed": checks_needed(study),
        "unfair": unfair_checks(study),
        "fixed": reason,
        "suggested": [] if reason else ordinary.values_list("key", "question")[:_SUGGESTED],
    }


@require_POST
@login_required
def check_items(request: HttpRequest, slug: str) -> HttpResponse:
    """Use an item as practice, as an attention check, or as an ordinary item again."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    key, use = request.POST.get("item", "").strip(), request.POST.get("use", "")
    user = cast(User, request.user)
    try:
        if "ready" in request.POST:
            key = "”, “".join(add_checks(study_id=study.pk, checks=_ready(study), user=user))
        else:
            _use(study, key, use, request.POST, user)
    except Refused as refused:
        for fault in refused.faults:
            messages.error(request, f"{fault.message[:1].upper()}{fault.message[1:]}")
    except (StudyError, StaleVersion) as error:
        messages.error(request, str(error))
    else:
        if "ready" in request.POST:
            messages.success(
                request, f"Attention checks added: “{key}”. No item was used for them."
            )
            return redirect("people:checks", slug)
        words = {"practice": "a practice item", "attention_check": "an attention check"}
        messages.success(request, f"“{key}” is now {words.get(use, 'an ordinary item')}.")
    return redirect("people:checks", slug)


def _ready(study: Study) -> list[dict[str, str]]:
    return [asdict(check) for check in ready_checks(study)]


def _use(study: Study, key: str, use: str, sent: Mapping[str, str], user: User) -> None:
    if use not in (Item.Split.MAIN, Item.Split.PRACTICE, Item.Split.ATTENTION_CHECK):
        raise StudyError("Select what the item is used for.")
    if not Item.everything.filter(study=study, key=key).exists():
        raise StudyError(f"This study has no item “{key[:120]}”. Choose one from the list.")
    correct, instruction = sent.get("correct", ""), sent.get("instruction", "").strip()
    if use == Item.Split.ATTENTION_CHECK and not (correct in Side.values and instruction):
        raise StudyError(
            "An attention check needs its right response and the instruction that says so."
        )
    use_item_as(
        study_id=study.pk,
        key=key,
        split=use,
        correct=correct,
        instruction=instruction,
        user=user,
    )
