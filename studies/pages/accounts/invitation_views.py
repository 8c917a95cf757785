"""The page behind an invitation: join with one's account, or with a new one."""

from typing import cast

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from studies.errors import StudyError
from studies.pages.accounts.forms import AccountForm
from studies.services.accounts import team

_GONE, _REFUSED = 410, 422


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest) -> HttpResponse:
    """Show the invitation with the secret of the query; a POST accepts it.

    The secret is in the query because the access log has paths only.
    """
    secret = request.GET.get("secret", "")
    found = team.invitation_of(secret)
    if found is None:
        return render(request, "studies/invitation_gone.html", status=_GONE)
    form = None
    if not request.user.is_authenticated:
        form = AccountForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and (form is None or form.is_valid()):
        try:
            with transaction.atomic():
                user = form.save() if form else cast(User, request.user)
                study = team.accept(secret=secret, user=user)
        except StudyError:
            return render(request, "studies/invitation_gone.html", status=_GONE)
        if form:
            login(request, user)
        messages.success(request, f"You are a member of “{study.title}” now.")
        return redirect("studies:detail", study.slug)
    context = {
        "invitation": found,
        "form": form,
        "next": urlencode({"next": request.get_full_path()}),
    }
    status = _REFUSED if form and form.errors else 200
    return render(request, "studies/invitation.html", context, status=status)
