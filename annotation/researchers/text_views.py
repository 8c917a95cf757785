"""What annotators see before the items: texts, comprehension questions, practice."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from annotation.content.comprehension import (
    MOST,
    QuestionText,
    as_toml,
    questions_of,
    read_questions,
    ready_checks,
    seen_text,
    set_questions,
    standard_questions,
    texts_of,
    unfair_checks,
)
from annotation.content.texts import (
    TEXTS,
    consent_parts,
    instructions_text,
    placeholders,
    ready_language,
    ready_practice,
    template_for,
    unfilled,
)
from annotation.errors import ComprehensionError
from annotation.models import ComprehensionAnswer
from annotation.researchers.admission_views import FormRow, arranged, read_rows
from annotation.seats.assignment import checks_needed
from studies.errors import FrozenStudy, StaleVersion, StudyError
from studies.importers.editing import add_checks, use_item_as, why_no_checks
from studies.importers.files.faults import Refused
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions
from studies.importers.items.storage import import_items, why_not
from studies.models import Item, Membership, Side, Study, Task
from studies.pages.responses import REFUSED, onward
from studies.pages.workbench import (
    SetupTask,
    TaskState,
)
from studies.prompts import base_of, language_name
from studies.selectors import get_study
from studies.services.settings import frozen_fields, save_settings
from studies.services.translations import unreviewed_language
from studies.texts.markdown import render_markdown

_FACTS = ("researchers", "contact", "storage", "ethics")
_HEADINGS = {"instructions": "Instructions", "consent": "Consent", "debrief": "Debrief"}


class TextsForm(forms.ModelForm):
    """The texts, and the facts that ethics boards ask for; `version` is that of the shown page."""

    version = forms.IntegerField(widget=forms.HiddenInput)

    class Meta:
        model = Study
        fields = [*_FACTS, *TEXTS]
        labels = {
            "researchers": "Who runs the study",
            "contact": "Contact address",
            "storage": "Where and how long data are kept",
            "ethics": "Ethics approval",
            **{name: f"{heading} text" for name, heading in _HEADINGS.items()},
        }
        help_texts = {
            "researchers": "Names and institution, for example Ada Lovelace, University of "
            "Exampleton.",
            "contact": "An e-mail address that annotators can write to.",
            "storage": "For example: on servers of the university in the EU, for ten years.",
            "ethics": "Board and approval number, for example Ethics Committee 2026/17.",
            "instructions": "Markdown. Leave empty to use the standard instructions.",
            "consent": "Markdown. Leave empty to use the standard text. Each line that begins with "
            "“- [ ]” becomes a box that annotators must tick to agree.",
            "debrief": "Markdown. Leave empty to use the standard text.",
        }
        widgets = {name: forms.Textarea(attrs={"rows": 16}) for name in TEXTS}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        study = self.instance
        self.initial["version"] = study.version
        for name in frozen_fields(study):
            if name in self.fields:
                self.fields[name].disabled = True

    def facts(self) -> list[forms.BoundField]:
        return [self[name] for name in _FACTS]


@require_http_methods(["GET", "POST"])
@login_required
def texts(request: HttpRequest, slug: str) -> HttpResponse:
    """Show, preview and store the texts; a button fills one with the ready-made text."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    form, fault, action = TextsForm(instance=study), "", ""
    if request.method == "POST":
        action = request.POST.get("do", "save")
        form = TextsForm(_data(request, study, action), instance=study)
        if action == "save" and form.is_valid():
            try:
                save_settings(
                    form.instance,
                    changed=form.changed_data,
                    user=cast(User, request.user),
                    version=form.cleaned_data["version"],
                )
            except (FrozenStudy, StaleVersion) as error:
                fault = str(error)
            else:
                messages.success(request, "Texts saved.")
                return onward(request, slug, "people:texts")
        elif action == "save":
            fault = "Check the fields that are marked below."
    context = {
        "study": study,
        "form": form,
        "fault": fault,
        "checked": action == "save",
        "texts": _texts(study, form),
        "ready_in": language_name(ready_language(study)),
        "study_language": language_name(study.language),
        "is_foreign": ready_language(study) != base_of(study.language),
        "is_unreviewed": bool(unreviewed_language(study)),
    }
    status = REFUSED if fault else 200
    return render(request, "annotation/researcher/setup/texts.html", context, status=status)


