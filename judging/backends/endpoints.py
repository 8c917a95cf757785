"""Addresses of servers, and the key for each of them."""

import os
from urllib.parse import urlsplit

from judging.backends.backend import JudgeSettings
from judging.errors import BadJudge, InvalidValue, Reason

OPENAI_URL = "https://api.openai.com/v1"
_OPENAI_KEY = "OPENAI_API_KEY"

_NO_ADDRESS = Reason(
    "no_address", "{field} must be an address like http://localhost:8000/v1, not “{value}”."
)
_SECRET_IN_ADDRESS = Reason(
    "secret_in_address",
    "{field} must hold neither a password nor a query. Put the key into an environment variable "
    "and name it with {names[api_key_env]}.",
)
_KEY_OF_OPENAI = Reason(
    "key_of_openai",
    "OPENAI_API_KEY is sent to api.openai.com alone. Put this server's key into a variable of its "
    "own and name that with {field}.",
)


def is_openai(base_url: str) -> bool:
    parts = urlsplit(base_url)
    return parts.scheme == "https" and parts.hostname == "api.openai.com"


def check_endpoint(judge: JudgeSettings) -> None:
    """Raise `InvalidValue` if an address is invalid or would receive another server's key."""
    parts = urlsplit(judge.base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidValue("base_url", _NO_ADDRESS, value=judge.base_url)
    if parts.username or parts.password or parts.query:
        raise InvalidValue("base_url", _SECRET_IN_ADDRESS)
    if judge.api_key_env == _OPENAI_KEY and not is_openai(judge.base_url):
        raise InvalidValue("api_key_env", _KEY_OF_OPENAI)


def api_key(judge: JudgeSettings) -> str:
    """The key to send, or an empty text if there is none. Raises `BadJudge`."""
    name = judge.api_key_env or (_OPENAI_KEY if is_openai(judge.base_url) else "")
    if not name:
        return ""
    key = os.environ.get(name, "").strip()
    if not key:
        raise BadJudge(
            f"Judge “{judge.name}” needs a key, and the environment variable {name} is empty. "
            "Set it for the worker, or in .env, and start again."
        )
    return key
