"""Any OpenAI-compatible server: OpenAI, vLLM, SGLang, Ollama, llama.cpp, gateways.

The client's own retries are off: it would send, and pay for, requests that no ledger knows. Key
and address are always given, so that a key in the environment never goes to another server.
"""

import email.utils
import json
import math
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from judging.engine.parsing import verdict_position
from judging.engine.protocol import (
    Adjusted,
    Fault,
    Garbage,
    Interrupted,
    Misconfigured,
    Question,
    RateLimited,
    Rejected,
    Reply,
    ServerError,
    Side,
    TimedOut,
    Unreachable,
    Usage,
)

OPENAI_URL = "https://api.openai.com/v1"
_TOP_LOGPROBS, _FEW_LOGPROBS = 20, 5
_NO_KEY = "none"  # the client refuses an empty key; servers without keys ignore this one


def is_openai(base_url: str) -> bool:
    parts = urlsplit(base_url)
    return parts.scheme == "https" and parts.hostname == "api.openai.com"


@dataclass(frozen=True)
class OpenAISettings:
    model: str
    base_url: str
    temperature: float
    top_p: float
    max_tokens: int
    timeout: float
    logprobs: bool = False


def make_client(*, base_url: str, api_key: str, timeout: float) -> openai.AsyncOpenAI:
    """One client per endpoint and process; how many requests run is the limiter's business."""
    client = openai.AsyncOpenAI(
        base_url=base_url,
        api_key=api_key or _NO_KEY,
        max_retries=0,
        timeout=httpx2.Timeout(timeout, connect=10.0),
    )
    if not is_openai(base_url):
        # Read from the environment, and nobody else's business.
        client.organization = client.project = None
    return client


class OpenAIBackend:
    def __init__(self, settings: OpenAISettings, client: openai.AsyncOpenAI) -> None:
        self._settings = settings
        self._client = client
        # OpenAI's newer models refuse `max_tokens`, older servers know nothing else.
        self._limit_name = "max_completion_tokens" if is_openai(settings.base_url) else "max_tokens"
        self._limit_swapped = False
        self._sends_seed = True
        self._logprobs = _TOP_LOGPROBS if settings.logprobs else 0

    async def ask(self, question: Question, *, seed: int) -> Reply:
        body = {
            "model": self._settings.model,
            "messages": [{"role": "user", "content": question.prompt}],
            "temperature": self._settings.temperature,
            "top_p": self._settings.top_p,
            self._limit_name: self._settings.max_tokens,
        }
        if self._sends_seed:
            body["seed"] = seed
        if self._logprobs:
            body |= {"logprobs": True, "top_logprobs": self._logprobs}
        try:
            response = await self._client.post(
                "/chat/completions", body=body, cast_to=httpx2.Response
            )
        except openai.APITimeoutError as error:
            if isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.PoolTimeout):
                raise Unreachable("no connection within 10 seconds") from error
            raise TimedOut(f"no answer within {self._settings.timeout:.0f} seconds") from error
        except openai.APIConnectionError as error:
            raise _connection_fault(error) from error
        except openai.APIStatusError as error:
            raise self._status_fault(error, body) from error
        except openai.APIError as error:
            raise Garbage(f"unreadable answer: {_short(error.message)}") from error
        return _read(response, question)

    async def close(self) -> None:
        await self._client.close()

    def _status_fault(self, error: openai.APIStatusError, body: dict[str, Any]) -> Fault:
        status = error.status_code
        message = f"HTTP {status}: {_message(error)}"
        if status == 429:
            if _code(error) == "insufficient_quota":
                return Misconfigured(f"The account has no quota left ({message}).", status=status)
            return RateLimited(message, status=status, retry_after=_retry_after(error.response))
        if status >= 500 or status in {408, 409}:
            return ServerError(message, status=status, retry_after=_retry_after(error.response))
        if status in {401, 403}:
            return Misconfigured(
                f"The server refuses the key ({message}). Check the environment variable that "
                "the judge names.",
                status=status,
            )
        if status in {404, 405}:
            return Misconfigured(
                f"The server knows no such model or address ({message}). Check the judge's model "
                "and base URL; the URL includes /v1.",
                status=status,
            )
        if status in {400, 422} and self._adjust(message, body):
            return Adjusted(message, status=status)
        return Rejected(message, status=status)

    def _adjust(self, message: str, body: dict[str, Any]) -> bool:
        """Leave out or rename the parameter that a server does not take; True if that may help.

        Requests that were under way with the old parameters are tried again too.
        """
        if "seed" in body and "seed" in message:
            self._sends_seed = False
            return True
        if "top_logprobs" in body and "logprobs" in message:
            # Some servers give fewer alternatives, some give none.
            few = self._logprobs > _FEW_LOGPROBS
            self._logprobs = _FEW_LOGPROBS if few else 0
            return True
        limit = "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"
        if limit not in message:
            return False
        if limit == self._limit_name:
            if self._limit_swapped:
                return False  # neither name is taken
            self._limit_swapped = True
            other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
            self._limit_name = other[limit]
        return True


