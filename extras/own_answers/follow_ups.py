"""One page for whatever follows a study's answers: second visits, further waves, linked studies."""

from collections.abc import Iterator
from typing import NamedTuple

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from extras.own_answers.models import LaterWave
from extras.own_answers.second_visits import visits_expected
from extras.own_answers.waves import series_of
from studies.models import Membership, Study
from studies.pages.workbench import SectionPage
from studies.selectors import get_study


class FollowUpPage(NamedTuple):
    title: str
    address: str
    sentence: str


def follow_ups_of(study: Study) -> list[FollowUpPage]:
    """What can follow. Waves come once a study was opened; on Prolific before, for its project."""
    pages = []
    if study.asks_own_answers:
        pages += [
            FollowUpPage(
                "Second visits",
                reverse("own_people:second-visits", args=[study.slug]),
                "The same people answer some of their items again, days later.",
            ),
            FollowUpPage(
                "Linked study",
                reverse("own_people:linked", args=[study.slug]),
                "Other people and judges predict what these people answered.",
            ),
        ]
    is_new = study.state == Study.State.DRAFT and study.entry != Study.Entry.PROLIFIC
    if not is_new or LaterWave.objects.filter(study=study).exists():
        pages.append(
            FollowUpPage(
                "Waves",
                reverse("own_people:waves", args=[study.slug]),
                "The same people are asked again, in a study of its own.",
            )
        )
    return pages


def section_page(study: Study) -> list[SectionPage]:
    """The page of follow-ups in the navigation; where there is one only, that itself."""
    follow_ups = follow_ups_of(study)
    if not follow_ups:
        return []
    title, address = follow_ups[0].title, follow_ups[0].address
    if len(follow_ups) > 1:
        title, address = "Follow-ups", reverse("own_people:follow-ups", args=[study.slug])
    return [SectionPage("annotators", title, address, for_editors=True)]


def needed(study: Study) -> Iterator[str]:
    """What has to end before this extra can be turned off."""
    if study.is_under_way and study.asks_own_answers:
        yield "Annotators answer for themselves and decide on their profile. Close the study first."
    if expected := visits_expected(study).count():
        yield f"Second visits that people have not finished: {expected}. Wait for their end."
    first, later = series_of(study)
    if waves := [wave.study.slug for wave in later if wave.study.is_under_way]:
        names = ", ".join(f"“{slug}”" for slug in waves)
        yield f"People of “{first.slug}” are asked again in {names}. Close that first."


@require_GET
@login_required
def follow_ups(request: HttpRequest, slug: str) -> HttpResponse:
    """List what can follow a study's answers."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    context = {"study": study, "follow_ups": follow_ups_of(study)}
    return render(request, "annotation/researcher/follow_ups.html", context)
