"""Pages of watched sets: freeze one, look again, and what the looks show."""

from collections.abc import Iterator
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from extras.watching.freezing import (
    FEWEST,
    MOST,
    MOST_AT_ONCE,
    MOST_DAYS,
    USUAL,
    USUAL_AT_ONCE,
    CannotWatch,
    WatchWish,
    cost_of,
    freeze,
    watchable_runs,
)
from extras.watching.looks import begin_look, has_baseline, mark_as_read, stop_watching
from extras.watching.models import Look, WatchedSet
from extras.watching.notices import can_send_mail
from studies.models.studies import Membership, Study
from studies.pages.listing import role_of
from studies.pages.workbench import SectionPage
from studies.selectors import get_study
from studies.services.studies import seen_of
from studies.services.whole_studies import StudyContent

_KINDS = (("judge", "Judge"), ("items", "Items"), ("people", "People"))
_SHOWN = 30


class WatchForm(forms.Form):
    run = forms.ChoiceField(label="Judge", help_text="A run whose judge can be asked again.")
    items = forms.IntegerField(
        label="Items",
        initial=USUAL,
        min_value=FEWEST,
        max_value=MOST,
        help_text="How many answered items are frozen, drawn at random.",
    )
    at_once = forms.IntegerField(
        label="Baseline rounds",
        initial=USUAL_AT_ONCE,
        min_value=1,
        max_value=MOST_AT_ONCE,
        help_text="How often the judge is asked now, to see how much its answers vary anyway.",
    )
    every_days = forms.IntegerField(
        label="Days between looks",
        initial=7,
        min_value=0,
        max_value=MOST_DAYS,
        help_text="0: only when somebody asks for one.",
    )
    used_in = forms.ChoiceField(
        label="New items",
        required=False,
        help_text="Compared with those of the set: are the items still of the same kind?",
    )
    sends_mail = forms.BooleanField(
        label="E-mail to owners and editors when something has moved", required=False
    )
    seen = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, study: Study, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.runs = {run.public_id: (run, label) for run, label in watchable_runs(study)}
        self.fields["run"].choices = [  # type: ignore[attr-defined]
            (public_id, label) for public_id, (_, label) in self.runs.items()
        ]
        others = Study.objects.filter(memberships__user=user, archived_at=None)
        self.others = {other.slug: other for other in others.exclude(pk=study.pk).order_by("slug")}
        self.fields["used_in"].choices = [  # type: ignore[attr-defined]
            ("", "Later items of this study"),
            *((slug, f"Items of {other.title}") for slug, other in self.others.items()),
        ]
        if not can_send_mail():
            del self.fields["sends_mail"]

    def wish(self) -> WatchWish:
        chosen = self.cleaned_data
        return WatchWish(
            run=self.runs[chosen["run"]][0],
            items=chosen["items"],
            at_once=chosen["at_once"],
            every_days=chosen["every_days"],
            sends_mail=chosen.get("sends_mail", False),
            used_in=self.others.get(chosen["used_in"]),
        )


@require_GET
@login_required
def list_sets(request: HttpRequest, slug: str) -> HttpResponse:
    """List the watched sets of the study."""
    study = get_study(request.user, slug)
    return _list(request, study, WatchForm(study=study, user=_user(request)))


