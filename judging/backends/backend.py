"""The interface of every backend, the addresses and keys of servers, and recorded replies."""

import ipaddress
import json
import os
import re
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol
from urllib.parse import SplitResult, urlsplit

from judging.backends.extra_fields import EXTRA_FIELDS, ExtraFields
from judging.backends.parameters import JSON_SCHEMA
from judging.engine.interface import Backend, JudgeQuestion, Parameters, Rejected, Reply
from judging.engine.messages import from_user, prompt_sha256
from judging.errors import BadJudge, ConflictingValue, FailureReason, InvalidValue
from studies.network import is_link_local

WIRE = "wire"  # the option of a judge that names a format of requests
NO_PROBABILITIES, WITH_REPLY, INSTEAD_OF_REPLY = "no", "beside", "only"

LEAVE_OUT = "leave_out"  # the option that names parameters which requests leave out

_NO_OPTIONS = FailureReason(
    "no_options", "{field}: the backend {backend} has no option “{value}”. Leave it out."
)
_MUST_BE_SENT = FailureReason(
    "must_be_sent",
    "{field}: the backend {backend} cannot leave out “{value}”. It can leave out: {allowed}.",
)


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """Capabilities of a backend; the rest of the program uses nothing else to choose what to do.

    `needs_endpoint`: a server at the judge's address answers. The address is checked, the number of
    requests grows from a few, and all workers share slots and rates.
    `is_local`: the model runs in the worker. Its runs go to the workers with a GPU, and the option
    `revision` of its judges names the exact model.
    `structured`: replies can be requested in a form that the server enforces.
    `probabilities`: the ways in which it gives option probabilities: "beside" a reply, or "only"
    the probabilities instead of a reply.
    `batch`: its servers may take questions as files in the format of `/v1/batches`.
    `media`: the types of pictures and sounds that its requests can hold. Whether a model takes them
    is known of each judge.
    `costs_money`: a question can cost something. If it cannot, a new judge has the price 0
    instead of an unknown one.
    """

    needs_endpoint: bool = False
    is_local: bool = False
    structured: bool = False
    probabilities: frozenset[str] = frozenset()
    batch: bool = False
    media: frozenset[str] = frozenset()
    costs_money: bool = True

    @property
    def only_probabilities(self) -> bool:
        """Whether there is no other way: it asks closed questions, and gets no text."""
        return self.probabilities == {INSTEAD_OF_REPLY}


@dataclass(frozen=True, kw_only=True)
class OwnForm:
    """A page of its own for judges without a server, which administrators add.

    `preset` chooses it in the address of “Add a judge”, where a link with `title` and `words`
    leads to it. `form` is a subclass of `JudgeForm`, as “package.module:NAME”.
    """

    preset: str
    title: str
    words: str
    form: str


class StoredKey(Protocol):
    """A secret that was entered on a page; it is kept encrypted until a request needs it."""

    def open(self) -> str:
        """The key. Raises `BadJudge` if it cannot be read."""


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """What a backend knows of a judge. `max_tokens` is the limit of a whole reply with thinking.

    `stored_key` is used instead of an environment variable, and `stored_headers` are the values of
    secret headers, as JSON. `link_local`: the administrator allows link-local addresses, where
    cloud providers serve the credentials of a machine. `structured`: replies are requested in a
    form, in the way `reply_form`. `model_options` are names and values that only the judge's
    backend understands.
    """

    name: str
    model: str
    base_url: str = ""
    api_key_env: str = ""
    stored_key: StoredKey | None = field(default=None, repr=False)
    stored_headers: StoredKey | None = field(default=None, repr=False)
    link_local: bool = False
    temperature: float = 0.7
    top_p: float = 0.95
    max_tokens: int = 1024
    timeout_seconds: float = 120.0
    concurrency: int = 64
    structured: bool = False
    reply_form: str = ""
    probabilities: str = NO_PROBABILITIES
    # Not in the hash, because an option can be a mapping.
    model_options: tuple[tuple[str, Any], ...] = field(default=(), hash=False)

    @property
    def left_out(self) -> list[str]:
        """Parameters that requests leave out, because the judge is set so."""
        named = str(dict(self.model_options).get(LEAVE_OUT, ""))
        return sorted({name.strip() for name in named.split(",")} - {""})

    @property
    def extra_fields(self) -> ExtraFields:
        return ExtraFields.of(dict(self.model_options))


