"""The page of debates in a real browser: the cost first, then the arguments, then a study."""

import pytest
from django.contrib.auth.models import User

from extras.advice.arguing import run_job
from extras.advice.models import ArgumentJob
from studies.models import Study
from tests.browser.conftest import is_well_in_both_themes
from tests.extras.advice.test_debates import argument, study_of
from tests.judging.conftest import make_judge

pytestmark = [
    pytest.mark.sampled(keep=1, group="advice in browser"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.mark.sampled(keep=0)  # With --all: test_debates presses the same buttons without one.
def test_arguments_are_written_and_become_a_study(signed_in, llm, engine):
    User.objects.create_superuser("ada", password="a good long secret")
    study_of(6)
    llm.answer = argument
    make_judge(base_url=llm.url, price_input=1, price_output=1)
    page = signed_in()
    page.goto("/studies/meals/items/", wait_until="networkidle")
    page.get_by_role("link", name="Debates").click()
    page.get_by_label("Model that argues").select_option("judge")
    page.get_by_label("Rounds").fill("1")
    page.get_by_role("button", name="Show the cost").click()
    page.get_by_text("18 arguments about 6 items").wait_for()
    is_well_in_both_themes(page)

    page.get_by_role("button", name="Start").click()
    page.get_by_role("progressbar").wait_for()
    run_job(job_id=ArgumentJob.objects.get().pk)
    page.goto("/studies/meals/debates/", wait_until="networkidle")
    page.get_by_text("i0: Two AI models debate").click()
    page.get_by_text("Speaker 1 argues for the response that begins").first.wait_for()
    is_well_in_both_themes(page)

    page.get_by_role("button", name="Create study with 6 items").click()
    page.get_by_text("The new study is a draft with every item in each arm.").wait_for()
    assert Study.objects.get(slug="meals-debates").source["advice_arms"]["items"] == 6
