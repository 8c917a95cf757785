"""Accounts of Prolific that are entered on pages: enter, test, choose for a study, remove."""

from functools import partial

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from annotation.models import ProlificAccount, Recruitment
from annotation.prolific.api.claims import claimed
from annotation.prolific.api.client import ProlificClient, client_with, connect
from annotation.prolific.api.credentials import (
    ADD_PERMISSION,
    Credentials,
    credentials_in,
    seal,
    serves,
    why_unusable,
)
from annotation.prolific.api.transport import (
    ChooseWorkspace,
    NotAllowed,
    ProlificError,
    Unauthorized,
)
from studies.models import Membership, Study
from studies.selectors import studies_for
from studies.services.accounts.team import GivenRight
from studies.services.studies import record
from studies.statements import clock

_OTHER_WORKSPACE = (
    "This study is on Prolific in workspace “{title}” and stays there. Use an account that has "
    "access to this workspace."
)


def may_enter(user: User | AnonymousUser, study: Study) -> bool:
    """Whether the user may enter tokens, which their studies then spend."""
    if not settings.PROLIFIC_STORED_TOKENS:
        return False
    owned = studies_for(user, role=Membership.Role.OWNER)
    return user.has_perm(ADD_PERMISSION) or owned.filter(pk=study.pk).exists()


def may_change(user: User | AnonymousUser, account: ProlificAccount) -> bool:
    """Whether the user may remove a token: who entered it, and administrators."""
    return user.pk == account.given_by_id or user.has_perm(ADD_PERMISSION)


def accounts_for(study: Study) -> list[ProlificAccount]:
    """The entered accounts that a study may use, and the one that it names."""
    known = ProlificAccount.objects.select_related("given_by")
    return [
        account
        for account in known
        if serves(account, study) or account.recruitments.filter(study=study).exists()
    ]


@sensitive_variables()
def enter(
    *, study_id: int, user: User, token: str, secret: str = "", workspace: str = ""
) -> ProlificAccount:
    """Test a token and store it for a workspace; it replaces the user's earlier one for it.

    Without a `secret` the stored one stays: it belongs to the workspace. Raises `ChooseWorkspace`
    if the token has access to several workspaces, and any `ProlificError`.
    """
    study = Study.objects.get(pk=study_id)
    if not may_enter(user, study):
        raise NotAllowed("Only owners of this study and administrators enter tokens.")
    client = client_with(Credentials(token, "the token that you entered"))
    client.me()
    known = client.workspaces()
    if not workspace and len(known) == 1:
        workspace = next(iter(known))
    if workspace not in known:
        raise ChooseWorkspace("The token has access to several workspaces or to none.", known)
    fields = {
        "workspace_title": known[workspace][:200],
        "sealed_token": seal(token),
        "tested_at": clock.now(),
        "refused_at": None,
    }
    if secret:
        fields["sealed_secret"] = seal(secret)
    account, _ = ProlificAccount.objects.update_or_create(
        workspace_id=workspace, given_by=user, defaults=fields
    )
    record(study, "Prolific token entered", user=user, workspace=str(account))
    _read_soon(account)
    return account


def _read_soon(account: ProlificAccount) -> None:
    """Let the next run read the studies of an account whose token works."""
    account.recruitments.update(read_next_at=None, quiet_reads=0)


def choose(*, study_id: int, account_id: int | None, user: User | None = None) -> str:
    """Let a study use an account, None for that of the installation; return its name.

    Once the study is on Prolific, only an account with access to its workspace is accepted. The
    launch plan's workspace and project are forgotten if they may belong to another workspace.
    Raises `NotAllowed`, `ProlificError`.
    """
    with claimed(study_id) as recruitment:
        study: Study = recruitment.study
        account = _usable(study, account_id)
        if recruitment.prolific_account_id == account_id:
            return _name(account)
        if study.prolific_studies.exists():
            before = recruitment.workspace
            if before.get("id") not in client_with(credentials_in(account, study)).workspaces():
                raise NotAllowed(_OTHER_WORKSPACE.format(title=before.get("title", "")))
        else:
            kept = recruitment.plan.items()
            recruitment.plan = {n: v for n, v in kept if n not in ("workspace", "project")}
        recruitment.prolific_account, recruitment.account = account, {}
        recruitment.last_error = ""
        with transaction.atomic():
            # Locked, so that it is not removed meanwhile.
            rows = ProlificAccount.objects.select_for_update(no_key=True)
            if account is not None and not rows.filter(pk=account.pk).exists():
                raise NotAllowed("This account was removed. Choose another one.")
            recruitment.save(update_fields=["prolific_account", "account", "plan", "last_error"])
            record(study, "Prolific account chosen", user=user, workspace=_name(account))
    return _name(account)


