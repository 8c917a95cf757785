"""Any OpenAI-compatible server: OpenAI, vLLM, SGLang, Ollama, llama.cpp, gateways.

Requests go out over the HTTP library that OpenAI's own client stands on. That client takes several
times the processor time for each of them, its retries would send, and pay for, requests that no
ledger knows, and it reads keys and addresses from the environment that are meant for others.
"""

import email.utils
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpcore2

from judging.engine.completions import read_completion, short, status_fault, without_key
from judging.engine.connections import CONNECT_SECONDS, Connections
from judging.engine.protocol import (
    Adjusted,
    Interrupted,
    Question,
    Reply,
    TimedOut,
    Unreachable,
)

OPENAI_URL = "https://api.openai.com/v1"
_TOP_LOGPROBS, _FEW_LOGPROBS = 20, 5
_NO_KEY = "none"  # servers without keys ignore it
_LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
# What a server may refuse, and how its complaint calls it.
_OPTIONAL = {
    "seed": ("seed",),
    "response_format": ("response_format", "json_schema", "structured"),
    "temperature": ("temperature",),
    "top_p": ("top_p",),
}


def is_openai(base_url: str) -> bool:
    parts = urlsplit(base_url)
    return parts.scheme == "https" and parts.hostname == "api.openai.com"


@dataclass(frozen=True)
class OpenAISettings:
    """`max_tokens` is the room for a whole reply, thinking included."""

    model: str
    base_url: str
    temperature: float
    top_p: float
    max_tokens: int
    timeout: float
    logprobs: bool = False
    structured: bool = False


def connect(*, base_url: str, api_key: str, timeout: float) -> Connections:
    """The way to one server with one key; the key goes to the address given and to no other."""
    headers = {
        "Authorization": f"Bearer {api_key or _NO_KEY}",
        "Content-Type": "application/json",
        "Accept": "application/json",
        "User-Agent": "thirdperson",  # some gateways turn away who names none
    }
    if is_openai(base_url):
        for header, variable in (
            ("OpenAI-Organization", "OPENAI_ORG_ID"),
            ("OpenAI-Project", "OPENAI_PROJECT_ID"),
        ):
            if value := os.environ.get(variable):
                headers[header] = value
    return Connections(f"{base_url.rstrip('/')}/chat/completions", headers=headers, timeout=timeout)


def schema_of(question: Question) -> dict[str, Any]:
    """The form of a reply that structured outputs enforce."""
    properties: dict[str, Any] = {
        "answer": {"type": "string", "enum": ["A", "B", "C"] if question.offers_tie else ["A", "B"]}
    }
    if question.asks_certainty:
        properties["certainty"] = {"type": "integer"}
    return {
        "type": "json_schema",
        "json_schema": {
            "name": "verdict",
            "strict": True,
            "schema": {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            },
        },
    }


def request_body(settings: OpenAISettings, question: Question, *, seed: int) -> dict[str, Any]:
    """A chat completion as it is asked for where nothing is known to be refused."""
    # OpenAI's newer models refuse `max_tokens`, older servers know nothing else.
    limit = "max_completion_tokens" if is_openai(settings.base_url) else "max_tokens"
    body: dict[str, Any] = {
        "model": settings.model,
        "messages": [{"role": "user", "content": question.prompt}],
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        limit: settings.max_tokens,
        "seed": seed,
    }
    if settings.logprobs:
        body |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
    if settings.structured:
        body["response_format"] = schema_of(question)
    return body


class Adjustments:
    """What a server was found not to take, left out or renamed in what is sent from then on."""

    def __init__(self) -> None:
        self.renamed = False
        self.left_out: set[str] = set()
        self.top_logprobs = _TOP_LOGPROBS

    def apply(self, body: dict[str, Any]) -> dict[str, Any]:
        adjusted = {key: value for key, value in body.items() if key not in self.left_out}
        if self.renamed:
            old = _limit_in(body)
            adjusted[_LIMITS[old]] = adjusted.pop(old)
        if "top_logprobs" in adjusted:
            adjusted["top_logprobs"] = self.top_logprobs
        return adjusted

    def learn(self, message: str, sent: dict[str, Any], original: dict[str, Any]) -> bool:
        """Take in a complaint about what was `sent`; whether trying again may help.

        Requests that were under way with what is refused are tried again too.
        """
        told = message.lower()
        for key, words in _OPTIONAL.items():
            if key in sent and any(word in told for word in words):
                self.left_out.add(key)
                return True
        if "top_logprobs" in sent and "logprobs" in told:
            # Some servers give fewer alternatives, some give none.
            if sent["top_logprobs"] > _FEW_LOGPROBS:
                self.top_logprobs = min(self.top_logprobs, _FEW_LOGPROBS)
            else:
                self.left_out |= {"logprobs", "top_logprobs"}
            return True
        if not any(name in told for name in _LIMITS):
            return False
        if _limit_in(sent) == _limit_in(original):
            self.renamed = True
            return True
        return False  # neither name is taken


def _limit_in(body: dict[str, Any]) -> str:
    return next(name for name in _LIMITS if name in body)


class OpenAIBackend:
    def __init__(self, settings: OpenAISettings, connections: Connections) -> None:
        self._settings = settings
        self._connections = connections
        self.adjustments = Adjustments()

    async def ask(self, question: Question, *, seed: int) -> Reply:
        original = request_body(self._settings, question, seed=seed)
        body = self.adjustments.apply(original)
        try:
            response = await self._connections.post(json.dumps(body).encode())
        except httpcore2.ConnectTimeout as error:
            raise Unreachable(f"no connection within {CONNECT_SECONDS:.0f} seconds") from error
        except httpcore2.TimeoutException as error:
            raise TimedOut(f"no answer within {self._settings.timeout:.0f} seconds") from error
        except (httpcore2.ConnectError, httpcore2.ProxyError) as error:
            reason = short(str(error)) or type(error).__name__
            raise Unreachable(f"no connection ({reason})") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise Interrupted(f"connection lost ({type(error).__name__})") from error
        headers = {name.lower(): value.decode("latin-1") for name, value in response.headers}
        content = without_key(response.content, self._connections.key)
        if not 200 <= response.status < 300:
            fault = status_fault(response.status, content, _retry_after(headers))
            if response.status in {400, 422} and self.adjustments.learn(str(fault), body, original):
                raise Adjusted(str(fault), status=response.status)
            raise fault
        return read_completion(
            content,
            question,
            status=response.status,
            request_id=headers.get(b"x-request-id", ""),
            is_structured="response_format" in body,
        )

    async def close(self) -> None:
        await self._connections.close()


def _retry_after(headers: Mapping[bytes, str]) -> float | None:
    """Seconds to wait by `retry-after-ms` or `retry-after`, which is seconds or a date."""
    for header, unit in ((b"retry-after-ms", 1000.0), (b"retry-after", 1.0)):
        try:
            seconds = float(headers.get(header, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        date = email.utils.parsedate_to_datetime(headers.get(b"retry-after", ""))
    except ValueError:
        return None
    return max(0.0, date.timestamp() - time.time())
