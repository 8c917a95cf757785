"""From a plan to a running study on Prolific, and what can be done to it there."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.models import ProlificStudy, Recruitment
from annotation.prolific.account import alone, connect
from annotation.prolific.checks import Preview, preview, resolve_drafts
from annotation.prolific.client import Client
from annotation.prolific.errors import (
    LaunchRefused,
    NotAllowed,
    OutcomeUnknown,
    ProlificError,
    Rejected,
)
from annotation.prolific.plan import PAPER, PAPER_CURRENCY, PAPER_PAY_PER_HOUR, Plan, payload
from annotation.prolific.types import AWAITING_REVIEW, UNPUBLISHED, RemoteStudy
from studies.models import Study
from studies.money import format_money
from studies.services import lock_study, record


def plan_of(study: Study) -> Plan:
    """The study's plan; the empty one where none was made."""
    found = Recruitment.objects.filter(study=study).first()
    return Plan.of(found.plan) if found else Plan()


@transaction.atomic
def save_plan(*, study_id: int, plan: Plan, user: User | None = None) -> Recruitment:
    """Store whom the study wants. Raises `NotAllowed` once drafts are made of the plan."""
    study = lock_study(study_id)
    if ProlificStudy.objects.filter(study=study).exists():
        raise NotAllowed("The draft is made: delete it on Prolific and forget it here first.")
    recruitment, _ = Recruitment.objects.get_or_create(study=study)
    recruitment.plan = plan.stored()
    recruitment.save(update_fields=["plan"])
    record(study, "recruitment plan", user=user)
    return recruitment


@transaction.atomic
def apply_paper(*, study_id: int, user: User | None = None) -> Plan:
    """Set exactly what the study behind the paper asked for, its pay by the hour included."""
    study = lock_study(study_id)
    study.reward = math.ceil(study.minutes * PAPER_PAY_PER_HOUR / 60)
    study.currency = PAPER_CURRENCY
    study.save(update_fields=["reward", "currency"])
    record(study, "pay", user=user, reward=study.reward, currency=study.currency)
    save_plan(study_id=study_id, plan=PAPER, user=user)
    return PAPER


def look(study: Study) -> Preview:
    """The checks and the cost of launching the study as it stands."""
    return preview(study, plan_of(study), connect())


def launch(*, study_id: int, user: User | None = None) -> list[ProlificStudy]:
    """Make the study's drafts on Prolific; what is there already is found, never made again.

    Raises `LaunchRefused` while a check blocks, and any `ProlificError`; calling it again goes
    on where it stopped.
    """
    study = Study.objects.get(pk=study_id)
    client = connect()
    with alone(study_id) as recruitment:
        plan = Plan.of(recruitment.plan)
        made = list(ProlificStudy.objects.filter(study=study))
        if made and all(row.prolific_id for row in made):
            return made
        looked = preview(study, plan, client)
        if looked.blocking:
            raise LaunchRefused(looked.blocking)
        group_id = _group(client, recruitment) if plan.apart else ""
        live = client.filters(workspace=plan.workspace)
        for label, places, resolved in resolve_drafts(study, plan, live, group_id=group_id):
            row, is_new = ProlificStudy.objects.get_or_create(
                study=study, label=label, defaults={"places": places, "reward": study.reward}
            )
            if row.prolific_id:
                continue
            body = payload(
                study, plan, name=row.internal_name, places=places, filters=resolved.filters,
                group_id=group_id,
            )  # fmt: skip
            if label:
                body["name"] = f"{study.title} ({label})"[:200]
            _adopt(row, _create(client, body, is_new=is_new), user)
    return list(ProlificStudy.objects.filter(study=study))


def _group(client: Client, recruitment: Recruitment) -> str:
    """The participant group that keeps people from taking part in two groups' studies."""
    if not recruitment.group_id:
        recruitment.group_id = client.create_group(f"thirdperson {recruitment.study_id}")
        recruitment.save(update_fields=["group_id"])
    return recruitment.group_id


def _create(client: Client, body: dict[str, Any], *, is_new: bool) -> RemoteStudy:
    """Make a draft once. Where an earlier answer was lost, the internal name finds it."""
    name = body["internal_name"]
    if not is_new and (found := _find(client, name)):
        return found
    try:
        return client.create_study(body)
    except OutcomeUnknown:
        if found := _find(client, name):
            return found
        raise
    except Rejected as error:
        # Some accounts want this field with weighted filters, others do not know it.
        if "study_type" not in error.detail or "study_type" not in body:
            raise
        return _create(client, {k: v for k, v in body.items() if k != "study_type"}, is_new=False)


