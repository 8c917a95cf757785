"""Judges are asked in English: said wherever that is not the study's language."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.limits import language_limit
from judging.runs.campaigns import CampaignPlan, start_campaign
from studies.models import Study
from studies.prompts.language import language_note
from tests.factories import make_item, make_study, sign_in
from tests.judging.conftest import make_judge

NOTE = "People are asked in German, judges in English:"


@pytest.fixture
def study(db):
    study = make_study(slug="s", language="de")
    make_item(study=study)
    make_judge(name="one", base_url="http://127.0.0.1:9/v1")
    return study


def pages(study):
    """What says so before a run is started, and afterwards."""
    plan = CampaignPlan("C", ["one"], orders=["r1_first"])
    campaign = start_campaign(study_id=study.pk, plan=plan, enqueue=False)
    run = campaign.runs.get()
    assert run.parameters["prompt_language"] == "en"
    return [
        reverse("judging:new", args=["s"]),
        reverse("judging:campaign", args=["s", campaign.public_id]),
        reverse("judging:run", args=["s", run.public_id]),
        reverse("judging:extend", args=["s", run.public_id]),
    ]


def test_every_page_that_starts_or_shows_a_run_says_so(study):
    client = sign_in(study)

    for url in pages(study):
        assert NOTE in client.get(url).content.decode(), url


def test_nothing_is_said_of_a_study_in_english(study):
    Study.objects.update(language="en-gb")
    client = sign_in(study)

    for url in pages(study):
        assert "judges in English" not in client.get(url).content.decode(), url


def test_the_commands_say_so_before_anything_is_asked(study, tmp_path, monkeypatch):
    monkeypatch.setattr("judging.runs.lifecycle.queue_chunk", lambda run_id: None)
    plan = tmp_path / "plan.toml"
    plan.write_text('name = "C"\njudges = ["one"]\n')

    for command in (["judge", "s", "--judge", "one"], ["campaign", "s", str(plan), "--dry-run"]):
        out = StringIO()
        call_command(*command, stdout=out)
        assert out.getvalue().startswith(NOTE)


def test_the_report_names_it_among_its_limits():
    assert language_limit("de").startswith("People were asked in German. The prompts of judges")
    assert language_limit("en").startswith("Everything was asked in the language “en”")


def test_a_language_without_a_name_keeps_its_code():
    assert language_note("tlh").startswith("People are asked in the language “tlh”, judges")
