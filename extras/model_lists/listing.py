"""The models that a server offers, for the page on which a judge is added.

Listing follows the rules of adding: the same addresses, the same keys, for the same users. Each is
written to the study's log, and their number is limited.
"""

import datetime as dt
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.views.decorators.debug import sensitive_variables

from extras.model_lists.server_models import ListedModel, ModelList, list_models
from judging.backends.backend import JudgeSettings, check_endpoint
from judging.backends.kinds import DEFAULT, backend_kind
from judging.backends.presets import presets, public_price
from judging.catalog.access import may_add_addresses, with_access
from judging.engine.interface import BackendFault, Garbage, Misconfigured, TimedOut, Unreachable
from judging.errors import BadJudge
from judging.models import Judge
from judging.worker.endpoints import kind_of, settings_of
from studies.models import Study, StudyLog
from studies.services.accounts.sign_ins import Limit, minutes
from studies.services.studies import record

logger = logging.getLogger(__name__)

_LISTED, _LOOKED = "models listed", "local servers looked for"
LIMIT = Limit(30, dt.timedelta(minutes=10))
_LOCAL_SECONDS = 1.0
_HOST = "127.0.0.1"
# What a server calls itself in its list, where its port is one that several kinds use.
_BY_NAME = {"vLLM": "vllm", "SGLang": "sglang", "llama.cpp": "llama.cpp"}


@dataclass(frozen=True, kw_only=True)
class FoundServer:
    """A server of models on this machine, with the preset that fits it; `title` says what it is."""

    preset: str
    title: str
    address: str
    models: list[str]


@sensitive_variables()
def models_at(
    *,
    study: Study,
    user: User,
    fields: dict[str, Any],
    key: str = "",
    key_of: Judge | None = None,
) -> ModelList:
    """Ask the server that a form names for its models.

    Raises `BadJudge` with what is wrong, or `InvalidValue` if the user may not ask there.
    """
    named: dict[str, Any] = {
        name: fields[name] for name in ("backend", "base_url", "api_key_env") if name in fields
    }
    named["base_url"] = named["base_url"].strip()
    judge = Judge(name=urlsplit(named["base_url"]).hostname or "")
    for name, value in with_access(
        judge, named, study=study, user=user, key=key, key_of=key_of
    ).items():
        setattr(judge, name, value)
    asked = settings_of(judge)
    check_endpoint(asked)
    _count(study, user, _LISTED, address=judge.base_url)
    try:
        found = list_models(kind_of(judge), asked)
    except BackendFault as fault:
        raise BadJudge(_explained(fault, judge)) from None
    except BadJudge:
        raise
    except Exception:
        # Not raised: a debug page would show the variables of the client, and with them the key.
        logger.exception("A list of models failed in this process.")
        raise BadJudge(
            "The models could not be listed. The program’s log has the reason. Enter the model’s "
            "name yourself."
        ) from None
    return replace(found, models=[_priced(model, judge.base_url) for model in found.models])


def _priced(model: ListedModel, base_url: str) -> ListedModel:
    price = public_price(base_url, model.name)
    if model.price_input is not None or price is None:
        return model
    return replace(
        model,
        price_input=price.input,
        price_output=price.output,
        price_cached_input=price.cached,
    )


def _count(study: Study, user: User, event: str, **detail: str) -> None:
    """Write a question to the log. Raises `BadJudge` if the user has asked too often."""
    earlier = StudyLog.objects.filter(user=user, event__in=(_LISTED, _LOOKED))
    if wait := LIMIT.wait(earlier):
        raise BadJudge(
            f"You have listed models {LIMIT.attempts} times in ten minutes. Wait {minutes(wait)} "
            "min, or enter the model’s name yourself."
        )
    record(study, event, user=user, **detail)


def _explained(fault: BackendFault, judge: Judge) -> str:
    """Why there is no list, in plain words, with what to do about it."""
    by_hand = "Or enter the model’s name yourself."
    if fault.status in (401, 403):
        return "The server refuses the key, or needs one. Enter the key of this address."
    if fault.status in (404, 405):
        return (
            "The server has no list of models at this address. Compare the address: that of an "
            f"OpenAI-compatible server ends in /v1. {by_hand}"
        )
    if isinstance(fault, Unreachable):
        return (
            f"No connection to {judge.base_url}. Check that the model server is running and that "
            "this server can reach it. “localhost” means the machine that shows you this page."
        )
    if isinstance(fault, TimedOut):
        return f"The server did not send its list in time. Try again in a minute. {by_hand}"
    if isinstance(fault, Misconfigured) and fault.status is None:
        return str(fault)
    if isinstance(fault, Garbage):
        return f"The server sent no list of models: {fault}. {by_hand}"
    status = f" (HTTP {fault.status})" if fault.status else ""
    return f"The server did not send its list{status}. {by_hand}"


def local_servers(*, study: Study, user: User, own_port: int) -> list[FoundServer]:
    """The servers of models at their usual ports on this machine, apart from this program's port.

    For administrators, who may add judges at any address. Nothing but loopback is asked. Raises
    `BadJudge`.
    """
    if not may_add_addresses(user):
        raise BadJudge("Ask an administrator to look for servers on this machine.")
    _count(study, user, _LOOKED)
    by_port: dict[int, list[str]] = {}
    for name, preset in presets().items():
        if preset.port and preset.port != own_port:
            by_port.setdefault(preset.port, []).append(name)
    with ThreadPoolExecutor(len(by_port), thread_name_prefix="looking") as pool:
        found = pool.map(_server_at, by_port, by_port.values())
        return [server for server in found if server]


def _server_at(port: int, usual: list[str]) -> FoundServer | None:
    """The server at a port; None if nothing there has a list of models, or asks for a key."""
    address = f"http://{_HOST}:{port}/v1"
    asked = JudgeSettings(name=_HOST, model="", base_url=address)
    try:
        found = list_models(
            backend_kind(DEFAULT),
            asked,
            seconds=_LOCAL_SECONDS,
            in_detail=False,
            through_proxy=False,  # whose loopback is another machine's
        )
    except BackendFault as fault:
        if fault.status not in (401, 403):
            return None
        found = ModelList(models=[])
    titles = [presets()[name].title for name in usual]
    named = _BY_NAME.get(found.server)
    return FoundServer(
        # vLLM says its name, and the others of its port do not.
        preset=named or usual[-1],
        title=found.server or f"A server at the usual port of {' and '.join(titles)}",
        address=f"http://localhost:{port}/v1",
        models=[model.name for model in found.models],
    )
