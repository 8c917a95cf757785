"""Errors of the communication with Prolific, each named by its cause.

    ProlificError
      ├ NotConfigured     no token
      ├ Unauthorized      the token is wrong, or has no access              (401)
      ├ NotFound          it does not exist, or it is not ours              (404)
      ├ Rejected          Prolific refuses the request                      (other 4xx)
      ├ RateLimited       too many requests                                 (429)
      ├ Unreachable       no connection: nothing was sent
      ├ OutcomeUnknown    it may have been done or not            (5xx, broken, unreadable)
      ├ LaunchRefused     our own checks stop the launch
      └ NotAllowed        the state of the study or submission does not allow it
          └ ChooseWorkspace   the plan has to name one of the account's workspaces

Messages contain no token and no participant.
"""

from collections.abc import Mapping
from typing import Any

from annotation.errors import AnnotationError


class ProlificError(AnnotationError):
    """Base of all errors here. `outcome_unknown` says that a repeat could do it twice."""

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
    """The request is understood and refused: repeating it unchanged does not help."""


class ProlificRateLimited(Answered):
    """Too many requests; `retry_after` is in seconds, None where Prolific does not say."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message, status=429)
        self.retry_after = retry_after


class ProlificUnreachable(ProlificError):
    """The connection could not be made, so nothing was sent."""


class OutcomeUnknown(Answered):
    """No readable answer arrived: the request may have been carried out. Read before repeating."""

    outcome_unknown = True


class LaunchRefused(ProlificError):
    """A blocking check is open; `problems` are the sentences that say how to fix it."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


class NotAllowed(ProlificError):
    """The request does not fit the current state."""


class ChooseWorkspace(NotAllowed):
    """The account has several workspaces, and a researcher has to say which one pays."""

    def __init__(self, problem: str, known: Mapping[str, str]) -> None:
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
