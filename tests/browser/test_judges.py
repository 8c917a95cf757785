"""The judges' pages in a real browser: they fit, read well by axe's rules, and show the cost."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from judging.models import Attempt, Batch, Judgment
from judging.services.campaigns import Plan, start_campaign
from tests.browser.conftest import DESKTOP, PHONE, fits_and_reads_well
from tests.factories import make_item, make_persona, make_study
from tests.judging.conftest import make_judge

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def campaign():
    """A sweep under way, with a budget, failures, and a batch."""
    User.objects.create_superuser("ada", password="a good long secret")
    study = make_study(slug="one", title="Everyday choices", is_simulated=True)
    features = [
        {"key": key, "label": key, "value": "x", "text": f"{key} x"}
        for key in ("age", "education", "residence_country")
    ]
    make_item(study=study, persona=make_persona(study=study, features=features))
    for name in ("a-judge", "b-judge"):
        make_judge(name=name, base_url="http://127.0.0.1:9/v1", price_input=2, price_output=10)
    plan = Plan(
        name="Which features matter", judges=["a-judge", "b-judge"], budget="5",
        settings=["certainty"], features=["all", "leave-one-out"],
        juries={"panel": ["a-judge", "b-judge"]},
    )  # fmt: skip
    campaign = start_campaign(study_id=study.pk, plan=plan, enqueue=False)
    run = campaign.runs.earliest("pk")
    judgment = run.judgments.earliest("pk")
    for number, outcome in enumerate(["lost", "rate_limited", "replied"], start=1):
        Attempt.objects.create(
            judgment=judgment, number=number, outcome=outcome, sent_at=timezone.now(),
            latency_ms=1200, text="[[A]] [[80]], " * 20,
        )  # fmt: skip
    Judgment.objects.filter(pk=judgment.pk).update(
        state="done", choice="r1", certainty=80, raw_text="[[A]] [[80]], " * 20, replies=1
    )
    Batch.objects.create(
        run=run, state="submitted", provider_id="batch_" + "x" * 40, requests=1200,
        submitted_at=timezone.now(), sentence="In progress.",
    )  # fmt: skip
    return campaign


@pytest.mark.parametrize(
    ("viewport", "scheme"), [(PHONE, "dark"), (DESKTOP, "light")], ids=["phone", "desktop"]
)
def test_judges_pages_fit_and_pass_axe(signed_in, campaign, viewport, scheme):
    page = signed_in(viewport=viewport, color_scheme=scheme)
    new = reverse("judging:new", args=["one"])

    for path in (
        f"{new}?like={campaign.public_id}",
        reverse("judging:campaign", args=["one", campaign.public_id]),
        reverse("judging:run", args=["one", campaign.runs.earliest("pk").public_id]),
    ):
        page.goto(path, wait_until="networkidle")
        for summary in page.locator("main details.panel > summary").all():
            summary.click()
        fits_and_reads_well(page)

    page.goto(new, wait_until="networkidle")
    for box in page.locator("main input[type=radio], main input[type=checkbox]").all():
        words = box.locator("xpath=following-sibling::span")
        assert words.bounding_box()["x"] - box.bounding_box()["x"] < 40  # beside their box
    page.get_by_label("a-judge").check()
    page.get_by_role("button", name="Show what it will take").click()
    page.get_by_role("heading", name="What it will take").wait_for()
    fits_and_reads_well(page)
