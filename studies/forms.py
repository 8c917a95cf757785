"""What researchers send: shapes only; services decide."""

from typing import Any

from django import forms

from studies.importers.bundle import MAX_BYTES
from studies.models import Study, Task


class StateForm(forms.Form):
    state = forms.ChoiceField(
        choices=[(s, s) for s in (Study.State.OPEN, Study.State.PAUSED, Study.State.CLOSED)]
    )


class ImportForm(forms.Form):
    file = forms.FileField(
        label="File with items",
        help_text="JSON Lines, CSV, a zip of a bundle, or a released result file; up to 200 MB.",
        error_messages={"required": "Choose a file.", "empty": "The file is empty."},
    )
    task = forms.ChoiceField(
        label="Task of items that name none",
        choices=Task.choices,
        help_text="It decides how the question is put to people and to models.",
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MAX_BYTES:
            raise forms.ValidationError("The file is larger than 200 MB. Import it in parts.")
        return file
