"""Judges added and changed, on pages or by files, by those who may (`judging.catalog.access`)."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.views.decorators.debug import sensitive_variables

from judging.backends.extra_fields import ExtraFields, check_secret_values
from judging.catalog.access import (
    KEY_FIELDS,
    check_may_enter_keys,
    may_change,
    studies_that_use,
    with_access,
)
from judging.errors import BadJudge, FailureReason, InvalidValue
from judging.models import Judge, StudyJudge
from judging.runs.judges import new_addresses, store_judge
from judging.worker.endpoints import SealedKey, seal
from studies.models import Study
from studies.services.studies import record

_FOUND = ("reply_form", "test_problem")  # what a test finds out
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
    fields = [field for field in judge._meta.concrete_fields if field.name not in _FOUND]
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
def _sealed(headers: Mapping[str, str], known: Judge | None) -> str:
    """Secret headers encrypted; those without a value have that of a judge. Raises `BadJudge`."""
    token = known.sealed_headers if known else ""
    stored: dict[str, str] = (
        json.loads(SealedKey(known.name, token).open()) if known and token else {}
    )
    values = {
        name.lower(): value or stored.get(name.lower(), "") for name, value in headers.items()
    }
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
    for user_study in studies_that_use(judge) | Study.objects.filter(pk=study.pk):
        record(user_study, event, user=user, judge=judge.name, **detail)


def _shown(value: Any) -> str:
    return "–" if value in (None, "", []) else str(value)


def copy_judges(study: Study, copy: Study) -> None:
    """Give a copy of a study the judges of its design, and those that its runs ask."""
    StudyJudge.objects.bulk_create(
        StudyJudge(study=copy, judge=judge) for judge in judges_of(study)
    )


def judges_of(study: Study) -> list[Judge]:
    """The judges of a study: of its design, and those that its runs and juries ask."""
    named = Q(runs__study=study) | Q(design_studies__study=study) | Q(juries__study=study)
    return list(Judge.objects.filter(named).distinct())
