"""Juries in the report: one vote a judge, shared maximum no answer, certainty of the winners."""

import numpy as np
import pytest

from analysis.data.dataset import load_dataset
from analysis.data.verdicts import run_verdicts
from judging.models import Judge, Jury
from tests.analysis.builders import judge_item, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study()


def make_jury(study, *names):
    jury = Jury.objects.create(study=study, name="panel")
    jury.judges.set(Judge.objects.filter(name__in=names))
    return jury


def jury_of(study):
    data = load_dataset(study.slug)
    (run,) = [run for run in data.runs if run.backend == "jury"]
    return data, run, run_verdicts(data, run)


def test_the_majority_of_the_judges_decides_with_the_certainty_of_the_winners(study):
    item = make_item(study=study, first_person="r1")
    for name, choice, certainty in (("a", "r1", 90), ("b", "r1", 60), ("c", "r2", 100)):
        judge_item(make_run(study=study, judge=name), item, choice, certainty)
    make_jury(study, "a", "b", "c")

    _, run, verdicts = jury_of(study)

    assert (run.judge, run.state) == ("panel", "done")
    assert (verdicts.answer.tolist(), verdicts.certainty.tolist()) == ([0], [75.0])
    assert (run.cost.requests, run.cost.usd) == (3, pytest.approx(0.003))


def test_a_judge_has_one_vote_however_often_it_was_read(study):
    item = make_item(study=study)
    for name, choices in (
        ("a", ("r1", "r1", "r1")),
        ("b", ("r2", "r2", "r1")),
        ("c", ("r2", "r2", "r1")),
    ):
        run = make_run(study=study, judge=name, samples=3)
        for sample, choice in enumerate(choices, start=1):
            judge_item(run, item, choice, 50, sample=sample)
    make_jury(study, "a", "b", "c")

    _, _, verdicts = jury_of(study)

    # By readings response 1 leads 5 to 4; by judges response 2 leads 2 to 1.
    assert verdicts.answer.tolist() == [1]


def test_split_juries_and_judges_decide_nothing_and_failures_keep_their_reason(study):
    split, torn, failed = (make_item(study=study, key=key) for key in ("a", "b", "c"))
    one, two = (make_run(study=study, judge=name, orders="both") for name in ("one", "two"))
    judge_item(one, split, "r1", 50)
    judge_item(two, split, "r2", 50)
    judge_item(one, torn, "r1", 50)
    judge_item(one, torn, "r2", 50, shown_first="r2")
    judge_item(two, torn, "r2", 80)
    judge_item(one, failed, state="refused")
    judge_item(two, failed, state="unparseable")
    make_jury(study, "one", "two")

    _, _, verdicts = jury_of(study)

    assert verdicts.answer.tolist() == [-1, 1, -1]
    assert verdicts.certainty[1] == 80  # the one who was torn abstains
    assert np.isnan(verdicts.certainty[[0, 2]]).all()
    assert (verdicts.excluded["tie"], verdicts.excluded["refused"]) == (1, 1)


@pytest.mark.parametrize("other", [{"setting": "tie"}, {"features": "none"}, {"orders": "both"}])
def test_judges_that_were_not_asked_alike_are_no_jury(study, other):
    item = make_item(study=study)
    judge_item(make_run(study=study, judge="a"), item, "r1", 50)
    judge_item(make_run(study=study, judge="b", **other), item, "r1")
    make_jury(study, "a", "b")

    runs = load_dataset(study.slug).runs

    assert [run.backend for run in runs] == ["openai", "openai"]


def test_a_jury_stands_in_the_report_like_any_judge(study):
    for truth in ("r1", "r1", "r2", "r2"):
        make_item(study=study, first_person=truth)
    runs = [make_run(study=study, judge=name) for name in ("x", "y")]
    for item in study.all_items.all():
        for run in runs:
            judge_item(run, item, item.first_person, 90)
    make_jury(study, "x", "y")

    report = report_of(study)

    (entry,) = [entry for entry in report["judges"] if entry["judge"] == "panel"]
    assert (entry["accuracy"], entry["n"], entry["excluded"]["tie"]) == (1.0, 4, 0)
    assert entry["record"]["parameters"]["judges"] == ["x", "y"]
    assert entry["high"]["n"] == 4


def test_a_jury_of_judges_that_are_all_torn_is_reported_without_an_answer(study):
    item = make_item(study=study, first_person="r1")
    for name in ("a", "b"):
        run = make_run(study=study, judge=name, orders="both")
        judge_item(run, item, "r1", 60)
        judge_item(run, item, "r2", 60, shown_first="r2")
    make_jury(study, "a", "b")

    report = report_of(study)

    (entry,) = [entry for entry in report["judges"] if entry["judge"] == "panel"]
    assert (entry["n"], entry["accuracy"], entry["accuracy_reason"]) == (0, None, "empty_group")
