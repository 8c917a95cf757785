"""Items as files, for tests of imports; a test names only what it is about."""

import io
import json
import zipfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from studies.importers.files.bundle import open_path
from studies.importers.files.faults import Refused
from studies.importers.items.item_bundle import ImportOptions, ReadItems, read_bundle

DATASET = {"format": "thirdperson-items", "format_version": "1.0", "title": "Choices"}


def raw_item(n: int = 1, **overrides: Any) -> dict[str, Any]:
    """A sound item in the interchange format; a value of None leaves the key out."""
    item: dict[str, Any] = {
        "id": f"x{n}",
        "persona": {
            "id": f"p{n}",
            "features": [{"key": "age", "label": "Age", "value": "35-44", "text": "Aged 35-44."}],
        },
        "question": f"What shall I cook on day {n}?",
        "responses": [
            {"key": "r1", "text": f"A soup for day {n}."},
            {"key": "r2", "text": f"A stew for day {n}."},
        ],
        "first_person": {"label": "r1"},
    }
    return {key: value for key, value in (item | overrides).items() if value is not None}


def raw_pairs(key: str, responses: Sequence[dict[str, Any]], **given: Any) -> list[dict[str, Any]]:
    """Every pair of a set of responses, as an export has them."""
    at = dict(enumerate(responses, start=1))
    return [
        raw_item(
            id=f"{key}:r{one}-r{other}",
            responses=[{"key": "r1", **at[one]}, {"key": "r2", **at[other]}],
            option_set={
                "id": key,
                "rule": "all",
                "place": {"r1": one, "r2": other},
                "chosen": None,
                "others": [{"place": n, **at[n]} for n in at if n not in (one, other)],
            },
            **given,
        )
        for one, other in combinations(at, 2)
    ]


def jsonl(*rows: Any) -> bytes:
    lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def zipped(folder: str = "", /, **members: bytes | str) -> bytes:
    """A zip of files by their names, in which two underscores stand for the point."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(folder + name.replace("__", "."), content)
    return out.getvalue()


def read(data: bytes, *, name: str = "items.jsonl", **options: Any) -> ReadItems:
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        return read_bundle(open_path(path), ImportOptions(**{"task": "preference"} | options))


def faults(data: bytes, *, name: str = "items.jsonl", **options: Any) -> list[str]:
    """What a file is refused for, as people read it; [] when it is sound."""
    try:
        read(data, name=name, **options)
    except Refused as error:
        return [str(fault) for fault in error.faults]
    return []
