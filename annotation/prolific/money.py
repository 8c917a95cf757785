"""Money on Prolific: who may spend it, reservations, and bonuses.

    prepared → ready → sent → paid
                 ↑______| only if Prolific refused, or a user checks and nothing arrived

A payment whose answer was lost stays `sent`: reading the participants' bonuses resolves it, never
paying again.
"""

import datetime as dt
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from annotation.models import (
    AnnotatorEvent,
    Bonus,
    BonusPayment,
    ProlificReservation,
    ProlificStudy,
    ProlificSubmission,
    Recruitment,
)
from annotation.prolific.api import types
from annotation.prolific.api.claims import claimed
from annotation.prolific.api.client import MAX_BULK_BONUS, ProlificClient, connect
from annotation.prolific.api.transport import (
    Answered,
    NotAllowed,
    NotFound,
    OutcomeUnknown,
    ProlificError,
)
from annotation.prolific.spending import PlacesNeeded, Spending, spending
from annotation.services.identities import is_erased, with_ids
from studies.models import Membership, Study
from studies.money import format_money, major_units
from studies.selectors import studies_for
from studies.services.studies import lock_study, record
from studies.statements import clock


def is_owner(user: User, study: Study) -> bool:
    return studies_for(user, role=Membership.Role.OWNER).filter(pk=study.pk).exists()


def owners_only(user: User | None, study: Study) -> None:
    """Raise `NotAllowed` for users who are not owners; commands pass no user and are allowed."""
    if user is not None and not is_owner(user, study):
        raise NotAllowed(why_not(study))


def why_not(study: Study) -> str:
    """Why only an owner can continue, and whom to ask."""
    owned = Membership.objects.filter(study=study, role=Membership.Role.OWNER)
    names = ", ".join(owned.order_by("pk").values_list("user__username", flat=True))
    owners = names or "an administrator"
    return f"Only an owner of this study can approve, reject or pay. Ask {owners}."


def note_reservation(
    row: ProlificStudy,
    *,
    places: int,
    rewards: int,
    total: int | None,
    user: User | None = None,
) -> None:
    """Store that the last `places` of a study are paid for; a repeat stores no second row.

    `total` is the whole cost with fees and tax, None if Prolific did not state it.
    """
    ProlificReservation.objects.get_or_create(
        prolific_study=row,
        places_after=row.places,
        defaults={
            "places": places,
            "rewards": rewards,
            "fees": None if total is None else max(0, total - rewards),
            "user": user,
        },
    )


def with_fees(study: Study, rewards: int) -> int | None:
    """The cost of rewards with fees and tax, at the rate of the study's newest reservation.

    None before Prolific has stated a rate.
    """
    newest = (
        ProlificReservation.objects.filter(
            prolific_study__study=study, fees__isnull=False, rewards__gt=0
        )
        .order_by("-pk")
        .first()
    )
    if newest is None or newest.fees is None:
        return None
    rate = Decimal(newest.rewards + newest.fees) / newest.rewards
    return int((rewards * rate).quantize(Decimal(1), rounding=ROUND_HALF_UP))


logger = logging.getLogger(__name__)
State = BonusPayment.State
# The statuses with which Prolific refuses, by its documentation.
_REFUSALS = frozenset({400, 401, 403, 404, 405, 422, 429})
# Prolific pays some time after it answers: until then, a missing payment means nothing.
SETTLES_WITHIN = dt.timedelta(minutes=15)
# Reasons of bonuses that pay for work: a person gets one of these, or an approval.
PARTIAL, IN_FULL = "partial work", "complete work after the place was gone"
TURNED_AWAY = "time until they were turned away"
FOR_WORK = (PARTIAL, IN_FULL, TURNED_AWAY)
IDS_DELETED = (
    "The ids of these participants were deleted here, so this cannot be done from here. Look the "
    "people up on Prolific, and decide there."
)
# The consent promised more than the reward that an approval pays.
PROMISED = "difference to the promised reward"


@dataclass(frozen=True)
class BonusLine:
    """A bonus for a submission, in minor units."""

    submission_id: int
    amount: int
    reason: str


def pro_rata(*, reward: int, shares: Sequence[Decimal]) -> int:
    """The largest of these shares of a reward, in whole minor units, at most the reward."""
    share = min(Decimal(1), max(shares, default=Decimal(0)))
    return int((Decimal(reward) * share).quantize(Decimal(1), rounding=ROUND_HALF_UP))


