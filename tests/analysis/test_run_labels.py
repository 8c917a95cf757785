"""Try-outs do not take the first screen, and lists of runs name what tells them apart."""

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from analysis.data.item_comparisons import labelled, runs_to_compare
from analysis.report.build import all_sentences
from analysis.report.verdict.first_screen import verdict_of
from judging.models import JudgeRun
from studies.models import Membership
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import computed, report_of
from tests.factories import make_item, make_study, stored_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """A whole run that is often wrong, and try-outs of a few items that are always right."""
    study = make_study()
    whole, tried, none = (
        make_run(study=study, judge=name, features=features)
        for name, features in (("whole", "all"), ("tried", "all"), ("tried", "none"))
    )
    raters = [make_rater(study=study) for _ in range(3)]
    with stored_at_once():
        for number in range(60):
            item = make_item(study=study, key=f"i{number:03}", first_person="r1")
            for rater in raters:
                answer(rater, item, "r1" if (number + rater.pk) % 4 else "r2", 70)
            judge_item(whole, item, "r1" if number % 3 else "r2", 70)
            if number < 12:
                judge_item(tried, item, "r1", 70)
                judge_item(none, item, "r1", 70)
    return study


@pytest.mark.nightly
def test_a_try_out_does_not_take_the_first_screen(study):
    report = report_of(study)

    competes = {(one["judge"], one["features"]): one["competes"] for one in report["judges"]}
    assert competes == {
        ("whole", "all"): True,
        ("tried", "all"): False,
        ("tried", "none"): True,
    }
    assert report["headline"]["judge"] == "whole"
    verdict = verdict_of(report)
    assert "whole was right" in verdict.answer.sentence
    assert [line.name for line in verdict.chart.lines] == ["whole"]
    missing = [str(one.text) for one in all_sentences(report, "missing")]
    assert (
        "tried (whole persona) has answered 12 items (of 60), others up to 60, so the answer of "
        "the first screen leaves it out." in missing
    )


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(("answered", "competes"), [(53, False), (54, True), (60, True)])
def test_a_run_competes_from_nine_tenths_of_the_items(answered, competes):
    study = make_study()
    whole, other = make_run(study=study, judge="whole"), make_run(study=study, judge="other")
    with stored_at_once():
        for number in range(60):
            item = make_item(study=study, first_person="r1")
            judge_item(whole, item, "r1", 70)
            if number < answered:
                judge_item(other, item, "r1", 70)
            else:
                judge_item(other, item, state="pending", replies=0)

    judges = computed(study, "accuracies")["judges"]

    found = {one["judge"]: one["competes"] for one in judges}
    assert found == {"whole": True, "other": competes}


@pytest.mark.nightly
def test_a_run_can_be_left_out_and_taken_back_by_command(study, capsys):
    run = JudgeRun.objects.get(judge__name="whole")

    call_command("leave_out", study.slug, "--run", run.public_id)

    report = report_of(study)
    assert {one["judge"] for one in report["judges"]} == {"tried"}
    assert report["inputs"]["runs_left_out"] == 1
    missing = [str(one.text) for one in all_sentences(report, "missing")]
    assert "1 run is marked as not for the report and left out." in missing
    assert study.log.filter(event="judge run not for the report").count() == 1

    call_command("leave_out", study.slug, "--run", run.key, "--undo")

    run.refresh_from_db()
    assert run.in_report
    assert capsys.readouterr().out.splitlines() == [
        f"Reports leave out run {run.public_id} of whole.",
        f"Reports use run {run.public_id} of whole.",
    ]
    with pytest.raises(CommandError, match="has no run “nothing”"):
        call_command("leave_out", study.slug, "--run", "nothing")
    with pytest.raises(CommandError, match="--reason is for an item"):
        call_command("leave_out", study.slug, "--run", run.key, "--reason", "x")


def test_a_run_can_be_left_out_on_its_page(study, client, django_user_model):
    user = django_user_model.objects.create_user("ada")
    Membership.objects.create(user=user, study=study, role=Membership.Role.EDITOR)
    client.force_login(user)
    run = JudgeRun.objects.get(judge__name="whole")
    page = reverse("judging:run", args=[study.slug, run.public_id])

    client.post(reverse("judging:run", args=[study.slug, run.public_id]), {"action": "leave_out"})

    text = client.get(page).content.decode()
    assert "<strong>Not for the report</strong>" in text
    client.post(reverse("judging:run", args=[study.slug, run.public_id]), {"action": "take_back"})
    run.refresh_from_db()
    assert run.in_report


def test_names_of_runs_are_distinct_and_say_only_what_differs():
    study = make_study()
    make_run(study=study, judge="alone")
    make_run(study=study, judge="two", orders="both")
    make_run(study=study, judge="two", samples=3)
    for setting in ("certainty", "tie"):
        make_run(study=study, judge="settings", setting=setting)
    for _ in range(2):
        make_run(study=study, judge="alike")

    found = labelled(runs_to_compare(study))

    labels = [label for _, label in found]
    assert len(set(labels)) == 7
    assert sorted(labels)[2:] == [
        "alone",
        "settings: certainty",
        "settings: tie",
        "two: both orders, 1 sample",
        "two: random order, 3 samples",
    ]
    alike = {run.public_id[:6] for run, _ in found if run.judge.name == "alike"}
    assert {label.removeprefix("alike: ") for label in sorted(labels)[:2]} == alike
