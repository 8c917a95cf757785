"""Items made of the fixtures, and fixtures changed in one place."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from studies.importers.files.faults import Refused
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions, ReadItems
from studies.importers.sets import data_sets

_FOLDERS = [Path(__file__).parent, *Path(__file__).parents[2].glob("extras/*")]
# The columns of the others could be those of any file, so `auto` does not recognise them.
RECOGNISED = [n for n, each in data_sets().items() if any(role.is_mark for role in each.roles)]


def fixture(path: str) -> Path:
    """A folder or file in the shape of a data set, where its importer is tested."""
    found = [folder / "fixtures" / path for folder in _FOLDERS]
    return next(each for each in found if each.exists())


def all_fixtures(folder: Path) -> Path:
    """A folder with the fixtures of every data set."""
    folder.mkdir()
    for each in _FOLDERS:
        for path in (each / "fixtures").glob("*"):
            (folder / path.name).symlink_to(path)
    return folder


def made(format: str, *paths: Path, limit: int | None = None, seed: int | None = None, **options):
    """What is made of the fixture of a format, or of `paths`; options as in a command."""
    given = {name: str(value) for name, value in options.items()}
    paths = paths or (fixture(format),)
    how = ImportOptions("preference", format, limit=limit, options=given, seed=seed)
    (read,) = read_paths(paths, how)
    return read


def refusal(format: str, *paths: Path, **options) -> list[str]:
    with pytest.raises(Refused) as caught:
        made(format, *paths, **options)
    return [str(fault) for fault in caught.value.faults]


def changed(format: str, tmp_path: Path, name: str, change: Callable[[str], str]) -> Path:
    """A copy of a fixture with the text of one file changed."""
    folder = tmp_path / format
    if not folder.exists():
        shutil.copytree(fixture(format), folder)
    (path,) = folder.rglob(name)
    text = change(path.read_text("utf-8"))
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return folder


def keys(read: ReadItems) -> list[str]:
    return [item.key for item in read.items]


def labels(read: ReadItems) -> list[str]:
    return [item.values["first_person"] for item in read.items]


def sentences(read: ReadItems, key: str) -> list[str]:
    """What is said of the person of an item."""
    (item,) = [item for item in read.items if item.key == key]
    return [feature["text"] for feature in item.persona.features]


def utterances(*rows: dict[str, Any]) -> str:
    """Rows of PRISM's utterances about one message; a row names what it is about."""
    whole = {
        "interaction_id": "int0",
        "conversation_id": "c0",
        "user_id": "user0",
        "turn": 0,
        "conversation_type": "unguided",
        "user_prompt": "Which walk is best?",
        "model_name": "gpt-4",
        "model_provider": "openai",
        "if_chosen": False,
    }
    lines = []
    for n, row in enumerate(rows):
        given = {"utterance_id": f"ut{n}", "within_turn_id": n, "model_response": f"Text {n}."}
        lines.append(json.dumps(whole | given | row))
    return "\n".join(lines) + "\n"
