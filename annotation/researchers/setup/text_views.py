"""The texts that annotators read: instructions, consent and debrief, with a preview beside each."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from annotation.content.text_templates import (
    TEXTS,
    placeholders,
    ready_language,
    template_for,
)
from annotation.content.texts import consent_parts, instructions_text
from studies.errors import FrozenStudy, StaleVersion
from studies.models import Membership, Study
from studies.prompts.language import base_of, language_name
from studies.selectors import get_study
from studies.services.settings import FROZEN_FIELDS, save_settings
from studies.texts.markdown import render_markdown

_REFUSED = 422
_FACTS = ("researchers", "contact", "storage", "ethics")
_HEADINGS = {"instructions": "Instructions", "consent": "Consent", "debrief": "Debrief"}


class TextsForm(forms.ModelForm):
    """The texts and the facts that ethics boards ask for; `version` is that of the page shown."""

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
        for name in FROZEN_FIELDS if study.frozen_at else ():
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
                return redirect("people:texts", slug)
        elif action == "save":
            fault = "Look at the fields that are marked below."
    context = {
        "study": study,
        "form": form,
        "fault": fault,
        "checked": action == "save",
        "texts": _texts(study, form),
        "ready_in": language_name(ready_language(study)),
        "study_language": language_name(study.language),
        "is_foreign": ready_language(study) != base_of(study.language),
    }
    status = _REFUSED if fault else 200
    return render(request, "annotation/researcher/setup/texts.html", context, status=status)


def _data(request: HttpRequest, study: Study, action: str) -> dict[str, Any]:
    """What was sent; a button for a ready-made text writes it into its field."""
    data = request.POST.dict()
    verb, _, name = action.partition("-")
    if verb == "template" and name in TEXTS:
        data[name] = template_for(_as_typed(study, data), name)
    return data


def _as_typed(study: Study, data: dict[str, Any]) -> Study:
    """The study with the facts as typed, so that a ready-made text can state them."""
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
    """A text as annotators see it, its boxes, and what is still to be filled in."""
    own, statements = consent_parts(text) if name == "consent" else (text, ())
    shown = Study(**{field.attname: getattr(study, field.attname) for field in Study._meta.fields})
    shown.instructions = text
    html = instructions_text(shown) if name == "instructions" else render_markdown(own)
    return {"html": html, "statements": statements, "left": placeholders(text), "typed": text}


@require_POST
@login_required
def text_preview(request: HttpRequest, slug: str) -> HttpResponse:
    """One text as typed, rendered for the preview next to it; nothing is stored."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    name = request.POST.get("name", "")
    text = preview_of(study, name, request.POST.get("text", "")) | {"name": name}
    return render(request, "annotation/researcher/setup/_text_preview.html", {"text": text})
