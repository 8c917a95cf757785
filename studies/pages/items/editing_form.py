"""Forms that edit an item, a persona, or delete all items; services check the rules."""

from collections.abc import Mapping
from typing import Any

from django import forms

from studies.importers.editing import EDITABLE
from studies.importers.files.faults import Refused
from studies.importers.items.personas import feature
from studies.models import Item, Persona
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
# Fields of no language: a choice and names of this installation.
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
        """Show each fault at the field that it is about."""
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
        found: list[dict[str, str]] = []
        for number, (_, value_before, sentence_before) in enumerate(self._rows(), start=1):
            label, value, sentence = (
                normalise(self.cleaned_data[f"{name}-{number}"]).strip()
                for name in ("label", "value", "sentence")
            )
            if not value:
                continue
            is_known = number <= len(self._known)
            key = self._known[number - 1]["key"] if is_known else key_of(label, number, found)
            if sentence == sentence_before and value != value_before:
                # The sentence was made for the former value.
                sentence = sentence.replace(value_before, value) if value_before else ""
            found.append(feature(key, label, value, sentence))
        return found

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
    """Name the language of the texts in a form, which is that of an item."""
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
    """The field that a fault is about, from its own words."""
    for side in ("1", "2"):
        if f"r{side}" in words:
            return f"prompt_{side}" if "prompt" in words else f"response_{side}"
    first = words.split(" ")[0].split(".")[0]
    return {"responses": "response_2"}.get(first) or (first if first in EDITABLE else None)


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]
