"""Bonuses are paid once, whatever is lost on the way."""

import datetime as dt
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.models import Bonus, ProlificStudy, ProlificSubmission
from annotation.prolific import money
from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.transport import (
    NotAllowed,
    OutcomeUnknown,
    ProlificError,
    ProlificRejected,
)
from annotation.prolific.money import BonusLine, pro_rata
from annotation.prolific.settle.decisions import approve
from annotation.prolific.settle.proposals import IN_FULL, settlement
from annotation.prolific.sync.sync import follow
from demo.prolific.world import ProlificWorld
from studies.money import major_units
from tests.annotation.prolific.conftest import served
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

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def published_once(module_db: None) -> tuple[ProlificWorld, int]:
    """A study on the simulated Prolific, where two people returned with part of the work."""
    with served() as simulated:
        row = published(make_recruiting())
        two_return(row, simulated)
    return simulated.world, row.pk


@pytest.fixture
def owed(row) -> list[BonusLine]:
    return owed_in(row.study)


@given(reward=st.integers(1, 100_000), part=st.integers(0, 400), whole=st.integers(1, 400))
def test_a_pro_rata_bonus_is_exact_and_never_more_than_the_reward(reward, part, whole):
    exact = min(Fraction(reward), Fraction(reward * part, whole))

    paid = pro_rata(reward=reward, shares=[Decimal(part) / whole])

    assert abs(Fraction(paid) - exact) <= Fraction(1, 2)
    assert 0 <= paid <= reward


@given(st.integers(1, 10_000_000), st.sampled_from(["USD", "GBP", "JPY", "KWD"]))
def test_major_units_have_the_decimals_of_the_currency(amount, currency):
    shown = major_units(amount, currency)

    places = {"JPY": 0, "KWD": 3}.get(currency, 2)
    assert shown * 10**places == amount
    assert -shown.as_tuple().exponent == places


def test_a_currency_without_cents_is_paid_and_shown_without_them(study, row, prolific):
    ProlificStudy.objects.update(currency="JPY")
    study.currency = prolific.world.currency = "JPY"
    study.save(update_fields=["currency"])

    payment = ready(study, owed_in(study))
    with pytest.raises(NotAllowed, match="total is 420 JPY"):
        money.pay(payment_id=payment.pk, confirmed=1)
    money.pay(payment_id=payment.pk, confirmed=payment.total)

    assert paid_there(prolific) == [[150], [150]]


def test_bonuses_are_set_up_shown_and_paid_once(study, owed, prolific):
    payment = ready(study, owed)
    assert paid_there(prolific) == [[], []]
    assert payment.total == 300 + 100 + 20

    paid = money.pay(payment_id=payment.pk, confirmed=payment.total)

    assert paid.state == "paid"
    assert paid_there(prolific) == [[150], [150]]
    with pytest.raises(NotAllowed, match="paid"):
        money.pay(payment_id=payment.pk, confirmed=payment.total)
    assert paid_there(prolific) == [[150], [150]]


def test_the_same_work_is_never_proposed_for_payment_twice(study, owed, prolific):
    ready(study, owed)

    with pytest.raises(NotAllowed, match="already"):
        money.prepare(study_id=study.pk, lines=owed)
    assert [r.bonus for r in settlement(study).rows] == [0, 0]
    assert Bonus.objects.count() == 2


@pytest.mark.parametrize("fault", ["dropped_before", "dropped_after", "502_html", "429"])
def test_no_fault_pays_a_bonus_twice_and_none_loses_one(fault, study, owed, prolific, monkeypatch):
    payment = ready(study, owed)
    prolific.fault("POST", "/pay/", fault)

    with pytest.raises(ProlificError):
        money.pay(payment_id=payment.pk, confirmed=payment.total)
    with suppress(ProlificError):
        money.pay(payment_id=payment.pk, confirmed=payment.total)
    follow(study_id=study.pk)
    payment.refresh_from_db()
    if payment.state == "sent":
        assert paid_there(prolific) == [[], []]
        with pytest.raises(NotAllowed, match="after 15 minutes"):
            money.release(payment_id=payment.pk)
        monkeypatch.setattr(money, "SETTLES_WITHIN", dt.timedelta(0))
        money.release(payment_id=payment.pk)
        money.pay(payment_id=payment.pk, confirmed=payment.total)

    payment.refresh_from_db()
    assert payment.state == "paid"
    assert paid_there(prolific) == [[150], [150]]


