"""Reads results of promptfoo in JSON. A result holds the prompt that was sent and its reply."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from extras.packs.raw_replies import COMPARED, RawReply
from judging.engine.messages import Message, prompt_sha256
from studies.importers.files.faults import Fault

_FAILED = 503  # stands for the status of a result without a reply


def looks_alike(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document holds results."""
    return bool(_results(document)) or "evalId" in document


def read(name: str, document: Mapping[str, Any]) -> Iterator[RawReply | Fault]:
    """Every reply of a document."""
    stated = _stated_by_provider(document)
    for number, result in enumerate(_results(document), start=1):
        try:
            yield _reply(name, number, result, stated)
        except (KeyError, TypeError, ValueError, AttributeError):
            message = f"Result {number}: it has no prompt, or no response that can be read."
            remedy = "Write the results with “promptfoo eval --output results.json”."
            yield Fault(None, "", "not a result", message, remedy, file=name)


def _results(document: Mapping[str, Any]) -> list[Any]:
    found = document.get("results")
    if isinstance(found, dict):
        found = found.get("results")
    return found if isinstance(found, list) else []


def _reply(
    name: str,
    number: int,
    result: Mapping[str, Any],
    stated: Mapping[str, Mapping[str, Any]],
) -> RawReply:
    response = result.get("response") or {}
    output = response.get("output")
    has_reply = output is not None and not response.get("error")
    problem = response.get("error") or result.get("error") or "the result has no output"
    content = _completion(output, response) if has_reply else {"error": {"message": str(problem)}}
    identity = f"promptfoo:{result['id']}"
    return RawReply(
        file=name,
        where=f"Result {number}",
        line=None,
        custom_id=str((result.get("vars") or {}).get("custom_id") or ""),
        prompt_sha256=prompt_sha256(_sent(result["prompt"]["raw"])),
        identity=identity,
        status=200 if has_reply else _FAILED,
        content=json.dumps(content),
        request_id=identity,
        stated=stated.get(_provider_id(result.get("provider")), {}),
    )


def _sent(raw: str) -> list[Message]:
    """The messages of a prompt, which is a text, or a list of messages as JSON."""
    try:
        found = json.loads(raw)
        return [Message(each["role"], str(each["content"])) for each in found]
    except (ValueError, KeyError, TypeError, RecursionError):
        return [Message("user", raw)]


def _completion(output: Any, response: Mapping[str, Any]) -> dict[str, Any]:
    """A response as a chat completion. promptfoo parses an output that is JSON."""
    text = output if isinstance(output, str) else json.dumps(output)
    completion: dict[str, Any] = {
        "choices": [
            {
                "message": {"content": text},
                "finish_reason": response.get("finishReason") or "stop",
            }
        ]
    }
    usage = response.get("tokenUsage") or {}
    # A reply from promptfoo's own cache states only how many tokens it had.
    if isinstance(usage.get("prompt"), int) and isinstance(usage.get("completion"), int):
        thought = (usage.get("completionDetails") or {}).get("reasoning")
        completion["usage"] = {
            "prompt_tokens": usage["prompt"],
            "completion_tokens": usage["completion"],
            "completion_tokens_details": {"reasoning_tokens": thought},
        }
    return completion


def _stated_by_provider(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The parameters of each provider, as far as the configuration in the results states them."""
    stated: dict[str, dict[str, Any]] = {}
    config = document.get("config")
    providers = config.get("providers") if isinstance(config, dict) else None
    for provider in providers if isinstance(providers, list) else []:
        options = provider.get("config") if isinstance(provider, dict) else None
        if isinstance(options, dict):
            stated[_provider_id(provider)] = {
                key: options[key] for key in COMPARED if options.get(key) is not None
            }
    return stated


def _provider_id(provider: Any) -> str:
    return str(provider.get("id") if isinstance(provider, dict) else provider or "")
