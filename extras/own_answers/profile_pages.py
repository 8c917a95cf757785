"""The page that asks whether others may see a profile of the annotator."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from annotation.models import Annotator
from annotation.participants.access import participant_page, see_other, step_url
from annotation.participants.added_steps import AddedStep, EndNote
from annotation.participants.forms import ParticipantForm
from annotation.participants.items.progress import progress_of
from annotation.seats.flow import ending_of
from extras.own_answers.models import OwnProfile
from extras.own_answers.profiles import (
    LONGEST_TEXT,
    ShownProfile,
    decide_profile,
    preview_profile,
    shown_profile,
)
from studies.models import Study
from studies.texts.normalisation import storable

_REFUSED = 422


class ProfileForm(ParticipantForm):
    """Whether others may see the profile, in the annotator's own words; off until ticked."""

    text = forms.CharField(
        required=False,
        max_length=LONGEST_TEXT,
        error_messages={"max_length": _("Shorten what you wrote to 500 characters")},
    )
    show = forms.BooleanField(required=False)
    version = forms.CharField(required=False, max_length=64)

    @property
    def text_shown(self) -> str:
        """What the annotator wrote, as it is shown and stored."""
        given = self.data.get("text") if self.is_bound else self.initial.get("text")
        return storable(given or "")[:LONGEST_TEXT]

    @property
    def is_ticked(self) -> bool:
        return bool(self.data.get("show") if self.is_bound else self.initial.get("show"))

    @property
    def only_previews(self) -> bool:
        return self.data.get("do") == "preview"

    def agrees_to(self, shown: ShownProfile) -> bool:
        """Whether the form decides: nobody agrees to a profile that they have not seen."""
        if not self.is_valid():
            return False
        if not self.cleaned_data["show"]:
            return True
        if shown.is_empty:
            self.add_error("show", _("There is nothing to show. Write a few words, or untick this"))
        elif self.cleaned_data["version"] != shown.version:
            self.add_error("show", _("The profile has changed. Look at it, then continue"))
        return not self.errors


@require_http_methods(["GET", "POST"])
@participant_page("feedback", after_end=True)
def profile(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Show the exact profile that others would see and ask; after the end, take consent back."""
    decided = OwnProfile.objects.filter(annotator=annotator).first()
    if ending_of(annotator):
        return _after_the_end(request, annotator, decided)
    if not annotator.study.asks_own_answers:
        return see_other(step_url(annotator, "feedback"))
    if progress_of(annotator.pk).next_position is not None:
        return see_other(step_url(annotator, "task"))
    initial = {"text": decided.text, "show": decided.is_shown} if decided else {}
    form = ProfileForm(request.POST if request.method == "POST" else None, initial=initial)
    shown = shown_profile(annotator, form.text_shown)
    if form.is_bound and not form.only_previews and form.agrees_to(shown):
        decide_profile(
            annotator_id=annotator.pk,
            is_shown=form.cleaned_data["show"],
            text=shown.text,
            version=shown.version,
        )
        return see_other(step_url(annotator, "feedback"))
    status = _REFUSED if form.errors else 200
    return render(
        request,
        "annotation/profile.html",
        profile_context(annotator.study, form, shown),
        status=status,
    )


def profile_context(study: Study, form: ProfileForm, shown: ShownProfile) -> dict[str, Any]:
    """The page with a profile, also for its preview."""
    return {
        "study": study,
        "form": form,
        "shown": shown,
        "profile": shown.as_profile,
        "examples": study.show_history,
    }


def _after_the_end(
    request: HttpRequest, annotator: Annotator, decided: OwnProfile | None
) -> HttpResponse:
    """The profile as it is shown, with a button that removes it; nothing else can be changed."""
    if decided is None or annotator.state != Annotator.State.COMPLETED:
        return see_other(step_url(annotator))
    if request.method == "POST":
        decide_profile(annotator_id=annotator.pk, is_shown=False)
        return see_other(_address(annotator))
    context = {
        "study": annotator.study,
        "decided": decided,
        "profile": ShownProfile(decided.features, decided.text, []).as_profile,
        "continue_url": step_url(annotator),
    }
    return render(request, "annotation/profile_decided.html", context)


def _address(annotator: Annotator) -> str:
    return reverse("own_answers:profile", args=[annotator.study.slug])


def _first_at(annotator: Annotator) -> str:
    """The page, until somebody who answers for themselves has decided there."""
    if not annotator.study.asks_own_answers or hasattr(annotator, "own_profile"):
        return ""
    return _address(annotator)


def _preview(study: Study) -> dict[str, Any]:
    return profile_context(study, ProfileForm(), preview_profile(study))


def _shown_at_end(annotator: Annotator) -> Mapping[str, Any]:
    decided = annotator.study.asks_own_answers and hasattr(annotator, "own_profile")
    return {"address": _address(annotator)} if decided else {}


def _asks_own_answers(study: Study) -> bool:
    return study.asks_own_answers


STEP = AddedStep("profile", _("Your profile"), _asks_own_answers, _first_at, _preview)
NOTE = EndNote("profile", "annotation/endings/_own_profile.html", _shown_at_end)
