"""Requests to Prolific: the token, retries with back-off, pages, errors by cause.

    ProlificError
      ├ NotConfigured     no token
      ├ Unauthorized the token is wrong, or has no access (401)
      ├ NotFound          it does not exist, or it is not ours              (404)
      ├ Rejected          Prolific refuses the request                      (other 4xx)
      ├ RateLimited       too many requests                                 (429)
      ├ Unreachable       no connection: nothing was sent
      ├ OutcomeUnknown    it may have been done or not            (5xx, broken, unreadable)
      ├ LaunchRefused     our own checks stop the launch
      └ NotAllowed        the state of the study or submission does not allow it
          └ ChooseWorkspace   the plan has to name one of the account's workspaces

Messages contain no token and no participant.

Only requests that are safe to repeat are retried: reads, and those marked with `again`.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from annotation.errors import AnnotationError
from studies.network import seconds_to_wait
from studies.texts.normalisation import plain

if TYPE_CHECKING:
    import requests


class ProlificError(AnnotationError):
    """Base of all errors here. `outcome_unknown`: a repeat could do it twice."""

    outcome_unknown = False


class NotConfigured(ProlificError):
    """No token is configured."""


class Answered(ProlificError):
    """Prolific answered with an error; nothing was done unless `outcome_unknown`."""

    def __init__(self, message: str, *, status: int = 0, detail: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail


class Unauthorized(Answered):
    """The token is not valid, or has no access to this."""


class NotFound(Answered):
    """The resource does not exist, or the token has no access to it."""


class ProlificRejected(Answered):
    """Prolific refuses the request; repeating it unchanged does not help."""


class ProlificRateLimited(Answered):
    """Too many requests; `retry_after` is in seconds, None where Prolific does not say."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message, status=429)
        self.retry_after = retry_after


class ProlificUnreachable(ProlificError):
    """The connection could not be made, so nothing was sent."""


class OutcomeUnknown(Answered):
    """No readable answer arrived: the request may have been done. Read before repeating."""

    outcome_unknown = True


class LaunchRefused(ProlificError):
    """A blocking check is open; `problems` are the sentences that say how to fix it."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


class NotAllowed(ProlificError):
    """The request does not fit the current state."""


class ChooseWorkspace(NotAllowed):
    """The account has several workspaces, and a researcher must say which one pays."""

    def __init__(self, problem: str, known: Mapping[str, str]) -> None:
        self.known = dict(known)
        named = ", ".join(f"{title} ({one})" for one, title in known.items())
        offered = f" Choose one of: {named}." if named else ""
        super().__init__(f"{problem} Set the plan's workspace.{offered}")


def describe(body: Any) -> str:
    """The sentence in an error's body, in any of its three forms.

    {"error": {…}}, the same object without its wrapper, or {"message", "detail"}.
    """
    if not isinstance(body, dict):
        return ""
    inner = body.get("error", body)
    if not isinstance(inner, dict):
        return str(inner)[:500]
    parts = [
        _flat(inner.get(name)) for name in ("title", "message", "detail", "additional_information")
    ]
    return ": ".join(dict.fromkeys(part for part in parts if part))[:500]


def _flat(detail: Any) -> str:
    if isinstance(detail, dict):
        return "; ".join(f"{field}: {_flat(value)}" for field, value in detail.items())
    if isinstance(detail, list):
        return "; ".join(_flat(value) for value in detail)
    return "" if detail is None else str(detail)


Shape = TypeVar("Shape")
logger = logging.getLogger(__name__)

PAGE_SIZE = 100
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0
_ATTEMPTS = 5


def api_base(url: str) -> str:
    """The address to which paths are appended; an empty path means version 1."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/") or "/api/v1"
    return urlunsplit((parts.scheme, parts.netloc, f"{path}/", "", ""))


@dataclass(frozen=True)
class _Token:
    """Authentication by token, even if a .netrc file exists; shows only the token's end."""

    value: str = field(repr=False)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Token {self.value}"
        return request


