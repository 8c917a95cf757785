"""The pages of changed personas and of profile texts, in a real browser."""

import pytest
from django.contrib.auth.models import User

from extras.personas.drafting import request_drafts
from extras.personas.models import ProfileDraft
from studies.models import Study
from tests.browser.conftest import is_well_in_both_themes
from tests.factories import make_item, make_items, make_persona, make_study
from tests.judging.conftest import make_judge

pytestmark = [
    pytest.mark.sampled(keep=1, group="personas in browser"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]

TEXT = "Wants short answers with a plan, and turns down those that praise before they help."


@pytest.mark.nightly
def test_texts_are_requested_and_reviewed(signed_in):
    ada = User.objects.create_superuser("ada")
    study = make_study(slug="past", state="draft", title="What they chose before")
    for n in range(2):
        past = [{"prompt": f"Question {n}?", "chosen": f"Short {n}.", "rejected": f"Long {n}."}]
        persona = make_persona(study=study, key=f"p{n}", history=past)
        make_item(study=study, key=f"i{n}", persona=persona)
    judge = make_judge(base_url="http://127.0.0.1:9/v1")
    page = signed_in()
    page.goto("/studies/past/judges/", wait_until="networkidle")
    page.get_by_role("link", name="Profile texts").click()
    page.get_by_role("heading", name="Request texts").wait_for()
    is_well_in_both_themes(page)

    job = request_drafts(study_id=study.pk, judge=judge, budget=None, user=ada)
    page.reload()
    page.get_by_role("progressbar").wait_for()
    is_well_in_both_themes(page)

    job.drafts.update(state=ProfileDraft.State.WRITTEN, text=TEXT, reply=TEXT, model="mock-2024")
    type(job).objects.update(state="done", message="2 texts await your review.")
    page.goto("/studies/past/judges/profiles/", wait_until="networkidle")
    page.get_by_text("1 earlier choice").first.click()
    is_well_in_both_themes(page)
    page.get_by_label("Text by judge about p0").fill(f"{TEXT} Likes lists.")
    page.get_by_role("button", name="Accept the text about p0").click()
    page.get_by_text("Persona p0 now has this text.").wait_for()
    page.get_by_role("button", name="Reject the text about p1").click()
    page.get_by_text("Persona p1 is unchanged.").wait_for()
    is_well_in_both_themes(page)


@pytest.mark.nightly
def test_changed_personas_are_well_with_a_preview_and_with_an_error(signed_in):
    User.objects.create_superuser("ada", password="a good long secret")
    page = signed_in()
    study = make_study(slug="one")
    for age in ("young", "old"):
        fact = {"key": "age", "label": "Age", "value": age, "text": f"The person is {age}."}
        make_items(study, 2, persona=make_persona(study=study, features=[fact]))
    address = "/studies/one/changed-personas/"
    page.goto(address, wait_until="networkidle")
    is_well_in_both_themes(page)

    page.get_by_role("button", name="Show three items").click()
    page.get_by_role("heading", name="There is a problem").wait_for()
    is_well_in_both_themes(page)
    page.get_by_label("Age (3 values)").check()
    page.get_by_role("button", name="Show three items").click()
    page.get_by_role("heading", name="What the new study has").wait_for()
    is_well_in_both_themes(page)
    page.get_by_role("button", name="Create study").click()
    page.wait_for_url("**/studies/one-changed/")

    assert Study.objects.filter(slug="one-changed").exists()


@pytest.mark.nightly
def test_other_personas_are_well_with_a_preview_and_with_an_error(signed_in):
    User.objects.create_superuser("ada", password="a good long secret")
    page = signed_in()
    study = make_study(slug="one")
    for age in ("young", "old"):
        fact = {"key": "age", "label": "Age", "value": age, "text": f"The person is {age}."}
        make_items(study, 2, persona=make_persona(study=study, features=[fact]))
    page.goto("/studies/one/other-personas/", wait_until="networkidle")
    is_well_in_both_themes(page)

    page.get_by_label("Number of items").fill("")
    page.get_by_role("button", name="Show three items").click()
    page.get_by_role("heading", name="There is a problem").wait_for()
    is_well_in_both_themes(page)
    page.get_by_label("Number of items").fill("4")
    page.get_by_role("button", name="Show three items").click()
    page.get_by_role("heading", name="What the new study has").wait_for()
    is_well_in_both_themes(page)
    page.get_by_role("button", name="Create study").click()
    page.wait_for_url("**/studies/one-others/")

    assert Study.objects.filter(slug="one-others").exists()
