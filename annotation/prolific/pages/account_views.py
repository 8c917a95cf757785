"""Accounts of Prolific: which one a study uses, and the tokens that owners enter."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from annotation.models import ProlificAccount, Recruitment
from annotation.prolific.api import accounts
from annotation.prolific.api.credentials import ADD_PERMISSION, signing_secrets, why_unusable
from annotation.prolific.api.transport import ChooseWorkspace, NotAllowed, ProlificError
from annotation.prolific.pages.views import UNPROCESSABLE, attempt, editor_page, show, user_of
from studies.models import Study
from studies.pages.addressed import UnknownButton
from studies.pages.responses import whole_number
from studies.sealing import held, hold
from studies.selectors import studies_for

_HELD = b"thirdperson: tokens of Prolific that a form holds, version 1"
_INSTALLATION = "installation"


def _password(label: str, hint: str, *, required: bool) -> forms.CharField:
    return forms.CharField(
        required=required,
        max_length=500,
        label=label,
        help_text=hint,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class ProlificTokenForm(forms.Form):
    """A new token; once Prolific has named its workspaces, it asks for one of them."""

    token = _password(
        "Token",
        "From Prolific: Settings, “Go to API token page”. We test it, store it encrypted and never "
        "show it again.",
        required=True,
    )
    secret = _password(
        "Webhook secret of the workspace",
        "Optional. Leave empty if you do not know it: subscribing to webhooks creates it.",
        required=False,
    )
    workspace = forms.CharField(
        required=False,
        max_length=64,
        label="Workspace",
        help_text="The workspace whose balance pays. The token is used for this workspace only.",
        widget=forms.Select,
    )
    held = forms.CharField(required=False, max_length=4000, widget=forms.HiddenInput)

    @sensitive_variables()
    def __init__(self, data: Any, *, study: Study, user: User) -> None:
        super().__init__(data)
        self._owner = (study.pk, user.pk)
        kept = held(_HELD, self.data.get("held", ""), *self._owner)
        self._kept = kept.split("\n") if kept else []
        if self._kept:
            del self.fields["token"], self.fields["secret"]
        else:
            del self.fields["workspace"], self.fields["held"]

    @property
    def holds_token(self) -> bool:
        return bool(self._kept)

    @property
    def values(self) -> dict[str, str]:
        if self._kept:
            token, secret = self._kept
            return {"token": token, "secret": secret, "workspace": self.cleaned_data["workspace"]}
        return {name: self.cleaned_data[name].strip() for name in ("token", "secret")}

    @sensitive_variables()
    def asking_for(self, known: dict[str, str]) -> "ProlificTokenForm":
        """The form that asks for one of these workspaces and holds the token, encrypted."""
        values = self.values
        kept = hold(_HELD, f"{values['token']}\n{values['secret']}", *self._owner)
        study_id, user_id = self._owner
        form = ProlificTokenForm({"held": kept}, study=Study(pk=study_id), user=User(pk=user_id))
        form.fields["workspace"].widget = forms.Select(choices=[*known.items()])
        return form


@sensitive_variables()
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@editor_page
def accounts_page(request: HttpRequest, study: Study) -> HttpResponse:
    """The accounts that the study may use; owners enter tokens, who entered one removes it."""
    user = user_of(request)
    action = request.POST.get("action", "")
    if request.method == "POST" and action != "enter":
        if action not in _ACTIONS:
            raise UnknownButton("action")
        change, done = _ACTIONS[action]
        attempt(request, lambda: change(request, study, user), done)
        return redirect("people:prolific-accounts", study.slug)
    form = ProlificTokenForm(request.POST or None, study=study, user=user)
    if form.is_bound and form.is_valid():
        entered = _enter(request, study, user, form)
        if entered is None:
            return redirect("people:prolific-accounts", study.slug)
        form = entered
    status = UNPROCESSABLE if form.is_bound and form.errors else 200
    return show(request, study, "accounts", _context(study, user, form), status=status)


@sensitive_variables()
def _enter(
    request: HttpRequest, study: Study, user: User, form: ProlificTokenForm
) -> ProlificTokenForm | None:
    """Store the token and use it for the study; returns the form to show if that is not done."""
    try:
        account = accounts.enter(study_id=study.pk, user=user, **form.values)
    except ChooseWorkspace as error:
        if error.known:
            return form.asking_for(error.known)
        form.add_error(None, "The token has access to no workspace. Create one on Prolific first.")
        return form
    except ProlificError as error:
        if form.holds_token:
            messages.error(request, f"{error} Enter the token again.")
            return None
        form.add_error(None, str(error))
        return form
    waiting = account.recruitments.exclude(study=study).count()
    others = f" {waiting} other stud{'y uses' if waiting == 1 else 'ies use'} it." * bool(waiting)
    messages.success(request, f"Token of workspace “{account}” tested and stored.{others}")
    attempt(
        request,
        lambda: accounts.choose(study_id=study.pk, account_id=account.pk, user=user),
        lambda name: f"This study uses {name}.",
    )
    return None


def _account_id(request: HttpRequest) -> int:
    return whole_number(request.POST.get("account", ""), most=2**31) or 0


def _use(request: HttpRequest, study: Study, user: User) -> str:
    is_own = request.POST.get("account") == _INSTALLATION
    wanted = None if is_own else _account_id(request)
    return accounts.choose(study_id=study.pk, account_id=wanted, user=user)


def _test(request: HttpRequest, study: Study, user: User) -> ProlificAccount:
    return accounts.try_again(study=study, account_id=_account_id(request))


def _remove(request: HttpRequest, study: Study, user: User) -> int:
    return accounts.remove(account_id=_account_id(request), study=study, user=user)


@sensitive_variables()
def _secret(request: HttpRequest, study: Study, user: User) -> None:
    secret = request.POST.get("secret", "").strip()
    account = ProlificAccount.objects.filter(pk=_account_id(request)).first()
    if account is None or not accounts.may_change(user, account):
        raise NotAllowed("Only the user who entered the token stores the webhook secret.")
    if not secret or not secret.isprintable() or len(secret) > 500:
        raise NotAllowed("Copy the webhook secret from Prolific, then store it.")
    accounts.store_secret(account_id=account.pk, secret=secret)


_ACTIONS: dict[str, tuple[Callable[[HttpRequest, Study, User], Any], Callable[[Any], str]]] = {
    "use": (_use, lambda name: f"This study uses {name}."),
    "test": (_test, lambda account: f"Prolific accepts the token of workspace “{account}”."),
    "secret": (_secret, lambda _: "Webhook secret stored."),
    "remove": (
        _remove,
        lambda n: (
            f"Token removed. {n} stud{'y waits' if n == 1 else 'ies wait'} for another token of "
            "the workspace."
            if n
            else "Token removed."
        ),
    ),
}


def _context(study: Study, user: User, form: ProlificTokenForm) -> dict[str, Any]:
    recruitment = Recruitment.objects.filter(study=study).first()
    used = recruitment.prolific_account_id if recruitment else None
    visible = studies_for(user)
    with_secret = {workspace for workspace, _ in signing_secrets()}
    rows = []
    for account in accounts.accounts_for(study):
        own = visible.filter(recruitment__prolific_account=account).order_by("title").distinct()
        rows.append(
            {
                "account": account,
                "is_used": account.pk == used,
                "problem": why_unusable(account, study),
                "has_secret": account.workspace_id in with_secret,
                "may_change": accounts.may_change(user, account),
                "studies": list(own),
                "others": account.recruitments.exclude(study__in=own).count(),
            }
        )
    return {
        "form": form,
        "rows": rows,
        "uses_installation": used is None,
        "installation": bool(settings.PROLIFIC_API_TOKEN),
        "is_administrator": user.has_perm(ADD_PERMISSION),
        "may_enter": accounts.may_enter(user, study),
        "is_fixed": study.prolific_studies.exists(),
        "stored_tokens": settings.PROLIFIC_STORED_TOKENS,
    }
