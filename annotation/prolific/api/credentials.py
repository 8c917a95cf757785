"""The token that speaks for a study on Prolific: its workspace's own, or the installation's.

Tokens and webhook secrets that are entered on pages are encrypted like the keys of judges, by
`studies.sealing`: a new SECRET_KEY makes them unreadable, so they must be entered again. A token
serves the studies of which the user who entered it is an owner or editor now; that of an
administrator serves all studies, like the one in the settings.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.conf import settings
from django.db.models import Q, QuerySet
from django.views.decorators.debug import sensitive_variables

from annotation.models import ProlificAccount, Recruitment
from annotation.prolific.api.transport import NotConfigured
from studies.models import Membership, Study
from studies.sealing import cipher

ADD_PERMISSION = "annotation.add_prolificaccount"  # of administrators
_PURPOSE = b"thirdperson: tokens and webhook secrets of Prolific, version 1"
_PAGE = "“Prolific accounts”"


@dataclass(frozen=True)
class Credentials:
    """A token, where it was set, and the only workspace that it is used for, if there is one."""

    token: str = field(repr=False)
    source: str = "PROLIFIC_API_TOKEN"
    workspace: str = ""
    account_id: int | None = None


@sensitive_variables()
def seal(value: str) -> str:
    """Encrypt a token or a secret for the database."""
    return cipher(_PURPOSE).encrypt(value.encode()).decode()


@sensitive_variables()
def unseal(sealed: str) -> str | None:
    """The token or the secret; None if SECRET_KEY has changed since it was entered."""
    from cryptography.fernet import InvalidToken

    try:
        return cipher(_PURPOSE).decrypt(sealed.encode()).decode()
    except InvalidToken:
        return None


def serves(account: ProlificAccount, study: Study) -> bool:
    """Whether a study may use an entered token."""
    giver = account.given_by
    if giver is None or not giver.is_active:
        return False
    roles = (Membership.Role.OWNER, Membership.Role.EDITOR)
    is_member = Membership.objects.filter(study=study, user=giver, role__in=roles).exists()
    return is_member or giver.has_perm(ADD_PERMISSION)


def why_unusable(account: ProlificAccount, study: Study) -> str:
    """Why a study cannot use an entered token, and what to do; empty if it can."""
    named = f"workspace “{account}”"
    again = f"Enter a token of this workspace under {_PAGE}."
    if not settings.PROLIFIC_STORED_TOKENS:
        return (
            f"This study uses the token of {named}, and this server no longer allows stored "
            "tokens. Ask the administrator to set PROLIFIC_STORED_TOKENS=1."
        )
    if not account.sealed_token:
        return f"The token of {named} was removed. {again}"
    if not serves(account, study):
        return (
            f"The token of {named} serves the studies of which the user who entered it is an "
            f"owner or editor, and this is not one of them. {again}"
        )
    if unseal(account.sealed_token) is None:
        return (
            f"The token of {named} cannot be read, because the SECRET_KEY of this server has "
            f"changed. {again}"
        )
    return ""


def trouble_of(recruitment: Recruitment) -> str:
    """What keeps the study's own account from working, and what to do; empty if nothing is known.

    The account of the installation has no row: its failures are those of its studies.
    """
    account = recruitment.prolific_account
    if account is None:
        return ""
    if problem := why_unusable(account, recruitment.study):
        return problem
    if account.refused_at is None:
        return ""
    return (
        f"Prolific refuses the token of workspace “{account}”. Its studies are not read until "
        f"the token is accepted again. Test or replace it under {_PAGE}."
    )


@sensitive_variables()
def credentials_in(account: ProlificAccount | None, study: Study) -> Credentials:
    """The token of an account, or that of the settings. Raises `NotConfigured`."""
    if account is None:
        return Credentials(settings.PROLIFIC_API_TOKEN)
    if problem := why_unusable(account, study):
        raise NotConfigured(problem)
    return Credentials(
        unseal(account.sealed_token) or "",
        f"the token of workspace “{account}” under {_PAGE}",
        account.workspace_id,
        account.pk,
    )


@sensitive_variables()
def credentials_of(study_id: int) -> Credentials:
    """The token of the study's own account. Raises `NotConfigured`."""
    entered = Recruitment.objects.filter(study=study_id, prolific_account__isnull=False)
    on_prolific = entered.select_related("study", "prolific_account__given_by").first()
    if on_prolific is None:
        return Credentials(settings.PROLIFIC_API_TOKEN)
    return credentials_in(on_prolific.prolific_account, on_prolific.study)


# Webhooks


@sensitive_variables()
def signing_secrets() -> Iterator[tuple[str, str]]:
    """Each secret with the id of its workspace; the one of the settings names none."""
    entered = ProlificAccount.objects.exclude(sealed_secret="")
    for workspace, sealed in entered.values_list("workspace_id", "sealed_secret"):
        if secret := unseal(sealed):
            yield workspace, secret
    if settings.PROLIFIC_WEBHOOK_SECRET:
        yield "", settings.PROLIFIC_WEBHOOK_SECRET


def recruitments_in(workspace: str) -> QuerySet[Recruitment]:
    """The recruitments of a workspace, or without a name, those of the installation's account."""
    own = Q(prolific_account=None)
    if not workspace:
        return Recruitment.objects.filter(own)
    return Recruitment.objects.filter(
        Q(prolific_account__workspace_id=workspace) | (own & Q(workspace__id=workspace))
    )


def signs_for(workspace: str, recruitment: Recruitment) -> bool:
    """Whether the secret of a workspace, or the one of the settings, signs a study's events."""
    account = recruitment.prolific_account
    if workspace:
        return recruitments_in(workspace).filter(pk=recruitment.pk).exists()
    if account is None:
        return True
    # The installation may have studies in the same workspace, which has one secret.
    return recruitments_in("").filter(workspace__id=account.workspace_id).exists()


def knows_secret(recruitment: Recruitment) -> bool:
    """Whether webhooks about the study can be verified."""
    return any(signs_for(workspace, recruitment) for workspace, _ in signing_secrets())
