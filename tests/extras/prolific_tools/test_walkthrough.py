"""A researcher walks through a draft as a test participant, and counts nowhere."""

import pytest
from django.test import Client

from analysis.data.raters import people_by_state
from analysis.data.views import StudyThen
from annotation import services
from annotation.content.consent_versions import promised
from annotation.models import Annotator
from annotation.prolific.api.transport import NotAllowed
from annotation.prolific.settle.proposals import settlement
from annotation.prolific.sync.sync import follow, is_confirmed, refresh_submission
from annotation.researchers.selectors import funnel
from extras.prolific_tools.walkthrough import start_walk
from studies.models import Item
from studies.statements import clock
from tests.annotation.prolific.life import launched, make_recruiting
from tests.factories import answer_all, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft(prolific):
    return launched(make_recruiting())


def test_a_researcher_walks_the_whole_way_and_counts_nowhere(draft, prolific):
    with pytest.raises(NotAllowed, match="a test participant"):
        start_walk(study_id=draft.study_id)
    address = start_walk(study_id=draft.study_id, email="me@example.org")
    test = address.rpartition("/")[2]
    (participant,) = prolific.world.test_participants
    card = prolific.world.arrive(test, participant)

    response = Client().get(card["url"].partition("testserver")[2] or card["url"])

    (annotator,) = Annotator.objects.all()
    assert response.status_code == 302
    assert annotator.works_surplus
    assert annotator.excluded_at is not None
    services.consent(annotator_id=annotator.pk, version="v1")
    answer_all(services.finish_instructions(annotator_id=annotator.pk))
    services.complete(annotator_id=annotator.pk)
    follow(study_id=draft.study_id)
    annotator.refresh_from_db()
    assert is_confirmed(annotator, refresh_submission)  # and sees the code
    assert not Item.objects.filter(seats_taken__gt=0).exists()
    assert settlement(draft.study).unknown == []
    assert (funnel(draft.study).arrived, promised([draft.study])[draft.study_id]) == (0, {})
    assert people_by_state(draft.study, None) == {}
    assert people_by_state(draft.study, StudyThen(draft.study, clock.now())) == {}
    page = sign_in(draft.study).get(f"/studies/{draft.study.slug}/people/prolific/")
    assert f'<a href="{address}">' in page.content.decode()


def test_a_stranger_does_not_enter_as_a_test_participant(draft, prolific):
    test = start_walk(study_id=draft.study_id, email="me@example.org").rpartition("/")[2]
    (participant,) = prolific.world.test_participants
    card = prolific.world.arrive(test, participant)
    forged = card["url"].replace(participant, "f" * 24)

    Client().get(forged.partition("testserver")[2] or forged)

    assert not Annotator.objects.exists()
