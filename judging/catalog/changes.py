"""Judges added and changed, on pages or by files, by those who may (`judging.catalog.access`)."""

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.views.decorators.debug import sensitive_variables

from judging.backends.extra_fields import ExtraFields, check_secret_values
from judging.backends.registry import backend_kind
from judging.catalog.access import (
    KEY_FIELDS,
    check_may_enter_keys,
    may_change,
    studies_that_use,
    with_access,
)
from judging.errors import BadJudge, FailureReason, InvalidValue, JudgingError
from judging.models import Judge, Jury, StudyJudge
from judging.runs.judges import IDENTITY, add_judge, new_addresses, store_judge
from judging.worker.endpoints import SealedKey, seal
from studies.errors import StudyError
from studies.models import Study
from studies.services.studies import record
from studies.study_files.folder import Folder, refuse_unknown, tables_of, to_toml, value_of

_SEALED = ("sealed_key", "sealed_headers")
_NAME_TAKEN = FailureReason(
    "name_taken", "{field}: there is a judge “{value}” already. Use another name."
)
_NO_VALUE = FailureReason(
    "no_value", "{field}: enter the value of {value}. None is stored for this address."
)
_OTHER_HEADERS = FailureReason(
    "other_headers",
    "{field}: runs have used this judge, so its headers keep their names. Only values can change.",
)


class OutdatedJudge(BadJudge):
    """Somebody else has changed the judge; `now` has what differs from the values entered."""

    def __init__(self, stored: Judge, entered: dict[str, Any]) -> None:
        super().__init__("Somebody else has changed this judge since you opened the page.")
        self.version = version_of(stored)
        self.now = {
            name: _shown(getattr(stored, name))
            for name, value in entered.items()
            if name not in (*KEY_FIELDS, *_SEALED) and getattr(stored, name) != value
        }


def version_of(judge: Judge) -> str:
    """Equal as long as nobody changes the judge; what a test finds out is no change."""
    fields = [field for field in judge._meta.concrete_fields if field.name != "reply_form"]
    values = [str(getattr(judge, field.attname)) for field in fields]
    return hashlib.sha256("\0".join(values).encode()).hexdigest()


@sensitive_variables()
@transaction.atomic
def save_judge(
    *,
    judge: Judge | None,
    study: Study,
    user: User,
    fields: dict[str, Any],
    key: str = "",
    key_of: Judge | None = None,
    headers: Mapping[str, str] | None = None,
    seen: str = "",
) -> Judge:
    """Add a judge, or change one; `key` is stored encrypted, `key_of` shares the key of a judge.

    `headers` are the secret ones, also stored encrypted; without a value they keep the stored one.
    `seen` is the `version_of` the judge that the user has seen. Raises `BadJudge` with the field at
    fault, and `OutdatedJudge` if somebody else has changed it since.
    """
    if judge is None:
        stored = Judge(created_by=user)
    else:
        stored = Judge.objects.select_for_update(no_key=True).get(pk=judge.pk)
        if not may_change(user, stored):
            raise BadJudge(
                "You may not change this judge: somebody else added it, or a study uses it that "
                "you cannot change. Add a judge like it, or ask an administrator."
            )
        if seen and seen != version_of(stored):
            raise OutdatedJudge(stored, fields)
    name = fields.get("name", stored.name)
    if Judge.objects.filter(name=name).exclude(pk=stored.pk).exists():
        raise InvalidValue("name", _NAME_TAKEN, value=name)
    fields = with_access(stored, fields, study=study, user=user, key=key, key_of=key_of)
    if headers is not None:
        options = fields.get("model_options", stored.model_options)
        if {*ExtraFields.of(options).secret_headers} != {*map(str.lower, headers)}:
            raise InvalidValue("secret_headers", _OTHER_HEADERS)
        is_new_address = bool(new_addresses(stored, fields))
        known = key_of or (None if is_new_address else stored)
        fields |= {"sealed_headers": _sealed(headers, known)}
        if any(headers.values()):
            check_may_enter_keys(user, study, field="secret_headers")
            fields["key_by"] = user
        elif known and fields["sealed_headers"] and not key:
            fields["key_by"] = known.key_by
    before = {field: getattr(stored, field) for field in fields}
    store_judge(stored, fields)
    _record(stored, study, user, before, is_new=judge is None)
    return stored