def test_a_payment_that_arrived_is_not_released(study, owed, prolific, monkeypatch):
    payment = ready(study, owed)
    prolific.fault("POST", "/pay/", "dropped_after")
    with pytest.raises(OutcomeUnknown):
        money.pay(payment_id=payment.pk, confirmed=payment.total)
    monkeypatch.setattr(money, "SETTLES_WITHIN", dt.timedelta(0))

    assert money.release(payment_id=payment.pk).state == "paid"
    assert paid_there(prolific) == [[150], [150]]


def test_a_payment_that_reached_only_some_needs_a_person(study, owed, prolific, monkeypatch):
    payment = ready(study, owed)
    prolific.fault("POST", "/pay/", "dropped_before")
    with pytest.raises(OutcomeUnknown):
        money.pay(payment_id=payment.pk, confirmed=payment.total)
    next(iter(prolific.world.submissions.values())).bonuses.append(150)
    monkeypatch.setattr(money, "SETTLES_WITHIN", dt.timedelta(0))

    with pytest.raises(NotAllowed, match="support"):
        money.release(payment_id=payment.pk)


def test_a_crash_after_sending_never_pays_again(study, owed, prolific, monkeypatch):
    payment = ready(study, owed)

    def crash(self, bulk_id):
        prolific.world.pay_bonuses(bulk_id)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("annotation.prolific.api.client.ProlificClient.pay_bonuses", crash)
        with pytest.raises(KeyboardInterrupt):
            money.pay(payment_id=payment.pk, confirmed=payment.total)
    with pytest.raises(NotAllowed, match="sent"):
        money.pay(payment_id=payment.pk, confirmed=payment.total)
    follow(study_id=study.pk)

    payment.refresh_from_db()
    assert (payment.state, paid_there(prolific)) == ("paid", [[150], [150]])


def test_while_a_payment_is_unclear_no_other_is_prepared(study, owed, prolific):
    payment = ready(study, owed)
    prolific.fault("POST", "/pay/", "dropped_before")
    with pytest.raises(OutcomeUnknown):
        money.pay(payment_id=payment.pk, confirmed=payment.total)

    with pytest.raises(NotAllowed, match="not confirmed"):
        money.prepare(study_id=study.pk, lines=[BonusLine(owed[0].submission_id, 50, "thanks")])


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("fault", ["dropped_before", "dropped_after", "401", "malformed"])
def test_a_set_up_that_failed_is_made_again_and_costs_nothing(fault, study, owed, prolific):
    payment = money.prepare(study_id=study.pk, lines=owed)
    prolific.fault("POST", "bonus-payments/", fault)

    with pytest.raises(ProlificError):
        money.set_up(payment_id=payment.pk)
    payment = money.set_up(payment_id=payment.pk)
    money.pay(payment_id=payment.pk, confirmed=payment.total)

    assert paid_there(prolific) == [[150], [150]]


def test_a_second_payment_waits_until_the_first_one_is_clear(study, owed, prolific):
    """Its bonuses, of the same amounts, would be taken for those of the first."""
    first = ready(study, owed)
    second = ready(study, [replace(line, reason="a helpful comment") for line in owed])
    prolific.fault("POST", "/pay/", "dropped_before")
    with pytest.raises(OutcomeUnknown):
        money.pay(payment_id=first.pk, confirmed=first.total)

    with pytest.raises(NotAllowed, match="not confirmed yet"):
        money.pay(payment_id=second.pk, confirmed=second.total)
    follow(study_id=study.pk)

    first.refresh_from_db()
    assert (first.state, paid_there(prolific)) == ("sent", [[], []])


def test_an_answer_without_bonuses_is_not_read_as_unpaid(study, owed, prolific, monkeypatch):
    payment = ready(study, owed)
    prolific.fault("POST", "/pay/", "dropped_after")
    with pytest.raises(OutcomeUnknown):
        money.pay(payment_id=payment.pk, confirmed=payment.total)
    ask = ProlificClient.ask

    def without_bonuses(self, method, path, **options):
        answer = ask(self, method, path, **options)
        answer.pop("bonus_payments", None)
        return answer

    monkeypatch.setattr(money, "SETTLES_WITHIN", dt.timedelta(0))
    with monkeypatch.context() as patched:
        patched.setattr(ProlificClient, "ask", without_bonuses)
        with pytest.raises(OutcomeUnknown, match="does not say which bonuses"):
            money.release(payment_id=payment.pk)
        follow(study_id=study.pk)
        payment.refresh_from_db()
        assert payment.state == "sent"

    follow(study_id=study.pk)
    payment.refresh_from_db()
    assert (payment.state, paid_there(prolific)) == ("paid", [[150], [150]])


