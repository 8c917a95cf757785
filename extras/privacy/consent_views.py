"""Page of the versions of the consent: who agreed to which, and amending it meanwhile."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from extras.privacy.amendments import (
    AMENDED_FIELDS,
    LONGEST_NOTE,
    AmendmentError,
    amend_consent,
    changes,
    current_text,
    history,
    under_way,
)
from studies.errors import StaleVersion
from studies.models import Membership, Study
from studies.pages.addressed import pressed
from studies.pages.listing import role_of
from studies.pages.responses import REFUSED
from studies.pages.workbench import SectionPage
from studies.selectors import get_study


def versions_page(study: Study) -> list[SectionPage]:
    address = reverse("consents:versions", args=[study.slug])
    return [SectionPage("annotators", "Consent", address, once="annotators")]


class AmendmentForm(forms.ModelForm):
    """The new text, whom it asks, and the note; `version` is that of the shown page."""

    asks_again = forms.ChoiceField(
        label="People who are under way",
        choices=[
            ("no", "They go on under the version that they agreed to"),
            ("yes", "They read the new version and agree to it before they go on"),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": "Choose whether people who are under way are asked again."},
    )
    note = forms.CharField(
        label="Reason and ethics note",
        max_length=LONGEST_NOTE,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 80}),
        help_text="Why the text changes, and what the ethics board decided about asking again.",
        error_messages={"required": "State why, and what the ethics board decided."},
    )
    version = forms.IntegerField(widget=forms.HiddenInput)

    class Meta:
        model = Study
        fields = list(AMENDED_FIELDS)
        labels = {
            "consent": "Consent text",
            "researchers": "Who runs the study",
            "storage": "Where and how long data are kept",
            "ethics": "Ethics approval",
        }
        widgets = {"consent": forms.Textarea(attrs={"rows": 16, "cols": 80})}
        help_texts = {"consent": "Markdown. Leave empty to use the standard text."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["version"] = self.instance.version


@require_http_methods(["GET", "POST"])
@login_required
def consent_versions(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the versions and what they changed; preview and store an amended text."""
    sending = request.method == "POST"
    role = Membership.Role.EDITOR if sending else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    before, fault, preview = current_text(study), "", None
    form = AmendmentForm(request.POST if sending else None, instance=study)
    if sending and form.is_valid():
        entered = form.cleaned_data
        if pressed(request, "do", "preview", "save") == "preview":
            preview = list(changes(before, current_text(form.instance)))
        else:
            try:
                asked = amend_consent(
                    study_id=study.pk,
                    fields={name: entered[name] for name in AMENDED_FIELDS},
                    note=entered["note"],
                    asks_again=entered["asks_again"] == "yes",
                    user=cast(User, request.user),
                    version=entered["version"],
                )
            except (AmendmentError, StaleVersion) as error:
                fault = str(error)
            else:
                people = f"{asked:,} {'person is' if asked == 1 else 'people are'} asked again"
                messages.success(request, f"New version of the consent saved; {people}.")
                return redirect("consents:versions", slug)
    stored = get_study(request.user, slug)
    versions = history(stored)
    context = {
        "study": stored,
        "form": form,
        "fault": fault,
        "preview": preview,
        "versions": versions,
        "is_amended": bool(versions) or stored.frozen_at is not None,
        "under_way": len(working := under_way(stored, besides="")),
        "due": sum(person.consent_due for person in working),
        "may_edit": role_of(request.user, stored) != Membership.Role.VIEWER,
    }
    status = REFUSED if fault or (sending and form.errors) else 200
    return render(request, "privacy/consent_versions.html", context, status=status)
