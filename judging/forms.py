"""What may be asked of a run's page."""

from django import forms

from judging.models import Judgment

STATES = [
    ("", "all"),
    ("open", "not yet answered"),
    *[(s.value, s.label) for s in Judgment.State if s not in Judgment.OPEN],
]


class JudgmentFilter(forms.Form):
    """The filter above a run's judgments; nothing in it is required."""

    state = forms.ChoiceField(choices=STATES, required=False, label="State")
    search = forms.CharField(required=False, max_length=120, label="Item id contains")
