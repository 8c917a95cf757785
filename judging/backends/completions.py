"""Reads chat completions and errors, from HTTP or from a line of a batch."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from judging.backends.bodies import body_text, body_value
from judging.backends.error_messages import (
    ErrorBody,
    declines_content,
    error_body,
    refuses_key,
    refuses_model,
)
from judging.engine.interface import (
    BackendFault,
    Garbage,
    Interrupted,
    JudgeQuestion,
    Misconfigured,
    NoAccess,
    Options,
    RateLimited,
    Rejected,
    Reply,
    ServerError,
    Usage,
)

LEAST_MASS = 0.5  # of the options together, at the token of the verdict
_LONGEST_END = 32  # characters of tokens that end a reply without being text
_MARKS = re.compile(r"[\W_]+")
_CERTAIN = 1e-3  # the logarithm of a probability is at most 0, apart from rounding
_MOST_TOKENS = 10**9  # of one request; a larger count is an error, and no table can hold it
_MOST_DOLLARS = 10_000  # of one request; a larger amount is an error
_FILTERED = re.compile(
    r"content.?filter|safety|prohibited|blocklist|blocked|guardrail|refus|recitation|spii|sensitive"
    r"|moderation|policy|harm",
    re.IGNORECASE,
)
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
# What holds an answer; and what holds an error where there is no answer.
_ANSWERS = ("choices", "content", "candidates", "output", "result", "data")
_ERRORS = ("error", "errors", "error_msg", "error_code", "message", "msg", "detail")
_MOST_KEPT = 20_000  # characters of a reply that holds no text
_HALF = re.compile("[\ud800-\udfff]")
_KEY_LENGTH = 8  # minimum length of a secret; shorter ones are words like “none”


def read_response(
    content: bytes | str,
    question: JudgeQuestion,
    *,
    status: int,
    request_id: str,
    is_structured: bool,
    retry_after: float | None = None,
) -> Reply:
    """The reply in a response; a question that a filter blocked counts as a refusal.

    Raises the `BackendFault` for any other status, or for an invalid body of a success.
    """
    sent_as, status = status, stated_status(status, content)
    if 200 <= status < 300:
        try:
            return read_completion(
                content, question, status=status, request_id=request_id, is_structured=is_structured
            )
        except BackendFault as fault:
            fault.usage = usage_of_error(content)
            is_worked_on = fault.usage is not None and fault.usage.total > 0
            if isinstance(fault, Garbage) and is_worked_on and _is_completion(content):
                return _unreadable(content, fault, request_id=request_id)
            raise
    body = error_body(content)
    if 400 <= status < 500 and declines_content(body):
        # Some providers bill it, and none reports the tokens.
        return Reply(
            text=_message(body, content),
            refused=True,
            request_id=storable(request_id)[:200],
            status=status,
            usage=usage_of_error(content),
        )
    raise status_fault(status, content, retry_after, sent_as=sent_as)


def _is_completion(content: bytes | str) -> bool:
    body = body_value(content)
    return isinstance(body, dict) and "choices" in body


def _unreadable(content: bytes | str, fault: Garbage, *, request_id: str) -> Reply:
    """The reply of a model, which has worked for it, in a form that holds no text.

    It says something about this question, and nothing about the server. It is kept as it came.
    """
    return Reply(
        text="",
        answers=storable(body_text(content))[:_MOST_KEPT],
        usage=fault.usage,
        request_id=storable(request_id)[:200],
        status=fault.status or 200,
    )


def stated_status(status: int, content: bytes | str) -> int:
    """The status of a response; that of the error in it, if a gateway sent one as a success."""
    if not 200 <= status < 300 or not is_error(content):
        return status
    body = error_body(content)
    stated = [str(body.get(name)) for name in ("code", "status", "status_code")]
    codes = [int(code) for code in stated if code.isdecimal()]
    return next((code for code in codes if 400 <= code < 600), 500)


def is_error(content: bytes | str) -> bool:
    """Whether the body of a success is an error, and no answer that was worked on."""
    try:
        body = body_value(content)
    except (ValueError, RecursionError):
        return False
    if not isinstance(body, dict) or any(body.get(name) for name in _ANSWERS):
        return False
    if read_usage(body) is not None:
        return False
    return body.get("success") is False or any(body.get(name) for name in _ERRORS)


def read_completion(
    content: bytes | str,
    question: JudgeQuestion,
    *,
    status: int,
    request_id: str,
    is_structured: bool,
) -> Reply:
    """The reply in the body of a success. Raises `Garbage`."""
    try:
        body = body_value(content)
        choice = body["choices"][0]
        message = choice["message"]
        text = _words(message.get("content"))
        refusal = message.get("refusal")
        finish = str(choice.get("finish_reason") or "")
        thoughts = _thoughts(message)
        name, arguments = _tool_call(message)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        told = error_body(content)
        reason = _message(told, content)
        if declines_content(told):  # a gateway reports the error of its provider as a success
            return Reply(
                reason,
                refused=True,
                request_id=storable(request_id)[:200],
                status=status,
                usage=usage_of_error(content),
            )
        garbage = Garbage(f"the answer is no chat completion ({reason})", status=status)
        # No model writes a page, so a proxy or a log-in page has answered.
        garbage.maybe_billed = not body_text(content)[:200].lstrip().startswith("<")
        raise garbage from error
    if isinstance(failure := choice.get("error"), dict):
        # The provider behind a gateway failed while it wrote, which may be billed.
        fault = ServerError(f"the answer broke off ({_message(failure, content)})", status=status)
        fault.maybe_billed = True
        raise fault
    if not isinstance(text, str | None):
        raise Garbage("the answer holds no text", status=status)
    is_cut = finish.lower() in _CUT
    probabilities, without = read_probabilities(
        question,
        text or "",
        choice.get("logprobs"),
        is_structured=is_structured,
        is_cut=is_cut,
    )
    return Reply(
        text=storable(text or str(refusal or "") or arguments),
        refused=bool(refusal) or is_filtered(finish),
        truncated=is_cut,
        thoughts=storable(thoughts),
        tool="" if text else storable(name)[:100],
        is_structured=is_structured,
        usage=read_usage(body, is_written=bool(text or refusal or arguments or thoughts)),
        model=storable(str(body.get("model") or ""))[:200],
        fingerprint=storable(str(body.get("system_fingerprint") or ""))[:200],
        request_id=storable(request_id or str(body.get("id") or ""))[:200],
        probabilities=probabilities,
        no_probabilities=without,
    )


def completion_of(content: bytes) -> bytes:
    """The chat completion whose pieces a stream of events holds; another body as it is.

    Raises `Interrupted` if the stream ends before the reply does.
    """
    if not content[:64].lstrip().startswith((b"data:", b"event:", b": ", b"id:", b"retry:")):
        return content
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    message: dict[str, Any] = {}
    tokens: list[Any] = []
    is_over = False
    for line in content.splitlines():  # bytes, as texts hold other signs that end lines
        name, _, data = line.decode("utf-8", "replace").partition(":")
        if name != "data" or not (data := data.strip()):
            continue
        if data == "[DONE]":
            is_over = True
            break
        try:
            piece = body_value(data)
            if error := piece.get("error"):
                if not (choice or message):
                    return data.encode()
                choice["error"] = error if isinstance(error, dict) else {"message": str(error)}
                is_over = True
            whole |= {key: of for key, of in piece.items() if key != "choices" and of is not None}
            for part in (piece.get("choices") or ())[:1]:
                choice |= {key: of for key, of in part.items() if key not in _PIECES and of}
                _add_delta(message, part.get("delta") or part.get("message") or {})
                tokens += (part.get("logprobs") or {}).get("content") or ()
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise Garbage("the answer is no stream of a chat completion") from error
    if not is_over and not choice.get("finish_reason"):
        raise Interrupted("the stream ended before the reply did")
    choice |= {"message": message, "logprobs": {"content": tokens} if tokens else None}
    return json.dumps(whole | {"choices": [choice]}).encode()


_PIECES = frozenset({"delta", "message", "logprobs"})


def _add_delta(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add what one event holds of a message: texts grow, and so do the arguments of the tool."""
    for name, value in delta.items():
        if isinstance(value, str) and name != "role":
            message[name] = message.get(name, "") + value
    for call in (delta.get("tool_calls") or ())[:1]:
        function = call.get("function") or {}
        if not message.get("tool_calls"):
            message["tool_calls"] = [{"function": {"name": "", "arguments": ""}}]
        if not call.get("index"):  # the first tool
            known = message["tool_calls"][0]["function"]
            for name in known:
                known[name] += function.get(name) or ""


