"""Forms for members and invitations, and for copying and deleting a study."""

from typing import Any

from django import forms
from django.core.validators import validate_slug

from studies.models import Membership, Study

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
