"""Any OpenAI-compatible server: OpenAI, vLLM, SGLang, Ollama, llama.cpp, gateways.

Requests use the HTTP library that OpenAI's own client is built on. That client takes several
times the processor time for each of them, its retries would send (and pay for) requests that are
not in the ledger, and it reads keys and addresses from the environment that are meant for others.
"""

import importlib
import json
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urljoin

from judging.backends.backend import (
    ANTHROPIC_URL,
    NO_PROBABILITIES,
    OPENAI_URL,
    WITH_REPLY,
    BackendKind,
    Capabilities,
    JudgeSettings,
    anthropic_headers,
    api_key,
    is_openai,
    is_own_network,
    provider_key,
    secret_headers,
)
from judging.backends.completions import (
    completion_of,
    read_response,
    short,
    stated_status,
    status_fault,
    without_keys,
)
from judging.backends.error_messages import declines_content, error_body
from judging.backends.parameters import (
    FORMS,
    JSON_OBJECT,
    JSON_SCHEMA,
    MAY_BE_LEFT_OUT,
    MOST_LOGPROBS,
    OWN_WAYS,
    SEED,
    Adjustments,
    prepared,
    request_body,
    without,
)
from judging.engine.interface import (
    AdjustedRequest,
    Backend,
    Garbage,
    JudgeQuestion,
    Misconfigured,
    NotOffered,
    Parameters,
    Reply,
)
from judging.engine.messages import MEDIA
from studies.network import seconds_to_wait

if TYPE_CHECKING:
    from judging.backends.connections import Connections


MOST_BYTES = 64_000_000  # when unpacked; a completion is a few thousand
_GZIP_OR_ZLIB, _RAW = 47, -15
# Unpacked if the package is installed; no dependency needs it.
_PACKAGES = {"br": ("brotli", "brotlicffi"), "zstd": ("zstandard",)}


def unpacked(content: bytes, encodings: str, *, status: int) -> bytes:
    """The uncompressed content, by the header `Content-Encoding`.

    Raises `Garbage` if it is broken or too large, `Misconfigured` if it cannot be read here.
    """
    names = [name.strip().lower() for name in encodings.split(",") if name.strip()]
    for name in reversed(names):
        if content and name != "identity":
            content = _unpack(content, name, status)
    return content


def _unpack(content: bytes, name: str, status: int) -> bytes:
    try:
        if name in ("gzip", "x-gzip"):
            return _inflate(content, _GZIP_OR_ZLIB)
        if name == "deflate":
            try:
                return _inflate(content, _GZIP_OR_ZLIB)
            except zlib.error:  # some servers leave the wrapping out
                return _inflate(content, _RAW)
        for package in _PACKAGES.get(name, ()):
            try:
                module = importlib.import_module(package)
            except ImportError:
                continue
            return _by_package(module, content)
    except Exception as error:
        sentence = f"the answer is compressed as {name} and cannot be unpacked ({error})"
        raise Garbage(sentence, status=status) from error
    needed = " or ".join(_PACKAGES.get(name, ()))
    install = f"install the package {needed}, or " if needed else ""
    raise Misconfigured(
        f"The server compresses its answers as {name[:20]}, which was not asked for and cannot be "
        f"read here. To continue, {install}switch compression off at the server or its proxy.",
        status=status,
    )


def _inflate(content: bytes, format: int) -> bytes:
    parts, left = [], content
    room = MOST_BYTES
    while left:  # a gzip file may have several members
        unpacker = zlib.decompressobj(format)
        parts.append(unpacker.decompress(left, room))
        if not unpacker.eof:
            raise ValueError(f"more than {MOST_BYTES:,} bytes, or cut off")
        room -= len(parts[-1])
        left = unpacker.unused_data
        if room <= 0:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
    return b"".join(parts)


def _by_package(module: object, content: bytes) -> bytes:
    if hasattr(module, "ZstdDecompressor"):
        return bytes(module.ZstdDecompressor().decompressobj().decompress(content))
    return bytes(module.decompress(content))  # type: ignore[attr-defined]


