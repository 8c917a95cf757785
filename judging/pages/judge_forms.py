"""The form in which a judge is added or changed."""

import os
import re
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.validators import MinValueValidator

from judging.backends.backend import LEAVE_OUT, NO_PROBABILITIES, WIRE, provider_key
from judging.backends.extra_fields import EXTRA_FIELDS, SECRET_HEADERS
from judging.backends.kinds import BACKENDS, DEFAULT, backend_kinds
from judging.backends.presets import PAPER, presets
from judging.catalog.access import (
    KEY_PREFIX,
    held_key,
    hold_key,
    may_add_addresses,
    may_enter_keys,
    servers_in_use,
)
from judging.catalog.changes import OutdatedJudge, version_of
from judging.errors import FieldError
from judging.models import Judge
from judging.pages.extra_fields_form import TITLE, ExtraFieldsForm, initial_extra_fields
from judging.runs.judges import IDENTITY, first_fields, new_addresses
from judging.worker.endpoints import serves_key
from studies.models import Study

KEEP, SAME, VARIABLE, STORED, NO_KEY = "keep", "same", "variable", "stored", "none"
SERVER = "Server and key"
_OF_SERVER = ("base_url", "key_from", "api_key_env", "key")
_MORE_OF_SERVER = ("backend", WIRE, "more_base_urls", "is_own_server")
GROUPS = (
    (SERVER, _OF_SERVER),
    ("Model", ("model", "name")),
    (
        "Prices in US dollars per million tokens",
        ("price_input", "price_output", "price_cached_input", "price_day"),
    ),
)
MORE_GROUPS = (
    ("More about the server", _MORE_OF_SERVER),
    (
        "Limits and batches",
        ("concurrency", "rpm", "tpm", "timeout_seconds", "outage_seconds", "batch_price"),
    ),
    (
        "Replies",
        (
            "temperature",
            "top_p",
            "max_tokens",
            "thinking_tokens",
            "structured",
            "probabilities",
            "takes_images",
            "takes_audio",
            "leave_out",
            "own_sources",
        ),
    ),
    (TITLE, EXTRA_FIELDS),
)
_LABELS = {
    "name": "Name",
    "model": "Model",
    "backend": "Kind of server",
    "base_url": "Address",
    "is_own_server": "The server is ours: nobody else receives what is sent there",
    "price_input": "Input price",
    "price_output": "Output price",
    "price_cached_input": "Cached input price",
    "price_day": "Prices of",
    "batch_price": "Batch price, as a share of the normal price",
    "concurrency": "Requests at a time",
    "rpm": "Requests per minute",
    "tpm": "Tokens per minute",
    "timeout_seconds": "Time limit of a request, seconds",
    "outage_seconds": "Time limit of an outage, seconds",
    "temperature": "Temperature",
    "top_p": "Top p",
    "max_tokens": "Reply tokens",
    "thinking_tokens": "Thinking tokens",
    "structured": "Structured output",
    "probabilities": "Option probabilities",
    "takes_images": "The model takes pictures",
    "takes_audio": "The model takes sounds",
}
_HINTS = {
    "name": "Shown on pages and in reports. Leave empty to use the name of the model.",
    "model": "As the server names it, for example gpt-4o-2024-05-13.",
    "backend": "",
    "base_url": "Of an OpenAI-compatible server, including /v1, for example http://gpu1:8000/v1.",
    "is_own_server": "",
    "price_input": "",
    "price_output": "",
    "price_cached_input": "For input that the server has in its cache. Empty: the input price.",
    "price_day": "The day on which you read them. Empty: today, if they are new.",
    "batch_price": "0.5 is half the price.",
    "concurrency": "The most requests that wait for a reply at the same time, at each address. "
    "Empty: as many as the response times allow.",
    "rpm": "Leave empty for no limit.",
    "tpm": "Leave empty for no limit.",
    "timeout_seconds": "How long to wait for a reply.",
    "outage_seconds": "How long a run waits for a server that does not reply, before it stops.",
    "temperature": "From 0 to 2.",
    "top_p": "From 0 to 1.",
    "max_tokens": "The longest reply, without thinking.",
    "thinking_tokens": "Additional tokens for a model that thinks before it replies.",
    "structured": "Replies in a form that the server enforces. A test finds out whether it can.",
    "probabilities": "",
    "takes_images": "For studies whose items show pictures or films. Ask the provider or try one.",
    "takes_audio": "",
}