@sensitive_variables()
def _sealed(given: Mapping[str, str], known: Judge | None) -> str:
    """Secret headers encrypted; those without a value have that of a judge. Raises `BadJudge`."""
    token = known.sealed_headers if known else ""
    stored: dict[str, str] = (
        json.loads(SealedKey(known.name, token).open()) if known and token else {}
    )
    values = {name.lower(): value or stored.get(name.lower(), "") for name, value in given.items()}
    if missing := [name for name, value in values.items() if not value]:
        raise InvalidValue("secret_headers", _NO_VALUE, value=missing[0])
    check_secret_values(values)
    if values == stored:
        return token
    return seal(json.dumps(values)) if values else ""


@transaction.atomic
def set_retired(*, judge: Judge, is_retired: bool, study: Study, user: User) -> bool:
    """Stop offering a judge for new runs, or offer it again; False if nothing changed."""
    changed = Judge.objects.filter(pk=judge.pk, is_retired=not is_retired).update(
        is_retired=is_retired
    )
    if changed:
        _log(judge, study, user, "judge retired" if is_retired else "judge offered again")
    return bool(changed)


@transaction.atomic
def remove_key(*, judge: Judge, study: Study, user: User) -> bool:
    """Delete the stored key of a judge; False if it has none."""
    removed = (
        Judge.objects.filter(pk=judge.pk).exclude(sealed_key="").update(sealed_key="", key_by=None)
    )
    if removed:
        _log(judge, study, user, "judge changed", changed=["key removed"])
    return bool(removed)


@transaction.atomic
def delete_judge(*, judge: Judge, study: Study, user: User) -> None:
    """Delete a judge that no run has used. Raises `BadJudge`."""
    Judge.objects.select_for_update(no_key=True).get(pk=judge.pk)
    if judge.runs.exists() or judge.juries.exists():
        raise BadJudge("Runs or juries use this judge, so it cannot be deleted. Retire it instead.")
    record(study, "judge deleted", user=user, judge=judge.name)
    judge.delete()


def _record(
    judge: Judge, study: Study, user: User, before: dict[str, Any], *, is_new: bool
) -> None:
    if is_new:
        record(study, "judge added", user=user, judge=judge.name, base_url=judge.base_url)
        return
    changed = [
        f"{field}: {_shown(value)} → {_shown(getattr(judge, field))}"
        for field, value in before.items()
        if field not in (*_SEALED, "key_by") and getattr(judge, field) != value
    ]
    for field, what in zip(_SEALED, ("key", "secret headers"), strict=True):
        token = getattr(judge, field)
        if before.get(field, token) != token:
            changed.append(f"{what} {'stored' if token else 'removed'}")
    if changed:
        _log(judge, study, user, "judge changed", changed=changed)


def _log(judge: Judge, study: Study, user: User, event: str, **detail: Any) -> None:
    """Write to the log of the study and of those that use the judge, which they share."""
    for each in studies_that_use(judge) | Study.objects.filter(pk=study.pk):
        record(each, event, user=user, judge=judge.name, **detail)


def _shown(value: Any) -> str:
    return "–" if value in (None, "", []) else str(value)


_NOT_WRITTEN = (
    *("id", "name", *_SEALED, "key_by", "reply_form"),
    *("created_by", "is_retired", "created_at"),
)
_FIELDS = {
    field.name: field for field in Judge._meta.concrete_fields if field.name not in _NOT_WRITTEN
}


class Judges:
    """judges.toml: the judges and juries of a study. Of a key it names only the variable."""

    name, file = "judges", "judges.toml"

    def write(self, study: Study) -> dict[str, str]:
        judges = sorted(_judges_of(study), key=lambda judge: judge.name)
        juries = sorted(
            Jury.objects.filter(study=study).prefetch_related("judges"), key=lambda jury: jury.name
        )
        content = {
            "judge": [_table(judge) for judge in judges],
            "jury": [
                {"name": jury.name, "judges": sorted(judge.name for judge in jury.judges.all())}
                for jury in juries
            ],
        }
        return {self.file: to_toml(content)}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        content = folder.toml(file, known=("judge", "jury"))
        remarks, judges = [], {}
        for number, row in enumerate(tables_of(content, "judge", where=file), start=1):
            name = value_of(row, "name", str, where=f"{file}, judge {number}")
            where = f"{file}, judge “{name}”"
            refuse_unknown(row, ("name", *_FIELDS), where=where)
            known = Judge.objects.filter(name=name).first()
            judges[name] = known or _added(name, row, where)
            if known is not None:
                remarks += _compared(known, row, where)
        StudyJudge.objects.filter(study=study).exclude(judge__in=judges.values()).delete()
        for judge in judges.values():
            StudyJudge.objects.get_or_create(study=study, judge=judge)
        if missing := sorted(judge.name for judge in _asked(study) if judge.name not in judges):
            raise StudyError(
                f"{file} lacks the judge “{missing[0]}”, which “{study.slug}” has asked. Add it."
            )
        _set_juries(study, tables_of(content, "jury", where=file), judges, file)
        return remarks


