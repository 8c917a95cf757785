"""Switching the second step of signing in on and off."""

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
from studies.pages.accounts.forms import SwitchOffForm, SwitchOnForm
from studies.services.accounts import second_steps

_REFUSED = 422


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@login_required
def second_step(request: HttpRequest) -> HttpResponse:
    """Show a secret for an app and store it with its first code; the recovery codes come once."""
    user = cast(User, request.user)
    if second_steps.is_on(user):
        return _page_when_on(request, SwitchOffForm(request=request, user=user))
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
    status = _REFUSED if form.errors else 200
    return render(request, "registration/second_step.html", context, status=status)


@sensitive_post_parameters()
@require_POST
@login_required
def switch_off(request: HttpRequest) -> HttpResponse:
    """Remove the second step, with a code from the app or a recovery code."""
    user = cast(User, request.user)
    form = SwitchOffForm(request.POST, request=request, user=user)
    if not form.is_valid():
        return _page_when_on(request, form)
    second_steps.switch_off(user=user, keep_session=request.session.session_key or "")
    messages.success(
        request,
        "Your password alone signs you in again. Other browsers were signed out, and access tokens "
        "were deleted.",
    )
    return redirect("second-step")


def _page_when_on(request: HttpRequest, form: SwitchOffForm) -> HttpResponse:
    status = _REFUSED if form.errors else 200
    return render(request, "registration/second_step_on.html", {"form": form}, status=status)


def _qr_code(text: str) -> SafeString:
    """A QR code as SVG for the page; a white edge lets cameras find it on a dark page."""
    import segno

    svg = segno.make(text, error="m").svg_inline(scale=4, light="white", border=4)
    return mark_safe(svg)  # noqa: S308 -- made of numbers only
