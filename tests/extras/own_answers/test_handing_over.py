"""A series of studies changes hands together."""

import pytest
from django.contrib.auth.models import User

from annotation.models import RelatedStudy
from extras.own_answers.models import LaterWave, LinkedStudy
from studies.models import Membership
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def test_ticked_studies_of_a_series_go_along_and_no_study_of_others_does(client):
    ada, bo = (User.objects.create_user(name) for name in ("ada", "bo"))
    first, second, third, foreign = (make_study(slug=s) for s in ("one", "two", "three", "far"))
    Membership.objects.create(study=first, user=bo, role="viewer")
    Membership.objects.create(study=foreign, user=ada, role="viewer")
    for each in (first, second, third):
        Membership.objects.create(study=each, user=ada, role="owner")
    LinkedStudy.objects.create(study=second, first=first, rule={})
    LaterWave.objects.create(study=third, first=second, number=2, items="same")
    LaterWave.objects.create(study=foreign, first=second, number=3, items="same")
    RelatedStudy.objects.create(study=make_study(), related=first)
    client.force_login(ada)
    page = client.get("/studies/one/team/hand-over/").content.decode()
    assert page.count('name="also"') == 2

    sent = {"user": bo.pk, "also": [third.pk, foreign.pk, "x"], "afterwards": "none"}
    client.post("/studies/one/team/hand-over/", sent)

    owned = Membership.objects.filter(role="owner").values_list("study__slug", "user__username")
    assert set(owned) == {("one", "bo"), ("three", "bo"), ("two", "ada")}
