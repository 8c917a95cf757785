"""Fields of forms that have a judge asked for something other than the questions of a run."""

from decimal import Decimal
from typing import cast

from django import forms

from judging.worker.job_requests import judges_that_write


def budget_field(
    help_text: str = "We never spend more. Leave empty if the model costs nothing.",
) -> forms.DecimalField:
    """A budget that may be left empty."""
    return forms.DecimalField(
        label="Budget in US dollars",
        required=False,
        min_value=Decimal("0.0001"),
        max_digits=12,
        decimal_places=4,
        help_text=help_text,
    )


def offer_judges(form: forms.Form, *names: str) -> None:
    """Let the fields with these names choose among judges that can be asked anything."""
    for name in names:
        cast(forms.ModelChoiceField, form.fields[name]).queryset = judges_that_write()
