"""The list of studies: what each app says about a study, and pages of many studies."""

import datetime as dt

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from annotation.models import ProlificStudy, ProlificSubmission, QuotaGroup
from judging.models import JudgeRun
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from studies.models import Study
from studies.pages import views
from studies.templatetags.humanize_numbers import ago
from tests.factories import make_annotator, make_items, make_study
from tests.judging.conftest import make_judge


@pytest.fixture
def owner(client, db):
    client.force_login(User.objects.create_superuser("ada"))
    return client


def listed(client):
    return {row.study.slug: row for row in client.get(reverse("studies:list")).context["rows"]}


def test_a_row_says_how_far_people_and_judges_are(owner):
    study = make_study(slug="one", entry="prolific")
    make_items(study, 2)
    QuotaGroup.objects.create(study=study, criteria={"gender": "woman"}, target=4, completed=3)
    there = ProlificStudy.objects.create(study=study, prolific_id="p", reward=450, currency="USD")
    for n, status in enumerate(["APPROVED", "APPROVED", "AWAITING REVIEW"]):
        ProlificSubmission.objects.create(prolific_study=there, submission_id=str(n), status=status)
    judge = make_judge(base_url="http://127.0.0.1:9/v1")
    run = start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), enqueue=False)
    JudgeRun.objects.filter(pk=run.pk).update(
        state="stopped_outage", sentence="Off.", spent_nano=1_500_000_000
    )

    row = listed(owner)["one"]

    assert [(cell.text, cell.alert) for cell in row.quota] == [("3 / 4", "1 to approve")]
    assert [(cell.text, cell.alert) for cell in row.judges] == [("0 / 1", "1 stopped")]
    assert row.cost == "$9.00 + $1.50"


def test_outside_prolific_pay_is_owed_to_people_who_completed(owner):
    study = make_study(slug="one", entry="link", reward=300, currency="GBP")
    make_annotator(study=study, state="completed")

    assert listed(owner)["one"].cost == "£3.00"


def test_the_latest_of_all_changes_counts(owner):
    study = make_study(slug="one")
    later = timezone.now() + dt.timedelta(minutes=5)
    study.log.create(event="created")
    study.log.update(created_at=later)

    assert listed(owner)["one"].updated == later


def test_many_studies_are_shown_in_pages(owner, monkeypatch):
    monkeypatch.setattr(views, "_STUDIES_PER_PAGE", 2)
    for n in range(3):
        make_study(slug=f"s{n}", title=f"Study {n}")

    first = owner.get(reverse("studies:list"), {"sort": "title", "state": "open"}).text
    second = owner.get(reverse("studies:list"), {"sort": "title", "page": 2}).text

    assert "Study 1" in first
    assert "Study 2" not in first
    assert "?sort=title&amp;state=open&amp;page=2" in first
    assert "Study 2" in second


def test_times_are_shown_in_everyday_words():
    now = timezone.now()
    ages = {
        dt.timedelta(seconds=30): "just now",
        dt.timedelta(minutes=2): "2 min ago",
        dt.timedelta(hours=3, minutes=10): "3 h ago",
    }

    assert {age: ago(now - age) for age in ages} == ages
    assert ago(dt.datetime(2026, 6, 3, tzinfo=dt.UTC)) == "3 Jun 2026"


def test_a_study_without_anything_has_empty_cells(owner):
    make_study(slug="one", state=Study.State.DRAFT)

    row = listed(owner)["one"]

    assert (row.quota, row.judges, row.cost, row.share) == ([], [], "", None)
