"""Registering judges, and turning a judge into something that can be asked."""

import hashlib
import importlib.util
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.db import transaction

from judging.backends.openai import OPENAI_URL, OpenAIBackend, OpenAISettings, connect, is_openai
from judging.backends.replay import BadRecording, ReplayBackend, read_recording
from judging.backends.transformers import TransformersBackend, TransformersSettings
from judging.engine.interface import Backend
from judging.engine.limits import Limits
from judging.errors import BadJudge, BadOption
from judging.models import Judge
from judging.runs.presets import PRESETS

IMPORTED = "imported"  # the model of a judge whose judgments came from a file
FIRST_SLOTS = 16  # at a server, before it has answered anything
LOCAL_SLOTS = 16  # of a model in this process: its memory is ours
# What an answer depends on. It may not change once a run has used the judge.
IDENTITY = (
    "backend", "model", "temperature", "top_p", "max_tokens", "thinking_tokens", "structured",
    "probabilities", "own_sources",
)  # fmt: skip


@transaction.atomic
def add_judge(*, name: str, preset: str = "", **fields: Any) -> tuple[Judge, bool]:
    """Store a judge and return it with whether it is new.

    The same call again changes nothing. Address, key, limits and prices of a known judge may be
    changed; what its answers depend on may not, once a run has used it. Raises `BadJudge`.
    """
    judge = Judge.objects.filter(name=name).first() or Judge(name=name)
    is_new = judge.pk is None
    if preset:
        brought = _preset_fields(preset)
        if judge.base_url:
            brought.pop("base_url", None)  # a judge that has an address keeps it
        fields = brought | fields
        _need_address(preset, fields.get("base_url", judge.base_url))
    if is_new and fields.get("backend") == Judge.Backend.TRANSFORMERS:
        fields = {"concurrency": LOCAL_SLOTS} | fields
    changed = [key for key in IDENTITY if key in fields and getattr(judge, key) != fields[key]]
    if not is_new and changed and judge.runs.exists():
        raise BadJudge(
            f"Judge “{name}” has runs, so its {changed[0].replace('_', ' ')} cannot change any "
            "more. Add a judge with another name."
        )
    for key, value in fields.items():
        setattr(judge, key, value)
    _check(judge)
    judge.save()
    return judge, is_new


def _preset_fields(preset: str) -> dict[str, Any]:
    if preset not in PRESETS:
        raise BadJudge(f"There is no preset “{preset}”. Use one of: {', '.join(PRESETS)}.")
    chosen = PRESETS[preset]
    fields: dict[str, Any] = {
        "backend": Judge.Backend.OPENAI,
        "model": chosen.model,
        "own_sources": list(chosen.own_sources),
    }
    if chosen.base_url:
        fields["base_url"] = chosen.base_url
    return fields


def _need_address(preset: str, base_url: str) -> None:
    """A model that OpenAI does not offer is not asked for there, for want of another address."""
    if not PRESETS[preset].base_url and (not base_url or is_openai(base_url)):
        raise BadOption(
            f"--preset {preset} needs --base-url: the address of a server that offers "
            f"{PRESETS[preset].model}, for example http://gpu1:8000/v1. OpenAI does not."
        )


_NO_TRANSFORMERS = (
    "--backend transformers needs torch and transformers in this environment: "
    "“.venv/bin/pip install -r requirements-gpu.txt”. Or serve the model with “vllm serve MODEL” "
    "and add it with --backend openai --base-url http://HOST:8000/v1."
)


def _need_transformers() -> None:
    """Look for the packages without importing them: that would take seconds and memory."""
    if not all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
        raise BadJudge(_NO_TRANSFORMERS)


def check_name(option: str, name: str) -> None:
    """A name is one line that can be read. Raises `BadOption`."""
    if not name.isprintable():
        raise BadOption(f"--{option} {name!a} holds a character that cannot be shown. Remove it.")
    if name.startswith("-"):
        raise BadOption(
            f"--{option} “{name}” begins with a dash, so that a command would read it as an "
            "option. Begin it with another character."
        )


