"""The administrators' pages of accounts: create, change, close, and give back to their owners."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import Permission, User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from extras.administration import closing, selectors
from extras.administration.views import for_superusers, page_of
from studies.errors import StudyError
from studies.pages.accounts.forms import AccountForm, EndForm
from studies.pages.responses import REFUSED, whole_number
from studies.services.accounts import second_steps
from studies.services.accounts.credentials import end_all

_MAY_CREATE = "May create studies"
_MAY_CREATE_HELP = "Without it, somebody works only on studies that others share with them."


def _add_study() -> Permission:
    return Permission.objects.get(content_type__app_label="studies", codename="add_study")


class NewAccountForm(AccountForm):
    """An account for somebody else. Only the form of an existing account makes administrators."""

    may_create = forms.BooleanField(
        label=_MAY_CREATE, help_text=_MAY_CREATE_HELP, required=False, initial=True
    )

    def save(self, commit: bool = True) -> User:
        with transaction.atomic():
            user: User = super().save(commit)
            if self.cleaned_data["may_create"]:
                user.user_permissions.add(_add_study())
        return user


class RightsForm(EndForm):
    """The address and rights of an account, confirmed like a new token."""

    field_order = ("email", "may_create", "is_administrator", "password")
    email = forms.EmailField(
        label="E-mail", required=False, help_text="For links to reset a forgotten password."
    )
    may_create = forms.BooleanField(label=_MAY_CREATE, help_text=_MAY_CREATE_HELP, required=False)
    is_administrator = forms.BooleanField(
        label="Administrator",
        help_text="Sees and changes every study, every account and this server.",
        required=False,
    )

    def __init__(self, *args: Any, account: User, **kwargs: Any) -> None:
        self.account = account
        self.add_study = _add_study()
        kwargs["initial"] = {
            "email": account.email,
            "may_create": self.add_study in account.user_permissions.all(),
            "is_administrator": account.is_superuser,
        }
        super().__init__(*args, **kwargs)

    def clean_is_administrator(self) -> bool:
        wanted: bool = self.cleaned_data["is_administrator"]
        if self.account == self.user and not wanted:
            raise forms.ValidationError(
                "You cannot stop being an administrator yourself. Ask another administrator."
            )
        return wanted

    def clean(self) -> dict[str, Any] | None:
        # A box that is not ticked is not sent: only a whole form says that a right is taken away.
        if "email" not in self.data:
            raise forms.ValidationError(
                "Send the whole form, also its e-mail. Nothing was changed."
            )
        return super().clean()

    @transaction.atomic
    def save(self) -> None:
        account = User.objects.select_for_update(no_key=True).get(pk=self.account.pk)
        account.email = self.cleaned_data["email"]
        account.is_superuser = account.is_staff = self.cleaned_data["is_administrator"]
        account.save(update_fields=["email", "is_superuser", "is_staff"])
        if self.cleaned_data["may_create"]:
            account.user_permissions.add(self.add_study)
        else:
            account.user_permissions.remove(self.add_study)


@require_GET
@for_superusers
def users(request: HttpRequest) -> HttpResponse:
    """List all users with their studies and last sign-in."""
    page = page_of(request, selectors.all_users())
    return render(request, "administration/users.html", {"page": page})


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@for_superusers
def new_user(request: HttpRequest) -> HttpResponse:
    """Create an account for somebody."""
    form = NewAccountForm(request.POST or None)
    if form.is_valid():
        user = form.save()
        messages.success(request, f"{user.get_username()} can sign in now.")
        return redirect("administration:users")
    status = REFUSED if form.errors else 200
    return render(request, "administration/new_user.html", {"form": form}, status=status)


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@for_superusers
def change_user(request: HttpRequest, user_id: int) -> HttpResponse:
    """Change the e-mail and rights of an account, or set a password for somebody who lost it."""
    account, me = get_object_or_404(User, pk=user_id), cast(User, request.user)
    sets_password = request.POST.get("change") == "password"
    sent = request.POST or None
    rights = RightsForm(None if sets_password else sent, request=request, user=me, account=account)
    password = SetPasswordForm(account, sent if sets_password else None)
    if rights.is_valid():
        rights.save()
        messages.success(request, f"The account of {account.get_username()} was changed.")
        return redirect("administration:users")
    if sets_password and password.is_valid():
        password.save()
        end_all(user=account, keep_session=_kept_session(request, account))
        messages.success(
            request,
            f"{account.get_username()} has the new password and was signed out everywhere. Tell "
            "them to change it.",
        )
        return redirect("administration:users")
    context = {
        "account": account,
        "form": password if sets_password else rights,
        "rights": rights,
        "password_form": password,
        "has_second_step": second_steps.is_on(account),
    }
    status = REFUSED if rights.errors or password.errors else 200
    return render(request, "administration/user.html", context, status=status)


@require_POST
@for_superusers
def set_active(request: HttpRequest) -> HttpResponse:
    """Close an account or reopen it. Nobody can close their own."""
    user, active = _posted_user(request), request.POST.get("active")
    if active not in ("0", "1"):
        words = "Send active=1 to open the account, or active=0 to close it. Nothing was changed."
        return HttpResponse(words, status=400, content_type="text/plain")
    if user == cast(User, request.user):
        messages.error(request, "You cannot close your own account.")
    else:
        user.is_active = active == "1"
        user.save(update_fields=["is_active"])
        if not user.is_active:
            end_all(user=user)
        done = "can sign in again" if user.is_active else "can no longer sign in"
        messages.success(request, f"{user.get_username()} {done}.")
        if not user.is_active and (left := closing.left_behind(user)):
            messages.warning(
                request,
                f"{user.get_username()} leaves studies behind. On the team page of each, hand over "
                f"the study. {' '.join(left)}",
            )
    return redirect("administration:users")


@require_http_methods(["GET", "POST"])
@for_superusers
def close(request: HttpRequest, user_id: int) -> HttpResponse:
    """Close an account after everything of the lab's that works through it went to others."""
    user, me = get_object_or_404(User, pk=user_id), cast(User, request.user)
    if user == me:
        messages.error(request, "You cannot close your own account.")
        return redirect("administration:users")
    if request.method == "POST":
        named = {
            name.removeprefix("heir-"): value
            for name, value in request.POST.dict().items()
            if name.startswith("heir-") and value
        }
        heirs = {whole_number(k) or 0: whole_number(v) or 0 for k, v in named.items()}
        try:
            closing.close_account(user=user, by=me, heirs=heirs, keep=request.POST.getlist("keep"))
        except StudyError as error:
            messages.error(request, str(error))
            return redirect("administration:close", user.pk)
        end_all(user=user)
        messages.success(request, f"{user.get_username()} can no longer sign in.")
        if left := closing.left_behind(user):
            messages.warning(request, f"These studies were not handed over: {' '.join(left)}")
        return redirect("administration:users")
    context = {"account": user, "studies": closing.studies_of(user, heir=me)}
    return render(request, "administration/close.html", context)


@require_POST
@for_superusers
def end_everything(request: HttpRequest) -> HttpResponse:
    """Sign a user out of every browser and delete the access tokens."""
    user = _posted_user(request)
    end_all(user=user, keep_session=_kept_session(request, user))
    messages.success(
        request, f"{user.get_username()} was signed out everywhere, and access tokens were deleted."
    )
    return redirect("administration:users")


@require_POST
@for_superusers
def remove_second_step(request: HttpRequest) -> HttpResponse:
    """Let somebody whose phone is lost sign in with the password alone."""
    user = _posted_user(request)
    if second_steps.switch_off(user=user, keep_session=_kept_session(request, user)):
        messages.success(
            request,
            f"{user.get_username()} signs in with the password alone now, and was signed out "
            "everywhere.",
        )
    return redirect("administration:user", user.pk)


def _posted_user(request: HttpRequest) -> User:
    return get_object_or_404(User, pk=whole_number(request.POST.get("user", "")) or 0)


def _kept_session(request: HttpRequest, user: User) -> str:
    return (request.session.session_key or "") if user == request.user else ""
