"""The chapter on a survey's shares: distances and agreement by hand."""

from typing import Any

import pytest

from analysis.report.build import all_tables
from studies.models import Item
from tests.analysis.builders import judge_item, make_run
from tests.analysis.partial import report_of
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db
ODD: tuple[dict[str, Any], ...] = (
    {},
    {"survey_shares": {"r1": 0, "r2": 0}},
    {"survey_shares": {"r1": "many", "r2": 0.5}},
    {"survey_shares": {"r1": -0.5, "r2": 0.5}},
    {"survey_shares": {"r1": True, "r2": 0.5}},
    {"survey_shares": [0.5, 0.5]},
)


@pytest.fixture
@stored_at_once()
def study():
    """40 questions to people of 20 countries.

    Response 1 has 80 % of the answers to half of them, and 30 of 40 to the others.

    The judge takes response 1 at all but four, of which it has no answer to two, and ties at two.
    Further items have no shares that can be read.
    """
    study = make_study(task="survey_answer", extras=["methods"])
    run = make_run(study=study, setting="tie")
    people = [make_persona(study=study) for _ in range(20)]
    for n in range(40):
        shares = {"r1": 0.8, "r2": 0.2} if n < 20 else {"r1": 30, "r2": 10}
        item = make_item(
            study=study,
            key=f"i{n:02}",
            task="survey_answer",
            persona=people[n % 20],
            question=f"Question {n}?",
            first_person="",
            metadata={"survey_shares": shares},
        )
        if n < 38:
            judge_item(run, item, "tie" if n < 2 else "r1", None)
    for n, metadata in enumerate(ODD):
        item = make_item(study=study, key=f"odd{n}", task="survey_answer", metadata=metadata)
        judge_item(run, item, "r1", None)
    return study


def test_a_judge_is_next_to_the_shares_of_the_survey(study):
    report = report_of(study)

    entry = report["survey_shares"]
    assert entry["items"] == 40
    assert entry["even"]["value"] == pytest.approx((0.3**2 + 0.25**2) / 2)
    [judge] = entry["judges"]
    [row] = judge["distances"]
    assert (row["source"], row["items"]) == ("answer", 38)
    squared = (2 * 0.3**2 + 18 * 0.2**2 + 18 * 0.25**2) / 38
    assert row["squared"]["value"] == pytest.approx(squared)
    low, high = row["squared"]["ci"]
    assert low < squared < high
    agreement = (2 * 0.5 + 18 * 0.8 + 18 * 0.75) / 38
    assert row["agreement"]["value"] == pytest.approx(agreement)
    assert row["most"]["value"] == pytest.approx((20 * 0.8 + 18 * 0.75) / 38)
    assert not faults({"survey_shares": entry})
    rows = all_tables(report)["survey_shares"].rows
    assert [row[:3] for row in rows] == [
        ["Even shares", "–", 40],
        ["steady", "its answer alone", 38],
    ]


def test_without_shares_there_is_no_chapter(study):
    Item.objects.filter(study=study).update(metadata={})

    assert "survey_shares" not in report_of(study)
