"""Pictures by their content: PNG, JPEG and WebP, without what is not seen.

Places, cameras, authors and prompts of image generators are left out without changing a pixel, so
that nobody who opens a picture learns more than what it shows. What is left out depends on the
bytes alone, and leaving it out again changes nothing.
"""

import io
import re
import zlib
from collections.abc import Iterator

from studies.media.errors import BadMedia
from studies.media.riff import chunks_of, riff

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
# A marker inside the coded part of a JPEG; what is no marker there is written with 00 or D0 to D7.
_MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])")
_SOS, _EOI, _COMMENT = 0xDA, 0xD9, 0xFE
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}


def clean_png(data: bytes) -> bytes:
    found, exif = [], b""
    for name, whole in _png_chunks(data):
        if name == b"acTL":
            raise _moves()
        if name == b"IHDR":
            _check_size(int.from_bytes(whole[8:12]), int.from_bytes(whole[12:16]))
        if name == b"eXIf":
            exif = whole[8:-4]
        if name in _SHOWN_IN_PNG:
            found.append(whole)
    _check_upright(exif)
    return PNG + b"".join(found)


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
    found, exif = [data[:2]], b""
    for marker, whole in _jpeg_segments(data):
        content = whole[4:]
        if marker in _FRAMES:
            _check_size(int.from_bytes(content[3:5]), int.from_bytes(content[1:3]))
        if marker == 0xE1 and content.startswith(_EXIF):
            exif = content.removeprefix(_EXIF)
        if _is_shown_in_jpeg(marker, content):
            found.append(whole)
    _check_upright(exif)
    return b"".join(found)


def _is_shown_in_jpeg(marker: int, content: bytes) -> bool:
    if 0xE0 <= marker <= 0xEF:
        starts = {0xE0: b"JFIF", 0xE2: b"ICC_PROFILE", 0xEE: b"Adobe"}
        return marker in starts and content.startswith(starts[marker])
    return marker != _COMMENT


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Each segment with its marker; that of a scan with the coded part that follows it.

    What follows the end of the picture, such as a film or a second picture, is left out.
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
    found, exif = [], b""
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
            found.append((name, content))
    _check_upright(exif)
    return riff(WEBP, found)


def size_of(data: bytes, kind: str) -> tuple[int, int]:
    """Width and height of a picture, all of which is read. Raises `BadMedia` if it is damaged."""
    from PIL import Image  # Here, because only imports with pictures need it.

    try:
        with Image.open(io.BytesIO(data), formats=[_FORMATS[kind]]) as picture:
            picture.load()
            return picture.size
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise _cut() from error


def _check_size(width: int, height: int) -> None:
    """Before anything is unpacked, because a small file can hold a huge picture."""
    if width < 1 or height < 1:
        raise _cut()
    if max(width, height) > LONGEST_SIDE or width * height > MOST_PIXELS:
        raise BadMedia(
            f"has {width:,} × {height:,} pixels; the limit is {LONGEST_SIDE:,} for a side and "
            f"{MOST_PIXELS // 10**6} million in all.",
            "Save it smaller.",
        )


def _check_upright(exif: bytes) -> None:
    """Refuse a picture that is stored lying; people would see it turned, and models would not."""
    if not exif:
        return
    from PIL import Image

    found = Image.Exif()
    try:
        found.load(_EXIF + exif)
        turned = found.get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001 - notes that nobody can read say nothing, and are left out
        return
    if turned not in (0, 1):
        raise BadMedia(
            f"is stored turned (EXIF orientation {turned}), which not every model sees.",
            "Save it upright, for example with exiftran -ai FILE.",
        )


def _cut() -> BadMedia:
    return BadMedia("is cut off or damaged.", "Save it again.")


def _moves() -> BadMedia:
    return BadMedia("is animated.", "Save the one picture that is to be shown.")
