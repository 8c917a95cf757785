"""What is looked at before a launch, and what a newcomer is told to mend."""

import pytest

from annotation.prolific.api.balance import Account, read_account
from annotation.prolific.api.client import connect
from annotation.prolific.api.transport import LaunchRefused, NotAllowed
from annotation.prolific.launch import launch, launch_checks, publication
from annotation.prolific.launch.launch_checks import time_checks
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.sync.polling import follow_all
from annotation.researchers.opening_checks import study_checks
from demo.prolific.records import WORKSPACE
from judging.models import Judge, JudgeRun
from judging.runs.study_content import judges_of
from studies.models import Item
from studies.services.items import ExpectedTime
from studies.services.studies import LaunchCheck
from tests.annotation.prolific.life import launched, make_recruiting, published
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def about(study, words: str):
    """The one check that says `words`."""
    (found,) = [check for check in study_checks(study) if words in check.text]
    return found


@pytest.mark.parametrize(
    ("source", "words", "is_open"),
    [
        ({}, "name no licence", True),
        ({"licence": "CC BY 4.0"}, "licence is CC BY 4.0", False),
        (
            {"licence": "CC BY-NC 4.0", "redistribution": "non-commercial"},
            "non-commercial purposes",
            False,
        ),
        ({"licence": "Pew", "redistribution": "forbidden"}, "must not be redistributed", True),
    ],
)
def test_the_items_licence_is_checked(source, words, is_open, study):
    study.source = source

    found = about(study, words)
    assert found.is_open is is_open
    assert found.fix.endswith("/settings/#id_licence") is (not source)


@pytest.mark.parametrize(("first", "is_open"), [("r1", True), ("r2", True), ("", False)])
def test_a_fixed_order_that_gives_the_answer_away_is_reported(first, is_open):
    study = make_recruiting(items=12)
    Item.objects.filter(study=study).update(fixed_first=first, first_person="r1")

    words = "fixed order" if is_open else "equally often"
    assert about(study, words).is_open is is_open


def test_checks_of_other_apps_can_block_a_launch(study, prolific, monkeypatch):
    found = [LaunchCheck("The judge is away.", is_open=True, blocks=True)]
    monkeypatch.setattr(launch_checks, "registered_checks", lambda of: found if of == study else [])
    launch.save_plan(study_id=study.pk, plan=LaunchPlan())

    with pytest.raises(LaunchRefused, match=r"The judge is away\."):
        launch.launch(study_id=study.pk)


@pytest.mark.parametrize("is_up", [True, False])
def test_judges_are_asked_whether_they_respond(is_up, study, httpserver):
    httpserver.expect_request("/v1/models").respond_with_data(status=401)
    url = httpserver.url_for("/v1") if is_up else "http://127.0.0.1:9/v1"
    judge = Judge.objects.create(name="steady", backend="openai", model="m", base_url=url)
    JudgeRun.objects.create(study=study, judge=judge, seed=1)

    (found,) = judges_of(study)

    assert found.is_open is not is_up
    assert "steady" in found.text


def test_a_simulated_study_spends_no_real_money(prolific, settings):
    study = make_recruiting(is_simulated=True)
    row = published(study)
    settings.PROLIFIC_BASE_URL = settings.PROLIFIC_BASE_URL.replace("127.0.0.1", "127.0.0.2")
    prolific.requests.clear()

    assert follow_all() == 0
    assert prolific.requests == []
    assert row.status


@pytest.mark.parametrize(("least", "is_open"), [(800, False), (801, True), (None, False)])
def test_pay_below_the_minimum_by_reading_time_is_advice(least, is_open):
    study = make_study(reward=400, minutes=10)
    expected = ExpectedTime(
        items=30,
        per_annotator=30,
        seconds=60.0,
        longest=90.0,
        minutes=30.0,
        fast_minutes=25.0,
    )

    (found,) = time_checks(study, Account(least=least), expected)

    assert (found.is_open, found.blocks) == (is_open, False)
    assert "take about 30 minutes to read and judge" in found.text
    assert "you pay $8.00 an hour" in found.text
    assert ("Set the duration to 30 minutes or more" in found.text) is is_open


def test_an_account_without_the_money_does_not_publish(prolific):
    study = make_recruiting()
    launched(study)
    prolific.world.balance = 3779

    with pytest.raises(NotAllowed, match=r"is \$37\.79: \$0\.01 are missing"):
        publication.publish(study_id=study.pk, confirmed="37.80")

    assert not [line for line in prolific.requests if "transition" in line]


def test_an_unknown_balance_is_no_problem(prolific):
    prolific.world.behaviour.shows_balance = False
    study = make_recruiting()

    account = read_account(connect(study.pk), "USD", WORKSPACE)
    assert account.balance is None
    assert "could not be read" in account.balance_problem
    assert published(study).status in ("ACTIVE", "PUBLISHING")


def test_a_consent_without_researchers_storage_or_approval_is_reported(study):
    assert about(study, "standard one").is_open
    study.researchers, study.storage, study.ethics = "Ada, University", "In the EU", "Board 7"
    assert not about(study, "standard one").is_open
    study.consent = "Our own words."
    assert not about(study, "your own, version").is_open