class BackendKind(ABC):
    """One kind of backend: its name, its capabilities, and how to ask a judge through it."""

    name: ClassVar[str]  # as judges store it
    label: ClassVar[str]
    capabilities: ClassVar[Capabilities] = Capabilities()
    default_base_url: ClassVar[str] = ""
    # Python packages that send the questions: their versions are stored with every run.
    packages: ClassVar[tuple[str, ...]] = ()
    # Parameters that a judge may be set to leave out, for servers that refuse them.
    may_leave_out: ClassVar[tuple[str, ...]] = ()
    # Whether its requests hold the `ExtraFields` of a judge.
    takes_extra_fields: ClassVar[bool] = False
    own_form: ClassVar[OwnForm | None] = None
    always: ClassVar[Mapping[str, Any]] = {}  # fields of its judges that have one value
    # Options that say how a server is reached. Runs that differ only in them are the same run.
    options_of_address: ClassVar[frozenset[str]] = frozenset()
    # Formats of requests, of which the option `WIRE` of a judge can name one.
    wires: ClassVar[tuple[str, ...]] = ()
    options_help: ClassVar[str] = ""  # of `add_judge --option`, where the backend has options

    def check(self, judge: JudgeSettings) -> None:  # noqa: B027 - most have nothing to check
        """Raise `BadJudge` if a judge with these settings cannot be stored."""

    def exact_options(self, judge: JudgeSettings) -> Mapping[str, Any]:
        """The options to store: checked, and with everything that must not change later.

        Raises `BadJudge` if one of them is wrong, or if that is not known.
        """
        extra = EXTRA_FIELDS if self.takes_extra_fields else ()
        for name, _ in judge.model_options:
            if name not in extra and (name != LEAVE_OUT or not self.may_leave_out):
                raise ConflictingValue("model_options", _NO_OPTIONS, backend=self.name, value=name)
        for name in judge.left_out:
            if name not in self.may_leave_out:
                raise ConflictingValue(
                    "model_options",
                    _MUST_BE_SENT,
                    backend=self.name,
                    value=name,
                    allowed=", ".join(self.may_leave_out),
                )
        judge.extra_fields.check()
        left_out = {LEAVE_OUT: ",".join(judge.left_out)} if judge.left_out else {}
        return left_out | judge.extra_fields.stored

    def found_options(self, judge: JudgeSettings) -> Mapping[str, Any]:
        """Options that the judge's server shows when it is asked; empty if there are none."""
        return {}

    @abstractmethod
    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        """A function that makes the backend. Raises `BadJudge` if the judge cannot be asked."""

    def intended_parameters(self, judge: JudgeSettings) -> Parameters:
        """The parameters of requests as long as the server refuses none of them."""
        return Parameters({})

    def reply_forms(self, base_url: str) -> tuple[str, ...]:
        """Ways in which it can ask a server for a structured reply, the best first."""
        return (JSON_SCHEMA,)

    def list_request(self, judge: JudgeSettings) -> tuple[str, dict[str, str]] | None:
        """Address and headers of the request for the models of a server, if it has a list.

        Raises `BadJudge` if the key cannot be read.
        """
        return None


OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
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

_NO_ADDRESS = FailureReason(
    "no_address", "{field} must be an address like http://localhost:8000/v1, not “{value}”."
)
_SECRET_IN_ADDRESS = FailureReason(
    "secret_in_address",
    "{field} must hold neither a password nor a query. Put the key into an environment variable "
    "and name it with {names[api_key_env]}.",
)
_KEY_OF_PROVIDER = FailureReason(
    "key_of_provider",
    "{value} is sent to {host} alone. Put this server's key into a variable of its own and name "
    "that with {field}.",
)

