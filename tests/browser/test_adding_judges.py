"""A judge on its way from a form to a run, in a real browser and without a command line."""

import re

import pytest
from django.contrib.auth.models import User

from judging.models import Judge, JudgeRun
from judging.tasks import judge_chunk
from judging.worker import runtime
from tests.browser.conftest import DESKTOP, PHONE, is_well_in_both_themes
from tests.factories import make_item, make_study
from tests.judging.llm_server import LlmServer, completion, error

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SECRET = "sk-browser-0123456789"


@pytest.fixture
def llm():
    server = LlmServer()
    server.answer = lambda body, n: completion("B]] [[61]]")
    yield server
    server.stop()
    runtime.shut_down()


@pytest.fixture
def queued(monkeypatch):
    """The tokens that pages handed to the workers."""
    tokens: list[int] = []
    monkeypatch.setattr("judging.tasks.queue_chunk", tokens.append)
    return tokens


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("viewport", "javascript"),
    [(DESKTOP, True), (PHONE, False)],
    ids=["desktop", "phone without JavaScript"],
)
def test_a_judge_is_added_tested_and_run(signed_in, llm, queued, viewport, javascript):
    User.objects.create_superuser("ada", password="a good long secret")
    study = make_study(slug="one", title="Everyday choices")
    for n in range(3):
        make_item(study=study, key=f"i{n}")
    page = signed_in(viewport=viewport, javascript=javascript)

    def look():
        if javascript:
            is_well_in_both_themes(page)

    page.goto(f"/studies/{study.slug}/judges/")
    look()
    page.get_by_role("link", name="Add a judge").first.click()
    look()
    page.get_by_role("link", name="vLLM", exact=True).click()
    page.get_by_label("Name", exact=True).fill("gpu")
    page.get_by_label("Address", exact=True).fill(llm.url)
    page.get_by_label("Address", exact=True).press("Enter")
    page.get_by_role("button", name="Use mock").click()
    look()
    assert page.get_by_label("Model", exact=True).input_value() == "mock"
    page.get_by_label("Enter a key here").check()
    page.get_by_label("Input price", exact=True).fill("10")
    page.get_by_label("Output price").fill("")
    page.get_by_role("button", name="Add without test").click()
    look()
    assert "Enter the key." in page.locator(".error-summary").inner_text()
    page.get_by_label("API key").fill(SECRET)
    page.get_by_label("Output price").fill("100")
    page.get_by_label("Enter a key here").check()
    page.get_by_role("button", name="Add without test").click()
    page.get_by_text("Judge “gpu” is added.").wait_for()
    look()

    llm.answer = lambda body, n: error(404, "There is no such model.", "model_not_found")
    page.get_by_role("button", name="Test connection").click()
    page.get_by_text("The server has no model “mock”").wait_for()
    look()
    llm.answer = lambda body, n: completion("B]] [[61]]")
    page.get_by_role("button", name="Test again").click()
    page.get_by_text("The judge works.").wait_for()
    assert "Response 2" in page.content() or "response 2" in page.content()
    look()

    page.get_by_role("link", name="New runs with this judge").click()
    look()
    assert page.get_by_label("gpu: mock").is_checked()
    page.get_by_role("button", name="Estimate cost").click()
    page.get_by_text("6 questions").first.wait_for()
    look()
    page.get_by_role("button", name="Send test question").click()
    page.wait_for_url(re.compile("/campaign/"))
    while queued:
        judge_chunk(queued.pop(0))
    page.reload()
    page.get_by_role("button", name="Start runs").click()
    page.wait_for_load_state()
    while queued:
        judge_chunk(queued.pop(0))
    run = JudgeRun.objects.get()
    assert run.state == "done"
    page.goto(f"/studies/{study.slug}/judges/{run.public_id}/")
    latest = page.locator("details", has_text="Last judgments")
    latest.locator("summary").click()
    assert (
        latest.get_by_text("response 2, certainty 61").count()
        + latest.get_by_text("response 1, certainty 61").count()
        == 6
    )
    look()
    page.goto(f"/studies/{study.slug}/judges/available/")
    look()

    assert {headers["authorization"] for headers in llm.headers} == {f"Bearer {SECRET}"}
    assert SECRET not in page.content()
    assert Judge.objects.get().sealed_key
