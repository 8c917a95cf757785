"""The cost of recruiting: every amount that we sent or know of, and Prolific's own figures.

Reservations and bonuses are our records; rewards are computed from submissions, and Prolific's
figures come from its cost endpoint, both as last read. Amounts are in minor units; None is unknown.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db.models import Q, Sum

from annotation.content.consent_versions import promised_to, terms_of_versions
from annotation.models import BonusPayment, ProlificReservation, ProlificStudy, ProlificSubmission
from annotation.prolific.api import types
from annotation.prolific.api.client import ProlificClient, connect
from annotation.prolific.api.transport import shaped
from annotation.prolific.api.types import StudyCost
from annotation.prolific.launch.launch import plan_of
from annotation.prolific.sync.sync import follow, refresh_submission
from extras.prolific_tools.models import ProlificCosts
from studies.models import Study
from studies.money import major_units
from studies.statements import clock

RESERVATION, REWARD, BONUS, BONUS_FEES = "Reservation", "Reward", "Bonus", "Fees of bonuses"
_State = BonusPayment.State
_SENT = (_State.SENT, _State.PAID)
COLUMNS = (
    "time",
    "kind",
    "group",
    "person",
    "amount",
    "fees_and_tax",
    "currency",
    "state",
    "note",
)


@dataclass(frozen=True)
class Costs:
    """The cost of a study: rewards for its places, and bonuses."""

    rewards: StudyCost
    bonuses: StudyCost


@dataclass(frozen=True)
class LedgerEntry:
    """A sum: `amount` goes to participants, `fees` with tax to Prolific."""

    when: dt.datetime | None
    kind: str
    group: str
    person: str
    amount: int | None
    fees: int | None
    state: str
    note: str
    currency: str


@dataclass(frozen=True)
class LedgerLine:
    """A figure by our records and by Prolific's; money unless `is_count`."""

    name: str
    ours: int | None
    theirs: int | None
    currency: str
    is_count: bool = False

    @property
    def difference(self) -> int | None:
        """Prolific's figure minus ours; None if either is unknown."""
        if self.ours is None or self.theirs is None:
            return None
        return self.theirs - self.ours

    @property
    def differs(self) -> bool:
        return bool(self.difference)


@dataclass(frozen=True)
class MoneyLedger:
    """Every entry, newest first, and the comparison with Prolific as of `read_at`."""

    entries: list[LedgerEntry]
    lines: list[LedgerLine]
    read_at: dt.datetime | None
    waiting: int

    @property
    def differing(self) -> list[LedgerLine]:
        return [line for line in self.lines if line.differs]


def read_costs(*, study_id: int) -> int:
    """Ask Prolific for the study's costs and store them; return how many of its studies were read.

    Also reads submissions; those whose bonus the list does not show are read one by one. Raises
    `ProlificError`.
    """
    client = connect(study_id)
    follow(study_id=study_id, client=client)
    for submission_id in _bonuses_unseen(study_id):
        refresh_submission(submission_id, client=client)
    rows = list(ProlificStudy.everything.filter(study=study_id, prolific_id__isnull=False))
    for row in rows:
        read = {
            "projected": asdict(_read(client, row, is_projected="true")),
            "so_far": asdict(_read(client, row)),
            "read_at": clock.now(),
        }
        ProlificCosts.objects.update_or_create(prolific_study=row, defaults=read)
    return len(rows)


def _read(client: ProlificClient, row: ProlificStudy, **params: str) -> Costs:
    """The cost of a study so far, or once it is filled."""
    body = client.ask("GET", f"studies/{row.prolific_id}/cost/", params=params)
    return shaped(lambda: Costs(StudyCost.of(body["rewards"]), StudyCost.of(body.get("bonuses"))))


def _bonuses_unseen(study_id: int) -> list[str]:
    """Submissions whose bonuses, as last read, differ from those that we paid."""
    paid = ProlificSubmission.objects.filter(
        prolific_study__study=study_id, bonus_lines__payment__state=_State.PAID
    ).annotate(ours=Sum("bonus_lines__amount", filter=Q(bonus_lines__payment__state=_State.PAID)))
    return [one.submission_id for one in paid if sum(one.bonuses) != one.ours]


