"""The judges' pages in a real browser: they fit, read well by axe's rules, and show the cost."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from judging.models import Attempt, JudgeRun, Judgment
from judging.runs.campaigns import CampaignPlan, start_campaign
from judging.worker.chunks import AFTER_PROBE
from tests.browser.conftest import PHONE, fits_and_reads_well, is_well_in_both_themes
from tests.factories import make_item, make_persona, make_study
from tests.judging.conftest import make_judge

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def campaign():
    """A sweep under way, with a budget, failures, and a model that changed."""
    User.objects.create_superuser("ada", password="a good long secret")
    study = make_study(slug="one", title="Everyday choices", is_simulated=True)
    features = [
        {"key": key, "label": key, "value": "x", "text": f"{key} x"}
        for key in ("age", "education", "residence_country")
    ]
    make_item(study=study, persona=make_persona(study=study, features=features))
    for name in ("a-judge", "b-judge"):
        make_judge(name=name, base_url="http://127.0.0.1:9/v1", price_input=2, price_output=10)
    plan = CampaignPlan(
        name="Which features matter",
        judges=["a-judge", "b-judge"],
        budget="5",
        settings=["certainty"],
        features=["all", "leave-one-out"],
        juries={"panel": ["a-judge", "b-judge"]},
    )
    campaign = start_campaign(study_id=study.pk, plan=plan, enqueue=False)
    run = campaign.runs.earliest("pk")
    judgment = run.judgments.earliest("pk")
    for number, outcome in enumerate(["lost", "rate_limited", "replied"], start=1):
        Attempt.objects.create(
            judgment=judgment,
            number=number,
            outcome=outcome,
            sent_at=timezone.now(),
            latency_ms=1200,
            text="[[A]] [[80]], " * 20,
        )
    Judgment.objects.filter(pk=judgment.pk).update(
        state="done", choice="r1", certainty=80, raw_text="[[A]] [[80]], " * 20, replies=1
    )
    for number, asked in enumerate(run.judgments.all(), start=1):
        Judgment.objects.filter(pk=asked.pk).update(
            model_snapshot="a-model-2026-05-04", fingerprint=f"fp_{number}" * 4
        )
    return campaign


@pytest.mark.nightly
def test_judges_pages_fit_and_pass_axe(signed_in, campaign):
    page = signed_in(viewport=PHONE)
    new = reverse("judging:new", args=["one"])

    for path in (
        f"{new}?like={campaign.public_id}",
        reverse("judging:add-judge", args=["one"]),
        reverse("judging:campaign", args=["one", campaign.public_id]),
        reverse("judging:run", args=["one", campaign.runs.earliest("pk").public_id]),
    ):
        page.goto(path, wait_until="networkidle")
        for summary in page.locator("main details.panel > summary").all():
            summary.click()
        is_well_in_both_themes(page)

    page.goto(new, wait_until="networkidle")
    for box in page.locator("main input[type=radio], main input[type=checkbox]").all():
        words = box.locator("xpath=following-sibling::span")
        assert words.bounding_box()["x"] - box.bounding_box()["x"] < 40  # beside their box
    page.get_by_label("a-judge").check()
    page.get_by_role("button", name="Estimate cost").click()
    page.get_by_role("heading", name="Estimate").wait_for()
    is_well_in_both_themes(page)


@pytest.fixture
def probed(campaign):
    """The campaign after its probes: one reply came, one did not."""
    first, second = campaign.runs.order_by("pk")[:2]
    campaign.runs.exclude(pk=first.pk).exclude(pk=second.pk).update(state="done", sentence="Done.")
    waits = {"state": "paused", "probe_first": True, "tokens": 110, "spent_nano": 2_000_000}
    JudgeRun.objects.filter(pk=first.pk).update(**waits, sentence=AFTER_PROBE)
    JudgeRun.objects.filter(pk=second.pk).update(
        state="stopped_outage", probe_first=True, sentence="The server refuses the key."
    )
    return campaign


@pytest.mark.nightly
def test_probes_lists_and_growth_fit_and_pass_axe(signed_in, probed):
    page = signed_in(viewport=PHONE)
    run, done = probed.runs.earliest("pk"), probed.runs.latest("pk")

    for name, arguments, words in (
        ("campaign", [probed.public_id], "Starting the runs sends"),
        ("run", [run.public_id], "certainty 80"),
        ("list", [], "Waiting to start"),
    ):
        page.goto(reverse(f"judging:{name}", args=["one", *arguments]), wait_until="networkidle")
        assert words in page.inner_text("main")
        for details in page.locator("main details.panel").all():
            if details.get_attribute("open") is None:
                details.locator("> summary").click()
        fits_and_reads_well(page)

    page.goto(reverse("judging:extend", args=["one", done.public_id]))
    page.get_by_label("Samples").fill("3")
    page.get_by_role("button", name="Estimate cost").click()
    page.get_by_role("heading", name="Estimate").wait_for()
    fits_and_reads_well(page)


def test_runs_are_filtered_and_sorted_by_keyboard_and_the_address_keeps_it(signed_in, probed):
    page = signed_in()
    page.goto(reverse("judging:list", args=["one"]))

    page.get_by_label("Judge name").fill("b-j")
    page.keyboard.press("Enter")
    page.wait_for_url("**search=b-j**")
    page.get_by_role("link", name="Tokens").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**sort=tokens**")

    assert page.get_by_role("columnheader", name="Tokens").get_attribute("aria-sort") == "ascending"
    assert "search=b-j" in page.url
    assert set(page.locator("tbody th a").all_inner_texts()) == {"b-judge"}
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    assert len(download.value.path().read_text().splitlines()) == 1 + 4


@pytest.mark.nightly
def test_a_probe_stays_open_while_the_page_is_fetched_again_and_is_refused_by_keyboard(
    signed_in, probed
):
    page = signed_in()
    page.goto(reverse("judging:campaign", args=["one", probed.public_id]))
    second = page.locator("details.panel").nth(1)
    second.locator("summary").focus()
    page.keyboard.press("Enter")
    JudgeRun.objects.filter(pk=probed.runs.latest("pk").pk).update(tokens=7777)
    page.get_by_role("cell", name="7,777").wait_for()
    assert second.get_attribute("open") is not None

    page.locator("#probe-heading").locator("xpath=ancestor::section").get_by_role(
        "button", name="Discard runs"
    ).focus()
    page.keyboard.press("Enter")
    page.get_by_text("Not started after its probe").first.wait_for()
    assert page.locator("#probe-heading").count() == 0
