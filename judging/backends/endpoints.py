"""Addresses of servers, and the key for each of them."""

import ipaddress
import os
import re
import socket
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from judging.backends.backend import JudgeSettings
from judging.errors import BadJudge, InvalidValue, Reason
from studies.network_addresses import is_link_local

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
GEMINI_URL = "https://generativelanguage.googleapis.com"
OPENAI_KEY = "OPENAI_API_KEY"
# Variables with the keys of providers, by host. Each is sent to this host alone.
PROVIDER_KEYS = {
    "api.openai.com": OPENAI_KEY,
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
}
# Secrets of this program, which no judge's server may receive.
OWN_SECRETS = frozenset(
    {
        "CELERY_BROKER_URL",
        "DATABASE_URL",
        "EMAIL_URL",
        "PROLIFIC_API_TOKEN",
        "PROLIFIC_WEBHOOK_SECRET",
        "SECRET_KEY",
    }
)
# Endings of names that no public server has.
_OWN_NAMES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")

_NO_ADDRESS = Reason(
    "no_address", "{field} must be an address like http://localhost:8000/v1, not “{value}”."
)
_SECRET_IN_ADDRESS = Reason(
    "secret_in_address",
    "{field} must hold neither a password nor a query. Put the key into an environment variable "
    "and name it with {names[api_key_env]}.",
)
_KEY_OF_PROVIDER = Reason(
    "key_of_provider",
    "{value} is sent to {host} alone. Put this server's key into a variable of its own and name "
    "that with {field}.",
)

_OWN_SECRET = Reason(
    "own_secret",
    "{field}: {value} holds a secret of this program, which no other server may receive. Name the "
    "variable that holds the judge's key.",
)
LINK_LOCAL = Reason(
    "link_local",
    "{field}: {value} is a link-local or metadata address. Cloud providers serve the credentials "
    "of this machine there. Use another address, or ask the administrator to set "
    "JUDGE_LINK_LOCAL=1.",
)


def _parts(address: str) -> SplitResult:
    """The parts of an address; all are empty if it is none."""
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.port != 0 and address.isprintable() and " " not in address:
            return parts
    return urlsplit("")


def is_openai(base_url: str) -> bool:
    parts = _parts(base_url)
    return parts.scheme == "https" and parts.hostname == "api.openai.com"


def provider_key(base_url: str) -> str:
    """The variable with the key of the provider at an address; empty if it is none that we know."""
    parts = _parts(base_url)
    return PROVIDER_KEYS.get(parts.hostname or "", "") if parts.scheme == "https" else ""


def check_endpoint(judge: JudgeSettings, *, field: str = "base_url") -> None:
    """Raise `InvalidValue` if an address is invalid or would receive another server's key."""
    parts = _parts(judge.base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidValue(field, _NO_ADDRESS, value=judge.base_url)
    if parts.username or parts.password or parts.query:
        raise InvalidValue(field, _SECRET_IN_ADDRESS)
    if not judge.link_local and any(map(is_link_local, _numeric_addresses(parts.hostname))):
        raise InvalidValue(field, LINK_LOCAL, value=parts.hostname)
    if judge.api_key_env in OWN_SECRETS:
        raise InvalidValue("api_key_env", _OWN_SECRET, value=judge.api_key_env)
    for host, variable in PROVIDER_KEYS.items():
        if judge.api_key_env == variable and provider_key(judge.base_url) != variable:
            raise InvalidValue("api_key_env", _KEY_OF_PROVIDER, value=variable, host=host)


def leads_to_link_local(host: str) -> bool:
    """Whether a host is, or is the name of, a link-local or metadata address at this moment."""
    try:
        found = socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return False  # the request reports it
    return any(is_link_local(str(address[0])) for *_, address in found)


def _numeric_addresses(host: str) -> list[str]:
    """The address that a host already is, in any notation; a name is checked when it is resolved.

    Names are not looked up here: they can mean another address at the next look.
    """
    with suppress(OSError, UnicodeError):
        found = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
        return [str(address[0]) for *_, address in found]
    return []


def key_variable(judge: JudgeSettings) -> str:
    """The environment variable that holds the judge's key; empty if it needs none."""
    if judge.stored_key is not None:
        return ""
    return judge.api_key_env or provider_key(judge.base_url)


def api_key(judge: JudgeSettings) -> str:
    """The key to send, or an empty text if there is none. Raises `BadJudge`."""
    if judge.stored_key is not None:
        return _sendable(judge.stored_key.open(), judge, "its stored key")
    name = key_variable(judge)
    if not name:
        return ""
    if name in OWN_SECRETS:
        raise InvalidValue("api_key_env", _OWN_SECRET, value=name)
    key = os.environ.get(name, "").strip()
    if not key:
        raise BadJudge(
            f"Judge “{judge.name}” needs a key, and the environment variable {name} is empty. "
            "Set it for the worker, or in .env, and start again."
        )
    return _sendable(key, judge, f"the key in the environment variable {name}")


def _sendable(key: str, judge: JudgeSettings, which: str) -> str:
    if not re.fullmatch(r"[!-~]+", key):
        raise BadJudge(
            f"Judge “{judge.name}” cannot be asked: {which} has a space or a character that no "
            "request can carry. Copy the key again."
        )
    return key


def is_own_network(base_url: str) -> bool:
    """Whether an address leads to this machine or network: by its form, without a look-up."""
    host = (_parts(base_url).hostname or "").rstrip(".").lower()
    numeric = _numeric_addresses(host)
    if numeric:
        return all(ipaddress.ip_address(a.partition("%")[0]).is_private for a in numeric)
    return "." not in host or host.endswith(_OWN_NAMES)
