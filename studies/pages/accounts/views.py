"""Signing in, joining by an invitation, and changing or resetting a password."""

import math
import sys
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.http import urlencode
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from studies.errors import StudyError
from studies.pages.accounts.forms import (
    AccountForm,
    ChangePasswordForm,
    FirstAccountForm,
    SignInForm,
)
from studies.pages.accounts.password_reset import ask_for_reset
from studies.pages.responses import REFUSED
from studies.pages.signed_in import client_address
from studies.pages.workbench import SIGN_IN_LINKS
from studies.services.accounts import first_account, team

_TOO_MANY = 429
_SHOWN_EVERY = 60  # seconds between two lines in the terminal with the code
_GONE = 410


class SignInView(auth.LoginView):
    """Sign in, or make the first account of a new site."""

    form_class = SignInForm

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if first_account.is_needed():
            return redirect("first-account")
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        links = [(link.address(), link.words) for link in SIGN_IN_LINKS]
        return super().get_context_data(links=[link for link in links if link[0]], **kwargs)

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        if form.wait:
            response.status_code = _TOO_MANY
            response.headers["Retry-After"] = str(math.ceil(form.wait.total_seconds()))
        return response


sign_in = SignInView.as_view()


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def make_first_account(request: HttpRequest) -> HttpResponse:
    """Make the administrator of a site without accounts, with the code from the terminal."""
    if not first_account.is_needed():
        return redirect("login")
    if request.method == "GET" and cache.add("first-account-shown", True, _SHOWN_EVERY):
        # Again, because the log of the server has moved it out of sight.
        code, until = first_account.new_code()
        sys.stderr.write(first_account.sentence(code, until))
    form = FirstAccountForm(request.POST or None, request=request)
    if form.is_valid():
        user = form.save(commit=False)
        try:
            first_account.create(user)
        except StudyError as error:
            messages.error(request, str(error))
            return redirect("login")
        login(request, user)
        messages.success(request, f"You are the administrator of this site, {user.username}.")
        return redirect("studies:list")
    status = REFUSED if form.errors else 200
    return render(request, "registration/first_account.html", {"form": form}, status=status)


class NewPassword(auth.PasswordResetConfirmView):
    """The page that an e-mailed link opens; it works once, and for a limited time."""

    template_name = "registration/new_password.html"
    success_url = reverse_lazy("login")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(
            self.request,
            "Your password was changed, and access tokens were deleted. Sign in with the new one.",
        )
        return super().form_valid(form)


new_password = NewPassword.as_view()


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@login_required
def change_password(request: HttpRequest) -> HttpResponse:
    """Set a new password after checking the current one; other browsers are signed out."""
    form = ChangePasswordForm(request.user, request.POST or None, request=request)
    if form.is_valid():
        update_session_auth_hash(request, form.save())
        messages.success(
            request,
            "Your password was changed. Other browsers were signed out, and access tokens were "
            "deleted.",
        )
        return redirect("studies:list")
    status = REFUSED if form.is_bound else 200
    return render(request, "registration/change_password.html", {"form": form}, status=status)


@require_http_methods(["GET", "POST"])
def reset_password(request: HttpRequest) -> HttpResponse:
    """Ask for a link by e-mail; the page says the same whether or not the account exists."""
    form = PasswordResetForm(request.POST or None)
    sent = bool(settings.EMAIL_HOST) and form.is_valid()
    if sent:
        ask_for_reset(email=form.cleaned_data["email"], address=client_address(request))
    context = {"form": form, "sent": sent, "by_email": bool(settings.EMAIL_HOST)}
    status = REFUSED if form.errors else 200
    return render(request, "registration/reset_password.html", context, status=status)


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest) -> HttpResponse:
    """Show the invitation with the secret of the query; a POST accepts it.

    The secret is in the query because the access log stores only paths.
    """
    secret = request.GET.get("secret", "")
    invited = team.invitation_of(secret)
    if invited is None:
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
        "invitation": invited,
        "form": form,
        "next": urlencode({"next": request.get_full_path()}),
    }
    status = REFUSED if form and form.errors else 200
    return render(request, "studies/invitation.html", context, status=status)
