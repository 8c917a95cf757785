"""Researchers' pages of people in Chromium: they fit and pass axe, in light and dark."""

import pytest
from django.contrib.auth.models import User

from annotation import services
from annotation.models import Annotation
from studies.models import Membership
from tests.browser.annotators import make_everyday_study
from tests.browser.conftest import PHONE, fits_and_reads_well, is_well_in_both_themes
from tests.factories import answer_all, make_item, walk_in

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.nightly
def test_flags_are_found_read_and_acted_on(signed_in):
    study = make_everyday_study(items=12)
    for n in (1, 2):
        make_item(study=study, split="attention_check", key=f"check-{n}", check_answer="r2")
    hasty = walk_in(study)
    answer_all(hasty)
    Annotation.objects.update(elapsed_ms=1200, active_ms=900)
    services.complete(annotator_id=hasty.pk)
    answer_all(walk_in(study), choice="r2", certainty=40)
    editor = User.objects.create_user("editor")
    Membership.objects.create(user=editor, study=study, role=Membership.Role.EDITOR)
    page = signed_in()

    page.goto(f"/studies/{study.slug}/people/?flag=speed")
    is_well_in_both_themes(page)
    page.get_by_role("link", name=hasty.pseudonym).click()
    page.get_by_role("heading", name="Flags").wait_for()
    is_well_in_both_themes(page)
    page.get_by_role("button", name="Exclude from analysis").click()
    page.get_by_role("heading", name="There is a problem").wait_for()
    is_well_in_both_themes(page)
    page.get_by_label("Reason for the exclusion").fill("Faster than anybody reads.")
    page.get_by_role("button", name="Exclude from analysis").click()
    page.get_by_text("Reason: Faster than anybody reads.").wait_for()
    is_well_in_both_themes(page)


@pytest.mark.nightly
def test_editors_invite_people(signed_in):
    study = make_everyday_study(items=2, entry="list")
    editor = User.objects.create_user("editor")
    Membership.objects.create(user=editor, study=study, role=Membership.Role.EDITOR)
    page = signed_in(viewport=PHONE)

    page.goto(f"/studies/{study.slug}/people/invitations/")
    page.get_by_label("New ids").fill("not an id!")
    page.get_by_role("button", name="Add ids").click()
    page.get_by_role("heading", name="There is a problem").wait_for()
    fits_and_reads_well(page)
    page.get_by_label("New ids").fill("anna-1\nberta-2")
    page.get_by_role("button", name="Add ids").click()
    page.get_by_text("Added: 2.").wait_for()
    fits_and_reads_well(page)