_REQUIRED = {
    "model": "Enter the model as the server names it, or press “Fetch models”.",
    "base_url": "Enter the address of the server.",
}


# The words of the form for whether structured replies are requested.
_STRUCTURED = {None: "", True: "on", False: "off"}


class JudgeForm(ExtraFieldsForm, forms.ModelForm):
    """A judge on a server, as a page of a study shows it.

    A new one starts from the settings of the judge `like`, from a preset, or from what was entered
    before (`start`).
    """

    more_base_urls = forms.CharField(
        required=False,
        max_length=20_000,
        label="More addresses of the same model",
        help_text="One a line. Requests are spread over all addresses, with the same key.",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )
    wire = forms.ChoiceField(
        required=False,
        label="Format of requests",
        help_text="Of a kind of server that has several formats. Other kinds have none.",
    )
    key_from = forms.ChoiceField(widget=forms.RadioSelect, label="Key")
    api_key_env = forms.CharField(
        required=False,
        max_length=120,
        label="Environment variable",
        help_text=f"Its name begins with {KEY_PREFIX}, for example {KEY_PREFIX}TOGETHER. "
        "An administrator sets it on the server.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    key = forms.CharField(
        required=False,
        max_length=1000,
        label="API key",
        help_text="Stored encrypted and never shown again.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    structured = forms.TypedChoiceField(
        required=False,
        choices=[("", "Where the server can"), ("on", "Always"), ("off", "Never: free text")],
        coerce=lambda chosen: chosen == "on",
        empty_value=None,
        label=_LABELS["structured"],
        help_text=_HINTS["structured"],
    )
    leave_out = forms.MultipleChoiceField(
        required=False,
        choices=[
            ("temperature", "Temperature"),
            ("top_p", "Top p"),
            ("max_tokens", "Reply tokens"),
            ("seed", "Seed"),
        ],
        label="Not sent, because the server refuses it",
        widget=forms.CheckboxSelectMultiple,
    )
    own_sources = forms.CharField(
        required=False,
        max_length=1000,
        label="Own responses",
        help_text="Models, families or providers whose responses the judge must not judge, "
        "separated by commas, for example openai, gpt.",
    )

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    held_key = forms.CharField(required=False, max_length=4000, widget=forms.HiddenInput)

    class Meta:
        model = Judge
        fields = tuple(_LABELS)
        labels = _LABELS
        help_texts = _HINTS
        widgets = {"price_day": forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})}

    def __init__(
        self,
        user: User,
        data: Any = None,
        *,
        study: Study,
        judge: Judge | None = None,
        like: Judge | None = None,
        preset: str = "",
        start: Mapping[str, Any] | None = None,
    ) -> None:
        self._user, self._like = user, like
        initial = _initial(judge or like, preset) | ({"name": ""} if like else {})
        super().__init__(data, instance=judge and Judge.objects.get(pk=judge.pk), initial=initial)
        self.initial["seen"] = version_of(judge) if judge else ""
        self._offer_keys(judge, like, study)
        if preset in presets() and like is None:
            self._prefer_key(preset)
        self._offer_addresses(user, study)
        self._fix(judge)
        self.initial.update(start or {})

    def _offer_keys(self, judge: Judge | None, like: Judge | None, study: Study) -> None:
        choices = []
        if judge is not None and (judge.sealed_key or judge.api_key_env):
            choices.append((KEEP, f"Keep the key ({_key_words(judge)})"))
        if like is not None and (like.sealed_key or like.api_key_env) and serves_key(like, study):
            choices.append((SAME, f"The same key as {like.name} ({_key_words(like)})"))
        choices.append((NO_KEY, "No key, or the provider's own variable such as OPENAI_API_KEY"))
        choices.append((VARIABLE, "In an environment variable of the server"))
        if may_enter_keys(self._user, study):
            choices.append((STORED, "Enter a key here"))
        else:
            del self.fields["key"]
        field = self.fields["key_from"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101
        field.choices = choices
        field.initial = choices[0][0]
        self.initial["api_key_env"] = ""

    def _prefer_key(self, preset: str) -> None:
        """Choose where the key of a preset probably is: in its variable, or in the user's hands."""
        chosen = presets()[preset]
        variable = chosen.key_variable
        is_set = bool(os.environ.get(variable, "").strip())
        if not variable or (is_set and variable == provider_key(chosen.base_url)):
            return
        may_enter = "key" in self.fields
        if may_enter and not is_set:
            self.initial["key_from"] = STORED
        elif variable != provider_key(chosen.base_url):
            self.initial.update(key_from=VARIABLE, api_key_env=variable)

    def _offer_addresses(self, user: User, study: Study) -> None:
        field = self.fields["base_url"]
        # That of the judge or the preset is offered too: a run of its judge turns the extra on.
        offered = {self.initial.get("backend"), *(kind.name for kind in BACKENDS.of(study))}
        kinds = [
            kind
            for kind in backend_kinds()
            if kind.capabilities.needs_endpoint and kind.name in offered
        ]
        wires = dict.fromkeys(wire for kind in kinds for wire in kind.wires)
        if wires:
            formats = self.fields[WIRE]
            assert isinstance(formats, forms.ChoiceField)  # noqa: S101
            formats.choices = [("", "Found by the first answer"), *((name, name) for name in wires)]
        else:
            del self.fields[WIRE]
        self.servers = [
            *dict.fromkeys([*(kind.default_base_url for kind in kinds), *servers_in_use()])
        ]
        backend = self.fields["backend"]
        assert isinstance(backend, forms.ChoiceField)  # noqa: S101
        backend.choices = [(kind.name, kind.label) for kind in kinds]
        backend.required = False
        field.widget.attrs |= {"list": "servers", "inputmode": "url", "spellcheck": "false"}
        if not may_add_addresses(user):
            self.fields["is_own_server"].disabled = True
            hosts = [f"any address at {host}" for host in settings.JUDGE_HOSTS]
            field.help_text = f"One of: {', '.join([*self.servers, *hosts])}."
        field.required = True
        self.fields["name"].required = False
        for name, words in _REQUIRED.items():
            self.fields[name].error_messages["required"] = words

    def _fix(self, judge: Judge | None) -> None:
        """Disable what answers depend on, once a run has used the judge."""
        self.is_fixed = judge is not None and judge.runs.exists()
        fixed = ("name", "leave_out", *EXTRA_FIELDS, *IDENTITY) if self.is_fixed else ()
        for name in fixed:
            if name in self.fields and name != SECRET_HEADERS:  # their values may change
                self.fields[name].disabled = True
        for name in ("price_input", "price_output", "price_cached_input"):
            self.fields[name].validators.append(MinValueValidator(0))

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        return self._groups(GROUPS)

    @property
    def more_groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The fields that most judges leave as they are."""
        return self._groups(MORE_GROUPS)

    @property
    def has_unusual(self) -> bool:
        """Whether one of these needs attention."""
        names = [name for _, group in MORE_GROUPS for name in group]
        return any(name in self.errors for name in names)

    def _groups(
        self, groups: Iterable[tuple[str, Iterable[str]]]
    ) -> list[tuple[str, list[forms.BoundField]]]:
        return [
            (title, [self[name] for name in names if name in self.fields])
            for title, names in groups
        ]

    def clean_name(self) -> str:
        return str(self.cleaned_data["name"] or self.data.get("model", "")).strip()

    def clean_own_sources(self) -> list[str]:
        text = self.cleaned_data["own_sources"]
        return [word for part in text.split(",") if (word := part.strip())]

    def clean_more_base_urls(self) -> list[str]:
        lines = str(self.cleaned_data["more_base_urls"]).split("\n")
        return [address for line in lines if (address := line.strip())]

    def clean_backend(self) -> str:
        return str(self.cleaned_data["backend"] or self.instance.backend or DEFAULT)

    def clean_key(self) -> str:
        key = str(self.cleaned_data["key"]).strip()
        if key and not re.fullmatch(r"[!-~]+", key):
            raise forms.ValidationError(
                "A key has no spaces, and only characters of an English keyboard. Copy it again."
            )
        return key

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        chosen = cleaned["key_from"] = self._key_source(cleaned)
        if chosen == VARIABLE and not cleaned.get("api_key_env"):
            self.add_error("api_key_env", "Enter the name of the variable.")
        if chosen == STORED and cleaned.get("base_url") and "key" not in self.errors:
            self._hold_key(cleaned)
        if chosen == STORED and not cleaned.get("key") and "key" not in self.errors:
            self.add_error("key", "Enter the key.")
        if chosen == KEEP and new_addresses(self.instance, cleaned):
            self.add_error(
                "key_from",
                "A key is not sent to another address. Enter the key of this address again.",
            )
        if (cleaned.get("price_input") is None) != (cleaned.get("price_output") is None):
            self.add_error("price_output", "Enter both prices or none.")
        return cleaned

    def _hold_key(self, cleaned: dict[str, Any]) -> None:
        """Keep an entered key for the case that the form is shown again, or use the kept one."""
        addresses = [cleaned["base_url"], *cleaned.get("more_base_urls", [])]
        cleaned["key"] = cleaned.get("key") or held_key(
            cleaned.get("held_key", ""), self._user, addresses
        )
        kept = hold_key(cleaned["key"], self._user, addresses) if cleaned["key"] else ""
        self.data = _changed(self.data, held_key=kept, key_from=STORED)

    @property
    def holds_key(self) -> bool:
        """Whether an entered key need not be entered again."""
        return bool(self["held_key"].value())

    def access(self) -> dict[str, Any] | None:
        """Address and key, as `fetch_models` takes them; None, with errors, if one is at fault."""
        self.is_valid()
        needed = {*_OF_SERVER, *_MORE_OF_SERVER}
        if not self.data.get("key") and not provider_key(self.cleaned_data.get("base_url", "")):
            needed.remove("key")  # many lists need none
        for name in self.errors.keys() - needed:
            del self.errors[name]
        if self.errors:
            return None
        names = ("backend", "base_url", "api_key_env")
        how = self.cleaned_data["key_from"]
        fields = {name: self.cleaned_data.get(name, "") for name in names}
        fields["api_key_env"] = fields["api_key_env"] if how == VARIABLE else ""
        return {
            "fields": fields,
            "key": self.cleaned_data.get("key", "") if how == STORED else "",
            "key_of": self._like if how == SAME else None,
        }

    def entered(self) -> dict[str, Any]:
        """What was entered, to start the form again from it."""
        return {name: self[name].value() for name in self.fields if name != "key"}

    def _key_source(self, cleaned: dict[str, Any]) -> str:
        """The chosen source of the key; what was typed counts more than a button left as it was."""
        if cleaned.get("key"):
            return STORED
        chosen = str(cleaned.get("key_from", ""))
        if cleaned.get("api_key_env") and chosen != STORED:
            return VARIABLE
        return chosen

    def _post_clean(self) -> None:
        """Leave the checks of the whole judge to the service, which has the words for errors."""

    def chosen(self) -> dict[str, Any]:
        """What the form says, as `save_judge` takes it."""
        fields = {
            name: self.cleaned_data[name]
            for name in (*_LABELS, "more_base_urls", "own_sources")
            if not self.fields[name].disabled
        }
        fields["model_options"] = self._options()
        how = self.cleaned_data["key_from"]
        if how in (NO_KEY, VARIABLE):
            fields["api_key_env"] = self.cleaned_data["api_key_env"] if how == VARIABLE else ""
        return {
            "fields": fields,
            "key": self.cleaned_data["key"] if how == STORED else "",
            "headers": self.secret_values,
            "key_of": self._like if how == SAME else None,
            "seen": self.cleaned_data["seen"],
        }

    def _options(self) -> dict[str, Any]:
        known, wire = self.instance.model_options or {}, self.cleaned_data.get(WIRE, "")
        if self.is_fixed:  # runs have the others
            options = known | {WIRE: wire}
        else:
            left_out = ",".join(self.cleaned_data["leave_out"])
            options = {LEAVE_OUT: left_out, WIRE: wire} | self.extra_options
            if SECRET_HEADERS not in self.fields:
                options[SECRET_HEADERS] = known.get(SECRET_HEADERS)
        return {name: value for name, value in options.items() if value}

    def show(self, error: Exception) -> None:
        """Show a service's error next to its field."""
        if isinstance(error, OutdatedJudge):
            self._show_difference(error)
            return
        if isinstance(error, FieldError):
            if error.field == "model_options" and error.field not in self.fields:
                error.field = WIRE if error.values.get("value") == WIRE else "leave_out"
            field = error.field if error.field in self.fields else None
            self.add_error(field, error.worded(self._label))
        else:
            self.add_error(None, str(error))

    def _show_difference(self, error: OutdatedJudge) -> None:
        """Say what is stored now; the same entries are saved when they are sent again."""
        self.data = {**dict(self.data.items()), "seen": error.version}
        self.add_error(None, f"{error} Save again if yours should replace its values.")
        for name, value in error.now.items():
            if name in self.fields:
                self.add_error(name, f"Stored now: {value}.")

    def _label(self, field: str) -> str:
        form_field = self.fields.get(field)
        return f"“{form_field.label}”" if form_field else field.replace("_", " ")


def _changed(data: Mapping[str, Any], **values: str) -> Mapping[str, Any]:
    """Entered values with some replaced; those of several lines stay several."""
    changed: Any = copy(data)  # because those of a request cannot be changed
    for name, value in values.items():
        changed[name] = value
    return cast(Mapping[str, Any], changed)


def _initial(judge: Judge | None, preset: str) -> dict[str, Any]:
    """The first values of a form: those of a preset, of a judge, or the defaults."""
    if preset in presets():
        chosen = presets()[preset]
        first = first_fields(preset, model=chosen.model)
        return first | {
            "name": preset if chosen.model else "",
            "backend": chosen.backend,
            "model": chosen.model,
            "base_url": chosen.base_url,
            "leave_out": chosen.leave_out.split(",") if chosen.leave_out else [],
            "own_sources": ", ".join(chosen.own_sources),
            "structured": "off" if chosen.group == PAPER else "",
        }
    if judge is None:
        return {"backend": DEFAULT, "probabilities": NO_PROBABILITIES}
    initial = {name: getattr(judge, name) for name in _LABELS}
    for name in ("price_input", "price_output", "price_cached_input", "batch_price"):
        if initial[name] is not None:
            initial[name] = f"{initial[name].normalize():f}"
    return (
        initial
        | {
            "own_sources": ", ".join(judge.own_sources),
            "structured": _STRUCTURED[judge.structured],
            WIRE: judge.model_options.get(WIRE, ""),
            "leave_out": [n for n in judge.model_options.get(LEAVE_OUT, "").split(",") if n],
            "more_base_urls": "\n".join(judge.more_base_urls),
        }
        | initial_extra_fields(judge.model_options)
    )


def _key_words(judge: Judge) -> str:
    return "stored, encrypted" if judge.sealed_key else judge.api_key_env