def is_filtered(finish: str) -> bool:
    """Whether a reason for the end of a reply names a filter, in the words of some provider."""
    return _FILTERED.search(finish) is not None


def _words(content: object) -> object:
    """The text of a message; some servers of thinking models send it in parts."""
    if not isinstance(content, list):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def _thoughts(message: Mapping[str, Any]) -> str:
    """What a server reports as thinking apart from the text of a message."""
    for name in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(thoughts := message.get(name), str) and thoughts.strip():
            return thoughts
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return "".join(
        piece["text"]
        for part in parts
        if part["type"] == "thinking" and isinstance(part.get("thinking"), list)
        for piece in part["thinking"]
        if isinstance(piece, dict) and isinstance(piece.get("text"), str)
    )


def _tool_call(message: Mapping[str, Any]) -> tuple[str, str]:
    """The name and the arguments of the first tool that a message calls; empty if it calls none."""
    calls = message.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and calls else message
    called = call.get("function") or message.get("function_call") or {}
    arguments = called.get("arguments") or ""
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return str(called.get("name") or ""), arguments


def read_probabilities(
    question: JudgeQuestion, text: str, logprobs: object, *, is_structured: bool, is_cut: bool
) -> tuple[dict[str, float] | None, str]:
    """The probabilities of a question's options in a reply, or why there are none.

    Both are empty if the server reports no log-probabilities, or the step has no options.
    """
    if not logprobs or not question.options:
        return None, ""
    position = question.read(text, is_structured=is_structured, is_cut=is_cut).position
    if position is None:
        return None, "The reply has no letter or word of a verdict at which they could be read."
    return option_probabilities(text, logprobs, options=question.options, position=position)