class Transport:
    """A researcher's account over HTTP.

    `patience` is how many seconds retries may wait in total: few for a page, more in a worker.
    `source` is where the token was set, for messages.
    """

    def __init__(
        self,
        *,
        base_url: str,
        token: str,
        source: str = "PROLIFIC_API_TOKEN",
        patience: float = 30.0,
        timeout: float = 20.0,
        referer: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not token:
            raise NotConfigured(
                "There is no token for Prolific. Create one on Prolific under Settings, “Go to "
                "API token page”. Enter it under “Prolific accounts”, or set PROLIFIC_API_TOKEN."
            )
        if not token.isascii() or not token.isprintable() or " " in token:
            raise NotConfigured(
                f"{source[:1].upper()}{source[1:]} contains characters that no token has. Copy it "
                "again."
            )
        import requests  # Here, because every page imports this module.

        self._base = api_base(base_url)
        self._token = token
        self._source = source
        self._patience = patience
        self._timeout = timeout
        self._sleep = sleep
        # Called before each request, which it can stop.
        self.before_request: Callable[[], None] | None = None
        # Called with the method, path and options of each request, to show them.
        self.on_request: Callable[[str, str, Mapping[str, Any]], None] | None = None
        self._session = requests.Session()
        self._session.auth = _Token(token)
        self._session.headers["Accept"] = "application/json"
        if referer:
            self._session.headers["Referer"] = referer

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._base}, token {self.token_fragment})"

    @property
    def origin(self) -> str:
        parts = urlsplit(self._base)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def token_fragment(self) -> str:
        """Enough of the token to tell tokens apart, too little to use it."""
        return f"…{self._token[-4:]}" if len(self._token) >= 16 else "…"

    # Lists

    def _pages(self, path: str, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Rows of every page. The last page names no next page, or a 404 follows it."""
        page, before = 1, None
        while True:
            try:
                asked = {**params, "page": page, "page_size": PAGE_SIZE}
                rows, more = _rows(self._json("GET", path, params=asked))
            except NotFound:
                if page == 1:
                    raise
                return
            if rows == before:
                return  # A server without paging repeats the same rows forever.
            yield from rows
            if not more:
                return
            page, before = page + 1, rows

    def _slices(self, path: str, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Rows of a list read by limit and offset."""
        offset, before = 0, None
        while True:
            asked = {**params, "limit": PAGE_SIZE, "offset": offset}
            rows, more = _rows(self._json("GET", path, params=asked))
            if rows == before:
                return
            yield from rows
            if not more:
                return
            offset, before = offset + len(rows), rows

    def ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """Send a request; the object that Prolific answers."""
        return self._read(self.send(method, path, **options))

    def _json(self, method: str, path: str, **options: Any) -> Any:
        return self._decode(self.send(method, path, **options))

    def _read(self, response: requests.Response) -> dict[str, Any]:
        body = self._decode(response)
        if not isinstance(body, dict):
            raise OutcomeUnknown(
                "Prolific's answer has an unexpected form.", status=response.status_code
            )
        return body

    @staticmethod
    def _decode(response: requests.Response) -> Any:
        try:
            return _storable(response.json())
        except (ValueError, RecursionError):
            raise OutcomeUnknown(
                "Prolific's answer cannot be read.", status=response.status_code
            ) from None

    def send(
        self, method: str, path: str, *, again: bool | None = None, **options: Any
    ) -> requests.Response:
        """Send a request; `again` allows repeats, as for every GET."""
        again = method == "GET" if again is None else again
        deadline = time.monotonic() + self._patience
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._once(method, path, **options)
            except (ProlificRateLimited, ProlificUnreachable, OutcomeUnknown) as error:
                wait = _wait(error, attempt)
                late = time.monotonic() + wait > deadline
                if not again or late or attempt == _ATTEMPTS:
                    raise
                logger.info("%s %s: %s; again in %.1f s", method, path, error, wait)
                self._sleep(wait)
        raise AssertionError("every attempt returns or raises")

    def _once(self, method: str, path: str, **options: Any) -> requests.Response:
        import requests

        if self.before_request is not None:
            self.before_request()
        if self.on_request is not None:
            self.on_request(method, path, options)
        url = f"{self._base}{path}"
        try:
            # A redirect would turn a POST into a GET, and means that the base URL is wrong.
            response = self._session.request(
                method, url, timeout=self._timeout, allow_redirects=False, **options
            )
        except (requests.exceptions.ConnectTimeout, requests.exceptions.InvalidURL):
            raise ProlificUnreachable(self._unreachable()) from None
        except requests.exceptions.ConnectionError as error:
            if _was_refused(error):
                raise ProlificUnreachable(self._unreachable()) from None
            raise OutcomeUnknown(
                "The connection to Prolific broke before an answer came."
            ) from None
        except requests.exceptions.RequestException:
            raise OutcomeUnknown("Prolific did not answer in time.") from None
        if response.ok and not response.is_redirect:
            return response
        raise self._error_of(response)

    def _unreachable(self) -> str:
        return f"Prolific cannot be reached at {self.origin}. Check the network, then try again."

    def _error_of(self, response: requests.Response) -> ProlificError:
        status = response.status_code
        try:
            # Prolific might repeat the token.
            detail = plain(describe(response.json())).replace(self._token, self.token_fragment)
        except (ValueError, RecursionError):
            detail = ""
        answer = f" Prolific says: {detail}" if detail else ""
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return ProlificRateLimited(
                "Prolific received too many requests. Wait a minute, then try again.",
                retry_after=seconds_to_wait(response.headers.get("Retry-After")),
            )
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return OutcomeUnknown(
                f"Prolific had an error ({status}). Try again later.{answer}",
                status=status,
                detail=detail,
            )
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            message = (
                f"Prolific does not accept the token {self.token_fragment} for this. Check "
                f"{self._source} and the rights of its account.{answer}"
            )
            return Unauthorized(message, status=status, detail=detail)
        if status == HTTPStatus.NOT_FOUND:
            message = (
                "Prolific cannot find it, or the token's account may not see it. Check that the "
                f"study was not deleted there, and whose token is set.{answer}"
            )
            return NotFound(message, status=status, detail=detail)
        if response.is_redirect:
            return ProlificRejected(
                "PROLIFIC_BASE_URL redirects. Set the address that it redirects to.",
                status=status,
            )
        message = f"Prolific refuses the request ({status}).{answer}"
        return ProlificRejected(message, status=status, detail=detail)


def _storable(value: Any) -> Any:
    """The value without characters that neither a database nor a page can hold."""
    match value:
        case str():
            return plain(value)
        case list():
            return [_storable(part) for part in value]
        case dict():
            return {plain(name): _storable(part) for name, part in value.items()}
    return value


def _rows(body: Any) -> tuple[list[dict[str, Any]], bool]:
    """The rows of an answer, and whether it names a next page."""

    def read() -> tuple[list[dict[str, Any]], bool]:
        rows = body if isinstance(body, list) else list(body.get("results") or [])
        if not all(isinstance(row, dict) for row in rows):
            raise TypeError("a row is no object")
        if isinstance(body, list):
            return rows, False
        return rows, bool(rows and ((body.get("_links") or {}).get("next") or {}).get("href"))

    return shaped(read)


def shaped(read: Callable[[], Shape]) -> Shape:
    """The result of `read` on an answer. If it fails, the answer counts as unreadable."""
    try:
        return read()
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise OutcomeUnknown("Prolific's answer is incomplete.") from None


def _was_refused(error: requests.exceptions.ConnectionError) -> bool:
    """Whether no connection was made, so that nothing was sent."""
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    name = type(reason).__name__
    return name in {"NewConnectionError", "NameResolutionError", "ConnectTimeoutError"}


def _wait(error: ProlificError, attempt: int) -> float:
    """The wait that Prolific asks for, otherwise exponential back-off with full jitter."""
    if isinstance(error, ProlificRateLimited) and error.retry_after is not None:
        return error.retry_after
    ceiling = min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)
    return random.uniform(ceiling / 2, ceiling)  # noqa: S311  for spreading, not secrecy
