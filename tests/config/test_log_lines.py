"""Log lines with ids and without secrets, and figures only for who may read them."""

import json
import logging
import re
from pathlib import Path

import pytest
from celery import current_app
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError

from annotation.models import ProlificIdentity
from config.env import env, one_of
from config.operations.monitoring import metrics
from config.operations.monitoring.log_lines import JsonLines, task_ids
from judging.models import JudgeRun
from studies.models import Backup
from tests.analysis.builders import make_run
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db
LINE = re.compile(r"thirdperson_\w+(\{\w+=\"[\w-]+\"(,\w+=\"[\w-]+\")*\})? -?\d+(\.\d+)?(e-?\d+)?")


@pytest.fixture
def lines():
    """What a handler with JSON lines writes."""
    written: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    handler = Keep()
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield written
    root.setLevel(level)
    root.removeHandler(handler)


def test_a_line_has_the_id_of_its_request_and_no_participant(client, lines):
    study = make_study(slug="s")
    make_items(study, 2)
    pid = "5f4dcc3b5aa765d61d8327de"

    query = {"PROLIFIC_PID": pid, "STUDY_ID": "ps1", "SESSION_ID": "secretsession"}
    entered = client.get("/s/s/", query)
    missing = client.get("/s/s/nowhere/", {"PROLIFIC_PID": pid})

    assert ProlificIdentity.objects.filter(pid=pid).exists()
    found = [json.loads(line) for line in lines]
    of_missing = [line for line in found if line.get("request") == missing["X-Request-ID"]]
    assert entered["X-Request-ID"] != missing["X-Request-ID"]
    assert any("Not Found: /s/s/nowhere/" in line["message"] for line in of_missing)
    assert not any(pid in line or "secretsession" in line for line in lines)


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [("abc-123_x.y", True), ("short", False), ("a b c d e f g h", False), ("x" * 65, False)],
)
def test_a_valid_id_from_a_proxy_is_kept(client, given, is_kept):
    response = client.get("/healthz", headers={"X-Request-ID": given})

    assert (response["X-Request-ID"] == given) is is_kept


def test_a_line_of_a_task_names_the_task_and_its_run(lines):
    @current_app.task(name="tests.log_something", shared=False)
    def log_something(run_id: int, secret: str) -> None:
        logging.getLogger("judging").warning("Something.")

    log_something.apply((12, "sk-secret"))
    logging.getLogger("judging").warning("After it.")

    inside, after = [json.loads(line) for line in lines if '"judging"' in line]
    assert (inside["task"], inside["run"], inside["level"]) == (
        "tests.log_something",
        12,
        "WARNING",
    )
    assert "task" not in after
    assert not any("sk-secret" in line for line in lines)
    assert task_ids(log_something, (12,), {"secret": "x"}) == {"run": 12}
    assert task_ids(log_something, (1, 2, 3, 4), {}) == {}


def test_a_line_holds_the_traceback_of_an_error(lines):
    try:
        raise ValueError("a\nb")
    except ValueError:
        logging.getLogger("x").exception("It failed.")

    (line,) = (json.loads(each) for each in lines)
    assert "ValueError: a\nb" in line["traceback"]
    assert "\n" not in lines[0]


def test_a_wrong_format_stops_the_start(monkeypatch):
    monkeypatch.setenv("LOG_FORMAT", "xml")
    with pytest.raises(ImproperlyConfigured, match="LOG_FORMAT must be TEXT or JSON"):
        env("LOG_FORMAT", cast=one_of("TEXT", "JSON"), default="TEXT")


def figures(client) -> dict[str, str]:
    text = client.get("/metrics").content.decode()
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    assert [row for row in rows if not LINE.fullmatch(row)] == []
    return dict(row.rsplit(" ", 1) for row in rows)


def test_the_figures_are_those_of_the_installation(client):
    run = make_run(study=make_study(state="closed"))
    JudgeRun.objects.filter(pk=run.pk).update(spent_nano=1_500_000_000, tokens=7, retries=2)
    Backup.objects.create(file="/x.zip", sha256="0" * 64, size=1)

    found = figures(client)

    assert found['thirdperson_studies{state="closed"}'] == "1"
    assert found['thirdperson_judge_runs{state="done"}'] == "1"
    assert found["thirdperson_judge_cost_dollars"] == "1.5"
    assert found["thirdperson_judge_tokens"] == "7"
    assert found['thirdperson_up{part="database"}'] == "1"
    assert found['thirdperson_jobs{kind="report",state="queued"}'] == "0"
    assert float(found["thirdperson_backup_age_seconds"]) < 60


def test_the_number_of_queries_does_not_grow(client, django_assert_max_num_queries):
    for _ in range(5):
        make_run(study=make_study())
    with django_assert_max_num_queries(30):
        assert figures(client)


def test_without_a_database_it_says_so(client, monkeypatch):
    monkeypatch.setattr(metrics, "health", lambda: {"database": "unreachable"})

    found = {name for name in figures(client) if not name.startswith("thirdperson_disks_free")}
    assert found == {
        'thirdperson_up{part="database"}',
        'thirdperson_up{part="disk"}',
        "thirdperson_disk_free_bytes",
    }


def test_a_database_failure_leaves_the_other_figures(client, monkeypatch):
    def fail():
        raise DatabaseError

    monkeypatch.setattr(metrics, "database_bytes", fail)

    assert "thirdperson_disk_free_bytes" in figures(client)


@pytest.mark.parametrize(
    ("token", "request_as", "status"),
    [
        ("", {}, 200),
        ("", {"REMOTE_ADDR": "::1"}, 200),
        ("", {"REMOTE_ADDR": "10.0.0.7"}, 404),
        ("", {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, 404),
        ("", {"HTTP_X_REAL_IP": "127.0.0.1"}, 404),
        ("right", {}, 404),
        ("right", {"HTTP_AUTHORIZATION": "Bearer wrong"}, 404),
        ("right", {"HTTP_AUTHORIZATION": "Basic right"}, 404),
        ("right", {"HTTP_AUTHORIZATION": "Bearer right", "REMOTE_ADDR": "10.0.0.7"}, 200),
    ],
)
def test_the_figures_need_the_token_or_this_machine(client, settings, token, request_as, status):
    settings.METRICS_TOKEN = token

    assert client.get("/metrics", **request_as).status_code == status


def test_every_metric_is_documented(client):
    page = (Path(__file__).parents[3] / "docs/monitoring.md").read_text("utf-8")
    names = {name.partition("{")[0] for name in figures(client)}

    assert len(names) > 8
    assert [name for name in names if f"`{name}" not in page] == []
