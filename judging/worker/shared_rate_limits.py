"""Storage of the state that processes asking one endpoint share: Redis, or the database."""

import json
import os
import secrets
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction

from judging.engine.limits import Grant, LimitReport
from judging.engine.rate_limit_coordination import CoordinationFailed, Document, Exchange, settle
from judging.models import SharedLimit
from studies.statements import clock

if TYPE_CHECKING:
    from redis import Redis

_FORGET_SECONDS = 3600
_TRIES = 20


def exchange(endpoint: str) -> Exchange:
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
            grant = settle(shared.document, member, report, now=clock.now().timestamp())
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
    """Read, settle, write; repeat if another process wrote in between."""
    from redis.exceptions import RedisError, WatchError

    key = f"thirdperson:limits:{endpoint}"
    # A client that nobody holds closes its connections: another thread may have made the kept one.
    client = _redis(os.getpid())
    try:
        with client.pipeline() as pipe:
            for _ in range(_TRIES):
                pipe.watch(key)
                seconds, microseconds = pipe.time()
                raw = pipe.get(key)
                document: Document = json.loads(raw) if raw else {}
                grant = settle(document, member, report, now=seconds + microseconds / 1e6)
                pipe.multi()
                pipe.set(key, json.dumps(document), ex=_FORGET_SECONDS)
                try:
                    pipe.execute()
                except WatchError:
                    continue
                return grant
    except RedisError as error:
        raise CoordinationFailed(f"Redis says: {error}") from error
    raise CoordinationFailed(f"the limits were written by others {_TRIES} times in between")
