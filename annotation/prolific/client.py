"""Prolific's researcher API, version 1: typed calls over HTTP, without the database.

Retried is only what may be done twice: reading, writing an absolute value, and the transitions
that Prolific documents as idempotent. Creating a study and paying a bonus are sent once.
"""

import email.utils
import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import requests

from annotation.prolific.errors import (
    NotConfigured,
    NotFound,
    OutcomeUnknown,
    ProlificError,
    RateLimited,
    Rejected,
    Unauthorized,
    Unreachable,
    describe,
)
from annotation.prolific.types import (
    BonusSetup,
    Cost,
    Filter,
    RemoteStudy,
    RemoteSubmission,
)

Shape = TypeVar("Shape")
logger = logging.getLogger(__name__)

PAGE_SIZE = 100
MAX_BULK_APPROVE = 1000
MAX_BULK_BONUS = 200
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0
_ATTEMPTS = 5


def api_base(url: str) -> str:
    """The address that paths are appended to; an empty path means the first version."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/") or "/api/v1"
    return urlunsplit((parts.scheme, parts.netloc, f"{path}/", "", ""))


@dataclass(frozen=True)
class _Token(requests.auth.AuthBase):
    """Puts the token into the header, whatever a .netrc file says; shows only its end."""

    value: str = field(repr=False)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Token {self.value}"
        return request


class Client:
    """One researcher's account.

    `patience` is how many seconds retries may wait in all: little for a page that somebody
    waits for, more in a worker.
    """

    def __init__(
        self,
        *,
        base_url: str,
        token: str,
        patience: float = 30.0,
        timeout: float = 20.0,
        referer: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not token:
            raise NotConfigured(
                "There is no token for Prolific. Make one in Prolific under Settings, "
                "“Go to API token page”, and set PROLIFIC_API_TOKEN."
            )
        if not token.isascii() or not token.isprintable() or " " in token:
            raise NotConfigured("PROLIFIC_API_TOKEN holds signs that no token has. Copy it again.")
        self._base = api_base(base_url)
        self._token = token
        self._patience = patience
        self._timeout = timeout
        self._sleep = sleep
        self._session = requests.Session()
        self._session.auth = _Token(token)
        self._session.headers["Accept"] = "application/json"
        if referer:
            self._session.headers["Referer"] = referer

    def __repr__(self) -> str:
        return f"Client({self._base}, token {self.token_fragment})"

    @property
    def base_url(self) -> str:
        return self._base

    @property
    def origin(self) -> str:
        parts = urlsplit(self._base)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def token_fragment(self) -> str:
        """Enough of the token to tell two apart, too little to use."""
        return f"…{self._token[-4:]}" if len(self._token) >= 16 else "…"

    # Account

    def me(self) -> dict[str, Any]:
        return self._dict("GET", "users/me/")

    def filters(self, *, workspace: str = "") -> list[Filter]:
        params = {"workspace_id": workspace} if workspace else {}
        rows = list(self._pages("filters/", params))
        return _shaped(lambda: [Filter.of(row) for row in rows])

    def eligible(self, filters: list[dict[str, Any]], *, workspace: str = "") -> int:
        """How many people the filters leave; 0 means fewer than 25."""
        body: dict[str, Any] = {"filters": filters}
        if workspace:
            body["workspace_id"] = workspace
        answer = self._dict("POST", "eligibility-count/", json=body, again=True)
        return _shaped(lambda: int(answer["count"]))

    def calculate_cost(self, *, reward: int, places: int) -> int:
        """What a study would cost in all, with fees and tax; minor units."""
        body = {"reward": reward, "total_available_places": places}
        answer = self._dict("POST", "study-cost-calculator/", json=body, again=True)
        return _shaped(lambda: int(answer["total_cost"]))

    def least_pay(self, currency: str) -> tuple[int, int] | None:
        """Least and recommended pay an hour in `currency`, or None where Prolific names none."""
        rows = self._json("GET", "reward-recommendations/", params={"currency": currency})

        def read() -> tuple[int, int] | None:
            for row in rows if isinstance(rows, list) else rows["results"]:
                if str(row["currency"]).upper() == currency:
                    return int(row["min_reward_per_hour"]), int(row["recommended_reward_per_hour"])
            return None

        return _shaped(read)

    # Studies

    def studies(self) -> Iterator[RemoteStudy]:
        for row in self._pages("studies/", {}):
            yield _study(row)

    def study(self, study_id: str) -> RemoteStudy:
        return _study(self._dict("GET", f"studies/{study_id}/"))

    def create_study(self, payload: dict[str, Any]) -> RemoteStudy:
        """Make a draft. Never repeated: after `OutcomeUnknown` look for the internal name."""
        return _study(self._dict("POST", "studies/", json=payload))

    def set_places(self, study_id: str, places: int) -> RemoteStudy:
        """Set the number of places; an absolute value, so a repeat changes nothing."""
        body = {"total_available_places": places}
        return _study(self._dict("PATCH", f"studies/{study_id}/", json=body, again=True))

    def transition_study(self, study_id: str, action: str) -> RemoteStudy:
        """PUBLISH, PAUSE, START or STOP. Sent once: the caller reads the status after a doubt."""
        path = f"studies/{study_id}/transition/"
        return _study(self._dict("POST", path, json={"action": action}))

    def cost(self, study_id: str) -> Cost:
        path = f"studies/{study_id}/cost/"
        body = self._dict("GET", path, params={"is_projected": "true"})
        return _shaped(lambda: Cost.of(body))

    def create_group(self, name: str) -> str:
        """Make a participant group and return its id."""
        body = self._dict("POST", "participant-groups/", json={"name": name})
        return _shaped(lambda: str(body["id"]))

    # Submissions

    def submissions(self, study_id: str) -> Iterator[RemoteSubmission]:
        """Every submission of one study; without its id Prolific lists the whole account."""
        if not study_id:
            raise ValueError("a study id is needed")
        params = {"study": study_id, "ordering": "started_at"}
        for row in self._pages("submissions/", params):
            yield _submission(row, study_id)

    def submission(self, submission_id: str) -> RemoteSubmission:
        return _submission(self._dict("GET", f"submissions/{submission_id}/"))

    def approve(self, submission_ids: Sequence[str]) -> None:
        """Approve up to 1,000 submissions; Prolific does it afterwards, so read them again."""
        if not 0 < len(submission_ids) <= MAX_BULK_APPROVE:
            raise ValueError(f"from 1 to {MAX_BULK_APPROVE} ids")
        body = {"submission_ids": list(submission_ids)}
        self._send("POST", "submissions/bulk-approve/", json=body, again=True)

    def reject(self, submission_id: str, *, category: str, message: str) -> RemoteSubmission:
        body = {"action": "REJECT", "rejection_category": category, "message": message}
        path = f"submissions/{submission_id}/transition/"
        return _submission(self._dict("POST", path, json=body, again=True))

    def request_return(self, submission_id: str, reasons: Sequence[str]) -> None:
        """Ask a person to return. Sent once: each one is a message to them."""
        body = {"request_return_reasons": list(reasons)}
        self._send("POST", f"submissions/{submission_id}/request-return/", json=body)

    def set_up_bonuses(self, study_id: str, lines: Iterable[tuple[str, str]]) -> BonusSetup:
        """Set up bonuses: submission or participant id and the amount in major units as text."""
        csv = "".join(f"{person},{amount}\n" for person, amount in lines)
        body = {"study_id": study_id, "csv_bonuses": csv}
        answer = self._dict("POST", "submissions/bonus-payments/", json=body)
        return _shaped(lambda: BonusSetup.of(answer))

    def pay_bonuses(self, bulk_id: str) -> None:
        """Pay what was set up. Twice is paid twice: never repeated without reading first."""
        self._send("POST", f"bulk-bonus-payments/{bulk_id}/pay/")

    def demographics(self, study_id: str) -> str:
        """The demographic export of a study as CSV text."""
        path = f"studies/{study_id}/demographic-export/"
        response = self._send("POST", path, json={"filters": []}, again=True)
        try:
            body = response.json()
        except ValueError:
            return response.content.decode("utf-8-sig")
        return body if isinstance(body, str) else str(body.get("csv") or body.get("data") or "")

    # Webhooks

    def secrets(self, workspace: str) -> list[dict[str, Any]]:
        return list(self._pages("hooks/secrets/", {"workspace_id": workspace}))

    def create_secret(self, workspace: str) -> str:
        """Make the workspace's signing secret. It replaces the one before: list them first."""
        body = {"workspace_id": workspace}
        answer = self._dict("POST", "hooks/secrets/", json=body)
        return _shaped(lambda: str(answer["value"]))

    def subscriptions(self, workspace: str) -> list[dict[str, Any]]:
        return list(self._pages("hooks/subscriptions/", {"workspace_id": workspace}))

    def subscribe(self, *, workspace: str, event: str, url: str) -> str:
        """Subscribe to an event and confirm it; returns the subscription's id."""
        body = {"workspace_id": workspace, "event_type": event, "target_url": url}
        response = self._send("POST", "hooks/subscriptions/", json=body)
        answer = self._read(response)
        subscription = _shaped(
            lambda: str((answer["results"][0] if "results" in answer else answer)["id"])
        )
        secret = response.headers.get("X-Hook-Secret", "")
        self._send("POST", f"hooks/subscriptions/{subscription}/", json={"secret": secret})
        return subscription

    # Transport

    def _pages(self, path: str, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Rows of every page. The end is a page without a next one, or a 404 past the last."""
        page = 1
        while True:
            try:
                body = self._json(
                    "GET", path, params={**params, "page": page, "page_size": PAGE_SIZE}
                )
            except NotFound:
                if page == 1:
                    raise
                return
            if isinstance(body, list):
                yield from body
                return
            rows = body.get("results") or []
            yield from rows
            links = body.get("_links") or {}
            if not rows or not (links.get("next") or {}).get("href"):
                return
            page += 1

    def _dict(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        return self._read(self._send(method, path, **options))

    def _json(self, method: str, path: str, **options: Any) -> Any:
        return self._decode(self._send(method, path, **options))

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
            return response.json()
        except ValueError:
            raise OutcomeUnknown(
                "Prolific's answer cannot be read.", status=response.status_code
            ) from None

    def _send(
        self, method: str, path: str, *, again: bool | None = None, **options: Any
    ) -> requests.Response:
        """Send a request; `again` allows repeats, as every GET does."""
        again = method == "GET" if again is None else again
        deadline = time.monotonic() + self._patience
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._once(method, path, **options)
            except (RateLimited, Unreachable, OutcomeUnknown) as error:
                wait = _wait(error, attempt)
                late = time.monotonic() + wait > deadline
                if not again or late or attempt == _ATTEMPTS:
                    raise
                logger.info("%s %s: %s; again in %.1f s", method, path, error, wait)
                self._sleep(wait)
        raise AssertionError("every attempt returns or raises")

    def _once(self, method: str, path: str, **options: Any) -> requests.Response:
        url = f"{self._base}{path}"
        try:
            # A redirect would turn a POST into a GET: the base URL is wrong then.
            response = self._session.request(
                method, url, timeout=self._timeout, allow_redirects=False, **options
            )
        except (requests.exceptions.ConnectTimeout, requests.exceptions.InvalidURL):
            raise Unreachable(self._unreachable()) from None
        except requests.exceptions.ConnectionError as error:
            if _was_refused(error):
                raise Unreachable(self._unreachable()) from None
            raise OutcomeUnknown(
                "The connection to Prolific broke before an answer came."
            ) from None
        except requests.exceptions.RequestException:
            raise OutcomeUnknown("Prolific did not answer in time.") from None
        if response.ok and not response.is_redirect:
            return response
        raise _error_of(response, self.token_fragment)

    def _unreachable(self) -> str:
        return f"Prolific cannot be reached at {self.origin}. Check the network, then try again."


def _study(body: dict[str, Any]) -> RemoteStudy:
    return _shaped(lambda: RemoteStudy.of(body))


def _submission(body: dict[str, Any], study_id: str = "") -> RemoteSubmission:
    return _shaped(lambda: RemoteSubmission.of(body, study_id=study_id))


def _shaped(read: Callable[[], Shape]) -> Shape:
    """What `read` finds in an answer; an answer without it counts as unreadable."""
    try:
        return read()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise OutcomeUnknown("Prolific's answer misses something that it should hold.") from None


def _was_refused(error: requests.exceptions.ConnectionError) -> bool:
    """Whether the connection was never made, so that nothing can have been asked."""
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    name = type(reason).__name__
    return name in {"NewConnectionError", "NameResolutionError", "ConnectTimeoutError"}


def _wait(error: ProlificError, attempt: int) -> float:
    """How long Prolific asks to wait, otherwise exponential back-off with full jitter."""
    if isinstance(error, RateLimited) and error.retry_after is not None:
        return error.retry_after
    ceiling = min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)
    return random.uniform(ceiling / 2, ceiling)  # noqa: S311  spreading, not secrecy


def _error_of(response: requests.Response, token_fragment: str) -> ProlificError:
    status = response.status_code
    try:
        detail = describe(response.json())
    except ValueError:
        detail = ""
    said = f" Prolific says: {detail}" if detail else ""
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return RateLimited(
            "Prolific asks for fewer requests. Wait a minute, then try again.",
            retry_after=_retry_after(response.headers.get("Retry-After")),
        )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return OutcomeUnknown(
            f"Prolific had an error ({status}). Try again later.{said}",
            status=status,
            detail=detail,
        )
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        message = (
            f"Prolific does not accept the token {token_fragment} for this. Check "
            "PROLIFIC_API_TOKEN, and that its account may see the study.{}"
        )
        return Unauthorized(message.format(said), status=status, detail=detail)
    if status == HTTPStatus.NOT_FOUND:
        message = (
            "Prolific does not find it, or the token's account may not see it. Check that the "
            f"study was not deleted there, and whose token is set.{said}"
        )
        return NotFound(message, status=status, detail=detail)
    if response.is_redirect:
        return Rejected(
            "PROLIFIC_BASE_URL leads elsewhere. Set the address that it redirects to.",
            status=status,
        )
    message = f"Prolific refuses the request ({status}).{said}"
    return Rejected(message, status=status, detail=detail)


def _retry_after(value: str | None) -> float | None:
    """Seconds from a Retry-After header: a number, or a date."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(value)
        except ValueError:
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        seconds = (date - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if seconds == seconds and seconds != float("inf") else None
