"""The certified threshold of a report: who is drawn, what is promised, what a reader sees."""

import pytest
from scipy.stats import binom

from analysis.report.build import all_figures, all_tables
from tests.analysis.builders import judge_item, make_run, random_study
from tests.analysis.partial import computed, report_of
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


@stored_at_once()
def study_of(n, *, right, certainty, personas=None, runs=1, question="Question {}?"):
    """A study whose runs are right on the items that `right` accepts."""
    study = make_study()
    owners = [make_persona(study=study) for _ in range(personas or n)]
    judged = [make_run(study=study, judge=f"judge {number}") for number in range(runs)]
    for number in range(n):
        item = make_item(
            study=study,
            persona=owners[number % len(owners)],
            question=question.format(number),
        )
        for run in judged:
            judge_item(run, item, "r1" if right(number) else "r2", certainty(number))
    return study


def certified(study, **options):
    return computed(study, "certified", bootstrap=50, **options)["selective"]


def test_certain_answers_that_are_right_are_certified_and_the_page_says_so():
    study = study_of(
        120, right=lambda n: n < 60 or n % 2 == 0, certainty=lambda n: 90 if n < 60 else 60
    )

    report = report_of(study)
    (found,) = report["selective"]

    assert (found["target"], found["threshold"], found["coverage"]) == (0.8, 61.0, 0.5)
    assert (found["correct"], found["n"], found["accuracy"]) == (60, 60, 1.0)
    assert "at least 80% of the answers with certainty 61 or more are right" in found["guarantee"]
    last = found["certificate"]["tested"][-1]
    assert (last["threshold"], last["n"], last["errors"]) == (60.0, 120, 30)
    assert last["p"] == pytest.approx(binom.cdf(30, 120, 0.2))
    (row,) = all_tables(report)["certified"].rows
    assert row[1:3] == ["61", 0.5]
    pytest.importorskip("extras.certainty")  # draws accuracy by coverage
    figure = all_figures(report)["risk_coverage"]
    assert "Certified: " in figure.panels[0].alt
    assert "Stars are at a certified one" in str(figure.caption)
    assert figure.panels[0].drawing["data"][-1]["marker"]["symbol"] == "star"


def test_items_of_few_personas_are_not_counted_as_independent():
    study = study_of(120, right=lambda n: True, certainty=lambda n: 90, personas=5)

    report = report_of(study)
    (found,) = report["selective"]

    assert found["certificate"]["items"] == 5
    assert (found["threshold"], found["threshold_reason"]) == (None, "too_few_items")
    assert (found["coverage"], found["guarantee"]) == (0.0, "none")
    assert all_tables(report)["certified"].rows[0][-1] == "too few items"
    pytest.importorskip("extras.certainty")  # draws accuracy by coverage
    figure = all_figures(report)["risk_coverage"]
    assert "No threshold is certified." in figure.panels[0].alt


def test_more_runs_share_the_chance_of_a_wrong_certificate():
    study = study_of(40, right=lambda n: n > 3, certainty=lambda n: 90, runs=1)
    several = study_of(40, right=lambda n: n > 3, certainty=lambda n: 90, runs=10)

    (alone,) = certified(study)
    among = certified(several)

    assert alone["threshold"] == 50.0
    assert {entry["guarantee_reason"] for entry in among} == {"not_certified"}
    assert {entry["certificate"]["judges"] for entry in among} == {10}


def test_another_threshold_of_the_reader_changes_no_certificate():
    study = random_study(5, n_items=60)

    own, explored = certified(study), certified(study, threshold=60)

    for ours, theirs in zip(own, explored, strict=True):
        assert ours["certificate"] == theirs["certificate"]
        assert (ours["uncertified"]["threshold"], theirs["uncertified"]["threshold"]) == (80, 60)


def test_items_without_a_question_share_none():
    certain = {"right": lambda n: True, "certainty": lambda n: 90}

    (without,) = certified(study_of(40, **certain, question=""))
    (same,) = certified(study_of(40, **certain, question="Which?"))

    assert (without["certificate"]["items"], without["threshold"]) == (40, 50.0)
    assert (same["certificate"]["items"], same["threshold"]) == (1, None)
