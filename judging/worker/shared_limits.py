"""Limits that several processes share, in one small document for each endpoint.

The document is in Redis or in the database. Each process exchanges a report for a grant twice a
second, more often after it starts to ask, and immediately when it wants something or returns slots;
a single request exchanges nothing. `grant_for` is the whole rule: the store only applies it to the
document exclusively.

The sum of all grants never exceeds the limits: a process holds slots until it returns them or stops
reporting, and requests and tokens per minute are drawn in advance from shared buckets.
"""

import asyncio
import contextlib
import json
import logging
import os
import secrets
from collections.abc import Callable
from concurrent.futures import Executor
from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction

from judging.engine.limits import BURST_SECONDS, Grant, LimitReport
from judging.engine.rate_limits import Limiter
from judging.models import SharedLimit
from studies.statements import clock

if TYPE_CHECKING:
    from redis import Redis

logger = logging.getLogger(__name__)

EXCHANGE_SECONDS = 0.5
# After starting to ask: a process that was alone holds every slot, and does not yet know of others.
_FIRST_EXCHANGE_SECONDS = 0.05
SILENT_SECONDS = 10.0  # without a report; then a process counts as dead and its slots are free
_RETRY_SECONDS = 1.0
_FORGET_SECONDS = 3600
_TRIES = 20

Document = dict[str, Any]


class CoordinationFailed(Exception):
    """The store did not answer; earlier grants stay valid."""


# Blocks while it waits for the store. Raises `CoordinationFailed`.
Exchange = Callable[[LimitReport], Grant]


async def keep_coordinating(limiter: Limiter, exchange: Exchange, executor: Executor) -> None:
    """Exchange reports for grants while requests wait or are in progress; ends by cancellation."""
    loop = asyncio.get_running_loop()
    pause = _FIRST_EXCHANGE_SECONDS
    while True:
        busy = limiter.is_busy
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(limiter.news.wait(), pause if busy else None)
        pause = min(EXCHANGE_SECONDS, 2 * pause) if busy else _FIRST_EXCHANGE_SECONDS
        limiter.news.clear()
        report = limiter.report()
        try:
            grant = await loop.run_in_executor(executor, exchange, report)
        except Exception as error:
            # Catch any error: if this task ended, everybody would wait for a grant forever.
            is_known = isinstance(error, CoordinationFailed)
            logger.warning(
                "Sharing the limits failed, trying again: %s",
                error,
                exc_info=None if is_known else error,
            )
            limiter.restore(report)
            await asyncio.sleep(_RETRY_SECONDS)
            limiter.news.set()
            continue
        limiter.take(grant, report)


def exchange_for(endpoint: str) -> Exchange:
    """The function by which this process exchanges its reports about an endpoint for grants."""
    has_redis = settings.CELERY_BROKER_URL.startswith(("redis://", "rediss://"))
    store = _in_redis if has_redis else _in_database

    def take_part(report: LimitReport) -> Grant:
        return store(endpoint, _member(os.getpid()), report)

    return take_part


@cache
def _member(pid: int) -> str:
    """A unique name of this process over all machines; a fork gets its own."""
    return f"{pid}-{secrets.token_hex(8)}"


def _in_database(endpoint: str, member: str, report: LimitReport) -> Grant:
    try:
        SharedLimit.objects.get_or_create(endpoint=endpoint)
        with transaction.atomic():
            shared = SharedLimit.objects.select_for_update(no_key=True).get(endpoint=endpoint)
            grant = grant_for(shared.document, member, report, now=clock.now().timestamp())
            shared.save(update_fields=["document"])
    except (DatabaseError, InterfaceError) as error:
        connection.close()
        raise CoordinationFailed(f"the database says: {error}") from error
    return grant


@cache
def _redis(pid: int) -> "Redis":
    from redis import Redis

    return Redis.from_url(
        settings.CELERY_BROKER_URL, socket_timeout=5.0, socket_connect_timeout=5.0
    )


