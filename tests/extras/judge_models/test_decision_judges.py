"""Judges of decision endpoints on pages, and the studies that get the extra for their runs."""

import re

import pytest

from judging.models import Judge
from studies.models import Study
from tests.analysis.builders import make_run
from tests.factories import make_study
from tests.judging.conftest import make_judge
from tests.judging.judge_pages.conftest import admin, study  # noqa: F401
from tests.judging.judge_pages.pages import ADD, ADDRESS, page_of, submit, words
from tests.judging.run_helpers import start
from tests.moved import update_from_before

pytestmark = pytest.mark.django_db


def test_a_decision_endpoint_is_added_with_its_format_which_can_change_later(admin, study):  # noqa: F811
    submit(admin, backend="decisions", wire="systemone")

    judge = Judge.objects.get()
    assert (judge.backend, judge.model_options) == ("decisions", {"wire": "systemone"})
    assert (judge.probabilities, judge.temperature) == ("only", 0)
    assert "Format of requests systemone" in words(admin.get(page_of(judge)))
    start(study, judge)
    changed = submit(admin, page_of(judge, "change-judge"), base_url=ADDRESS, wire="openai")
    judge.refresh_from_db()
    assert (changed.status_code, judge.model_options) == (302, {"wire": "openai"})


def test_a_format_without_a_decision_endpoint_is_refused_at_its_field(admin):  # noqa: F811
    response = submit(admin, wire="openai")

    assert response.status_code == 422
    assert "“Format of requests”: the backend openai has no option" in words(response)
    assert not Judge.objects.exists()


def test_a_study_without_the_extra_gets_it_with_a_run(admin, study):  # noqa: F811
    Study.objects.update(extras=[])

    assert 'value="decisions"' not in admin.get(f"{ADD}?preset=openai").text
    form = admin.get(f"{ADD}?preset=openai-decisions").text
    assert re.search(r'value="decisions" selected', form)
    judge = make_judge(backend="decisions", base_url=ADDRESS, model_options={"wire": "openai"})
    start(Study.objects.get(), judge)

    assert Study.objects.get().extras == ["judge_models"]


@pytest.mark.django_db(transaction=True)
def test_studies_of_an_earlier_version_with_runs_of_such_judges_get_it():
    asked, plain = (make_study(slug=slug, extras=[]) for slug in ("asked", "plain"))
    make_run(study=asked, judge="decides")
    make_run(study=plain, judge="writes")
    Judge.objects.filter(name="decides").update(backend="decisions", probabilities="only")

    update_from_before("judge_models", "0001_decisions")

    assert dict(Study.objects.values_list("slug", "extras")) == {
        "asked": ["judge_models"],
        "plain": [],
    }
