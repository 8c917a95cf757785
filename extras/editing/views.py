"""Pages that edit an item or a persona, or delete items, while a study has no answers."""

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from extras.editing.items import (
    EDITABLE,
    delete_item,
    delete_items,
    edit_item,
    values_of,
)
from studies.errors import StudyError
from studies.importers.editing import edit_persona, record_of
from studies.importers.files.faults import Refused
from studies.importers.items.records import feature
from studies.importers.items.storage import counts, why_not
from studies.models import Item, Membership, Persona, Study
from studies.pages.responses import REFUSED
from studies.pages.workbench import ItemLink
from studies.selectors import get_study
from studies.texts.normalisation import normalise

_LABELS = {
    "question": "Question",
    "context": "Context",
    "context_title": "Heading of the context",
    "topic": "Topic",
    "group": "Group",
    "first_person": "Persona’s own answer",
    "response_1": "Response 1",
    "response_2": "Response 2",
    "prompt_1": "Question that response 1 answers",
    "prompt_2": "Question that response 2 answers",
}
_LINES = {"question": 3, "context": 4, "prompt_1": 2, "prompt_2": 2, "response_1": 6}
_LINES |= {"response_2": 6}
_OWN = [("r1", "Response 1"), ("r2", "Response 2"), ("tie", "Tie"), ("", "Unknown")]
_ORDER = (
    "question context_title context response_1 prompt_1 response_2 prompt_2 first_person topic "
    "group"
).split()
_EMPTY_FEATURES = 3
# Fields without a language: a choice, and names of this installation.
_NAMES = ("first_person", "topic", "group", "seen")


class ItemForm(forms.Form):
    """The editable values of an item. `seen` is the hash of the item that the page showed."""

    seen = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, lang: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in _ORDER:
            about: dict[str, Any] = {"label": _LABELS[name], "required": False}
            if name == "first_person":
                self.fields[name] = forms.ChoiceField(**about, choices=_OWN)
            elif name in _LINES:
                widget = forms.Textarea(attrs={"rows": _LINES[name]})
                self.fields[name] = forms.CharField(**about, widget=widget)
            else:
                self.fields[name] = forms.CharField(**about)
        _in_language(self, lang)

    def values(self) -> dict[str, str]:
        return {name: normalise(self.cleaned_data[name]) for name in EDITABLE}

    def refuse(self, refused: Refused) -> None:
        """Show each fault at its field."""
        for fault in refused.faults:
            self.add_error(_field_of(f"{fault.field} {fault.message}"), _sentence(fault.message))

    def main_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in _ORDER]


