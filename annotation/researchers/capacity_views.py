"""Pages on which editors open more places, and exclude annotators of related studies."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from annotation.errors import PlacesError
from annotation.models import RelatedStudy
from annotation.seats.capacity import SeatCapacity, places_of
from annotation.seats.quotas import have_entered
from annotation.services.admission.related_studies import seen_selection, set_related_studies
from annotation.services.capacity import raise_places
from studies.errors import StaleVersion
from studies.models import Membership, Study
from studies.pages.numbers import whole_number
from studies.selectors import get_study, studies_for
from studies.statements.kept_figures import kept

_REFUSED = 422
_MOST = 1_000


@require_http_methods(["GET", "POST"])
@login_required
def places(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the cost of more answers and places; when sent a second time, open them."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    now = _places(study) if request.method == "GET" else places_of(study)
    then, fault = None, ""
    if request.method == "POST":
        try:
            per_item = _number(request, "annotations_per_item", study.annotations_per_item)
            targets = {
                group.quota_group.pk: _number(
                    request, f"target-{group.quota_group.pk}", group.quota_group.target
                )
                for group in now.groups
            }
            then = places_of(study, annotations_per_item=per_item, targets=targets)
            if "sure" in request.POST:
                raise_places(
                    study_id=study.pk,
                    version=_number(request, "version", 0, most=2**31),
                    annotations_per_item=per_item,
                    targets=targets,
                    user=cast(User, request.user),
                )
                messages.success(request, "Places and quota increased.")
                return redirect("people:places", slug)
            if then == now:
                fault = "Nothing changed. Enter a higher number in at least one field"
        except PlacesError as error:
            fault = str(error)
    context = {
        "seen": seen_selection(study),  # Before the selection is read.
        "study": study,
        "now": now,
        "then": None if fault else then,
        "fault": fault,
        "fixed": have_entered(study),
        "others": _others(request, study),
        "related": set(study.related_studies.values_list("related", flat=True)),
    }
    status = _REFUSED if fault else 200
    return render(request, "annotation/researcher/places.html", context, status=status)


def _places(study: Study) -> SeatCapacity:
    """The current capacity, to be looked at; what is changed is counted again."""
    return kept(
        "places",
        study.pk,
        study.version,
        count=lambda: places_of(study),
        rows=lambda found: found.items,
    )


def _number(request: HttpRequest, name: str, least: int, *, most: int = _MOST) -> int:
    number = whole_number(request.POST.get(name, ""), most=most)
    if number is None or number < least:
        raise PlacesError(f"Enter whole numbers from the current value to {most:,}")
    return number


def _others(request: HttpRequest, study: Study) -> list[Study]:
    """The studies that may be selected: those the editor can see, and those already selected."""
    named = RelatedStudy.objects.filter(study=study).values("related")
    seen = studies_for(request.user).exclude(pk=study.pk)
    found = seen | Study.objects.filter(pk__in=named)
    return list(found.distinct().order_by("title", "slug"))


@require_POST
@login_required
def related(request: HttpRequest, slug: str) -> HttpResponse:
    """Store the studies whose annotators are excluded; unknown studies are skipped."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    chosen = set(request.POST.getlist("related"))
    try:
        set_related_studies(
            study_id=study.pk,
            related_ids=[other.pk for other in _others(request, study) if other.slug in chosen],
            seen=request.POST.get("seen"),
            user=cast(User, request.user),
        )
    except StaleVersion:
        messages.error(
            request,
            "Someone else changed this selection while you edited. Nothing was saved. The page "
            "shows theirs: select again.",
        )
    else:
        messages.success(
            request,
            "Selection saved. Participants of the selected studies can no longer join this one.",
        )
    return redirect("people:places", slug)