def _usable(study: Study, account_id: int | None) -> ProlificAccount | None:
    """The account, if the study may use it. Raises `NotAllowed`."""
    if account_id is None:
        if not settings.PROLIFIC_API_TOKEN:
            raise NotAllowed("This installation has no token: PROLIFIC_API_TOKEN is not set.")
        return None
    accounts = [account for account in accounts_for(study) if account.pk == account_id]
    if not accounts:
        raise NotAllowed("This study may not use this account. Choose another one.")
    if problem := why_unusable(accounts[0], study):
        raise NotAllowed(problem)
    return accounts[0]


def _name(account: ProlificAccount | None) -> str:
    return f"workspace “{account}”" if account else "the account of the installation"


@sensitive_variables()
def store_secret(*, account_id: int, secret: str) -> None:
    """Store the secret of a workspace's webhooks, encrypted."""
    ProlificAccount.objects.filter(pk=account_id).update(sealed_secret=seal(secret))


def try_again(*, study: Study, account_id: int) -> ProlificAccount:
    """Test an account; studies that waited are read again within a minute if it works.

    Raises `NotAllowed`, `ProlificError`.
    """
    account = _usable(study, account_id)
    assert account is not None  # noqa: S101  an id was given
    client = client_with(credentials_in(account, study))
    try:
        client.me()
    except Unauthorized:
        ProlificAccount.objects.filter(pk=account.pk).update(refused_at=clock.now())
        raise
    if account.workspace_id not in client.workspaces():
        raise NotAllowed(f"This token has no access to workspace “{account}” any more.")
    ProlificAccount.objects.filter(pk=account.pk).update(tested_at=clock.now(), refused_at=None)
    _read_soon(account)
    return account


def remove(*, account_id: int, study: Study, user: User) -> int:
    """Delete a token and its secret; return how many studies wait for another token.

    Studies keep the name of their workspace: none of them changes to another wallet.
    """
    with transaction.atomic():
        rows = ProlificAccount.objects.select_for_update(no_key=True)
        account = rows.filter(pk=account_id).first()
        if account is None or not may_change(user, account):
            raise NotAllowed("Only the user who entered a token and administrators remove it.")
        waiting = [one.study for one in account.recruitments.select_related("study")]
        if waiting:
            account.sealed_token = account.sealed_secret = ""
            account.tested_at = account.refused_at = None
            account.save()
        else:
            account.delete()
        for affected in {study, *waiting}:
            record(affected, "Prolific token removed", user=user, workspace=str(account))
    return len(waiting)


def note_refusal(study_id: int) -> None:
    """Let an account's studies wait if Prolific refuses its token for everything.

    A token that has lost access to one study is refused for that alone.
    """
    accounts = ProlificAccount.objects.filter(recruitments__study=study_id)
    if not accounts.exists():
        return
    try:
        connect(study_id).me()
    except Unauthorized:
        accounts.update(refused_at=clock.now())
    except ProlificError:
        return


def note_accepted(client: ProlificClient) -> None:
    if client.account_id is not None:
        waiting = ProlificAccount.objects.filter(pk=client.account_id, refused_at__isnull=False)
        waiting.update(refused_at=None)


def tokens_of_a_member(study: Study, user_id: int) -> list[GivenRight]:
    """The token that a user entered and the study recruits with.

    The new holder gets a copy for their studies; the user's own one stays.
    """
    used = ProlificAccount.objects.filter(given_by=user_id, recruitments__study=study)

    def copy(account: ProlificAccount, heir: User) -> None:
        own, _ = ProlificAccount.objects.get_or_create(
            workspace_id=account.workspace_id,
            given_by=heir,
            defaults={
                "workspace_title": account.workspace_title,
                "sealed_token": account.sealed_token,
                "sealed_secret": account.sealed_secret,
                "tested_at": account.tested_at,
            },
        )
        Recruitment.objects.filter(study=study, prolific_account=account).update(
            prolific_account=own
        )

    return [
        GivenRight(
            key=f"prolific {account.pk}",
            label=f"token of the Prolific workspace “{account}” (its workspace pays)",
            end=lambda by: None,
            hand_to=partial(copy, account),
        )
        for account in used
    ]
