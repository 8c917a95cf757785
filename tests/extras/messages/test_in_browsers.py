"""A message to all who completed, written and sent in Chromium."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.prolific.sync.sync import follow
from tests.annotation.prolific.life import arrive, finish, make_recruiting, published
from tests.browser.conftest import fits_and_reads_well

pytestmark = [
    pytest.mark.browser,
    pytest.mark.nightly,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def study():
    return make_recruiting()


def test_a_message_is_written_previewed_and_sent(study, prolific, signed_in):
    User.objects.create_superuser("ada")
    row = published(study)
    for _ in range(3):
        person, annotator = arrive(prolific, row)
        finish(prolific, person, annotator)
    follow(study_id=study.pk)
    page = signed_in()
    page.goto(reverse("messages:list", args=[study.slug]))
    fits_and_reads_well(page)
    page.get_by_role("link", name="Write a message").click()
    page.get_by_label("To").select_option("completed")
    page.get_by_label("Text").fill("Thank you! We will invite you again next week.")
    fits_and_reads_well(page)
    page.get_by_role("button", name="Save draft and preview").click()
    fits_and_reads_well(page)
    page.get_by_role("button", name="Send to 3 people").click()
    page.get_by_role("status").get_by_text("Message sent to 3 of 3.").wait_for()
    page.goto(reverse("messages:list", args=[study.slug]))
    fits_and_reads_well(page)
    assert len(prolific.world.messages) == 3
