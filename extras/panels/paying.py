"""Paying people of panels: who is owed, the files for the panels, and money by panel."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet, Sum

from annotation.models import Annotator
from annotation.prolific.money import owners_only
from annotation.prolific.spending import spent_so_far
from annotation.seats.flow import finished
from extras.panels.models import Panel, PanelPerson, PaymentFile
from studies.errors import StudyError
from studies.importers.files.lines import BadLine, table_rows
from studies.models import Study
from studies.services.studies import lock_study, record

APPROVED = "x"  # what MTurk's review of results wants in its column
_MESSAGE = "Thank you for taking part."


def finished_people(panel: Panel) -> QuerySet[PanelPerson]:
    """Everybody of a panel who completed, also those who withdrew afterwards: their pay stays."""
    people = PanelPerson.objects.filter(panel=panel)
    withdrew = people.filter(annotator__state=Annotator.State.WITHDREW)
    ids = finished([*withdrew.values_list("annotator", flat=True)])
    return people.filter(annotator__state=Annotator.State.COMPLETED) | people.filter(
        annotator__in=ids
    )


def unpaid_people(panel: Panel) -> QuerySet[PanelPerson]:
    """Those who finished, are in no file yet, and whose ids are still there."""
    return finished_people(panel).filter(payment_file=None).exclude(person="")


def doubtful_people(panel: Panel) -> QuerySet[PanelPerson]:
    """Those of them who failed attention checks: somebody decides about them at the panel."""
    return unpaid_people(panel).filter(annotator__failed_attention=True)


def fee_of(panel: Panel, rewards: int) -> int | None:
    """The panel's fee in minor units; None if nobody has entered it."""
    if panel.fee_percent is None:
        return None
    share = Decimal(rewards) * panel.fee_percent / 100
    return int(share.quantize(Decimal(1), rounding=ROUND_HALF_UP))


@transaction.atomic
def write_payment_file(
    *, panel: Panel, with_failed: bool = False, user: User | None = None
) -> PaymentFile:
    """Put everybody who is owed pay into a new file, and nobody into two.

    Those who failed attention checks only `with_failed`. Raises `StudyError` if nobody is owed, and
    `NotAllowed` for users who are not owners.
    """
    study = lock_study(panel.study_id)
    owners_only(user, study)
    people = unpaid_people(panel)
    if not with_failed:
        people = people.filter(annotator__failed_attention=False)
    ids = [*people.values_list("pk", flat=True)]
    if not ids:
        raise StudyError("Nobody is owed pay now. People come into a file once they have finished.")
    rewards = len(ids) * panel.reward
    written = PaymentFile.objects.create(
        panel=panel, user=user, people=len(ids), rewards=rewards, fees=fee_of(panel, rewards)
    )
    PanelPerson.objects.filter(pk__in=ids).update(payment_file=written)
    record(study, "payment file written", user=user, panel=panel.name, people=len(ids))
    return written


def table_of(written: PaymentFile) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a file, in the form that its panel takes."""
    panel = written.panel
    people = [*written.lines.select_related("annotator").exclude(person="").order_by("pk")]
    if panel.preset == "mturk":
        header = ["HITId", "AssignmentId", "WorkerId", "Approve", "Reject"]
        return header, [
            [person.study_reference, person.session, person.person, APPROVED, ""]
            for person in people
        ]
    if panel.preset == "connect":
        header = ["ParticipantId", "AssignmentId", "Action", "Message"]
        return header, [[person.person, person.session, "Approve", _MESSAGE] for person in people]
    header = ["person", "study", "session", "ending", "reward", "currency"]
    return header, [
        [
            person.person,
            person.study_reference,
            person.session,
            "failed" if person.annotator.failed_attention else "complete",
            str(panel.reward),
            panel.study.currency,
        ]
        for person in people
    ]


_REQUIRED = ("AssignmentId", "WorkerId", "Approve", "Reject")


def reviewed_results(written: PaymentFile, data: bytes) -> tuple[list[str], list[list[str]], int]:
    """MTurk's file of results with everybody of ours approved: its header, rows, and how many.

    Only empty decisions are filled in. Raises `StudyError`.
    """
    paid = set(written.lines.exclude(person="").values_list("person", flat=True))
    header: list[str] = []
    rows: list[list[str]] = []
    approved = 0
    for entry in table_rows(io.BytesIO(data), "results.csv", required=_REQUIRED):
        if isinstance(entry, BadLine):
            raise StudyError(f"{entry.fault.message} {entry.fault.remedy}".strip())
        _, cells = entry
        header = header or [*cells]
        is_open = not cells["Approve"] and not cells["Reject"]
        if cells["WorkerId"] in paid and is_open:
            cells["Approve"] = APPROVED
            approved += 1
        rows.append([cells.get(name, "") for name in header])
    if not rows:
        raise StudyError("The file has no results. Download them on MTurk under Review results.")
    if not approved:
        raise StudyError(
            "Nobody of this payment file has an open result in the file. Download the results of "
            "the batch that these people worked on."
        )
    return header, rows, approved


@dataclass(frozen=True)
class PanelMoney:
    """People and money of a panel, in minor units; `fees` is None if the fee is not known.

    `name` is the panel's short name; Prolific has none.
    """

    title: str
    name: str
    currency: str
    arrived: int
    finished: int
    in_files: int
    rewards: int
    fees: int | None

    @property
    def total(self) -> int:
        return self.rewards + (self.fees or 0)


def money_of(panel: Panel) -> PanelMoney:
    """What a panel costs so far: its files, and the pay of everybody who is in none."""
    files = panel.payment_files.aggregate(
        people=Sum("people"), rewards=Sum("rewards"), fees=Sum("fees")
    )
    in_files = files["people"] or 0
    waiting = finished_people(panel).filter(payment_file=None).count()
    rewards = waiting * panel.reward
    fees = fee_of(panel, rewards)
    is_known = fees is not None and not panel.payment_files.filter(fees=None).exists()
    return PanelMoney(
        title=panel.title,
        name=panel.name,
        currency=panel.study.currency,
        arrived=PanelPerson.objects.filter(panel=panel).count(),
        finished=in_files + waiting,
        in_files=in_files,
        rewards=(files["rewards"] or 0) + rewards,
        fees=(files["fees"] or 0) + (fees or 0) if is_known else None,
    )


def money_by_panel(study: Study) -> Iterator[PanelMoney]:
    """Money of every panel, and of Prolific if it has cost something."""
    for panel in Panel.objects.filter(study=study).select_related("study"):
        yield money_of(panel)
    if spent := spent_so_far(study):
        people = Annotator.objects.filter(study=study, prolific_submissions__isnull=False)
        done = people.filter(state=Annotator.State.COMPLETED).distinct().count()
        yield PanelMoney(
            title="Prolific, with fees",
            name="",
            currency=_currency(study),
            arrived=people.distinct().count(),
            finished=done,
            in_files=0,
            rewards=spent,
            fees=0,
        )


def _currency(study: Study) -> str:
    recruited = study.prolific_studies.exclude(currency="").first()
    return recruited.currency if recruited else study.currency


def totals(lines: Sequence[PanelMoney]) -> dict[str, int]:
    """The sum of the panels in each currency."""
    sums: dict[str, int] = {}
    for line in lines:
        sums[line.currency] = sums.get(line.currency, 0) + line.total
    return sums
