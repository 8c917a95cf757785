"""Judges of items that show pictures and sounds."""

import base64

from tests.factories import make_study
from tests.judging.conftest import make_judge
from tests.studies.media_files import import_zip, picture, sound, with_media, zipped

RED, BLUE, HELLO = picture(color="red"), picture("JPEG", color="blue"), sound()
SEES = {"takes_images": True, "takes_audio": True}


def make(tmp_path, first=RED, second=BLUE, *, question=HELLO):
    study = make_study()
    media = [{"file": "x/q", "description": "The question."}]
    item = with_media(1, "x/a", "x/b", media=media)
    files = {"x/a": first, "x/b": second, "x/q": question}
    import_zip(study.slug, zipped(tmp_path / "i.zip", [item], files))
    return study


def away(**fields):
    """A judge whose server is never asked."""
    return make_judge(**{"base_url": "http://127.0.0.1:9/v1"} | fields)


def of(parts):
    """What a request holds, in its order: texts, and the bytes of files."""
    found = []
    for part in parts:
        if part["type"] == "text":
            found.append(part["text"])
        elif part["type"] == "image_url":
            head, _, data = part["image_url"]["url"].partition(",")
            found.append((head, base64.b64decode(data)))
        else:
            found.append(
                (part["input_audio"]["format"], base64.b64decode(part["input_audio"]["data"]))
            )
    return found
