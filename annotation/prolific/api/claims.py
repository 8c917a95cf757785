"""Claims: one process at a time changes a study or a workspace on Prolific, and one reads it.

No transaction is open meanwhile: a claim is a time in the row, so one left by a crash expires.
"""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import Q, QuerySet

from annotation.models import ProlificWorkspace, Recruitment
from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.transport import NotAllowed
from studies.statements import clock

# A claim expires after a crash. It is renewed before each request.
_CLAIM, _RENEWED_AFTER = dt.timedelta(minutes=3), dt.timedelta(seconds=30)


class AccountClaim:
    """The exclusive right to do something on Prolific, for three minutes unless renewed.

    `field` of the row holds the time until which it is claimed.
    """

    def __init__(self, rows: QuerySet[Any], field: str, until: dt.datetime) -> None:
        self._rows = rows
        self._field = field
        self._until = until

    def renew(self) -> None:
        """Hold the claim for another three minutes.

        Raises `NotAllowed` if it has expired and somebody else has taken it: the next request must
        then not be sent.
        """
        now = clock.now()
        if self._until - now > _CLAIM - _RENEWED_AFTER:
            return
        until = now + _CLAIM
        if not self._held().update(**{self._field: until}):
            raise NotAllowed(
                "This took so long that somebody else may have taken over. Nothing more was sent. "
                "Check what was done, then try again."
            )
        self._until = until

    def end(self) -> None:
        self._held().update(**{self._field: None})

    def _held(self) -> QuerySet[Any]:
        return self._rows.filter(**{self._field: self._until})


@contextmanager
def claimed(study_id: int, client: ProlificClient | None = None) -> Iterator[Recruitment]:
    """Claim a study's recruitment while something is sent that must not be sent twice.

    Every request of `client` renews the claim first, however long the work takes. Raises
    `NotAllowed` while somebody else holds it, or if the study has changed to another account.
    Afterwards the study is read again soon.
    """
    recruitment, _ = Recruitment.objects.get_or_create(study_id=study_id)
    rows = Recruitment.objects.filter(pk=recruitment.pk)
    with _claimed(rows, client, "busy_until", _in_progress("this study")):
        claimed = Recruitment.objects.select_related("study").get(pk=recruitment.pk)
        if client is not None and client.account_id != claimed.prolific_account_id:
            raise NotAllowed("This study has changed to another Prolific account. Try again.")
        try:
            yield claimed
        finally:
            rows.update(read_next_at=None, quiet_reads=0)


@contextmanager
def claimed_workspace(workspace_id: str, client: ProlificClient) -> Iterator[ProlificWorkspace]:
    """Claim a workspace's webhooks, which all its studies share, as `claimed` does a study."""
    row, _ = ProlificWorkspace.objects.get_or_create(workspace_id=workspace_id)
    rows = ProlificWorkspace.objects.filter(pk=row.pk)
    with _claimed(rows, client, "busy_until", _in_progress("this workspace")):
        yield ProlificWorkspace.objects.get(pk=row.pk)


@contextmanager
def reading(study_id: int, client: ProlificClient) -> Iterator[None]:
    """Claim the reading of a study, so that two workers never read it at once.

    Raises `NotAllowed` while another worker reads it.
    """
    rows = Recruitment.objects.filter(study=study_id)
    problem = "Another worker is reading this study from Prolific."
    with _claimed(rows, client, "reading_until", problem):
        yield


def _in_progress(what: str) -> str:
    return (
        f"Another change on Prolific for {what} is in progress. Wait a moment, check what it "
        "did, then try again."
    )


@contextmanager
def _claimed(
    rows: QuerySet[Any], client: ProlificClient | None, field: str, problem: str
) -> Iterator[None]:
    until = clock.now() + _CLAIM
    # One conditional UPDATE: of two callers at once, only one changes the row.
    is_free = Q(**{field: None}) | clock.has_ended(field, _CLAIM)
    if not rows.filter(is_free).update(**{field: until}):
        raise NotAllowed(problem)
    claim = AccountClaim(rows, field, until)
    if client is not None:
        client.before_request = claim.renew
    try:
        yield
    finally:
        if client is not None:
            client.before_request = None
        claim.end()
