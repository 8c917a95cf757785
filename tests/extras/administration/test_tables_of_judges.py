"""Judges, runs, reports and exports in the admin."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from analysis import tasks
from analysis.exports.requests import request_export
from analysis.models import Report
from judging.models import Judge
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client):
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_runs_are_listed_and_nothing_is_edited_that_would_break_one(admin):
    study = make_study()
    make_item(study=study)
    judge = make_judge(base_url="http://127.0.0.1:9/v1")
    run = start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), enqueue=False)
    Judge.objects.update(sealed_key="gAAAAABsealed", sealed_headers="gAAAAABheaders")

    for model in ("judge", "judgerun", "judgment", "attempt"):
        assert admin.get(f"/admin/judging/{model}/").status_code == 200
    page = admin.get(f"/admin/judging/judgment/{run.judgments.first().pk}/change/").text
    assert 'name="choice"' not in page
    page = admin.get(f"/admin/judging/judge/{run.judge_id}/change/").text
    assert 'name="concurrency"' in page
    for fixed in ("name", "model", "base_url", "api_key_env", "thinking_tokens", "structured"):
        assert f'name="{fixed}"' not in page
    assert "gAAAAAB" not in page + admin.get("/admin/judging/judge/").text


def test_an_administrator_sees_every_queue_and_deletes_files(admin, monkeypatch):
    monkeypatch.setattr(tasks.write_export, "delay_on_commit", lambda *_: None)
    export = request_export(study_id=make_study().pk, user=None, what="items")
    changelist = reverse("admin:analysis_export_changelist")

    assert export.public_id in admin.get(changelist).content.decode()
    admin.post(changelist, {"action": "delete_files", "_selected_action": [export.pk]})

    export.refresh_from_db()
    assert (export.state, export.message) == ("gone", "Deleted by root.")


def test_the_admin_shows_reports_and_changes_none(admin):
    report = Report.objects.create(
        study=make_study(), number=1, seed=1, threshold=80, bootstrap=100
    )

    listing = admin.get(reverse("admin:analysis_report_changelist"))
    detail = admin.get(reverse("admin:analysis_report_change", args=[report.pk]))

    assert report.public_id in listing.content.decode()
    assert detail.status_code == 200
    assert 'name="_save"' not in detail.content.decode()
    assert admin.get(reverse("admin:analysis_report_add")).status_code == 403
