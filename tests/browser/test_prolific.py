"""The whole recruiting life by clicking, on a simulated Prolific over real HTTP."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation import services
from annotation.models import ProlificStudy
from annotation.prolific.sync.sync import follow
from demo.prolific.server import SimulatedProlific
from studies.models import Item
from tests.annotation.prolific.conftest import prolific  # noqa: F401  a fixture
from tests.annotation.prolific.life import answer_some, arrive, finish, make_recruiting, with_quotas
from tests.browser.conftest import fits_and_reads_well
from tests.factories import answer_all

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def recruit(prolific: SimulatedProlific, row: ProlificStudy) -> None:  # noqa: F811
    """Thirty places with people who return, time out, or finish after they timed out."""
    came = 0
    while prolific.world.show_study(str(row.prolific_id))["status"] == "ACTIVE":
        person, annotator = arrive(prolific, row)
        came += 1
        if came in (3, 11):
            answer_some(annotator, 2)
            prolific.world.give_back(person["submission"])
            follow(study_id=row.study_id)
        elif came == 15:
            answer_all(annotator)
            services.complete(annotator_id=annotator.pk)
            prolific.world.time_out(person["submission"])
        else:
            finish(prolific, person, annotator)


@pytest.mark.nightly
def test_a_study_goes_from_draft_to_payday_by_clicking(prolific, signed_in):  # noqa: F811
    User.objects.create_superuser("ada")
    study = with_quotas(make_recruiting(items=30, per_person=3, slug="one"), each=5)
    page = signed_in()

    page.goto(reverse("people:prolific", args=["one"]))
    fits_and_reads_well(page)
    page.get_by_role("link", name="Edit launch plan").click()
    page.get_by_role("button", name="Use the paper’s settings").click()
    fits_and_reads_well(page)
    page.get_by_role("link", name="Add or remove other filters").click()
    page.get_by_label("Words in the name").fill("diet")
    page.get_by_role("button", name="Search filters").click()
    page.get_by_label("Vegan", exact=True).check()
    fits_and_reads_well(page)
    page.get_by_role("button", name="Add “Diet”").click()
    page.get_by_role("button", name="Remove Diet: Vegan").click()
    page.get_by_role("main").get_by_role("link", name="launch plan").click()
    page.get_by_role("button", name="Save launch plan").click()
    fits_and_reads_well(page)
    page.get_by_role("button", name="Start dry run").click()
    page.get_by_text("Prolific stored every field as sent").first.wait_for()
    fits_and_reads_well(page)
    page.get_by_role("main").get_by_role("link", name="Launch checks and cost").click()
    page.get_by_role("button", name="Create draft on Prolific").click()
    page.wait_for_url("**/publish/")
    fits_and_reads_well(page)
    page.get_by_label("Type the amount to confirm").fill("189.00")
    page.get_by_role("button", name="Publish and spend $189.00").click()
    page.get_by_role("status").get_by_text("Study published").wait_for()
    recruit(prolific, ProlificStudy.objects.get())

    page.get_by_role("button", name="Refresh from Prolific").click()
    fits_and_reads_well(page)
    page.locator("#main").get_by_role("link", name="Approve and pay").click()
    fits_and_reads_well(page)
    page.get_by_role("button", name="Approve selected").click()
    fits_and_reads_well(page)
    page.get_by_role("button", name="Approve 30 and pay $135.00").click()
    page.get_by_role("status").get_by_text("Approved: 30").wait_for()
    page.get_by_role("button", name="Set up bonuses").click()
    fits_and_reads_well(page)
    page.get_by_label("I have checked the total").check()
    page.get_by_role("button", name="Pay $").click()
    fits_and_reads_well(page)

    page.goto(reverse("people:prolific", args=["one"]))
    page.get_by_role("link", name="Payments").click()
    page.get_by_role("button", name="Refresh Prolific’s figures").click()
    page.get_by_text("All known figures match").first.wait_for()
    fits_and_reads_well(page)

    submissions = prolific.world.submissions.values()
    assert sum(s.status == "APPROVED" for s in submissions) == 30
    assert sorted(b for s in submissions for b in s.bonuses) == [300, 300, 450]
    assert set(Item.objects.filter(study=study).values_list("answered", flat=True)) == {3}
    assert not page.get_by_role("button", name="Pay $").count()