@transaction.atomic
def prepare(*, study_id: int, lines: Sequence[BonusLine], user: User | None = None) -> BonusPayment:
    """Store a payment and its bonuses. Nothing is sent.

    Raises `NotAllowed` if a participant already has such a bonus, or is paid for the same work by
    another bonus or an approval, or while an earlier payment is unconfirmed.
    """
    study = lock_study(study_id)
    if not 0 < len(lines) <= MAX_BULK_BONUS:
        raise NotAllowed(f"Select from 1 to {MAX_BULK_BONUS} submissions for one payment.")
    if any(line.amount <= 0 or not line.reason.strip() for line in lines):
        raise NotAllowed("Every bonus needs an amount above zero and a reason.")
    _refuse_while_unclear(study)
    of_lines = ProlificSubmission.objects.filter(
        prolific_study__study=study, pk__in=[line.submission_id for line in lines]
    ).select_related("prolific_study")
    submissions = {submission.pk: submission for submission in of_lines}
    if len(submissions) != len(lines):
        raise NotAllowed(
            "Some submissions are not part of this study, or were selected twice. Select them "
            "again."
        )
    rows = {submission.prolific_study for submission in submissions.values()}
    if len(rows) != 1:
        raise NotAllowed("The submissions belong to several groups. Pay one group at a time.")
    bonuses = [
        Bonus(
            submission=submissions[line.submission_id],
            amount=line.amount,
            reason=line.reason.strip()[:200],
            before=submissions[line.submission_id].bonuses,
        )
        for line in lines
    ]
    _refuse_to_pay_twice(bonuses)
    payment = BonusPayment.objects.create(prolific_study=rows.pop(), user=user)
    for bonus in bonuses:
        bonus.payment = payment
    Bonus.objects.bulk_create(bonuses)
    return payment


def _refuse_while_unclear(study: Study) -> None:
    """Raise `NotAllowed` while nobody knows whether a payment of the study arrived.

    The bonuses of a second one could be taken for those of the first.
    """
    if BonusPayment.objects.filter(prolific_study__study=study, state=State.SENT).exists():
        raise NotAllowed(
            "An earlier payment is not confirmed yet. Wait for its confirmation, then try again."
        )


def with_work_bonus(submissions: Iterable[ProlificSubmission]) -> QuerySet[ProlificSubmission]:
    """The submissions of these people that have a bonus for work, prepared or paid."""
    return _of_same_people(submissions).filter(
        bonus_lines__is_open=True, bonus_lines__reason__in=FOR_WORK
    )


def _of_same_people(submissions: Iterable[ProlificSubmission]) -> QuerySet[ProlificSubmission]:
    """These submissions, and the others of the same annotators."""
    listed = list(submissions)
    people = [submission.annotator_id for submission in listed if submission.annotator_id]
    return ProlificSubmission.objects.filter(
        Q(pk__in=[submission.pk for submission in listed]) | Q(annotator__in=people)
    )


def approved_before(submissions: Iterable[ProlificSubmission]) -> set[int]:
    """Those that Prolific once showed as approved, and later otherwise."""
    listed = {submission.pk for submission in submissions}
    events = AnnotatorEvent.objects.filter(
        annotator__prolific_submissions__in=listed, event=AnnotatorEvent.WAS_APPROVED
    )
    return listed.intersection(events.values_list("detail__submission", flat=True))


def _refuse_to_pay_twice(bonuses: Sequence[Bonus]) -> None:
    """Raise `NotAllowed` if a bonus exists, or the work is paid in another way.

    The study must be locked, as it is while approvals are stored, so that neither overtakes the
    other.
    """
    there = Bonus.objects.filter(
        is_open=True, submission__in=[bonus.submission_id for bonus in bonuses]
    ).values_list("submission_id", "reason")
    if set(there) & {(bonus.submission_id, bonus.reason) for bonus in bonuses}:
        raise NotAllowed(
            "A selected participant already has a bonus for this reason. Load the page again."
        )
    working = [b.submission for b in bonuses if b.submission is not None and b.reason in FOR_WORK]
    if with_work_bonus(working).exists():
        raise NotAllowed(
            "A selected participant already has a bonus for their work. Load the page again."
        )
    approved = Q(status=types.APPROVED) | Q(
        status=types.AWAITING_REVIEW, approval_asked_at__isnull=False
    )
    same_people = _of_same_people(working)
    if same_people.filter(approved).exists():
        raise NotAllowed(
            "A selected participant is already approved, which pays the full reward. "
            "Load the page again."
        )
    if approved_before(same_people):
        raise NotAllowed(
            "A selected participant was approved earlier, which pays the full reward, although "
            "Prolific shows another status now. Look there whether the reward was paid. If it was "
            "not, pay it there as a bonus."
        )


