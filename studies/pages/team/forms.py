"""Forms for members and invitations, and for copying and deleting a study."""

import datetime as dt
from typing import Any

from django import forms
from django.core.validators import validate_slug

from studies.models import Membership, Study
from studies.statements import clock

_ROLES = [
    (Membership.Role.VIEWER, "Viewer: reads everything"),
    (Membership.Role.EDITOR, "Editor: changes the study and asks people and judges"),
    (Membership.Role.OWNER, "Owner: also changes the team and deletes the study"),
]


class InvitationForm(forms.Form):
    role = forms.ChoiceField(label="Role", choices=_ROLES)
    note = forms.CharField(
        label="Whom is it for?",
        max_length=200,
        required=False,
        help_text="Only your team sees this.",
    )


class MemberForm(forms.Form):
    """A member, and the role that they get where one is set."""

    user = forms.IntegerField()
    role = forms.ChoiceField(choices=Membership.Role.choices, required=False)


class CopyForm(forms.Form):
    title = forms.CharField(label="Title", max_length=200)
    slug = forms.CharField(
        label="Short name",
        max_length=60,
        validators=[validate_slug],
        help_text="Part of the study’s addresses: letters, digits, - and _.",
    )
    with_items = forms.BooleanField(
        label="With the items, practice items and attention checks", required=False
    )


class RetentionForm(forms.Form):
    identities_days = forms.IntegerField(
        label="Delete the platform’s ids this many days after closing",
        required=False,
        min_value=1,
        max_value=3650,
        help_text="Empty keeps them. Answers stay, under pseudonyms. Pay first.",
    )
    delete_on = forms.DateField(
        label="Delete the study with everything in it on",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="Empty keeps it. It is deleted on that day if it is closed.",
    )

    def clean_delete_on(self) -> dt.date | None:
        on: dt.date | None = self.cleaned_data["delete_on"]
        if on is not None and on <= clock.now().date():
            raise forms.ValidationError("This day is not in the future. Choose a later one.")
        return on


class DeletionForm(forms.Form):
    confirmation = forms.CharField(label="Short name of the study")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._slug = study.slug
        self.fields["confirmation"].label = f"Type “{study.slug}” to confirm"
        self.fields["confirmation"].widget.attrs["autocomplete"] = "off"

    def clean_confirmation(self) -> str:
        typed: str = self.cleaned_data["confirmation"]
        if typed != self._slug:
            raise forms.ValidationError(
                f"This is not the short name. Type “{self._slug}”. Nothing was deleted."
            )
        return typed
