"""What forms share that create a study out of another one."""

from collections.abc import Iterator
from contextlib import contextmanager

from django import forms
from django.core.exceptions import ValidationError

from studies.errors import StudyError


class NewStudyForm(forms.Form):
    """The short name of the new study; each form adds what else is chosen."""

    slug = forms.SlugField(
        label="Short name of the new study",
        max_length=60,
        help_text="Letters, digits, - and _. It is part of its address.",
    )

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Show why the block did not create the study, as errors of the form."""
        try:
            yield
        except ValidationError as error:
            self.add_error("slug", " ".join(error.messages))
        except StudyError as error:
            self.add_error(None, str(error))
