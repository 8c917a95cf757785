"""Publishing later."""

import datetime as dt

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import ProlificReservation
from annotation.prolific.api.transport import NotAllowed
from annotation.prolific.launch import launch, publication
from annotation.prolific.sync.sync import follow
from demo.prolific.records import FUNDS, stamp
from studies.models import Membership, Study
from studies.services.studies import change_state
from tests.annotation.prolific.life import launched, make_recruiting

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft(prolific):
    return launched(make_recruiting())


def scheduled(row, *, hours=2):
    publication.publish(
        study_id=row.study_id,
        confirmed=publication.look_at_publishing(row.study)[0].plain,
        at=timezone.now() + dt.timedelta(hours=hours),
    )
    row.refresh_from_db()
    return row


def test_a_scheduled_study_pays_when_prolific_publishes_it(draft, prolific):
    scheduled(draft)
    assert draft.status == "SCHEDULED"
    assert publication.scheduled_at(draft.study) > timezone.now()
    assert (prolific.world.balance, ProlificReservation.objects.count()) == (FUNDS, 0)
    with pytest.raises(NotAllowed, match="Cancel its publication"):
        launch.forget_drafts(study_id=draft.study_id)

    past = timezone.now() - dt.timedelta(minutes=1)
    prolific.world.studies[draft.prolific_id]["publish_at"] = stamp(past)
    follow(study_id=draft.study_id)
    follow(study_id=draft.study_id)

    draft.refresh_from_db()
    (paid,) = ProlificReservation.objects.all()
    assert draft.status == "ACTIVE"
    assert (paid.places, paid.rewards) == (6, 6 * 450)
    assert paid.rewards + paid.fees == FUNDS - prolific.world.balance


def test_a_time_that_is_over_is_refused(draft):
    with pytest.raises(NotAllowed, match="is over"):
        scheduled(draft, hours=-1)


@pytest.mark.parametrize("how", ["cancelled", "paused"])
def test_a_schedule_is_cancelled_also_when_the_study_pauses(how, draft, prolific):
    scheduled(draft)

    if how == "cancelled":
        publication.change(study_id=draft.study_id, action="CANCEL_PUBLISH")
    else:
        change_state(study_id=draft.study_id, state=Study.State.PAUSED)

    draft.refresh_from_db()
    assert draft.status == "UNPUBLISHED"
    assert prolific.world.studies[draft.prolific_id]["status"] == "UNPUBLISHED"


def test_the_page_schedules_and_shows_when(draft, user):
    Membership.objects.create(study=draft.study, user=user, role=Membership.Role.OWNER)
    client = Client()
    client.force_login(user)
    url = reverse("people:prolific-publish", args=[draft.study.slug])
    home = reverse("people:prolific", args=[draft.study.slug])
    typed = publication.look_at_publishing(draft.study)[0].plain

    client.post(url, {"sum": typed, "at": "tomorrow"})
    assert "Enter date and time" in client.get(home).content.decode()
    client.post(url, {"sum": typed, "at": "2090-05-01T09:30"})

    page = client.get(home).content.decode()
    assert "1 May 2090, 09:30 UTC" in page
    assert "Cancel publication" in page
    assert "Submissions by state" not in page