def option_probabilities(
    text: str, logprobs: object, *, options: Options, position: int
) -> tuple[dict[str, float] | None, str]:
    """Probabilities of the options at the token of `position`, over the options; or why not.

    An option that is missing among the reported alternatives gets 0. Together they need
    `LEAST_MASS`: otherwise something else was expected there, and the rest says little.
    """
    try:
        tokens = logprobs["content"]  # type: ignore[index]
        start = _beginning(text, "".join(token["token"] for token in tokens), position)
        if start is None:
            return None, "The reported tokens are not those of the reply."
        end = -start
        for token in tokens:
            end += len(token["token"])
            if end > position:
                break
        reported = [(str(top["token"]), float(top["logprob"])) for top in token["top_logprobs"]]
    except (TypeError, KeyError, ValueError, OverflowError, UnboundLocalError):
        return None, "The server reports log-probabilities in an unknown form."
    if not all(p <= _CERTAIN for _, p in reported):  # also true for values that are not numbers
        return None, "The server reports values that are no log-probabilities."
    is_small = text[position].islower()
    shares = {
        name: sum(math.exp(p) for token, p in reported if _begins(token, words, is_small))
        for name, words in options.items()
    }
    total = sum(shares.values())
    if total < LEAST_MASS:
        return None, f"The options have only {total:.1g} of the probability at the verdict."
    return {name: share / total for name, share in shares.items()}, ""


def _beginning(text: str, told: str, position: int) -> int | None:
    """Where a reply begins in the text of all tokens; None if that is not known.

    Some servers report the tokens of thoughts that they leave out of the reply, and some end with
    tokens that are no text, or report halves of a character.
    """
    if told.endswith(text):
        return len(told) - len(text)
    is_as_long = abs(len(told) - len(text)) <= _LONGEST_END
    return 0 if is_as_long and told.startswith(text[: position + 1]) else None


def _begins(token: str, words: Sequence[str], is_small: bool) -> bool:
    """Whether a token is an option, or the beginning of one that takes several tokens.

    Letters count as the reply writes them, because “a” is also a word.
    """
    bare = _MARKS.sub("", token)
    if all(len(word) == 1 for word in words):
        return bare in [word.lower() if is_small else word for word in words]
    return bool(bare) and any(word.upper().startswith(bare.upper()) for word in words)


def read_usage(body: Mapping[str, Any], *, is_written: bool = False) -> Usage | None:
    """Tokens as billed; None if they are unknown. Thinking counts as written text, because some
    servers leave it out of the completion and include it only in the total.

    `is_written`: the body has a text, so that a server which reports none written does not count.
    """
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return None
    prompt = _first(usage, "prompt_tokens", "input_tokens")
    completion = _first(usage, "completion_tokens", "output_tokens") or 0
    # No prompt is empty, so a server that reports none does not count.
    if not prompt:
        return None
    completion = max(completion, (_first(usage, "total_tokens") or 0) - prompt)
    cost = _stated_cost(usage)
    if max(prompt, completion) > _MOST_TOKENS:
        return None
    if is_written and not completion and cost is None:
        return None
    thought = max(
        _part(usage.get("completion_tokens_details"), "reasoning_tokens"),
        _part(usage.get("output_tokens_details"), "reasoning_tokens"),
    )
    cached = max(
        _part(usage.get("prompt_tokens_details"), "cached_tokens"),  # OpenAI, vLLM, most others
        _part(usage.get("input_tokens_details"), "cached_tokens"),
        _part(usage, "cached_tokens"),  # Moonshot, Together
        _part(usage, "prompt_cache_hit_tokens"),  # DeepSeek
        _part(usage, "cache_read_input_tokens"),  # Anthropic behind a gateway
        _part(body.get("timings"), "cache_n"),  # llama.cpp
    )
    return Usage(prompt, completion, thought, min(cached, prompt), cost)