def _check(judge: Judge) -> None:
    check_name("name", judge.name)
    check_name("model", judge.model)
    if judge.backend == Judge.Backend.TRANSFORMERS:
        _need_transformers()
    if judge.backend == Judge.Backend.OPENAI:
        judge.base_url = judge.base_url or OPENAI_URL
        parts = urlsplit(judge.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise BadOption(
                f"--base-url must be an address like http://localhost:8000/v1, "
                f"not “{judge.base_url}”."
            )
        if parts.username or parts.password or parts.query:
            raise BadOption(
                "--base-url must hold neither a password nor a query. Put the key into an "
                "environment variable and name it with --api-key-env."
            )
        if judge.api_key_env == "OPENAI_API_KEY" and not is_openai(judge.base_url):
            raise BadOption(
                "OPENAI_API_KEY is sent to api.openai.com alone. Put this server's key into a "
                "variable of its own and name that with --api-key-env."
            )
    try:
        judge.full_clean(validate_unique=False)
    except ValidationError as error:
        field, problems = next(iter(error.message_dict.items()))
        option = f"--{field.replace('_', '-')}: " if field != "__all__" else ""
        raise BadOption(f"{option}{problems[0]}") from None


def api_key(judge: Judge) -> str:
    """The key to send, or an empty text where there is none. Raises `BadJudge`."""
    name = judge.api_key_env or ("OPENAI_API_KEY" if is_openai(judge.base_url) else "")
    if not name:
        return ""
    key = os.environ.get(name, "").strip()
    if not key:
        raise BadJudge(
            f"Judge “{judge.name}” needs a key, and the environment variable {name} is empty. "
            "Set it for the worker, or in .env, and start again."
        )
    return key


def endpoint_of(judge: Judge) -> str:
    """Who shares its slots and rates: a provider counts them for each model and key."""
    parts = [judge.backend, judge.base_url.rstrip("/"), judge.model, judge.api_key_env]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def limits_of(judge: Judge) -> Limits:
    """The limits of the judge; a server is not asked everything at once before it has answered."""
    limits = Limits(
        concurrency=judge.concurrency,
        rpm=judge.rpm,
        tpm=judge.tpm,
        patience=float(judge.outage_seconds),
    )
    if judge.backend != Judge.Backend.OPENAI:
        return limits
    return replace(limits, first=FIRST_SLOTS, slow_after=judge.timeout_seconds / 4)


def backend_maker(judge: Judge) -> Callable[[], Backend]:
    """How to make the judge's backend. Raises `BadJudge` when the judge cannot be asked."""
    if judge.backend == Judge.Backend.REPLAY:
        return _replay_maker(judge)
    if judge.backend == Judge.Backend.TRANSFORMERS:
        return _transformers_maker(judge)
    key = api_key(judge)

    def make() -> Backend:
        connections = connect(
            base_url=judge.base_url, api_key=key, timeout=float(judge.timeout_seconds)
        )
        return OpenAIBackend(openai_settings(judge), connections)

    return make


def openai_settings(judge: Judge) -> OpenAISettings:
    return OpenAISettings(
        model=judge.model,
        base_url=judge.base_url,
        temperature=judge.temperature,
        top_p=judge.top_p,
        max_tokens=room_of(judge),
        timeout=float(judge.timeout_seconds),
        logprobs=judge.probabilities != Judge.Probabilities.NO,
        structured=judge.structured,
    )


def room_of(judge: Judge) -> int:
    """Tokens that a reply may have at most, thinking included."""
    return judge.max_tokens + judge.thinking_tokens


def _transformers_maker(judge: Judge) -> Callable[[], Backend]:
    _need_transformers()
    settings = TransformersSettings(
        model=judge.model,
        temperature=judge.temperature,
        top_p=judge.top_p,
        max_tokens=room_of(judge),
        # Half of the questions in hand: while one batch is computed, the next one comes together.
        batch_size=max(1, judge.concurrency // 2),
        scores=judge.probabilities == Judge.Probabilities.BESIDE,
        only_scores=judge.probabilities == Judge.Probabilities.ONLY,
    )
    return lambda: TransformersBackend(settings)


def _replay_maker(judge: Judge) -> Callable[[], Backend]:
    if judge.model == IMPORTED:
        raise BadJudge(
            f"Judge “{judge.name}” holds imported judgments; it cannot be asked anything new."
        )
    try:
        with Path(judge.model).open(encoding="utf-8") as lines:
            replies = read_recording(lines)
    except OSError as error:
        raise BadJudge(
            f"Cannot read the recorded replies “{judge.model}”: {error.strerror}. Name the file "
            "with add_judge --model."
        ) from None
    except (UnicodeDecodeError, BadRecording) as error:
        raise BadJudge(f"Cannot read the recorded replies “{judge.model}”: {error}") from None
    return lambda: ReplayBackend(replies, model=Path(judge.model).name)
