"""The settings, texts, feature sets and items of a study as files."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from studies.errors import FrozenStudy, StudyError
from studies.exporters.items import item_rows, media_files
from studies.importers.files.bundle import File
from studies.importers.files.faults import Refused
from studies.importers.files.json_rows import read_json_lines
from studies.importers.files.lines import BadLine
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions, ReadItems
from studies.importers.items.storage import import_items
from studies.models import FeatureSet, Item, Study
from studies.models.added_settings import added_fields, read_added
from studies.services.items import store_draw
from studies.services.presets import preset_of
from studies.services.settings import save_settings
from studies.services.studies import create_study, record, refuse_fractions
from studies.study_folder import (
    Content,
    Folder,
    refuse_unknown,
    to_json,
    to_toml,
    value_of,
)
from studies.texts.normalisation import canonical

FILE = "study.toml"
FORMAT, VERSION = "thirdperson-study", "1.0"
_HEADER = """\
# A study of Thirdperson. “manage.py apply study.toml” shows what it would change, and with --yes
# changes it. Settings, texts and parts that are not named here stay as they are.

"""
_TEXTS = ("instructions", "consent", "debrief", "ai_policy")
# Set only when the study is created: sides and samples follow the seed.
_ONCE = ("seed", "is_simulated")
# The source of the items is a part with a file of its own.
_ELSEWHERE = ("slug", "state", "created_at", "source", *_TEXTS)
_FIELDS = {field.name: field for field in Study._meta.concrete_fields}
_OWN_SETTINGS = tuple(
    field.name
    for field in _FIELDS.values()
    if field.editable and not field.primary_key and field.name not in _ELSEWHERE
)
_KEYS = ("format", "format_version", "slug", "preset", "settings", "texts", "feature_sets", "parts")


def read_settings_file(folder: Folder, name: str, parts: tuple[str, ...]) -> dict[str, Any]:
    """The content of a study.toml with known keys only. Raises `StudyError`."""
    content = folder.toml(name, known=_KEYS)
    if content.get("format") != FORMAT:
        raise StudyError(f"{name}: if this is a study file, write format = “{FORMAT}” at the top.")
    version = value_of(content, "format_version", str, where=name)
    if version.partition(".")[0] != VERSION.partition(".")[0]:
        raise StudyError(f"{name} has format_version “{version}”. This program reads {VERSION}.")
    value_of(content, "slug", str, where=name)
    value_of(content, "preset", str, where=name, default="")
    for key, known in (
        ("settings", (*_OWN_SETTINGS, *added_fields(), *_ONCE)),
        ("texts", _TEXTS),
        ("parts", parts),
    ):
        table = value_of(content, key, dict, where=name, default={})
        _suggest(table, known, where=f"{name}, [{key}]")
    for part in content.get("parts", {}):
        value_of(content["parts"], part, str, where=f"{name}, [parts]")
    return content


def _suggest(table: Mapping[str, Any], known: tuple[str, ...], *, where: str) -> None:
    for key in table:
        if key not in known and (close := get_close_matches(key, known, n=1)):
            raise StudyError(f"{where}: “{key}” is not known. Did you mean {close[0]}?")
    refuse_unknown(table, known, where=where)


def write_settings(study: Study, parts: Mapping[str, str]) -> dict[str, str]:
    """study.toml and the texts that it names; `parts` has the main file of each part."""
    texts = {name: getattr(study, name) for name in _TEXTS}
    files = {f"texts/{name}.md": text for name, text in texts.items() if text}
    settings = {name: getattr(study, name) for name in _OWN_SETTINGS}
    settings |= read_added(study) | {name: getattr(study, name) for name in _ONCE}
    # Databases keep the keys of an object in different orders.
    settings["criteria"] = [dict(sorted(criterion.items())) for criterion in study.criteria]
    sets = FeatureSet.objects.filter(study=study)
    content = {
        "format": FORMAT,
        "format_version": VERSION,
        "slug": study.slug,
        **({"preset": preset} if (preset := preset_of(study)) else {}),
        "settings": {name: "" if value is None else value for name, value in settings.items()},
        "texts": {name: f"texts/{name}.md" if text else "" for name, text in texts.items()},
        "feature_sets": {
            feature_set.name: feature_set.keys for feature_set in sorted(sets, key=lambda s: s.name)
        },
        "parts": dict(parts),
    }
    return {FILE: _HEADER + to_toml(content), **files}


def create_from(content: Mapping[str, Any], folder: Folder, *, owner: User | None) -> Study:
    """A new draft with the settings of a study.toml. Raises `StudyError`."""
    fields = _values(content, folder)
    try:
        return create_study(
            slug=content["slug"],
            owner=owner,
            preset=content.get("preset", ""),
            **fields,
            state=Study.State.DRAFT,
        )
    except ValidationError as error:
        raise _invalid(error) from error


def change_to(study: Study, content: Mapping[str, Any], folder: Folder) -> Study:
    """Apply the settings of a study.toml to a study, and return it. Raises `StudyError`."""
    if (preset := content.get("preset", "")) and preset != preset_of(study):
        raise StudyError(
            f"{FILE}: “{study.slug}” was not created from the preset “{preset}”. A preset is for "
            "new studies: remove it, or choose another short name to create a study."
        )
    for name, value in (wanted := _values(content, folder)).items():
        if name in _ONCE and value != getattr(study, name):
            raise StudyError(
                f"{name} of “{study.slug}” is {getattr(study, name)} and cannot become {value!r}. "
                "Remove it from study.toml, or choose another short name to create a study."
            )
        setattr(study, name, value)
    try:
        refuse_fractions(wanted)
        study.full_clean()
    except ValidationError as error:
        raise _invalid(error) from error
    save_settings(study, changed=list(wanted))
    return Study.objects.get(pk=study.pk)


def set_feature_sets(study: Study, content: Mapping[str, Any]) -> None:
    """Give a study the feature sets that a study.toml names, if it has that table."""
    if "feature_sets" not in content:
        return
    wanted = value_of(content, "feature_sets", dict, where=FILE)
    for name, keys in wanted.items():
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise StudyError(f"{FILE}: feature set “{name}” must be a list of feature keys.")
        if not 1 <= len(name) <= 60:
            raise StudyError(f"{FILE}: feature set “{name}” needs a name of 1 to 60 letters.")
    there = {
        feature_set.name: feature_set.keys for feature_set in FeatureSet.objects.filter(study=study)
    }
    if there == wanted:
        return
    lost = sorted(name for name, keys in there.items() if wanted.get(name) != keys)
    if lost and study.frozen_at is not None:
        raise FrozenStudy(
            f"“{study.slug}” has answers or judgments, so its feature set “{lost[0]}” cannot "
            "change. Keep it, and add the new one under another name."
        )
    FeatureSet.objects.filter(study=study).delete()
    FeatureSet.objects.bulk_create(
        FeatureSet(study=study, name=name, keys=keys) for name, keys in wanted.items()
    )
    record(study, "feature sets set", names=sorted(wanted))


def _values(content: Mapping[str, Any], folder: Folder) -> dict[str, Any]:
    """The settings and texts that a study.toml names; an empty text means no number."""
    values = dict(content.get("settings", {}))
    for name, value in values.items():
        if value == "" and name in _FIELDS and _FIELDS[name].null:
            values[name] = None
    for name in _ONCE:
        kind = type(_FIELDS[name].get_default())
        if name in values:
            value_of(values, name, kind, where=f"{FILE}, [settings]")
    for name in content.get("texts", {}):
        file = value_of(content["texts"], name, str, where=f"{FILE}, [texts]")
        values[name] = folder.text(file) if file else ""
    return values


def _invalid(error: ValidationError) -> StudyError:
    lines = [f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items()]
    return StudyError(f"{FILE}: {' '.join(lines)}")


_SHOWN = 5


class ItemsFile:
    """items.jsonl, in the format of every import, and the pictures and sounds that it names.

    If texts are withheld, it has only ids and hashes.
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
            how = ImportOptions(study.task, "jsonl", media=folder.path)
            [read] = read_paths([folder.path / file], how)
            hashes = {item.key: item.content_hash for item in read.items}
            if hashes == there:
                return []
            is_more = all(hashes.get(key) == content for key, content in there.items())
            import_items(study.slug, [read], replace=None if is_more else len(there), user=user)
        except Refused as error:
            raise StudyError(f"{file}: {error}") from error
        return _remarks(read)


def _remarks(read: ReadItems) -> list[str]:
    warnings = read.warnings
    return (
        [f"{len(warnings):,} remarks on items; the first: {warnings[0].message}"]
        if warnings
        else []
    )


def _lacking(study: Study, file: str, there: dict[str, str]) -> StudyError:
    return StudyError(
        f"“{study.slug}” has {len(there):,} items, and {file} has none. Delete them on the page "
        "Items first, or remove “items” from study.toml."
    )


def _withheld(items: File) -> dict[str, str] | None:
    """The hashes of items with withheld texts, by id; None if the file has texts."""
    hashes = {}
    for line in read_json_lines(items):
        row = None if isinstance(line, BadLine) else line[1]
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
        f"{file} has only ids and hashes, because the source of the items forbids passing texts "
        f"on. {len(other):,} of {len(wanted):,} items are not in “{study.slug}” with these "
        f"contents: {', '.join(other[:_SHOWN])}. Import the items from their own files first, as "
        f"the file of the source describes (import_items {study.slug} FILE… --create), then apply "
        "again."
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
    """draw.json: each item's probability of being drawn for people, and the drawn items."""

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
