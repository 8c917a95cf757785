"""Claude models through Anthropic's own library."""

import base64
from collections.abc import Callable
from functools import partial
from typing import Any

from extras.provider_libraries.clients import (
    ProviderBackend,
    cause,
    count,
    http_client,
    refusal_or_fault,
    require,
    system_and_turns,
)
from judging.backends.backend import (
    ANTHROPIC_URL,
    BackendKind,
    Capabilities,
    JudgeSettings,
    anthropic_headers,
    api_key,
    secret_headers,
)
from judging.backends.completions import short, storable
from judging.backends.extra_fields import EXTRA_BODY, EXTRA_FIELDS
from judging.backends.parameters import FORM, prepared, schema_of, without
from judging.engine.interface import (
    Backend,
    Garbage,
    JudgeQuestion,
    NoAccess,
    Parameters,
    Reply,
    Usage,
)
from judging.engine.messages import Attachment, Message
from judging.errors import FailureReason, InvalidValue

_HOTTEST = 1.0
_TOO_HOT = FailureReason(
    "too_hot",
    "{field} must be at most 1 with the backend anthropic, not {value}: Claude models "
    "have no higher one.",
)
_NO_CREDIT = "credit balance is too low"  # the only sign of it: the status is 400
_BY_ITSELF = ("temperature", "top_p")  # the library does not know these for newer models


class AnthropicBackend(ProviderBackend):
    async def ask(self, question: JudgeQuestion, *, seed: int, parameters: Parameters) -> Reply:
        from anthropic import APIStatusError

        try:
            arguments = await prepared(question, partial(_arguments, question, parameters))
            message = await self._client.messages.create(**arguments)
        except APIStatusError as error:
            if _NO_CREDIT in error.message:
                raise NoAccess(
                    f"The account has no credit left ({short(error.message)}).", status=402
                ) from error
            return refusal_or_fault(
                error.response,
                sent=parameters,
                adjustments=self._adjustments,
                request_id=error.request_id or "",
            )
        except Exception as error:
            if fault := cause(error):
                raise fault from None
            raise Garbage("the answer is no message") from error
        return _read(message, is_structured="output_config" in parameters.values)

    async def close(self) -> None:
        await self._client.close()


def _arguments(question: JudgeQuestion, parameters: Parameters) -> dict[str, Any]:
    values = without(parameters.values, EXTRA_FIELDS)
    more = {name: values.pop(name) for name in _BY_ITSELF if name in values}
    system, turns = system_and_turns(question)
    arguments: dict[str, Any] = {
        "messages": [{"role": turn.role, "content": _content(turn)} for turn in turns],
        "extra_body": more | parameters.values.get(EXTRA_BODY, {}),
        **values,
    }
    if system:
        arguments["system"] = system
    if "output_config" in values:
        from anthropic import transform_schema

        # Their API refuses the smallest and largest number; this turns them into a description.
        schema = transform_schema(schema_of(question)["json_schema"]["schema"])
        arguments["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return arguments


def _content(turn: Message) -> str | list[dict[str, Any]]:
    return [_part(each) for each in turn.parts()] if turn.media else turn.text


def _part(part: str | Attachment) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    data = base64.b64encode(part.load()).decode()
    source = {"type": "base64", "media_type": part.type, "data": data}
    return {"type": "image", "source": source}


def _read(message: Any, *, is_structured: bool) -> Reply:
    """The reply in an answer of the library. Raises `Garbage`."""
    try:
        text = "".join(block.text for block in message.content if block.type == "text")
        thoughts = "".join(b.thinking for b in message.content if b.type == "thinking")
        stop, usage = message.stop_reason, message.usage
        fresh, written = usage.input_tokens, usage.output_tokens
    except (AttributeError, TypeError) as error:
        raise Garbage("the answer is no message", status=200) from error
    known = None
    if isinstance(fresh, int) and isinstance(written, int):
        cached = count(usage.cache_read_input_tokens)
        stored = count(usage.cache_creation_input_tokens)
        thought = count(getattr(usage.output_tokens_details, "thinking_tokens", 0))
        if fresh + cached + stored:  # no prompt is empty
            known = Usage(
                fresh + cached + stored, written, min(thought, written), cached_tokens=cached
            )
    return Reply(
        text=storable(text),
        refused=stop == "refusal",
        truncated=stop in ("max_tokens", "model_context_window_exceeded"),
        thoughts=storable(thoughts),
        is_structured=is_structured,
        usage=known,
        model=storable(str(message.model or ""))[:200],
        request_id=storable(str(message.id or ""))[:200],
    )


class AnthropicKind(BackendKind):
    name = "anthropic"
    label = "Anthropic"
    capabilities = Capabilities(
        needs_endpoint=True,
        structured=True,
        media=frozenset({"image/png", "image/jpeg", "image/webp"}),
    )
    default_base_url = ANTHROPIC_URL
    packages = ("anthropic", "httpx2")
    may_leave_out = ("temperature", "top_p")
    takes_extra_fields = True

    def check(self, judge: JudgeSettings) -> None:
        if judge.temperature > _HOTTEST:
            raise InvalidValue("temperature", _TOO_HOT, value=judge.temperature)

    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        require("anthropic", "anthropic", judge=judge.name)
        key, secret = api_key(judge), secret_headers(judge)
        wanted = self.intended_parameters(judge)

        def make() -> Backend:
            from anthropic import AsyncAnthropic

            client = AsyncAnthropic(
                api_key=key or "none",  # without one the library looks for others
                base_url=judge.base_url,
                timeout=judge.timeout_seconds,
                max_retries=0,
                open_telemetry=False,  # prompts stay out of traces
                http_client=http_client(judge, key=key, secret=secret),
            )
            return AnthropicBackend(wanted, client)

        return make

    def list_request(self, judge: JudgeSettings) -> tuple[str, dict[str, str]]:
        address = f"{judge.base_url.rstrip('/')}/v1/models?limit=1000"
        return address, anthropic_headers(api_key(judge))

    def intended_parameters(self, judge: JudgeSettings) -> Parameters:
        values: dict[str, Any] = {
            "model": judge.model,
            "max_tokens": judge.max_tokens,
            "temperature": judge.temperature,
            "top_p": judge.top_p,
        }
        if judge.structured:
            values["output_config"] = FORM
        return Parameters(without(values, judge.left_out) | judge.extra_fields.stored)


ANTHROPIC = AnthropicKind()
