"""A judge as its backend sees it: settings, limits, keys, and the shared endpoint.

The cipher is that of `studies.sealing`. A new SECRET_KEY makes stored keys unreadable: they are
entered again.
"""

import hashlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.conf import settings
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from judging.backends.backend import BackendKind, JudgeSettings
from judging.backends.registry import backend_kind
from judging.engine.interface import Backend
from judging.engine.limits import RateLimits
from judging.errors import BadJudge
from judging.models import Judge
from studies.sealing import cipher

_PURPOSE = b"thirdperson: keys of judges, version 1"


@dataclass(frozen=True)
class SealedKey:
    """The encrypted key of a judge. Two are equal if they are the same stored key."""

    judge: str = field(compare=False)
    token: str = field(repr=False)

    @sensitive_variables()
    def open(self) -> str:
        """The key. Raises `BadJudge` if it cannot be read, or must not be."""
        from cryptography.fernet import InvalidToken

        if not settings.JUDGE_STORED_KEYS:
            raise BadJudge(
                f"Judge “{self.judge}” has a stored key, and this server no longer allows stored "
                "keys. Name an environment variable with its key, or ask the administrator to set "
                "JUDGE_STORED_KEYS=1."
            )
        try:
            return cipher(_PURPOSE).decrypt(self.token.encode()).decode()
        except InvalidToken:
            raise BadJudge(
                f"The stored key of judge “{self.judge}” cannot be read, because the SECRET_KEY of "
                "this server has changed. Enter the key again on the judge's page."
            ) from None


@sensitive_variables()
def seal(key: str) -> str:
    """Encrypt a key for the database."""
    return cipher(_PURPOSE).encrypt(key.encode()).decode()


@sensitive_variables()
def is_readable(token: str) -> bool:
    """Whether this installation's SECRET_KEY opens an encrypted key."""
    from cryptography.fernet import InvalidToken

    try:
        cipher(_PURPOSE).decrypt(token.encode())
    except InvalidToken:
        return False
    return True


FIRST_SLOTS = 2  # at a server, before it has answered anything


def kind_of(judge: Judge) -> BackendKind:
    return backend_kind(judge.backend)


def settings_of(judge: Judge, address: str = "") -> JudgeSettings:
    """The judge's settings at one of its addresses, by default the first."""
    return JudgeSettings(
        name=judge.name,
        model=judge.model,
        base_url=address or judge.base_url,
        api_key_env=judge.api_key_env,
        stored_key=SealedKey(judge.name, judge.sealed_key) if judge.sealed_key else None,
        link_local=settings.JUDGE_LINK_LOCAL,
        temperature=judge.temperature,
        top_p=judge.top_p,
        max_tokens=reply_limit(judge),
        timeout_seconds=float(judge.timeout_seconds),
        concurrency=judge.slots,
        structured=judge.structured,
        probabilities=judge.probabilities,
        model_options=tuple(sorted(judge.model_options.items())),
    )


def keep_found(judge: Judge, found: Mapping[str, Any]) -> None:
    """Store what a backend has found out about the judge's server, so that all workers know it."""
    with transaction.atomic():
        stored = Judge.objects.select_for_update(no_key=True).get(pk=judge.pk)
        judge.model_options = {**found, **stored.model_options}  # the first one counts
        if judge.model_options != stored.model_options:
            judge.save(update_fields=["model_options"])


def reply_limit(judge: Judge) -> int:
    """The maximum number of tokens of a reply, including thinking."""
    return judge.max_tokens + judge.thinking_tokens


def backend_maker(judge: Judge, address: str = "") -> Callable[[], Backend]:
    """A function that makes the judge's backend. Raises `BadJudge` if the judge cannot be asked."""
    return kind_of(judge).connect(settings_of(judge, address))


def backend_key(judge: Judge, address: str = "") -> Hashable:
    """The identity of a backend: judges with equal settings share one."""
    return judge.backend, replace(settings_of(judge, address), name="", concurrency=0)


def endpoint_of(judge: Judge, address: str = "") -> str:
    """The name of the endpoint for slots and rates, which a provider counts by model and key."""
    key = judge.sealed_key or judge.api_key_env
    where = (address or judge.base_url).rstrip("/")
    parts = [judge.backend, where, judge.model, key]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def limits_of(judge: Judge) -> RateLimits:
    """The limits of the judge; a server gets only a few questions before its first answer."""
    limits = RateLimits(
        concurrency=judge.slots,
        rpm=judge.rpm,
        tpm=judge.tpm,
        patience=float(judge.outage_seconds),
    )
    if not kind_of(judge).capabilities.needs_endpoint:
        return limits
    return replace(
        limits,
        first=FIRST_SLOTS,
        slow_after=judge.timeout_seconds / 4,
        is_adaptive=judge.concurrency is None,
    )
