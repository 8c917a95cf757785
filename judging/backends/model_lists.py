"""The models that a server says it offers."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from judging.backends.backend import BackendKind, JudgeSettings, api_key, secret_headers
from judging.backends.completions import status_fault, storable, without_keys
from judging.engine.interface import Garbage, TimedOut

_MOST_BYTES = 8_000_000  # of one answer; the longest known list has less than one million
_MOST_MODELS = 2_000
_LONGEST_NAME = 200


@dataclass(frozen=True)
class ServerQuestions:
    """Asks what a judge's server says about itself; the key goes only where it is wanted."""

    judge: JudgeSettings
    headers: dict[str, str]
    seconds: float
    through_proxy: bool = True

    async def fetch(self, address: str, *, with_key: bool = False, content: bytes = b"") -> Any:
        """The JSON at an address of the judge's server. Raises `BackendFault`."""
        from judging.backends.connections import client_for  # which loads the HTTP library

        async with client_for(
            address,
            timeout=self.seconds,
            link_local=self.judge.link_local,
            through_proxy=self.through_proxy,
            most=_MOST_BYTES,
        ) as client:
            response = await client.request(
                "POST" if content else "GET",
                address,
                content=content or None,
                headers=self.headers if with_key else None,
            )
        status, body = response.status_code, response.content
        body = without_keys(body, [api_key(self.judge), *secret_headers(self.judge).values()])
        if not 200 <= status < 300:
            raise status_fault(status, body)
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Garbage("the answer is not JSON") from error


def offered_models(kind: BackendKind, judge: JudgeSettings, *, seconds: float) -> list[str]:
    """The names of the models that a judge's server offers. Raises `BackendFault` or `BadJudge`."""
    address, headers = list_request(kind, judge)
    questions = ServerQuestions(judge, headers, seconds)

    async def ask() -> Any:
        try:
            async with asyncio.timeout(seconds):
                return await questions.fetch(address, with_key=True)
        except TimeoutError as error:
            raise TimedOut(f"no answer within {seconds:.0f} seconds") from error

    return [*entries_by_name(asyncio.run(ask()))]


def list_request(kind: BackendKind, judge: JudgeSettings) -> tuple[str, dict[str, str]]:
    """Address and headers of the list of a judge's server. Raises `Garbage` if it has none."""
    request = kind.list_request(judge)
    if request is None:
        raise Garbage("servers of this kind have no list of their models")
    return request


def entries_by_name(answer: Any) -> dict[str, dict[str, Any]]:
    """The entries of a list whose models write text, as OpenAI-compatible servers and others do.

    Raises `Garbage` if it is no list of models.
    """
    entries: dict[str, dict[str, Any]] = {}
    for row in all_entries(answer)[:_MOST_MODELS]:
        name = entry_name(row)
        if name and name.isprintable() and len(name) <= _LONGEST_NAME and _writes_text(row):
            entries.setdefault(name, row)
    return entries


def entry_name(row: Any) -> str:
    name = _at(row, "id") or _at(row, "name") or ""
    return storable(str(name)).strip().removeprefix("models/")


def all_entries(answer: Any) -> list[dict[str, Any]]:
    """All entries of a list of models. Raises `Garbage` if it is none."""
    for name in ("data", "models"):
        if isinstance(rows := _at(answer, name), list):
            return [row for row in rows if isinstance(row, dict)]
    raise Garbage("the answer is no list of models")


def _writes_text(row: Any) -> bool:
    """Whether a model can answer in words, unless its entry says that it cannot."""
    gives = _at(row, "architecture", "output_modalities")
    methods = _at(row, "supportedGenerationMethods")
    return not (
        (isinstance(gives, list) and "text" not in gives)
        or (isinstance(methods, list) and "generateContent" not in methods)
        or _at(row, "capabilities", "completion_chat") is False
    )


def _at(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
