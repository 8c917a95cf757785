"""Bringing people back for their second visit: reminders, a study on Prolific, and the page."""

from collections.abc import Iterator
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotation.models import Annotator, ProlificStudy
from annotation.prolific.api.client import connect, is_local
from annotation.prolific.api.transport import NotAllowed, ProlificError
from annotation.prolific.launch import publication
from annotation.prolific.launch.launch_plan import with_ids
from annotation.prolific.pages.views import agreed_spending, attempt
from extras.own_answers.follow_up import (
    Return,
    discard_follow_up,
    draft_follow_up,
    invite,
    need_of,
    newly_due,
    row_of,
)
from extras.own_answers.models import RetestVisit
from extras.own_answers.second_visits import (
    pids_due,
    second_visit_code,
    second_visits_of,
    visits_due,
    visits_of,
)
from studies.models import Membership, Study
from studies.money import format_money, major_units, minor_units
from studies.pages.listing import role_of
from studies.pages.responses import whole_number
from studies.pages.workbench import Need, once
from studies.selectors import get_study


def _address(study: Study) -> str:
    path = reverse("own_answers:retest", args=[study.slug])
    return with_ids(f"{settings.PUBLIC_BASE_URL}{path}")


def _people_due(study: Study) -> QuerySet[Annotator]:
    """The annotators to bring back; excluded ones are left out."""
    return Annotator.objects.filter(excluded_at=None, retest_visit__in=visits_due(study))


def _finished(study: Study) -> QuerySet[Annotator]:
    done = RetestVisit.objects.exclude(finished_at=None)
    return Annotator.objects.filter(study=study, retest_visit__in=done)


BACK = Return(
    "second visit",
    _finished,
    "You answer a few of the questions from your first visit again, without looking them up.",
    _address,
    lambda study: second_visit_code(study.pk),
    _people_due,
)


def reminder_needs(study: Study) -> Iterator[Need]:
    """People to bring back; only on Prolific, where they can be reached."""
    if study.entry != Study.Entry.PROLIFIC or not second_visits_of(study).retest_share:
        return
    row = row_of(study, BACK)
    if row is not None and row.status == "PAUSED":
        address = reverse("own_people:second-visits", args=[study.slug])
        words = "The study for second visits is paused on Prolific."
        yield Need(words, address, "Resume second visits", sends={"action": "start"})
    if due := once(study, "second visits due", lambda: _people_due(study).count()):
        words = "1 second visit is" if due == 1 else f"{due:,} second visits are"
        address = reverse("own_people:second-visits", args=[study.slug])
        yield Need(f"{words} due.", address, "Second visits")


