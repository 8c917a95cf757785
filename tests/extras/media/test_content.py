"""What is taken as a picture or sound, and what is left of it."""

import io
import struct
import zlib
from contextlib import suppress

import pytest
from mutagen.id3 import ID3, TIT2
from mutagen.ogg import OggPage
from PIL import Image, PngImagePlugin

from extras.media.content import MOST_BYTES, chunks_of, read_content, riff
from studies.media import BadMedia
from tests.studies.media_files import mp3, picture, sound

SECRET = "near 52.2 N, by model-a"


def exif(*, orientation=1):
    notes = Image.Exif()
    notes[0x010F] = SECRET
    notes[0x0112] = orientation
    notes[0x8825] = {1: "N", 2: (52.0, 12.0, 0.0), 3: "E", 4: (0.0, 7.0, 0.0)}
    return notes.tobytes()


def png_with_text():
    info = PngImagePlugin.PngInfo()
    info.add_text("parameters", SECRET)
    info.add_itxt("XML:com.adobe.xmp", SECRET)
    return picture("PNG", pnginfo=info, exif=exif())


def tagged_mp3():
    file = io.BytesIO(mp3())
    tags = ID3()
    tags.add(TIT2(encoding=3, text=SECRET))
    tags.save(file, v1=2)
    return file.getvalue()


def opus(comment=SECRET):
    """An Ogg file of Opus: its head, its comments, and packets of silence."""
    text = f"TITLE={comment}".encode()
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 0, 48_000, 0, 0)
    tags = b"OpusTags" + struct.pack("<I", 4) + b"test" + struct.pack("<II", 1, len(text)) + text
    pages = []
    for number, (packets, position) in enumerate(
        (([head], 0), ([tags], 0), ([b"\xf8\xff\xfe"] * 50, 48_000))
    ):
        page = OggPage()
        page.serial, page.sequence, page.position, page.packets = 7, number, position, packets
        page.first, page.last = number == 0, number == 2
        pages.append(page.write())
    return b"".join(pages)


NOTED = {
    "png": png_with_text(),
    "jpeg": picture("JPEG", exif=exif(), comment=SECRET.encode()),
    "progressive jpeg, then a film": picture("JPEG", progressive=True) + SECRET.encode(),
    "webp": picture("WEBP", exif=exif(), xmp=SECRET.encode()),
    "wav": riff(b"WAVE", [*chunks_of(sound()), (b"LIST", SECRET.encode())]),
    "mp3": tagged_mp3(),
    "opus": opus(),
}


@pytest.mark.parametrize("name", NOTED)
def test_only_visible_and_audible_content_is_kept(name):
    data = NOTED[name]
    assert SECRET.encode() in data

    kept = read_content(data)

    assert SECRET.encode() not in kept.data
    assert b"Exif" not in kept.data
    assert read_content(kept.data).data == kept.data


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_no_pixel_changes(kind):
    gradient = Image.linear_gradient("L").convert("RGB")
    out = io.BytesIO()
    gradient.save(out, kind, exif=exif())

    kept = read_content(out.getvalue())

    before, after = (Image.open(io.BytesIO(data)) for data in (out.getvalue(), kept.data))
    assert before.tobytes() == after.tobytes()
    assert kept.facts["width"] == 256


def test_facts_of_a_sound_have_its_length():
    facts = read_content(sound(1.5)).facts

    assert (facts["type"], facts["seconds"]) == ("audio/wav", 1.5)
    assert read_content(opus()).seconds == pytest.approx(1, abs=0.02)
    assert read_content(tagged_mp3()).seconds == pytest.approx(100 * 1152 / 44_100, abs=0.05)


def huge_png(width, height):
    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def moving(kind):
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "blue")]
    out = io.BytesIO()
    frames[0].save(out, kind, save_all=True, append_images=frames[1:])
    return out.getvalue()


huge_webp = riff(b"WEBP", [(b"VP8X", bytes(4) + b"\xff\x3f\x00" * 2)])

REFUSED = {
    "svg": (
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
        "SVG, HTML or XML",
    ),
    "html under a mark": (b"\xef\xbb\xbf <!doctype html>", "SVG, HTML or XML"),
    "gif": (moving("GIF"), "is a GIF"),
    "animated png": (moving("PNG"), "is animated"),
    "animated webp": (moving("WEBP"), "is animated"),
    "program": (b"MZ\x90\x00" + bytes(100), "not a picture, sound or film"),
    "quicktime": (b"\x00\x00\x00\x20ftypqt  " + bytes(50), "such as QuickTime"),
    "nothing": (b"", "is empty"),
    "cut png": (picture()[:-20], "cut off or damaged"),
    "cut jpeg": (picture("JPEG")[:-40], "cut off or damaged"),
    "cut webp": (picture("WEBP")[:-9], "cut off"),
    "huge png": (huge_png(30_000, 30_000), "30,000 × 30,000 pixels"),
    "long png": (huge_png(9_000, 1), "9,000 × 1 pixels"),
    "empty png": (huge_png(8, 8), "cut off or damaged"),
    "huge webp": (huge_webp, "16,384 × 16,384 pixels"),
    "lying jpeg": (picture("JPEG", exif=exif(orientation=6)), "EXIF orientation 6"),
    "lying webp": (picture("WEBP", exif=exif(orientation=8)), "EXIF orientation 8"),
    "heavy": (picture() + bytes(MOST_BYTES["image"]), "the limit for a picture is 5 MB"),
    "long wav": (sound(601), "10 minutes long; the limit is 10 minutes"),
    "wav without sound": (sound(0), "has no sound"),
    "mp3 by its first bytes only": (b"ID3" + bytes(200), "cut off or damaged"),
    "ogg by its first bytes only": (b"OggS" + bytes(200), "cut off or damaged"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_refused_in_words(name):
    data, words = REFUSED[name]

    with pytest.raises(BadMedia, match=words.replace("(", r"\(")):
        read_content(data)


@pytest.mark.parametrize(
    "data", [picture(), picture("JPEG"), picture("WEBP"), sound(), mp3(5), opus()]
)
def test_a_damaged_file_is_refused_or_read_and_never_breaks_the_import(data):
    for place in range(4, len(data), max(1, len(data) // 60)):
        for damaged in (data[:place], data[:place] + b"\xff" + data[place + 1 :]):
            with suppress(BadMedia):
                read_content(damaged)
