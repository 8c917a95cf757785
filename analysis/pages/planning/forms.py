"""Forms of forecasts and of the watched comparison."""

from typing import Any

from django import forms

from analysis.planning.assumptions import LABELS, RANGES
from studies.models.studies import Study

WHOLE = ("items", "answers", "per_annotator", "judges")
SHARES = ("accuracy_people", "accuracy_judge")
EFFECTS = ("sd_item", "sd_annotator", "sd_persona", "sd_question", "overlap")
_HINTS = {
    "accuracy_people": "Share of items, for example 0.6. Empty: 0.6, or what the pilot shows.",
    "accuracy_judge": "Empty: differences of −10 to +10 points from the majority.",
    "judges": "Runs that compete for being the best.",
}


class _WholeField(forms.FloatField):
    """A whole number whose bounds may be those of any number."""

    def clean(self, value: Any) -> int | None:
        found = super().clean(value)
        if found is not None and found != int(found):
            raise forms.ValidationError("Enter a whole number.")
        return None if found is None else int(found)


class ForecastForm(forms.Form):
    """The design and what it assumes; empty fields take the study's values, or the defaults."""

    pilot = forms.ChoiceField(
        label="Pilot",
        required=False,
        help_text="A study of yours with answers. Its accuracies and effects replace the defaults.",
    )

    def __init__(self, *args: Any, pilots: list[Study], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["pilot"].choices = [  # type: ignore[attr-defined]
            ("", "None: use the defaults"),
            *((study.slug, study.title) for study in pilots),
        ]
        for name in (*WHOLE, *SHARES, *EFFECTS):
            low, high = RANGES[name]
            kind = _WholeField if name in WHOLE else forms.FloatField
            self.fields[name] = kind(
                label=LABELS[name],
                required=False,
                min_value=low,
                max_value=high,
                help_text=_HINTS.get(name, ""),
                widget=forms.NumberInput(attrs={"step": "1" if name in WHOLE else "any"}),
            )
        self.order_fields((*WHOLE, *SHARES, "pilot", *EFFECTS))

    @property
    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in (*WHOLE, *SHARES, "pilot")]

    @property
    def effects(self) -> list[forms.BoundField]:
        return [self[name] for name in EFFECTS]

    def chosen(self) -> dict[str, Any]:
        """The values that were entered."""
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}


class WatchForm(forms.Form):
    run = forms.ChoiceField(label="Judge run")
    final = forms.BooleanField(
        label="I understand that the judge and the margin cannot change after I fix them",
        error_messages={"required": "Confirm that the choice is final."},
    )

    def __init__(self, *args: Any, runs: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["run"].choices = runs  # type: ignore[attr-defined]
