"""Second visits on Prolific: a study that admits those who are due, settled in the same ledger."""

import datetime as dt

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.errors import EntryRefused
from annotation.models import Annotator, ProlificStudy
from annotation.prolific.api.client import connect
from annotation.prolific.api.transport import NotAllowed
from annotation.prolific.launch import publication
from annotation.prolific.settle.decisions import approve, reject
from annotation.prolific.settle.proposals import APPROVE, RETURN, settlement
from annotation.prolific.sync.sync import follow
from demo.prolific.records import Refusal
from extras.own_answers.bringing_back import BACK, reminder_needs
from extras.own_answers.follow_up import draft_follow_up, newly_due, verify_return
from extras.own_answers.models import RetestVisit
from extras.own_answers.second_visits import answer_again, second_visit_code
from studies.models import Study
from tests.annotation.prolific.conftest import prolific  # noqa: F401  a fixture
from tests.annotation.prolific.life import (
    arrive,
    finish,
    make_recruiting,
    published,
    seats_taken,
    state_of,
)
from tests.extras.own_answers.people import bring_back

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(prolific) -> Study:  # noqa: F811
    return bring_back(make_recruiting(perspective="own", entry="prolific", per_person=3), 40)


@pytest.fixture
def people(study, prolific):  # noqa: F811
    """Three who completed and whose second visit is due."""
    row = published(study)
    came = [arrive(prolific, row) for _ in range(3)]
    for person, annotator in came:
        finish(prolific, person, annotator)
    RetestVisit.objects.update(due_at=timezone.now() - dt.timedelta(minutes=1))
    follow(study_id=study.pk)
    return came


@pytest.fixture
def page(study):
    """Press buttons of the page, as an owner; the text that comes back."""
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))

    def press(**fields: str) -> str:
        address = reverse("own_people:second-visits", args=[study.slug])
        return client.post(address, fields, follow=True).content.decode()

    return press


def back(study: Study) -> ProlificStudy:
    return ProlificStudy.everything.get(study=study, is_follow_up=True)


def come_back(prolific, study, person):  # noqa: F811
    """Somebody takes a place of the follow-up and makes their visit."""
    again = prolific.world.arrive(back(study).prolific_id, person["participant"])
    visit = RetestVisit.objects.get(annotator__prolific_identity__pid=person["participant"])
    for answer in visit.answers.all():
        answer_again(visit_id=visit.pk, position=answer.position, choice="a", certainty=70)
    prolific.world.finish(again["submission"], second_visit_code(study.pk))
    return again


def test_returning_people_are_compared_with_their_submission_to_the_second_study(study, prolific):  # noqa: F811
    published(study)
    other = published(make_recruiting())  # by hand on Prolific, so not one of this study
    person = prolific.world.arrive(other.prolific_id)
    query = {"PROLIFIC_PID": person["participant"], "SESSION_ID": person["submission"]}

    verify_return(study, query)
    verify_return(study, query | {"SESSION_ID": "b" * 24})  # may be seconds old
    for edited in ({"PROLIFIC_PID": "b" * 24}, {"SESSION_ID": ""}):
        with pytest.raises(EntryRefused):
            verify_return(study, query | edited)


@pytest.mark.nightly
def test_from_a_draft_to_a_ledger_that_equals_prolifics(study, people, page, prolific):  # noqa: F811
    made = page(action="draft", minutes="5", reward="1.50")
    assert "Draft created" in made
    total = publication.look_at_publishing(study, follow_up=BACK.name)[0]
    assert f"Publish and spend {total}" in made
    assert "Type" in page(action="publish", sum="1")
    assert "Published." in page(action="publish", sum=total.plain)
    row = back(study)
    assert (row.places, row.reward, row.status) == (3, 150, "ACTIVE")
    with pytest.raises(Refusal, match="exclude"):
        prolific.world.arrive(row.prolific_id, "f" * 24)

    first, second = people[:2]
    come_back(prolific, study, first[0])
    left = prolific.world.arrive(back(study).prolific_id, second[0]["participant"])
    prolific.world.finish(left["submission"], "NOCODE")
    before = seats_taken(study)
    follow(study_id=study.pk)
    again = [each for each in settlement(study).rows if each.submission.prolific_study == row]
    assert sorted(each.action for each in again) == [APPROVE, RETURN]
    with pytest.raises(NotAllowed, match="first part"):
        reject(
            study_id=study.pk,
            submission_id=again[0].submission.pk,
            category="LOW_EFFORT",
            message="Nothing was read. " * 10,
            user=User.objects.get(),
        )
    prolific.world.give_back(left["submission"])
    follow(study_id=study.pk)
    assert {state_of(annotator) for _, annotator in people} == {Annotator.State.COMPLETED}
    assert seats_taken(study) == before

    ready = [each.submission.pk for each in settlement(study).rows if each.action == APPROVE]
    done = approve(
        study_id=study.pk, submission_ids=ready, confirmed=len(ready), user=User.objects.get()
    )
    assert done.approved == 4
    ledger = pytest.importorskip("extras.prolific_tools.ledger")
    ledger.read_costs(study_id=study.pk)
    found = ledger.ledger_of(study)
    lines = {line.name: (line.ours, line.theirs) for line in found.lines}
    assert found.differing == []
    assert lines["Rewards paid"] == (3 * 450 + 150,) * 2
    assert lines["Places"][0] == 6 + 3


