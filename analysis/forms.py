"""What may be chosen for a report; everything has a default."""

from typing import Any

from django import forms

from analysis.building import BOOTSTRAP_RANGE, SEED_RANGE
from analysis.plans import registered
from studies.models import Study


class ReportForm(forms.Form):
    threshold = forms.IntegerField(
        label="High certainty from",
        min_value=1,
        max_value=100,
        required=False,
        help_text="1 to 100. Any other value than the study's own is marked as explored.",
    )
    bootstrap = forms.IntegerField(
        label="Resamples",
        min_value=BOOTSTRAP_RANGE[0],
        max_value=BOOTSTRAP_RANGE[1],
        required=False,
        help_text="Of every kind. 1,000 is what the source article uses.",
    )
    seed = forms.IntegerField(
        label="Seed",
        min_value=SEED_RANGE[0],
        max_value=SEED_RANGE[1],
        required=False,
        help_text="The same answers and the same seed give the same report.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = registered(study)
        self.defaults = {
            "threshold": own.threshold,
            "bootstrap": own.bootstrap,
            "seed": own.seed,
        }
        self.initial = {**self.defaults, **self.initial}

    def chosen(self) -> dict[str, int]:
        """The values, with the default for each that was left empty."""
        return {
            name: default if self.cleaned_data[name] is None else self.cleaned_data[name]
            for name, default in self.defaults.items()
        }
