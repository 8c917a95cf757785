"""Any OpenAI-compatible server: OpenAI, vLLM, SGLang, Ollama, llama.cpp, gateways.

Requests go through OpenAI's own client, without its retries, which would send (and pay for)
requests that are not in the ledger, and without what it reads from the environment, which may be
meant for others. What the servers answer is read here, because few of them keep to OpenAI's forms.
"""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
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
    JudgeQuestion,
    NotOffered,
    Parameters,
    Reply,
)
from judging.engine.messages import MEDIA
from studies.network import seconds_to_wait

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI, OpenAI


NO_KEY = "none"  # servers without keys ignore it
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


@dataclass(frozen=True)
class Server:
    """How to reach the server of a judge; the key is sent to this address and no other.

    `secret` are further headers, whose values are as secret as the key. A server that gets its key
    by one of them gets no other.
    """

    base_url: str
    api_key: str
    timeout: float
    link_local: bool = False
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    secret: Mapping[str, str] = field(default_factory=dict)

    @property
    def secrets(self) -> list[str]:
        """What answers may repeat, and nobody may see."""
        return [self.api_key, *self.secret.values()]

    def all_headers(self) -> dict[str, str]:
        return headers_of(self.base_url, self.api_key, self.headers, self.secret)

    def http_client(self) -> "httpx2.AsyncClient":
        from judging.backends.connections import client_for  # which loads the HTTP library

        return client_for(self.base_url, timeout=self.timeout, link_local=self.link_local)

    def client(self, http_client: "httpx2.AsyncClient | None" = None) -> "AsyncOpenAI":
        """OpenAI's client, without its retries and what it reads from the environment."""
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self.api_key or NO_KEY,
            base_url=self.base_url.rstrip("/"),
            max_retries=0,
            http_client=http_client or self.http_client(),
            default_query=dict(self.query),
        )


def headers_of(
    base_url: str,
    api_key: str,
    extra: Mapping[str, str] | None = None,
    secret: Mapping[str, str] | None = None,
) -> dict[str, str]:
    secret = secret or {}
    key = {} if secret and not api_key else {"Authorization": f"Bearer {api_key or NO_KEY}"}
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


def only(headers: Mapping[str, str], client: "AsyncOpenAI | OpenAI") -> dict[str, Any]:
    """These headers, and none that the client adds.

    It adds what it reads from the environment, which may be meant for others, and what it knows of
    this machine.
    """
    from openai import Omit

    kept = {name.lower() for name in headers}
    added = ["Authorization", "X-Stainless-Retry-Count", "X-Stainless-Read-Timeout"]
    added += client.default_headers
    return {**{name: Omit() for name in added if name.lower() not in kept}, **headers}


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
    def __init__(self, settings: OpenAISettings, server: Server) -> None:
        self._settings = settings
        self._server = server
        self._client = server.client()
        self._options: Any = {"headers": only(server.all_headers(), self._client)}
        self.adjustments = Adjustments(intended_parameters(settings), may_stream=True)

    def parameters(self) -> Parameters:
        return self.adjustments.current

    async def ask(self, question: JudgeQuestion, *, seed: int, parameters: Parameters) -> Reply:
        write = partial(request_body, parameters.values, question, seed=seed)
        body = await prepared(question, write)
        response = await self._post(json.dumps(body).encode())
        headers, sent_as = response.headers, response.status_code
        raise_if_redirected(sent_as, headers, asked=self._settings.base_url + "/")
        content = response.content
        content = completion_of(without_keys(content, self._server.secrets))
        status = stated_status(sent_as, content)
        if status in MAY_ADJUST and not declines_content(error := error_body(content)):
            if self.adjustments.learn(error, parameters, status=status, question=question.id):
                fault = status_fault(status, content, sent_as=sent_as)
                adjusted = AdjustedRequest(str(fault), status=status)
                adjusted.usage = fault.usage
                raise adjusted
        reply = read_response(
            content,
            question,
            status=sent_as,
            request_id=headers.get("x-request-id", ""),
            is_structured="response_format" in parameters.values,
            retry_after=retry_after(headers),
        )
        if 200 <= status < 300:
            self.adjustments.succeeded(parameters, question=question.id)
        return reply

    def learn(self, error: bytes | str, sent: Parameters) -> bool:
        return self.adjustments.learn(error_body(error), sent)

    async def _post(self, content: bytes) -> "httpx2.Response":
        """The raw response, whatever its status. Raises the faults of the connection."""
        import httpx2
        from openai import APIConnectionError, APIStatusError

        from judging.backends.connections import faults

        try:
            with faults(self._server.timeout):
                return await self._client.post(
                    "/chat/completions",
                    cast_to=httpx2.Response,
                    content=content,
                    options=self._options,
                )
        except APIStatusError as error:
            return error.response
        except APIConnectionError as error:
            raise error.__cause__ or error from None

    async def close(self) -> None:
        await self._client.close()


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
    packages = ("openai", "httpx2")
    may_leave_out = (*MAY_BE_LEFT_OUT, "max_tokens")
    takes_extra_fields = True

    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        server, settings = server_of(judge), _settings(judge)
        return lambda: OpenAIBackend(settings, server)

    def intended_parameters(self, judge: JudgeSettings) -> Parameters:
        return intended_parameters(_settings(judge))

    def reply_forms(self, base_url: str) -> tuple[str, ...]:
        # No provider lets its servers' own ways through.
        own = OWN_WAYS if is_own_network(base_url) else ()
        return JSON_SCHEMA, JSON_OBJECT, *own

    def list_request(self, judge: JudgeSettings) -> tuple[str, dict[str, str]]:
        key, extra = api_key(judge), judge.extra_fields
        headers = headers_of(judge.base_url, key, extra.headers, secret_headers(judge))
        if provider_key(judge.base_url) == provider_key(ANTHROPIC_URL):
            headers |= anthropic_headers(key)  # whose list reads no other key
        query = f"?{urlencode(extra.query)}" if extra.query else ""
        return f"{judge.base_url.rstrip('/')}/models{query}", headers


def server_of(judge: JudgeSettings) -> Server:
    """How to reach the judge's server. Raises `BadJudge`."""
    extra = judge.extra_fields
    return Server(
        base_url=judge.base_url,
        api_key=api_key(judge),
        timeout=judge.timeout_seconds,
        link_local=judge.link_local,
        query=extra.query or {},
        headers=extra.headers or {},
        secret=secret_headers(judge),
    )


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


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms`, which some servers add, or from `retry-after`."""
    milliseconds = seconds_to_wait(headers.get("retry-after-ms"), unit=0.001)
    return seconds_to_wait(headers.get("retry-after")) if milliseconds is None else milliseconds


def raise_if_redirected(status: int, headers: Mapping[str, str], *, asked: str) -> None:
    """Raise `NotOffered` with the address to which a server points; nothing is sent there."""
    target = headers.get("location", "").strip()
    if not (300 <= status < 400 and target):
        return
    with suppress(ValueError):  # an address in no known form
        target = urljoin(asked, target)
    # Without what follows the path, which may have a key or the session of a log-in page.
    target = short(target.partition("?")[0].partition("#")[0])
    base = target.removesuffix("/").removesuffix("/chat/completions")
    moved = f"If that is its new address, change the base URL of the judge to {base}. "
    raise NotOffered(
        f"The server redirects requests to {target}. Nothing was sent there.",
        f"{moved if base.startswith(('http://', 'https://')) else ''}If it is a page to log in, a "
        "proxy or this network blocks the server.",
        message=f"HTTP {status}",
        status=status,
    )
