"""Gemini models through Google's own library."""

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

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
    GEMINI_URL,
    NO_PROBABILITIES,
    WITH_REPLY,
    BackendKind,
    Capabilities,
    JudgeSettings,
    api_key,
    secret_headers,
)
from judging.backends.completions import read_probabilities, storable
from judging.backends.error_messages import error_body
from judging.backends.extra_fields import EXTRA_FIELDS
from judging.backends.parameters import (
    FORM,
    MAY_BE_LEFT_OUT,
    MOST_LOGPROBS,
    SEED,
    prepared,
    schema_of,
    without,
)
from judging.engine.interface import Backend, Garbage, JudgeQuestion, Parameters, Reply, Usage
from judging.engine.messages import Attachment

if TYPE_CHECKING:
    from google.genai.types import GenerateContentResponse, Part

# Gemini has a name of its own for one type.
_NAMES = {"audio/mpeg": "audio/mp3"}
_ROLES = {"user": "user", "assistant": "model"}
_BLOCKED = frozenset({"SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "RECITATION"})
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


class GeminiBackend(ProviderBackend):
    async def ask(self, question: JudgeQuestion, *, seed: int, parameters: Parameters) -> Reply:
        from google.genai.errors import APIError

        try:
            arguments = await prepared(question, partial(_arguments, question, seed, parameters))
            response = await self._client.aio.models.generate_content(**arguments)
        except APIError as error:
            return refusal_or_fault(
                error.response,  # type: ignore[arg-type]
                sent=parameters,
                adjustments=self._adjustments,
                wait=_delay(error.response.content),
            )
        except Exception as error:
            if fault := cause(error):
                raise fault from None
            raise Garbage("the answer is no content", status=200) from error
        return _read(response, question, is_structured="response_json_schema" in parameters.values)

    async def close(self) -> None:
        await self._client.aio.aclose()


def _arguments(question: JudgeQuestion, seed: int, parameters: Parameters) -> dict[str, Any]:
    from google.genai import types

    values = without(parameters.values, EXTRA_FIELDS)  # the client has them
    model = values.pop("model")
    system, turns = system_and_turns(question)
    if "seed" in values:
        values["seed"] = seed
    if "response_json_schema" in values:
        values["response_mime_type"] = "application/json"
        values["response_json_schema"] = schema_of(question)["json_schema"]["schema"]
    return {
        "model": model,
        "contents": [
            types.Content(role=_ROLES[turn.role], parts=[_part(part) for part in turn.parts()])
            for turn in turns
        ],
        "config": types.GenerateContentConfig(
            system_instruction=system or None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            **values,
        ),
    }


def _part(part: str | Attachment) -> "Part":
    from google.genai import types

    if isinstance(part, str):
        return types.Part(text=part)
    return types.Part.from_bytes(data=part.load(), mime_type=_NAMES.get(part.type, part.type))


def _read(
    response: "GenerateContentResponse", question: JudgeQuestion, *, is_structured: bool
) -> Reply:
    """The reply in an answer of the library. Raises `Garbage`."""
    candidate = response.candidates[0] if response.candidates else None
    blocked = response.prompt_feedback and response.prompt_feedback.block_reason
    if candidate is None and not blocked:
        raise Garbage("the answer holds no candidate", status=200)
    parts = (candidate.content.parts or []) if candidate and candidate.content else []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    thoughts = "".join(part.text for part in parts if part.text and part.thought)
    finish = candidate.finish_reason.value if candidate and candidate.finish_reason else ""
    is_cut = finish == "MAX_TOKENS"
    probabilities, without = read_probabilities(
        question,
        text,
        _as_of_completions(candidate),
        is_structured=is_structured,
        is_cut=is_cut,
    )
    return Reply(
        text=storable(text or (f"Blocked by the provider: {blocked.value}." if blocked else "")),
        refused=bool(blocked) or finish in _BLOCKED,
        truncated=is_cut,
        thoughts=storable(thoughts),
        is_structured=is_structured,
        usage=_usage(response),
        model=storable(response.model_version or "")[:200],
        request_id=storable(response.response_id or "")[:200],
        probabilities=probabilities,
        no_probabilities=without,
    )


def _usage(response: "GenerateContentResponse") -> Usage | None:
    """Tokens as billed; thinking is billed as written text."""
    told = response.usage_metadata
    if told is None or not told.prompt_token_count:
        return None
    thought = count(told.thoughts_token_count)
    return Usage(
        count(told.prompt_token_count),
        count(told.candidates_token_count) + thought,
        thought,
        cached_tokens=min(count(told.cached_content_token_count), count(told.prompt_token_count)),
    )


def _as_of_completions(candidate: Any) -> object:
    """Log-probabilities in the form of chat completions; None if there are none."""
    result = getattr(candidate, "logprobs_result", None)
    if result is None or not result.chosen_candidates or not result.top_candidates:
        return None
    return {
        "content": [
            {
                "token": chosen.token,
                "top_logprobs": [
                    {"token": top.token, "logprob": top.log_probability}
                    for top in tops.candidates or []
                ],
            }
            for chosen, tops in zip(result.chosen_candidates, result.top_candidates, strict=False)
        ]
    }


def _delay(content: bytes) -> float | None:
    """Seconds to wait, which the body of an error names."""
    details = error_body(content).get("details")
    for detail in details if isinstance(details, list) else []:
        told = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(told, str) and (found := _DELAY.fullmatch(told)):
            return float(found[1])
    return None


class GeminiKind(BackendKind):
    name = "gemini"
    label = "Gemini"
    capabilities = Capabilities(
        needs_endpoint=True,
        structured=True,
        probabilities=frozenset({WITH_REPLY}),
        media=frozenset(
            {"image/png", "image/jpeg", "image/webp", "audio/wav", "audio/mpeg", "audio/ogg"}
        ),
    )
    default_base_url = GEMINI_URL
    packages = ("google-genai", "httpx2")
    may_leave_out = MAY_BE_LEFT_OUT
    takes_extra_fields = True

    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        require("google-genai", "google.genai", judge=judge.name)
        key, secret = api_key(judge), secret_headers(judge)
        wanted = self.intended_parameters(judge)

        def make() -> Backend:
            from google.genai import Client, types

            options = types.HttpOptions(
                base_url=judge.base_url,
                timeout=round(judge.timeout_seconds * 1000),
                retry_options=types.HttpRetryOptions(attempts=1),
                httpx_async_client=http_client(judge, key=key, secret=secret),
                extra_body=dict(judge.extra_fields.body) or None,
            )
            # Without a key the library looks for others.
            client = Client(vertexai=False, api_key=key or "none", http_options=options)
            return GeminiBackend(wanted, client)

        return make

    def list_request(self, judge: JudgeSettings) -> tuple[str, dict[str, str]]:
        address = f"{judge.base_url.rstrip('/')}/v1beta/models?pageSize=1000"
        return address, {"x-goog-api-key": api_key(judge)}

    def intended_parameters(self, judge: JudgeSettings) -> Parameters:
        values: dict[str, Any] = {
            "model": judge.model,
            "max_output_tokens": judge.max_tokens,
            "temperature": judge.temperature,
            "top_p": judge.top_p,
            "seed": SEED,
        }
        if judge.probabilities != NO_PROBABILITIES:
            values |= {"response_logprobs": True, "logprobs": MOST_LOGPROBS}
        if judge.structured:
            values["response_json_schema"] = FORM
        return Parameters(without(values, judge.left_out) | judge.extra_fields.stored)


GEMINI = GeminiKind()
