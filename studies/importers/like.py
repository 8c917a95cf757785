"""Getting the items of an export back whose source forbids passing their texts on.

Such an export lists ids and content hashes. Whoever has the source's own files imports them
`like` that list: exactly its items, each with the content that was judged.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from studies.importers.faults import Fault, Refused
from studies.importers.read import ReadItems
from studies.importers.records import ItemRecord


def read_list(path: Path) -> dict[str, str]:
    """The content hash of each item that an export's items.jsonl lists. Raises `Refused`."""
    try:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        return {row["id"]: row["content_hash"] for row in rows}
    except OSError as error:
        raise _refused(path, f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise _refused(path, f"{path} does not list items by id and content_hash.") from error


def only_listed(files: Sequence[ReadItems], listed: dict[str, str]) -> list[ReadItems]:
    """The items of `files` that `listed` names. Raises `Refused` unless all are there unchanged."""
    kept: list[ReadItems] = []
    found: set[str] = set()
    other: dict[str, ItemRecord] = {}
    for file in files:
        same = [item for item in file.items if listed.get(item.key) == item.content_hash]
        kept.append(replace(file, items=same))
        found.update(item.key for item in same)
        other |= {item.key: item for item in file.items if item.key in listed}
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
