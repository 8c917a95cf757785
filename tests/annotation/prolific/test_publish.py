"""Publishing spends once and unasked never; pausing, starting, stopping, adding places."""

import re

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import ProlificReservation
from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.transport import LaunchRefused, NotAllowed, ProlificError
from annotation.prolific.api.types import BonusSetup, RemoteStudy, RemoteSubmission, StudyCost
from annotation.prolific.launch import launch, publication
from annotation.prolific.launch.launch_plan import LaunchPlan, content_warnings
from annotation.prolific.sync.sync import follow
from studies.models import Item
from studies.services.studies import change_state
from tests.annotation.prolific.life import (
    BALANCE,
    add_beyond,
    launched,
    make_recruiting,
    published,
    with_quotas,
)
from tests.factories import sign_in

pytestmark = pytest.mark.django_db


def test_publishing_requires_typing_the_amount(prolific):
    study = make_recruiting()
    row = launched(study)
    total = publication.look_at_publishing(study)[0]

    for typed in ("", "yes", "1.00", total.plain + "0"):
        with pytest.raises(NotAllowed, match="to confirm"):
            publication.publish(study_id=study.pk, confirmed=typed)
    assert prolific.world.studies[row.prolific_id]["status"] == "UNPUBLISHED"

    publication.publish(study_id=study.pk, confirmed=f"${total.plain}")

    assert total.amount == 2700 + 900 + 180
    assert prolific.world.show_study(row.prolific_id)["status"] == "ACTIVE"


def test_a_study_that_takes_no_answers_is_not_published(prolific):
    study = make_recruiting(state="draft")
    launched(study)

    with pytest.raises(NotAllowed, match="Open it"):
        publication.publish(study_id=study.pk, confirmed="37.80")


def test_a_draft_whose_targeting_was_dropped_is_not_published(prolific):
    study = make_recruiting()
    row = launched(study, LaunchPlan(country="United States"))
    prolific.world.studies[row.prolific_id]["filters"] = []

    with pytest.raises(LaunchRefused, match="filters on Prolific differ"):
        publication.publish(
            study_id=study.pk, confirmed=publication.look_at_publishing(study)[0].plain
        )

    assert prolific.world.studies[row.prolific_id]["status"] == "UNPUBLISHED"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("fault", ["429", "500", "dropped_before", "dropped_after", "malformed"])
def test_no_fault_publishes_twice_or_hides_that_it_was_published(prolific, fault):
    study = make_recruiting()
    row = launched(study)
    total = publication.look_at_publishing(study)[0]
    balance = prolific.world.balance
    prolific.fault("POST", "transition/", fault)

    try:
        publication.publish(study_id=study.pk, confirmed=total.plain)
    except ProlificError:
        publication.publish(study_id=study.pk, confirmed=total.plain)
    publication.publish(study_id=study.pk, confirmed=total.plain)

    row.refresh_from_db()
    assert row.status in ("PUBLISHING", "ACTIVE")
    assert prolific.world.balance == balance - total.amount


def test_publishing_separate_groups_again_counts_only_the_unpublished(prolific):
    """Two of six are published, and the wallet holds just the rest."""
    study = with_quotas(make_recruiting(), each=1)
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(balance=BALANCE, apart=True))
    rows = launch.launch(study_id=study.pk)
    total = publication.look_at_publishing(study)[0]
    prolific.world.balance = total.amount
    for row in rows[:2]:
        prolific.world.transition_study(row.prolific_id, "PUBLISH")

    left = publication.look_at_publishing(study)[0]
    assert left.amount == prolific.world.balance == total.amount * 4 // 6
    with pytest.raises(NotAllowed, match=re.escape(f"Type {left.plain}")):
        publication.publish(study_id=study.pk, confirmed=total.plain)
    publication.publish(study_id=study.pk, confirmed=left.plain)

    assert prolific.world.balance == 0
    assert publication.look_at_publishing(study)[0].amount == 0
    assert publication.publish(study_id=study.pk, confirmed="") == rows


def test_content_flags_are_shown_before_people_take_a_place(prolific):
    study = make_recruiting()
    plain = launched(make_recruiting())
    first, second, third = Item.objects.filter(study=study)[:3]
    for item, flags in (
        (first, ["violence", "identical_responses"]),
        (second, ["politics"]),
        (third, []),
    ):
        item.warnings = flags
        item.save()

    sent = prolific.world.studies[launched(study).prolific_id]

    assert sent["content_warnings"] == ["sensitive"]
    assert sent["content_warning_details"] == "Some of the items touch on: politics, violence."
    assert "content_warnings" not in prolific.world.studies[plain.prolific_id]
    first.warnings = ["Sexual content"]
    first.save()
    assert content_warnings(study)["content_warnings"] == ["explicit"]


def test_a_draft_from_before_the_flags_is_not_published(prolific):
    study = make_recruiting()
    launched(study)
    Item.objects.filter(study=study).update(warnings=["violence"])

    with pytest.raises(LaunchRefused, match="content warning does not match the items"):
        publication.publish(study_id=study.pk, confirmed="37.80")


def test_costs_with_decimals_are_rounded_and_not_cut():
    cost = StudyCost.of(
        {
            "rewards": {"amount": 2699.9999, "currency": "USD"},
            "fees": {"amount": 899.5, "currency": "USD"},
            "tax": {"amount": "179.4", "currency": "USD"},
        }
    )

    assert (cost.rewards, cost.fees, cost.tax, cost.total) == (2700, 900, 179, 3779)
    assert StudyCost.of(None).total == 0
    assert RemoteStudy.of({"id": "1", "reward": 449.9999}).reward == 450
    assert RemoteSubmission.of({"id": "1", "bonus_payments": [149.9999]}).bonuses == (150,)
    setup = BonusSetup.of({"id": "1", "amount": 150.5, "total_amount": 210.5, "fees": 49.5})
    assert (setup.amount, setup.total, setup.fees, setup.tax) == (151, 211, 50, None)


