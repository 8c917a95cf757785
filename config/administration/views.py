"""The administrators' pages: only superusers see them, others get a 404."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from config.administration import selectors, server
from config.health import free_bytes
from studies.models import Backup, Retention
from studies.services.accounts.credentials import end_all
from studies.version import version

_PER_PAGE = 50


def for_superusers(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @login_required
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_superuser:
            raise Http404
        return view(request, *args, **kwargs)

    return checked


@require_GET
@for_superusers
def studies(request: HttpRequest) -> HttpResponse:
    """Every study, with the agreement in its latest report."""
    page = _page(request, selectors.all_studies())
    shown = list(page)
    agreement, owners = selectors.agreement_of(shown), selectors.owners_of(shown)
    rows = [(study, owners.get(study.pk, ""), agreement.get(study.pk)) for study in shown]
    return render(request, "administration/studies.html", {"page": page, "rows": rows})


@require_GET
@for_superusers
def reports(request: HttpRequest) -> HttpResponse:
    """List all reports of all studies, to open and to download."""
    page = _page(request, selectors.all_reports())
    return render(request, "administration/reports.html", {"page": page})


@require_GET
@for_superusers
def users(request: HttpRequest) -> HttpResponse:
    """List all users with their studies and last sign-in."""
    page = _page(request, selectors.all_users())
    return render(request, "administration/users.html", {"page": page})


@require_POST
@for_superusers
def set_active(request: HttpRequest) -> HttpResponse:
    """Close an account or reopen it. Nobody can close their own."""
    number = request.POST.get("user", "")
    user = get_object_or_404(User, pk=int(number) if number.isdecimal() else 0)
    if user == cast(User, request.user):
        messages.error(request, "You cannot close your own account.")
    else:
        user.is_active = request.POST.get("active") == "1"
        user.save(update_fields=["is_active"])
        if not user.is_active:
            end_all(user=user)
        done = "can sign in again" if user.is_active else "can no longer sign in"
        messages.success(request, f"{user.get_username()} {done}.")
    return redirect("administration:users")


@require_POST
@for_superusers
def end_everything(request: HttpRequest) -> HttpResponse:
    """Sign a user out of every browser and delete the access tokens."""
    number = request.POST.get("user", "")
    user = get_object_or_404(User, pk=int(number) if number.isdecimal() else 0)
    keep = (request.session.session_key or "") if user == request.user else ""
    end_all(user=user, keep_session=keep)
    messages.success(
        request, f"{user.get_username()} was signed out everywhere, and access tokens were deleted."
    )
    return redirect("administration:users")


@require_GET
@for_superusers
def installation(request: HttpRequest) -> HttpResponse:
    """Health of the server's parts, and what is on its disk."""
    context = {
        "parts": server.parts(),
        "version": version(),
        "storage": server.storage(),
        "files": server.files_location(),
        "free": free_bytes(),
        "backup": Backup.objects.order_by("-taken_at").first(),
        "due": Retention.objects.exclude(obstacle="").select_related("study"),
    }
    return render(request, "administration/server.html", context)


def _page(request: HttpRequest, rows: QuerySet[Any]) -> Page:
    return Paginator(rows, _PER_PAGE).get_page(request.GET.get("page"))
