"""The wordings of a study as files."""

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import User
from django.utils.text import slugify

from judging.errors import BadJudge
from judging.models import PromptTemplate
from judging.protocols import registry
from judging.wordings.versions import check_name, checked_texts, is_used
from studies.errors import FrozenStudy, StudyError
from studies.exporters.items import may_redistribute
from studies.models import Study
from studies.services.studies import record
from studies.study_files.folder import Folder, refuse_unknown, tables_of, value_of
from studies.study_files.parts import to_json, to_toml
from studies.texts.normalisation import digest

_TEXTS = ("template", "template_without_persona")
_KEYS = ("name", "version", "setting", "source", "note", *_TEXTS, "exact_texts")
# What two wordings of one name and version must share if a run has used one of them.
_CONTENT = ("setting", "exact_texts", *_TEXTS)


class Wordings:
    """wordings.toml, and a file for each text that it names."""

    name, file = "wordings", "wordings.toml"

    def write(self, study: Study) -> dict[str, str]:
        rows, files, taken = [], {}, set[str]()
        found = PromptTemplate.objects.filter(study=study)
        for wording in sorted(found, key=lambda each: (each.name, each.version)):
            path = _path(wording, taken)
            row = {
                "name": wording.name,
                "version": wording.version,
                "setting": wording.setting,
                "source": wording.source,
                "note": wording.note,
            }
            texts = {f"{path}.txt": wording.template}
            texts |= {f"{path}.no_persona.txt": wording.template_without_persona}
            for key, (name, text) in zip(_TEXTS, texts.items(), strict=True):
                if text:
                    row[key] = name
                    files[name] = text
            # They are texts of items, as a released file spells them.
            if wording.exact_texts and may_redistribute(study):
                row["exact_texts"] = f"{path}.items.json"
                files[f"{path}.items.json"] = to_json(wording.exact_texts)
            rows.append(row)
        return {self.file: to_toml({"wording": rows}), **files}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        wanted = {(row["name"], row["version"]): row for row in _rows(study, folder, file)}
        there = {(w.name, w.version): w for w in PromptTemplate.objects.filter(study=study)}
        for key in there.keys() - wanted.keys():
            _refuse_used(there[key], file)
            there[key].delete()
        for key, row in wanted.items():
            wording = there.get(key) or PromptTemplate(study=study)
            if all(getattr(wording, name) == value for name, value in row.items()):
                continue
            if any(getattr(wording, name) != row[name] for name in _CONTENT):
                _refuse_used(wording, file)
                problems = checked_texts(study, row["setting"], *(row[name] for name in _TEXTS))
                for found in problems.values():
                    if found.problems:
                        where = f"{file}, “{row['name']}”"
                        raise StudyError(f"{where}: {' '.join(found.problems)}")
            for name, value in row.items():
                setattr(wording, name, value)
            wording.sha256 = digest([row["setting"], *(row[n] for n in _TEXTS), row["exact_texts"]])
            wording.save()
            noted = {"wording": wording.reference, "sha256": wording.sha256}
            record(study, "wording applied", user=user, **noted)
        return []


def _path(wording: PromptTemplate, taken: set[str]) -> str:
    """A name for the files of a wording that no other one has."""
    stem = f"wordings/{slugify(wording.name) or 'wording'}.{wording.version}"
    path, number = stem, 1
    while path in taken:
        number += 1
        path = f"{stem}-{number}"
    taken.add(path)
    return path


def _rows(study: Study, folder: Folder, file: str) -> Iterator[dict[str, Any]]:
    """The wordings of a file, checked one by one. Raises `StudyError`."""
    seen = set()
    content = folder.toml(file, known=("wording",))
    for number, row in enumerate(tables_of(content, "wording", where=file), start=1):
        where = f"{file}, wording {number}"
        refuse_unknown(row, _KEYS, where=where)
        name = value_of(row, "name", str, where=where)
        version = value_of(row, "version", int, where=where)
        try:
            check_name(name)
        except BadJudge as error:
            raise StudyError(f"{where}: {error}") from error
        if not 1 <= version <= 32_767 or (name, version) in seen:
            raise StudyError(f"{where}: give every version of “{name}” its own number, from 1.")
        seen.add((name, version))
        setting = value_of(row, "setting", str, where=where)
        source = value_of(row, "source", str, where=where, default="written")
        for value, known in ((setting, registry.names()), (source, PromptTemplate.Source.values)):
            if value not in known:
                names = ", ".join(known)
                raise StudyError(f"{where}: “{value}” is not known. Use one of: {names}.")
        texts = {key: value_of(row, key, str, where=where, default="") for key in _TEXTS}
        exact = value_of(row, "exact_texts", str, where=where, default="")
        if not any(texts.values()):
            raise StudyError(f"{where}: name a file as template or template_without_persona.")
        yield {
            "name": name,
            "version": version,
            "setting": setting,
            "source": source,
            "note": value_of(row, "note", str, where=where, default=""),
            "exact_texts": folder.json(exact) if exact else {},
            **{key: folder.text(path) if path else "" for key, path in texts.items()},
        }


def _refuse_used(wording: PromptTemplate, file: str) -> None:
    if wording.pk is not None and is_used(wording):
        raise FrozenStudy(
            f"{file}: “{wording.reference}” is used by a run, so it stays as it is. Add the other "
            f"words as version {wording.version + 1}."
        )
