"""Pictures, sounds and films, recognised by content, not by name, and cleaned of hidden data.

Places, cameras, authors and prompts of image generators are removed without changing a pixel, so
that nobody learns more from a file than it shows. The result depends only on the bytes; cleaning it
again changes nothing.
"""

import hashlib
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from extras.media.films import Film, read_film
from studies.importers.files.child import apart
from studies.importers.files.faults import Refused
from studies.media import CAPTIONS, ENDINGS, FRAME_TYPE, BadMedia, facts_of_file

_HEAD = 8


def chunks_of(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The chunks after the name of the format. Raises `BadMedia` for one that is cut."""
    end = min(len(data), _HEAD + int.from_bytes(data[4:8], "little"))
    place = 12
    while place + _HEAD <= end:
        name, size = data[place : place + 4], int.from_bytes(data[place + 4 : place + 8], "little")
        start = place + _HEAD
        if start + size > end:
            raise BadMedia("is cut off.", "Save it again.")
        yield name, data[start : start + size]
        place = start + size + size % 2


def riff(kind: bytes, chunks: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A file of this format with these chunks."""
    body = b"".join(
        name + len(content).to_bytes(4, "little") + content + b"\0" * (len(content) % 2)
        for name, content in chunks
    )
    return b"RIFF" + (len(body) + 4).to_bytes(4, "little") + kind + body


MOST_PIXELS = 24_000_000
LONGEST_SIDE = 8_000
PNG, JPEG, WEBP = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"WEBP"

_SHOWN_IN_PNG = {
    b"IHDR",
    b"PLTE",
    b"IDAT",
    b"IEND",
    b"tRNS",
    b"gAMA",
    b"cHRM",
    b"sRGB",
    b"iCCP",
    b"sBIT",
    b"bKGD",
    b"pHYs",
}
_SHOWN_IN_WEBP = {b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ICCP"}
# Flags of a WebP file with metadata: EXIF and XMP.
_NOTES_IN_WEBP = 0x08 | 0x04
_EXIF = b"Exif\0\0"
_ORIENTATION = 0x0112
# A marker inside the coded part of a JPEG: FF, but not before 00 or D0 to D7.
_MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])")
_SOS, _EOI, _COMMENT = 0xDA, 0xD9, 0xFE
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}


def clean_png(data: bytes) -> bytes:
    chunks, exif = [], b""
    for name, whole in _png_chunks(data):
        if name == b"acTL":
            raise _moves()
        if name == b"IHDR":
            _check_size(int.from_bytes(whole[8:12]), int.from_bytes(whole[12:16]))
        if name == b"eXIf":
            exif = whole[8:-4]
        if name in _SHOWN_IN_PNG:
            chunks.append(whole)
    _check_upright(exif)
    return PNG + b"".join(chunks)


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    place, name = len(PNG), b""
    while name != b"IEND":
        size = int.from_bytes(data[place : place + 4])
        whole = data[place : place + size + 12]
        name = whole[4:8]
        if len(whole) != size + 12 or zlib.crc32(whole[4:-4]) != int.from_bytes(whole[-4:]):
            raise _cut()
        yield name, whole
        place += size + 12


def clean_jpeg(data: bytes) -> bytes:
    chunks, exif = [data[:2]], b""
    for marker, whole in _jpeg_segments(data):
        content = whole[4:]
        if marker in _FRAMES:
            _check_size(int.from_bytes(content[3:5]), int.from_bytes(content[1:3]))
        if marker == 0xE1 and content.startswith(_EXIF):
            exif = content.removeprefix(_EXIF)
        if _is_shown_in_jpeg(marker, content):
            chunks.append(whole)
    _check_upright(exif)
    return b"".join(chunks)


