"""Studies whose third answer is “Either could be right”: their part of the report."""

import pytest

from analysis.report.build import all_sentences
from studies.models import Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


@stored_at_once()
def either_study(**overrides):
    """People find both possible half of the time. Two judges answer alike but when forced."""
    study = make_study(**{"allow_tie": True, "tie_meaning": Study.TieMeaning.EITHER, **overrides})
    raters = [make_rater(study=study) for _ in range(15)]
    personas = [make_persona(study=study) for _ in range(10)]
    runs = [
        (make_run(study=study, judge=name, setting="tie"), make_run(study=study, judge=name))
        for name in ("one", "other")
    ]
    for n in range(60):
        item = make_item(study=study, persona=personas[n % 10], key=f"i{n:02}")
        for k in range(4):
            answer(raters[(n * 3 + k * 4) % 15], item, "r1" if k < 2 else "tie")
        said = ("r1", "tie", "tie")[n % 3]
        for (sets, forced), when_either in zip(runs, ("r1", "r2"), strict=True):
            judge_item(sets, item, said)
            judge_item(forced, item, when_either if said == "tie" else said, 70)
    return study


@pytest.mark.nightly
def test_judges_with_equal_sets_tie_on_them_and_differ_when_forced():
    report = report_of(either_study())

    found = report["response_sets"]
    one, other = sorted(found["judges"], key=lambda each: each["judge"])
    assert (found["answers"], found["either"]) == (240, 120)
    assert one["sets"]["value"] == other["sets"]["value"]
    assert (one["sets"]["place"], other["sets"]["place"]) == (1, 1)
    assert (one["forced"]["place"], other["forced"]["place"]) == (1, 2)
    # By hand: vectors (1, .5) of people with 4 answers, (1, 0) and (1, 1) of the judge.
    assert one["sets"]["value"] == pytest.approx((0.5**2 - 0.25 / 3) / 2)
    assert one["matrix"]["either"] == {"n": 40, "r1": 1.0}
    assert one["rebuilt"]["value"] == pytest.approx(one["forced"]["value"])
    assert not found["same_order"]
    said = [str(each.text) for each in all_sentences(report, "finding")]
    assert any("rank the judges differently" in words for words in said)
    assert not faults({"response_sets": found})


def test_a_study_that_offers_no_clear_difference_has_no_sets():
    meant = report_of(either_study(tie_meaning=Study.TieMeaning.DIFFERENCE))

    assert "response_sets" not in meant
