"""The words that a judge was asked: a run keeps them, whatever later versions ask."""

import json
from dataclasses import replace

import pytest

from judging.models import JudgeRun
from judging.prompts import asking
from judging.prompts.asking import stored_words
from judging.runs.spec import RunSpec
from judging.runs.start import run_for
from studies.models import Study
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_study(criteria=[{"name": "clear", "description": "easy to read"}])
    make_item(study=study)
    return study


def run_of(study: Study, **options: str) -> JudgeRun:
    judge = make_judge(structured=True)
    spec = RunSpec(study_id=study.pk, judge_id=judge.pk, **options)
    run = run_for(study, judge, spec)
    run.save()
    return JudgeRun.objects.select_related("judge", "study").get(pk=run.pk)


def reworded(monkeypatch):
    """An update of the program asks the same in other words."""
    today = asking.wording

    def later(*args, **options):
        words = today(*args, **options)
        return replace(words, template=f"Newer words. {words.template}", sha256="f" * 64)

    monkeypatch.setattr(asking, "wording", later)


def test_a_run_keeps_every_text_that_its_model_is_sent(study):
    run = run_of(study, bias_probe="authority+reflection+warning")

    kept = json.dumps(run.words, ensure_ascii=False)
    assert [each["persona"] for each in run.words["prompts"]] == [True, False]
    for words in (
        "Judge only what the responses say.",
        "Look at your answer once more.",
        "This is confirmed by the leading professors",
        "clear: easy to read",
        '"enum": ["A", "B"]',
    ):
        assert words in kept or words in kept.replace('\\"', '"'), words


def test_an_update_changes_no_words_of_a_run_and_words_that_are_gone_are_not_those_of_today(
    study, monkeypatch
):
    run = run_of(study)
    asked = run.words["prompts"][0]["template"]

    reworded(monkeypatch)

    assert stored_words(run)["prompts"][0]["template"] == asked
    assert "Newer words." not in asked
    JudgeRun.objects.update(words={})
    run.refresh_from_db()
    assert (run.words, stored_words(run)) == ({}, {})
