"""Studies, runs, reports and exports of a server, as objects."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from thirdperson.client.connection import (
    Connection,
    Items,
    Table,
    as_file,
    table,
    wait,
    wait_for_job,
)

ADDRESS, TOKEN = "THIRDPERSON_URL", "THIRDPERSON_TOKEN"  # names of variables


class Client:
    """A server of Thirdperson, as the user of a token.

    Address and token come from THIRDPERSON_URL and THIRDPERSON_TOKEN unless they are given.
    `progress` shows bars in a terminal while the server works.
    """

    def __init__(
        self,
        address: str = "",
        token: str = "",
        *,
        progress: bool = True,
        timeout: float = 60.0,
        retries: int = 5,
    ) -> None:
        address = address or os.environ.get(ADDRESS, "")
        token = token or os.environ.get(TOKEN, "")
        if not address or not token:
            raise ValueError(
                f"Give the address of the server and a token, or set {ADDRESS} and {TOKEN}."
            )
        self.progress = progress
        self.connection = Connection(address, token, timeout=timeout, retries=retries)

    def close(self) -> None:
        """Close the connections to the server, as `with Client() as client` does."""
        self.connection.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def studies(self, *, state: str = "", search: str = "") -> Table:
        """The studies that the token may read."""
        return table(self.connection.rows("studies", state=state, search=search))

    def study(self, slug: str) -> "ApiStudy":
        """The study with this short name. Raises `ApiError` 404 if there is none."""
        found = ApiStudy(self, slug)
        found.reload()
        return found

    def create_study(
        self, title: str, *, slug: str = "", preset: str = "", **settings: Any
    ) -> "ApiStudy":
        """A new draft; `settings` are those of `ApiStudy.settings`."""
        body = {"title": title, "slug": slug, "preset": preset, **settings}
        made = self.connection.post("studies", body)
        return ApiStudy(self, made["slug"], made)


class ApiStudy:
    """A study. `info` is the server's description; `reload` requests it again."""

    def __init__(self, client: Client, slug: str, info: dict[str, Any] | None = None) -> None:
        self.client, self.slug = client, slug
        self.info: dict[str, Any] = info or {}
        self._connection = client.connection
        self._path = f"studies/{_quoted(slug)}"

    def __repr__(self) -> str:
        return f"<Study {self.slug}: {self.info.get('state', '?')}>"

    @property
    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = self.info["settings"]
        return found

    @property
    def state(self) -> str:
        return str(self.info["state"])

    def reload(self) -> "ApiStudy":
        self.info = self._connection.get(self._path)
        return self

    def change(self, **settings: Any) -> "ApiStudy":
        """Change settings; refused if somebody else has changed the study since `reload`."""
        body = settings | {"version": self.info["version"]}
        self.info = self._connection.patch(self._path, body)
        return self

    def open(self, *, reason: str = "") -> "ApiStudy":
        """Open the study; `reason` says why a draft opens despite a failed launch check."""
        return self._set_state("open", reason)

    def pause(self) -> "ApiStudy":
        return self._set_state("paused")

    def close(self) -> "ApiStudy":
        return self._set_state("closed")

    def _set_state(self, state: str, reason: str = "") -> "ApiStudy":
        body = {"state": state, "reason": reason}
        self.info = self._connection.post(f"{self._path}/state", body)
        return self

    def import_items(
        self,
        items: Items,
        *,
        task: str = "",
        pairs: str = "",
        replace: int | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Import a file, a DataFrame or dicts, and wait. Raises `JobFailed` with the faults.

        `replace` is the number of existing items that these replace.
        """
        name, content = as_file(items)
        fields = {"task": task, "pairs": pairs, "dry_run": str(dry_run).lower()}
        if replace is not None:
            fields["replace"] = str(replace)
        path = f"{self._path}/imports"
        job = self._connection.send(
            "POST", path, data=fields, files={"file": (name, content)}
        ).json()
        return self._wait(f"{path}/{job['id']}", "Import", timeout)

    def items(self, *, split: str = "", search: str = "") -> Table:
        return table(self._connection.rows(f"{self._path}/items", split=split, search=search))

    def annotators(self) -> Table:
        """Annotators under their exported names."""
        return table(self._connection.rows(f"{self._path}/annotators"))

    def answers(self) -> Table:
        """Answers of annotators, one per row, as in exports."""
        return table(self._connection.rows(f"{self._path}/answers"))

    def quotas(self) -> dict[str, Any]:
        """The questions and the quota groups with their places."""
        found: dict[str, Any] = self._connection.get(f"{self._path}/quotas")
        return found

    def set_quotas(
        self,
        groups: Sequence[Mapping[str, Any]],
        *,
        questions: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        body = {"groups": [*groups], "questions": [*questions]}
        found: dict[str, Any] = self._connection.put(f"{self._path}/quotas", body)
        return found

    def judges(self) -> Table:
        """The judges that the study can ask."""
        return table(self._connection.rows(f"{self._path}/judges"))

    def add_judge(self, name: str, *, model: str, base_url: str, **more: Any) -> dict[str, Any]:
        """Add a judge on a server; `api_key_env` is the server's variable with its key."""
        body = {"name": name, "model": model, "base_url": base_url, **more}
        found: dict[str, Any] = self._connection.post(f"{self._path}/judges", body)
        return found

    def estimate(self, judge: str, **parameters: Any) -> dict[str, Any]:
        """Estimate a run's questions and cost, without storing anything."""
        body = {"judge": judge, **parameters}
        found: dict[str, Any] = self._connection.post(f"{self._path}/runs/estimate", body)
        return found

    def start_run(self, judge: str, **parameters: Any) -> "ApiRun":
        """Start a run, or continue the one with these parameters. This can cost money."""
        made = self._connection.post(f"{self._path}/runs", {"judge": judge, **parameters})
        return ApiRun(self, made["id"], made)

    def run(self, id: str) -> "ApiRun":
        found = ApiRun(self, id)
        found.reload()
        return found

    def runs(self) -> Table:
        return table(self._connection.rows(f"{self._path}/runs"))

    def judgments(self) -> Table:
        """The judgments of all runs, one per row, as in exports."""
        runs = self._connection.rows(f"{self._path}/runs")
        paths = (f"{self._path}/runs/{run['id']}/judgments" for run in runs)
        return table(row for path in paths for row in self._connection.rows(path))

    def report(
        self,
        *,
        threshold: int | None = None,
        seed: int | None = None,
        bootstrap: int | None = None,
        timeout: float | None = None,
    ) -> "ApiReport":
        """Request a report and wait for it. Raises `JobFailed`."""
        body = {"threshold": threshold, "seed": seed, "bootstrap": bootstrap}
        path = f"{self._path}/reports"
        made = self._connection.post(path, body)
        return ApiReport(self, self._wait(f"{path}/{made['id']}", "Report", timeout))

    def reports(self) -> Table:
        return table(self._connection.rows(f"{self._path}/reports"))

    def export(
        self, what: str = "all", *, timeout: float | None = None, **choices: Any
    ) -> "ApiExport":
        """Request an export and wait for it. Raises `JobFailed`."""
        path = f"{self._path}/exports"
        made = self._connection.post(path, {"what": what, **choices})
        return ApiExport(self, self._wait(f"{path}/{made['id']}", "Export", timeout))

    def _wait(self, path: str, label: str, timeout: float | None) -> dict[str, Any]:
        return wait_for_job(
            lambda: self._connection.get(path),
            label=label,
            progress=self.client.progress,
            timeout=timeout,
        )


class ApiRun:
    """A run of a judge. `info` is the server's description."""

    def __init__(self, study: ApiStudy, id: str, info: dict[str, Any] | None = None) -> None:
        self.study, self.id = study, id
        self.info: dict[str, Any] = info or {}
        self._connection = study.client.connection
        self._path = f"{study._path}/runs/{_quoted(id)}"

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.info.get('judge', '?')}: {self.info.get('state', '?')}>"

    @property
    def state(self) -> str:
        return str(self.info["state"])

    def reload(self) -> "ApiRun":
        self.info = self._connection.get(self._path)
        return self

    def wait(self, *, timeout: float | None = None) -> "ApiRun":
        """Wait until the run has ended, was paused, or has stopped; `state` says which."""
        self.info = wait(
            lambda: self.reload().info,
            done=_percent,
            is_open=lambda found: bool(found["is_active"]),
            label=str(self.info.get("judge", "Run")),
            progress=self.study.client.progress,
            timeout=timeout,
        )
        return self

    def judgments(self) -> Table:
        return table(self._connection.rows(f"{self._path}/judgments"))

    def pause(self) -> "ApiRun":
        return self._act("pause")

    def cancel(self) -> "ApiRun":
        """End the run permanently; its judgments are kept."""
        return self._act("cancel")

    def resume(self) -> "ApiRun":
        """Continue the run. This can cost money."""
        return self._act("resume")

    def retry(self) -> "ApiRun":
        """Ask failed questions again. This can cost money."""
        return self._act("retry")

    def _act(self, action: str) -> "ApiRun":
        self.info = self._connection.post(f"{self._path}/{action}")
        return self