class PersonaForm(forms.Form):
    """Features and text of a persona; a feature without a value is removed."""

    seen = forms.CharField(widget=forms.HiddenInput)
    text = forms.CharField(
        label="Text about the persona",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def __init__(self, *args: Any, persona: Persona, lang: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known: list[Mapping[str, str]] = list(persona.features)
        for number, (label, value, sentence) in enumerate(self._rows(), start=1):
            for name, title, initial in (
                ("label", "Name", label),
                ("value", "Value", value),
                ("sentence", "Sentence", sentence),
            ):
                self.fields[f"{name}-{number}"] = forms.CharField(
                    label=f"{title} of feature {number}", required=False, initial=initial
                )
        _in_language(self, lang)

    def _rows(self) -> list[tuple[str, str, str]]:
        known = [(one["label"], one["value"], one["text"]) for one in self._known]
        return [*known, *[("", "", "")] * _EMPTY_FEATURES]

    def feature_fields(self) -> list[list[forms.BoundField]]:
        numbers = range(1, len(self._rows()) + 1)
        return [[self[f"{name}-{n}"] for name in ("label", "value", "sentence")] for n in numbers]

    def features(self) -> list[dict[str, str]]:
        """The features with a value. A new one gets a key from its name."""
        features: list[dict[str, str]] = []
        for number, (_, value_before, sentence_before) in enumerate(self._rows(), start=1):
            label, value, sentence = (
                normalise(self.cleaned_data[f"{name}-{number}"]).strip()
                for name in ("label", "value", "sentence")
            )
            if not value:
                continue
            is_known = number <= len(self._known)
            key = self._known[number - 1]["key"] if is_known else key_of(label, number, features)
            if sentence == sentence_before and value != value_before:
                # The sentence was made for the former value.
                sentence = sentence.replace(value_before, value) if value_before else ""
            features.append(feature(key, label, value, sentence))
        return features

    def refuse(self, refused: Refused) -> None:
        for fault in refused.faults:
            self.add_error(None, _sentence(fault.message))


class DeleteAllForm(forms.Form):
    """Typed confirmation: the short name of the study."""

    typed = forms.CharField(label="Short name of the study", required=False)
    seen = forms.IntegerField(widget=forms.HiddenInput, min_value=0)

    def __init__(self, *args: Any, slug: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._slug = slug

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"].strip()
        if typed != self._slug:
            raise forms.ValidationError(f"Type {self._slug} to delete all items.")
        return typed


def _in_language(form: forms.Form, lang: str) -> None:
    """Set the lang attribute of a form's texts, which is that of the item."""
    for name, field in form.fields.items():
        if name not in _NAMES:
            field.widget.attrs |= {"lang": lang, "dir": "auto"}


def initial_of(item: Item, values: Mapping[str, str]) -> dict[str, str]:
    return {**values, "seen": item.content_hash}


def key_of(label: str, number: int, others: list[dict[str, str]]) -> str:
    """A key for a new feature, other than those of the `others`."""
    words = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in label.lower())
    key = words.strip("_").lstrip("0123456789_") or f"feature_{number}"
    return f"{key}_{number}" if any(one["key"] == key for one in others) else key


def _field_of(words: str) -> str | None:
    """The field that a fault is about, found in its message."""
    for side in ("1", "2"):
        if f"r{side}" in words:
            return f"prompt_{side}" if "prompt" in words else f"response_{side}"
    first = words.split(" ")[0].split(".")[0]
    return {"responses": "response_2"}.get(first) or (first if first in EDITABLE else None)


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]


@require_http_methods(["GET", "POST"])
@login_required
def edit(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Edit the texts of an item that nobody has answered."""
    study, item = _item(request, slug, key)
    if reason := why_not(study):
        return _refused(request, reason, "studies:item", slug, key)
    data = request.POST if request.method == "POST" else None
    form = ItemForm(data, lang=item.lang, initial=initial_of(item, values_of(item)))
    if form.is_valid():
        try:
            edit_item(
                study_id=study.pk,
                key=key,
                values=form.values(),
                seen=form.cleaned_data["seen"],
                user=cast(User, request.user),
            )
        except Refused as refused:
            form.refuse(refused)
        except StudyError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"Item {key} is saved.")
            return redirect("studies:item", slug, key)
    context = {"study": study, "item": item, "form": form}
    status = REFUSED if form.errors else 200
    return render(request, "editing/item_edit.html", context, status=status)


@require_http_methods(["GET", "POST"])
@login_required
def delete(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Ask for confirmation, then delete the item."""
    study, item = _item(request, slug, key)
    if reason := why_not(study):
        return _refused(request, reason, "studies:item", slug, key)
    if request.method == "GET":
        return render(request, "editing/item_delete.html", {"study": study, "item": item})
    try:
        delete_item(study_id=study.pk, key=key, user=cast(User, request.user))
    except StudyError as error:
        return _refused(request, str(error), "studies:items", slug)
    messages.success(request, f"Item {key} is deleted.")
    return redirect("studies:items", slug)


@require_http_methods(["GET", "POST"])
@login_required
def delete_all(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete every item once the short name of the study is typed."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    if reason := why_not(study):
        return _refused(request, reason, "studies:items", slug)
    items, personas = counts(study)
    data = request.POST if request.method == "POST" else None
    form = DeleteAllForm(data, slug=slug, initial={"seen": items})
    if form.is_valid():
        try:
            removed, _ = delete_items(
                study_id=study.pk, seen=form.cleaned_data["seen"], user=cast(User, request.user)
            )
        except StudyError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"Deleted {removed:,} item{'' if removed == 1 else 's'}.")
            return redirect("studies:items", slug)
    context = {"study": study, "form": form, "items": items, "personas": personas}
    status = REFUSED if form.errors else 200
    return render(request, "editing/items_delete.html", context, status=status)


@require_http_methods(["GET", "POST"])
@login_required
def persona(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Edit the persona of an item, which all its items share."""
    study, item = _item(request, slug, key)
    if reason := why_not(study):
        return _refused(request, reason, "studies:item", slug, key)
    stored: Persona = item.persona
    initial = {"seen": record_of(stored).fingerprint, "text": stored.text}
    data = request.POST if request.method == "POST" else None
    form = PersonaForm(data, persona=stored, lang=item.lang, initial=initial)
    if form.is_valid():
        try:
            edit_persona(
                study_id=study.pk,
                key=stored.key,
                features=form.features(),
                text=form.cleaned_data["text"],
                seen=form.cleaned_data["seen"],
                user=cast(User, request.user),
            )
        except Refused as refused:
            form.refuse(refused)
        except StudyError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"Persona {stored.key} is saved.")
            return redirect("studies:item", slug, key)
    context: dict[str, Any] = {
        "study": study,
        "item": item,
        "persona": stored,
        "form": form,
        "shared": Item.everything.filter(persona=stored).count(),
    }
    status = REFUSED if form.errors else 200
    return render(request, "editing/persona_edit.html", context, status=status)


def _item(request: HttpRequest, slug: str, key: str) -> tuple[Study, Item]:
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    items = Item.everything.select_related("persona", "study")
    return study, get_object_or_404(items, study=study, key=key)


def _refused(request: HttpRequest, reason: str, view: str, *arguments: str) -> HttpResponse:
    messages.error(request, reason)
    return redirect(view, *arguments)


def _link(name: str, words: str) -> ItemLink:
    def address(study: Study, key: str) -> str:
        return reverse(f"editing:{name}", args=[study.slug, key]) if key else ""

    return ItemLink(name, words, address)


def _of_all(study: Study, key: str) -> str:
    return "" if key else reverse("editing:delete-all", args=[study.slug])


EDIT = _link("edit", "Edit item")
PERSONA = _link("persona", "Edit persona")
DELETE = _link("delete", "Delete item")
DELETE_ALL = ItemLink("delete-all", "Delete all items", _of_all)
