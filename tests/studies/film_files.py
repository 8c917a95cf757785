"""Short films made on the spot. Skips the tests of its module where PyAV is not installed."""

import io
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

av = pytest.importorskip("av")

CAPTIONS = "WEBVTT - by model-a\n\nNOTE seen near 52.2 N\n\n00:00.000 --> 00:01.000\nA red beach.\n"


def film(
    kind: str = "mp4",
    *,
    seconds: float = 2,
    rate: int = 10,
    size: tuple[int, int] = (64, 48),
    color: int = 80,
    codec: str = "",
    sound: bool = False,
    pixels: str = "yuv420p",
    start: float = 0,
    notes: dict[str, str] | None = None,
) -> bytes:
    """A film that gets redder with time, from the second `start`; with `sound`, a tone."""
    out = io.BytesIO()
    count = round(seconds * rate)
    with av.open(out, "w", format=kind) as container:
        container.metadata.update(notes or {})
        pictures = container.add_stream(codec or ("libx264" if kind == "mp4" else "libvpx"), rate)
        if kind != "mp4" and not codec:
            pictures.options = {"deadline": "realtime", "cpu-used": "8"}  # a tenth of the work
        pictures.width, pictures.height = size
        pictures.pix_fmt = pixels
        codec_of_sound = "aac" if kind == "mp4" else "libopus"
        tone = container.add_stream(codec_of_sound, 48_000, layout="mono") if sound else None
        for number in range(count):
            pixel = [number * 255 // count, 0, color]
            frame = av.VideoFrame.from_ndarray(
                np.full((size[1], size[0], 3), pixel, np.uint8), "rgb24"
            )
            _add(container, pictures, frame, number + round(start * rate), rate)
        container.mux(pictures.encode())
        if tone is not None:
            _add_sound(container, tone, seconds)
    return out.getvalue()


def _add(container: Any, stream: Any, frame: Any, position: int, rate: int) -> None:
    frame.pts, frame.time_base = position, Fraction(1, rate)
    container.mux(stream.encode(frame))


def _add_sound(container: Any, stream: Any, seconds: float) -> None:
    for start in range(0, int(seconds * 48_000), 960):
        wave = np.sin(np.arange(start, start + 960) / 20) * 3_000
        samples = av.AudioFrame.from_ndarray(wave.astype(np.int16)[None], "s16", "mono")
        samples.sample_rate = 48_000
        _add(container, stream, samples, start, 48_000)
    container.mux(stream.encode())


def only_sound() -> bytes:
    """An MP4 file, by its first bytes, without a picture track."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        _add_sound(container, container.add_stream("aac", 48_000, layout="mono"), 1)
    return out.getvalue()


def lying(data: bytes) -> bytes:
    """An MP4 film that is stored on its side: players turn it by 90 degrees."""
    upright = b"".join(n.to_bytes(4) for n in (1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30))
    on_its_side = b"".join(
        (n % (1 << 32)).to_bytes(4) for n in (0, 1 << 16, 0, -1 << 16, 0, 0, 48 << 16, 0, 1 << 30)
    )
    place = data.index(upright, data.index(b"tkhd"))
    return data[:place] + on_its_side + data[place + len(upright) :]
