"""What a file is by its content, whatever its name says."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from studies.media import pictures, sounds
from studies.media.errors import BadMedia

MOST_BYTES = {"image": 5 * 1024**2, "audio": 20 * 1024**2}
LARGEST = max(MOST_BYTES.values())
# The ending of a file in an export, by its media type.
ENDINGS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "audio/mp4": "m4a",
}
TYPES = {ending: kind for kind, ending in ENDINGS.items()}
_TAKEN = "Use PNG, JPEG or WebP for a picture, and MP3, Ogg, WAV or M4A for a sound."
_CLEANERS: dict[str, Callable[[bytes], bytes]] = {
    "image/png": pictures.clean_png,
    "image/jpeg": pictures.clean_jpeg,
    "image/webp": pictures.clean_webp,
    "audio/mpeg": sounds.clean_mp3,
    "audio/ogg": sounds.clean_tags,
    "audio/wav": sounds.clean_wav,
    "audio/mp4": sounds.clean_tags,
}


@dataclass(frozen=True)
class MediaContent:
    """A file as it is kept: without notes about places, people and programs."""

    type: str
    data: bytes
    width: int | None = None
    height: int | None = None
    seconds: float | None = None

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def facts(self) -> dict[str, Any]:
        """What an item keeps of it."""
        own = {"sha256": self.sha256, "type": self.type, "size": len(self.data)}
        if self.seconds is not None:
            return own | {"seconds": self.seconds}
        return own | {"width": self.width, "height": self.height}


def read_content(data: bytes) -> MediaContent:
    """A file that may be shown and sent, checked. Raises `BadMedia`."""
    kind = _type_of(data)
    group = kind.partition("/")[0]
    if len(data) > MOST_BYTES[group]:
        noun = "a picture" if group == "image" else "a sound"
        raise BadMedia(
            f"has {len(data) / 2**20:.1f} MB; the limit for {noun} is "
            f"{MOST_BYTES[group] // 2**20} MB.",
            "Save it smaller.",
        )
    kept = _CLEANERS[kind](data)
    if group == "audio":
        return MediaContent(kind, kept, seconds=sounds.seconds_of(kept))
    width, height = pictures.size_of(kept, kind)
    return MediaContent(kind, kept, width, height)


def _type_of(data: bytes) -> str:
    """The media type by the first bytes."""
    if data.startswith(pictures.PNG):
        return "image/png"
    if data.startswith(pictures.JPEG):
        return "image/jpeg"
    if data[:4] == b"RIFF" and data[8:12] == pictures.WEBP:
        return "image/webp"
    if data[:4] == b"RIFF" and data[8:12] == sounds.WAVE:
        return "audio/wav"
    if data.startswith(b"OggS"):
        return "audio/ogg"
    if data[4:12] == b"ftypM4A ":
        return "audio/mp4"
    if data.startswith(b"ID3") or (data[:1] == b"\xff" and data[1:2] and data[1] & 0xE6 == 0xE2):
        return "audio/mpeg"
    raise BadMedia(_what_else(data), _TAKEN)


def _what_else(data: bytes) -> str:
    if not data:
        return "is empty."
    if data.startswith(b"GIF8"):
        return "is a GIF, which may move."
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return "is SVG, HTML or XML, which can hold programs."
    if data[4:8] == b"ftyp":
        return "is a film, or a sound in the container of a film."
    return "is no picture or sound that is taken here."
