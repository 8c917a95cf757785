"""Who may use which address and which key for a judge, on pages.

A judge's server receives a key and is asked from inside the network of this program, so an address
is a privilege. Users with the permission “Can add judge”, which superusers have, may enter any
address. Editors of a study may use OpenAI, Anthropic and Gemini, the servers of judges that exist,
and the hosts that JUDGE_HOSTS allows. Nobody can name an arbitrary environment variable on a page,
and a key never follows a judge to another address. Owners of a study and administrators may enter
keys. All studies share a judge, so who changes one needs the right to do so in every study that
uses it.
"""

import hashlib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet
from django.views.decorators.debug import sensitive_variables

from judging.backends.backend import PROVIDER_KEYS, provider_key
from judging.backends.kinds import backend_kind, names
from judging.errors import FailureReason, InvalidValue
from judging.models import Judge
from judging.runs.judges import check_replaced, new_addresses
from judging.worker.endpoints import ADD_PERMISSION, seal, serves_key
from studies.models import Membership, Study
from studies.sealing import held, hold
from studies.selectors import studies_for
from studies.services.accounts.team import GivenRight

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
_KEY_STAYS = FailureReason(
    "key_stays",
    "{field}: a key is not sent to another address. Enter the key of this address, or name the "
    "variable that holds it.",
)
_KEY_OF_OTHERS = FailureReason(
    "key_of_others",
    "{field}: that key was entered for other studies. Enter a key of your own, or name a variable.",
)
_NO_KEYS_HERE = FailureReason(
    "no_keys_here",
    "{field}: owners of the study and administrators enter keys, where the server allows stored "
    "keys. Ask one of them, or name the variable that holds the key.",
)
KEY_FIELDS = ("api_key_env", "sealed_key", "key_by")
_HELD = b"thirdperson: keys of judges that a form holds, version 1"


def may_add_addresses(user: User | AnonymousUser) -> bool:
    return user.has_perm(ADD_PERMISSION)


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
    judges = Judge.objects.filter(backend__in=with_address).order_by("base_url")
    return list(judges.values_list("base_url", flat=True).distinct())


def usable_addresses(user: User, addresses: Iterable[str]) -> set[str]:
    """Those of the addresses at which the user may add judges."""
    if may_add_addresses(user):
        return {*addresses}
    known = {address.rstrip("/") for address in servers_in_use()}
    return {
        address
        for address in addresses
        if provider_key(address) or _host_is_listed(address) or address.rstrip("/") in known
    }


def check_address(user: User, base_url: str, *, field: str = "base_url") -> None:
    """Raise `InvalidValue` if the user may not add a judge at this address."""
    if base_url not in usable_addresses(user, [base_url]):
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


def may_enter_keys(user: User, study: Study) -> bool:
    """Whether the user may enter keys, which their studies then spend."""
    if not settings.JUDGE_STORED_KEYS:
        return False
    owned = studies_for(user, role=Membership.Role.OWNER)
    return may_add_addresses(user) or owned.filter(pk=study.pk).exists()


def check_may_enter_keys(user: User, study: Study, *, field: str) -> None:
    if not may_enter_keys(user, study):
        raise InvalidValue(field, _NO_KEYS_HERE)


@sensitive_variables()
def hold_key(key: str, user: User, addresses: list[str]) -> str:
    """A key for a form that is shown again, encrypted, for one user and these addresses."""
    return hold(_HELD, key, user.pk, _digest(addresses))


@sensitive_variables()
def held_key(token: str, user: User, addresses: list[str]) -> str:
    """The key that a form holds; empty if it is old, or not for this user and these addresses."""
    return held(_HELD, token, user.pk, _digest(addresses))


def _digest(addresses: list[str]) -> str:
    return hashlib.sha256("\n".join(sorted(addresses)).encode()).hexdigest()


@sensitive_variables()
def with_access(
    stored: Judge,
    fields: dict[str, Any],
    *,
    study: Study,
    user: User,
    key: str = "",
    key_of: Judge | None = None,
) -> dict[str, Any]:
    """The fields with those of the key that is to be used at the address they name.

    `key` is stored encrypted, `key_of` shares the key of a judge. Raises `InvalidValue` if the user
    may not use the address or the key.
    """
    base_url = fields.get("base_url", stored.base_url)
    added = new_addresses(stored, fields)
    for address in added:
        field = "base_url" if address == base_url else "more_base_urls"
        check_replaced(field, address)
        check_address(user, address, field=field)
    if key_of is not None:
        if not {base_url, *added} <= {*key_of.base_urls}:
            raise InvalidValue("key_from", _KEY_STAYS)
        if not serves_key(key_of, study):
            raise InvalidValue("key_from", _KEY_OF_OTHERS)
        return fields | {field: getattr(key_of, field) for field in KEY_FIELDS}
    if key:
        check_may_enter_keys(user, study, field="key")
        return fields | {"api_key_env": "", "sealed_key": seal(key), "key_by": user}
    if "api_key_env" in fields:
        for address in {base_url, *added}:
            check_key_variable(user, address, fields["api_key_env"])
        return fields | {"sealed_key": "", "key_by": None}
    if added and (stored.sealed_key or stored.api_key_env):
        raise InvalidValue("key_from", _KEY_STAYS)
    return fields


def judges_of_a_member(study: Study, user_id: int) -> list[GivenRight]:
    """Keys that the user entered for judges of the study, and judges that they added.

    Without the user's role, the study may no longer use their keys; ending them needs no change.
    """
    used = Q(runs__study=study) | Q(design_studies__study=study) | Q(juries__study=study)
    judges = Judge.objects.filter(used).distinct().order_by("name")
    rights = []
    for judge in judges.filter(key_by=user_id).exclude(sealed_key="", sealed_headers=""):
        others = studies_that_use(judge).exclude(pk=study.pk).values_list("slug", flat=True)
        also = f", which {', '.join(f'“{slug}”' for slug in others)} also uses" if others else ""
        rights.append(
            _right(judge, "key_by", f"key of the judge “{judge.name}”{also} (its new holder pays)")
        )
    for judge in judges.filter(created_by=user_id):
        rights.append(_right(judge, "created_by", f"changes to the judge “{judge.name}”"))
    return rights


def _right(judge: Judge, field: str, label: str) -> GivenRight:
    rows = Judge.objects.filter(pk=judge.pk)
    return GivenRight(
        key=f"{field} {judge.pk}",
        label=label,
        end=lambda by: None,
        hand_to=lambda heir: rows.update(**{field: heir}),
    )
