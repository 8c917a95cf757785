"""What is open in a user's name: access tokens of programs, and sessions of browsers."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from studies.errors import StudyError
from studies.models import AccessToken
from studies.pages.accounts.forms import EndForm, TokenForm
from studies.services.accounts.access_tokens import create_token
from studies.services.accounts.credentials import end_all, end_session, open_sessions

_REFUSED = 422
_END_ID = "end_%s"


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@login_required
def tokens(request: HttpRequest) -> HttpResponse:
    """The user's tokens and sessions; a new token is shown this once."""
    user = cast(User, request.user)
    sent = request.POST if request.method == "POST" else None
    form = TokenForm(sent, request=request, user=user)
    token = ""
    if form.is_valid():
        try:
            chosen = {name: form.cleaned_data[name] for name in ("name", "days", "scopes")}
            token = create_token(user=user, **chosen)
            form = TokenForm(request=request, user=user)
        except StudyError as error:
            form.add_error(None, str(error))
    return _page(request, form=form, token=token)


def _page(
    request: HttpRequest, *, form: TokenForm, token: str = "", end_form: EndForm | None = None
) -> HttpResponse:
    user = cast(User, request.user)
    context = {
        "form": form,
        "end_form": end_form or EndForm(request=request, user=user, auto_id=_END_ID),
        "token": token,
        "tokens": AccessToken.objects.filter(user=user),
        "sessions": open_sessions(user, this=request.session.session_key or ""),
    }
    status = _REFUSED if form.errors or (end_form and end_form.errors) else 200
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


@sensitive_post_parameters()
@require_POST
@login_required
def end_everything(request: HttpRequest) -> HttpResponse:
    """Sign out of one other browser; or of each of them, and delete all tokens."""
    user = cast(User, request.user)
    form = EndForm(request.POST, request=request, user=user, auto_id=_END_ID)
    if not form.is_valid():
        return _page(request, form=TokenForm(request=request, user=user), end_form=form)
    if one := request.POST.get("session", ""):
        end_session(user=user, public_id=one)
        messages.success(request, "That browser was signed out.")
    else:
        end_all(user=user, keep_session=request.session.session_key or "")
        messages.success(request, "Other browsers were signed out, and access tokens were deleted.")
    return redirect("tokens")