def set_up(*, payment_id: int) -> BonusPayment:
    """Announce the payment to Prolific without paying. Repeats change nothing once it is ready.

    Raises `NotAllowed` if it was cancelled meanwhile, and a `ProlificError`.
    """
    payment = _payment(payment_id)
    client = connect(payment.prolific_study.study_id)
    with claimed(payment.prolific_study.study_id, client):
        payment = _payment(payment_id)
        if payment.state != State.PREPARED:
            return payment
        row = payment.prolific_study
        _refuse_without_ids(payment)
        currency = row.paid_in
        # The only place where the platform uses major units: 450 cents are 4.50.
        lines = [
            (line.submission.submission_id, f"{major_units(line.amount, currency):f}")
            for line in payment.lines.select_related("submission")
            if line.submission is not None
        ]
        # A lost answer leaves a payment that is set up but never paid, which costs nothing.
        setup = client.set_up_bonuses(str(payment.prolific_study.prolific_id), lines)
        # Only if still prepared: somebody may have cancelled it while Prolific answered.
        stored = BonusPayment.objects.filter(pk=payment.pk, state=State.PREPARED).update(
            bulk_id=setup.id, total=setup.total, fees=setup.fees, tax=setup.tax, state=State.READY
        )
        payment = _payment(payment_id)
        if not stored:
            raise NotAllowed(f"This payment is {payment.get_state_display()}. Nothing was paid.")
    return payment


def look_at_payment(payment: BonusPayment) -> Spending:
    """What a set-up payment spends, whom it pays, and the balance now. Raises `ProlificError`."""
    return _spending_on(payment, connect(payment.prolific_study.study_id))


def _spending_on(payment: BonusPayment, client: ProlificClient) -> Spending:
    row = payment.prolific_study
    reasons = payment.lines.values_list("reason").annotate(n=Count("pk")).order_by("reason")
    owed = "; ".join(f"{n:,} for {reason}" for reason, n in reasons)
    where = Recruitment.objects.filter(study=row.study).values_list("workspace", flat=True).first()
    return spending(
        client,
        row.study,
        payment.total,
        row.paid_in,
        PlacesNeeded(0, f"The study owes these bonuses: {owed}."),
        workspace=((where or {}).get("id", ""), (where or {}).get("title", "")),
    )


def pay(
    *, payment_id: int, confirmed: int, typed: str = "", user: User | None = None
) -> BonusPayment:
    """Pay a set-up payment once; `confirmed` is the total that a user agreed to.

    `typed` is the amount as they typed it, where the rule of `Spending` asks for it. Raises
    `NotAllowed` by that rule, if it was sent before, the total differs, or the user is not an owner
    of the study; and `ProlificError`. After one with `outcome_unknown` the payment stays sent and
    is looked up.
    """
    payment = _payment(payment_id)
    study: Study = payment.prolific_study.study
    owners_only(user, study)
    client = connect(study.pk)
    with claimed(study.pk, client):
        payment = _payment(payment_id)
        if payment.state == State.READY and payment.total != confirmed:
            total = format_money(payment.total, payment.prolific_study.paid_in)
            raise NotAllowed(f"The total is {total} now. Confirm it.")
        if payment.state == State.READY:
            _refuse_while_unclear(study)
            _spending_on(payment, client).check(confirmed=typed, beyond=False)
        _note_what_was_paid(payment, client)
        # Stored before it is sent, and only if ready, so that it cannot be sent twice.
        now = clock.now()
        taken = BonusPayment.objects.filter(pk=payment.pk, state=State.READY).update(
            state=State.SENT, sent_at=now
        )
        if not taken:
            raise NotAllowed(f"This payment is {payment.get_state_display()}.")
        try:
            client.pay_bonuses(str(payment.bulk_id))
        except ProlificError as error:
            if not _may_have_paid(error):
                _back_to_ready(payment.pk)
            raise
        # Another process may already have seen the bonuses arrive.
        BonusPayment.objects.filter(pk=payment.pk, state=State.SENT).update(
            state=State.PAID, paid_at=clock.now()
        )
        record(study, "bonuses paid", user=user, people=payment.lines.count(), total=payment.total)
    return _payment(payment_id)


def _may_have_paid(error: ProlificError) -> bool:
    """Whether money may have moved; other statuses of an error may come from between us."""
    if isinstance(error, Answered) and error.status not in _REFUSALS:
        return True
    return error.outcome_unknown


