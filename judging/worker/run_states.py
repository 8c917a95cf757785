"""How leases and runs end: questions are released or share a reply, runs stop or are done."""

import json
from collections.abc import Collection
from datetime import timedelta
from itertools import islice

from django.db import connection, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from judging import deliveries
from judging.models import Attempt, JudgeRun, Judgment
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.registry import protocol, protocols
from studies.models import Item
from studies.statements import clock
from studies.statements.bulk import Statements

LEASE = timedelta(seconds=30)  # which a worker renews as long as it waits for replies
# Judgments that nobody needs, because their item was taken out. They wait: it may come back. The
# request about a whole set is also about other items.
NOT_ASKED = Q(
    ~Exists(Judgment.everything.filter(asked_with=OuterRef("pk"))),
    item__split=Item.Split.LEFT_OUT,
    state=Judgment.State.PENDING,
    asked_with=None,
)


def expired_leases(*, run_id: int | None = None) -> QuerySet[Judgment]:
    """Judgments with an expired lease: the worker was killed, or the database was down."""
    # Every run by its id: the index of judgments by state begins with the run.
    runs = JudgeRun.objects.values_list("pk", flat=True) if run_id is None else [run_id]
    expired = Judgment.everything.filter(
        clock.has_ended("leased_until", LEASE), run__in=list(runs), state=Judgment.State.LEASED
    )
    # Their requests are held elsewhere, even if a worker died here.
    for delivery in deliveries.MORE:
        expired = expired.exclude(lease__in=delivery.leases())
    return expired


@transaction.atomic
def release_expired(*, run_id: int | None = None) -> dict[int, int]:
    """Release judgments that killed workers held; return how many of each run."""
    expired = expired_leases(run_id=run_id)
    # A run is always locked before its judgments.
    owners = set(expired.values_list("run_id", flat=True))
    if not owners:
        return {}
    list(JudgeRun.objects.select_for_update(no_key=True).filter(pk__in=owners).order_by("pk"))
    held = list(
        expired.filter(run__in=owners)
        .select_for_update(skip_locked=True, no_key=True, of=("self",))
        .order_by("run_id", "pk")
        .values_list("pk", "run_id")
    )
    released: dict[int, int] = {}
    for run in sorted({owner for _, owner in held}):
        ids = [pk for pk, owner in held if owner == run]
        released[run] = give_back(run, Judgment.everything.filter(pk__in=ids))
    return released


@transaction.atomic
def give_back(run_id: int, judgments: QuerySet[Judgment]) -> int:
    """Release leased judgments that no worker is asking; return how many.

    If a worker died or could not write, its requests in progress may have been answered and billed:
    they become `lost`, and their highest possible cost counts as spent.
    """
    held = judgments.filter(state=Judgment.State.LEASED)
    in_flight = Attempt.objects.filter(judgment__in=held, outcome=Attempt.Outcome.SENT)
    if in_flight.exists():
        # Locked, so that none is answered between this query and the next line; the run first, in
        # the same order as when answers are stored.
        JudgeRun.objects.select_for_update(no_key=True).get(pk=run_id)
        lost = list(
            in_flight.select_for_update(no_key=True).values_list(
                "cost_nano", "prompt_tokens", "completion_tokens"
            )
        )
        in_flight.update(
            outcome=Attempt.Outcome.LOST, error="The worker ended before the answer arrived."
        )
        JudgeRun.objects.filter(pk=run_id).update(
            spent_nano=F("spent_nano") + sum(nano or 0 for nano, *_ in lost),
            tokens=F("tokens") + sum((sent or 0) + (got or 0) for _, sent, got in lost),
            retries=F("retries") + len(lost),
        )
    return release(held)


def release(judgments: QuerySet[Judgment]) -> int:
    return judgments.filter(state=Judgment.State.LEASED).update(
        state=Judgment.State.PENDING, lease="", leased_until=None
    )