_OWN_SECRET = FailureReason(
    "own_secret",
    "{field}: {value} holds a secret of this program, which no other server may receive. Name the "
    "variable that holds the judge's key.",
)
LINK_LOCAL = FailureReason(
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


def anthropic_headers(key: str) -> dict[str, str]:
    """Headers with which Anthropic lists its models."""
    return {"x-api-key": key, "anthropic-version": "2023-06-01"}


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
        entries = socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return False  # the request reports it
    return any(is_link_local(str(address[0])) for *_, address in entries)


def _numeric_addresses(host: str) -> list[str]:
    """The address that a host already is, in any notation; a name is checked when it is resolved.

    Names are not looked up here: they can mean another address at the next look.
    """
    with suppress(OSError, UnicodeError):
        entries = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
        return [str(address[0]) for *_, address in entries]
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


def secret_headers(judge: JudgeSettings) -> dict[str, str]:
    """The secret headers of a judge, with their values. Raises `BadJudge`."""
    names = judge.extra_fields.secret_headers
    if not names:
        return {}
    stored: dict[str, str] = json.loads(judge.stored_headers.open()) if judge.stored_headers else {}
    if missing := [name for name in names if name not in stored]:
        raise BadJudge(
            f"Judge “{judge.name}” needs the value of the secret header {missing[0]}, which is not "
            "stored here. Enter it on the judge's page."
        )
    return {name: stored[name] for name in names}


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


IMPORTED = "imported"  # the model of a judge whose judgments were imported from a file
_UNREADABLE = FailureReason(
    "unreadable", "Cannot read the recorded replies “{value}”: {problem}. Name the file as {field}."
)

_NOTHING_SENT = Parameters({})


class BadRecording(ValueError):
    """A file of recorded replies that cannot be read; the message names the line."""


def read_recording(lines: Iterable[str]) -> dict[str, list[str]]:
    """Read JSON lines {"prompt" or "prompt_sha256", "reply"} into replies by prompt hash.

    Lines of one prompt are its replies in order.
    """
    replies: dict[str, list[str]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            digest = row.get("prompt_sha256") or prompt_sha256(from_user(row["prompt"]))
            reply = row["reply"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadRecording(
                f'Line {number}: expected {{"prompt": …, "reply": …}} or '
                '{"prompt_sha256": …, "reply": …}.'
            ) from error
        if not isinstance(reply, str) or not isinstance(digest, str):
            raise BadRecording(f"Line {number}: prompt and reply must be text.")
        replies.setdefault(digest, []).append(reply)
    return replies


class ReplayBackend:
    """Gives every question the next recorded reply to its prompt."""

    def __init__(self, replies: Mapping[str, Sequence[str]], *, model: str = "") -> None:
        self._replies = replies
        self._model = model
        self._given: dict[tuple[int, int], int] = {}  # by question and step

    def parameters(self) -> Parameters:
        return _NOTHING_SENT

    async def ask(self, question: JudgeQuestion, *, seed: int, parameters: Parameters) -> Reply:
        recorded = self._replies.get(prompt_sha256(question.asking), ())
        step = question.id, len(question.earlier)
        position = self._given.get(step, question.replies)
        if position >= len(recorded):
            raise Rejected(
                "nothing is recorded for this prompt"
                if not recorded
                else f"only {len(recorded)} replies are recorded for this prompt"
            )
        self._given[step] = position + 1
        return Reply(text=recorded[position], model=self._model)

    async def close(self) -> None:
        """Do nothing, because nothing is open."""


class ReplayKind(BackendKind):
    name = "replay"
    label = "recorded answers"
    capabilities = Capabilities(costs_money=False)

    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        if judge.model == IMPORTED:
            raise BadJudge(
                f"Judge “{judge.name}” holds imported judgments; it cannot be asked anything new."
            )
        try:
            with Path(judge.model).open(encoding="utf-8") as lines:
                replies = read_recording(lines)
        except OSError as error:
            problem = error.strerror or "it cannot be opened"
            raise ConflictingValue(
                "model", _UNREADABLE, value=judge.model, problem=problem
            ) from None
        except (UnicodeDecodeError, BadRecording) as error:
            why = error if isinstance(error, BadRecording) else "the file is not in UTF-8."
            raise BadJudge(f"Cannot read the recorded replies “{judge.model}”: {why}") from None
        return lambda: ReplayBackend(replies, model=Path(judge.model).name)