@pytest.mark.parametrize(("status", "state"), [(408, "sent"), (409, "sent"), (400, "ready")])
def test_only_a_documented_refusal_means_that_nothing_was_paid(
    status, state, study, owed, prolific, monkeypatch
):
    def answered(self, bulk_id):
        raise ProlificRejected("No.", status=status)

    payment = ready(study, owed)
    monkeypatch.setattr(ProlificClient, "pay_bonuses", answered)

    with pytest.raises(ProlificRejected):
        money.pay(payment_id=payment.pk, confirmed=payment.total)

    payment.refresh_from_db()
    assert payment.state == state


def test_a_cancelled_payment_is_owed_again(study, owed, prolific):
    payment = ready(study, owed)

    money.cancel(payment_id=payment.pk)

    assert [r.bonus for r in settlement(study).rows] == [150, 150]
    with pytest.raises(NotAllowed, match="cancelled"):
        money.pay(payment_id=payment.pk, confirmed=payment.total)


@pytest.mark.parametrize("lines", [[], [(0, "x")], [(5, " ")]])
def test_a_bonus_needs_people_an_amount_and_a_reason(lines, study, owed):
    wanted = [BonusLine(owed[0].submission_id, *rest) for rest in lines]

    with pytest.raises(NotAllowed):
        money.prepare(study_id=study.pk, lines=wanted)


def test_a_payment_that_is_cancelled_while_prolific_answers_stays_cancelled(
    study, owed, prolific, monkeypatch
):
    payment = money.prepare(study_id=study.pk, lines=owed)
    ask = ProlificClient.set_up_bonuses

    def answer_late(self, *args):
        made = ask(self, *args)
        money.cancel(payment_id=payment.pk)
        return made

    with monkeypatch.context() as patch:
        patch.setattr(ProlificClient, "set_up_bonuses", answer_late)
        with pytest.raises(NotAllowed, match="cancelled"):
            money.set_up(payment_id=payment.pk)

    with pytest.raises(NotAllowed, match="cancelled"):
        money.pay(payment_id=payment.pk, confirmed=payment.total)
    again = ready(study, owed)
    money.pay(payment_id=again.pk, confirmed=again.total)
    assert paid_there(prolific) == [[150], [150]]


@pytest.fixture
def came_back(row, prolific):
    """Somebody who handed in a part: a bonus for it, or an approval, is possible."""
    person, annotator = arrive(prolific, row)
    answer_some(annotator, 1)
    prolific.world.finish(person["submission"], "NOCODE")
    follow(study_id=row.study_id)
    came = ProlificSubmission.objects.get(submission_id=person["submission"])
    (line,) = [each for each in owed_in(row.study) if each.submission_id == came.pk]
    return person, line


def test_a_bonus_for_a_part_excludes_the_full_reward(study, came_back, prolific):
    _, line = came_back
    payment = ready(study, [line])

    with pytest.raises(NotAllowed, match="has a bonus for this work"):
        approve(study_id=study.pk, submission_ids=[line.submission_id], confirmed=1)
    with pytest.raises(NotAllowed, match="already has a bonus for their work"):
        money.prepare(study_id=study.pk, lines=[replace(line, reason=IN_FULL)])
    money.prepare(study_id=study.pk, lines=[replace(line, reason="thanks")])

    money.cancel(payment_id=payment.pk)
    approve(study_id=study.pk, submission_ids=[line.submission_id], confirmed=1)
    with pytest.raises(NotAllowed, match="already approved"):
        money.prepare(study_id=study.pk, lines=[line])


def test_a_bonus_for_a_part_is_not_paid_once_prolific_has_approved(study, came_back, prolific):
    person, line = came_back
    payment = ready(study, [line])
    prolific.world.approve([person["submission"]])
    prolific.world.settle_approvals()

    with pytest.raises(NotAllowed, match="has since been approved on Prolific"):
        money.pay(payment_id=payment.pk, confirmed=payment.total)

    assert paid_there(prolific) == [[], [], []]
