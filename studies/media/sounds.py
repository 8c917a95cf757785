"""Sounds by their content: MP3, Ogg (Opus, Vorbis), WAV and M4A, without their tags."""

import io
from collections.abc import Callable
from typing import Any

from studies.media.errors import BadMedia
from studies.media.riff import chunks_of, riff

MOST_SECONDS = 600
WAVE = b"WAVE"
_HEARD_IN_WAV = {b"fmt ", b"fact", b"data"}
# Where QuickTime and 3GPP keep the place of a recording, which is outside the tags.
_PLACES = (b"\xa9xyz", b"loci")


def clean_wav(data: bytes) -> bytes:
    return riff(WAVE, [chunk for chunk in chunks_of(data) if chunk[0] in _HEARD_IN_WAV])


def clean_mp3(data: bytes) -> bytes:
    from mutagen import apev2, id3  # Here, because only imports with sounds need it.

    return _changed(data, lambda file: (apev2.delete(file), id3.delete(file)))


def clean_tags(data: bytes) -> bytes:
    """Without the tags of an Ogg or MP4 file."""
    if any(mark in data for mark in _PLACES) and data[4:8] == b"ftyp":
        raise BadMedia("holds the place of the recording.", "Remove it, and import it again.")
    sound = _opened(data)
    return _changed(data, sound.delete) if sound.tags else data


def seconds_of(data: bytes) -> float:
    """The length of a sound. Raises `BadMedia` if it has none or is too long."""
    info = _opened(data).info
    seconds = float(info.length)
    if seconds <= 0 or getattr(info, "sketchy", False):
        raise _damaged()
    if seconds > MOST_SECONDS:
        raise BadMedia(
            f"is {seconds / 60:.0f} minutes long; the limit is {MOST_SECONDS // 60} minutes.",
            "Cut it, or make several items of it.",
        )
    return round(seconds, 2)


def _opened(data: bytes) -> Any:
    from mutagen import File, MutagenError
    from mutagen.mp3 import MP3
    from mutagen.mp4 import MP4
    from mutagen.oggopus import OggOpus
    from mutagen.oggvorbis import OggVorbis
    from mutagen.wave import WAVE as Wave

    try:
        sound = File(io.BytesIO(data), options=[MP3, MP4, OggOpus, OggVorbis, Wave])
    except (MutagenError, ValueError, LookupError, ArithmeticError) as error:
        raise _damaged() from error
    if sound is None:
        raise _damaged()
    return sound


def _changed(data: bytes, change: Callable[[Any], object]) -> bytes:
    from mutagen import MutagenError

    file = io.BytesIO(data)
    try:
        change(file)
    except (MutagenError, ValueError, LookupError) as error:
        raise _damaged() from error
    return file.getvalue()


def _damaged() -> BadMedia:
    return BadMedia("is cut off or damaged, or has no sound.", "Save it again.")
