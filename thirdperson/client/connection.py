"""Requests to the API: token, retries, pages, problems; waiting for jobs; tables of rows."""

import csv
import io
import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import requests

if TYPE_CHECKING:
    import pandas as pd


# Statuses of a busy or restarting server. A request that arrives twice is carried out once.
_RETRIED = {429, 502, 503, 504}
_PAGE = 500
ServedRow = dict[str, Any]


class ApiError(Exception):
    """The server refused a request.

    `status` and `code` are for programs, `errors` names each value at fault.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.code: str = problem.get("code", "")
        self.detail: str = problem.get("detail", "") or f"The server answered {status}."
        self.errors: list[dict[str, str]] = list(problem.get("errors", ()))
        faults = "".join(f"\n  {each['field']}: {each['message']}" for each in self.errors)
        super().__init__(f"{self.detail}{faults}")


class Connection:
    """Sends requests with a token, and repeats those lost by the network or a busy server.

    Each POST has an idempotency key that its repetitions share, so repetitions have no further
    effect.
    """

    def __init__(self, address: str, token: str, *, timeout: float, retries: int) -> None:
        self._address = f"{address.rstrip('/')}/api/v1/"
        self._timeout, self._retries = timeout, retries
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        self._session.close()

    def get(self, path: str, **query: Any) -> Any:
        return self.send("GET", path, params=_given(query)).json()

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self.send("POST", path, json=body).json()

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self.send("PATCH", path, json=body).json()

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        return self.send("PUT", path, json=body).json()

    def rows(self, path: str, **query: Any) -> Iterator[ServedRow]:
        """Every row of a list, page by page."""
        cursor: str | None = ""
        while cursor is not None:
            page = self.get(path, limit=_PAGE, cursor=cursor, **query)
            yield from page["data"]
            cursor = page["next"]

    def send(self, method: str, path: str, **options: Any) -> requests.Response:
        """The response to a request. Raises `ApiError`, or the last network error."""
        headers = {"Idempotency-Key": str(uuid.uuid4())} if method == "POST" else {}
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            try:
                response = self._session.request(
                    method,
                    self._address + path,
                    headers=headers,
                    timeout=self._timeout,
                    # A redirect would turn a POST into a GET.
                    allow_redirects=False,
                    **options,
                )
            except (requests.ConnectionError, requests.Timeout):
                if is_last:
                    raise
                time.sleep(_pause(attempt))
                continue
            if response.status_code in _RETRIED and not is_last:
                time.sleep(_wait_of(response, _pause(attempt)))
                continue
            return _checked(response)
        raise AssertionError("unreachable")


def _checked(response: requests.Response) -> requests.Response:
    if response.ok and not response.is_redirect:
        return response
    if response.is_redirect:
        to = response.headers.get("Location", "")
        detail = f"The server redirects to {to}. Use that address instead."
        raise ApiError(response.status_code, {"detail": detail})
    try:
        problem = response.json()
    except ValueError:
        problem = {}
    raise ApiError(response.status_code, problem if isinstance(problem, dict) else {})


def _given(query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value not in (None, "")}


def _pause(attempt: int) -> float:
    """Seconds before the next attempt: 0.5, 1, 2, 4, …, at most 30."""
    return min(30.0, 0.5 * 2.0**attempt)


def _wait_of(response: requests.Response, otherwise: float) -> float:
    """The number of seconds that a server asks to wait."""
    stated = response.headers.get("Retry-After", "")
    return min(120.0, float(stated)) if stated.isdecimal() else otherwise


_FIRST, _LONGEST = 0.2, 3.0  # seconds between two looks


class JobFailed(Exception):
    """A job of the server failed; `job` is its last state."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        faults = "".join(f"\n  {_fault(each)}" for each in job.get("faults", ())[:20])
        super().__init__(f"{job['message']}{faults}")


def wait(
    look: Callable[[], dict[str, Any]],
    *,
    done: Callable[[dict[str, Any]], float],
    is_open: Callable[[dict[str, Any]], bool],
    label: str,
    progress: bool,
    timeout: float | None,
) -> dict[str, Any]:
    """The result of `look` once it no longer `is_open`; `done` is the percentage.

    Shows a bar in a terminal. Raises `TimeoutError`, while the work continues.
    """
    from tqdm import tqdm

    begun, pause = time.monotonic(), _FIRST
    with tqdm(total=100, desc=label, unit="%", disable=None if progress else True) as bar:
        while True:
            found = look()
            bar.update(done(found) - bar.n)
            if not is_open(found):
                return found
            if timeout is not None and time.monotonic() - begun > timeout:
                raise TimeoutError(f"{label}: not finished within {timeout:g} seconds.")
            time.sleep(pause)
            pause = min(_LONGEST, pause * 1.3)


def wait_for_job(
    look: Callable[[], dict[str, Any]], *, label: str, progress: bool, timeout: float | None
) -> dict[str, Any]:
    """A job once it has ended. Raises `JobFailed` unless it is done."""
    job = wait(
        look,
        done=lambda found: float(found["progress"]),
        is_open=lambda found: bool(found["is_open"]),
        label=label,
        progress=progress,
        timeout=timeout,
    )
    if job["state"] != "done":
        raise JobFailed(job)
    return job


def _fault(fault: dict[str, Any]) -> str:
    line = fault.get("line")
    place = f"{'entry' if fault.get('is_entry') else 'line'} {line}"
    return f"{place}: {fault['message']}" if line else str(fault["message"])


# A DataFrame if pandas is installed, otherwise a list of dicts; types cannot express this.
Table: TypeAlias = Any
Items: TypeAlias = Union[str, Path, "pd.DataFrame", Iterable[Mapping[str, Any]]]


def table(rows: Iterable[dict[str, Any]]) -> Table:
    """Rows as a DataFrame with parsed times, or as a list of dicts without pandas."""
    found = list(rows)
    try:
        import pandas as pd
    except ImportError:
        return found
    frame = pd.DataFrame(found)
    for name in frame.columns:
        if str(name).endswith("_at"):
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame


def as_file(items: Items) -> tuple[str, bytes]:
    """Items as a file that the server imports:

    name and content. A path is sent unchanged. A DataFrame, or dicts without nested values, become
    CSV with the columns of the item format; dicts with nested values become JSON Lines.
    """
    if isinstance(items, str | Path):
        path = Path(items)
        return path.name, path.read_bytes()
    rows = [_present(row) for row in _rows(items)]
    if any(isinstance(value, dict | list) for row in rows for value in row.values()):
        lines = (json.dumps(row, ensure_ascii=False, default=str) for row in rows)
        return "items.jsonl", "".join(f"{line}\n" for line in lines).encode()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns)
    writer.writeheader()
    writer.writerows(rows)
    return "items.csv", out.getvalue().encode()


def _rows(items: Any) -> Iterable[Mapping[str, Any]]:
    return items.to_dict("records") if hasattr(items, "to_dict") else items


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without missing values (None or NaN, which differs from itself)."""
    return {
        str(name): value
        for name, value in row.items()
        if value is not None and not (isinstance(value, float) and value != value)
    }
