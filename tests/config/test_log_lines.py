"""Log lines with ids and without secrets."""

import json
import logging

import pytest
from celery import current_app
from django.core.exceptions import ImproperlyConfigured

from annotation.models import ProlificIdentity
from config.env import env, one_of
from config.log_lines import JsonLines, task_ids
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db


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