@pytest.mark.parametrize("stop", ["COMPLETED", "AWAITING REVIEW"])
def test_a_study_is_paused_started_and_stopped(prolific, stop):
    prolific.world.behaviour.stop = stop
    study = make_recruiting()
    row = published(study)

    for action, status in (("PAUSE", "PAUSED"), ("START", "ACTIVE"), ("STOP", stop)):
        publication.change(study_id=study.pk, action=action)
        row.refresh_from_db()
        assert row.status == status

    with pytest.raises(NotAllowed, match="nothing to pause"):
        publication.change(study_id=study.pk, action="PAUSE")


def test_places_are_added_to_prolifics_current_number(prolific):
    study = make_recruiting()
    row = published(study)
    prolific.world.patch_study(row.prolific_id, {"total_available_places": 8})

    added = add_beyond(row, 2)

    assert added.places == prolific.world.studies[row.prolific_id]["total_available_places"] == 10


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("moment", "by"),
    [
        ("before it is sent", "page"),
        ("after it is sent", "page"),
        ("after it is sent", "command"),
        ("before it is noted", "command"),
    ],
)
def test_places_that_a_kill_interrupted_are_added_once(moment, by, prolific, monkeypatch):
    study = make_recruiting()
    row = published(study)
    send = ProlificClient.set_places

    def killed_sending(self, study_id, places):
        if moment == "after it is sent":
            send(self, study_id, places)
        raise Killed

    def killed_noting(*args, **kwargs):
        raise Killed

    def add() -> None:
        if by == "command":
            call_command("prolific", "places", study.slug, "3", "--yes", "--beyond-need")
            return
        client = sign_in(study)
        url = reverse("people:prolific", args=[study.slug])
        agreed = {"action": "places", "sure": "yes", "beyond": "yes", "sum": "18.90"}
        shown = client.post(url, {"action": "places", "extra": "3"}).context["seen"]
        client.post(url, {"extra": "3", "seen": str(shown), **agreed})

    with monkeypatch.context() as patch:
        if moment == "before it is noted":
            patch.setattr(publication, "record", killed_noting)
        else:
            patch.setattr(ProlificClient, "set_places", killed_sending)
        with pytest.raises(Killed):
            add()
    follow(study_id=study.pk)
    add()

    assert prolific.world.studies[row.prolific_id]["total_available_places"] == 9
    assert study.log.filter(event="places added on Prolific").count() == 1
    add()
    assert prolific.world.studies[row.prolific_id]["total_available_places"] == 12


def test_refused_places_are_not_requested_again(prolific):
    study = make_recruiting()
    row = published(study)
    prolific.fault("PATCH", "studies/", "404")

    with pytest.raises(ProlificError):
        add_beyond(row, 3)

    row.refresh_from_db()
    assert row.places_wanted is None


def test_one_press_changes_recruiting_on_both_sides(study, row, prolific):
    editor = sign_in(study)

    for state, there in (("paused", "PAUSED"), ("open", "ACTIVE"), ("closed", "COMPLETED")):
        page = editor.post(
            f"/studies/{study.slug}/", {"action": "state", "state": state}, follow=True
        )
        assert prolific.world.studies[row.prolific_id]["status"] == there
        assert "Recruiting on Prolific was" in page.content.decode()


@pytest.mark.parametrize("fault", ["401", "dropped_before"])
def test_failures_on_prolific_are_reported(fault, study, row, prolific):
    prolific.fault("POST", "transition/", fault, times=9)

    changed, notes = change_state(study_id=study.pk, state="closed")

    assert changed.state == "closed"
    (note,) = notes
    assert note.is_problem
    assert "could not be stopped on Prolific" in note.text
    prolific.faults.clear()
    assert not any(note.is_problem for note in change_state(study_id=study.pk, state="closed")[1])
    assert prolific.world.studies[row.prolific_id]["status"] == "COMPLETED"


def test_a_study_that_is_still_publishing_is_reported(study, row, prolific, monkeypatch):
    def still_publishing(world_study, status):
        world_study["status"] = "PUBLISHING"

    prolific.world.studies[row.prolific_id]["status"] = "PUBLISHING"
    monkeypatch.setattr(prolific.world, "set_status", still_publishing)

    _, notes = change_state(study_id=study.pk, state="paused")

    assert [note.is_problem for note in notes] == [True]
    assert "It is publishing there" in notes[0].text


def test_the_command_says_what_it_did_on_prolific(study, row, capsys):
    call_command("study_state", study.slug, "paused")

    assert "Recruiting on Prolific was paused too." in capsys.readouterr().out


def test_a_publish_whose_answer_was_lost_is_noted_once(prolific, study):
    launch.save_plan(study_id=study.pk, plan=LaunchPlan())
    launch.launch(study_id=study.pk)
    prolific.fault("POST", "transition/", "dropped_after")

    for _ in range(3):
        publication.publish(study_id=study.pk, confirmed="37.80")

    (noted,) = ProlificReservation.objects.filter(prolific_study__study=study)
    assert (noted.places, noted.rewards, noted.fees) == (6, 2700, 1080)


def test_places_whose_answer_was_lost_are_added_and_noted_once(prolific, row):
    prolific.fault("PATCH", "studies/", "dropped_after")

    for _ in range(2):
        add_beyond(row, 2, seen=6)

    assert list(ProlificReservation.objects.values_list("places", "places_after")) == [
        (6, 6),
        (2, 8),
    ]
