"""Short films: what is taken, what is left of it, and the frames that judges get."""

import builtins
import io
from contextlib import suppress

import pytest
from PIL import Image

from extras.media.content import MOST_BYTES, read_content
from extras.media.films import FRAMES, MOST_SECONDS
from studies.media import BadMedia
from tests.studies.film_files import CAPTIONS, av, film, lying, only_sound

pytestmark = pytest.mark.usefixtures("read_here")
SECRET = "near 52.2 N, by model-a"
NOTES = {"title": SECRET, "comment": SECRET, "location": "+52.2000+000.1000/"}


@pytest.mark.parametrize(
    ("kind", "codec"),
    [("mp4", "libx264"), ("mp4", "libsvtav1"), ("webm", "libvpx"), ("webm", "libvpx-vp9")],
)
def test_only_what_is_seen_and_heard_is_kept(kind, codec):
    data = film(kind, codec=codec, sound=True, notes=NOTES)
    assert SECRET.encode() in data

    kept = read_content(data)

    assert SECRET.encode() not in kept.data
    assert b"+52.2000" not in kept.data
    assert read_content(kept.data).data == kept.data
    expected = {"type": f"video/{kind}", "width": 64, "height": 48, "has_sound": True}
    assert kept.facts.items() >= expected.items()
    assert kept.seconds == pytest.approx(2, abs=0.05)


def test_no_picture_changes():
    data = film(sound=True)

    before, after = (
        [frame.to_ndarray(format="rgb24") for frame in av.open(io.BytesIO(each)).decode(video=0)]
        for each in (data, read_content(data).data)
    )

    assert len(before) == len(after) == 20
    assert all((one == other).all() for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize(("kind", "start"), [("mp4", 0), ("mp4", 3), ("webm", 0)])
def test_frames_come_from_the_middle_of_equal_parts(kind, start):
    kept = read_content(film(kind, seconds=4, rate=20, start=start))

    # Parts of half a second: the first ends at 0.5 s, and its middle is on screen since 0.25 s.
    seconds = [second for second, _ in kept.frames]
    assert seconds == pytest.approx([0.25 + 0.5 * n for n in range(FRAMES)], abs=0.06)
    reds = [
        Image.open(io.BytesIO(picture.data)).convert("RGB").getpixel((5, 5))[0]
        for _, picture in kept.frames
    ]
    assert reds == pytest.approx([second / 4 * 255 for second in seconds], abs=12)


def test_a_film_with_fewer_frames_gives_each_once_and_large_ones_are_made_smaller():
    kept = read_content(film(seconds=1.5, rate=2, size=(1600, 900)))

    assert [second for second, _ in kept.frames] == [0, 0.5, 1]
    assert {(picture.width, picture.height) for _, picture in kept.frames} == {(768, 432)}
    assert kept.facts["has_sound"] is False


def test_a_film_stored_on_its_side_is_upright_for_judges_too():
    data = lying(film(size=(64, 48)))

    kept = read_content(data)

    assert (kept.width, kept.height) == (48, 64)
    assert {(picture.width, picture.height) for _, picture in kept.frames} == {(48, 64)}


def test_captions_are_kept_without_title_and_notes():
    kept = read_content(CAPTIONS.replace("\n", "\r\n").encode("utf-8-sig"))

    assert kept.data.decode() == "WEBVTT\n\n00:00.000 --> 00:01.000\nA red beach.\n"
    assert read_content(kept.data).data == kept.data
    assert kept.facts.keys() == {"sha256", "type", "size"}


REFUSED = {
    "matroska": (lambda: film("matroska", codec="libx264"), "such as QuickTime or Matroska"),
    "text with the name of a film": (lambda: b"film", "not a picture, sound or film"),
    "without pictures": (only_sound, "has no picture track"),
    "too long": (
        lambda: film(seconds=MOST_SECONDS + 2, rate=1),
        "62 seconds long; the limit is 60 seconds",
    ),
    "too large": (
        lambda: film() + bytes(MOST_BYTES["video"]),
        "over 50 MB; the limit for a film is 50 MB",
    ),
    "too wide": (lambda: film(size=(4_200, 16), rate=1), "4,200 × 16 pixels; the limit is 4,096"),
    "codec of few browsers": (lambda: film(codec="libx265"), "coded as hevc"),
    "colours of few browsers": (lambda: film(pixels="yuv444p"), r"h264 \(yuv444p\)"),
    "cut": (lambda: film()[:-300], "cut off or damaged"),
    "cut in the middle": (lambda: read_content(film(seconds=20)).data[:-9_000], "cut off"),
    "first bytes only": (lambda: b"\x00\x00\x00\x20ftypisom" + bytes(50), "cut off or damaged"),
    "captions without times": (lambda: b"WEBVTT\n\nHello.", "has no captions"),
    "captions in latin-1": (lambda: CAPTIONS.encode() + b"\xe9", "is not UTF-8"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_film_is_refused_in_words(name):
    make, words = REFUSED[name]

    with pytest.raises(BadMedia, match=words) as caught:
        read_content(make())

    assert caught.value.remedy


@pytest.mark.parametrize("kind", ["mp4", "webm"])
def test_a_damaged_film_is_refused_or_read_and_never_breaks_the_import(kind):
    data = film(kind, sound=True)
    for place in range(4, len(data), len(data) // 40):
        for damaged in (data[:place], data[:place] + b"\xff" + data[place + 1 :]):
            with suppress(BadMedia):
                read_content(damaged)


def test_without_the_package_the_import_says_what_to_install(monkeypatch):
    data, load = film(), builtins.__import__

    def without_av(name, *args, **kwargs):
        if name == "av":
            raise ImportError(name)
        return load(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_av)

    with pytest.raises(BadMedia) as caught:
        read_content(data)

    assert "requirements-films.txt" in caught.value.remedy


class TestApart:
    @pytest.fixture
    def read_here(self):
        """Films are read as an import by a page or a command reads them."""

    def test_ffmpeg_reads_no_film_in_the_process_of_a_server(self, monkeypatch):
        data = film()
        monkeypatch.setattr(av, "open", None)

        assert len(read_content(data).frames) == FRAMES

    def test_what_is_wrong_with_a_film_comes_back_with_what_to_do(self):
        with pytest.raises(BadMedia) as refused:
            read_content(film(seconds=MOST_SECONDS + 2, rate=1))

        assert "the limit is 60 seconds" in refused.value.message
        assert refused.value.remedy.startswith("Cut it")
