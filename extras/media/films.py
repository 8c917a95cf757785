"""Short films: their picture and sound copied without notes, and the frames that judges get.

Nothing is encoded again. PyAV, the library over FFmpeg's libraries, is an optional requirement.
"""

import io
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from studies.media import BadMedia

if TYPE_CHECKING:
    from PIL import Image

MOST_SECONDS = 60
LONGEST_SIDE = 4_096
# What judges get of a film: in the middle of as many equal parts of its time.
FRAMES = 8
_FRAME_SIDE = 768
_QUALITY = 85

# Codecs that every browser plays in these containers.
_PICTURES = {"video/mp4": ("h264", "av1", "vp9"), "video/webm": ("vp8", "vp9", "av1")}
_SOUNDS = {"video/mp4": ("aac", "mp3", "opus"), "video/webm": ("opus", "vorbis")}
_PLAYED = ("yuv420p", "yuvj420p")
_CODED_AGAIN = "Save it again, for example with ffmpeg -i FILE -pix_fmt yuv420p NEW.mp4."
# How much of the end may be missing: containers round.
_SPARE_SECONDS = 1


@dataclass(frozen=True)
class Frame:
    """A frame as a JPEG picture, and the second of the film at which it is shown."""

    second: float
    data: bytes
    width: int
    height: int


@dataclass(frozen=True)
class Film:
    """A film as it is stored, upright in `width` and `height`."""

    data: bytes
    width: int
    height: int
    seconds: float
    has_sound: bool
    frames: tuple[Frame, ...]


def read_film(data: bytes, kind: str) -> Film:
    """Check a film and return what may be shown and sent. Raises `BadMedia`."""
    try:
        import av  # Here, because only imports with films need it, and it is optional.
    except ImportError:
        raise BadMedia(
            "is a film, and the package that reads films is not installed.",
            "Install it with pip install -r requirements-films.txt, or leave the film out.",
        ) from None
    try:
        kept = _copied(data, kind, av)
        with av.open(io.BytesIO(kept), "r") as container:
            (stream,) = container.streams.video
            start, seconds = (
                (value or 0) / av.time_base for value in (container.start_time, container.duration)
            )
            frames = tuple(_frames(container.decode(stream), start, seconds))
            has_sound = bool(container.streams.audio)
            width, height = stream.width, stream.height
    except (av.FFmpegError, ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise _cut() from error
    if not frames:
        raise _cut()
    if (frames[0].width > frames[0].height) != (width > height):
        width, height = height, width
    return Film(kept, width, height, round(seconds, 2), has_sound, frames)


def _copied(data: bytes, kind: str, av: Any) -> bytes:
    """The first track of pictures and of sound, without anything else.

    Nothing that is neither seen nor heard comes along, and the index comes first, so that players
    start early.
    """
    is_webm = kind == "video/webm"
    with (
        av.open(io.BytesIO(data), metadata_errors="ignore") as source,
        tempfile.TemporaryDirectory(prefix="thirdperson-film-") as folder,
    ):
        streams = [*source.streams.video[:1], *source.streams.audio[:1]]
        _check(source, kind, av)
        path = os.path.join(folder, "film")
        options = {"fflags": "+bitexact"} | ({} if is_webm else {"movflags": "+faststart"})
        end = 0.0
        with av.open(path, "w", format=kind.partition("/")[2], options=options) as target:
            tracks = {}
            for stream in streams:
                tracks[stream.index] = target.add_stream_from_template(stream, opaque=True)
                tracks[stream.index].metadata.clear()
            for packet in source.demux(*streams):
                if packet.dts is None:  # the end of a track
                    continue
                end = max(end, float((packet.pts + packet.duration) * packet.time_base))
                if is_webm and packet.stream.type == "video":
                    packet.duration = 0  # A second copy would not have it.
                packet.stream = tracks[packet.stream.index]
                target.mux(packet)
        _check_length(end)  # A recording may not state its length, or another one.
        if source.duration and end < source.duration / av.time_base - _SPARE_SECONDS:
            raise _cut()
        with open(path, "rb") as file:
            return file.read()


def _check(source: Any, kind: str, av: Any) -> None:
    """Refuse what people would not see, or not everybody, before anything is unpacked."""
    if not source.streams.video:
        raise BadMedia(
            "has no picture track.", "Save it with pictures, or as a sound: MP3, Ogg, WAV or M4A."
        )
    picture = source.streams.video[0].codec_context
    codec = picture.codec.canonical_name
    if codec not in _PICTURES[kind] or picture.pix_fmt not in _PLAYED:
        raise BadMedia(
            f"has pictures coded as {codec} ({picture.pix_fmt}), which not every browser plays.",
            _CODED_AGAIN,
        )
    for sound in source.streams.audio[:1]:
        if (codec := sound.codec_context.codec.canonical_name) not in _SOUNDS[kind]:
            raise BadMedia(
                f"has sound coded as {codec}, which not every browser plays.", _CODED_AGAIN
            )
    if max(picture.width, picture.height) > LONGEST_SIDE:
        raise BadMedia(
            f"has {picture.width:,} × {picture.height:,} pixels; the limit is "
            f"{LONGEST_SIDE:,} for a side.",
            "Save it smaller.",
        )
    _check_length((source.duration or 0) / av.time_base)


def _check_length(seconds: float) -> None:
    if seconds >= MOST_SECONDS + 1:
        raise BadMedia(
            f"is {seconds:.0f} seconds long; the limit is {MOST_SECONDS} seconds.",
            "Cut it, or make several items of it.",
        )


def _frames(decoded: Iterator[Any], start: float, seconds: float) -> Iterator[Frame]:
    """What is on the screen at each moment; a frame that stays for several comes once.

    The whole film is decoded, so that a damaged one is refused.
    """
    moments = [start + (number + 0.5) / FRAMES * seconds for number in range(FRAMES)]
    latest: Any = None
    for frame in decoded:
        if latest is not None and moments and frame.time > moments[0]:
            yield _frame(latest, start)
            while moments and frame.time > moments[0]:
                del moments[0]
        latest = frame
    if latest is not None and moments:
        yield _frame(latest, start)


def _frame(decoded: Any, start: float) -> Frame:
    picture: Image.Image = decoded.to_image()
    if decoded.rotation:
        picture = picture.rotate(decoded.rotation, expand=True)
    picture.thumbnail((_FRAME_SIDE, _FRAME_SIDE))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=_QUALITY)
    return Frame(round(float(decoded.time) - start, 2), out.getvalue(), *picture.size)


def _cut() -> BadMedia:
    return BadMedia("is cut off or damaged.", "Save it again.")