@require_GET
@login_required
def second_visits(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how many second visits are due, and the study on Prolific that brings people back."""
    study = _first_person_study(request, slug, Membership.Role.EDITOR)
    context: dict[str, Any] = {"study": study, "visits": visits_of(study)}
    context["wanted"] = second_visits_of(study)
    if study.entry == Study.Entry.PROLIFIC:
        context |= {
            "address": _address(study),
            "code": second_visit_code(study.pk),
            "may_download": role_of(request.user, study) == Membership.Role.OWNER,
            **_on_prolific(study, row_of(study, BACK)),
        }
    return render(request, "annotation/researcher/second_visits.html", context)


def _on_prolific(study: Study, row: ProlificStudy | None) -> dict[str, Any]:
    """The follow-up as last read; of a draft, the cost of publishing it."""
    share = second_visits_of(study).retest_share / 100
    if row is None:
        minutes = max(1, round(study.minutes * share))
        reward = round(study.reward * share) or study.reward
        return {
            "minutes": minutes,
            "reward": f"{major_units(reward, study.currency):f}",
            "is_local": is_local(),
        }
    context: dict[str, Any] = {
        "row": row,
        "row_reward": format_money(row.reward, row.paid_in),
        "is_local": is_local(),
    }
    if row.status == "UNPUBLISHED":
        try:
            context["total"], context["spending"], _ = publication.look_at_publishing(
                study, follow_up=BACK.name, need=need_of(study, BACK)
            )
        except ProlificError as error:
            context["problem"] = str(error)
    return context


@require_POST
@login_required
def on_prolific(request: HttpRequest, slug: str) -> HttpResponse:
    """Create, publish, stop or delete the follow-up on Prolific, or admit those now due."""
    study = _first_person_study(request, slug, Membership.Role.EDITOR)
    user, pk = cast(User, request.user), study.pk
    action = request.POST["action"]
    if action == "invite":
        return _invite(request, study, user)
    actions = {
        "draft": (lambda: _draft(request, study, user), "Draft created. Nothing is paid yet."),
        "publish": (
            lambda: publication.publish(
                study_id=pk,
                follow_up=BACK.name,
                need=need_of(study, BACK),
                user=user,
                **agreed_spending(request),
            ),
            "Published. Those who are due can take part now.",
        ),
        "start": (
            lambda: publication.change(study_id=pk, action="START", follow_up=BACK.name, user=user),
            "Resumed. Those who are due can take part again.",
        ),
        "stop": (
            lambda: publication.change(study_id=pk, action="STOP", follow_up=BACK.name, user=user),
            "Stopped. People who are at work can finish.",
        ),
        "discard": (
            lambda: discard_follow_up(study_id=pk, follow_up=BACK, user=user),
            "Draft deleted here and on Prolific.",
        ),
    }
    do, words = actions[action]
    attempt(request, do, lambda _: words)
    return redirect("own_people:second-visits", slug)


def _draft(request: HttpRequest, study: Study, user: User) -> None:
    try:
        amount = forms.DecimalField(min_value=0, max_digits=9).clean(request.POST.get("reward"))
    except forms.ValidationError:
        raise NotAllowed("Enter the pay as a number, for example 1.50.") from None
    draft_follow_up(
        study_id=study.pk,
        follow_up=BACK,
        reward=minor_units(amount, study.currency),
        minutes=whole_number(request.POST.get("minutes", ""), most=1000) or 0,
        user=user,
    )


def _invite(request: HttpRequest, study: Study, user: User) -> HttpResponse:
    """Show the cost of places for those who became due since, and add them once confirmed."""
    extra = whole_number(request.POST.get("extra", ""), most=10_000) or 0
    back = redirect("own_people:second-visits", study.slug)
    if request.POST.get("sure") == "yes":
        seen = whole_number(request.POST.get("seen", ""), most=99_999) or 0
        attempt(
            request,
            lambda: invite(
                study_id=study.pk,
                follow_up=BACK,
                extra=extra,
                seen=seen,
                user=user,
                **agreed_spending(request),
            ),
            lambda row: f"Places added. The follow-up now has {row.places} places.",
        )
        return back
    try:
        client = connect(study.pk)
        extra, seen = newly_due(study, BACK, client)
        row = row_of(study, BACK)
        asked = None
        if row is not None and extra:
            need = need_of(study, BACK, extra)
            _, asked = publication.look_at_places(row, extra=extra, need=need)
    except ProlificError as error:
        messages.error(request, str(error))
        return back
    if asked is None:
        messages.info(request, "Everybody who is due has a place already.")
        return back
    context = {"study": study, "extra": extra, "seen": seen, "spending": asked}
    return render(request, "annotation/researcher/second_visit_places.html", context)


@require_POST
@login_required
def due_ids(request: HttpRequest, slug: str) -> HttpResponse:
    """Download the Prolific ids of those who are due, one per line; for owners."""
    study = _first_person_study(request, slug, Membership.Role.OWNER)
    pids = pids_due(study_id=study.pk, user=cast(User, request.user))
    response = HttpResponse(
        "".join(f"{pid}\n" for pid in pids), content_type="text/plain; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-second-visits.txt"'
    return response


def _first_person_study(request: HttpRequest, slug: str, role: str) -> Study:
    study = get_study(request.user, slug, role=role)
    if not study.asks_own_answers:
        raise Http404("only people who answer for themselves are asked again")
    return study
