"""`thirdperson check` in a GitHub Action: a job summary, and one comment on the pull request.

The comment is found again by a mark in its text and changed, so a pull request has one for each
file. It says what the verdict was on the base branch if the file is there too, and whether a judge
got worse since.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from thirdperson.check.against import EXIT_CODES as CHANGES
from thirdperson.check.against import NOT_SHOWN
from thirdperson.check.command import INCONCLUSIVE, NOT_TRUSTED, USAGE

_SECONDS = 30
_PER_PAGE, _MOST_PAGES = 100, 30


@dataclass(frozen=True)
class PullRequest:
    """The pull request of the running job, and how to write a comment on it."""

    api: str
    repository: str
    number: int
    base: str
    token: str

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "PullRequest | None":
        """None where the job runs for something else, or without a token."""
        try:
            event = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_text("utf-8"))
            return cls(
                environment["GITHUB_API_URL"],
                environment["GITHUB_REPOSITORY"],
                int(event["pull_request"]["number"]),
                str(event["pull_request"]["base"]["ref"]),
                environment["GITHUB_TOKEN"],
            )
        except (KeyError, OSError, TypeError, ValueError):
            return None

    def say(self, mark: str, text: str) -> None:
        """Change the comment that begins with the mark, or write one. Raises `RequestException`."""
        body = {"body": f"{mark}\n{text}"}
        comments = f"repos/{self.repository}/issues/{self.number}/comments"
        known = next((one for one in self._comments() if one["body"].startswith(mark)), None)
        if known is None:
            self._send("POST", comments, json=body)
        elif known["body"] != body["body"]:
            self._send("PATCH", f"repos/{self.repository}/issues/comments/{known['id']}", json=body)

    def _comments(self) -> Iterator[dict[str, Any]]:
        path = f"repos/{self.repository}/issues/{self.number}/comments"
        for page in range(1, _MOST_PAGES + 1):
            comments = self._send("GET", path, params={"per_page": _PER_PAGE, "page": page}).json()
            yield from comments
            if len(comments) < _PER_PAGE:
                return

    def _send(self, method: str, path: str, **more: Any) -> requests.Response:
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/vnd.github+json",
        }
        address = f"{self.api}/{path}"
        response = requests.request(method, address, headers=headers, timeout=_SECONDS, **more)
        response.raise_for_status()
        return response


def run(
    file: str, options: Sequence[str], environment: Mapping[str, str], *, comments: bool
) -> int:
    """Check the file and tell the pull request; returns the exit code of `check`.

    The report and its card are outside of the repository, in a folder for each file.
    """
    name = "thirdperson-check-" + re.sub(r"[^\w.-]+", "-", file)
    folder = Path(environment.get("RUNNER_TEMP", tempfile.gettempdir())) / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if output := environment.get("GITHUB_OUTPUT"):
        with Path(output).open("a", encoding="utf-8") as out:
            out.write(f"name={name}\nfolder={folder}\n")
    files = ["--card", str(folder / "card.png"), "--out", str(folder / "report.html")]
    code, text = _check(file, [*options, *files, "--markdown"])
    if code == USAGE:
        sys.stdout.write(f"::error file={file}::{_one_line(text)}\n")
        return code
    pull_request = PullRequest.of(environment)
    if pull_request and (change := _change(file, options, pull_request.base, now=text)):
        text = f"{text}\n{change}\n"
    if summary := environment.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as out:
            out.write(text)
    sys.stdout.write(text)
    if comments and pull_request:
        try:
            pull_request.say(f"<!-- thirdperson check {file} -->", text)
        except requests.RequestException as error:
            # A pull request from a fork has a token that may only read.
            sys.stdout.write(f"::warning::The comment was not written: {_one_line(str(error))}\n")
    return code


def _check(file: str, options: Sequence[str]) -> tuple[int, str]:
    """The exit code, and what was printed; for a refusal, why."""
    command = [sys.executable, "-m", "thirdperson", "check", file, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    # Python itself ends with 1, and prints nothing here, when something breaks.
    if done.stdout and done.returncode in (NOT_TRUSTED, INCONCLUSIVE, *CHANGES.values()):
        return done.returncode, done.stdout
    return USAGE, done.stderr


def _change(file: str, options: Sequence[str], base: str, *, now: str) -> str:
    """The verdict on the base branch, and what changed since; empty where there is no such file."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / Path(file).name
        if not _fetched(file, base, before):
            return ""
        out = ["--markdown", "--out", str(Path(folder) / "report.html")]
        code, then = _check(str(before), [*options, *out])
        if code == USAGE:
            return f"On `{base}` this file could not be read."
        _, both = _check(file, [*options, *out, "--against", str(before)])
    same = _heading(then) == _heading(now)
    verdict = f"As on `{base}`." if same else f"On `{base}`: {_heading(then)}"
    change = both.partition("\n#### ")[2]
    return f"{verdict}\n\n#### {change}" if change else verdict


def _heading(markdown: str) -> str:
    return markdown.partition("\n")[0].removeprefix("### ")


def _fetched(file: str, base: str, to: Path) -> bool:
    """Write the file of the base branch; the checkout may have only one commit."""
    fetch = ["git", "fetch", "--quiet", "--depth=1", "origin", f"refs/heads/{base}"]
    if subprocess.run(fetch, capture_output=True, check=False).returncode:  # noqa: S603
        return False
    show = ["git", "show", f"FETCH_HEAD:./{file}"]
    output = subprocess.run(show, capture_output=True, check=False)  # noqa: S603
    to.write_bytes(output.stdout)
    return output.returncode == 0


def _one_line(text: str) -> str:
    return " ".join(text.split())


def main() -> int:
    environment = os.environ
    code = run(
        environment["CHECK_FILE"],
        shlex.split(environment.get("CHECK_OPTIONS", "")),
        environment,
        comments=environment.get("CHECK_COMMENT", "true") == "true",
    )
    undecided = {
        INCONCLUSIVE: "whether the judge can stand in",
        CHANGES[NOT_SHOWN]: "whether the judge got worse or better",
    }
    if code in undecided and environment.get("CHECK_INCONCLUSIVE", "pass") == "pass":
        sys.stdout.write(f"::warning::The labels do not decide yet {undecided[code]}.\n")
        return 0
    return code


if __name__ == "__main__":
    raise SystemExit(main())
