"""A judge as its backend sees it, its keys, the shared endpoint, and which studies may ask it.

The cipher is that of `studies.sealing`. A new SECRET_KEY makes stored keys unreadable, so they must
be entered again.
"""

import copy
import hashlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.conf import settings
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from judging.backends.backend import BackendKind, JudgeSettings
from judging.backends.kinds import backend_kind
from judging.backends.parameters import FORMS, FREE_TEXT, JSON_SCHEMA
from judging.engine.interface import Backend
from judging.engine.limits import RateLimits
from judging.errors import BadJudge
from judging.models import Judge, JudgeRun
from studies.models import Membership, Study
from studies.sealing import cipher
from studies.services.studies import forbids_providers

ADD_PERMISSION = "judging.add_judge"  # of administrators of judges
_PURPOSE = b"thirdperson: keys of judges, version 1"


@dataclass(frozen=True)
class SealedKey:
    """The encrypted key of a judge, equal for the same stored key."""

    judge: str = field(compare=False)
    token: str = field(repr=False)
    what: str = field(default="key", compare=False)

    @sensitive_variables()
    def open(self) -> str:
        """The key. Raises `BadJudge` if it cannot, or must not, be read."""
        from cryptography.fernet import InvalidToken

        if not settings.JUDGE_STORED_KEYS:
            raise BadJudge(
                f"Judge “{self.judge}” has a stored {self.what}, and this server no longer allows "
                "stored keys. Name an environment variable with its key, or ask the administrator "
                "to set JUDGE_STORED_KEYS=1."
            )
        try:
            return cipher(_PURPOSE).decrypt(self.token.encode()).decode()
        except InvalidToken:
            raise BadJudge(
                f"The stored {self.what} of judge “{self.judge}” cannot be read, because the "
                f"SECRET_KEY of this server has changed. Enter the {self.what} again on the "
                "judge's page."
            ) from None


@sensitive_variables()
def seal(key: str) -> str:
    """Encrypt a key for the database."""
    return cipher(_PURPOSE).encrypt(key.encode()).decode()


def serves_key(judge: Judge, study: Study) -> bool:
    """Whether the judge has no stored key or secret headers, or those that this study may use.

    A key that an administrator entered serves all studies, like one in an environment variable, and
    so do headers that a command stored. Any other serves the studies of which the user who entered
    it is an owner or an editor now.
    """
    if not judge.sealed_key and not (judge.sealed_headers and judge.key_by_id):
        return True
    giver = judge.key_by
    if giver is None or not giver.is_active:
        return False
    roles = (Membership.Role.OWNER, Membership.Role.EDITOR)
    is_member = Membership.objects.filter(study=study, user=giver, role__in=roles).exists()
    return is_member or giver.has_perm(ADD_PERMISSION)


def key_refusal(judge: Judge) -> str:
    """Why a study may not use the stored key of a judge, and what to do."""
    return (
        f"The key of judge “{judge.name}” was entered for other studies: it serves those of which "
        "the user who entered it is an owner or editor. Add a judge like it with a key of your own."
    )


def check_sharing(study: Study, judge: Judge) -> None:
    """Raise `BadJudge` if items of the study must not be sent where the judge is asked.

    Or if the study may not use the key that the judge has.
    """
    if judge.providers and forbids_providers(study):
        raise BadJudge(refusal(study, judge))
    if not serves_key(judge, study):
        raise BadJudge(key_refusal(judge))


def refusal(study: Study, judge: Judge) -> str:
    """Why the judge is not asked, and what an owner can do."""
    licence = study.source.get("licence") or "no licence named"
    return (
        f"The items of “{study.slug}” must not be sent to a provider ({licence}), and judge "
        f"“{judge.name}” is at {', '.join(judge.providers)}. Use a model on a server of your "
        "own, or let an owner of the study confirm it with a reason under Settings, “Items and "
        "providers”."
    )


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
        stored_headers=SealedKey(judge.name, judge.sealed_headers, "secret header")
        if judge.sealed_headers
        else None,
        link_local=settings.JUDGE_LINK_LOCAL,
        temperature=judge.temperature,
        top_p=judge.top_p,
        max_tokens=reply_limit(judge),
        timeout_seconds=float(judge.timeout_seconds),
        concurrency=judge.slots,
        structured=asks_form(judge),
        reply_form=way if (way := judge.reply_form.get("way")) in FORMS else JSON_SCHEMA,
        probabilities=judge.probabilities,
        model_options=tuple(sorted(judge.model_options.items())),
    )


def asks_form(judge: Judge) -> bool:
    """Whether structured replies are requested of a judge, as far as it is known.

    One that is set to ask where the server can is asked, unless a test found that it cannot.
    """
    if judge.structured is None:
        return judge.capabilities.structured and judge.reply_form.get("way") != FREE_TEXT
    return judge.structured


def judge_of(run: JudgeRun) -> Judge:
    """The judge of a run, asked for replies in the form with which the run began."""
    judge = copy.copy(run.judge)
    if "structured" in run.parameters:
        judge.structured = bool(run.parameters["structured"])
        judge.reply_form = {"way": run.parameters.get("reply_form", JSON_SCHEMA)}
    return judge


def keep_found(judge: Judge, options: Mapping[str, Any]) -> None:
    """Store what a backend has found out about the judge's server, so that all workers know it."""
    with transaction.atomic():
        stored = Judge.objects.select_for_update(no_key=True).get(pk=judge.pk)
        judge.model_options = {**options, **stored.model_options}  # the first one counts
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
    """The name of the endpoint for slots and rates, which providers count by model and key."""
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
