"""A study that recruits on the simulated Prolific, and people who go through it."""

from datetime import timedelta
from typing import Any
from unittest.mock import patch

from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import services
from annotation.models import (
    Annotator,
    BonusPayment,
    Ending,
    ProlificIdentity,
    ProlificStudy,
    ProlificSubmission,
    Recruitment,
)
from annotation.prolific import money
from annotation.prolific.launch import launch, launch_checks, publication
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.money import BonusLine
from annotation.prolific.settle.proposals import settlement
from annotation.prolific.sync.sync import follow
from annotation.seats.flow import code_for
from annotation.seats.quotas import QuotaQuestion, set_quotas
from annotation.services.identities import identity_hash
from demo.prolific.records import Delivery
from demo.prolific.server import SimulatedProlific
from studies.models import Item, Study
from tests.annotation.grids import grid
from tests.factories import answer_all, answer_item, make_items, make_study

GENDER = QuotaQuestion("gender", "What is your gender?", {"woman": "Woman", "man": "Man"})
POLITICS = QuotaQuestion(
    "politics",
    "Party?",
    {"democrat": "Democrat", "republican": "Republican", "independent": "Independent"},
)
BALANCE = {
    "sex": ["Male", "Female"],
    "us-political-affiliation": ["Democrat", "Republican", "Independent"],
}
SECRET = "hook-secret"


def make_recruiting(*, items: int = 6, per_person: int = 3, **overrides: Any) -> Study:
    """Six people fill every seat: 6 items × 3 answers, 3 items each."""
    study = make_study(
        items_per_annotator=per_person,
        minutes=20,
        reward=450,
        currency="USD",
        contact="lab@example.org",
        **overrides,
    )
    make_items(study, items)
    return study


def with_quotas(study: Study, *, each: int) -> Study:
    targets = {
        (gender, politics): each for gender in GENDER.options for politics in POLITICS.options
    }
    set_quotas(
        study_id=study.pk,
        questions=[GENDER, POLITICS],
        groups=grid([GENDER, POLITICS], targets),
    )
    return study


def unchecked() -> Any:
    """Without what other parts of the platform check before a study opens: as long as the rest."""
    return patch.object(launch_checks, "registered_checks", new=lambda _study: [])


@unchecked()
def launched(study: Study, plan: LaunchPlan | None = None) -> ProlificStudy:
    launch.save_plan(study_id=study.pk, plan=plan or LaunchPlan())
    (row,) = launch.launch(study_id=study.pk)
    return row


@unchecked()
def published(study: Study, plan: LaunchPlan | None = None) -> ProlificStudy:
    row = launched(study, plan)
    total = publication.look_at_publishing(study)[0]
    publication.publish(study_id=study.pk, confirmed=total.plain)
    row.refresh_from_db()
    return row


def add_beyond(row: ProlificStudy, extra: int, seen: int | None = None) -> ProlificStudy:
    """Add places that nobody needs, as a user does who says so and types their cost."""
    row.refresh_from_db()
    cost = row.reward * extra * 14 // 10  # with the simulated fee and tax
    return publication.add_places(
        study_id=row.study_id, extra=extra, seen=seen, beyond=True, confirmed=f"{cost / 100:.2f}"
    )


def arrive(prolific: SimulatedProlific, row: ProlificStudy) -> tuple[dict[str, str], Annotator]:
    """Somebody takes a place on Prolific and walks to their first item here."""
    person = prolific.world.arrive(str(row.prolific_id))
    annotator = services.enter(
        study=row.study,
        pid=person["participant"],
        prolific_study_id=str(row.prolific_id),
        session_id=person["submission"],
    )
    annotator = services.consent(annotator_id=annotator.pk, version="v1")
    if annotator.study.demographic_questions.exists():
        annotator = services.record_demographics(
            annotator_id=annotator.pk,
            demographics={
                "gender": {"Male": "man", "Female": "woman"}[person["sex"]],
                "politics": person["us_political_affiliation"].lower(),
            },
        )
    return person, services.finish_instructions(annotator_id=annotator.pk)


def came_before(row: ProlificStudy, number: int) -> None:
    """So many people have completed their part earlier, and their submissions are approved."""
    pids = [f"{place:024x}" for place in range(number)]
    people = Annotator.objects.bulk_create(
        Annotator(study_id=row.study_id, state="completed", identity_hash=identity_hash(pid))
        for pid in pids
    )
    ProlificIdentity.objects.bulk_create(
        ProlificIdentity(annotator=person, pid=pid, session_ids=[f"s{pid}"])
        for person, pid in zip(people, pids, strict=True)
    )
    ProlificSubmission.objects.bulk_create(
        ProlificSubmission(
            prolific_study=row,
            annotator=person,
            participant=pid,
            submission_id=f"s{pid}",
            status="APPROVED",
        )
        for person, pid in zip(people, pids, strict=True)
    )
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


def finish(
    prolific: SimulatedProlific, person: dict[str, str], annotator: Annotator, code: str = ""
) -> None:
    """Answer everything here, complete, and hand the code in on Prolific."""
    answer_all(annotator)
    services.complete(annotator_id=annotator.pk)
    prolific.world.finish(
        person["submission"],
        code or code_for(study_id=annotator.study_id, ending=Ending.COMPLETED),
    )


def answer_some(annotator: Annotator, count: int) -> None:
    """Answer `count` items, each a minute after it was shown."""
    begun = timezone.now() - timedelta(minutes=count)
    Annotator.objects.filter(pk=annotator.pk).update(started_at=begun)
    for assignment in annotator.assignments.filter(annotation=None)[:count]:
        answer_item(
            assignment,
            certainty=70,
            shown_at=timezone.now() - timedelta(minutes=1),
            active_ms=60_000,
        )


def ready(study: Study, owed: list[BonusLine]) -> BonusPayment:
    """A payment that Prolific knows of and that is not paid yet."""
    payment = money.prepare(study_id=study.pk, lines=owed)
    return money.set_up(payment_id=payment.pk)


def two_return(row: ProlificStudy, prolific: SimulatedProlific) -> None:
    """Two people return with part of the work."""
    for _ in range(2):
        person, annotator = arrive(prolific, row)
        answer_some(annotator, 1)
        prolific.world.give_back(person["submission"])
    follow(study_id=row.study_id)


def owed_in(study: Study) -> list[BonusLine]:
    """The bonuses that are proposed."""
    return [BonusLine(r.submission.pk, r.bonus, r.bonus_reason) for r in settlement(study).rows]


def paid_there(prolific: SimulatedProlific) -> list[list[int]]:
    """The bonuses that each person has received."""
    return [s.bonuses for s in prolific.world.submissions.values()]


def state_of(annotator: Annotator) -> str:
    return Annotator.objects.values_list("state", flat=True).get(pk=annotator.pk)


def seats_taken(study: Study) -> int:
    return sum(Item.objects.filter(study=study).values_list("seats_taken", flat=True))


def post(client: Client, delivery: Delivery, **changes: str) -> Any:
    """Hand a webhook to our page; `changes` are of its headers."""
    headers = {**delivery.headers, **changes}
    return client.post(
        reverse("prolific-webhook"),
        delivery.body,
        content_type="application/json",
        headers={k: v for k, v in headers.items() if k != "Content-Type"},
    )


def time_to_read() -> None:
    """Let the next run read every study, as if its wait were over."""
    Recruitment.objects.update(read_next_at=None)
