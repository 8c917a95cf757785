"""Rebuilding of items from an export whose source forbids redistributing their texts.

Such an export lists ids and content hashes. Anyone who has the source's own files imports them
`like` that list, which gives exactly its items, each with the content that was judged.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from studies.importers.files.bundle import File, file_at
from studies.importers.files.faults import Fault, Refused
from studies.importers.files.readers import BadLine, read_json_lines
from studies.importers.items.item_bundle import ReadItems
from studies.importers.items.kept_items import KeptItems
from studies.importers.items.records import ItemRecord
from studies.importers.sets import data_sets
from studies.importers.sets.options import as_text

_HOW = ("files", "format", "task", "options", "seed", "limit", "mapping")


def read_list(path: Path) -> dict[str, str]:
    """The content hash of each item that an export's items.jsonl lists. Raises `Refused`."""
    try:
        return dict(_listed(file_at(path)))
    except OSError as error:
        raise _refused(path, f"{path} cannot be read: {error.strerror}.") from error
    except (KeyError, TypeError) as error:
        raise _refused(path, f"{path} does not list items by id and content_hash.") from error


def _listed(file: File) -> Iterator[tuple[str, str]]:
    for found in read_json_lines(file):
        if isinstance(found, BadLine):
            raise TypeError
        yield found[1]["id"], found[1]["content_hash"]


def only_listed(
    files: Sequence[ReadItems], listed: dict[str, str], known: dict[str, str]
) -> list[ReadItems]:
    """The items of `files` that `listed` names.

    `known` are the content hashes of items that an earlier import stored. Raises `Refused` unless
    all listed items are there unchanged.
    """
    kept: list[ReadItems] = []
    found = {key for key, content_hash in known.items() if listed.get(key) == content_hash}
    other: dict[str, ItemRecord] = {}
    for file in files:
        same = KeptItems()
        for item in file.items:
            if listed.get(item.key) == item.content_hash:
                same.append(item)
                found.add(item.key)
            elif item.key in listed:
                other[item.key] = item
        kept.append(replace(file, items=same))
    faults = [_fault(key, other.get(key)) for key in listed if key not in found]
    if faults:
        raise Refused(faults)
    return kept


def _fault(key: str, item: ItemRecord | None) -> Fault:
    remedy = "Give the files, in the revision and order, that the export's README.md names."
    if item is None:
        return Fault(
            None, "id", "item is missing", f"item “{key}” is in none of the files.", remedy, key
        )
    message = f"item “{key}” has other content than the exported one."
    return Fault(item.line, "id", "item has other content", message, remedy, key, item.file)


def _refused(path: Path, message: str) -> Refused:
    remedy = "Give the file jsonl/items.jsonl of an export."
    return Refused([Fault(None, "", "list of items", message, remedy, file=path.name)])


def commands(slug: str, readings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Commands that read a study's items again; the last one compares them with the list.

    `readings` are the log entries of the study's imports. Files in the neutral format are read
    together if there is nothing else; a data set is read with every option and its seed.
    """
    neutral = [reading for reading in readings if not _has_own_command(reading)]
    hows: list[dict[str, Any]] = []
    if neutral:
        files = dict.fromkeys(name for reading in neutral for name in reading["files"])
        limit = neutral[0]["limit"] if len(neutral) == 1 else None
        hows.append({"files": list(files), "task": neutral[0]["task"], "limit": limit})
    for reading in readings:
        how = {name: reading[name] for name in _HOW if name in reading}
        if _has_own_command(reading) and how not in hows:
            hows.append(how)
    return [_command(slug, how, is_last=how is hows[-1]) for how in hows]


def _has_own_command(reading: Mapping[str, Any]) -> bool:
    """Whether other files cannot be read by the same command."""
    return reading["format"] in data_sets() or "mapping" in reading or bool(reading.get("options"))


def _command(slug: str, how: Mapping[str, Any], *, is_last: bool) -> str:
    words = ["manage.py", "import_items", slug, *how["files"], "--create", "--task", how["task"]]
    if "mapping" in how:
        words += ["--mapping", json.dumps(how["mapping"], ensure_ascii=False)]
    elif "format" in how:
        words += ["--format", how["format"]]
        for name, value in how["options"].items():
            words += ["--option", f"{name}={as_text(value)}"]
        words += ["--seed", str(how["seed"])]
    if how["limit"]:
        words += ["--limit", str(how["limit"])]
    return shlex.join([*words, "--like", "jsonl/items.jsonl"] if is_last else words)
