"""Page of the items that are out of the analysis, and of one item to take out or put back."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from annotation.errors import ItemError
from annotation.services.faulty_items import (
    LONGEST_REASON,
    describe,
    put_back,
    take_out,
    taken_out,
)
from studies.models import Item, Membership, Study
from studies.pages.listing import role_of
from studies.pages.responses import REFUSED
from studies.selectors import get_study


@require_http_methods(["GET", "POST"])
@login_required
def faulty_items(request: HttpRequest, slug: str) -> HttpResponse:
    """List the items that are out; with `?item=`, show what a change of this item concerns."""
    sending = request.method == "POST"
    role = Membership.Role.EDITOR if sending else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    key = request.GET.get("item", "")
    item = get_object_or_404(Item.everything, study=study, key=key) if key else None
    fault = ""
    if sending and item is not None:
        fault = _change(request, study, item)
        if not fault:
            address = reverse("people:faulty-items", args=[slug])
            return redirect(f"{address}?{urlencode({'item': key})}")
    context = {
        "study": study,
        "items": [describe(taken) for taken in taken_out(study)],
        "found": describe(item) if item else None,
        "is_out": item is not None and item.split == Item.Split.LEFT_OUT,
        "fault": fault,
        "reason": request.POST.get("reason", ""),
        "longest": LONGEST_REASON,
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
    }
    status = REFUSED if fault else 200
    return render(request, "annotation/researcher/faulty_items.html", context, status=status)


def _change(request: HttpRequest, study: Study, item: Item) -> str:
    """Take the item out or put it back; return what is wrong."""
    user = cast(User, request.user)
    try:
        if "back" in request.POST:
            put_back(study_id=study.pk, key=item.key, user=user)
            messages.success(request, f"{item.key} counts again.")
        else:
            reason = request.POST.get("reason", "")
            take_out(study_id=study.pk, key=item.key, reason=reason, user=user)
            messages.success(request, f"{item.key} is out of the analysis.")
    except ItemError as error:
        return str(error)
    return ""
