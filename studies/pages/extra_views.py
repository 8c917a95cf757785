"""The page *Designs and analyses*, and what stands in place of a page whose extra is off."""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from studies.errors import StudyError
from studies.extra import Extra, extra_of_module
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.selectors import get_study
from studies.services.extras import ExtraInStudy, extras_in, set_extras

_GROUPS = {
    "people": "What people are asked",
    "judges": "What judges are asked",
    "analyses": "What the report says",
    "recruiting": "Recruiting",
    "files": "Files",
}


@login_required
@require_http_methods(["GET", "POST"])
def extras(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a card for each extra; a press turns one on or off."""
    if request.method == "POST":
        study = get_study(request.user, slug, role=Membership.Role.EDITOR)
        name, is_wanted = request.POST.get("extra", ""), "on" in request.POST
        known = {row.extra.name: row.extra for row in extras_in(study)}
        if name not in known:
            raise Http404("There is no such extra.")
        names = {*study.extras, name} if is_wanted else {*study.extras} - {name}
        try:
            set_extras(study, names, user=request.user)  # type: ignore[arg-type]
        except StudyError as error:
            messages.error(request, str(error))
        else:
            state = "on" if is_wanted else "off. What it stored is kept"
            messages.success(request, f"“{known[name].title}” is {state}.")
            back = request.POST.get("back", "")
            if is_wanted and back.startswith(f"/studies/{slug}/"):
                return redirect(back)  # the page that said that it is off
        return redirect("studies:extras", slug)
    study = get_study(request.user, slug)
    context = {
        "study": study,
        "groups": _grouped(extras_in(study)),
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
    }
    return render(request, "studies/extras.html", context)


def _grouped(rows: Iterable[ExtraInStudy]) -> list[tuple[str, list[ExtraInStudy]]]:
    order = list(_GROUPS)
    in_order = sorted(rows, key=lambda row: order.index(row.extra.group))
    return [
        (_GROUPS[group], list(cards))
        for group, cards in groupby(in_order, key=lambda row: row.extra.group)
    ]


class PagesOfExtras:
    """In place of a page whose extra is off in the study: what it is, and a button.

    Only researchers meet it; participants' pages ask each extra whether it has something to show.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view: Callable[..., HttpResponseBase],
        arguments: tuple[Any, ...],
        named: dict[str, Any],
    ) -> HttpResponse | None:
        if "form" in named:  # of a page, which decides
            page, _ = named["form"]
            view, named = page.func, page.kwargs
        if not request.path.startswith("/studies/") or "slug" not in named:
            return None
        extra = extra_of_module(view.__module__)
        if extra is None or not extra.is_for_studies or not request.user.is_authenticated:
            return None
        study = get_study(request.user, named["slug"])
        return None if study.has_extra(extra.name) else _is_off(request, study, extra)


def _is_off(request: HttpRequest, study: Study, extra: Extra) -> HttpResponse:
    may_edit = role_of(request.user, study) != Membership.Role.VIEWER
    context = {"study": study, "extra": extra, "may_edit": may_edit}
    status = 200 if request.method in ("GET", "HEAD") else 409
    return render(request, "studies/extra_off.html", context, status=status)
