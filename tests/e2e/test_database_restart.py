"""PostgreSQL dies in mid-work and starts again: nobody sees a bare error, and nothing is lost."""

import html
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
import requests

from benchmarks._victims import Database, wait_for
from config.processes import worker_command
from tests.e2e.stack import Stack
from tests.servers import make_fit_for_tests

pytestmark = [pytest.mark.e2e, pytest.mark.postgres]

STUDY = """
import django
django.setup()
from tests.factories import make_items, make_study
make_items(make_study(slug="restarted", items_per_annotator=3), 3)
"""
ANSWERS = """
    SELECT assignment.position, answer.certainty, answer.revision, count(revision.id)
    FROM annotation_annotation answer
    JOIN annotation_assignment assignment ON assignment.id = answer.assignment_id
    JOIN annotation_annotationrevision revision ON revision.annotation_id = answer.id
    GROUP BY 1, 2, 3 ORDER BY 1
"""
ENTRY = "/s/restarted/?PROLIFIC_PID=ada&STUDY_ID=s&SESSION_ID=t"
FIELD = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


@pytest.fixture
def server() -> Iterator[Database]:
    with tempfile.TemporaryDirectory(prefix="tp-pg-", dir="/tmp") as folder:
        server = Database(Path(folder))
        make_fit_for_tests(server.url)
        yield server
        server.stop()


@pytest.fixture
def stack(server: Database, tmp_path: Path) -> Iterator[Stack]:
    stack = Stack(tmp_path, server.url)
    try:
        stack.migrate()
        stack.run("-c", STUDY)
        stack.processes.start("worker", worker_command(threads=2))
        stack.start_web()
        yield stack
    finally:
        stack.stop()


class Person:
    """A browser without scripts."""

    def __init__(self, base_url: str) -> None:
        self.base_url, self.session = base_url, requests.Session()
        self.page = self.get(ENTRY)

    def get(self, path: str) -> requests.Response:
        return self.session.get(self.base_url + path, timeout=60)

    def send(self, **entered: str) -> requests.Response:
        """Send the form of the page with what is entered, and go where that leads."""
        fields = {name: html.unescape(value) for name, value in FIELD.findall(self.page.text)}
        self.page = self.session.post(self.page.url, fields | entered, timeout=60)
        return self.page


@pytest.mark.nightly
def test_a_restart_of_the_database_in_mid_work_loses_nothing(server: Database, stack: Stack):
    person = Person(stack.base_url)
    person.send(consent="yes")
    person.send()
    person.send(choice="a", certainty="61")
    assert person.page.url.endswith("/task/2/")

    server.kill()
    away = person.send(choice="b", certainty="83")
    account = requests.get(
        f"{stack.base_url}/studies/", cookies={"sessionid": "a" * 32}, timeout=60
    )
    health = requests.get(f"{stack.base_url}/healthz", timeout=60)

    for answer in (away, account, health):
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert health.json()["database"] == "unreachable"
    assert "The server cannot reach its data" in away.text
    assert "The server cannot reach its data" in account.text
    assert ("Refresh" in account.headers, "Refresh" in away.headers) == (True, False)
    assert {("choice", "b"), ("certainty", "83")} <= set(FIELD.findall(away.text))

    server.start()
    started = time.time()
    person.send()  # what the page has kept

    assert person.page.url.endswith("/task/3/")
    person.send(choice="a", certainty="70")
    assert stack.query(ANSWERS) == [(1, 61, 1, 1), (2, 83, 1, 1), (3, 70, 1, 1)]
    # The worker, its schedule and the recovery of judgments have connected again.
    wait_for("heartbeats", lambda: heartbeats_since(server.url, started) == 3)


def heartbeats_since(url: str, moment: float) -> int:
    with closing(psycopg2.connect(url)) as database, database.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM studies_heartbeat WHERE seen_at > to_timestamp(%s)", [moment]
        )
        return int(cursor.fetchone()[0])