def _data(request: HttpRequest, study: Study, action: str) -> dict[str, Any]:
    """The sent data; a button for a ready-made text puts it into the field."""
    data = request.POST.dict()
    verb, _, name = action.partition("-")
    if verb == "template" and name in TEXTS:
        data[name] = template_for(_as_typed(study, data), name)
    return data


def _as_typed(study: Study, data: dict[str, Any]) -> Study:
    """The study with the facts as typed, which a ready-made text states."""
    typed = Study(**{field.attname: getattr(study, field.attname) for field in Study._meta.fields})
    for name in _FACTS:
        setattr(typed, name, str(data.get(name, "")).strip())
    return typed


def _texts(study: Study, form: TextsForm) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "heading": heading,
            "field": form[name],
            "is_fixed": form.fields[name].disabled,
            **preview_of(study, name, str(form[name].value() or "")),
        }
        for name, heading in _HEADINGS.items()
    ]


def preview_of(study: Study, name: str, text: str) -> dict[str, Any]:
    """A text as annotators see it, its boxes, and its placeholders."""
    own, statements = consent_parts(text) if name == "consent" else (text, ())
    preview = Study(
        **{field.attname: getattr(study, field.attname) for field in Study._meta.fields}
    )
    preview.instructions = text
    html = instructions_text(preview) if name == "instructions" else render_markdown(own)
    return {"html": html, "statements": statements, "left": placeholders(text), "typed": text}


