"""Judges added and changed, on pages or by files: who may, where, and with which keys.

A judge's server receives a key and is asked from inside the network of this program, so an address
is a privilege. Users with the permission “Can add judge”, which superusers have, may enter any
address. Editors of a study may use OpenAI, Anthropic and Gemini, the servers of judges that exist,
and the hosts that JUDGE_HOSTS allows. Nobody can name an arbitrary environment variable on a page,
and a key never follows a judge to another address. All studies share a judge, so who changes one
needs the right to do so in every study that uses it.
"""

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.views.decorators.debug import sensitive_variables

from judging.backends.backend import PROVIDER_KEYS, provider_key
from judging.backends.extra_fields import ExtraFields, check_secret_values
from judging.backends.registry import backend_kind, names
from judging.errors import BadJudge, FailureReason, InvalidValue, JudgingError
from judging.models import Judge, Jury, StudyJudge
from judging.runs.judges import IDENTITY, add_judge, new_addresses, store_judge
from judging.worker.endpoints import SealedKey, seal
from studies.errors import StudyError
from studies.models import Membership, Study
from studies.selectors import studies_for
from studies.services.studies import record
from studies.study_files.folder import Folder, refuse_unknown, tables_of, to_toml, value_of

KEY_PREFIX = "JUDGE_KEY_"

_NOT_YOUR_ADDRESS = FailureReason(
    "not_your_address",
    "{field}: you may use the addresses of OpenAI, Anthropic and Gemini, and of judges that exist. "
    "Ask an "
    "administrator to add a judge at {value}, or to allow this host with JUDGE_HOSTS.",
)
_NOT_YOUR_KEY = FailureReason(
    "not_your_key",
    "{field}: the key in {value} is not used at this address yet. Ask an administrator to add the "
    "first judge with it.",
)
_NO_KEY_VARIABLE = FailureReason(
    "no_key_variable",
    "{field}: {value} is not a variable for keys of judges. Its name must begin with "
    f"{KEY_PREFIX}, or the administrator must list it in JUDGE_KEY_VARIABLES.",
)


def may_add_addresses(user: User | AnonymousUser) -> bool:
    return user.has_perm("judging.add_judge")


def may_change(user: User | AnonymousUser, judge: Judge) -> bool:
    """Whether an editor of a study may change a judge, which all studies share.

    Its address, prices and limits apply to every study that uses it: an editor of one of them does
    not decide where the items of another one go.
    """
    is_own = user.pk is not None and judge.created_by_id == user.pk
    return (may_add_addresses(user) or is_own) and not is_used_elsewhere(user, judge)


def is_used_elsewhere(user: User | AnonymousUser, judge: Judge) -> bool:
    """Whether a study uses the judge in which the user may change nothing."""
    own = studies_for(user, role=Membership.Role.EDITOR)
    return studies_that_use(judge).exclude(pk__in=own.values("pk")).exists()


def studies_that_use(judge: Judge) -> QuerySet[Study]:
    """The studies that name the judge in their design, or whose runs or juries ask it."""
    return Study.objects.filter(
        Q(pk__in=judge.runs.values("study"))
        | Q(pk__in=judge.design_studies.values("study"))
        | Q(pk__in=judge.juries.values("study"))
    )


def servers_in_use() -> list[str]:
    """The addresses of judges that exist, each once."""
    with_address = [name for name in names() if backend_kind(name).capabilities.needs_endpoint]
    found = Judge.objects.filter(backend__in=with_address).order_by("base_url")
    return list(found.values_list("base_url", flat=True).distinct())


def check_address(user: User, base_url: str, *, field: str = "base_url") -> None:
    """Raise `InvalidValue` if the user may not add a judge at this address."""
    if may_add_addresses(user) or provider_key(base_url) or _host_is_listed(base_url):
        return
    if base_url.rstrip("/") not in {each.rstrip("/") for each in servers_in_use()}:
        raise InvalidValue(field, _NOT_YOUR_ADDRESS, value=base_url)


def check_key_variable(user: User, base_url: str, name: str) -> None:
    """Raise `InvalidValue` if the key in this variable must not be sent to this address."""
    if not name or name == provider_key(base_url):
        return
    if Judge.objects.filter(base_url=base_url, api_key_env=name).exists():
        return
    if not is_key_variable(name):
        raise InvalidValue("api_key_env", _NO_KEY_VARIABLE, value=name)
    if not may_add_addresses(user):
        raise InvalidValue("api_key_env", _NOT_YOUR_KEY, value=name)


def is_key_variable(name: str) -> bool:
    """Whether a page may name this environment variable; providers have a rule of their own."""
    patterns = [f"{KEY_PREFIX}?*", *PROVIDER_KEYS.values(), *settings.JUDGE_KEY_VARIABLES]
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _host_is_listed(base_url: str) -> bool:
    try:
        parts = urlsplit(base_url)
        with_port = parts.netloc.rpartition("@")[2].lower()
    except ValueError:
        return False
    return not {parts.hostname, with_port}.isdisjoint(map(str.lower, settings.JUDGE_HOSTS))


_SEALED = ("sealed_key", "sealed_headers")
_KEY_FIELDS = ("api_key_env", "sealed_key")
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
_KEY_STAYS = FailureReason(
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
            if name not in (*_KEY_FIELDS, *_SEALED) and getattr(stored, name) != value
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
    if headers is not None:
        options = fields.get("model_options", stored.model_options)
        if {*ExtraFields.of(options).secret_headers} != {*map(str.lower, headers)}:
            raise InvalidValue("secret_headers", _OTHER_HEADERS)
        fields |= {"sealed_headers": _sealed(headers, key_of or (None if added else stored))}
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
        if field not in _SEALED and getattr(judge, field) != value
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


_NOT_WRITTEN = (*("id", "name", *_SEALED, "reply_form", "created_by", "is_retired", "created_at"),)
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
