"""People who took part in a related study are not let in, kindly and without a trace."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation import services
from annotation.errors import TookPartBefore
from annotation.models import Annotator, CompletionCode, RelatedStudy
from annotation.services.admission import set_related_studies
from annotation.services.identities import purge_identities
from studies.models import Membership
from tests.annotation.pages.walking import PID, arrive, entry_url, start
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def earlier():
    study = make_study(items_per_annotator=1)
    make_items(study, 1)
    return study


@pytest.fixture
def study(earlier):
    study = make_study(items_per_annotator=1)
    make_items(study, 1)
    set_related_studies(study_id=study.pk, related_ids=[earlier.pk])
    return study


def test_participants_of_a_related_study_get_a_code_and_nothing_is_stored(study, earlier):
    start(earlier)

    response = Client().get(entry_url(study))

    page = response.content.decode()
    code = CompletionCode.objects.get(study=study, ending="ineligible").code
    assert response.status_code == 403
    assert "You have taken part in a related study" in page
    assert f"submissions/complete?cc={code}" in page
    assert not study.annotators.exists()
    assert f"participant-{study.slug}" not in response.cookies


def test_the_exclusion_survives_the_deletion_of_ids(study, earlier):
    start(earlier)
    purge_identities(study_id=earlier.pk)

    with pytest.raises(TookPartBefore):
        services.enter(study=study, pid=PID)


def test_people_who_did_not_consent_there_may_enter(study, earlier):
    arrive(earlier, "looked-only")
    declined = arrive(earlier, "declined-it")
    declined.post(f"/s/{earlier.slug}/consent/", {"consent": "no"})

    for pid in ("looked-only", "declined-it"):
        assert Client().get(entry_url(study, pid)).status_code == 302


def test_annotators_who_have_entered_stay(study, earlier):
    RelatedStudy.objects.all().delete()
    start(earlier)
    start(study)
    set_related_studies(study_id=study.pk, related_ids=[earlier.pk])

    assert Client().get(entry_url(study)).status_code == 302
    assert study.annotators.count() == 1


def test_editors_name_studies_that_they_can_see_and_no_others(study, earlier):
    hidden = make_study()
    user = User.objects.create_user("editor")
    for seen, role in ((study, "editor"), (earlier, "viewer")):
        Membership.objects.create(user=user, study=seen, role=role)
    client = Client()
    client.force_login(user)
    RelatedStudy.objects.all().delete()
    page = f"/studies/{study.slug}/people/places/"

    client.post(f"{page}related/", {"related": [earlier.slug, hidden.slug, study.slug]})

    assert list(study.related_studies.values_list("related", flat=True)) == [earlier.pk]
    assert study.log.filter(event="related studies set", user=user).count() == 1
    shown = client.get(page).content.decode()
    assert f'value="{earlier.slug}" checked' in shown
    assert hidden.title not in shown
    assert Annotator.objects.count() == 0
