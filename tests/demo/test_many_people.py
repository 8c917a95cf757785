"""The demo's larger study: its items and its judges are as the documentation says."""

import pytest

from demo.many_people import AGAIN, DRIFTED, SURE, item_rows, judgment_rows

pytestmark = pytest.mark.slow


def test_no_two_items_share_a_person_or_a_question():
    rows = list(item_rows())

    assert len(rows) == 1_500
    assert len({row["question"] for row in rows}) == len({row["persona"]["id"] for row in rows})
    assert len({row["question"] for row in rows}) == 1_500


def test_the_drifted_judge_answers_every_fifth_item_the_other_way_round():
    keys = [row["id"] for row in item_rows()]

    sure, again, drifted = (
        [row["choice"] for row in judgment_rows(judge, keys)] for judge in (SURE, AGAIN, DRIFTED)
    )

    assert sure == again
    changed = sum(one != two for one, two in zip(sure, drifted, strict=True))
    assert changed / 1_500 == pytest.approx(0.2, abs=0.03)
