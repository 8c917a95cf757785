"""The chapter on criteria: verdicts by criterion, the judge's own as a whole, and the majority."""

from datetime import date

import pytest

from analysis.report.render import render_html
from analysis.stats.core.proportions import wilson_interval
from judging.models import Judgment
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.partial import report_of
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db
CRITERIA = [{"key": "warmth", "name": "Warmth"}, {"key": "length", "name": "<Length>"}]


@pytest.fixture
@stored_at_once()
def study():
    """40 items of 40 personas. People chose r1; the judge chose r1 at 30 of them.

    By warmth it chose r1 at 36, by length r2 wherever there is no tie.
    """
    study = make_study(criteria=CRITERIA)
    run = make_run(study=study, setting="criteria")
    rater = make_rater(study=study)
    for n in range(40):
        item = make_item(study=study, key=f"i{n:02}", persona=make_persona(study=study))
        answer(rater, item, "r1")
        given = {"warmth": "r1" if n < 36 else "r2", "length": "tie" if n % 4 == 0 else "r2"}
        judge_item(run, item, "r1" if n < 30 else "r2", None, details={"criteria": given})
    return study


def test_each_criterion_is_compared_with_the_whole_and_with_people(study):
    report = report_of(study)

    [judge] = report["criteria"]["judges"]
    warmth, length = judge["criteria"]
    assert (warmth["criterion"], warmth["n"], warmth["tie"]) == ("Warmth", 40, 0.0)
    assert (warmth["own"]["agree"], warmth["own"]["n"]) == (34, 40)
    assert (warmth["people"]["agree"], warmth["people"]["n"]) == (36, 40)
    assert (length["ties"], length["tie"]) == (10, 0.25)
    assert (length["own"]["agree"], length["own"]["n"]) == (8, 30)  # 2 of the last ten are ties
    assert (length["people"]["agree"], length["people"]["n"]) == (0, 30)
    assert not faults({"criteria": report["criteria"]})


def test_without_shared_personas_the_interval_is_close_to_that_of_independent_items(study):
    report = report_of(study)

    low, high = report["criteria"]["judges"][0]["criteria"][0]["own"]["ci"]
    wilson = wilson_interval(34, 40)
    assert wilson is not None
    assert (low, high) == pytest.approx((wilson.low, wilson.high), abs=0.02)


def test_the_page_shows_the_table_and_escapes_names(study):
    page = render_html(report_of(study), date=date(2026, 1, 2))

    assert "Verdicts by criterion" in page
    assert "&lt;Length&gt;" in page
    assert "<Length>" not in page
    # Both in the order of the study: that one is ahead of the other has no test.
    assert (
        "agrees with the majority of people on 90.0\u00a0% by “Warmth” (40 items) and 0.0\u00a0% "
        "by " in page
    )
    assert "most often" not in page


def test_split_readings_are_no_verdict(study):
    run = Judgment.objects.first().run
    item = Judgment.objects.order_by("item__key").first().item
    made = judge_item(run, item, "r1", None, shown_first="r2")
    given = {"warmth": "r2", "length": "tie"}
    Judgment.objects.filter(pk=made.pk).update(details={"criteria": given})

    warmth, length = report_of(study)["criteria"]["judges"][0]["criteria"]

    assert (warmth["n"], length["n"]) == (39, 40)


@pytest.mark.nightly
def test_other_studies_have_no_chapter():
    study = random_study(8, n_items=12, criteria=CRITERIA)

    report = report_of(study)

    assert "criteria" not in report
    assert '<section id="criteria"' not in render_html(report, date=date(2026, 1, 2))