def ledger_of(study: Study) -> MoneyLedger:
    """The ledger from stored data, in a handful of queries."""
    rows = list(ProlificStudy.everything.filter(study=study).select_related("study", "costs"))
    reservations = list(
        ProlificReservation.objects.filter(prolific_study__in=rows).select_related(
            "prolific_study__study"
        )
    )
    submissions = list(
        ProlificSubmission.objects.filter(prolific_study__in=rows).select_related(
            "prolific_study", "annotator"
        )
    )
    payments = list(
        BonusPayment.objects.filter(prolific_study__in=rows, state__in=_SENT)
        .select_related("prolific_study__study")
        .prefetch_related("lines__submission__annotator")
    )
    screen_out = plan_of(study).screen_out_pay
    agreed = terms_of_versions(study)
    rewards = [
        _reward(one, promised_to(study, one, agreed), screen_out)
        for one in submissions
        if one.status in _PAID
    ]
    entries = [
        *(_reservation(one) for one in reservations),
        *rewards,
        *(entry for payment in payments for entry in _bonuses(payment)),
    ]
    entries.sort(key=lambda entry: entry.when.timestamp() if entry.when else 0.0, reverse=True)
    read = [row.costs.read_at for row in rows if hasattr(row, "costs")]
    return MoneyLedger(
        entries=entries,
        lines=[
            *_compare_by_currency(rows, reservations, rewards, payments),
            *_bonuses_by_person(rows, submissions, payments),
        ],
        read_at=min(read, default=None),
        waiting=sum(payment.state == _State.SENT for payment in payments),
    )


# Statuses of participants who were paid a reward, or an unstated part of it.
_PAID = (types.APPROVED, types.PARTIALLY_APPROVED, types.SCREENED_OUT)


def _reservation(one: ProlificReservation) -> LedgerEntry:
    places = "1 place" if one.places == 1 else f"{one.places:,} places"
    return LedgerEntry(
        one.created_at,
        RESERVATION,
        one.prolific_study.label,
        "",
        one.rewards,
        one.fees,
        "sent",
        f"{places}, {one.places_after:,} in total",
        one.prolific_study.paid_in,
    )


def _reward(
    one: ProlificSubmission, promise: tuple[str, int], screen_out: int | None
) -> LedgerEntry:
    """What somebody was paid; for being screened out, the amount that the launch plan fixed.

    An approval pays Prolific's reward. What the consent promised beyond it is a bonus.
    """
    currency, promised = promise
    paid = {types.APPROVED: one.prolific_study.reward or promised, types.SCREENED_OUT: screen_out}
    amount = paid.get(one.status)
    note = "Prolific does not state how much was paid" if amount is None else ""
    return LedgerEntry(
        one.completed_at,
        REWARD,
        one.prolific_study.label,
        _who(one),
        amount,
        None,
        one.status.lower(),
        note,
        currency,
    )


def _bonuses(payment: BonusPayment) -> list[LedgerEntry]:
    when, row, state = payment.sent_at, payment.prolific_study, payment.get_state_display()
    group, money = row.label, row.paid_in
    lines = [
        LedgerEntry(
            when, BONUS, group, _who(line.submission), line.amount, None, state, line.reason, money
        )
        for line in payment.lines.all()
    ]
    note = f"payment {payment.pk}"
    return [
        LedgerEntry(when, BONUS_FEES, group, "", None, fees_of(payment), state, note, money),
        *lines,
    ]


def fees_of(payment: BonusPayment) -> int:
    """Prolific's fees and tax for a payment: its total minus the bonuses."""
    if payment.fees is not None and payment.tax is not None:
        return payment.fees + payment.tax
    return max(0, payment.total - sum(line.amount for line in payment.lines.all()))


def _who(submission: ProlificSubmission | None) -> str:
    annotator = submission.annotator if submission else None
    return annotator.pseudonym if annotator else "–"


def _compare_by_currency(
    rows: Sequence[ProlificStudy],
    reservations: Sequence[ProlificReservation],
    rewards: Sequence[LedgerEntry],
    payments: Sequence[BonusPayment],
) -> Iterator[LedgerLine]:
    """The comparison for each currency, because amounts in different currencies are never added."""
    named = sorted({row.paid_in for row in rows} | {one.currency for one in rewards})
    for money in named:
        lines = _compare(
            money,
            [row for row in rows if row.paid_in == money],
            [one for one in reservations if one.prolific_study.paid_in == money],
            [one for one in rewards if one.currency == money],
            [one for one in payments if one.prolific_study.paid_in == money],
        )
        for line in lines:
            yield line if len(named) == 1 else replace(line, name=f"{line.name} ({money})")


