"""What a report calls verbatim is what judges were asked, or it says that the words are gone."""

import datetime

import pytest

from analysis.report.render import render_html
from studies.models import Study
from tests.analysis.builders import judge_item, little_study, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item

pytestmark = pytest.mark.django_db

WORDS = {
    "prompts": [
        {
            "task": "preference",
            "persona": True,
            "question": "Which?",
            "template": "The words of 2026: {{ ask }}",
            "sha256": "a" * 64,
        }
    ],
    "system": "You are somebody else.",
}


def test_of_the_words_only_those_of_tasks_that_items_have_were_asked():
    study = little_study(1, runs=[])
    never = {"task": "authorship", "persona": True, "template": "Never.", "sha256": "d" * 64}
    words = WORDS | {"prompts": [never, *WORDS["prompts"]]}
    run = make_run(study=study, judge="kept", prompt_hash="b" * 64, words=words)
    judge_item(run, make_item(study=study), "r1", 80)
    Study.objects.filter(pk=study.pk).update(task="authorship")

    (judge,) = report_of(Study.objects.get(pk=study.pk))["judges"]

    assert judge["record"]["prompt"] == "The words of 2026: {{ ask }}"
    assert "Never." not in str(judge["record"]["words"])


@pytest.mark.nightly
def test_words_are_those_of_the_run_or_said_to_be_gone():
    study = little_study(1, runs=[])
    kept = make_run(study=study, judge="kept", prompt_hash="b" * 64, words=WORDS)
    gone = make_run(study=study, judge="gone", prompt_hash="c" * 64)
    item = make_item(study=study)
    for run in (kept, gone):
        judge_item(run, item, "r1", 80)

    report = report_of(study)

    records = {each["judge"]: each["record"] for each in report["judges"]}
    assert records["kept"]["prompt"] == "The words of 2026: {{ ask }}"
    assert [each["part"] for each in records["kept"]["words"]] == [
        "preference, with a profile (aaaaaaaaaaaa)",
        "system",
    ]
    assert (records["gone"]["prompt"], records["gone"]["words"]) == (None, [])
    assert records["gone"]["prompt_reason"] == "words_gone"
    page = render_html(report, date=datetime.date(2029, 1, 1))
    assert "The words of 2026: {{ ask }}" in page
    assert page.count("These words are no longer stored.") == 1
    # No words of today stand as those of then.
    assert "[[" not in page.partition("Prompts, verbatim")[2].partition("Reproduce")[0]
