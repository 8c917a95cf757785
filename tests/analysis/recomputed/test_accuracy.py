"""Accuracy, agreement and their intervals, computed again."""

import pytest
from django.utils import timezone

from analysis.stats import wilson_interval
from analysis.stats.comparison.paired import PairedCounts, tango_interval
from annotation.machine_signs import COUNTED
from annotation.models import Annotation, Annotator
from judging.models import Judgment
from tests.analysis import brute_force
from tests.analysis.partial import report_of
from tests.analysis.recomputed.comparing import (
    assert_agreement,
    assert_comparison,
    assert_judge,
    assert_people,
    close,
    ends,
    pair,
    undefined,
)

pytestmark = pytest.mark.django_db


@pytest.mark.nightly
def test_accuracy_agreement_and_comparison(study, report):
    expected = brute_force.report(study)

    assert_people(report["human"], expected)
    assert_agreement(report["human"]["agreement"], expected["agreement"])
    begun = {run.key for run in study.judge_runs.all() if Judgment.objects.filter(run=run).exists()}
    assert {judge["run"] for judge in report["judges"]} == begun
    for judge, versus in zip(report["judges"], report["comparison"], strict=True):
        assert_judge(judge, expected["judges"][judge["run"]])
        assert_comparison(versus, expected["judges"][judge["run"]])
    assert list(undefined(report)) == []


@pytest.mark.nightly
def test_closed_intervals(report, counted):
    """Wilson's of accuracy and agreement, and Tango's of the difference."""
    seen = 0
    for judge, versus in zip(report["judges"], report["comparison"], strict=True):
        said, own = counted.verdicts[judge["run"]], counted.judges[judge["run"]]
        right = sum(is_right for is_right, _ in own.values())
        both = [
            (said[key][0], people[0])
            for key, people in counted.majority.items()
            if people not in (None, "tied") and said[key] not in (None, "tied")
        ]
        alike = sum(one == other for one, other in both)
        assert close(versus["agreement_ci"], ends(wilson_interval(alike, len(both))))
        if not own:
            assert judge["ci"] is None
            continue
        assert close(judge["ci"], ends(wilson_interval(right, len(own))))
        common = [(own[key][0], counted.people[key][0]) for key in own if key in counted.people]
        only_judge = sum(a and not b for a, b in common)
        only_people = sum(b and not a for a, b in common)
        pairs = PairedCounts(b=only_judge, c=only_people, n=len(common))
        assert close(versus["difference"]["ci"], ends(tango_interval(pairs)))
        seen += 1
    assert seen == (0 if counted.study.all_items.filter(first_person="").count() == 40 else 3)


@pytest.mark.sampled(keep=1)
def test_accuracy_before_exclusions_is_that_of_everybody(study, report):
    people = Annotator.objects.filter(study=study)
    were_excluded = people.filter(excluded_at__isnull=False).exists()
    before = report["human"]["before_exclusions"]

    people.update(excluded_at=None)
    everybody = brute_force.report(study)

    for side in ("majority", "individual"):
        if were_excluded:
            expected = everybody[side]
            assert pair(before[side]) == pair(expected), side
        else:
            assert before[side] is None
            assert before[f"{side}_reason"] == "no_exclusions"


@pytest.mark.nightly
def test_accuracy_without_flagged_people_is_that_of_the_others(study):
    people = Annotator.objects.filter(study=study, excluded_at=None)
    before = report_of(study)["human"]
    flagged = people.filter(assignments__annotation__standing="counted").first()
    own = Annotation.objects.filter(assignment__annotator=flagged)
    own.update(signals=dict.fromkeys(COUNTED, 1))

    human = report_of(study)["human"]
    people.filter(pk=flagged.pk).update(excluded_at=timezone.now(), exclusion_reason="-")
    others = brute_force.report(study)

    assert before["without_flagged"]["majority_reason"] == "nobody_flagged"
    assert human["majority"] == before["majority"]
    assert human["without_flagged"]["flagged"] == 1
    for side in ("majority", "individual"):
        assert pair(human["without_flagged"][side]) == pair(others[side])


@pytest.mark.sampled(keep=1)
def test_what_was_left_out_is_counted(study, report):
    rows = Annotation.objects.filter(assignment__annotator__study=study)
    left_out = report["human"]["not_counted"]

    for standing in ("withdrawn", "released", "surplus"):
        assert left_out[standing] == sum(row.standing == standing for row in rows)
    excluded = [
        row
        for row in rows
        if row.standing == "counted" and row.assignment.annotator.excluded_at is not None
    ]
    assert left_out["excluded"] == len(excluded)
    assert report["human"]["answers"] + sum(
        left_out[key] for key in ("withdrawn", "released", "surplus", "excluded")
    ) == len(rows)