def usage_of_error(content: bytes | str) -> Usage | None:
    """What the body of an error says that the request has used, which may be nothing."""
    try:
        body = body_value(content)
    except (ValueError, RecursionError):
        return None
    usage = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(usage, dict):
        return None
    if _first(usage, "prompt_tokens", "input_tokens") == 0:
        return Usage(0, _first(usage, "completion_tokens", "output_tokens") or 0)
    return read_usage(body)


def _stated_cost(usage: Mapping[str, Any]) -> Decimal | None:
    """US dollars that a gateway says it has charged; None if it says nothing. OpenRouter does.

    With a key of the user's own at the provider, what the provider charges is told apart.
    """
    amounts: list[Any] = [usage.get("cost")]
    if usage.get("is_byok") is True and isinstance(details := usage.get("cost_details"), dict):
        amounts.append(details.get("upstream_inference_cost") or 0)
    if not all(type(amount) in (int, float) and 0 <= amount <= _MOST_DOLLARS for amount in amounts):
        return None
    return sum((Decimal(str(amount)) for amount in amounts), start=Decimal(0))


def _number(value: object) -> Decimal | None:
    """A number of at least 0, which some gateways write as `400.0` or "400"; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and number >= 0 else None


def _first(counts: object, *names: str) -> int | None:
    """The tokens that are reported by the first of some names; None if that is no number."""
    known = counts if isinstance(counts, dict) else {}
    value = next((known[name] for name in names if known.get(name) is not None), None)
    number = _number(value)
    return None if number is None else int(min(number, Decimal(10 * _MOST_TOKENS)))


def _part(details: object, name: str) -> int:
    """A part of the tokens; 0 if the server does not report it."""
    tokens = _first(details, name) or 0
    return tokens if tokens <= _MOST_TOKENS else 0


def status_fault(
    status: int,
    content: bytes | str,
    retry_after: float | None = None,
    *,
    sent_as: int | None = None,
) -> BackendFault:
    """The fault of a refused request, by its status and the body of the error.

    `sent_as`: the status of the response, if the error states another one.
    """
    fault = _status_fault(status, content, retry_after, sent_as or status)
    fault.usage = usage_of_error(content)
    return fault


def _status_fault(
    status: int, content: bytes | str, retry_after: float | None, sent_as: int
) -> BackendFault:
    body = error_body(content)
    message = f"HTTP {sent_as}: {_message(body, content)}"
    if status == 402 or (status == 429 and body.get("code") == "insufficient_quota"):
        return NoAccess(f"The account has no quota left ({message}).", status=status)
    if status == 429:
        return RateLimited(message, status=status, retry_after=retry_after)
    if status >= 500 or status in {408, 409}:
        return ServerError(message, status=status, retry_after=retry_after)
    if status in {401, 403} or refuses_key(body):
        # A firewall in front of the server, or a text that is repeated, may concern one question.
        kind = NoAccess if status == 401 else Misconfigured
        return kind(
            f"The server refuses the key ({message}). Check the environment variable that "
            "the judge names.",
            status=status,
        )
    if status in {404, 405} or 300 <= status < 400 or refuses_model(body):
        return Misconfigured(
            f"The server knows no such model or address ({message}). Check the judge's model "
            "and base URL; the URL includes /v1.",
            status=status,
        )
    return Rejected(message, status=status)


def _message(body: ErrorBody, content: bytes | str) -> str:
    return short(str(body.get("message") or body_text(content) or "no message"))


def without_keys(content: bytes, keys: Iterable[str]) -> bytes:
    """Remove keys, because some servers repeat them in error messages, which are shown."""
    for key in keys:
        if len(key) >= _KEY_LENGTH:
            for form in ("utf-8", "utf-16-le", "utf-16-be"):
                content = content.replace(key.encode(form), "[key]".encode(form))
    return content


def storable(text: str) -> str:
    """Remove NUL, and replace halves of surrogate pairs, which no database can store.

    A question mark in their place would make a sentence a question. Lines end in LF, because a lone
    CR would end a row when an export is opened.
    """
    text = text.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")
    return _HALF.sub("\ufffd", text)


def short(text: str) -> str:
    """Shorten an error, because a server may echo the whole prompt or a page of HTML."""
    text = " ".join(storable(text).split())
    return text if len(text) <= 200 else text[:199] + "…"
