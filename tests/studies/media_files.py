"""Pictures and sounds made on the spot, and items that show them."""

import io
import json
import wave
import zipfile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import extras
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions
from studies.importers.items.storage import import_items
from studies.models import Study
from tests.studies.files import raw_item

# For tests of others that show pictures.
needs_media = pytest.mark.skipif("media" not in extras.NAMES, reason="needs the extra media")


def picture(
    kind: str = "PNG", *, color: str = "red", size: tuple[int, int] = (64, 48), **options: Any
) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, kind, **options)
    return out.getvalue()


def stored_picture(study: Study, data: bytes) -> dict[str, Any]:
    """A picture that the study has, as an item stores it."""
    from extras.media.content import read_content
    from extras.media.models import MediaFile
    from extras.media.storage import stored_file

    content = read_content(data)
    stored_file(MediaFile.objects.create(study=study, **content.facts)).save(content.data)
    return content.facts


def sound(seconds: float = 0.5) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(b"\x10\x00" * int(8_000 * seconds))
    return out.getvalue()


def mp3(frames: int = 100) -> bytes:
    """Frames of silence: MPEG 1, layer III, 128 kbit/s, 44.1 kHz."""
    return (b"\xff\xfb\x90\x00" + bytes(413)) * frames


def with_media(n: int, first: str, second: str, **overrides: Any) -> dict[str, Any]:
    """An item whose responses are a file each."""
    return raw_item(
        n,
        responses=[
            {
                "key": key,
                "text": "",
                "media": [{"file": file, "description": f"What {file} shows."}],
            }
            for key, file in (("r1", first), ("r2", second))
        ],
        **overrides,
    )


def zipped(path: Path, items: list[dict[str, Any]], files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("items.jsonl", "".join(json.dumps(item) + "\n" for item in items))
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def import_zip(slug: str, path: Path, **options: Any) -> Any:
    return import_items(slug, read_paths([path], ImportOptions("preference")), **options)
