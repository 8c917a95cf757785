"""Adding and changing judges on pages; the log of every study concerned says what changed."""

import hashlib
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from judging.catalog.rules import check_address, check_key_variable, may_change, studies_that_use
from judging.errors import BadJudge, InvalidValue, Reason
from judging.models import Judge
from judging.runs.judges import new_addresses, store_judge
from judging.worker.stored_keys import seal
from studies.models import Study
from studies.services.studies import record

_KEY_FIELDS = ("api_key_env", "sealed_key")
_NAME_TAKEN = Reason("name_taken", "{field}: there is a judge “{value}” already. Use another name.")
_KEY_STAYS = Reason(
    "key_stays",
    "{field}: a key is not sent to another address. Enter the key of this address, or name the "
    "variable that holds it.",
)


class OutdatedJudge(BadJudge):
    """Somebody else has changed the judge; `now` has what differs from the values entered."""

    def __init__(self, stored: Judge, entered: dict[str, Any]) -> None:
        super().__init__("Somebody else has changed this judge since you opened the page.")
        self.version = version_of(stored)
        self.now = {
            name: _shown(getattr(stored, name))
            for name, value in entered.items()
            if name not in _KEY_FIELDS and getattr(stored, name) != value
        }


def version_of(judge: Judge) -> str:
    """Equal as long as nobody changes the judge."""
    values = [str(getattr(judge, field.attname)) for field in judge._meta.concrete_fields]
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
    seen: str = "",
) -> Judge:
    """Add a judge, or change one; `key` is stored encrypted, `key_of` shares the key of a judge.

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
    base_url = fields.get("base_url", stored.base_url)
    name = fields.get("name", stored.name)
    if Judge.objects.filter(name=name).exclude(pk=stored.pk).exists():
        raise InvalidValue("name", _NAME_TAKEN, value=name)
    added = new_addresses(stored, fields)
    for address in added:
        field = "base_url" if address == base_url else "more_base_urls"
        check_address(user, address, field=field)
    if key_of is not None:
        if not {base_url, *added} <= {*key_of.base_urls}:
            raise InvalidValue("key_from", _KEY_STAYS)
        fields |= {field: getattr(key_of, field) for field in _KEY_FIELDS}
    elif key:
        fields |= {"api_key_env": "", "sealed_key": seal(key)}
    elif "api_key_env" in fields:
        fields |= {"sealed_key": ""}
        for address in {base_url, *added}:
            check_key_variable(user, address, fields["api_key_env"])
    elif added and (stored.sealed_key or stored.api_key_env):
        raise InvalidValue("key_from", _KEY_STAYS)
    before = {field: getattr(stored, field) for field in fields}
    store_judge(stored, fields)
    _record(stored, study, user, before, is_new=judge is None)
    return stored


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
    removed = Judge.objects.filter(pk=judge.pk).exclude(sealed_key="").update(sealed_key="")
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
        if field != "sealed_key" and getattr(judge, field) != value
    ]
    if before.get("sealed_key", judge.sealed_key) != judge.sealed_key:
        changed.append("key stored" if judge.sealed_key else "key removed")
    if changed:
        _log(judge, study, user, "judge changed", changed=changed)


def _log(judge: Judge, study: Study, user: User, event: str, **detail: Any) -> None:
    """Write to the log of the study and of those that use the judge, which they share."""
    for each in studies_that_use(judge) | Study.objects.filter(pk=study.pk):
        record(each, event, user=user, judge=judge.name, **detail)


def _shown(value: Any) -> str:
    return "–" if value in (None, "", []) else str(value)