def _find(client: Client, name: str) -> RemoteStudy | None:
    return next((study for study in client.studies() if study.internal_name == name), None)


@transaction.atomic
def _adopt(row: ProlificStudy, remote: RemoteStudy, user: User | None) -> None:
    row.prolific_id = remote.id
    row.save(update_fields=["prolific_id"])
    mirror(row, remote)
    record(row.study, "draft on Prolific", user=user, places=remote.places)


def mirror(row: ProlificStudy, remote: RemoteStudy) -> None:
    """Store what Prolific says of a study."""
    row.status, row.places, row.reward = remote.status, remote.places, remote.reward
    row.currency, row.seen_at = remote.currency[:3], timezone.now()
    row.save(update_fields=["status", "places", "reward", "currency", "seen_at"])


@transaction.atomic
def forget_drafts(*, study_id: int, user: User | None = None) -> int:
    """Forget drafts that were never published, so that the plan can change."""
    study = lock_study(study_id)
    rows = ProlificStudy.objects.filter(study=study)
    if rows.exclude(status__in=["", UNPUBLISHED]).exists():
        raise NotAllowed("The study is published. Stop it instead.")
    forgotten, _ = rows.delete()
    if forgotten:
        record(study, "draft forgotten", user=user)
    return forgotten


@dataclasses.dataclass(frozen=True)
class Sum:
    """What is to be paid in all."""

    amount: int
    currency: str

    def __str__(self) -> str:
        return format_money(self.amount, self.currency)

    @property
    def plain(self) -> str:
        """The number as a person types it."""
        return f"{self.amount / 100:.2f}"


def cost_of_publishing(study: Study) -> Sum:
    """What Prolific will charge for the drafts; it says so itself."""
    client = connect()
    costs = [client.cost(str(row.prolific_id)) for row in _bound(study)]
    currency = costs[0].currency or study.currency
    return Sum(sum(cost.total for cost in costs), currency)


def publish(*, study_id: int, confirmed: str, user: User | None = None) -> list[ProlificStudy]:
    """Publish the drafts and spend the money; `confirmed` is the sum that a person typed.

    Raises `NotAllowed` when the sum is another one, when the study takes no answers, or when a
    draft is not what the plan says, for example because Prolific dropped a filter.
    """
    study = Study.objects.get(pk=study_id)
    if study.state != Study.State.OPEN:
        raise NotAllowed("The study takes no answers yet. Open it, then publish.")
    client = connect()
    with alone(study_id) as recruitment:
        rows = _bound(study)
        total = cost_of_publishing(study)
        if not _is_sum(confirmed, total):
            raise NotAllowed(f"Publishing costs {total}. Type {total.plain} to confirm.")
        waiting = _drafts(client, study, recruitment, rows)
        for row in waiting:
            _transition(client, row, "PUBLISH", unless=UNPUBLISHED)
        record(study, "published on Prolific", user=user, cost=total.amount)
    return rows


def _is_sum(typed: str, total: Sum) -> bool:
    digits = "".join(sign for sign in typed if sign.isdigit() or sign in ".,").replace(",", "")
    return digits == total.plain


def _drafts(
    client: Client, study: Study, recruitment: Recruitment, rows: Iterable[ProlificStudy]
) -> list[ProlificStudy]:
    """The rows that are still drafts, each compared with the plan and with the live filters."""
    plan = Plan.of(recruitment.plan)
    live = client.filters(workspace=plan.workspace)
    planned = {
        label: (places, resolved)
        for label, places, resolved in resolve_drafts(
            study, plan, live, group_id=recruitment.group_id
        )
    }
    found, problems = [], []
    for row in rows:
        remote = client.study(str(row.prolific_id))
        mirror(row, remote)
        if remote.status != UNPUBLISHED:
            continue
        places, resolved = planned.get(row.label, (0, None))
        if resolved is None:
            problems.append(f"The plan has no group “{row.label}” any more.")
            continue
        problems += resolved.problems
        if _essence(remote.payload.get("filters")) != _essence(resolved.filters):
            problems.append("The draft's filters on Prolific are not those of the plan.")
        if (remote.places, remote.reward) != (places, study.reward):
            problems.append("Places or reward of the draft are not those of the plan.")
        found.append(row)
    if problems:
        again = "Forget the draft here, delete it on Prolific, and launch again."
        raise LaunchRefused([*dict.fromkeys(problems), again])
    return found


