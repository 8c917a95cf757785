"""The form of a panel."""

import re
from decimal import Decimal
from typing import Any

from django import forms
from django.views.decorators.debug import sensitive_variables

from extras.panels.links import seal
from extras.panels.models import Panel
from extras.panels.presets import Preset
from extras.panels.returns import KINDS_OF_ENDING, fault_of
from studies.money import major_units, minor_units

_PARAMETERS = ("person_parameter", "study_parameter", "session_parameter")
_PLACEHOLDERS = "Placeholders: {person}, {study}, {session}, {code}."
_HINTS = {
    "name": "Part of the link. Give the same company the same name in every study, so that its "
    "people are recognised.",
    "title": "For example “MTurk”. People read it on the first and the last page.",
    "person_parameter": "The name before a person’s id in the panel’s link, for example workerId.",
    "complete": _PLACEHOLDERS,
    "failed": "People who failed attention checks have done the work. Without an address of their "
    "own they go back as complete, and you decide.",
    "complete_code": "People who finished see it. Leave empty to show the study’s own code.",
    "signature": "A link whose signature does not match lets nobody in.",
    "signs_returns": "The panel then knows that nobody changed how somebody ended.",
    "fee_percent": "Leave empty if you do not know it yet.",
}


class PanelForm(forms.ModelForm):
    """A panel of a study, with the hosts of its preset as limit."""

    pay_each = forms.DecimalField(
        label="Pay per person",
        min_value=0,
        max_value=10_000,
        help_text="For the whole task, without the panel’s fee. 0 for credits.",
    )
    secret = forms.CharField(
        label="Secret of the signature",
        required=False,
        max_length=200,
        strip=True,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="From the panel. It is stored encrypted and never shown. Leave empty to keep the "
        "one that is stored.",
    )

    class Meta:
        model = Panel
        fields = (
            "title",
            "name",
            *_PARAMETERS,
            "requires_study",
            "requires_session",
            *KINDS_OF_ENDING,
            "pay",
            "complete_code",
            "fee_percent",
            "signature",
            "signature_parameter",
            "signs_returns",
        )
        help_texts = _HINTS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        panel = self.instance
        self.kind: Preset = panel.kind
        currency = panel.study.currency
        self.fields["pay_each"].label = f"Pay per person, in {currency}"
        reward = panel.study.reward if panel.pk is None else panel.reward
        self.initial.setdefault("pay_each", major_units(reward, currency))
        for name in KINDS_OF_ENDING:
            hosts = f"A host of {self.kind.hosts_in_words}. " if self.kind.hosts else ""
            self.fields[name].help_text = f"{hosts}{_HINTS.get(name, '')}".strip()
            self.fields[name].widget.attrs["size"] = 56
            self.fields[name].label = f"Address for “{KINDS_OF_ENDING[name]}”"

    @property
    def sections(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The fields under their headings; a panel that says where results go needs no address."""
        addresses = [] if self.kind.submits_to else [*KINDS_OF_ENDING]
        groups = [
            ("The panel", ["title", "name"]),
            ("What its link has", [*_PARAMETERS, "requires_study", "requires_session"]),
            ("Where people go back", addresses),
            ("Pay", ["pay", "pay_each", "fee_percent", "complete_code"]),
            ("Signature", ["signature", "signature_parameter", "secret", "signs_returns"]),
        ]
        return [(title, [self[name] for name in names]) for title, names in groups if names]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name == "new":
            raise forms.ValidationError("This word is taken. Choose another short name.")
        return name

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        self._check_parameters()
        for name in KINDS_OF_ENDING:
            address = (cleaned.get(name) or "").strip()
            if address and self.kind.person_mark:
                address = re.sub(rf"={self.kind.person_mark}\Z", "={person}", address)
            if address and (fault := fault_of(address, self.kind)):
                self.add_error(name, fault)
            elif self.kind.unfilled and self.kind.unfilled in address:
                self.add_error(
                    name, f"Replace {self.kind.unfilled} by the value of your own project."
                )
            cleaned[name] = address
        if cleaned.get("signature"):
            if not cleaned.get("signature_parameter"):
                self.add_error("signature_parameter", "Enter the name of the parameter.")
            if not cleaned.get("secret") and not self.instance.sealed_secret:
                self.add_error("secret", "Enter the secret that the panel gave you.")
        elif cleaned.get("signs_returns"):
            self.add_error("signs_returns", "Choose a signature first, or clear this box.")
        return cleaned

    def _check_parameters(self) -> None:
        names = [self.cleaned_data.get(field) for field in _PARAMETERS]
        names += [self.cleaned_data.get("signature_parameter")]
        used = [name for name in names if name]
        if len(used) != len({*used}):
            self.add_error("person_parameter", "Each parameter needs a name of its own.")
        for part in ("study", "session"):
            required, named = f"requires_{part}", f"{part}_parameter"
            if self.cleaned_data.get(required) and not self.cleaned_data.get(named):
                self.add_error(required, f"Enter the parameter of the {part}, or clear this box.")

    @sensitive_variables()
    def filled(self) -> Panel:
        """The panel with what was entered, not stored yet."""
        panel: Panel = self.instance
        amount: Decimal = self.cleaned_data["pay_each"]
        panel.reward = minor_units(amount, panel.study.currency)
        if not panel.signature:
            panel.sealed_secret, panel.signature_parameter = "", ""
        elif self.cleaned_data["secret"]:
            panel.sealed_secret = seal(self.cleaned_data["secret"])
        return panel


def new_panel(study: Any, kind: Preset) -> Panel:
    """A panel with the values of its preset, not stored."""
    return Panel(
        study=study,
        preset=kind.code,
        name=kind.code if kind.code != "generic" else "",
        title=kind.title if kind.code != "generic" else "",
        person_parameter=kind.person,
        study_parameter=kind.study,
        session_parameter=kind.session,
        requires_study="study" in kind.required,
        requires_session="session" in kind.required,
        signature=kind.signature,
        signature_parameter=kind.signature_parameter,
        signs_returns=bool(kind.signature),
        pay=kind.pay,
        **kind.addresses,
    )
