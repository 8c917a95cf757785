"""The parameters of requests to a server: as wanted, and as the server accepts them."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from judging.backends.error_messages import ErrorBody, refused_parameters
from judging.engine.chat import chat
from judging.engine.interface import JudgeQuestion, Parameters

T = TypeVar("T")
SEED = "one for each question"  # stands for the number in the record
FORM = "json_schema: answer, and certainty where it is asked for"  # stands for the schema
MOST_LOGPROBS, FEW_LOGPROBS = 20, 5
LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_OPTIONAL = ("seed", "response_format", "temperature", "top_p")


def schema_of(question: JudgeQuestion) -> dict[str, Any]:
    """The JSON schema of a reply that structured outputs enforce."""
    properties = question.protocol.form()
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


def request_body(
    values: Mapping[str, Any], question: JudgeQuestion, *, seed: int
) -> dict[str, Any]:
    """The body of a chat completion, with the seed's number and the reply's form filled in."""
    body = {**values, "messages": chat(question.asking)}
    if "seed" in body:
        body["seed"] = seed
    if "response_format" in body:
        body["response_format"] = schema_of(question)
    return body


async def prepared(question: JudgeQuestion, write: Callable[[], T]) -> T:
    """What `write` makes of a question; pictures and sounds are read in another thread."""
    has_media = any(message.media for message in question.messages)
    return await asyncio.to_thread(write) if has_media else write()


class Adjustments:
    """The parameters sent to a server: all wanted ones except those that it refused."""

    def __init__(self, wanted: Parameters) -> None:
        self._wanted = wanted
        self.current = wanted

    def learn(self, error: ErrorBody, sent: Parameters) -> bool:
        """Learn from an error about what was `sent`; return whether trying again may help.

        Requests that were already under way with a refused parameter are tried again too.
        """
        refused = refused_parameters(error, sent=sent.values)
        if any(self.current.values.get(name) != sent.values[name] for name in refused):
            return True  # learnt since the request was sent
        values = dict(self.current.values)
        for name in refused:
            if name in _OPTIONAL:
                del values[name]
            elif name in ("logprobs", "top_logprobs"):
                # Some servers give fewer alternatives, some give none.
                if values.get("top_logprobs", 0) > FEW_LOGPROBS:
                    values["top_logprobs"] = FEW_LOGPROBS
                else:
                    for each in ("logprobs", "top_logprobs", "response_logprobs"):
                        values.pop(each, None)
            elif name in LIMITS and name in self._wanted.values:
                values[LIMITS[name]] = values.pop(name)  # of two names, the second is last
        if values == self.current.values:
            return False
        self.current = Parameters(values)
        return True


def differences(wanted: Mapping[str, Any], sent: Mapping[str, Any]) -> list[str]:
    """Sentences on how the sent parameters differ from the wanted ones.

    The limit of tokens under its other name is the same limit, so it is not a difference.
    """
    words = []
    for name, value in wanted.items():
        if name in sent:
            if sent[name] != value:
                words.append(f"with {name} {sent[name]} instead of {value}")
        elif LIMITS.get(name) not in sent:
            words.append(f"without {name}")
    return words
