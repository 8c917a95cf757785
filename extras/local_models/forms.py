"""The form in which a judge is added or changed whose model runs in the workers."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django import forms
from django.contrib.auth.models import User

from extras.local_models.kind import TEMPLATE, TransformersKind
from judging.backends.extra_fields import EXTRA_FIELDS
from judging.backends.kinds import DEFAULT, backend_kind
from judging.models import Judge
from judging.pages.judge_forms import JudgeForm
from judging.runs.judges import LOCAL_SLOTS
from judging.worker.endpoints import settings_of
from studies.texts.json_values import NotJson, json_value

_REVISION = "revision"
_LEFT_OUT = (
    "backend",
    "base_url",
    "wire",
    "more_base_urls",
    "is_own_server",
    "key_from",
    "api_key_env",
    "key",
    "held_key",
    "price_input",
    "price_output",
    "price_cached_input",
    "batch_price",
    "rpm",
    "tpm",
    "structured",
    "takes_images",
    "takes_audio",
    "leave_out",
    *EXTRA_FIELDS,
)


class LocalJudgeForm(JudgeForm):
    """A judge without a server; administrators use it, because it makes workers load a model."""

    model_options = forms.CharField(
        required=False,
        max_length=5000,
        label="Options",
        help_text="One NAME=VALUE a line: dtype, quantisation, device_map, attention, "
        "chat_template, thinking, or template.NAME for a switch of the chat template. For example "
        "quantisation=4bit.",
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
    )

    def __init__(
        self,
        user: User,
        data: Any = None,
        *,
        judge: Judge | None = None,
        like: Judge | None = None,
        **page: Any,
    ) -> None:
        super().__init__(user, data, judge=judge, like=like, **page)
        self._known = judge or like
        for name in _LEFT_OUT:
            self.fields.pop(name, None)
        self.fields["model"].help_text = (
            "A folder on the machine of the workers, or a name of the hub with an optional "
            "@revision, for example Qwen/Qwen2.5-7B-Instruct@main. A branch is replaced by its "
            "commit."
        )
        self.fields["model"].error_messages["required"] = "Enter a folder or the name of a model."
        self.fields["concurrency"].help_text = "A batch of the model is half of it."
        if self._known is None:
            self.initial["concurrency"] = LOCAL_SLOTS
        else:
            options = self._known.model_options.items()
            lines = [f"{name}={_text(value)}" for name, value in options if name != _REVISION]
            self.initial["model_options"] = "\n".join(lines)
        self.fields["model_options"].disabled = self.is_fixed

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [("Model", [self["name"], self["model"], self["model_options"]])]

    def clean_model_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        for line in filter(None, map(str.strip, self.cleaned_data["model_options"].splitlines())):
            name, equals, value = (part.strip() for part in line.partition("="))
            if not (name and equals and value):
                raise forms.ValidationError(f"“{line}” is not NAME=VALUE.")
            options[name] = value
            if name.startswith(TEMPLATE):
                with suppress(NotJson):
                    options[name] = json_value(value)
        return options

    def chosen(self) -> dict[str, Any]:
        """What the form says, with the exact revision. Raises `BadJudge` if that is not known."""
        fields = {
            name: value
            for name, value in self.cleaned_data.items()
            if name in self.fields and name != "seen" and not self.fields[name].disabled
        }
        fields["backend"] = TransformersKind.name
        if self.instance.pk is None:
            fields |= {"price_input": 0, "price_output": 0}
        if not self.is_fixed:
            fields["model_options"] |= self._revision(fields["model"])
            # Here, because a hub is not asked inside a transaction.
            fields["model_options"] = exact_options_of(fields)
        return {"fields": fields, "key": "", "key_of": None, "seen": self.cleaned_data["seen"]}

    def _revision(self, model: str) -> Mapping[str, Any]:
        """The revision that the judge has, or the one it is like, if the model is the same."""
        known = self._known
        if known is None or known.model != model or _REVISION not in known.model_options:
            return {}
        return {_REVISION: known.model_options[_REVISION]}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def exact_options_of(fields: dict[str, Any]) -> dict[str, Any]:
    """The options of a judge that has these fields, to be stored. Raises `BadJudge`."""
    settings = settings_of(Judge(**fields))
    kind = backend_kind(fields.get("backend", DEFAULT))
    kind.check(settings)
    return dict(kind.exact_options(settings))
