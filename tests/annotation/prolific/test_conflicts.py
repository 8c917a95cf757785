"""Where public sources differ about Prolific, the whole life works with either behaviour."""

import pytest
from django.contrib.auth.models import User

from annotation.models import BonusPayment, ProlificSubmission
from annotation.prolific import money
from annotation.prolific.api.transport import ProlificRejected
from annotation.prolific.launch import launch, publication
from annotation.prolific.launch.launch_plan import LaunchPlan, find_workspace
from annotation.prolific.money import BonusLine
from annotation.prolific.settle.decisions import approve, reject
from annotation.prolific.settle.proposals import APPROVE, BONUS, settlement
from annotation.prolific.sync.sync import follow
from annotation.prolific.sync.webhooks import EVENTS, subscribe
from studies.models import Item
from tests.annotation.prolific.life import (
    BALANCE,
    add_beyond,
    answer_some,
    arrive,
    finish,
    launched,
    make_recruiting,
    paid_there,
    published,
    with_quotas,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
MESSAGE = "You answered every one of the questions in less than a second, so nothing was read. " * 2
BOTH = {
    "errors": ["wrapped", "flat", "simple"],
    "hooks": ["object", "results"],
    "stop": ["COMPLETED", "AWAITING REVIEW"],
    "timed_out": ["TIMED-OUT", "TIMED_OUT"],
    "awaiting": ["AWAITING REVIEW", "AWAITING_REVIEW"],
    "publishes": ["PUBLISHING", "ACTIVE"],
    "approves": ["later", "at once"],
    "past_the_end": ["404", "empty"],
    "child_studies": [False, True],
    "study_type": ["any", "required", "refused"],
    "reopens_itself": [False, True],
    "pauses": [True, False],
    "lists_bonuses": [True, False],
    "shows_balance": [True, False],
    "strict": [True, False],
}


@pytest.mark.nightly
@pytest.mark.parametrize("which", [0, -1], ids=["one", "other"])
def test_a_study_goes_from_draft_to_payday_with_either_behaviour(which, prolific, settings):
    """All behaviours of one kind together; other tests meet the third of those that have three."""
    behaviours = {name: values[which] for name, values in BOTH.items()}
    for name, value in behaviours.items():
        assert hasattr(prolific.world.behaviour, name)
        setattr(prolific.world.behaviour, name, value)
    settings.PUBLIC_BASE_URL = "https://study.example.org"
    user = User.objects.create_superuser("researcher")
    study = with_quotas(make_recruiting(), each=1)

    with pytest.raises(ProlificRejected, match="Below the minimum"):
        prolific_refuses(study)
    row = published(study, LaunchPlan(balance=BALANCE))
    subscribe(study_id=study.pk)
    leave_in_every_way(prolific, row, study)
    for _ in range(6):
        finish(prolific, *arrive(prolific, row))
    follow(study_id=study.pk)
    to_reject = next(r for r in settlement(study).rows if r.action == APPROVE).submission.pk
    reject(
        study_id=study.pk,
        submission_id=to_reject,
        category="LOW_EFFORT",
        message=MESSAGE,
        user=user,
    )
    publication.refill(study_id=study.pk)
    finish(prolific, *arrive(prolific, row))
    follow(study_id=study.pk)
    settle(study)

    statuses = sorted(s.status for s in prolific.world.submissions.values())
    assert statuses == ["APPROVED"] * 6 + ["REJECTED", "RETURNED", "TIMED-OUT"]
    assert sorted(amount for paid in paid_there(prolific) for amount in paid) == [150, 300]
    assert set(Item.objects.filter(study=study).values_list("answered", flat=True)) == {3}
    assert [hook.confirmed for hook in prolific.world.hooks.values()] == [True] * len(EVENTS)
    assert BonusPayment.objects.get().state == "paid"
    follow(study_id=study.pk)
    ours = set(ProlificSubmission.objects.values_list("status", flat=True))
    assert ours == {"APPROVED", "REJECTED", "RETURNED", "TIMED-OUT"}


def prolific_refuses(study) -> None:
    """A refusal in whichever shape: pay below the minimum, past our own check."""
    cheap = make_recruiting()
    launch.save_plan(study_id=cheap.pk, plan=LaunchPlan())
    client = launch.connect(cheap.pk)
    project = find_workspace(client, LaunchPlan()).project
    body = launch.payload(cheap, LaunchPlan(), name="cheap", places=1, filters=[], project=project)
    client.create_study(body | {"reward": 1})


def leave_in_every_way(prolific, row, study) -> None:
    for answers, leave in ((1, prolific.world.give_back), (2, prolific.world.time_out)):
        person, annotator = arrive(prolific, row)
        answer_some(annotator, answers)
        leave(person["submission"])
        follow(study_id=study.pk)


def settle(study) -> None:
    follow(study_id=study.pk)
    found = settlement(study)
    chosen = [r.submission.pk for r in found.rows if r.action == APPROVE]
    approve(study_id=study.pk, submission_ids=chosen, confirmed=len(chosen))
    owed = [
        BonusLine(r.submission.pk, r.bonus, r.bonus_reason) for r in found.rows if r.action == BONUS
    ]
    payment = money.set_up(payment_id=money.prepare(study_id=study.pk, lines=owed).pk)
    money.pay(payment_id=payment.pk, confirmed=payment.total)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("stop", ["COMPLETED", "AWAITING REVIEW"])
@pytest.mark.parametrize("publishes", ["PUBLISHING", "ACTIVE"])
def test_a_stopped_study_lets_people_finish_and_opens_again_with_new_places(
    stop, publishes, prolific
):
    prolific.world.behaviour.stop, prolific.world.behaviour.publishes = stop, publishes
    study = make_recruiting()
    row = published(study)
    person, annotator = arrive(prolific, row)
    follow(study_id=study.pk)

    publication.change(study_id=study.pk, action="STOP")
    finish(prolific, person, annotator)
    add_beyond(row, 1)

    assert prolific.world.show_study(row.prolific_id)["status"] == "ACTIVE"


@pytest.mark.parametrize("field", ["currency_code", "presentment_currency_code"])
def test_the_currency_has_two_names(field, prolific):
    study = make_recruiting()
    row = launched(study)
    remote = prolific.world.studies[row.prolific_id]
    remote[field] = remote.pop("currency_code")

    assert launch.connect(row.study_id).study(row.prolific_id).currency == "USD"