_NO_KEY = "none"  # servers without keys ignore it
# Statuses of a complaint about a parameter; some gateways report it as an error of their own.
MAY_ADJUST = frozenset({400, 403, 404, 405, 406, 415, 422, 500, 501})


@dataclass(frozen=True)
class OpenAISettings:
    """Settings of a server; `max_tokens` limits a whole reply, including thinking."""

    model: str
    base_url: str
    temperature: float
    top_p: float
    max_tokens: int
    timeout: float
    logprobs: bool = False
    reply_form: str = ""  # empty if none is requested
    left_out: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


def connect(
    *,
    base_url: str,
    api_key: str,
    timeout: float,
    link_local: bool = False,
    path: str = "chat/completions",
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    secret: Mapping[str, str] | None = None,
) -> "Connections":
    """Connect to one server with one key; the key is sent to this address and no other.

    `secret` are further headers, whose values are as secret as the key. A server that gets its key
    by one of them gets no other.
    """
    from judging.backends.connections import Connections  # which loads the HTTP library

    return Connections(
        f"{base_url.rstrip('/')}/{path}" + (f"?{urlencode(query)}" if query else ""),
        headers=_headers(base_url, api_key, headers, secret),
        timeout=timeout,
        link_local=link_local,
        secrets=[api_key, *(secret or {}).values()],
    )


def _headers(
    base_url: str,
    api_key: str,
    extra: Mapping[str, str] | None = None,
    secret: Mapping[str, str] | None = None,
) -> dict[str, str]:
    secret = secret or {}
    key = {} if secret and not api_key else {"Authorization": f"Bearer {api_key or _NO_KEY}"}
    headers = {
        **key,
        "Content-Type": "application/json",
        "Accept": "application/json",
        "User-Agent": "thirdperson",  # some gateways reject clients without a name
        **(extra or {}),
        **secret,
    }
    if is_openai(base_url):
        for header, variable in (
            ("OpenAI-Organization", "OPENAI_ORG_ID"),
            ("OpenAI-Project", "OPENAI_PROJECT_ID"),
        ):
            if value := os.environ.get(variable):
                headers[header] = value
    return headers


def intended_parameters(settings: OpenAISettings) -> Parameters:
    """The parameters of a chat completion if none is known to be refused."""
    # OpenAI's newer models refuse `max_tokens`; older servers know no other name.
    limit = "max_completion_tokens" if is_openai(settings.base_url) else "max_tokens"
    values: dict[str, Any] = {
        "model": settings.model,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        limit: settings.max_tokens,
        "seed": SEED,
    }
    if settings.logprobs:
        values |= {"logprobs": True, "top_logprobs": MOST_LOGPROBS}
    if settings.reply_form:
        values["response_format"] = FORMS[settings.reply_form]
    return Parameters({**without(values, settings.left_out), **settings.extra})


class OpenAIBackend:
    def __init__(self, settings: OpenAISettings, connections: "Connections") -> None:
        self._settings = settings
        self._connections = connections
        self.adjustments = Adjustments(intended_parameters(settings), may_stream=True)

    def parameters(self) -> Parameters:
        return self.adjustments.current

    async def ask(self, question: JudgeQuestion, *, seed: int, parameters: Parameters) -> Reply:
        write = partial(request_body, parameters.values, question, seed=seed)
        body = await prepared(question, write)
        response = await self._connections.post(json.dumps(body).encode())
        headers = {name.lower(): value.decode("latin-1") for name, value in response.headers}
        raise_if_redirected(response.status, headers, asked=self._settings.base_url + "/")
        content = unpacked(
            response.content,
            headers.get(b"content-encoding", ""),
            status=response.status,
        )
        content = completion_of(without_keys(content, self._connections.secrets))
        status = stated_status(response.status, content)
        if status in MAY_ADJUST and not declines_content(error := error_body(content)):
            if self.adjustments.learn(error, parameters, status=status, question=question.id):
                fault = status_fault(status, content, sent_as=response.status)
                adjusted = AdjustedRequest(str(fault), status=status)
                adjusted.usage = fault.usage
                raise adjusted
        reply = read_response(
            content,
            question,
            status=response.status,
            request_id=headers.get(b"x-request-id", ""),
            is_structured="response_format" in parameters.values,
            retry_after=retry_after(headers),
        )
        if 200 <= status < 300:
            self.adjustments.succeeded(parameters, question=question.id)
        return reply

    def learn(self, error: bytes | str, sent: Parameters) -> bool:
        return self.adjustments.learn(error_body(error), sent)

    async def close(self) -> None:
        await self._connections.close()


