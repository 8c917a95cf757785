"""The pages on annotators who err as a judge does, in a real browser."""

import pytest

from extras.likeness.annotators import compare_queued
from extras.likeness.views import error_comparison_for
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.browser.conftest import is_well_in_both_themes
from tests.factories import make_item, make_study, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.nightly]


def test_the_list_and_the_part_of_an_annotators_page_are_well(signed_in):
    study = make_study(slug="one")
    sign_in(study, role="owner")
    item = make_item(study=study)
    answer(make_rater(study=study, pseudonym="P-1"), item, "r2")
    answer(make_rater(study=study), item, "r1")
    judge_item(make_run(study=study, features="all"), item, "r2", 70)
    compare_queued(comparison_id=error_comparison_for(study).pk)
    page = signed_in()

    for rest, words in [
        ("reports/annotators/", "none flagged"),
        ("people/annotator/?rater=P-1", "Errors on the items that both answered"),
    ]:
        page.goto(f"/studies/one/{rest}", wait_until="networkidle")
        page.get_by_text(words).wait_for()
        is_well_in_both_themes(page)
