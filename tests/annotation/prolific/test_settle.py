"""Settling: the right proposal for everybody, approvals that last, and money paid once."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import pytest
from django.contrib.auth.models import User
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from annotation import services
from annotation.models import Annotator, Bonus, BonusPayment, ProlificStudy, ProlificSubmission
from annotation.prolific import bonuses, launch
from annotation.prolific.bonuses import Line, major, pro_rata
from annotation.prolific.demographics import fetch
from annotation.prolific.errors import NotAllowed, OutcomeUnknown, ProlificError
from annotation.prolific.plan import Plan
from annotation.prolific.settle import (
    APPROVE,
    BONUS,
    GROUNDS,
    IN_FULL,
    PARTIAL,
    RETURN,
    REVIEW,
    WAIT,
    approve,
    reject,
    request_returns,
    settlement,
)
from annotation.prolific.sync import follow
from studies.models import Item
from tests.annotation.prolific.life import (
    BALANCE,
    answer_some,
    arrive,
    finish,
    make_recruiting,
    published,
    with_quotas,
)
from tests.factories import answer_all

pytestmark = pytest.mark.django_db
MESSAGE = "You answered every one of the questions in less than a second, so nothing was read. " * 2
LOST = ["dropped_before", "dropped_after", "500", "502_html"]
REFUSED = ["429", "429_wait", "401", "404"]


@pytest.fixture
def study():
    return make_recruiting()


@pytest.fixture
def row(study, prolific) -> ProlificStudy:
    return published(study)


@pytest.fixture
def user() -> User:
    return User.objects.create_user("researcher")


def only(study):
    follow(study_id=study.pk)
    (found,) = settlement(study).rows
    return found


def submission_of(person) -> ProlificSubmission:
    return ProlificSubmission.objects.get(submission_id=person["submission"])


# Proposals


def test_complete_here_and_awaiting_review_there_is_approved(study, row, prolific):
    finish(prolific, *arrive(prolific, row))

    assert (only(study).action, only(study).bonus) == (APPROVE, 0)


@pytest.mark.parametrize("code", ["NOCODE", "mistyped"])
def test_all_data_without_our_code_is_approved(code, study, row, prolific):
    finish(prolific, *arrive(prolific, row), code=code)

    assert only(study).action == APPROVE
    assert "without one of our codes" in only(study).reason


def test_a_code_without_data_is_looked_at_by_a_person(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    code = prolific.world.studies[row.prolific_id]["completion_codes"][0]["code"]
    prolific.world.finish(person["submission"], code)

    assert only(study).action == REVIEW


def test_no_code_and_no_data_is_asked_to_return(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.world.finish(person["submission"], "NOCODE")

    assert only(study).action == RETURN


def test_partial_work_awaiting_review_returns_and_is_paid_for_its_part(study, row, prolific):
    person, annotator = arrive(prolific, row)
    answer_some(annotator, 1)
    prolific.world.finish(person["submission"], "NOCODE")

    found = only(study)

    assert (found.action, found.bonus, found.bonus_reason) == (RETURN, 150, PARTIAL)
    assert found.work.minutes == pytest.approx(1.0)


def test_complete_here_and_timed_out_there_is_paid_in_full_by_a_bonus(study, row, prolific):
    person, annotator = arrive(prolific, row)
    answer_all(annotator)
    services.complete(annotator_id=annotator.pk)
    prolific.world.time_out(person["submission"])

    found = only(study)

    assert (found.action, found.bonus, found.bonus_reason) == (BONUS, 450, IN_FULL)


def test_returned_with_answers_is_paid_for_its_part(study, row, prolific):
    person, annotator = arrive(prolific, row)
    answer_some(annotator, 2)
    prolific.world.give_back(person["submission"])

    assert (only(study).action, only(study).bonus) == (BONUS, 300)


def test_who_withdrew_is_asked_to_return_and_their_work_is_not_counted(study, row, prolific):
    person, annotator = arrive(prolific, row)
    answer_some(annotator, 2)
    services.withdraw(annotator_id=annotator.pk)
    prolific.world.finish(person["submission"], "NOCODE")

    assert (only(study).action, only(study).bonus) == (RETURN, 0)


def test_who_is_under_way_is_waited_for(study, row, prolific):
    arrive(prolific, row)

    assert only(study).action == WAIT


def test_failed_attention_checks_are_looked_at_and_never_rejected_by_themselves(
    study, row, prolific
):
    person, annotator = arrive(prolific, row)
    finish(prolific, person, annotator)
    Annotator.objects.filter(pk=annotator.pk).update(failed_attention=True)

    assert only(study).action == REVIEW


def test_of_two_submissions_of_one_person_one_is_paid(study, row, prolific):
    person, annotator = arrive(prolific, row)
    finish(prolific, person, annotator)
    follow(study_id=study.pk)
    ProlificSubmission.objects.create(
        prolific_study=row, annotator=annotator, submission_id="d" * 24, status="AWAITING REVIEW"
    )

    first, second = sorted(settlement(study).rows, key=lambda r: r.submission.pk)

    assert (first.action, second.action) == (APPROVE, REVIEW)


def test_who_is_unknown_to_prolific_is_named(study, row, prolific):
    services.enter(study_id=study.pk, pid="c" * 24, session_id="e" * 24)
    follow(study_id=study.pk)

    assert len(settlement(study).unknown) == 1


def test_other_answers_there_are_shown_and_never_a_ground(prolific):
    study = with_quotas(make_recruiting(), each=1)
    row = published(study, Plan(balance=BALANCE))
    person, annotator = arrive(prolific, row)
    finish(prolific, person, annotator)
    follow(study_id=study.pk)
    fetch(study_id=study.pk)
    assert only(study).mismatch == ""

    other = {"man": "woman", "woman": "man"}[annotator.demographics["gender"]]
    Annotator.objects.filter(pk=annotator.pk).update(
        demographics={**annotator.demographics, "gender": other}
    )

    assert f"here “{other}”" in only(study).mismatch
    assert only(study).action == APPROVE


# Approving


def awaiting(prolific, row, people: int) -> list[int]:
    for _ in range(people):
        finish(prolific, *arrive(prolific, row))
    follow(study_id=row.study_id)
    return list(ProlificSubmission.objects.values_list("pk", flat=True))


def test_people_are_approved_in_bulk_after_their_number_is_confirmed(study, row, prolific):
    ids = awaiting(prolific, row, 3)

    with pytest.raises(NotAllowed, match="changed meanwhile"):
        approve(study_id=study.pk, submission_ids=ids, confirmed=2)
    result = approve(study_id=study.pk, submission_ids=ids, confirmed=3)

    assert (result.asked, result.approved) == (3, 3)
    assert {s.status for s in prolific.world.submissions.values()} == {"APPROVED"}


def test_who_left_meanwhile_is_not_approved_and_is_told(study, row, prolific):
    ids = awaiting(prolific, row, 2)
    gone = next(iter(prolific.world.submissions))
    prolific.world.give_back(gone)

    result = approve(study_id=study.pk, submission_ids=ids, confirmed=2)

    assert (result.asked, result.approved, dict(result.gone)) == (1, 1, {"RETURNED": 1})


def test_submissions_of_another_study_are_not_approved(study, row, prolific):
    ids = awaiting(prolific, row, 1)
    other = make_recruiting()
    published(other)

    with pytest.raises(NotAllowed, match="not of this study"):
        approve(study_id=other.pk, submission_ids=ids, confirmed=1)


@pytest.mark.parametrize("fault", [*LOST, *REFUSED])
def test_an_approval_that_a_fault_lost_is_asked_for_again(fault, study, row, prolific):
    ids = awaiting(prolific, row, 2)
    prolific.fault("POST", "bulk-approve/", fault)

    with suppress(ProlificError):
        approve(study_id=study.pk, submission_ids=ids, confirmed=2)
    ProlificSubmission.objects.update(approval_asked_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    follow(study_id=study.pk)
    follow(study_id=study.pk)

    assert set(ProlificSubmission.objects.values_list("status", flat=True)) == {"APPROVED"}


# Rejecting and asking to return


def test_a_rejection_needs_a_person_a_ground_and_a_message(study, row, prolific, user):
    (pk,) = awaiting(prolific, row, 1)

    for who, category, message, words in (
        (None, "LOW_EFFORT", MESSAGE, "Only a person"),
        (user, "OTHER", MESSAGE, "grounds"),
        (user, "LOW_EFFORT", "Too short.", "at least 100"),
        (user, "LOW_EFFORT", " " * 200, "at least 100"),
        (user, "FAILED_CHECK", MESSAGE, "did not fail"),
        (user, "NO_DATA", MESSAGE, "answers of theirs"),
        (user, "TOO_QUICKLY", MESSAGE, "standard deviations"),
    ):
        with pytest.raises(NotAllowed, match=words):
            reject(
                study_id=study.pk, submission_id=pk, category=category, message=message, user=who
            )
    assert prolific.world.submissions[submission_id(pk)].status == "AWAITING REVIEW"

    reject(study_id=study.pk, submission_id=pk, category="LOW_EFFORT", message=MESSAGE, user=user)

    assert Annotator.objects.get().state == Annotator.State.REJECTED
    assert sum(Item.objects.values_list("seats_taken", flat=True)) == 0


def submission_id(pk: int) -> str:
    return ProlificSubmission.objects.values_list("submission_id", flat=True).get(pk=pk)


def test_no_ground_is_disagreement_accuracy_or_certainty():
    words = " ".join([*GROUNDS, *GROUNDS.values()]).lower()
    assert not any(word in words for word in ("disagree", "accura", "certain", "wrong", "truth"))


@pytest.mark.parametrize("reopens", [True, False])
def test_a_rejected_place_is_filled_again(reopens, prolific, user):
    prolific.world.behaviour.reopens_itself = reopens
    study = make_recruiting(items=2)
    row = published(study)
    ids = awaiting(prolific, row, 2)
    reject(
        study_id=study.pk, submission_id=ids[0], category="LOW_EFFORT", message=MESSAGE, user=user
    )

    assert launch.refill(study_id=study.pk) == (0 if reopens else 1)
    finish(prolific, *arrive(prolific, row))

    follow(study_id=study.pk)
    statuses = sorted(s.status for s in prolific.world.submissions.values())
    assert statuses == ["AWAITING REVIEW", "AWAITING REVIEW", "REJECTED"]


@pytest.mark.parametrize("fault", LOST)
def test_a_request_to_return_is_sent_once_whatever_is_lost(fault, study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.world.finish(person["submission"], "NOCODE")
    follow(study_id=study.pk)
    pk = submission_of(person).pk
    prolific.fault("POST", "request-return/", fault)
    prolific.requests.clear()

    for _ in range(2):
        with suppress(OutcomeUnknown):
            request_returns(study_id=study.pk, submission_ids=[pk], reason="No answers")

    assert sum("request-return" in line for line in prolific.requests) == 1


def test_a_refused_request_to_return_can_be_sent_again(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.world.finish(person["submission"], "NOCODE")
    follow(study_id=study.pk)
    pk = submission_of(person).pk
    prolific.fault("POST", "request-return/", "401")

    with pytest.raises(ProlificError):
        request_returns(study_id=study.pk, submission_ids=[pk], reason="No answers")

    assert request_returns(study_id=study.pk, submission_ids=[pk], reason="No answers") == 1


# Bonuses


@given(reward=st.integers(1, 100_000), part=st.integers(0, 400), whole=st.integers(1, 400))
def test_a_pro_rata_bonus_is_exact_and_never_more_than_the_reward(reward, part, whole):
    exact = min(Fraction(reward), Fraction(reward * part, whole))

    paid = pro_rata(reward=reward, shares=[Decimal(part) / whole])

    assert abs(Fraction(paid) - exact) <= Fraction(1, 2)
    assert 0 <= paid <= reward


@given(st.integers(1, 10_000_000))
def test_major_units_are_the_minor_ones_to_the_cent(amount):
    assert Decimal(major(amount)) * 100 == amount
    assert len(major(amount).split(".")[1]) == 2


@pytest.fixture
def owed(study, row, prolific) -> list[Line]:
    """Two people who returned with part of the work."""
    for _ in range(2):
        person, annotator = arrive(prolific, row)
        answer_some(annotator, 1)
        prolific.world.give_back(person["submission"])
    follow(study_id=study.pk)
    return [Line(r.submission.pk, r.bonus, r.bonus_reason) for r in settlement(study).rows]


def paid_there(prolific) -> list[list[int]]:
    return [s.bonuses for s in prolific.world.submissions.values()]


def ready(study, owed) -> BonusPayment:
    payment = bonuses.prepare(study_id=study.pk, lines=owed)
    return bonuses.set_up(payment_id=payment.pk)


def test_bonuses_are_set_up_shown_and_paid_once(study, owed, prolific):
    payment = ready(study, owed)
    assert paid_there(prolific) == [[], []]
    assert payment.total == 300 + 100 + 20

    paid = bonuses.pay(payment_id=payment.pk, confirmed=payment.total)

    assert paid.state == "paid"
    assert paid_there(prolific) == [[150], [150]]
    with pytest.raises(NotAllowed, match="paid"):
        bonuses.pay(payment_id=payment.pk, confirmed=payment.total)
    assert paid_there(prolific) == [[150], [150]]


def test_another_total_than_the_one_seen_is_not_paid(study, owed, prolific):
    payment = ready(study, owed)

    with pytest.raises(NotAllowed, match=r"total is 4\.20"):
        bonuses.pay(payment_id=payment.pk, confirmed=300)

    assert paid_there(prolific) == [[], []]


def test_the_same_work_is_never_owed_twice(study, owed, prolific):
    ready(study, owed)

    with pytest.raises(NotAllowed, match="already"):
        bonuses.prepare(study_id=study.pk, lines=owed)
    assert [r.bonus for r in settlement(study).rows] == [0, 0]
    assert Bonus.objects.count() == 2


@pytest.mark.parametrize("fault", [*LOST, *REFUSED])
def test_no_fault_pays_a_bonus_twice_and_none_loses_one(fault, study, owed, prolific, monkeypatch):
    payment = ready(study, owed)
    prolific.fault("POST", "/pay/", fault)

    with pytest.raises(ProlificError):
        bonuses.pay(payment_id=payment.pk, confirmed=payment.total)
    with suppress(ProlificError):
        bonuses.pay(payment_id=payment.pk, confirmed=payment.total)
    follow(study_id=study.pk)
    payment.refresh_from_db()
    if payment.state == "sent":
        assert paid_there(prolific) == [[], []]
        with pytest.raises(NotAllowed, match="after 15 minutes"):
            bonuses.release(payment_id=payment.pk)
        monkeypatch.setattr(bonuses, "SETTLES_WITHIN", dt.timedelta(0))
        bonuses.release(payment_id=payment.pk)
        bonuses.pay(payment_id=payment.pk, confirmed=payment.total)

    payment.refresh_from_db()
    assert payment.state == "paid"
    assert paid_there(prolific) == [[150], [150]]


def test_a_payment_that_arrived_is_not_released(study, owed, prolific, monkeypatch):
    payment = ready(study, owed)
    prolific.fault("POST", "/pay/", "dropped_after")
    with pytest.raises(OutcomeUnknown):
        bonuses.pay(payment_id=payment.pk, confirmed=payment.total)
    monkeypatch.setattr(bonuses, "SETTLES_WITHIN", dt.timedelta(0))

    assert bonuses.release(payment_id=payment.pk).state == "paid"
    assert paid_there(prolific) == [[150], [150]]


def test_a_payment_that_reached_some_is_left_to_a_person(study, owed, prolific, monkeypatch):
    payment = ready(study, owed)
    prolific.fault("POST", "/pay/", "dropped_before")
    with pytest.raises(OutcomeUnknown):
        bonuses.pay(payment_id=payment.pk, confirmed=payment.total)
    next(iter(prolific.world.submissions.values())).bonuses.append(150)
    monkeypatch.setattr(bonuses, "SETTLES_WITHIN", dt.timedelta(0))

    with pytest.raises(NotAllowed, match="support"):
        bonuses.release(payment_id=payment.pk)


def test_a_crash_after_sending_never_pays_again(study, owed, prolific, monkeypatch):
    payment = ready(study, owed)

    def crash(self, bulk_id):
        prolific.world.pay_bonuses(bulk_id)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("annotation.prolific.client.Client.pay_bonuses", crash)
        with pytest.raises(KeyboardInterrupt):
            bonuses.pay(payment_id=payment.pk, confirmed=payment.total)
    with pytest.raises(NotAllowed, match="sent"):
        bonuses.pay(payment_id=payment.pk, confirmed=payment.total)
    follow(study_id=study.pk)

    payment.refresh_from_db()
    assert (payment.state, paid_there(prolific)) == ("paid", [[150], [150]])


def test_while_a_payment_is_unclear_no_other_is_prepared(study, owed, prolific):
    payment = ready(study, owed)
    prolific.fault("POST", "/pay/", "dropped_before")
    with pytest.raises(OutcomeUnknown):
        bonuses.pay(payment_id=payment.pk, confirmed=payment.total)

    with pytest.raises(NotAllowed, match="not confirmed"):
        bonuses.prepare(study_id=study.pk, lines=[Line(owed[0].submission_id, 50, "thanks")])


@pytest.mark.parametrize("fault", [*LOST, *REFUSED, "malformed", "empty"])
def test_a_set_up_that_failed_is_made_again_and_costs_nothing(fault, study, owed, prolific):
    payment = bonuses.prepare(study_id=study.pk, lines=owed)
    prolific.fault("POST", "bonus-payments/", fault)

    with pytest.raises(ProlificError):
        bonuses.set_up(payment_id=payment.pk)
    payment = bonuses.set_up(payment_id=payment.pk)
    bonuses.pay(payment_id=payment.pk, confirmed=payment.total)

    assert paid_there(prolific) == [[150], [150]]


def test_a_cancelled_payment_is_owed_again(study, owed, prolific):
    payment = ready(study, owed)

    bonuses.cancel(payment_id=payment.pk)

    assert [r.bonus for r in settlement(study).rows] == [150, 150]
    with pytest.raises(NotAllowed, match="cancelled"):
        bonuses.pay(payment_id=payment.pk, confirmed=payment.total)


@pytest.mark.parametrize("lines", [[], [(0, "x")], [(5, " ")]])
def test_a_bonus_needs_people_an_amount_and_a_reason(lines, study, owed):
    wanted = [Line(owed[0].submission_id, *rest) for rest in lines]

    with pytest.raises(NotAllowed):
        bonuses.prepare(study_id=study.pk, lines=wanted)


# All of it


def test_thirty_people_from_draft_to_payday(prolific, user):
    """Returns, time-outs and late finishers: every seat is filled and every place paid once."""
    study = with_quotas(make_recruiting(items=30, per_person=3), each=5)
    row = published(study, Plan(balance=BALANCE))
    left = 0
    while prolific.world.show_study(row.prolific_id)["status"] == "ACTIVE":
        person, annotator = arrive(prolific, row)
        left += 1
        if left in (3, 11):
            answer_some(annotator, 2)
            prolific.world.give_back(person["submission"])
        elif left == 7:
            prolific.world.time_out(person["submission"])
        elif left == 15:
            answer_all(annotator)
            services.complete(annotator_id=annotator.pk)
            prolific.world.time_out(person["submission"])
        else:
            finish(prolific, person, annotator)
        follow(study_id=study.pk)

    found = settlement(study)
    chosen = [r.submission.pk for r in found.proposing(APPROVE)]
    result = approve(study_id=study.pk, submission_ids=chosen, confirmed=len(chosen))
    payment = ready(
        study,
        [Line(r.submission.pk, r.bonus, r.bonus_reason) for r in found.proposing(BONUS)],
    )
    bonuses.pay(payment_id=payment.pk, confirmed=payment.total)

    statuses = [s.status for s in prolific.world.submissions.values()]
    assert result.approved == statuses.count("APPROVED") == 30
    assert (statuses.count("RETURNED"), statuses.count("TIMED-OUT")) == (2, 2)
    assert sorted(b for paid in paid_there(prolific) for b in paid) == [300, 300, 450]
    assert prolific.world.show_study(row.prolific_id)["status"] == "COMPLETED"
    assert set(Item.objects.filter(study=study).values_list("answered", flat=True)) == {3}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_people_who_pay_at_the_same_moment_pay_once(study, owed, prolific):
    payment = ready(study, owed)

    def press(_):
        with suppress(NotAllowed):
            bonuses.pay(payment_id=payment.pk, confirmed=payment.total)
        connection.close()

    with ThreadPoolExecutor(max_workers=6) as pool:
        list(pool.map(press, range(6)))

    assert paid_there(prolific) == [[150], [150]]
    assert BonusPayment.objects.get().state == "paid"
