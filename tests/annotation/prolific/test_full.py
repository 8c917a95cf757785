"""Nobody is recruited whom a study does not need: places are paused when all answers are in."""

import pytest
from django.urls import reverse

from annotation.models import ProlificEvent
from annotation.prolific.api.transport import NotAllowed
from annotation.prolific.launch import launch, publication
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.sync.sync import follow
from annotation.prolific.sync.webhooks import handle
from annotation.researchers.recruitment_needs import recruitment_needs
from studies.models import Item, Study
from studies.services.studies import change_state
from tests.annotation.prolific.life import (
    BALANCE,
    add_beyond,
    arrive,
    finish,
    make_recruiting,
    published,
    with_quotas,
)
from tests.factories import make_items, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def full(prolific):
    """One person gives all answers, and nine places are left."""
    study = make_recruiting(items=0)
    study.items_per_annotator = study.annotations_per_item = 1
    study.save()
    make_items(study, 1, seats_needed=1)
    row = published(study)
    add_beyond(row, 9)
    person, annotator = arrive(prolific, row)
    follow(study_id=study.pk)
    finish(prolific, person, annotator)
    return study, row, person


def needs(study):
    return list(recruitment_needs(Study.objects.get(pk=study.pk), items=lambda: 3))


def status(prolific, row):
    return prolific.world.studies[row.prolific_id]["status"]


def test_recruiting_is_paused_when_all_answers_are_in(prolific, full):
    study, row, _ = full
    assert status(prolific, row) == "ACTIVE"

    follow(study_id=study.pk)

    assert status(prolific, row) == "PAUSED"
    follow(study_id=study.pk)
    assert study.log.filter(event__startswith="paused on Prolific").count() == 1


def test_a_webhook_of_the_last_submission_pauses_too(prolific, full):
    _study, row, person = full
    event = ProlificEvent.objects.create(
        event_id="e1", kind="submission.status.change", resource_id=person["submission"]
    )

    handle(event_id=event.pk)

    assert status(prolific, row) == "PAUSED"


def test_a_seat_that_somebody_holds_keeps_recruiting_going(prolific):
    study = make_recruiting()
    row = published(study)
    add_beyond(row, 2)
    people = [arrive(prolific, row) for _ in range(6)]
    for person, annotator in people[:5]:
        finish(prolific, person, annotator)

    follow(study_id=study.pk)
    assert status(prolific, row) == "ACTIVE"

    finish(prolific, *people[5])
    follow(study_id=study.pk)
    assert status(prolific, row) == "PAUSED"


def test_the_setting_switches_it_off_and_the_line_offers_the_press(prolific, full):
    study, row, _ = full
    Study.objects.filter(pk=study.pk).update(pause_when_full=False)
    follow(study_id=study.pk)
    assert status(prolific, row) == "ACTIVE"

    (line,) = needs(study)
    assert line.sentence == (
        "All answers are in. 9 places are still open on Prolific, and people there would be paid "
        "$56.70."
    )
    sign_in(study).post(line.address, line.sends)

    assert status(prolific, row) == "PAUSED"


def test_needs_you_offers_to_stop_what_was_paused(prolific, full):
    study, row, _ = full
    follow(study_id=study.pk)

    (line,) = needs(study)

    assert "All answers are in. Recruitment is paused on Prolific." in line.sentence
    assert "9 places are left there, worth $56.70." in line.sentence
    assert line.button == "Stop recruitment"
    sign_in(study).post(line.address, {**line.sends, "sure": "yes"})
    assert status(prolific, row) == "COMPLETED"
    assert needs(study) == []


def test_nothing_starts_again_what_nobody_needs(prolific, full):
    study, row, _ = full
    follow(study_id=study.pk)

    with pytest.raises(NotAllowed, match="needs nobody else"):
        publication.change(study_id=study.pk, action="START")
    with pytest.raises(NotAllowed, match="needs nobody else"):
        publication.refill(study_id=study.pk)
    change_state(study_id=study.pk, state="paused")
    _, notes = change_state(study_id=study.pk, state="open")

    assert "needs nobody else" in notes[0].text
    assert status(prolific, row) == "PAUSED"


def test_more_seats_make_it_recruit_again_by_one_press(prolific, full):
    study, row, _ = full
    follow(study_id=study.pk)
    Item.objects.filter(study=study).update(seats_needed=3)
    Study.objects.filter(pk=study.pk).update(version=study.version + 1)

    (line,) = needs(study)
    assert line.button == "Resume recruitment"
    assert "Some are missing again." in line.sentence
    sign_in(study).post(line.address, line.sends)

    assert status(prolific, row) == "ACTIVE"


def test_the_study_of_a_full_group_is_paused_and_the_others_go_on(prolific):
    study = with_quotas(make_recruiting(), each=1)
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(balance=BALANCE, apart=True))
    first, second, *_ = launch.launch(study_id=study.pk)
    total = publication.look_at_publishing(study)[0]
    publication.publish(study_id=study.pk, confirmed=total.plain)
    prolific.world.patch_study(first.prolific_id, {"total_available_places": 3})
    finish(prolific, *arrive(prolific, first))

    follow(study_id=study.pk)

    assert status(prolific, first) == "PAUSED"
    assert status(prolific, second) == "ACTIVE"
    lines = [line for line in needs(study) if "Full:" in line.sentence]
    assert [line.button for line in lines] == ["Stop recruitment"]
    assert "2 places are left there, worth $12.60." in lines[0].sentence


def test_all_groups_full_is_full(prolific):
    study = with_quotas(make_recruiting(), each=1)
    row = published(study, LaunchPlan(balance=BALANCE))
    Item.objects.filter(study=study).update(seats_needed=9)
    study.quota_groups.update(completed=1)
    follow(study_id=study.pk)

    assert status(prolific, row) == "PAUSED"


def test_the_settings_page_has_the_setting(client, full):
    study, *_ = full

    page = sign_in(study).get(reverse("studies:settings", args=[study.slug])).content.decode()

    assert "Pause recruiting on Prolific when all answers are in" in page