def _is_shown_in_jpeg(marker: int, content: bytes) -> bool:
    if 0xE0 <= marker <= 0xEF:
        starts = {0xE0: b"JFIF", 0xE2: b"ICC_PROFILE", 0xEE: b"Adobe"}
        return marker in starts and content.startswith(starts[marker])
    return marker != _COMMENT


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Each segment with its marker; a scan includes the coded part after it.

    Anything after the end of the picture, such as a film or a second picture, is left out.
    """
    place = 2
    while True:
        while data[place : place + 2] == b"\xff\xff":
            place += 1
        if len(data) < place + 2 or data[place] != 0xFF:
            raise _cut()
        marker = data[place + 1]
        if marker == _EOI:
            yield marker, data[place : place + 2]
            return
        end = place + 2 + int.from_bytes(data[place + 2 : place + 4])
        if not place + 4 <= end <= len(data):
            raise _cut()
        if marker == _SOS:
            if (after := _MARKER.search(data, end)) is None:
                raise _cut()
            end = after.start()
        yield marker, data[place:end]
        place = end


def clean_webp(data: bytes) -> bytes:
    chunks, exif = [], b""
    for name, content in chunks_of(data):
        if name in (b"ANIM", b"ANMF"):
            raise _moves()
        if name == b"EXIF":
            exif = content.removeprefix(_EXIF)
        if name == b"VP8X" and len(content) == 10:
            _check_size(*(1 + int.from_bytes(content[n : n + 3], "little") for n in (4, 7)))
            content = bytes([content[0] & ~_NOTES_IN_WEBP]) + content[1:]
        elif name == b"VP8 ":
            _check_size(*(int.from_bytes(content[n : n + 2], "little") & 0x3FFF for n in (6, 8)))
        elif name == b"VP8L":
            bits = int.from_bytes(content[1:5], "little")
            _check_size(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
        if name in _SHOWN_IN_WEBP:
            chunks.append((name, content))
    _check_upright(exif)
    return riff(WEBP, chunks)


def size_of(data: bytes, kind: str) -> tuple[int, int]:
    """Width and height of a picture, read to its end. Raises `BadMedia` if it is damaged."""
    from PIL import Image  # Here, because only imports with pictures need it.

    try:
        with Image.open(io.BytesIO(data), formats=[_FORMATS[kind]]) as picture:
            picture.load()
            return picture.size
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise _cut() from error


def _check_size(width: int, height: int) -> None:
    """Check the size before anything is unpacked: a small file can hold a huge picture."""
    if width < 1 or height < 1:
        raise _cut()
    if max(width, height) > LONGEST_SIDE or width * height > MOST_PIXELS:
        raise BadMedia(
            f"has {width:,} × {height:,} pixels; the limit is {LONGEST_SIDE:,} for a side and "
            f"{MOST_PIXELS // 10**6} million in all.",
            "Save it smaller.",
        )


def _check_upright(exif: bytes) -> None:
    """Refuse a picture that is stored rotated: people see it upright, some models do not."""
    if not exif:
        return
    from PIL import Image

    tags = Image.Exif()
    try:
        tags.load(_EXIF + exif)
        turned = tags.get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001 - unreadable notes are left out
        return
    if turned not in (0, 1):
        raise BadMedia(
            f"is stored rotated (EXIF orientation {turned}), which some models ignore.",
            "Save it upright, for example with exiftran -ai FILE.",
        )


def _cut() -> BadMedia:
    return BadMedia("is cut off or damaged.", "Save it again.")


def _moves() -> BadMedia:
    return BadMedia("is animated.", "Save a single picture.")


MOST_SECONDS = 600
WAVE = b"WAVE"
_HEARD_IN_WAV = {b"fmt ", b"fact", b"data"}
# Where QuickTime and 3GPP keep the place of a recording, outside the tags.
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


_CUE = re.compile(r"^[^\n]*-->[^\n]*$", re.MULTILINE)


def clean_captions(data: bytes) -> bytes:
    """The cues of a WebVTT file, without its notes, styles and title."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadMedia("is not UTF-8.", "Save the captions as UTF-8.") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    cues = [block.strip("\n") for block in re.split(r"\n{2,}", text) if _CUE.search(block)]
    if not cues or "\0" in text:
        raise BadMedia("has no captions.", "Write each with its time: 00:01.000 --> 00:04.000.")
    return ("\n\n".join(["WEBVTT", *cues]) + "\n").encode()


