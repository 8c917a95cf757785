"""Messages to a model, and the hash that identifies them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    text: str


Messages = tuple[Message, ...]


def from_user(text: str) -> Messages:
    """A prompt that is one message."""
    return (Message("user", text),)


def with_replies(messages: Messages, replies: Sequence[str]) -> Messages:
    """A conversation up to the step after `replies`, each of which follows a message of the user.

    What comes before the first message of the user opens every step.
    """
    asked = [place for place, message in enumerate(messages) if message.role == "user"]
    spoken = list(messages[: asked[0] + 1])
    for reply, place in zip(replies, asked[1:], strict=False):
        spoken += [Message("assistant", reply), messages[place]]
    return tuple(spoken)


def only_step(messages: Messages, step: int) -> Messages:
    """A conversation of one message of the user, with what comes before the first one."""
    asked = [message for message in messages if message.role == "user"]
    before = messages[: messages.index(asked[0])]
    return (*before, asked[step])


def prompt_sha256(messages: Sequence[Message]) -> str:
    """Identifies a prompt. That of one user message is the hash of its text."""
    if len(messages) == 1 and messages[0].role == "user":
        return hashlib.sha256(messages[0].text.encode()).hexdigest()
    pairs = [[message.role, message.text] for message in messages]
    text = json.dumps(pairs, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def as_text(messages: Sequence[Message]) -> str:
    """A prompt for readers: one user message as it is, several with their roles."""
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].text
    return "\n\n".join(f"[{message.role}]\n{message.text}" for message in messages)


def chat(messages: Sequence[Message]) -> list[dict[str, str]]:
    """A prompt as chat completions and chat templates take it."""
    return [{"role": message.role, "content": message.text} for message in messages]


def length(messages: Sequence[Message]) -> int:
    """The letters of a prompt."""
    return sum(len(message.text) for message in messages)
