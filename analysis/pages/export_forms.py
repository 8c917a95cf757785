"""The form of an export."""

from typing import Any

from django import forms

from analysis.exports.delivery.listing import FORMAT_LABELS, labels
from analysis.exports.delivery.study_export import check_choice
from analysis.exports.description.licences import LICENCES
from analysis.exports.errors import ExportError
from studies.models.studies import Study

_USUAL = ("", "Default (JSON; CSV for matrices)")
# Plain JSON is offered only for Label Studio, where it is the usual format.
_CHOOSABLE = ("jsonl", "csv", "parquet", "xlsx")


def _checkbox(label: str, help_text: str) -> forms.BooleanField:
    """An option that is off by default."""
    return forms.BooleanField(label=label, required=False, help_text=help_text)


class ExportForm(forms.Form):
    what = forms.ChoiceField(label="Content", choices=lambda: list(labels().items()), initial="all")
    format = forms.ChoiceField(
        label="Format",
        required=False,
        choices=[_USUAL, *((name, FORMAT_LABELS[name]) for name in _CHOOSABLE)],
        help_text="“Everything” always contains JSON Lines and CSV.",
    )
    licence = forms.ChoiceField(
        label="Licence of the answers",
        required=False,
        choices=[("", "Not stated"), *((name, name) for name in LICENCES)],
        help_text="It is written to the data card. The items keep the licence of their source.",
    )
    fresh_pseudonyms = _checkbox(
        "New names for annotators",
        "Names no longer match those of earlier exports. Times, durations and flags are left out, "
        "because rows could be matched by them.",
    )
    free_text = _checkbox(
        "Include free text", "What people wrote at the end, and the reasons of exclusions."
    )
    identified = _checkbox(
        "Include platform ids",
        "Also includes all demographic answers, for example for payments.",
    )
    confirmation = forms.CharField(
        label="Short name of the study, to confirm",
        required=False,
        help_text="Required for free text or platform ids. The study’s log records your name.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    OWNERS_ONLY = ("free_text", "identified", "confirmation")

    def __init__(self, *args: Any, study: Study, is_owner: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        if not is_owner:
            for name in self.OWNERS_ONLY:
                del self.fields[name]

    def open_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self.OWNERS_ONLY]

    def owners_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name in self.OWNERS_ONLY]

    def clean(self) -> dict[str, Any]:
        chosen = super().clean() or self.cleaned_data
        if "what" in chosen:
            try:
                check_choice(chosen["what"], chosen.get("format", ""), chosen.get("licence", ""))
            except ExportError as error:
                self.add_error("format", str(error))
        names_people = chosen.get("identified") or chosen.get("free_text")
        typed = chosen.pop("confirmation", "").strip()
        if names_people and typed != self.study.slug:
            self.add_error(
                "confirmation", f"Type {self.study.slug} to export data that name people."
            )
        return chosen