MOST_BYTES = {
    "image": 5 * 1024**2,
    "audio": 20 * 1024**2,
    "video": 50 * 1024**2,
    "text": 1024**2,
}
LARGEST = max(MOST_BYTES.values())
TYPES = {ending: kind for kind, ending in ENDINGS.items()}
_NOUNS = {"image": "a picture", "audio": "a sound", "video": "a film", "text": "captions"}
_TAKEN = (
    "Use PNG, JPEG or WebP for a picture, MP3, Ogg, WAV or M4A for a sound, and MP4 or WebM for a "
    "film."
)
# Kinds of MP4 files, of which others hold pictures or are QuickTime.
_MP4 = (b"iso", b"mp4", b"avc1", b"M4V ", b"av01", b"dash")
_MATROSKA = b"\x1a\x45\xdf\xa3"
_CLEANERS: dict[str, Callable[[bytes], bytes]] = {
    "image/png": clean_png,
    "image/jpeg": clean_jpeg,
    "image/webp": clean_webp,
    "audio/mpeg": clean_mp3,
    "audio/ogg": clean_tags,
    "audio/wav": clean_wav,
    "audio/mp4": clean_tags,
    CAPTIONS: clean_captions,
}


@dataclass(frozen=True)
class MediaContent:
    """A file as it is stored: without notes about places, people and programs.

    `frames` are what judges get of a film, each with its second.
    """

    type: str
    data: bytes
    width: int | None = None
    height: int | None = None
    seconds: float | None = None
    has_sound: bool | None = None
    frames: "tuple[tuple[float, MediaContent], ...]" = ()

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def size(self) -> int:
        return len(self.data)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that an item stores about it."""
        return facts_of_file(self)


def read_content(data: bytes) -> MediaContent:
    """Check a file and return what may be shown and sent. Raises `BadMedia`."""
    kind = _type_of(data)
    group = kind.partition("/")[0]
    if len(data) > MOST_BYTES[group]:
        # No more than a byte above the largest limit is read.
        size = f"{len(data) / 2**20:.1f}" if len(data) <= LARGEST else f"over {LARGEST // 2**20}"
        raise BadMedia(
            f"has {size} MB; the limit for {_NOUNS[group]} is {MOST_BYTES[group] // 2**20} MB.",
            "Save it smaller.",
        )
    if group == "video":
        film = _film(data, kind)
        frames = tuple(
            (frame.second, MediaContent(FRAME_TYPE, frame.data, frame.width, frame.height))
            for frame in film.frames
        )
        return MediaContent(
            kind, film.data, film.width, film.height, film.seconds, film.has_sound, frames
        )
    kept = _CLEANERS[kind](data)
    if group == "audio":
        return MediaContent(kind, kept, seconds=seconds_of(kept))
    if group == "text":
        return MediaContent(kind, kept)
    width, height = size_of(kept, kind)
    return MediaContent(kind, kept, width, height)


def _film(data: bytes, kind: str) -> Film:
    """A film, read where a fault of FFmpeg ends no server."""
    try:
        return apart(read_film, data, kind, name="film", size=len(data))
    except Refused as refusal:
        raise BadMedia("ended the program that reads films.", "Save it again.") from refusal


def _type_of(data: bytes) -> str:
    """The media type by the first bytes."""
    if data.startswith(PNG):
        return "image/png"
    if data.startswith(JPEG):
        return "image/jpeg"
    if data[:4] == b"RIFF" and data[8:12] == WEBP:
        return "image/webp"
    if data[:4] == b"RIFF" and data[8:12] == WAVE:
        return "audio/wav"
    if data.startswith(b"OggS"):
        return "audio/ogg"
    if data[4:12] == b"ftypM4A ":
        return "audio/mp4"
    if data[4:8] == b"ftyp" and data[8:12].startswith(_MP4):
        return "video/mp4"
    if data.startswith(_MATROSKA) and b"webm" in data[:64]:
        return "video/webm"
    if data.removeprefix(b"\xef\xbb\xbf").startswith(b"WEBVTT"):
        return CAPTIONS
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
    if data[4:8] == b"ftyp" or data.startswith(_MATROSKA):
        return "is in a container that not every browser opens, such as QuickTime or Matroska."
    return "is not a picture, sound or film in an accepted format."
