"""The claim on a study holds as long as the work does: a second process never pays too."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.utils import timezone

from annotation.models import BonusPayment, Recruitment
from annotation.prolific import money
from annotation.prolific.api import claims
from annotation.prolific.api.claims import claimed
from annotation.prolific.api.transport import NotAllowed, Transport
from annotation.prolific.money import BonusLine
from annotation.prolific.sync.sync import follow
from tests.annotation.prolific.life import answer_some, arrive, paid_there, ready

pytestmark = pytest.mark.django_db
REASON = "thanks"


class Clock:
    """Time that passes with each request alone."""

    def __init__(self) -> None:
        self.now_is = timezone.now()

    def now(self) -> dt.datetime:
        return self.now_is


@pytest.fixture
def slow(monkeypatch):
    """Every request to Prolific takes a minute; returns what is called after each."""
    clock = Clock()
    afterwards: list[Callable[[], None]] = []
    once = Transport._once

    def take_a_minute(self, *args, **kwargs):
        answer = once(self, *args, **kwargs)
        clock.now_is += dt.timedelta(minutes=1)
        for look in afterwards:
            look()
        return answer

    monkeypatch.setattr(claims.clock, "now", clock.now)
    monkeypatch.setattr(Transport, "_once", take_a_minute)
    return clock, afterwards


@pytest.fixture
def payment(prolific, row) -> BonusPayment:
    for _ in range(5):
        person, annotator = arrive(prolific, row)
        answer_some(annotator, 1)
        prolific.world.give_back(person["submission"])
    follow(study_id=row.study_id)
    owed = [BonusLine(pk, 150, REASON) for pk in row.submissions.values_list("pk", flat=True)]
    return ready(row.study, owed)


def test_a_payment_that_takes_six_minutes_is_not_joined_by_a_second_one(payment, prolific, slow):
    study = payment.prolific_study.study_id
    refused = []

    def join() -> None:
        with pytest.raises(NotAllowed, match="in progress"), claimed(study):
            pass
        refused.append(study)

    slow[1].append(join)

    money.pay(payment_id=payment.pk, confirmed=payment.total)

    # The balance and five people are read, then the payment is sent.
    assert len(refused) == 7
    assert paid_there(prolific) == [[150]] * 5
    assert Recruitment.objects.get().busy_until is None


def test_after_losing_the_claim_nothing_more_is_sent(payment, prolific, slow, monkeypatch):
    """A process that slept past its claim, while somebody else took it, does not pay."""
    clock, afterwards = slow
    study = payment.prolific_study.study_id
    others = clock.now_is + dt.timedelta(hours=1)

    def somebody_else_takes_it() -> None:
        Recruitment.objects.filter(study=study).update(busy_until=others)

    afterwards.append(somebody_else_takes_it)

    with pytest.raises(NotAllowed, match="Nothing more was sent"):
        money.pay(payment_id=payment.pk, confirmed=payment.total)

    assert paid_there(prolific) == [[]] * 5
    payment.refresh_from_db()
    assert payment.state == "ready"
    assert Recruitment.objects.get().busy_until == others  # and theirs is left to them


def test_a_claim_that_a_crash_left_behind_ends_by_the_clock(row, slow):
    clock, _ = slow
    Recruitment.objects.update(busy_until=clock.now_is + dt.timedelta(minutes=3))
    with pytest.raises(NotAllowed), claimed(row.study_id):
        pass

    clock.now_is += dt.timedelta(minutes=4)

    with claimed(row.study_id):
        pass