@require_POST
@login_required
def text_preview(request: HttpRequest, slug: str) -> HttpResponse:
    """A text as typed, rendered for the preview next to it; nothing is stored."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    name = request.POST.get("name", "")
    text = preview_of(study, name, request.POST.get("text", "")) | {"name": name}
    return render(request, "annotation/researcher/setup/_text_preview.html", {"text": text})


_OPTIONS = [f"option-{number}" for number in range(MOST)]
_FIELDS = ("text", "pointer", "right", *_OPTIONS)
_FEWEST_BOXES = 4
_SUGGESTED = 300


@require_http_methods(["GET", "POST"])
@login_required
def checks(request: HttpRequest, slug: str) -> HttpResponse:
    """The questions about the instructions; buttons that arrange them store nothing."""
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
    context = _about_items(study, request.GET.get("item", "").strip()) | {
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
    status = REFUSED if fault else 200
    return render(request, "annotation/researcher/checks.html", context, status=status)


def _sent(request: HttpRequest, study: Study) -> list[QuestionText]:
    """The questions of the form, of the TOML text, or the standard ones."""
    if "standard" in request.POST:
        return standard_questions(study)
    if request.POST.get("do") == "save":
        rows = read_rows(request.POST, "quiz", _FIELDS, most=MOST)
        return [_question(number, row) for number, row in enumerate(rows, start=1)]
    return read_questions(request.POST.get("questions", ""))


def _row(question: QuestionText) -> FormRow:
    options = dict(zip(_OPTIONS, question.options, strict=False))
    about = {"text": question.text, "pointer": question.pointer, "right": str(question.right)}
    return dict.fromkeys(_FIELDS, "") | about | options


def _shown(number: int, row: FormRow) -> dict[str, Any]:
    """A row with a box for each option and one more, at least four."""
    used = max((n for n, name in enumerate(_OPTIONS) if row[name]), default=-1) + 1
    boxes = min(MOST, max(_FEWEST_BOXES, used + 1))
    options = [
        {"name": f"quiz-{number}-{name}", "value": row[name], "is_right": row["right"] == str(n)}
        for n, name in enumerate(_OPTIONS[:boxes])
    ]
    return {"number": number, "text": row["text"], "pointer": row["pointer"], "options": options}


def _question(number: int, row: FormRow) -> QuestionText:
    """A question as typed; `ComprehensionError` says what is missing."""
    for name, words, longest in (
        ("text", "text", 300),
        ("pointer", "sentence of the instructions", 500),
    ):
        if not row[name]:
            raise ComprehensionError(f"Question {number} has no {words}. Add it.")
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


def _about_items(study: Study, item: str) -> dict[str, Any]:
    """The practice items and attention checks, and the items that can become one."""
    kinds = (Item.Split.PRACTICE, Item.Split.ATTENTION_CHECK)
    items = list(Item.everything.filter(study=study, split__in=kinds).order_by("key"))
    reason = why_not(study)
    ordinary = Item.objects.filter(study=study).order_by("key")
    chosen = ordinary.filter(key=item).first() if item else None
    return {
        "chosen": chosen,
        "sides": [(side, chosen.response(side).get("text")) for side in Side.values]
        if chosen
        else [],
        "practice": [
            (item, *texts_of(item)) for item in items if item.split == Item.Split.PRACTICE
        ],
        "attention": [
            (item, *texts_of(item)) for item in items if item.split == Item.Split.ATTENTION_CHECK
        ],
        "needed": checks_needed(study),
        "unfair": unfair_checks(study),
        "lacks": not questions_of(study)
        or _lacks_practice(study)
        or all(item.split != Item.Split.ATTENTION_CHECK for item in items),
        "may_add": not why_no_checks(study) and ordinary.exists(),
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
        elif "everything" in request.POST:
            messages.success(request, f"Added: {_add_everything(study, user)}. You can edit them.")
            return redirect("people:checks", slug)
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
                request, f"Attention checks added: “{key}”. Your items stay as they are."
            )
            return redirect("people:checks", slug)
        words = {"practice": "a practice item", "attention_check": "an attention check"}
        messages.success(request, f"“{key}” is now {words.get(use, 'an ordinary item')}.")
    return redirect("people:checks", slug)


def _ready(study: Study) -> list[dict[str, str]]:
    return [asdict(check) for check in ready_checks(study)]


@transaction.atomic
def _add_everything(study: Study, user: User) -> str:
    """Add what the study lacks of the standard checks, and say what was added."""
    if reason := why_no_checks(study):
        raise StudyError(reason)
    there = Item.everything.filter(study=study)
    added = []
    if not questions_of(study):
        asked = standard_questions(study)
        set_questions(study_id=study.pk, questions=asked, user=user)
        added.append(f"{len(asked)} comprehension questions")
    if _lacks_practice(study):
        import_items(
            study.slug, read_paths([ready_practice(study)], ImportOptions(study.task)), user=user
        )
        added.append("2 practice items")
    if not there.filter(split=Item.Split.ATTENTION_CHECK).exists():
        add_checks(study_id=study.pk, checks=_ready(study), user=user)
        added.append("2 attention checks")
    return ", ".join(added) or "nothing, because the study has all of them"


def _lacks_practice(study: Study) -> bool:
    """Whether ready-made practice items fit, which are about what somebody else would choose."""
    fits = not study.asks_own_answers and study.task != Task.QUESTION_ANSWER_AUTHORSHIP
    return fits and not Item.everything.filter(study=study, split=Item.Split.PRACTICE).exists()


def _use(study: Study, key: str, use: str, sent: Mapping[str, str], user: User) -> None:
    if use not in (Item.Split.MAIN, Item.Split.PRACTICE, Item.Split.ATTENTION_CHECK):
        raise StudyError("Select a use for the item.")
    if not Item.everything.filter(study=study, key=key).exists():
        raise StudyError(f"This study has no item “{key[:120]}”. Choose one from the list.")
    correct, instruction = sent.get("correct", ""), sent.get("instruction", "").strip()
    if use == Item.Split.ATTENTION_CHECK and not (correct in Side.values and instruction):
        raise StudyError(
            "An attention check needs its right response, and an instruction that names it."
        )
    use_item_as(
        study_id=study.pk,
        key=key,
        split=use,
        correct=correct,
        instruction=instruction,
        user=user,
    )


def text_tasks(study: Study) -> Iterator[SetupTask]:
    """The task about the texts, while they have placeholders."""
    if left := unfilled(study):
        first, number = next(iter(left.values()))[0], sum(map(len, left.values()))
        yield SetupTask(
            "texts",
            "Instructions, consent, debrief",
            TaskState.ATTENTION,
            f"Fill in {number} placeholder{'' if number == 1 else 's'}, first “{first}”",
            reverse("people:texts", args=[study.slug]),
        )
