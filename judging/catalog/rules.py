"""Who may add judges, at which addresses, and with which keys.

A judge's server receives a key and is asked from inside the network of this program, so an address
is a privilege. Users with the permission “Can add judge”, which superusers have, may enter any
address. Editors of a study may use OpenAI, Anthropic and Gemini, the servers of judges that exist,
and the hosts that JUDGE_HOSTS allows. Nobody can name an arbitrary environment variable on a page,
and a key never follows a judge to another address. All studies share a judge, so who changes one
needs the right to do so in every study that uses it.
"""

from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet

from judging.backends.endpoints import PROVIDER_KEYS, provider_key
from judging.backends.registry import backend_kind, names
from judging.errors import InvalidValue, Reason
from judging.models import Judge
from studies.models import Membership, Study
from studies.selectors import studies_for

KEY_PREFIX = "JUDGE_KEY_"

_NOT_YOUR_ADDRESS = Reason(
    "not_your_address",
    "{field}: you may use the addresses of OpenAI, Anthropic and Gemini, and of judges that exist. "
    "Ask an "
    "administrator to add a judge at {value}, or to allow this host with JUDGE_HOSTS.",
)
_NOT_YOUR_KEY = Reason(
    "not_your_key",
    "{field}: the key in {value} is not used at this address yet. Ask an administrator to add the "
    "first judge with it.",
)
_NO_KEY_VARIABLE = Reason(
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
