"""Pages where an expert decides split items, blind to who answered what.

An item looks as it did to participants. Nothing on these pages comes from answers or judgments.
"""

from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import translation
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
    require_safe,
)

from annotation.participants.forms import AnswerForm
from annotation.participants.item_context import ItemProgress, ProgressOnItems, item_context
from extras.label_models.adjudicating import decide, may_open, rule_of
from extras.label_models.models import Expert, ExpertDecision
from studies.errors import StudyError
from studies.media import keeper, sums_of
from studies.models import Choice, Side
from studies.pages.responses import REFUSED

_EXCERPT = 90
_OTHER = {Side.R1: Side.R2, Side.R2: Side.R1}


def _expert(request: HttpRequest, expert_id: str) -> Expert:
    """The expert of an address; the same 404 for unknown and ended ones, and wrong keys."""
    expert = Expert.objects.select_related("study").filter(public_id=expert_id).first()
    key = request.GET.get("key", "")
    if expert is None or not may_open(expert, request.user, key):
        raise Http404("There is no such expert.")
    if not expert.study.has_extra("label_models"):
        raise Http404("The study has no adjudication.")
    return expert


def _needs_account(request: HttpRequest, expert_id: str) -> bool:
    """Whether somebody who is not signed in opens the page of an account."""
    of_accounts = Expert.objects.filter(public_id=expert_id, user__isnull=False, ended_at=None)
    return not request.user.is_authenticated and of_accounts.exists()


def _address(request: HttpRequest, name: str, *args: object) -> str:
    """The address of another page of the same expert, with the key of the link."""
    key = request.GET.get("key", "")
    query = f"?{urlencode({'key': key})}" if key else ""
    return f"{reverse(f'experts:{name}', args=args)}{query}"


def _shown(
    request: HttpRequest, template: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """A page in the study's language that is neither kept nor indexed: its address has the key."""
    study = context["study"]
    with translation.override(study.page_language):
        response = render(request, template, context, status=status)
    response["Cache-Control"] = "no-store"
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response["Referrer-Policy"] = "strict-origin"
    return response


@require_GET
def start(request: HttpRequest, expert_id: str) -> HttpResponse:
    """Say what is to do, lead to the next item, and list what was decided."""
    if _needs_account(request, expert_id):
        return redirect_to_login(request.get_full_path())
    expert = _expert(request, expert_id)
    rows = [*expert.decisions.select_related("item")]
    following = next((row.position for row in rows if not row.choice), None)
    decided = [
        {
            "number": number,
            "words": " ".join((row.item.question or row.item.key).split())[:_EXCERPT],
            "letter": "tie" if row.choice == Choice.TIE else _letter(row),
            "address": _address(request, "item", expert_id, row.position),
        }
        for number, row in enumerate(rows, 1)
        if row.choice
    ]
    context = {
        "study": expert.study,
        "total": len(rows),
        "decided": decided,
        "next": following and _address(request, "item", expert_id, following),
        "is_closed": bool(rule_of(expert.study).closed_at),
    }
    return _shown(request, "annotation/adjudication.html", context)


def _letter(row: ExpertDecision) -> str:
    return "a" if row.choice == row.shown_first else "b"


@require_http_methods(["GET", "POST"])
def item(request: HttpRequest, expert_id: str, position: int) -> HttpResponse:
    """Show an item as participants saw it, or store the expert's decision (POST)."""
    expert = _expert(request, expert_id)
    study = expert.study
    rows = [*expert.decisions.only("position", "choice")]
    row = get_object_or_404(expert.decisions.select_related("item__persona"), position=position)
    row.item.study = study
    if rule_of(study).closed_at:
        return redirect(_address(request, "start", expert_id))
    initial = {}
    if row.choice:
        initial = {
            "choice": "tie" if row.choice == Choice.TIE else _letter(row),
            "certainty": str(row.certainty or ""),
        }
    data = request.POST if request.method == "POST" else None
    form = AnswerForm(data, study=study, task=row.item.task, initial=initial)
    if form.is_valid():
        entered = form.cleaned_data
        first = Side(row.shown_first)
        choices = {"a": first, "b": _OTHER[first], "tie": Choice.TIE}
        try:
            decide(
                decision_id=row.pk,
                choice=choices[entered["choice"]],
                certainty=entered["certainty"],
            )
        except StudyError:
            return redirect(_address(request, "start", expert_id))
        # The next open item after this one, then an earlier one.
        open_places = [seat.position for seat in rows if not seat.choice and seat != row]
        later = [place for place in open_places if place > position]
        following = next(iter(later + open_places), None)
        if following is None:
            return redirect(_address(request, "start", expert_id))
        return redirect(_address(request, "item", expert_id, following))
    places = tuple(
        ItemProgress(number, bool(seat.choice), None, bool(seat.choice))
        for number, seat in enumerate(rows, 1)
    )
    number = 1 + [seat.position for seat in rows].index(position)
    earlier = [seat.position for seat in rows if seat.position < position]
    with translation.override(study.page_language):
        context = {
            **item_context(
                item=row.item,
                shown_first=row.shown_first,
                form=form,
                number=number,
                media_address=partial(_address, request, "media", expert_id),
            ),
            "action": request.get_full_path(),
            # A draft of an earlier decision must not come back once it is stored or taken back.
            "draft_key": f"{expert.public_id}:{position}:{row.changes}:{row.choice}",
            "number": number,
            "progress": ProgressOnItems(places),
            "back_url": _address(request, "item", expert_id, earlier[-1]) if earlier else None,
            "list_url": _address(request, "start", expert_id),
            "has_answer": bool(row.choice),
        }
        return _shown(
            request, "annotation/adjudicated_item.html", context, REFUSED if form.errors else 200
        )


@require_safe
def media(request: HttpRequest, expert_id: str, sha256: str) -> HttpResponseBase:
    """Send a picture, sound or film of the expert's items."""
    expert = _expert(request, expert_id)
    rows, send = expert.decisions.select_related("item"), keeper().send
    if send is None or not any(sha256 in sums_of(row.item.shown_media) for row in rows):
        raise Http404("None of the expert's items shows this file.")
    response: HttpResponseBase = send(request, expert.study, sha256)
    return response


@require_POST
def undo(request: HttpRequest, expert_id: str, position: int) -> HttpResponse:
    """Take a decision back, and show its item again."""
    expert = _expert(request, expert_id)
    row = get_object_or_404(expert.decisions, position=position)
    try:
        decide(decision_id=row.pk, choice="", certainty=None)
    except StudyError:
        return redirect(_address(request, "start", expert_id))
    return redirect(_address(request, "item", expert_id, position))