def _compare(
    money: str,
    rows: Sequence[ProlificStudy],
    reservations: Sequence[ProlificReservation],
    rewards: Sequence[LedgerEntry],
    payments: Sequence[BonusPayment],
) -> list[LedgerLine]:
    """Compare our sums with Prolific's over all published rows of the study."""
    published = [row for row in rows if row.status not in ("", types.UNPUBLISHED)]
    paid = [payment for payment in payments if payment.state == _State.PAID]
    projected = _sum_on_prolific(published, "projected")
    now = _sum_on_prolific(published, "so_far")
    return [
        LedgerLine(
            "Places",
            sum(one.places for one in reservations),
            sum(row.places for row in published),
            money,
            is_count=True,
        ),
        LedgerLine(
            "Rewards set aside",
            sum(one.rewards for one in reservations),
            projected.rewards.rewards if projected else None,
            money,
        ),
        LedgerLine(
            "Fees and tax set aside",
            _total(one.fees for one in reservations),
            projected.rewards.fees + projected.rewards.tax if projected else None,
            money,
        ),
        LedgerLine(
            "Rewards paid",
            _total(one.amount for one in rewards),
            now.rewards.rewards if now else None,
            money,
        ),
        LedgerLine(
            "Bonuses paid",
            sum(line.amount for payment in paid for line in payment.lines.all()),
            now.bonuses.rewards if now else None,
            money,
        ),
        LedgerLine(
            "Fees and tax of bonuses",
            sum(fees_of(payment) for payment in paid),
            now.bonuses.fees + now.bonuses.tax if now else None,
            money,
        ),
    ]


def _total(amounts: Iterable[int | None]) -> int | None:
    """The sum; None if a part is unknown."""
    known = list(amounts)
    return None if None in known else sum(one for one in known if one is not None)


def _sum_on_prolific(rows: Sequence[ProlificStudy], name: str) -> Costs | None:
    """Prolific's figures over all rows; None if one row was never read."""
    if not all(hasattr(row, "costs") for row in rows):
        return None
    costs = [_costs(getattr(row.costs, name)) for row in rows]
    return Costs(_add(one.rewards for one in costs), _add(one.bonuses for one in costs))


def _costs(stored: dict[str, Any]) -> Costs:
    return Costs(StudyCost(**stored["rewards"]), StudyCost(**stored["bonuses"]))


def _add(costs: Iterable[StudyCost]) -> StudyCost:
    rows = list(costs)
    return StudyCost(
        sum(one.rewards for one in rows),
        sum(one.fees for one in rows),
        sum(one.tax for one in rows),
    )


def _bonuses_by_person(
    rows: Sequence[ProlificStudy],
    submissions: Sequence[ProlificSubmission],
    payments: Sequence[BonusPayment],
) -> list[LedgerLine]:
    """The participants whose bonuses on Prolific differ from those that we paid.

    Not those who were paid after Prolific's figures were read: theirs cannot show it yet.
    """
    paid: dict[int | None, int] = {}
    unread: set[int | None] = set()
    read = {row.pk: row.costs.read_at for row in rows if hasattr(row, "costs")}
    for payment in payments:
        read_at = read.get(payment.prolific_study_id)
        is_new = read_at is None or (payment.sent_at is not None and payment.sent_at > read_at)
        for line in payment.lines.all() if payment.state == _State.PAID else ():
            paid[line.submission_id] = paid.get(line.submission_id, 0) + line.amount
            if is_new:
                unread.add(line.submission_id)
    lines = [
        LedgerLine(
            f"Bonuses of {_who(one)}",
            paid.get(one.pk, 0),
            sum(one.bonuses),
            one.prolific_study.paid_in,
        )
        for one in submissions
        if one.pk not in unread
    ]
    return [line for line in lines if line.differs]


def csv_rows(ledger: MoneyLedger) -> Iterator[list[str]]:
    """Every entry as a row, oldest first; amounts in major units, empty if unknown."""

    def money(amount: int | None, currency: str) -> str:
        return "" if amount is None else f"{major_units(amount, currency):f}"

    for one in reversed(ledger.entries):
        when = one.when.isoformat(timespec="seconds") if one.when else ""
        yield [
            when,
            one.kind,
            one.group,
            one.person,
            money(one.amount, one.currency),
            money(one.fees, one.currency),
            one.currency,
            one.state,
            one.note,
        ]
