"""A client of the REST API: a study from a notebook or a script.

    from thirdperson import Client

    client = Client("https://thirdperson.example.org", token="thirdperson_…")
    client.study("everyday").answers()

Tables are DataFrames if pandas is installed, otherwise lists of dicts. It needs only `requests`.
"""

import csv
import io
import json
import math
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

_BUSY = (429, 502, 503, 504)  # or restarting
_RETRY = Retry(
    5, status_forcelist=_BUSY, allowed_methods=None, backoff_factor=0.5, raise_on_status=False
)


class ApiError(Exception):
    """The server refused a request: `status` and `code`, and in `errors` each value at fault."""

    def __init__(self, response: requests.Response) -> None:
        is_problem = response.headers.get("Content-Type") == "application/problem+json"
        problem: dict[str, Any] = response.json() if is_problem else {}
        self.status, self.code = response.status_code, problem.get("code", "")
        self.errors: list[dict[str, str]] = problem.get("errors") or []
        to = f" and redirects to {response.next.url}" if response.next else ""
        lines = [problem.get("detail") or f"The server answered {self.status}{to}."]
        lines += [f"{error['field']}: {error['message']}" for error in self.errors]
        super().__init__("\n  ".join(lines))


class JobFailed(Exception):
    """A job of the server failed; `job` is its last state."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        lines = [job["message"]]
        for fault in job.get("faults", ())[:20]:
            place = f"{'entry' if fault.get('is_entry') else 'line'} {fault.get('line')}: "
            lines.append((place if fault.get("line") else "") + fault["message"])
        super().__init__("\n  ".join(lines))


class Client:
    """A server of Thirdperson, as the user of a token.

    Address and token come from THIRDPERSON_URL and THIRDPERSON_TOKEN unless they are given. What
    the network or a busy server lost is sent again; `progress` shows bars in a terminal.
    """

    def __init__(
        self, address: str = "", token: str = "", *, progress: bool = True, timeout: float = 60.0
    ) -> None:
        address = address or os.environ.get("THIRDPERSON_URL", "")
        token = token or os.environ.get("THIRDPERSON_TOKEN", "")
        if not address or not token:
            raise ValueError("Name both, or set THIRDPERSON_URL and THIRDPERSON_TOKEN.")
        self.progress, self._timeout = progress, timeout
        self._address = f"{address.rstrip('/')}/api/v1/"
        self._session = requests.Session()
        self.close = self._session.close
        self._session.headers["Authorization"] = f"Bearer {token}"
        self._session.mount(self._address, HTTPAdapter(max_retries=_RETRY))

    def send(self, method: str, path: str, **options: Any) -> requests.Response:
        """The response to a request. Raises `ApiError`, or the last network error."""
        # Repetitions of a POST share its key, so that they have no further effect.
        headers = {"Idempotency-Key": str(uuid.uuid4())} if method == "POST" else {}
        # A redirect would turn a POST into a GET.
        options |= {"headers": headers, "timeout": self._timeout, "allow_redirects": False}
        response = self._session.request(method, self._address + path, **options)
        if response.ok and not response.is_redirect:
            return response
        raise ApiError(response)

    def pages(self, path: str, **filters: Any) -> Iterator[dict[str, Any]]:
        """Every row of a list, page by page."""
        page: dict[str, Any] = {"next": ""}
        while page["next"] is not None:
            query = {"limit": 500, "cursor": page["next"] or None, **filters}
            page = self.send("GET", path, params=query).json()
            yield from page["data"]

    def rows(self, path: str, **filters: Any) -> Any:
        """A list as a table."""
        return table(self.pages(path, **filters))

    studies = partialmethod(rows, "studies")

    def study(self, slug: str) -> "ApiStudy":
        """The study with this short name. Raises `ApiError` 404 if there is none."""
        return ApiStudy(self, "studies", {"slug": slug}).reload()

    def create_study(self, title: str, **settings: Any) -> "ApiStudy":
        """A new draft, with a `preset` or not; `settings` are those of `ApiStudy.settings`."""
        response = self.send("POST", "studies", json={"title": title, **settings})
        return ApiStudy(self, "studies", response.json())


class Served:
    """Something on the server; `info` describes it, and its values are attributes.

    For any route of the API below its address: `rows` if it is a list, `ask`, and `act`, which
    renews `info`.
    """

    key = "id"

    def __init__(self, client: Client, folder: str, info: dict[str, Any]) -> None:
        self.client, self.info = client, info
        self.path = f"{folder}/{quote(str(info[self.key]), safe='')}"

    def __repr__(self) -> str:
        return f"<{self.path}: {self.info.get('state', '?')}>"

    def __getattr__(self, name: str) -> Any:
        if name in (info := self.__dict__.get("info", {})):
            return info[name]
        raise AttributeError(f"There is no {name}, but: {', '.join(info)}.")

    def ask(self, route: str, method: str = "POST", /, **body: Any) -> Any:
        address = f"{self.path}/{route}".rstrip("/")
        return self.client.send(method, address, json=None if method == "GET" else body).json()

    def act(self, route: str, method: str = "POST", /, **body: Any) -> Self:
        self.info = self.ask(route, method, **body)
        return self

    def rows(self, route: str, /, **filters: Any) -> Any:
        return self.client.rows(f"{self.path}/{route}", **filters)

    reload = partialmethod(act, "", "GET")


class ApiJob(Served):
    """A run, a report, an export or an import; `act("cancel")` ends a run."""

    judgments = partialmethod(Served.rows, "judgments")
    numbers = partialmethod(Served.ask, "report.json", "GET")

    def wait(self, *, timeout: float = math.inf) -> Self:
        """Wait until it has ended or was paused. Raises `JobFailed`, or `TimeoutError` before."""
        from tqdm import tqdm

        end = time.monotonic() + timeout
        with tqdm(total=100, unit="%", disable=not self.client.progress or None) as bar:
            while self.reload().info.get("is_open", self.info.get("is_active")):
                if isinstance(done := self.progress, dict):  # a run, by the states of its questions
                    done = 100 - 100 * (done["pending"] + done["leased"]) / max(1, done["total"])
                bar.update(done - bar.n)
                if time.monotonic() > end:
                    raise TimeoutError(f"{self!r} has not ended within {timeout:g} seconds.")
                time.sleep(0.5)
        if "is_open" in self.info and self.state != "done":
            raise JobFailed(self.info)
        return self

    def save(self, path: str | Path, *, name: str = "report.html") -> Path:
        """Save an export, in a folder under its own name, or a report's file `name`."""
        target, file = Path(path), f"files/{name}"
        if own := self.info.get("filename"):
            target, file = target / Path(own).name if target.is_dir() else target, "file"
        response = self.client.send("GET", f"{self.path}/{file}", stream=True)
        with response, target.open("wb") as out:
            out.writelines(response.iter_content(1 << 16))
        return target