def _read(response: httpx2.Response, question: Question) -> Reply:
    try:
        body = json.loads(response.content)
        choice = body["choices"][0]
        message = choice["message"]
        text = message.get("content")
        refusal = message.get("refusal")
        finish = choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Garbage("the answer is no chat completion", status=response.status_code) from error
    if not isinstance(text, str | None):
        raise Garbage("the answer holds no text", status=response.status_code)
    return Reply(
        text=_storable(text or str(refusal or "")),
        refused=bool(refusal) or finish == "content_filter",
        truncated=finish == "length",
        usage=_usage(body.get("usage")),
        model=_storable(str(body.get("model") or ""))[:200],
        fingerprint=_storable(str(body.get("system_fingerprint") or ""))[:200],
        request_id=_storable(str(response.headers.get("x-request-id") or body.get("id") or ""))[
            :200
        ],
        probabilities=option_probabilities(
            text or "", choice.get("logprobs"), offers_tie=question.offers_tie
        ),
    )


def option_probabilities(
    text: str, logprobs: object, *, offers_tie: bool
) -> dict[Side, float] | None:
    """Probabilities of the options at the token with the verdict's letter, over the options.

    An option that is not among the alternatives told has less than the least of them: 0. None
    where the server told none, or where what it told is not about the text.
    """
    position = verdict_position(text)
    try:
        tokens = logprobs["content"]  # type: ignore[index]
        if position is None or "".join(token["token"] for token in tokens) != text:
            return None
        end = 0
        for token in tokens:
            end += len(token["token"])
            if end > position:
                break
        told = [(top["token"], float(top["logprob"])) for top in token["top_logprobs"]]
    except (TypeError, KeyError, ValueError, UnboundLocalError):
        return None
    sides: tuple[Side, ...] = ("A", "B", "C") if offers_tie else ("A", "B")
    shares = {
        side: sum(math.exp(p) for word, p in told if word.strip(" []*\"'\n").upper() == side)
        for side in sides
    }
    total = sum(shares.values())
    return {side: share / total for side, share in shares.items()} if total > 0 else None


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens", 0)
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return None
    return Usage(prompt, completion) if prompt >= 0 and completion >= 0 else None


def _connection_fault(error: openai.APIConnectionError) -> Fault:
    cause = error.__cause__
    if isinstance(cause, httpx2.ConnectError | httpx2.UnsupportedProtocol):
        return Unreachable(f"no connection ({_short(str(cause)) or type(cause).__name__})")
    if isinstance(cause, httpx2.DecodingError):
        return Garbage("the answer cannot be decoded")
    return Interrupted(f"connection lost ({type(cause).__name__})")


def _retry_after(response: httpx2.Response) -> float | None:
    """Seconds to wait by `retry-after-ms` or `retry-after`, which is seconds or a date."""
    for header, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(response.headers.get(header, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        date = email.utils.parsedate_to_datetime(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, date.timestamp() - time.time())


def _error_body(error: openai.APIStatusError) -> dict[str, Any]:
    return error.body if isinstance(error.body, dict) else {}


def _code(error: openai.APIStatusError) -> str:
    return str(_error_body(error).get("code") or "")


def _message(error: openai.APIStatusError) -> str:
    return _short(str(_error_body(error).get("message") or error.response.text or "no message"))


def _storable(text: str) -> str:
    """Without what no database takes: NUL, and halves of characters that JSON may escape."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def _short(text: str) -> str:
    """A server may echo the whole prompt, or a page of HTML, in its error."""
    text = " ".join(_storable(text).split())
    return text if len(text) <= 200 else text[:199] + "…"
