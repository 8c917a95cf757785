"""Forms to sign in and to change a password, with limits on attempts; new accounts and tokens."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, UserCreationForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from studies.errors import StudyError, TooManyAttempts
from studies.pages.signed_in import client_address, has_just_signed_in
from studies.services.accounts import first_account, second_steps, sign_ins


class SignInForm(AuthenticationForm):
    """A name, a password, and a code if the account asks for one.

    Attempts are counted by account and by address; wrong codes are counted separately.
    """

    code = forms.CharField(
        label="Code from your app",
        required=False,
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code"}),
        help_text="Only if you have switched on the second step.",
    )
    wait: dt.timedelta | None = None

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if not name or not password or self.request is None:
            return super().clean() or self.cleaned_data
        try:
            attempt = sign_ins.begin(name=name, address=client_address(self.request))
        except TooManyAttempts as error:
            self.wait = error.wait
            raise ValidationError(sign_ins.sentence(error.wait), code="wait") from error
        try:
            cleaned = super().clean() or self.cleaned_data
        except ValidationError:
            sign_ins.fail(attempt)
            raise
        try:
            check_code(self.get_user(), self.request, self.cleaned_data.get("code", ""))
        except ValidationError as error:
            self.user_cache = None
            self.wait = getattr(error, "wait", None)
            sign_ins.forget(attempt)
            raise
        sign_ins.succeed(attempt)
        return cleaned


class ChangePasswordForm(PasswordChangeForm):
    """A password change counts as a sign-in, to prevent guessing in an unattended browser."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        self.request = request
        super().__init__(*args, **kwargs)

    def clean_old_password(self) -> str:
        with _counted(self.user.get_username(), self.request):
            return super().clean_old_password()


class WithPasswordForm(forms.Form):
    """An action that the password confirms, to protect unattended browsers."""

    password = forms.CharField(
        label="Your password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request, self.user = request, user

    def clean_password(self) -> str:
        with _counted(self.user.get_username(), self.request):
            if not self.user.check_password(self.cleaned_data["password"]):
                raise ValidationError("This is not your password.")
        return ""


class SwitchOnForm(WithPasswordForm):
    """The first code of an app."""

    code = forms.CharField(
        label="Code that the app shows",
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric"}),
    )


class SwitchOffForm(forms.Form):
    code = forms.CharField(
        label="Code from your app, or a recovery code",
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request, self.user = request, user

    def clean_code(self) -> str:
        check_code(self.user, self.request, self.cleaned_data["code"])
        return ""


def check_code(user: User, request: HttpRequest, code: str) -> None:
    """Raise `ValidationError` unless the code is right or the account needs none."""
    if second_steps.is_on(user):
        with _counted(user.get_username(), request, factor=sign_ins.CODE):
            if refusal := _refusal_of(user, code):
                raise ValidationError(refusal, code="code")


def _refusal_of(user: User, code: str) -> str:
    """Why a code is refused; empty if it is right."""
    try:
        if second_steps.accepts(user=user, code=code):
            return ""
    except StudyError as error:
        return str(error)
    if not code:
        return "This account also needs the code that your app shows now, or a recovery code."
    return (
        "This code is wrong or was used before. Type the one that your app shows now, or a "
        "recovery code. Each works once."
    )


@contextmanager
def _counted(name: str, request: HttpRequest, *, factor: str = "") -> Iterator[None]:
    """Count the block as an attempt to sign in, which a `ValidationError` fails."""
    try:
        attempt = sign_ins.begin(name=name, address=client_address(request), factor=factor)
    except TooManyAttempts as error:
        refusal = ValidationError(sign_ins.sentence(error.wait), code="wait")
        refusal.wait = error.wait  # type: ignore[attr-defined]
        raise refusal from error
    try:
        yield
    except ValidationError:
        sign_ins.fail(attempt)
        raise
    sign_ins.succeed(attempt)


class AccountForm(UserCreationForm):
    """An account for a person who was invited."""

    class Meta:
        model = User
        fields = ("username", "email")
        labels = {"username": "User name"}
        help_texts = {"username": "Letters, digits and @ . + - _ only.", "email": ""}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].required = True
        self.fields["email"].help_text = "To send you a link if you forget your password."
        self.fields["password1"].help_text = "At least 8 characters: several unrelated words."
        self.fields["password2"].help_text = ""


class FirstAccountForm(AccountForm):
    """The account of whoever reads the code in the terminal; guesses are counted as sign-ins."""

    field_order = ("code",)
    code = forms.CharField(
        label="Code from the terminal",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
        help_text="The program printed it below the address when it started.",
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request
        self.fields["email"].required = False
        self.fields["email"].label = "Email address (optional)"

    def clean_code(self) -> str:
        with _counted("", self.request, factor=sign_ins.CODE):
            if not first_account.is_right(self.cleaned_data["code"]):
                raise ValidationError(
                    "This code is wrong or has expired. Type the one in the terminal, or start the "
                    "program again: it prints a new one."
                )
        return ""


class EndForm(WithPasswordForm):
    """Ending sessions; no password is needed within a few minutes of signing in."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, request=request, **kwargs)
        if has_just_signed_in(request):
            del self.fields["password"]


class TokenForm(EndForm):
    """A new token, confirmed in the same way."""

    field_order = ("name", "days", "scopes", "password")
    name = forms.CharField(label="What is it for?", max_length=100)
    days = forms.TypedChoiceField(
        label="Valid for",
        choices=[(30, "30 days"), (90, "90 days"), (365, "one year")],
        coerce=int,
    )
    scopes = forms.MultipleChoiceField(
        label="What may it do?",
        choices=[
            ("read", "Read: everything that you can read, except files of exports"),
            ("write", "Change: create and change studies, import items, request reports"),
            ("spend", "Spend: start and resume judges, which can cost money; needs no “Change”"),
            ("export", "Export: download files of exports, and with “Change” request them"),
        ],
        initial=["read"],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )
