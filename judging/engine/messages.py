"""Messages to a model with the hash that identifies them, and parts of replies."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from judging.engine.thoughts import thoughts_in, without_marks

MessageRole = Literal["system", "user", "assistant"]
LETTERS_PER_TOKEN = 4  # approximate, in most languages


@dataclass(frozen=True, slots=True)
class Attachment:
    """A picture or sound at a place of a message's text.

    `tokens` is approximate, because providers count differently. `load` reads its `size` bytes,
    which only a request keeps in memory.
    """

    place: int
    sha256: str
    type: str
    tokens: int
    load: Callable[[], bytes] = field(compare=False, repr=False)
    size: int = 0

    def base64(self) -> str:
        """Its bytes as a request holds them."""
        return base64.b64encode(self.load()).decode()


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; `media` are in the order of their places."""

    role: MessageRole
    text: str
    media: tuple[Attachment, ...] = ()

    def parts(self) -> Iterator[str | Attachment]:
        """Its text in pieces, with the pictures and sounds between them."""
        done = 0
        for medium in self.media:
            if piece := self.text[done : medium.place]:
                yield piece
            yield medium
            done = medium.place
        if piece := self.text[done:]:
            yield piece


Messages = tuple[Message, ...]


def from_user(text: str) -> Messages:
    """A prompt that is one message."""
    return (Message("user", text),)


def with_replies(messages: Messages, replies: Sequence[str]) -> Messages:
    """A conversation up to the step after `replies`, each of which follows a user message.

    Messages before the first user message open every step.
    """
    asked = [place for place, message in enumerate(messages) if message.role == "user"]
    spoken = list(messages[: asked[0] + 1])
    for reply, place in zip(replies, asked[1:], strict=False):
        spoken += [Message("assistant", reply), messages[place]]
    return tuple(spoken)


def only_step(messages: Messages, step: int) -> Messages:
    """A conversation with one user message, and what comes before the first one."""
    asked = [message for message in messages if message.role == "user"]
    before = messages[: messages.index(asked[0])]
    return (*before, asked[step])