def test_bringing_people_back_goes_by_the_rule_of_every_press_that_spends(
    study,
    people,
    page,
    prolific,  # noqa: F811
):
    page(action="draft", minutes="5", reward="1.50")
    there = back(study).prolific_id
    total = publication.look_at_publishing(study, follow_up=BACK.name)[0]
    prolific.world.balance = total.amount - 100
    assert "$1.00 are missing" in page(action="publish", sum=total.plain)
    RetestVisit.objects.filter(annotator=people[0][1]).update(finished_at=timezone.now())
    prolific.world.balance = 100_000
    assert "more than it needs" in page(action="publish", sum=total.plain)
    assert prolific.world.studies[there]["status"] == "UNPUBLISHED"
    page(action="publish", sum=total.plain, beyond="yes")
    assert prolific.world.studies[there]["status"] == "ACTIVE"

    said = page(action="invite", extra="50", seen="3", sure="yes")

    assert "50 places are more than it needs" in said
    assert prolific.world.studies[there]["total_available_places"] == 3


@pytest.mark.nightly
def test_those_who_become_due_later_are_admitted_once(study, people, page, prolific):  # noqa: F811
    late = RetestVisit.objects.get(annotator=people[2][1])
    late.due_at = timezone.now() + dt.timedelta(days=1)
    late.save()
    page(action="draft", minutes="5", reward="1.50")
    total = publication.look_at_publishing(study, follow_up=BACK.name)[0]
    page(action="publish", sum=total.plain)
    come_back(prolific, study, people[0][0])
    assert "has a place already" in page(action="invite")
    RetestVisit.objects.filter(pk=late.pk).update(due_at=timezone.now())
    assert newly_due(study, BACK, connect(study.pk)) == (1, 2)
    assert "Admit 1 more person" in page(action="invite")

    for _ in range(2):
        page(action="invite", extra="1", seen="2", sure="yes")

    assert prolific.world.studies[back(study).prolific_id]["total_available_places"] == 3
    come_back(prolific, study, people[2][0])
    follow(study_id=study.pk)
    assert sum(row.submission.prolific_study.is_follow_up for row in settlement(study).rows) == 2


@pytest.mark.nightly
def test_the_first_study_and_its_follow_up_are_paused_and_deleted_apart(
    study,
    people,
    page,
    prolific,  # noqa: F811
):
    for pay in ("much", "NaN", "-1", "0", "99999999"):
        assert "Enter the pay" in page(action="draft", minutes="5", reward=pay)
    prolific.fault("POST", "studies/", "dropped_after")
    for _ in range(2):
        page(action="draft", minutes="5", reward="1.50")
    names = [one["internal_name"] for one in prolific.world.studies.values()]
    assert len(names) == len(set(names)) == 2
    assert "Draft deleted" in page(action="discard")
    page(action="draft", minutes="5", reward="2.00")
    total = publication.look_at_publishing(study, follow_up=BACK.name)[0]
    page(action="publish", sum=total.plain)
    assert "published. Stop it" in page(action="discard")

    publication.change(study_id=study.pk, action="STOP")
    follow(study_id=study.pk)

    assert back(study).status == "ACTIVE"
    prolific.world.transition_study(back(study).prolific_id, "PAUSE")
    follow(study_id=study.pk)
    paused, _ = reminder_needs(study)
    assert "Resumed" in page(**paused.sends)
    assert back(study).status == "ACTIVE"
    assert ProlificStudy.objects.get(study=study).status == "COMPLETED"
    assert "Stopped" in page(action="stop")


@pytest.mark.nightly
def test_nobody_due_means_no_draft_and_those_due_can_be_reminded(study, people):
    (need,) = reminder_needs(study)
    assert need.sentence == "3 second visits are due."
    RetestVisit.objects.update(finished_at=timezone.now())

    study = Study.objects.get(pk=study.pk)
    assert [*reminder_needs(study)] == []
    with pytest.raises(NotAllowed, match="Nobody is due"):
        draft_follow_up(study_id=study.pk, follow_up=BACK, reward=150, minutes=5)
    assert not ProlificStudy.everything.filter(is_follow_up=True).exists()
