"""The page that asks whether others may see a profile of the annotator."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from annotation import services
from annotation.content.own_profile import ShownProfile, shown_profile
from annotation.models import Annotator, OwnProfile
from annotation.participants.access import participant_page, see_other, step_url
from annotation.participants.forms import ProfileForm
from annotation.participants.items.progress import next_position_of
from annotation.seats.flow import ending_of
from studies.models import Study

_REFUSED = 422


@require_http_methods(["GET", "POST"])
@participant_page("profile", after_end=True)
def profile(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Show the exact profile that others would see and ask; after the end, take consent back."""
    decided = OwnProfile.objects.filter(annotator=annotator).first()
    if ending_of(annotator):
        return _after_the_end(request, annotator, decided)
    if not annotator.study.asks_own_answers:
        return see_other(step_url(annotator, "feedback"))
    if next_position_of(annotator.pk) is not None:
        return see_other(step_url(annotator, "task"))
    initial = {"text": decided.text, "show": decided.is_shown} if decided else {}
    form = ProfileForm(request.POST if request.method == "POST" else None, initial=initial)
    shown = shown_profile(annotator, form.text_shown)
    if form.is_bound and not form.only_previews and form.agrees_to(shown):
        services.decide_profile(
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
        services.decide_profile(annotator_id=annotator.pk, is_shown=False)
        return see_other(step_url(annotator, "profile"))
    context = {
        "study": annotator.study,
        "decided": decided,
        "profile": ShownProfile(decided.features, decided.text, []).as_profile,
        "continue_url": step_url(annotator),
    }
    return render(request, "annotation/profile_decided.html", context)
