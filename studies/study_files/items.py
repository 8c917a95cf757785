"""The items of a study as files, with their source and the draw of those that people answer."""

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from studies.errors import StudyError
from studies.exporters.items import item_rows, media_files
from studies.importers.files.bundle import File
from studies.importers.files.faults import Refused
from studies.importers.files.readers import BadLine, read_json_lines
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ReadItems
from studies.importers.items.storage import import_items
from studies.models import Item, Study
from studies.services.items.drawing import store_draw
from studies.services.settings import save_settings
from studies.study_files.folder import Folder, value_of
from studies.study_files.parts import Content, to_json
from studies.texts.normalisation import canonical

_SHOWN = 5


class ItemsFile:
    """items.jsonl, in the format of every import, and the pictures and sounds that it names.

    If texts are withheld, it has ids and hashes.
    """

    name, file = "items", "items.jsonl"

    def write(self, study: Study) -> dict[str, Content]:
        rows: Iterator[str] = (canonical(row) + "\n" for row in item_rows(study))
        return {self.file: rows, **media_files(study)}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        items = folder.file(file)
        there = dict(Item.everything.filter(study=study).values_list("key", "content_hash"))
        if not items.head():
            if there:
                raise _lacking(study, file, there)
            return []
        if (withheld := _withheld(items)) is not None:
            _need_same(study, file, withheld, there)
            return []
        try:
            [read] = read_paths(
                [folder.path / file], format="jsonl", task=study.task, media=folder.path
            )
            hashes = {item.key: item.content_hash for item in read.items}
            if hashes == there:
                return []
            is_more = all(hashes.get(key) == content for key, content in there.items())
            import_items(study.slug, [read], replace=None if is_more else len(there), user=user)
        except Refused as error:
            raise StudyError(f"{file}: {error}") from error
        return _remarks(read)


def _remarks(read: ReadItems) -> list[str]:
    found = read.warnings
    return [f"{len(found):,} remarks on items; the first: {found[0].message}"] if found else []


def _lacking(study: Study, file: str, there: dict[str, str]) -> StudyError:
    return StudyError(
        f"“{study.slug}” has {len(there):,} items, and {file} has none. Delete them on the page "
        "Items first, or remove “items” from study.toml."
    )


def _withheld(items: File) -> dict[str, str] | None:
    """The hashes of items whose texts may not be passed on, by id; None if the file has texts."""
    hashes = {}
    for found in read_json_lines(items):
        row = None if isinstance(found, BadLine) else found[1]
        if not isinstance(row, dict) or "content_hash" not in row or "responses" in row:
            return None
        hashes[str(row.get("id"))] = str(row["content_hash"])
    return hashes


def _need_same(study: Study, file: str, wanted: dict[str, str], there: dict[str, str]) -> None:
    """Refuse ids and hashes of items that the study does not have."""
    other = sorted(key for key in wanted.keys() | there.keys() if wanted.get(key) != there.get(key))
    if not other:
        return
    raise StudyError(
        f"{file} holds ids and hashes, because the source of the items forbids passing texts on. "
        f"{len(other):,} of {len(wanted):,} items are not in “{study.slug}” with these contents: "
        f"{', '.join(other[:_SHOWN])}. Import the items from their own files first, as the file of "
        f"the source describes (import_items {study.slug} FILE… --create), then apply again."
    )


class SourceFile:
    """source.json: where the items come from, their licence, and how they were made."""

    name, file = "source", "source.json"

    def write(self, study: Study) -> dict[str, str]:
        return {self.file: to_json(study.source)}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        study.source = folder.json(file)
        try:
            study.full_clean()
        except ValidationError as error:
            raise StudyError(f"{file}: {' '.join(error.messages)}") from error
        save_settings(study, changed=["source"], user=user)
        return []


class DrawFile:
    """draw.json: the probability of each item to be given to people, and those that were drawn."""

    name, file = "draw", "draw.json"

    def write(self, study: Study) -> dict[str, str]:
        return {self.file: to_json(_draw_of(study))} if study.draw else {}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        content = folder.json(file)
        if study.draw and content == _draw_of(study):
            return []
        by = value_of(content, "by", dict, where=file)
        probabilities = value_of(content, "probabilities", dict, where=file)
        drawn = value_of(content, "drawn", list, where=file)
        keys = set(Item.objects.filter(study=study).values_list("key", flat=True))
        if unknown := sorted({*probabilities, *map(str, drawn)} - keys):
            raise StudyError(f"{file} names the item {unknown[0]}, which “{study.slug}” lacks.")
        for key, value in probabilities.items():
            if not 0 < value_of(probabilities, key, float, where=file) <= 1:
                raise StudyError(
                    f"{file}: the probability of {key} is {value}. Use a number above 0, up to 1."
                )
        store_draw(study_id=study.pk, probabilities=probabilities, drawn=drawn, by=by, user=user)
        return []


def _draw_of(study: Study) -> dict[str, Any]:
    own = Item.objects.filter(study=study)
    return {
        "by": {key: value for key, value in study.draw.items() if key not in ("items", "size")},
        "probabilities": dict(
            own.exclude(draw_probability=None).values_list("key", "draw_probability")
        ),
        "drawn": sorted(own.filter(seats_needed__gt=0).values_list("key", flat=True)),
    }
