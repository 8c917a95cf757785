"""A study's wordings: checks, versions, comparison, display and files."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import SequenceMatcher
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.text import slugify

from judging.engine.messages import as_text
from judging.errors import BadJudge, FailureReason, InvalidValue
from judging.models import PromptTemplate
from judging.prompts.asking import Asking
from judging.protocols import registry
from judging.protocols.framings import OBSERVER, framing
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.registry import protocol
from studies.additions import Additions
from studies.errors import FrozenStudy, StudyError
from studies.exporters.items import may_redistribute
from studies.models import Item, Side, Study
from studies.prompts import PROMPT_LANGUAGE, base_of, prompt_languages
from studies.services.studies import check_seen, lock_study, record
from studies.study_files.folder import Folder, refuse_unknown, tables_of, to_json, to_toml, value_of
from studies.texts.normalisation import digest
from studies.texts.slots import Slots, names_in, steps_of

MOST_LETTERS = 20_000
SLOTS: dict[str, str] = {
    "persona": "the profile of the person, as annotators see it",
    "question": "the item’s question with the heading [Question]; empty if it has none",
    "question_text": "the question without a heading",
    "context": "the item’s context with its heading; empty if it has none",
    "context_text": "the context without a heading",
    "response_a": "the response that is shown as A",
    "response_b": "the response that is shown as B",
    "ask": "the question of the task, in the words that annotators read",
    "bands": "what the certainty numbers mean, one band per line",
    "criteria": "the criteria of the study, one per line",
    "examples": "other answers of the same person, if a run shows some",
    "others": "what other judges wrote, for a setting that continues from their replies",
    "options": "all responses, each with its letter, for settings that show more than two",
    "advice": "what is shown after the first answer, if the item has advice",
}
_SLOT_LIKE = re.compile(r"\{\{([^{}\n]*)\}\}")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True)
class Checked:
    """`problems` prevent a wording from being stored; `remarks` do not."""

    problems: tuple[str, ...]
    remarks: tuple[str, ...]


def check_template(
    template: str, *, protocol: JudgingProtocol, shows_persona: bool, has: Sequence[str] = ()
) -> Checked:
    """Check one template. `has` names the slots that some item of the study fills."""
    problems: list[str] = []
    if len(template) > MOST_LETTERS:
        problems.append(f"The text has {len(template):,} characters. Use at most {MOST_LETTERS:,}.")
    if _UNSTORABLE.search(template):
        problems.append("The text contains a character that cannot be stored. Type it again.")
    problems += _slot_problems("\n".join(steps_of(template)))
    if (found := len(steps_of(template))) != protocol.steps:
        problems.append(
            f"The text has {found} message{'s' * (found > 1)}, and “{protocol.name}” asks "
            f"{protocol.steps}. Write “{{{{ then }}}}” on a line of its own, between empty lines, "
            "where the next message begins, and nowhere else."
        )
    used = names_in(template)
    for name in protocol.shows:
        if name not in used:
            is_one = name in ("response_a", "response_b")
            what = f"response {name[-1].upper()}" if is_one else "the responses"
            problems.append(f"{{{{ {name} }}}} is missing: the judge would not see {what}.")
    if shows_persona and "persona" not in used:
        problems.append(
            "{{ persona }} is missing: the judge would not see the profile. Write this text in the "
            "field for judges without the profile."
        )
    if not shows_persona and "persona" in used:
        problems.append(
            "{{ persona }} is in the text for judges that see nothing of the person. Remove it."
        )
    if protocol.needs_criteria and "criteria" not in used:
        problems.append(f"{{{{ criteria }}}} is missing: “{protocol.name}” asks about criteria.")
    problems += [
        f"{{{{ {name} }}}} is missing: “{protocol.name}” {why}."
        for name, why in protocol.needs_slots.items()
        if name not in used
    ]
    return Checked(tuple(problems), tuple(_remarks(used, protocol, has)))


def _slot_problems(template: str) -> list[str]:
    known = [field.name for field in fields(Slots)]
    problems = []
    for match in dict.fromkeys(_SLOT_LIKE.findall(template)):
        name = match.strip()
        if name in known:
            if match != f" {name} ":
                problems.append(
                    f"“{{{{{match}}}}}”: write it with single spaces, {{{{ {name} }}}}."
                )
            continue
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        hint = (
            f"Did you mean {{{{ {close[0]} }}}}?" if close else f"Use one of: {', '.join(known)}."
        )
        problems.append(f"There is no slot “{name}”. {hint}")
    rest = _SLOT_LIKE.sub("", template)
    if "{{" in rest or "}}" in rest:
        problems.append("A slot is not closed. Put “{{” and “}}” on one line, as in {{ persona }}.")
    return problems


def _remarks(used: Sequence[str], protocol: JudgingProtocol, has: Sequence[str]) -> list[str]:
    remarks = [
        f"Items have a {name}, which annotators see and this judge does not: {{{{ {name} }}}} is "
        "not in the text."
        for name in ("question", "context")
        if name in has and name not in used and f"{name}_text" not in used
    ]
    if "bands" in used and not protocol.asks_certainty:
        remarks.append(
            f"{{{{ bands }}}} explains certainties, which “{protocol.name}” does not ask for."
        )
    return remarks


_NAME = FailureReason("name", "{field}: use 1 to 60 characters, without “@” and line breaks.")
_NO_TEXT = FailureReason(
    "no_text", "{field} is missing. Write a text, or {names[template_without_persona]}."
)
_PROBLEM = FailureReason("problem", "{field}: {problem}")
_IN_USE = FailureReason("in_use", "{field} “{value}” is used by a run, so it cannot be deleted.")


@dataclass(frozen=True)
class WordingSource:
    """A page of an extra that makes wordings, by its title and the name of its view."""

    name: str
    title: str
    view: str


MORE: Additions[WordingSource] = Additions()


@transaction.atomic
def save_wording(
    *,
    study_id: int,
    name: str,
    setting: str,
    template: str = "",
    template_without_persona: str = "",
    note: str = "",
    source: str = PromptTemplate.Source.WRITTEN,
    exact_texts: Mapping[str, Any] | None = None,
    seen: str | None = None,
    user: User | None = None,
) -> PromptTemplate:
    """Store a wording as the newest version of its name, and return it.

    The newest version is replaced as long as no run uses it; the same content again changes
    nothing. Raises `InvalidValue` with the field at fault, and `StaleVersion` if the version to
    replace does not have the hash `seen`.
    """
    study = lock_study(study_id)
    name = name.strip()
    check_name(name)
    checked = checked_texts(study, setting, template, template_without_persona)
    for field, found in checked.items():
        if found.problems:
            raise InvalidValue(field, _PROBLEM, problem=" ".join(found.problems))
    texts = dict(exact_texts or {})
    sha256 = digest([setting, template, template_without_persona, texts])
    newest = newest_wording(study, name)
    if newest is not None and newest.sha256 == sha256:
        return newest
    if newest is not None and not is_used(newest):
        check_seen(study, seen, newest.sha256, what=f"the wording “{name}”")
        stored, event = newest, "wording changed"
    else:
        version = newest.version + 1 if newest else 1
        stored = PromptTemplate(study=study, name=name, version=version)
        event = "wording added"
    stored.setting, stored.source, stored.note, stored.sha256 = setting, source, note, sha256
    stored.template, stored.template_without_persona = template, template_without_persona
    stored.exact_texts = texts
    stored.save()
    record(study, event, user=user, wording=stored.reference, sha256=sha256)
    return stored


def newest_wording(study: Study, name: str) -> PromptTemplate | None:
    return PromptTemplate.objects.filter(study=study, name=name).order_by("version").last()


def check_name(name: str) -> None:
    """Raise `InvalidValue` if a wording cannot have this name."""
    if not 1 <= len(name) <= 60 or "@" in name or not name.isprintable():
        raise InvalidValue("name", _NAME)


def checked_texts(
    study: Study, setting: str, template: str, template_without_persona: str
) -> dict[str, Checked]:
    """The problems of each text of a wording, by field. Raises `InvalidValue` without a text."""
    asked = protocol(setting)
    fields = {"template": template, "template_without_persona": template_without_persona}
    if not any(text.strip() for text in fields.values()):
        raise InvalidValue("template", _NO_TEXT)
    has = filled_slots(study)
    return {
        field: check_template(text, protocol=asked, shows_persona=field == "template", has=has)
        for field, text in fields.items()
        if text
    }


def filled_slots(study: Study) -> list[str]:
    """Whether some item of the study has a question, and a context."""
    items = Item.objects.filter(study=study)
    return [name for name in ("question", "context") if items.exclude(**{name: ""}).exists()]


def is_used(wording: PromptTemplate) -> bool:
    return wording.frozen_at is not None or wording.runs.exists()


@transaction.atomic
def delete_wording(*, wording: PromptTemplate, user: User) -> None:
    """Delete a version that no run uses. Raises `InvalidValue` for one that is used."""
    study = lock_study(wording.study_id)
    if is_used(PromptTemplate.objects.get(pk=wording.pk)):
        raise InvalidValue("wording", _IN_USE, value=wording)
    record(study, "wording deleted", user=user, wording=wording.reference, sha256=wording.sha256)
    wording.delete()


def copy_wordings(study: Study, copy: Study) -> None:
    """Add a study's wordings to a copy of it, where no run has used them yet."""
    kept = ("name", "version", "setting", "template", "template_without_persona", "note")
    PromptTemplate.objects.bulk_create(
        PromptTemplate(
            study=copy,
            source=wording.source,
            exact_texts=wording.exact_texts,
            sha256=wording.sha256,
            **{field: getattr(wording, field) for field in kept},
        )
        for wording in PromptTemplate.objects.filter(study=study)
    )