def prompt_sha256(messages: Sequence[Message]) -> str:
    """A hash that identifies a prompt; for a single user message, the hash of its text.

    Pictures and sounds count by checksum and place.
    """
    if any(message.media for message in messages):
        parts = [
            [
                message.role,
                message.text,
                [[medium.place, medium.sha256] for medium in message.media],
            ]
            for message in messages
        ]
        text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
    if len(messages) == 1 and messages[0].role == "user":
        return hashlib.sha256(messages[0].text.encode()).hexdigest()
    pairs = [[message.role, message.text] for message in messages]
    text = json.dumps(pairs, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def as_text(messages: Sequence[Message]) -> str:
    """A prompt for readers:

    a single user message unchanged, several with their roles. Pictures and sounds are shown by
    checksum.
    """
    if len(messages) == 1 and messages[0].role == "user":
        return _readable(messages[0])
    return "\n\n".join(f"[{message.role}]\n{_readable(message)}" for message in messages)


def _readable(message: Message) -> str:
    return "".join(
        part if isinstance(part, str) else f" (SHA-256 {part.sha256})" for part in message.parts()
    )


def length(messages: Sequence[Message]) -> int:
    """The length of a prompt in characters; pictures and sounds count by their tokens."""
    return sum(
        len(message.text) + sum(medium.tokens * LETTERS_PER_TOKEN for medium in message.media)
        for message in messages
    )


# Types of pictures and sounds in chat completions; for sounds, with the name used there.
MEDIA = {
    "image/png": "",
    "image/jpeg": "",
    "image/webp": "",
    "audio/wav": "wav",
    "audio/mpeg": "mp3",
}


def chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """A prompt; a message with pictures or sounds is a list of parts in order."""
    return [{"role": message.role, "content": _content(message)} for message in messages]


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.media:
        return message.text
    return [_part(part) for part in message.parts()]


def _part(part: str | Attachment) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    data = part.base64()
    if sound := MEDIA[part.type]:
        return {"type": "input_audio", "input_audio": {"data": data, "format": sound}}
    return {"type": "image_url", "image_url": {"url": f"data:{part.type};base64,{data}"}}


_REFUSAL = re.compile(
    r"\b(?:i\s+(?:can(?:no|')?t|can\s+not|won't|will\s+not|am\s+unable|am\s+not\s+able"
    r"|must\s+decline|refuse)"
    r"|i'm\s+(?:sorry|unable|not\s+able)|i\s+am\s+sorry|i\s+apologi[sz]e|as\s+an\s+ai"
    r"|unable\s+to\s+(?:assist|help|comply|provide|determine|make))\b",
    re.IGNORECASE,
)

# A text for people that is a refusal: being sorry for somebody, or “I can't wait”, is none.
_DECLINES = re.compile(
    r"(?:\bi\s+(?:can(?:no|')?t|can\s+not|won't|will\s+not)|\bi(?:'m|\s+am)\s+(?:unable|not\s+able)\s+to"
    r"|\bunable\s+to)\s+(?:\w+ly\s+)?"
    r"(?:assist|help(?!\s+(?:but|\w+ing\b))|comply|provide|answer|respond|fulfil+|engage|discuss"
    r"|write|create|generate|continue\s+with|do\s+(?:that|this)|give|offer)\b"
    r"|\bi\s+(?:must\s+decline|have\s+to\s+decline|decline\s+to|refuse\s+to)\b",
    re.IGNORECASE,
)


def without_thoughts(text: str, *, blank: str = " ") -> str:
    """Blank the model's thoughts, and tokens around its answer; the rest keeps its position."""
    thoughts, frames = thoughts_in(text)
    pieces: list[str] = []
    last = 0
    for start, end in sorted((*thoughts, *frames)):
        pieces += text[last:start], blank * (end - start)
        last = end
    return "".join((*pieces, text[last:]))


def split_thoughts(text: str) -> tuple[str, str]:
    """The model's thoughts, and the rest of a reply, for readers."""
    thoughts = [without_marks(text[start:end]).strip() for start, end in thoughts_in(text)[0]]
    return "\n\n".join(filter(None, thoughts)), without_thoughts(text, blank="").strip()


# “[[A]] or”, “A, B”: another option was to follow.
_OPTION = r"[\[(\"'*_]{0,4}(?:(?:option|response|answer|antwort)\s+)?(?<![A-Za-z])[ABC](?![A-Za-z])"
_JOINED = re.compile(
    rf"{_OPTION}(?:[\])\"'*_]{{0,4}}[ \t]*(?:\[\[\d{{1,3}}%?\]\])?\s*"
    r"(?:[,;/|]|or?|a(?:nd?)?|o(?:de?)?r?|und?|ou?|vs?\.?|but?)|[ \t]+)"
    r"\s*[\[(\"'*_]{0,4}\Z",
    re.IGNORECASE,
)
# “A) Take the bus”, “(A) Take the bus”, “- [[A]]: concise”: an entry of a list of options.
_LISTED = r"[\[(*_\"']{0,4}[ABC][\])*_\"']{0,4}\s*(?:[).:=]|(?<![\]\s])\s*[–-])"
_ENTRY = re.compile(
    r"[ \t>*•–-]*(?:\d[.)])?\s*(?:(?:option|response|answer|assistant|antwort)\s+)?"
    rf"(?:{_LISTED}\s*\Z|(?:{_LISTED}|[\[(][ABC][\])])[*_]*[ \t]+\S)",
    re.IGNORECASE,
)


def without_cut_end(text: str) -> str:
    """A truncated reply without the last word or number, which may be incomplete.

    Nor with the list of options in which it was cut off, because the others would have followed.
    """
    end = len(text)
    if text[-1:] in (".", ",") and text[-2:-1].isdigit():
        end -= 1  # the decimals may be missing
    while end and text[end - 1].isalnum():
        end -= 1
    if joined := _JOINED.search(text[-200:]):
        end = min(end, max(0, len(text) - 200) + joined.start())
    lines = text[:end].splitlines(keepends=True)
    entries = len(lines)
    while entries and (
        not re.search(r"\w", lines[entries - 1]) or _ENTRY.match(lines[entries - 1])
    ):
        entries -= 1
    if any(_ENTRY.match(line) for line in lines[entries:]):
        return "".join(lines[:entries])
    return text[:end]


def looks_like_refusal(text: str) -> bool:
    """Whether a reply without a verdict declines to judge."""
    return _REFUSAL.search(without_thoughts(text).replace("’", "'")) is not None


def declines_to_help(text: str) -> bool:
    """Whether a text that was written for people declines what it was asked for."""
    return _DECLINES.search(without_thoughts(text).replace("’", "'")) is not None


def is_empty(text: str) -> bool:
    """Whether a reply has only thoughts, or nothing at all."""
    return not without_thoughts(text).strip()
