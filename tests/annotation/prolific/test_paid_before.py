"""What was paid stays known: after ids are deleted, and after Prolific shows another status."""

from contextlib import suppress

import pytest

from annotation.models import Bonus, BonusPayment, ProlificIdentity, ProlificSubmission
from annotation.prolific import money
from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.transport import NotAllowed, OutcomeUnknown, ProlificError
from annotation.prolific.money import BonusLine
from annotation.prolific.settle.decisions import approve, reject, request_returns
from annotation.prolific.settle.proposals import IN_FULL, NONE, settlement
from annotation.prolific.sync.sync import follow
from annotation.services.identities import purge_identities
from tests.annotation.prolific.life import (
    arrive,
    finish,
    owed_in,
    paid_there,
    ready,
    two_return,
)

pytestmark = pytest.mark.django_db


def ids_here() -> set[str]:
    stored = ProlificSubmission.objects.values_list("submission_id", "participant", "code")
    return {word for row in stored for word in row if word}


def test_a_bonus_is_not_paid_again_after_ids_were_deleted(row, prolific):
    two_return(row, prolific)
    payment = ready(row.study, owed_in(row.study))
    money.pay(payment_id=payment.pk, confirmed=payment.total)
    there = ids_here()

    purge_identities(study_id=row.study_id)
    follow(study_id=row.study_id)

    assert not ids_here() & there
    assert not ProlificIdentity.objects.exists()
    assert [(line.action, line.bonus) for line in settlement(row.study).rows] == [(NONE, 0)] * 2
    assert paid_there(prolific) == [[150], [150]]


def test_who_is_still_to_be_paid_comes_back_after_ids_were_deleted(row, prolific):
    finish(prolific, *arrive(prolific, row))
    follow(study_id=row.study_id)

    purge_identities(study_id=row.study_id)
    follow(study_id=row.study_id)
    (line,) = settlement(row.study).rows

    assert line.may_approve
    done = approve(study_id=row.study_id, submission_ids=[line.submission.pk], confirmed=1)
    assert done.approved == 1


def test_an_unclear_payment_stays_unclear_after_ids_were_deleted(row, prolific, monkeypatch):
    two_return(row, prolific)
    payment = ready(row.study, owed_in(row.study))

    def lost(*args: object) -> None:
        raise OutcomeUnknown("The answer was lost.")

    with monkeypatch.context() as patched:
        patched.setattr(ProlificClient, "pay_bonuses", lost)
        with suppress(ProlificError):
            money.pay(payment_id=payment.pk, confirmed=payment.total)
    BonusPayment.objects.update(sent_at="2020-01-01T00:00:00Z")
    purge_identities(study_id=row.study_id)
    follow(study_id=row.study_id)

    with pytest.raises(NotAllowed, match="ids of these participants were deleted"):
        money.release(payment_id=payment.pk)
    assert BonusPayment.objects.get().state == "sent"


def test_nothing_is_sent_for_people_whose_ids_were_deleted(row, prolific):
    two_return(row, prolific)
    payment = ready(row.study, owed_in(row.study))
    purge_identities(study_id=row.study_id)
    ProlificSubmission.objects.update(status="AWAITING REVIEW")
    one = ProlificSubmission.objects.first()
    asked = len(prolific.requests)

    with pytest.raises(NotAllowed, match="ids of these participants were deleted"):
        money.pay(payment_id=payment.pk, confirmed=payment.total, typed="4.20")
    with pytest.raises(NotAllowed, match="their ids were deleted"):
        approve(study_id=row.study_id, submission_ids=[one.pk], confirmed=1)
    assert request_returns(study_id=row.study_id, submission_ids=[one.pk], reason="Left") == 0
    with pytest.raises(NotAllowed):
        reject(
            study_id=row.study_id,
            submission_id=one.pk,
            category="NO_DATA",
            message="x" * 100,
            user=None,
        )
    assert not [r for r in prolific.requests[asked:] if "submissions" in str(r)]


@pytest.mark.parametrize("status", ["RETURNED", "TIMED-OUT"])
def test_who_was_approved_gets_no_bonus_for_the_same_work(status, row, prolific):
    person, annotator = arrive(prolific, row)
    finish(prolific, person, annotator)
    follow(study_id=row.study_id)
    (one,) = ProlificSubmission.objects.all()
    approve(study_id=row.study_id, submission_ids=[one.pk], confirmed=1)

    prolific.world.submissions[person["submission"]].status = status
    follow(study_id=row.study_id)
    (line,) = settlement(row.study).rows

    assert (line.action, line.bonus) == (NONE, 0)
    assert "approved earlier" in line.reason
    with pytest.raises(NotAllowed, match="was approved"):
        money.prepare(study_id=row.study_id, lines=[BonusLine(one.pk, 450, IN_FULL)])
    assert not Bonus.objects.exists()