def _in_redis(endpoint: str, member: str, report: LimitReport) -> Grant:
    """Read, grant, write; repeat if another process wrote in between."""
    from redis.exceptions import RedisError, WatchError

    key = f"thirdperson:limits:{endpoint}"
    # An unused client closes its connections: another thread may have stored its own first.
    client = _redis(os.getpid())
    try:
        with client.pipeline() as pipe:
            for _ in range(_TRIES):
                pipe.watch(key)
                seconds, microseconds = pipe.time()
                raw = pipe.get(key)
                document: Document = json.loads(raw) if raw else {}
                grant = grant_for(document, member, report, now=seconds + microseconds / 1e6)
                pipe.multi()
                pipe.set(key, json.dumps(document), ex=_FORGET_SECONDS)
                try:
                    pipe.execute()
                except WatchError:
                    continue
                return grant
    except RedisError as error:
        raise CoordinationFailed(f"Redis says: {error}") from error
    raise CoordinationFailed(f"others changed the limits {_TRIES} times in between")


def grant_for(document: Document, member: str, report: LimitReport, *, now: float) -> Grant:
    """Enter the report of `member` into `document` and return its grant; `now` is in seconds."""
    members: dict[str, Any] = document.setdefault("members", {})
    for name in [n for n, m in members.items() if now - m["seen"] > SILENT_SECONDS]:
        del members[name]
    slots = 0
    if report.wanted:
        mine = members.setdefault(member, {"slots": 0})
        mine |= {"wanted": report.wanted, "seen": now}
        slots = _slots(members, member, report.limits.concurrency)
        # Until its next report, everything that it holds when it receives a smaller grant counts.
        mine["slots"] = max(slots, report.held)
    else:
        members.pop(member, None)
    if report.has_cut:
        document["cuts"] = document.get("cuts", 0) + 1
    if report.pause is None:
        document["resume_at"] = 0.0
    else:
        document["resume_at"] = max(document.get("resume_at", 0.0), now + report.pause)
    sharers = max(1, len(members))
    rates = report.limits
    return Grant(
        slots=slots,
        requests=_draw(document, "requests", rates.rpm, now, report.requests, 1.0, sharers),
        tokens=_draw(
            document, "tokens", rates.tpm, now, report.tokens, report.first_tokens, sharers
        ),
        pause=max(0.0, document["resume_at"] - now),
        cuts=document.get("cuts", 0),
    )


def _slots(members: dict[str, Any], member: str, total: int) -> int:
    """A fair number of slots plus unwanted ones, from those that no other process holds."""
    shares = fair_slots({name: m["wanted"] for name, m in members.items()}, total)
    held_by_others: int = sum(m["slots"] for name, m in members.items() if name != member)
    fair = shares[member] + total - sum(shares.values())
    return max(0, min(fair, total - held_by_others))


def fair_slots(wanted: dict[str, int], total: int) -> dict[str, int]:
    """Split `total` fairly: nobody gets more than wanted, and the others get equal parts."""
    shares: dict[str, int] = {}
    left = total
    for name in sorted(wanted, key=lambda name: (wanted[name], name)):
        shares[name] = min(wanted[name], -(-left // (len(wanted) - len(shares))))
        left -= shares[name]
    return shares


def _draw(
    document: Document,
    name: str,
    per_minute: int | None,
    now: float,
    wanted: float,
    at_least: float,
    sharers: int,
) -> float:
    """Take from a common bucket, at most an equal part of its contents.

    A single request can overdraw the bucket; then nobody gets anything until it is refilled.
    """
    if per_minute is None or wanted <= 0:
        return 0.0
    interval = 60.0 / per_minute
    free_at = max(document.get(name, 0.0), now)
    room = (BURST_SECONDS - (free_at - now)) / interval
    if room < 0:
        return 0.0
    amount = min(wanted, max(at_least, float(int(room / sharers))))
    document[name] = free_at + amount * interval
    return amount
