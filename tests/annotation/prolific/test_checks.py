"""What is looked at before a launch, and what a newcomer is told to mend."""

import datetime as dt
import os

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.content.trial_runs import runs_of
from annotation.models import Annotation, CompletionCode, Ending
from annotation.prolific.api.account import connect, read_account
from annotation.prolific.api.errors import NotAllowed
from annotation.prolific.launch import running
from annotation.prolific.launch.check_study import study_checks
from annotation.prolific.sync.sync import follow_all
from demo.prolific.records import WORKSPACE
from judging.models import Judge, JudgeRun
from studies.models import Item, Membership
from studies.services.launch_checks import checks_of_other_apps
from studies.services.studies import record
from tests.annotation.prolific.life import launched, make_recruiting, published

pytestmark = pytest.mark.django_db


def about(study, words: str):
    """The one check that says `words`."""
    (found,) = [check for check in study_checks(study) if words in check.text]
    return found


def go_through(study, *, width: str, items: int = 6, on: Client | None = None) -> None:
    """A researcher walks the preview from its first page to its last."""
    client = on or Client()
    user, _ = User.objects.get_or_create(username="researcher")
    Membership.objects.get_or_create(study=study, user=user, role=Membership.Role.EDITOR)
    client.force_login(user)
    client.get(reverse("annotation:preview", args=[study.slug, "consent"]))
    task = reverse("annotation:preview", args=[study.slug, "task"])
    for number in range(1, items + 1):
        answer = {"choice": "a", "certainty": "60", "width": width}
        client.post(f"{task}?item={number}", answer)
    client.post(reverse("annotation:preview", args=[study.slug, "feedback"]), {"width": width})


def test_a_test_run_on_a_phone_counts_and_stores_no_answer(study):
    assert about(study, "on a phone").is_open

    go_through(study, width="390")

    assert not about(study, "on a phone").is_open
    (run,) = runs_of(study)
    assert (run.items, run.on_phone) == (6, True)
    assert not Annotation.objects.exists()


@pytest.mark.parametrize("width", ["1280", "", "x", "99999999"])
def test_a_test_run_on_a_wide_or_unknown_screen_is_none_on_a_phone(width, study):
    go_through(study, width=width)

    assert [run.on_phone for run in runs_of(study)] == [False]
    assert about(study, "on a phone").is_open


def test_a_test_run_that_leaves_items_out_does_not_count(study):
    go_through(study, width="390", items=5)

    assert runs_of(study) == []


def test_test_runs_that_take_longer_than_the_study_says_are_told(study):
    for minutes in (18, 30, 40):
        record(study, "test run", seconds=minutes * 60, items=3, on_phone=True)

    found = about(study, "test runs")

    assert found.is_open
    assert "3 test runs, 30 minutes at the median; the study says 20." in found.text


def test_a_test_run_through_more_items_than_a_person_gets_is_scaled(study):
    record(study, "test run", seconds=30 * 60, items=6, on_phone=True)

    assert not about(study, "1 test run, 15 minutes").is_open


@pytest.mark.parametrize(
    ("source", "words", "is_open"),
    [
        ({}, "name no licence", True),
        ({"licence": "CC BY 4.0"}, "licence is CC BY 4.0", False),
        ({"licence": "CC BY-NC 4.0", "redistribution": "non-commercial"}, "not commercial", False),
        ({"licence": "Pew", "redistribution": "forbidden"}, "may not be passed on", True),
    ],
)
def test_the_items_licence_is_looked_at(source, words, is_open, study):
    study.source = source

    assert about(study, words).is_open is is_open


@pytest.mark.parametrize(("first", "is_open"), [("r1", True), ("r2", True), ("", False)])
def test_items_whose_fixed_order_gives_the_answer_away_are_told(first, is_open):
    study = make_recruiting(items=12)
    Item.objects.filter(study=study).update(fixed_first=first, first_person="r1")

    words = "fixed order" if is_open else "equally often"
    assert about(study, words).is_open is is_open


@pytest.mark.parametrize(("hours", "is_open"), [(1, False), (48, True)])
def test_the_last_backups_age_is_told(hours, is_open, study, settings, tmp_path):
    stamp = tmp_path / "backed-up"
    stamp.touch()
    then = (dt.datetime.now(dt.UTC) - dt.timedelta(hours=hours)).timestamp()
    os.utime(stamp, (then, then))
    settings.BACKUP_STAMP = str(stamp)

    assert about(study, f"{hours} hours").is_open is is_open


def test_without_a_backup_that_is_known_the_check_says_what_to_set(study, settings, tmp_path):
    settings.BACKUP_STAMP = ""
    assert "BACKUP_STAMP" in about(study, "No backups").text

    settings.BACKUP_STAMP = str(tmp_path / "nothing")
    assert about(study, "is not there").is_open


def test_every_ending_has_a_code_of_its_own(study):
    assert not about(study, "a code of its own").is_open

    codes = list(CompletionCode.objects.filter(study=study).values_list("code", flat=True))
    assert len(set(codes)) == len(codes) == len(Ending)


def test_the_own_consent_is_told_with_its_version(study):
    assert about(study, "default text").is_open
    assert "does not say who asks or where" in about(study, "default text").text
    study.researchers, study.storage = "Ada, University", "In the EU, ten years."
    assert "does not say the ethics approval" in about(study, "default text").text
    study.ethics = "Board 2026/17"
    assert not about(study, "default text").is_open

    study.consent = "Our own words."

    assert not about(study, "your own text, version").is_open


@pytest.mark.parametrize("is_up", [True, False])
def test_judges_are_asked_for_a_sign_of_life(is_up, study, httpserver):
    httpserver.expect_request("/v1/models").respond_with_data(status=401)
    url = httpserver.url_for("/v1") if is_up else "http://127.0.0.1:9/v1"
    judge = Judge.objects.create(name="steady", backend="openai", model="m", base_url=url)
    JudgeRun.objects.create(study=study, judge=judge, seed=1)

    (found,) = checks_of_other_apps(study)

    assert found.is_open is not is_up
    assert "steady" in found.text


def test_a_study_without_judges_is_told_that_they_can_come_later(study):
    (found,) = checks_of_other_apps(study)

    assert not found.is_open
    assert "afterwards" in found.text


def test_a_simulated_study_spends_no_real_money(prolific, settings):
    study = make_recruiting(is_simulated=True)
    row = published(study)
    settings.PROLIFIC_BASE_URL = settings.PROLIFIC_BASE_URL.replace("127.0.0.1", "127.0.0.2")
    prolific.requests.clear()

    assert follow_all() == 0
    assert prolific.requests == []
    assert row.status


def test_an_account_without_the_money_does_not_publish(prolific):
    study = make_recruiting()
    launched(study)
    prolific.world.balance = 3779

    with pytest.raises(NotAllowed, match=r"the workspace holds \$37\.79"):
        running.publish(study_id=study.pk, confirmed="37.80")

    assert not [line for line in prolific.requests if "transition" in line]


def test_a_wallet_that_is_not_shown_is_not_doubted(prolific):
    prolific.world.behaviour.shows_balance = False
    study = make_recruiting()

    account = read_account(connect(), "USD", WORKSPACE)
    assert account.balance is None
    assert "could not be read" in account.balance_problem
    assert published(study).status in ("ACTIVE", "PUBLISHING")