class OpenAIKind(BackendKind):
    name = "openai"
    label = "OpenAI-compatible server"
    capabilities = Capabilities(
        needs_endpoint=True,
        structured=True,
        probabilities=frozenset({WITH_REPLY}),
        batch=True,
        media=frozenset(MEDIA),
    )
    default_base_url = OPENAI_URL
    packages = ("httpcore2",)
    may_leave_out = (*MAY_BE_LEFT_OUT, "max_tokens")
    takes_extra_fields = True

    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        made = partial(connect, **_server(judge), timeout=judge.timeout_seconds)
        settings = _settings(judge)
        return lambda: OpenAIBackend(settings, made())

    def intended_parameters(self, judge: JudgeSettings) -> Parameters:
        return intended_parameters(_settings(judge))

    def reply_forms(self, base_url: str) -> tuple[str, ...]:
        # No provider lets its servers' own ways through.
        own = OWN_WAYS if is_own_network(base_url) else ()
        return JSON_SCHEMA, JSON_OBJECT, *own

    def list_request(self, judge: JudgeSettings) -> tuple[str, dict[str, str]]:
        key, extra = api_key(judge), judge.extra_fields
        headers = _headers(judge.base_url, key, extra.headers, secret_headers(judge))
        if provider_key(judge.base_url) == provider_key(ANTHROPIC_URL):
            headers |= anthropic_headers(key)  # whose list reads no other key
        query = f"?{urlencode(extra.query)}" if extra.query else ""
        return f"{judge.base_url.rstrip('/')}/models{query}", headers


def _server(judge: JudgeSettings) -> dict[str, Any]:
    """How to reach the judge's server, as `connect` takes it. Raises `BadJudge`."""
    extra = judge.extra_fields
    return {
        "base_url": judge.base_url,
        "api_key": api_key(judge),
        "link_local": judge.link_local,
        "query": extra.query,
        "headers": extra.headers,
        "secret": secret_headers(judge),
    }


def _settings(judge: JudgeSettings) -> OpenAISettings:
    return OpenAISettings(
        model=judge.model,
        base_url=judge.base_url,
        temperature=judge.temperature,
        top_p=judge.top_p,
        max_tokens=judge.max_tokens,
        timeout=judge.timeout_seconds,
        logprobs=judge.probabilities != NO_PROBABILITIES,
        reply_form=(judge.reply_form or JSON_SCHEMA) if judge.structured else "",
        left_out=tuple(judge.left_out),
        extra=judge.extra_fields.stored,
    )


def retry_after(headers: Mapping[bytes, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms`, which some servers add, or from `retry-after`."""
    milliseconds = seconds_to_wait(headers.get(b"retry-after-ms"), unit=0.001)
    return seconds_to_wait(headers.get(b"retry-after")) if milliseconds is None else milliseconds


def raise_if_redirected(status: int, headers: Mapping[bytes, str], *, asked: str) -> None:
    """Raise `NotOffered` with the address to which a server points; nothing is sent there."""
    target = headers.get(b"location", "").strip()
    if not (300 <= status < 400 and target):
        return
    # Without what follows the path, which may have a key or the session of a log-in page.
    target = short(urljoin(asked, target).partition("?")[0].partition("#")[0])
    base = target.removesuffix("/").removesuffix("/chat/completions")
    raise NotOffered(
        f"The server redirects requests to {target}. Nothing was sent there.",
        f"If that is its new address, change the base URL of the judge to {base}. If it is a page "
        "to log in, a proxy or this network blocks the server.",
        message=f"HTTP {status}",
        status=status,
    )
