"""Figures for Prometheus, only for who may read them."""

import re
from pathlib import Path

import pytest
from django.db import DatabaseError

from config.health import processes
from extras.administration.telemetry import metrics
from extras.administration.telemetry.metrics import measure
from judging.models import JudgeRun
from studies.models import Backup, Heartbeat
from tests.analysis.builders import make_run
from tests.factories import make_study

pytestmark = pytest.mark.django_db
LINE = re.compile(r"thirdperson_\w+(\{\w+=\"[\w-]+\"(,\w+=\"[\w-]+\")*\})? -?\d+(\.\d+)?(e-?\d+)?")


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
    page = (Path(__file__).parents[4] / "extras/administration/docs/metrics.md").read_text("utf-8")
    names = {name.partition("{")[0] for name in figures(client)}

    assert len(names) > 8
    assert [name for name in names if f"`{name}" not in page] == []


@pytest.mark.parametrize("role", Heartbeat.Role.values)
def test_a_silent_role_and_a_short_disk_count_as_not_working(role, monkeypatch):
    states = dict.fromkeys(processes(), "ok") | {role: "silent for 300 seconds"}
    monkeypatch.setattr(metrics, "processes", lambda: states)
    monkeypatch.setattr(metrics, "disk", lambda: "400 MB free on the disk of files")

    found = {metric.name: metric.values for metric in measure()}

    assert found["up"][(("part", role),)] == 0
    assert found["up"][(("part", "disk"),)] == 0
