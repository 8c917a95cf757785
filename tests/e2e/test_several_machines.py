"""Two web servers and two workers that share a database, Redis and a bucket, and no folder."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
import redis
import requests
from django.conf import settings

from config.processes import Processes, web_command, worker_command
from tests.management import in_one_process
from tests.migrated import TEMPLATE, own_database
from tests.s3_server import S3Server
from tests.servers import free_port

# With --all: two servers and two workers of their own.
pytestmark = [pytest.mark.e2e, pytest.mark.postgres, pytest.mark.nightly]

ROOT = Path(__file__).resolve().parents[2]
PASSWORD, STUDY, ITEMS = "a good long secret", "far-apart", 60
HOME = f"/studies/{STUDY}/"
BUILD = {"action": "build", "threshold": "80", "bootstrap": "100", "seed": "1"}
LONG = (
    "This is what I would do, and I would do it again. " * 99 + "Yes."
)  # a worker imports such a file


class Machines:
    """Processes with a folder each: `web1`, `web2`, `worker1` and `worker2`."""

    def __init__(self, folder: Path, database_url: str, files: str) -> None:
        self.folder, self.database_url = folder, database_url
        self.bucket = S3Server()
        self.port = free_port(count=2)
        self._environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings.dev",
            "DATABASE_URL": database_url,
            "SECRET_KEY": settings.SECRET_KEY,  # simulated people date pages back with it
            "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
            "LOG_LEVEL": "WARNING",
            "FILES": files,
            **self.bucket.environment,
        }
        self._log = (folder / "processes.log").open("ab")
        self._running: list[Processes] = []

    def start(self) -> None:
        for number in (1, 2):
            self._start(f"web{number}", web_command(port=self.port + number - 1, workers=1))
            self._start(f"worker{number}", worker_command(threads=2, queue="celery", beat=False))
        for number, processes in enumerate(self._running[::2]):
            processes.wait_healthy(f"http://127.0.0.1:{self.port + number}")

    def _start(self, name: str, command: list[str]) -> None:
        processes = Processes(log=self._log, environment=self.environment(name))
        processes.start(name, command)
        self._running.append(processes)

    def environment(self, name: str) -> dict[str, str]:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return {**self._environment, "VAR_DIR": str(folder)}

    def run(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python on a machine until it ends."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment(name),
            capture_output=True,
            text=True,
            timeout=120,
        )

    def manage(self, *commands: list[str]) -> None:
        result = self.run("shell", *in_one_process(*commands))
        assert result.returncode == 0, result.stdout + result.stderr

    def stop(self) -> None:
        for processes in self._running:
            processes.stop()
        self.bucket.stop()
        self._log.close()

    def query(self, sql: str) -> list[tuple]:
        with closing(psycopg2.connect(self.database_url)) as database:
            with database.cursor() as cursor:
                cursor.execute(sql)
                return cursor.fetchall()

    def left_behind(self) -> set[str]:
        """Generated files in the folders of the machines, which are all empty between jobs."""
        kinds = ("reports", "exports", "imports")
        found = (path for kind in kinds for path in self.folder.glob(f"*/{kind}/**/*"))
        return {path.relative_to(self.folder).as_posix() for path in found if path.is_file()}


class Researcher:
    """One browser: its cookies are valid on every web server."""

    def __init__(self, first: str, second: str) -> None:
        self.session = requests.Session()
        self.first, self.second = first, second
        self.get(first, "/accounts/login/")
        self.post(first, "/accounts/login/", username="ada", password=PASSWORD)

    def get(self, web: str, path: str) -> requests.Response:
        response = self.session.get(f"{web}{path}", timeout=60)
        response.raise_for_status()
        return response

    def post(self, web: str, path: str, files: object = None, **fields: str) -> str:
        """Send a form, and return the path that it leads to."""
        response = self.send(web, path, files, **fields)
        assert response.status_code == 302, response.text
        return response.headers["Location"]

    def send(self, web: str, path: str, files: object = None, **fields: str) -> requests.Response:
        token = {"X-CSRFToken": self.session.cookies["csrftoken"], "Referer": f"{web}{path}"}
        return self.session.post(
            f"{web}{path}", fields, headers=token, files=files, timeout=60, allow_redirects=False
        )

    def from_both(self, path: str) -> bytes:
        """A file that both web servers send, alike but for their own addresses."""
        one, other = (self.get(web, path).content for web in (self.first, self.second))
        assert one.replace(self.first.encode(), self.second.encode()) == other
        return one

    def wait(self, web: str, status: str) -> str:
        """Until a job has ended; its page asks for `status`. Returns its last sentence."""
        wait_until(lambda: not self.get(web, status).json()["open"])
        return str(self.get(web, status).json()["message"])


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.3)


@pytest.fixture
def machines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machines]:
    with redis.Redis.from_url(os.environ["CELERY_BROKER_URL"]) as client:
        client.flushdb()
    template = os.environ.get(TEMPLATE, "template1")
    with own_database(os.environ["DATABASE_URL"], template) as url:
        machines = Machines(tmp_path, url, request.param)
        try:
            machines.run("shell", "-m", "config.migrate")
            yield machines
        finally:
            machines.stop()
            log = (tmp_path / "processes.log").read_text("utf-8")
            sys.stdout.write(log[-5000:])  # shown on failure


def items() -> bytes:
    rows = [
        {
            "id": f"evening-{number}",
            "task": "preference",
            "persona": {"id": "ann", "features": [{"key": "age", "value": "35-44"}]},
            "question": f"What should I do on evening {number}?",
            "responses": [{"key": "r1", "text": LONG}, {"key": "r2", "text": f"{LONG} Or not."}],
            "first_person": {"label": f"r{1 + number % 2}"},
        }
        for number in range(ITEMS)
    ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def import_items(machines: Machines, ada: Researcher) -> None:
    """A file that one web server gets is imported by a worker."""
    files = {"file": ("items.jsonl", items())}
    job = ada.post(ada.first, f"{HOME}import/", files, task="preference")

    assert f"Imported {ITEMS} items" in ada.wait(ada.second, f"{job}status/")


def judge(machines: Machines, ada: Researcher) -> None:
    """Judgments of a file, which both web servers show."""
    rows = [{"item_id": f"evening-{number}", "choice": "r1"} for number in range(ITEMS)]
    file = machines.folder / "judgments.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    machines.manage(
        ["import_judgments", STUDY, str(file), "--judge", "far", "--setting", "standard"]
    )


def build_and_share_a_report(machines: Machines, ada: Researcher) -> None:
    """A report is built by a worker; its files and its shared copy are read from both."""
    page = ada.post(ada.first, f"{HOME}reports/", **BUILD)
    ada.wait(ada.second, f"{page}status/")

    assert machines.query("SELECT state, message FROM analysis_report") == [("done", "Done.")]
    assert json.loads(ada.from_both(f"{page}report.json"))["inputs"]["judgments"] == ITEMS
    assert b"<html" in ada.from_both(f"{page}report.html")
    with zipfile.ZipFile(io.BytesIO(ada.from_both(f"{page}tables.zip"))) as tables:
        assert "tables/items.csv" in tables.namelist()
    shared = ada.send(ada.second, f"{page}share/", days="5", note="").text
    link = re.search(r"/shared/(\w+)/\?key=(\w+)", shared)
    assert link, shared
    assert b"<html" in ada.from_both(f"/shared/{link[1]}/report.html?key={link[2]}")


def export(machines: Machines, ada: Researcher) -> None:
    """An export is written by a worker and downloaded from both."""
    ada.post(ada.second, f"{HOME}exports/", action="new", what="all", format="", licence="")
    wait_until(lambda: machines.query("SELECT state FROM analysis_export") == [("done",)])
    ((export_id, sha256),) = machines.query("SELECT public_id, sha256 FROM analysis_export")

    content = ada.from_both(f"{HOME}exports/{export_id}/download/")

    assert hashlib.sha256(content).hexdigest() == sha256


def delete(machines: Machines, ada: Researcher) -> None:
    """Every folder stayed empty, and deleting the study leaves nothing of it anywhere."""
    assert {name.split("/")[1] for name in machines.bucket.objects} == {"exports", "reports"}
    assert machines.left_behind() == set()

    ada.post(ada.first, HOME, action="state", state="closed")
    ada.post(ada.first, f"{HOME}whole/", action="archive")
    ada.post(ada.second, f"{HOME}whole/", action="delete", confirmation=STUDY)

    assert machines.bucket.objects == {}


@pytest.mark.parametrize("machines", ["s3://research"], indirect=True)
def test_any_process_reads_what_any_other_wrote(machines: Machines) -> None:
    machines.manage(
        ["createsuperuser", "--noinput", "--username", "ada", "--email", "a@example.org"],
        ["create_study", STUDY, "--title", "Far apart", "--owner", "ada"],
    )
    machines.start()
    ada = Researcher(*(f"http://127.0.0.1:{machines.port + number}" for number in range(2)))

    for step in (import_items, judge, build_and_share_a_report, export, delete):
        step(machines, ada)


@pytest.mark.parametrize("machines", ["folder"], indirect=True)
def test_a_private_folder_next_to_another_is_refused_at_the_start(machines: Machines) -> None:
    machines.manage(["files", "--adopt"])  # the folder of the first machine

    web = machines.run("web2", "-m", "config.processes", "web")
    worker = machines.run("worker2", *worker_command(queue="celery", beat=False)[1:])

    for refused, name in ((web, "web2"), (worker, "worker2")):
        assert refused.returncode == 1, refused.stderr
        assert f"This process keeps files in {machines.folder}/{name} on " in refused.stderr
        assert f"the installation keeps them in {machines.folder}/shell on " in refused.stderr
        assert "set FILES to a bucket" in refused.stderr
    adopted = machines.run("web2", "manage.py", "files", "--adopt")
    assert adopted.stdout == f"Files are in {machines.folder}/web2 on {os.uname().nodename}.\n"