class ApiStudy(Served):
    key = "slug"
    items = partialmethod(Served.rows, "items")
    annotators = partialmethod(Served.rows, "annotators")
    answers = partialmethod(Served.rows, "answers")
    # A draft opens despite a failed launch check if `reason` says why.
    open = partialmethod(Served.act, "state", state="open")
    pause = partialmethod(Served.act, "state", state="paused")
    close = partialmethod(Served.act, "state", state="closed")

    def change(self, **settings: Any) -> Self:
        """Change settings; refused if somebody else has changed the study since `reload`."""
        return self.act("", "PATCH", version=self.version, **settings)

    def estimate(self, judge: str, **parameters: Any) -> Any:
        """Estimate a run's questions and cost, without storing anything."""
        return self.ask("runs/estimate", judge=judge, **parameters)

    def start_run(self, judge: str, **parameters: Any) -> ApiJob:
        """Start a run, or continue the one with these parameters. This can cost money."""
        return self._job("runs", self.ask("runs", judge=judge, **parameters))

    def run(self, id: str) -> ApiJob:
        return self._job("runs", {"id": id}).reload()

    def judgments(self) -> Any:
        """The judgments of all runs, one per row, as in exports."""
        runs = [self._job("runs", run) for run in self.client.pages(f"{self.path}/runs")]
        return table(row for run in runs for row in self.client.pages(f"{run.path}/judgments"))

    def import_items(self, items: Any, *, timeout: float = math.inf, **fields: Any) -> Any:
        """Import a file, a DataFrame or dicts. Raises `JobFailed` with the faults."""
        sent = {"data": fields, "files": {"file": as_file(items)}}
        job = self.client.send("POST", f"{self.path}/imports", **sent).json()
        return self._job("imports", job).wait(timeout=timeout).info

    def report(self, *, timeout: float = math.inf, **parameters: Any) -> ApiJob:
        job = self.ask("reports", **parameters)
        return self._job("reports", job).wait(timeout=timeout)

    def export(self, what: str = "all", *, timeout: float = math.inf, **choices: Any) -> ApiJob:
        job = self.ask("exports", what=what, **choices)
        return self._job("exports", job).wait(timeout=timeout)

    def _job(self, kind: str, info: dict[str, Any]) -> ApiJob:
        return ApiJob(self.client, f"{self.path}/{kind}", info)


def table(rows: Iterable[dict[str, Any]]) -> Any:
    """Rows as a DataFrame with parsed times, or as a list of dicts without pandas."""
    try:
        import pandas as pd
    except ImportError:
        return list(rows)
    frame = pd.DataFrame(list(rows))
    for name in frame.columns[frame.columns.astype(str).str.endswith("_at")]:
        frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame


def as_file(items: Any) -> tuple[str, bytes]:
    """Name and content of a file: one of a path, CSV, or JSON Lines if values are nested."""
    if isinstance(items, str | Path):
        return Path(items).name, Path(items).read_bytes()
    # NaN differs from itself.
    rows = [
        {str(name): value for name, value in row.items() if value is not None and value == value}
        for row in (items.to_dict("records") if hasattr(items, "to_dict") else items)
    ]
    if any(isinstance(value, dict | list) for row in rows for value in row.values()):
        return "items.jsonl", "\n".join(json.dumps(row, default=str) for row in rows).encode()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO(newline="")
    csv.writer(out).writerows([columns, *([row.get(name) for name in columns] for row in rows)])
    return "items.csv", out.getvalue().encode()