def stop(
    *, run_id: int, state: str, sentence: str, among: Collection[str] = JudgeRun.ACTIVE
) -> bool:
    """End a run that is in one of the states `among`; False if it is in none of them."""
    stopped = JudgeRun.objects.filter(pk=run_id, state__in=among).update(
        state=state, sentence=sentence, ended_at=clock.now()
    )
    return bool(stopped)


def end_if_done(*, run_id: int) -> bool:
    """End a run in which nothing is left to ask here; True for the one call that ended it."""
    share_replies(run_id)
    still_open = Judgment.everything.filter(run=OuterRef("pk"), state__in=Judgment.OPEN)
    still_open = still_open.exclude(NOT_ASKED)
    active = JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.ACTIVE)
    if any(in_order(run_id, state).only("pk").first() for state in Judgment.OPEN):
        return _rest(run_id)
    if not active.exists():
        return False
    ended = active.filter(~Exists(still_open)).update(
        state=JudgeRun.State.DONE,
        sentence=closing_words(run_id),
        ended_at=clock.now(),
        probe_first=False,
    )
    return bool(ended)


def _rest(run_id: int) -> bool:
    """Pause a run whose open questions are all asked elsewhere; True for the one call that did."""
    pending = in_order(run_id, Judgment.State.PENDING).filter(asked_with=None)
    # Use the first in order, because `exists` would drop the order and with it the index.
    if pending.only("pk").first():
        return False
    reasons = (delivery.why_waiting(run_id) for delivery in deliveries.MORE)
    sentence = next(filter(None, reasons), "")
    return bool(sentence) and stop(run_id=run_id, state=JudgeRun.State.PAUSED, sentence=sentence)


def in_order(run_id: int, state: str) -> QuerySet[Judgment]:
    """The judgments of a run in a state, in order, with its anchors, but not those NOT_ASKED.

    Without the state in the order, PostgreSQL would read all judgments by id. Sorting by the state,
    equal for all rows, makes it use the index that starts with it.
    """
    judgments = Judgment.everything.filter(run=run_id, state__range=(state, state))
    if state == Judgment.State.PENDING:
        judgments = judgments.exclude(NOT_ASKED)
    return judgments.order_by("state", "pk")


def closing_words(run_id: int) -> str:
    """How the judgments of a run ended, as a sentence: "300 of 300 answered."."""
    counts = dict(
        Judgment.objects.filter(run=run_id)
        .order_by("state")
        .values_list("state")
        .annotate(n=Count("pk"))
    )
    total = sum(counts.values())
    words = [f"{counts.get(Judgment.State.DONE, 0):,} of {total:,} answered"]
    for state in ("unparseable", "refused", "skipped"):
        if counts.get(state):
            words.append(f"{counts[state]:,} {state}")
    if waiting := counts.get(Judgment.State.PENDING, 0):
        words.append(f"{waiting:,} not asked, because the item was taken out")
    if failed := counts.get(Judgment.State.ERROR, 0):
        words.append(f"{failed:,} failed and will be asked again at the next start")
        errors = Judgment.objects.filter(run=run_id, state=Judgment.State.ERROR).order_by("pk")
        words[-1] += f" (the first: {errors.values_list('error', flat=True).first()})"
    return ", ".join(words) + "."


_PORTION = 500
_ENDED = (
    Judgment.State.DONE,
    Judgment.State.UNPARSEABLE,
    Judgment.State.REFUSED,
    Judgment.State.ERROR,
)


def sharing() -> list[str]:
    """Protocols with one reply about several items."""
    return [known.name for known in protocols() if known.shares_requests]


def share_replies(run_id: int) -> None:
    """End the judgments that wait for an ended one.

    Safe to repeat. If a worker is killed before this, the next one finds them.
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
    rest = waiting.select_related("item", "asked_with__item").order_by("pk").iterator(_PORTION)
    while some := list(islice(rest, _PORTION)):
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
