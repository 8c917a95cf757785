"""What lets somebody act as a user: access tokens, sessions of browsers, and the second step."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from studies.errors import StudyError
from studies.models import AccessToken
from studies.pages.accounts.forms import EndForm, SwitchOffForm, SwitchOnForm, TokenForm
from studies.pages.responses import REFUSED
from studies.services.accounts import second_steps
from studies.services.accounts.credentials import create_token, end_all, end_session, open_sessions

_END_ID = "end_%s"


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@login_required
def tokens(request: HttpRequest) -> HttpResponse:
    """The user's tokens and sessions; a new token is shown only once."""
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
    status = REFUSED if form.errors or (end_form and end_form.errors) else 200
    return render(request, "registration/tokens.html", context, status=status)


@require_POST
@login_required
def delete_token(request: HttpRequest) -> HttpResponse:
    """Delete a token of the user; programs that use it are refused from then on."""
    tokens_named = AccessToken.objects.filter(
        user=cast(User, request.user), public_id=request.POST.get("token", "")
    )
    if tokens_named.delete()[0]:
        messages.success(request, "The token was deleted. Programs can no longer use it.")
    return redirect("tokens")


@sensitive_post_parameters()
@require_POST
@login_required
def end_everything(request: HttpRequest) -> HttpResponse:
    """Sign out of one other browser, or of all of them and delete all tokens."""
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


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@login_required
def second_step(request: HttpRequest) -> HttpResponse:
    """Show a secret for an app and store it with its first code; recovery codes are shown once."""
    user = cast(User, request.user)
    if second_steps.is_on(user):
        return _second_step_page(request, SwitchOffForm(request=request, user=user))
    sent = second_steps.read_signed(user=user, text=request.POST.get("secret", ""))
    secret = sent or second_steps.new_secret()
    form = SwitchOnForm(request.POST or None, request=request, user=user)
    if form.is_valid():
        try:
            codes = second_steps.switch_on(
                user=user,
                secret=secret,
                code=form.cleaned_data["code"],
                keep_session=request.session.session_key or "",
            )
            on = "registration/second_step_on.html"
            return render(request, on, {"recovery_codes": codes})
        except StudyError as error:
            form.add_error("code", str(error))
    context = {
        "form": form,
        "secret": secret,
        "signed": second_steps.signed(user=user, secret=secret),
        "picture": _qr_code(second_steps.address_for_app(user=user, secret=secret)),
    }
    status = REFUSED if form.errors else 200
    return render(request, "registration/second_step.html", context, status=status)


@sensitive_post_parameters()
@require_POST
@login_required
def switch_off(request: HttpRequest) -> HttpResponse:
    """Remove the second step, with a code from the app or a recovery code."""
    user = cast(User, request.user)
    form = SwitchOffForm(request.POST, request=request, user=user)
    if not form.is_valid():
        return _second_step_page(request, form)
    second_steps.switch_off(user=user, keep_session=request.session.session_key or "")
    messages.success(
        request,
        "You can sign in with your password alone again. Other browsers were signed out, and "
        "access tokens were deleted.",
    )
    return redirect("second-step")


def _second_step_page(request: HttpRequest, form: SwitchOffForm) -> HttpResponse:
    status = REFUSED if form.errors else 200
    return render(request, "registration/second_step_on.html", {"form": form}, status=status)


def _qr_code(text: str) -> SafeString:
    import segno

    svg = segno.make(text, error="m").svg_inline(scale=4, light="white", border=4)
    return mark_safe(svg)  # noqa: S308 -- contains only numbers
