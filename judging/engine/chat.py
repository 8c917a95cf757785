"""Prompts as chat completions and chat templates take them."""

import base64
from collections.abc import Sequence
from typing import Any

from judging.engine.messages import Attachment, Message

# The types of pictures and sounds that a chat completion can hold; of a sound, its name there.
MEDIA = {
    "image/png": "",
    "image/jpeg": "",
    "image/webp": "",
    "audio/wav": "wav",
    "audio/mpeg": "mp3",
}


def chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """A prompt; a message with pictures or sounds is a list of parts, in their places."""
    return [{"role": message.role, "content": _content(message)} for message in messages]


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.media:
        return message.text
    return [_part(each) for each in message.parts()]


def _part(part: str | Attachment) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    data = base64.b64encode(part.load()).decode()
    if sound := MEDIA[part.type]:
        return {"type": "input_audio", "input_audio": {"data": data, "format": sound}}
    return {"type": "image_url", "image_url": {"url": f"data:{part.type};base64,{data}"}}
