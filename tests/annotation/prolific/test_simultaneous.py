"""Several people press at the same moment: what costs money happens once."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from django.db import connection

from annotation.models import BonusPayment
from annotation.prolific import money
from annotation.prolific.api.transport import NotAllowed
from annotation.prolific.money import IN_FULL, PARTIAL, BonusLine
from annotation.prolific.settle.decisions import approve
from annotation.prolific.sync.sync import follow
from tests.annotation.prolific.life import (
    answer_some,
    arrive,
    make_recruiting,
    owed_in,
    paid_there,
    published,
    ready,
    two_return,
)
from tests.invariants import broken_invariants
from tests.together import run_together


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_people_who_pay_at_the_same_moment_pay_once(prolific):
    row = published(make_recruiting())
    two_return(row, prolific)
    payment = ready(row.study, owed_in(row.study))

    def press(_):
        with suppress(NotAllowed):
            money.pay(payment_id=payment.pk, confirmed=payment.total)
        connection.close()

    with ThreadPoolExecutor(max_workers=6) as pool:
        list(pool.map(press, range(6)))

    assert paid_there(prolific) == [[150], [150]]
    assert BonusPayment.objects.get().state == "paid"


def money_buttons(study, submission_id: int, payment_id: int) -> dict[str, Callable[[], object]]:
    """What can be pressed about the money of one person."""

    def prepare(reason: str) -> Callable[[], object]:
        line = BonusLine(submission_id, 150, reason)
        return lambda: money.prepare(study_id=study.pk, lines=[line])

    return {
        "set up": lambda: money.set_up(payment_id=payment_id),
        "pay": lambda: money.pay(payment_id=payment_id, confirmed=210),
        "cancel": lambda: money.cancel(payment_id=payment_id),
        "part": prepare(PARTIAL),
        "whole": prepare(IN_FULL),
        "approve": lambda: approve(study_id=study.pk, submission_ids=[submission_id], confirmed=1),
    }


BUTTONS = ("set up", "pay", "cancel", "part", "whole", "approve")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.sampled(keep=3)
@pytest.mark.parametrize("state", ["none", "prepared", "ready"])
@pytest.mark.parametrize("pair", [*itertools.combinations_with_replacement(BUTTONS, 2)])
def test_two_people_settling_at_once_pay_everybody_once(pair, state, prolific):
    row = published(make_recruiting())
    person, annotator = arrive(prolific, row)
    answer_some(annotator, 1)
    prolific.world.finish(person["submission"], "NOCODE")
    follow(study_id=row.study_id)
    submission = row.submissions.get()
    line = BonusLine(submission.pk, 150, PARTIAL)
    payment = money.prepare(study_id=row.study_id, lines=[line])
    if state == "ready":
        money.set_up(payment_id=payment.pk)
    elif state == "none":
        money.cancel(payment_id=payment.pk)
    buttons = money_buttons(row.study, submission.pk, payment.pk)

    errors = run_together(lambda n: buttons[pair[n]](), [0, 1])
    prolific.world.settle_approvals()
    follow(study_id=row.study_id)

    assert all(isinstance(error, NotAllowed) for error in errors), errors
    assert broken_invariants("payments") == []
    status = prolific.world.submissions[person["submission"]].status
    assert len(paid_there(prolific)[0]) + (status == "APPROVED") <= 1