@dataclass(frozen=True)
class DiffLine:
    """A line in a comparison of two texts: `kind` is "same", "added" or "removed"."""

    kind: str
    text: str


def compare(old: str, new: str) -> list[DiffLine]:
    """All lines of both texts in reading order."""
    before, after = old.split("\n"), new.split("\n")
    lines: list[DiffLine] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += [DiffLine("same", line) for line in before[a:b]]
            continue
        lines += [DiffLine("removed", line) for line in before[a:b]]
        lines += [DiffLine("added", line) for line in after[c:d]]
    return lines


ITEMS = 3


@dataclass(frozen=True)
class ExamplePrompt:
    """A prompt with response 1 as A; `number` is the item's place among the annotators' items."""

    number: int
    item: Item
    prompt: str


def example_prompts(wording: PromptTemplate) -> list[ExamplePrompt]:
    """The prompts of the first items, to a judge that sees the persona if the wording shows it."""
    language = base_of(wording.study.language)
    asking = Asking(
        study=wording.study,
        protocol=protocol(wording.setting),
        features=None if wording.template else [],
        framing=framing(OBSERVER),
        language=language if language in prompt_languages() else PROMPT_LANGUAGE,
        template=wording,
    )
    items = Item.objects.filter(study=wording.study).select_related("persona").order_by("key")
    return [
        ExamplePrompt(number, item, as_text(asking.messages(item, shown_first=Side.R1)))
        for number, item in enumerate(items[:ITEMS], start=1)
    ]


_TEXTS = ("template", "template_without_persona")
_KEYS = ("name", "version", "setting", "source", "note", *_TEXTS, "exact_texts")
# Fields that must agree between wordings of one name and version, once a run has used it.
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
    """A unique name for the files of a wording."""
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
            f"{file}: “{wording.reference}” is used by a run, so it cannot change. Add the new "
            f"text as version {wording.version + 1}."
        )
