"""An owner decides in a real browser whether items may leave for a provider."""

import pytest
from django.contrib.auth.models import User

from judging.runs.judges import add_judge
from studies.models import Membership, Study
from tests.browser.conftest import PHONE, is_well_in_both_themes
from tests.factories import make_item, make_study

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.nightly
def test_an_owner_confirms_with_a_reason(signed_in):
    user = User.objects.create_superuser("ada", password="a good long secret")
    terms = {"redistribution": "forbidden", "licence": "Terms of a panel", "name": "Panel"}
    study = make_study(slug="one", title="Everyday choices", source=terms)
    Membership.objects.create(study=study, user=user, role="owner")
    make_item(study=study, key="i1")
    judge, _ = add_judge(name="away", model="m", base_url="https://gateway.example.com/v1")
    page = signed_in(viewport=PHONE)

    page.goto(f"/studies/one/judges/available/{judge.pk}/")
    is_well_in_both_themes(page)
    page.get_by_role("link", name="Items and providers").first.click()
    is_well_in_both_themes(page)
    page.get_by_label("Items may be sent to providers").check()
    page.get_by_role("button", name="Save decision").click()
    is_well_in_both_themes(page)
    page.get_by_label("Reason").fill("Approved by the data owner.")
    page.get_by_role("button", name="Save decision").click()
    page.get_by_text("The decision is saved and logged.").wait_for()
    is_well_in_both_themes(page)

    assert Study.objects.get().sharing["reason"] == "Approved by the data owner."