def copy_judges(study: Study, copy: Study) -> None:
    """Give a copy of a study the judges of its design, and those that its runs ask."""
    StudyJudge.objects.bulk_create(
        StudyJudge(study=copy, judge=judge) for judge in _judges_of(study)
    )


def _asked(study: Study) -> list[Judge]:
    return list(Judge.objects.filter(runs__study=study).distinct())


def _judges_of(study: Study) -> list[Judge]:
    """The judges of a study: of its design, and those that its runs and juries ask."""
    named = Q(runs__study=study) | Q(design_studies__study=study) | Q(juries__study=study)
    return list(Judge.objects.filter(named).distinct())


def _table(judge: Judge) -> dict[str, Any]:
    """A judge as a TOML table; what is not set is left out."""
    row: dict[str, Any] = {"name": judge.name}
    for name in _FIELDS:
        value = getattr(judge, name)
        if isinstance(value, Decimal):
            value = f"{value.normalize():f}"
        elif name == "model_options":
            value = dict(sorted(value.items()))
        if value is not None:
            row[name] = value
    return row


def _values(row: dict[str, Any], where: str) -> dict[str, Any]:
    """The fields of a judge as the database has them; a field that is not named has its default."""
    fields = {}
    for name, field in _FIELDS.items():
        value = row.get(name, field.get_default() if not field.null else None)
        if name == "model_options" and name in row:
            value = value_of(row, name, dict, where=where)
        if field.get_internal_type() == "DecimalField" and value is not None:
            try:
                value = Decimal(str(value))
            except ArithmeticError as error:
                problem = f"{where}: {name} is {value!r}. Use a number in quotes."
                raise StudyError(problem) from error
        fields[name] = value
    return fields


def _added(name: str, row: dict[str, Any], where: str) -> Judge:
    """Add a judge that this installation lacks."""
    fields = _values(row, where)
    try:
        is_local = backend_kind(fields["backend"]).capabilities.is_local
        if is_local and not fields["model_options"].get("revision"):
            raise StudyError(
                f"{where}: model_options has no revision. Name the exact revision of a local "
                "model, or add the judge with add_judge, which finds it."
            )
        return add_judge(name=name, **fields)[0]
    except JudgingError as error:
        raise StudyError(f"{where}: {error}") from error


def _compared(judge: Judge, row: dict[str, Any], where: str) -> list[str]:
    """What a judge that exists keeps. Raises `StudyError` if its answers would differ."""
    fields = _values(row, where)
    # Without a word about structured replies, those of the judge that is here are meant.
    fields["structured"] = row.get("structured", judge.structured)
    other = [name for name, value in fields.items() if value != getattr(judge, name)]
    if differing := [name for name in other if name in IDENTITY]:
        raise StudyError(
            f"{where}: this installation has a judge of that name with another "
            f"{', '.join(name.replace('_', ' ') for name in differing)}. All studies share a "
            "judge, so it is not changed. Give the judge another name in the file."
        )
    if not other:
        return []
    kept = ", ".join(name.replace("_", " ") for name in other)
    return [f"{where}: this installation keeps its own {kept}, because all studies share a judge."]


def _set_juries(
    study: Study, rows: list[dict[str, Any]], judges: dict[str, Judge], file: str
) -> None:
    names = []
    for number, row in enumerate(rows, start=1):
        where = f"{file}, jury {number}"
        refuse_unknown(row, ("name", "judges"), where=where)
        name = value_of(row, "name", str, where=where)
        members = value_of(row, "judges", list, where=where)
        if unknown := [member for member in members if member not in judges]:
            raise StudyError(f"{where}: there is no judge “{unknown[0]}” in {file}.")
        if not 1 <= len(name) <= 120 or name in judges:
            raise StudyError(f"{where}: “{name}” needs a name of its own, of 1 to 120 letters.")
        jury, _ = Jury.objects.get_or_create(study=study, name=name)
        jury.judges.set([judges[member] for member in members])
        names.append(name)
    if left := Jury.objects.filter(study=study).exclude(name__in=names).first():
        raise StudyError(f"{file} lacks the jury “{left.name}” of “{study.slug}”. Add it.")
