"""What forms that spend money have in common: they show the cost first."""

import hashlib

from django import forms

from judging.errors import FieldError
from judging.runs.campaigns import PLAN_KEYS

ORDER_WORDS = {
    "both": "Both orders: sends each question twice, which shows whether a judge prefers a side",
    "random": "One random order per item, balanced: half as many questions",
    "r1_first": "Response 1 first",
    "r2_first": "Response 2 first",
}


class CostedForm(forms.Form):
    """A form that spends money only after it has shown the cost."""

    @property
    def digest(self) -> str:
        """A hash of the requested work, which the button that starts it sends back."""
        return hashlib.sha256(repr(sorted(self.cleaned_data.items())).encode()).hexdigest()[:16]

    @property
    def may_start(self) -> bool:
        """Whether that button was pressed, for exactly the work that was shown."""
        return "start" in self.data and self.data.get("shown") == self.digest

    def show(self, error: Exception) -> None:
        """Show a service's error next to its field, with the labels of this form."""
        if not isinstance(error, FieldError):
            self.add_error(None, str(error))
            return
        field = PLAN_KEYS.get(error.field, error.field)
        self.add_error(field if field in self.fields else None, error.worded(self._label))

    def _label(self, field: str) -> str:
        shown = self.fields.get(PLAN_KEYS.get(field, field))
        return f"“{shown.label}”" if shown else field.replace("_", " ")
