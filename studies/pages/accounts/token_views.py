"""A user's access tokens, for programs that read reports and exports."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from studies.errors import StudyError
from studies.models import AccessToken
from studies.pages.accounts.forms import TokenForm
from studies.services.accounts.access_tokens import create_token

_REFUSED = 422


@require_http_methods(["GET", "POST"])
@login_required
def tokens(request: HttpRequest) -> HttpResponse:
    """The user's tokens; a new one is shown this once."""
    user = cast(User, request.user)
    form = TokenForm(request.POST if request.method == "POST" else None)
    token = ""
    if form.is_valid():
        try:
            token = create_token(user=user, **form.cleaned_data)
            form = TokenForm()
        except StudyError as error:
            form.add_error(None, str(error))
    context = {"form": form, "token": token, "tokens": AccessToken.objects.filter(user=user)}
    status = _REFUSED if form.errors else 200
    return render(request, "registration/tokens.html", context, status=status)


@require_POST
@login_required
def delete_token(request: HttpRequest) -> HttpResponse:
    """Delete a token of the user; programs that have it are refused from then on."""
    found = AccessToken.objects.filter(
        user=cast(User, request.user), public_id=request.POST.get("token", "")
    )
    if found.delete()[0]:
        messages.success(request, "The token was deleted. Programs can no longer use it.")
    return redirect("tokens")