@require_POST
@login_required
def create(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what a set costs, and freeze it once that was seen."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    user = _user(request)
    data = request.POST.copy()
    form = WatchForm(data, study=study, user=user)
    if not form.is_valid():
        return _list(request, study, form, status=422)
    wish = form.wish()
    try:
        cost = cost_of(wish).sentence
        seen = seen_of(vars(wish) | {"run": wish.run.key, "used_in": str(wish.used_in)}, cost)
        if form.cleaned_data["seen"] != seen:
            again = bool(form.cleaned_data["seen"])
            data["seen"] = seen
            return _list(request, study, form, cost=cost, has_changed=again)
        with transaction.atomic():
            watched = freeze(wish, user=user)
            begin_look(watched.pk, user=user)
    except CannotWatch as error:
        form.add_error("run", str(error))
        return _list(request, study, form, status=422)
    messages.success(request, "The set is frozen. The judge is being asked for the baseline.")
    return redirect("watching:show", slug, watched.public_id)


@require_GET
@login_required
def show(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Show what the looks at a set show, and each look."""
    watched = _watched(request, slug, public_id)
    result = watched.result or {}
    looks = list(watched.looks.order_by("-number").defer("numbers")[:_SHOWN])
    kinds = result.get("kinds", {})
    context = {
        "study": watched.study,
        "watched": watched,
        "result": result,
        "kinds": [
            (label, kinds[kind], kind in result["moved"]) for kind, label in _KINDS if kind in kinds
        ],
        "looks": looks,
        "earlier": max(0, watched.looks.count() - len(looks)),
        "asking": next((one for one in looks if one.state == Look.State.ASKING), None),
        "has_baseline": has_baseline(watched),
        "used_in": _title_of_other(request.user, watched),
        "is_unread": bool({*result.get("moved", ())} - {*watched.read}),
        "may_edit": role_of(request.user, watched.study) != Membership.Role.VIEWER,
    }
    return render(request, "watching/set.html", context)


@require_POST
@login_required
def look(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Ask the judge again."""
    watched = _watched(request, slug, public_id, role=Membership.Role.EDITOR)
    try:
        begin_look(watched.pk, user=_user(request))
    except CannotWatch as error:
        messages.error(request, str(error))
    return redirect("watching:show", slug, public_id)


@require_POST
@login_required
def read(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Take what has moved out of “Needs you”."""
    mark_as_read(_watched(request, slug, public_id, role=Membership.Role.EDITOR).pk)
    return redirect("watching:show", slug, public_id)


@require_POST
@login_required
def stop(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Stop watching a set."""
    watched = _watched(request, slug, public_id, role=Membership.Role.EDITOR)
    stop_watching(watched.pk, user=_user(request))
    return redirect("watching:show", slug, public_id)


def _list(
    request: HttpRequest,
    study: Study,
    form: WatchForm,
    *,
    cost: str = "",
    has_changed: bool = False,
    status: int = 200,
) -> HttpResponse:
    sets = WatchedSet.objects.filter(study=study).select_related("run__judge").defer("frozen")
    context = {
        "study": study,
        "form": form,
        "sets": sets,
        "cost": cost,
        "has_changed": has_changed,
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
    }
    return render(request, "watching/list.html", context, status=status)


def _watched(
    request: HttpRequest, slug: str, public_id: str, *, role: str = Membership.Role.VIEWER
) -> WatchedSet:
    study = get_study(request.user, slug, role=role)
    sets = WatchedSet.objects.filter(study=study).select_related("study", "run__judge", "used_in")
    return get_object_or_404(sets, public_id=public_id)


def _title_of_other(user: Any, watched: WatchedSet) -> str:
    """The title of the study whose items are compared, for those who may see that study."""
    other = watched.used_in
    may_see = other is not None and (
        user.is_superuser or Membership.objects.filter(study=other, user=user).exists()
    )
    return other.title if other is not None and may_see else ""


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


def pages_of(study: Study) -> list[SectionPage]:
    return [SectionPage("judges", "Watched sets", reverse("watching:list", args=[study.slug]))]


def content_of(study: Study) -> StudyContent:
    count = WatchedSet.objects.filter(study=study).count()
    return StudyContent([("watched sets", count)] if count else [], [*needed(study)])


def needed(study: Study) -> Iterator[str]:
    """What has to end before watching can be turned off, or the study be deleted."""
    if Look.objects.filter(watched__study=study, state=Look.State.ASKING).exists():
        yield "A watched set is being asked. Wait until its look is finished."