def confirm_sent(*, study_id: int, client: ProlificClient) -> int:
    """Look up payments whose answer was lost and return how many were paid."""
    confirmed = 0
    for payment in BonusPayment.objects.filter(prolific_study__study=study_id, state=State.SENT):
        try:
            arrived = _arrivals(payment, client)
        except (NotFound, OutcomeUnknown) as error:
            logger.warning("payment %s cannot be looked up: %s", payment.pk, error)
            continue
        if all(arrived):
            confirmed += BonusPayment.objects.filter(pk=payment.pk, state=State.SENT).update(
                state=State.PAID, paid_at=clock.now()
            )
    return confirmed


def release(*, payment_id: int, user: User | None = None) -> BonusPayment:
    """Make a payment ready again if it was sent long enough ago and reached nobody.

    Raises `NotAllowed` while that is not certain.
    """
    payment = _payment(payment_id)
    study = payment.prolific_study.study
    client = connect(study.pk)
    with claimed(study.pk, client):
        payment = _payment(payment_id)
        if payment.state != State.SENT or payment.sent_at is None:
            raise NotAllowed(f"This payment is {payment.get_state_display()}.")
        if not clock.is_long_ago(payment.sent_at, SETTLES_WITHIN):
            raise NotAllowed("Prolific may still be paying. Look again after 15 minutes.")
        arrived = _arrivals(payment, client)
        if all(arrived):
            confirm_sent(study_id=study.pk, client=client)
        elif None in arrived:
            raise NotAllowed(IDS_DELETED)
        elif any(arrived):
            raise NotAllowed(
                "Some participants were paid and others were not. Contact Prolific's support."
            )
        else:
            _back_to_ready(payment.pk)
            record(study, "bonuses not paid", user=user, payment=payment.pk)
    return _payment(payment_id)


@transaction.atomic
def cancel(*, payment_id: int) -> BonusPayment:
    """Cancel a payment that was not sent."""
    payment = _payment(payment_id)
    cancelled = BonusPayment.objects.filter(
        pk=payment_id, state__in=[State.PREPARED, State.READY]
    ).update(state=State.CANCELLED)
    if not cancelled:
        raise NotAllowed(f"This payment is {payment.get_state_display()}.")
    Bonus.objects.filter(payment=payment).update(is_open=False)
    return _payment(payment_id)


def _payment(payment_id: int) -> BonusPayment:
    return BonusPayment.objects.select_related("prolific_study__study").get(pk=payment_id)


def _back_to_ready(payment_id: int) -> None:
    BonusPayment.objects.filter(pk=payment_id, state=State.SENT).update(
        state=State.READY, sent_at=None
    )


def _note_what_was_paid(payment: BonusPayment, client: ProlificClient) -> None:
    """Store each participant's bonuses so far, so that an arrival can be seen later.

    Raises `NotAllowed` if one has since been approved on Prolific, which pays for the same work.
    """
    if payment.state != State.READY:
        return
    _refuse_without_ids(payment)
    for line in payment.lines.select_related("submission"):
        if line.submission is not None:
            there = client.submission(line.submission.submission_id)
            if there.status == types.APPROVED and line.reason in FOR_WORK:
                raise NotAllowed(
                    "A participant of this payment has since been approved on Prolific, which pays "
                    "the full reward. Cancel this payment, then prepare it again for the others."
                )
            line.before = _bonuses_of(there)
            line.save(update_fields=["before"])


def _bonuses_of(there: types.RemoteSubmission) -> list[int]:
    """The bonuses of a submission. Raises `OutcomeUnknown` if Prolific does not say which."""
    if "bonus_payments" not in there.payload:
        raise OutcomeUnknown(
            "Prolific's answer does not say which bonuses were paid. Nothing was changed. Try "
            "again later."
        )
    return list(there.bonuses)


def _refuse_without_ids(payment: BonusPayment) -> None:
    """Raise `NotAllowed` if somebody of the payment can no longer be named to Prolific."""
    lines = payment.lines.all()
    if with_ids(ProlificSubmission.objects.filter(bonus_lines__in=lines)).count() < lines.count():
        raise NotAllowed(IDS_DELETED)


def _arrivals(payment: BonusPayment, client: ProlificClient) -> list[bool | None]:
    """For each line, whether there is one more bonus of its amount than before.

    None if the id of the submission was deleted, so that nobody can look.
    """
    arrived: list[bool | None] = []
    for line in payment.lines.select_related("submission"):
        if line.submission is None or is_erased(line.submission.submission_id):
            arrived.append(None)
        else:
            now = _bonuses_of(client.submission(line.submission.submission_id))
            arrived.append(now.count(line.amount) > line.before.count(line.amount))
    return arrived