class ApiReport:
    """A finished report."""

    def __init__(self, study: ApiStudy, info: dict[str, Any]) -> None:
        self.study, self.info = study, info
        self.id = str(info["id"])
        self._connection = study.client.connection
        self._path = f"{study._path}/reports/{_quoted(self.id)}"

    def __repr__(self) -> str:
        return f"<Report {self.info['number']} of {self.study.slug}>"

    def numbers(self) -> dict[str, Any]:
        """Every number of the report: its report.json."""
        found: dict[str, Any] = self._connection.get(f"{self._path}/report.json")
        return found

    def save(self, path: str | Path, *, name: str = "report.html") -> Path:
        """Save `report.html` or `tables.zip` to a file."""
        return _save(self._connection, f"{self._path}/files/{name}", path)


class ApiExport:
    """A finished export."""

    def __init__(self, study: ApiStudy, info: dict[str, Any]) -> None:
        self.study, self.info = study, info
        self._connection = study.client.connection
        self._path = f"{study._path}/exports/{_quoted(str(info['id']))}"

    def __repr__(self) -> str:
        return f"<Export {self.info['filename']}>"

    def save(self, path: str | Path) -> Path:
        """Save the file, under its own name if `path` is a folder."""
        target = Path(path)
        if target.is_dir():
            target /= Path(self.info["filename"]).name
        return _save(self._connection, f"{self._path}/file", target)


def _save(connection: Connection, address: str, path: str | Path) -> Path:
    target = Path(path)
    with connection.send("GET", address, stream=True) as response, target.open("wb") as file:
        for chunk in response.iter_content(1 << 16):
            file.write(chunk)
    return target


def _percent(run: dict[str, Any]) -> float:
    progress = run["progress"]
    waiting = progress["pending"] + progress["leased"]
    return 100.0 * (progress["total"] - waiting) / max(1, progress["total"])


def _quoted(part: str) -> str:
    return quote(part, safe="")