def _essence(filters: Any) -> list[Any]:
    """What a list of filters means, whatever is added or reordered on the way."""
    return sorted(
        (
            str(one.get("filter_id")),
            sorted(map(str, one.get("selected_values") or [])),
            sorted((one.get("selected_range") or {}).items()),
            sorted((one.get("weightings") or {}).items()),
        )
        for one in filters or []
    )


def change(*, study_id: int, action: str, user: User | None = None) -> list[ProlificStudy]:
    """PAUSE, START or STOP the study on Prolific, wherever that is possible there now."""
    ways = {"PAUSE": {"ACTIVE"}, "START": {"PAUSED"}, "STOP": {"ACTIVE", "PAUSED"}}
    study = Study.objects.get(pk=study_id)
    client = connect()
    with alone(study_id):
        changed = []
        for row in _bound(study):
            mirror(row, client.study(str(row.prolific_id)))
            if row.status in ways[action]:
                _transition(client, row, action, unless=row.status)
                changed.append(row)
        if not changed:
            states = ", ".join(dict.fromkeys(row.status.lower() for row in _bound(study)))
            raise NotAllowed(f"The study is {states} on Prolific: nothing to {action.lower()}.")
        record(study, f"{action.lower()} on Prolific", user=user)
    return changed


def add_places(
    *, study_id: int, extra: int, label: str = "", user: User | None = None
) -> ProlificStudy:
    """Add places: read, add, write the absolute number; one at a time."""
    if not 1 <= extra <= 10_000:
        raise NotAllowed("Say how many places to add, from 1 to 10,000.")
    study = Study.objects.get(pk=study_id)
    client = connect()
    with alone(study_id):
        row = ProlificStudy.objects.filter(
            study=study, label=label, prolific_id__isnull=False
        ).first()
        if row is None:
            raise NotAllowed("There is no such study on Prolific yet. Launch it first.")
        remote = client.study(str(row.prolific_id))
        wanted = remote.places + extra
        try:
            mirror(row, client.set_places(remote.id, wanted))
        except OutcomeUnknown:
            mirror(row, client.study(remote.id))
            if row.places != wanted:
                raise
        record(study, "places added on Prolific", user=user, places=extra)
    return row


def refill(*, study_id: int, user: User | None = None) -> int:
    """Start a study again whose places were given back after it had ended; return how many.

    While it is active Prolific fills such places by itself, and after a rejection it may too.
    """
    study = Study.objects.get(pk=study_id)
    client = connect()
    started = 0
    with alone(study_id):
        for row in _bound(study):
            mirror(row, client.study(str(row.prolific_id)))
            short = row.places - good_submissions(row)
            if row.status == AWAITING_REVIEW and short > 0:
                _transition(client, row, "START", unless=AWAITING_REVIEW)
                started += short
        if started:
            record(study, "refilled on Prolific", user=user, places=started)
    return started


def good_submissions(row: ProlificStudy) -> int:
    """Submissions that hold a place for good or for now."""
    lost = ["RETURNED", "TIMED-OUT", "REJECTED", "SCREENED OUT", "UNKNOWN", ""]
    return row.submissions.exclude(status__in=lost).count()


def _bound(study: Study) -> list[ProlificStudy]:
    rows = list(ProlificStudy.objects.filter(study=study, prolific_id__isnull=False))
    if not rows:
        raise NotAllowed("The study is not on Prolific yet. Launch it first.")
    return rows


def _transition(client: Client, row: ProlificStudy, action: str, *, unless: str) -> None:
    """Send a transition once; after a lost answer the status says whether it was done.

    It was not while the status is still `unless`.
    """
    try:
        remote = client.transition_study(str(row.prolific_id), action)
    except ProlificError as error:
        if not error.outcome_unknown:
            raise
        remote = client.study(str(row.prolific_id))
        mirror(row, remote)
        if remote.status == unless:
            raise
    mirror(row, remote)
