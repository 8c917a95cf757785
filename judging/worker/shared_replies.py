"""The reply to a request that several judgments share, given to those that were not asked."""

import json
from itertools import islice

from django.db import connection, transaction

from judging.models import JudgeRun, Judgment
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.registry import protocol, protocols
from studies.statements.prepared import Statements

_PORTION = 500
_ENDED = (
    Judgment.State.DONE,
    Judgment.State.UNPARSEABLE,
    Judgment.State.REFUSED,
    Judgment.State.ERROR,
)


def sharing() -> list[str]:
    """Protocols of which one reply answers about several items."""
    return [each.name for each in protocols() if each.shares_requests]


def share_replies(run_id: int) -> None:
    """End the judgments that wait for one that has ended. Safe at any time and any number of times.

    A worker that is killed before this leaves them waiting, and the next one finds them.
    """
    run = JudgeRun.objects.filter(pk=run_id, setting__in=sharing()).only("setting").first()
    if run is None:
        return
    asked_by = protocol(run.setting)
    waiting = Judgment.objects.filter(
        run=run_id,
        state=Judgment.State.PENDING,
        asked_with__isnull=False,
        asked_with__state__in=_ENDED,
    )
    found = waiting.select_related("item", "asked_with__item").order_by("pk").iterator(_PORTION)
    while some := list(islice(found, _PORTION)):
        with transaction.atomic(), connection.cursor() as cursor:
            statements = Statements(cursor)
            statements.add(
                "UPDATE judging_judgment SET state = %s, choice = %s, details = %s,"
                " (certainty, raw_text, replies, model_snapshot, fingerprint, prompt_sha256,"
                " error, sent_with_id, answered_at) ="
                " (SELECT o.certainty, o.raw_text, o.replies, o.model_snapshot, o.fingerprint,"
                " o.prompt_sha256, o.error, o.sent_with_id, o.answered_at FROM judging_judgment o"
                " WHERE o.id = judging_judgment.asked_with_id)"
                " WHERE id = %s AND state = 'pending'",
                [_row(asked_by, judgment) for judgment in some],
            )
            statements.execute()


def _row(asked_by: JudgingProtocol, judgment: Judgment) -> tuple[str, str, str | None, int]:
    asked = judgment.asked_with
    assert asked is not None  # noqa: S101 - as the query says
    details = asked.details
    if asked.state == Judgment.State.DONE and details is not None:
        choice = asked_by.choice_of(judgment.item, details)
        details = {**details, "asked_with": asked.item.key}
        return asked.state, choice, json.dumps(details), judgment.pk
    return asked.state, "", None, judgment.pk
