"""Forms of the recruiting pages: they check only the format; services decide."""

from django import forms

from annotation.prolific.settle.decisions import GROUNDS, LEAST_MESSAGE


class RejectForm(forms.Form):
    category = forms.ChoiceField(
        choices=list(GROUNDS.items()),
        widget=forms.RadioSelect,
        label="Reason",
        error_messages={"required": "Choose a reason."},
    )
    message = forms.CharField(
        widget=forms.Textarea,
        min_length=LEAST_MESSAGE,
        max_length=2000,
        label="Message to the participant",
        help_text=f"At least {LEAST_MESSAGE} characters. Say what you asked and what is missing.",
        error_messages={
            "required": "Write a message to the participant.",
            "min_length": f"Write at least {LEAST_MESSAGE} characters, not %(show_value)s.",
        },
    )
