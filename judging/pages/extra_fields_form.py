"""The part of a judge's form for what a server needs beside the usual: body, query, headers."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings

from judging.backends.extra_fields import (
    EXTRA_BODY,
    EXTRA_FIELDS,
    EXTRA_HEADERS,
    EXTRA_QUERY,
    SECRET_HEADERS,
    ExtraFields,
    read_body,
)
from judging.errors import InvalidValue

TITLE = "Extra fields and headers"


class SecretLines(forms.Textarea):
    """Lines NAME=VALUE, which show the names alone, also after an error."""

    def format_value(self, value: Any) -> str:
        return "\n".join(f"{line.partition('=')[0].strip()}=" for line in _lines(value or ""))


class ExtraFieldsForm(forms.Form):
    """`extra_options` are the options of a judge, `secret_values` the values of secret headers."""

    extra_body = forms.CharField(
        required=False,
        max_length=20_000,
        label="Extra fields of the request",
        help_text='A JSON object, for example {"reasoning_effort": "low"}. Every run records it.',
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
    )
    extra_query = forms.CharField(
        required=False,
        max_length=20_000,
        label="Extra query of the address",
        help_text="One NAME=VALUE a line, for example api-version=2025-01-01.",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )
    extra_headers = forms.CharField(
        required=False,
        max_length=20_000,
        label="Extra headers",
        help_text="One NAME=VALUE a line. They are shown and recorded: no secrets here.",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )
    secret_headers = forms.CharField(
        required=False,
        max_length=20_000,
        label="Secret headers",
        help_text="One NAME=VALUE a line. Values are stored encrypted and never shown again. A "
        "name without a value keeps the stored one.",
        widget=SecretLines(attrs={"rows": 2, "spellcheck": "false", "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if not settings.JUDGE_STORED_KEYS:
            del self.fields[SECRET_HEADERS]

    def clean_extra_body(self) -> dict[str, Any]:
        text = str(self.cleaned_data[EXTRA_BODY]).strip()
        try:
            return read_body(text) if text else {}
        except InvalidValue as error:
            label = f"“{self.fields[EXTRA_BODY].label}”"
            raise forms.ValidationError(error.worded(lambda field: label)) from None

    def clean_extra_query(self) -> dict[str, str]:
        return _pairs(self.cleaned_data[EXTRA_QUERY])

    def clean_extra_headers(self) -> dict[str, str]:
        return _pairs(self.cleaned_data[EXTRA_HEADERS])

    def clean_secret_headers(self) -> dict[str, str]:
        return _pairs(self.cleaned_data[SECRET_HEADERS], may_lack=True)

    @property
    def extra_options(self) -> dict[str, Any]:
        fields = {name: self.cleaned_data.get(name) for name in EXTRA_FIELDS}
        return {name: value for name, value in fields.items() if value} | (
            {SECRET_HEADERS: sorted(map(str.lower, secret))}
            if (secret := fields[SECRET_HEADERS])
            else {}
        )

    @property
    def secret_values(self) -> dict[str, str] | None:
        """The entered values by name, empty ones to be kept; None if the form has no such field."""
        return self.cleaned_data.get(SECRET_HEADERS)


def initial_extra_fields(options: Mapping[str, Any]) -> dict[str, str]:
    """The first values of the fields, from the options of a judge."""
    extra = ExtraFields.of(options)
    return {
        EXTRA_BODY: json.dumps(extra.body, ensure_ascii=False, indent=1) if extra.body else "",
        EXTRA_QUERY: "\n".join(f"{name}={value}" for name, value in extra.query.items()),
        EXTRA_HEADERS: "\n".join(f"{name}={value}" for name, value in extra.headers.items()),
        SECRET_HEADERS: "\n".join(f"{name}=" for name in extra.secret_headers),
    }


def _lines(text: str) -> list[str]:
    return [line for part in text.split("\n") if (line := part.strip())]


def _pairs(text: str, *, may_lack: bool = False) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for number, line in enumerate(_lines(text), start=1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not name or not equals or not (value or may_lack):
            raise forms.ValidationError(f"Line {number}: write NAME=VALUE.")
        if name in pairs:
            raise forms.ValidationError(f"Line {number}: this name is there already.")
        pairs[name] = value
    return pairs
