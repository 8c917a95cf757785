"""Storing, changing and deleting the wordings of a study."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from judging.errors import InvalidValue, Reason
from judging.models import PromptTemplate
from judging.protocols.registry import protocol
from judging.wordings.checks import Checked, check_template
from studies.additions import Additions
from studies.models import Item, Study
from studies.services.studies import check_seen, lock_study, record
from studies.texts.normalisation import digest

_NAME = Reason("name", "{field}: use 1 to 60 characters, without “@” and line breaks.")
_NO_TEXT = Reason(
    "no_text", "{field} is missing. Write a text, or {names[template_without_persona]}."
)
_PROBLEM = Reason("problem", "{field}: {problem}")
_IN_USE = Reason("in_use", "{field} “{value}” is used by a run, so it stays.")


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
    nothing. Raises `InvalidValue` with the field at fault, and `StaleVersion` if a version would be
    replaced that is not the one with the hash `seen`.
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
    """What is wrong with each text of a wording, by field. Raises `InvalidValue` without a text."""
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
    """Which of question and context some item of the study has."""
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
