"""From a launch plan to a running study on Prolific, and the actions on it there."""

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.crypto import salted_hmac

from annotation.models import ProlificStudy, Recruitment
from annotation.prolific.api.claims import claimed
from annotation.prolific.api.client import ProlificClient, connect
from annotation.prolific.api.transport import (
    LaunchRefused,
    NotAllowed,
    NotFound,
    OutcomeUnknown,
    ProlificRejected,
)
from annotation.prolific.api.types import SCHEDULED, UNPUBLISHED, RemoteStudy, minor
from annotation.prolific.launch.launch_checks import LaunchPreview, preview
from annotation.prolific.launch.launch_plan import (
    PAPER,
    PAPER_CURRENCY,
    PAPER_PAY_PER_HOUR,
    LaunchPlan,
    Workspace,
    label_for,
    payload,
    question_of,
    with_project,
    workspace_of,
)
from annotation.prolific.launch.targeting import resolve_drafts
from annotation.prolific.money import note_reservation
from studies.extra import Kind
from studies.models import Study
from studies.services.studies import check_seen, lock_study, record, seen_of
from studies.statements import clock

_GROUP_SALT = "annotation.prolific.group"


@dataclass(frozen=True)
class LaunchTrial:
    """A way to try a launch, which an extra adds: it publishes nothing.

    `prolific launch` has an option with this name and prints `lines`; the launch page has a button
    that posts to the page with the name `view`, above a hint.
    """

    name: str
    help: str
    lines: Callable[[Study], Iterator[str]]
    view: str
    button: str
    hint: str


TRIALS: Kind[LaunchTrial] = Kind("recruiting", "trials")


def plan_of(study: Study) -> LaunchPlan:
    """The study's launch plan; an empty plan if there is none."""
    recruitment = Recruitment.objects.filter(study=study).first()
    return LaunchPlan.of(recruitment.plan) if recruitment else LaunchPlan()


def seen_launch(plan: LaunchPlan) -> str:
    """The hash of the plan that a form shows."""
    return seen_of(plan.stored())


@transaction.atomic
def save_plan(
    *, study_id: int, plan: LaunchPlan, seen: str | None = None, user: User | None = None
) -> Recruitment:
    """Store the launch plan. Raises `NotAllowed` once drafts were created from it.

    Raises `StaleVersion` if the stored plan is not the one whose `seen_launch` a form showed.
    """
    study = lock_study(study_id)
    check_seen(study, seen, seen_launch(plan_of(study)), what="the launch plan")
    if ProlificStudy.objects.filter(study=study).exists():
        raise NotAllowed("The draft already exists. Delete it here and on Prolific first.")
    recruitment, _ = Recruitment.objects.get_or_create(study=study)
    recruitment.plan = plan.stored()
    recruitment.account = {}  # It may be another workspace's account.
    recruitment.save(update_fields=["plan", "account"])
    record(study, "recruitment plan", user=user)
    return recruitment


def may_balance(study: Study) -> bool:
    """Whether the plan can still be balanced: no draft was created from it."""
    is_recruited = ProlificStudy.objects.filter(study=study).exists()
    return study.entry == Study.Entry.PROLIFIC and not is_recruited


def balance_by_groups(*, study_id: int, user: User | None = None) -> list[str]:
    """Balance the plan by the study's quota groups, whose places it then requests.

    Returns the keys of the questions for which no filter is known. Raises `NotAllowed`.
    """
    study = Study.objects.get(pk=study_id)
    plan, left = plan_of(study), []
    groups = [group for group in study.quota_groups.all() if group.target]
    balance = dict(plan.balance)
    for question in study.demographic_questions.all():
        key = question.key
        values = {group.criteria[key] for group in groups if key in group.criteria}
        if not values or key in plan.matches:
            continue
        labels_of = {o["value"]: o["label"] for o in question.options if o["value"] in values}
        filter_id = next((one for one in PAPER.balance if question_of(one, {key})), "")
        offered = PAPER.balance.get(filter_id, [])
        labels = [
            label
            for label in offered
            if any(label_for(text, [label]) for option in labels_of.items() for text in option)
        ]
        if len(labels) > 1:
            balance[filter_id] = labels
        else:
            left.append(question.label)
    save_plan(study_id=study_id, plan=replace(plan, balance=balance, places=None), user=user)
    return left


@transaction.atomic
def apply_paper(*, study_id: int, user: User | None = None) -> LaunchPlan:
    """Set exactly the settings of the study behind the paper, including its hourly pay.

    With quota groups, the places are theirs.
    """
    study = lock_study(study_id)
    before = {"reward": study.reward, "currency": study.currency}
    study.reward = math.ceil(study.minutes * PAPER_PAY_PER_HOUR / 60)
    study.currency = PAPER_CURRENCY
    study.save(update_fields=["reward", "currency"])
    after = {"reward": study.reward, "currency": study.currency}
    record(study, "pay", user=user, **after, before=before, after=after)
    plan = replace(PAPER, places=None) if study.quota_groups.exists() else PAPER
    save_plan(study_id=study_id, plan=plan, user=user)
    return plan


def check_launch(study: Study) -> LaunchPreview:
    """The checks and the cost of launching the study in its current state."""
    client = connect(study.pk)
    recruitment = Recruitment.objects.filter(study=study).first() or Recruitment(study=study)
    workspace, problem = None, ""
    try:
        workspace = workspace_of(recruitment, client)
    except NotAllowed as error:
        problem = str(error)
    return preview(study, plan_of(study), client, workspace, problem)


def launch(*, study_id: int, user: User | None = None) -> list[ProlificStudy]:
    """Create the study's drafts on Prolific; existing ones are found and never created again.

    Raises `LaunchRefused` if a check blocks, and any `ProlificError`; calling it again continues
    where it stopped.
    """
    study = Study.objects.get(pk=study_id)
    client = connect(study_id)
    with claimed(study_id, client) as recruitment:
        plan = LaunchPlan.of(recruitment.plan)
        rows = list(ProlificStudy.objects.filter(study=study))
        if rows and all(row.prolific_id for row in rows):
            return rows
        workspace = workspace_of(recruitment, client)
        looked = preview(study, plan, client, workspace, counts_cells=False)
        if looked.blocking:
            raise LaunchRefused(looked.blocking)
        workspace = _settle_on(recruitment, with_project(client, workspace))
        group_id = _group(client, recruitment) if plan.apart else ""
        for label, places, resolved in resolve_drafts(
            study, plan, client, workspace.id, group_id=group_id
        ):
            row, is_new = ProlificStudy.objects.get_or_create(
                study=study, label=label, defaults={"places": places, "reward": study.reward}
            )
            if row.prolific_id:
                continue
            body = payload(
                study,
                plan,
                name=row.internal_name,
                places=places,
                filters=resolved.filters,
                filter_set=resolved.filter_set,
                group_id=group_id,
                project=workspace.project,
            )
            body["name"] = study_name(study, label)
            adopt(row, create(client, body, is_new=is_new), user)
    return list(ProlificStudy.objects.filter(study=study))


def study_name(study: Study, label: str) -> str:
    """The name shown on Prolific; studies of separate groups add the group."""
    return f"{study.title} ({label})"[:200] if label else study.title


def _settle_on(recruitment: Recruitment, workspace: Workspace) -> Workspace:
    """Store the workspace of the drafts, and discard a participant group of another workspace."""
    if Workspace.of(recruitment.workspace).id != workspace.id:
        recruitment.group_id = ""
    recruitment.workspace = workspace.stored()
    recruitment.save(update_fields=["workspace", "group_id"])
    return workspace


def group_name(study_id: int) -> str:
    """The name by which to find the study's participant group again."""
    key = salted_hmac(_GROUP_SALT, str(study_id), algorithm="sha256").hexdigest()
    return f"thirdperson-{key[:16]}"


def _group(client: ProlificClient, recruitment: Recruitment) -> str:
    """The participant group that keeps people from taking part in two quota groups' studies.

    It is found by name if the answer to its creation was lost.
    """
    if not recruitment.group_id:
        name, workspace = group_name(recruitment.study_id), str(recruitment.workspace["id"])
        recruitment.group_id = client.groups(workspace=workspace).get(name) or client.create_group(
            name, workspace=workspace
        )
        recruitment.save(update_fields=["group_id"])
    return recruitment.group_id


def create(client: ProlificClient, body: dict[str, Any], *, is_new: bool) -> RemoteStudy:
    """Create a draft once; after a lost answer, find it by its internal name."""
    name, project = body["internal_name"], body["project"]
    if not is_new and (draft := find(client, name, project)):
        return draft
    try:
        return client.create_study(body)
    except OutcomeUnknown:
        if draft := find(client, name, project):
            return draft
        raise
    except ProlificRejected as error:
        # Some accounts require this field with weighted filters, others reject it.
        if "study_type" not in error.detail or "study_type" not in body:
            raise
        return create(client, {k: v for k, v in body.items() if k != "study_type"}, is_new=False)


def find(client: ProlificClient, name: str, project: str) -> RemoteStudy | None:
    """Find the study with this internal name in the project, otherwise in the account."""
    for where in dict.fromkeys([project, ""]):
        for study in client.studies(where):
            if study.internal_name == name:
                return study
    return None


@transaction.atomic
def adopt(row: ProlificStudy, remote: RemoteStudy, user: User | None) -> None:
    """Store that the row's study was created."""
    row.prolific_id = remote.id
    row.save(update_fields=["prolific_id"])
    mirror(row, remote)
    record(row.study, "draft on Prolific", user=user, places=remote.places)


def mirror(row: ProlificStudy, remote: RemoteStudy) -> None:
    """Store Prolific's data on a study, and the money that a scheduled publication took."""
    has_begun = row.status == SCHEDULED and remote.status not in (SCHEDULED, UNPUBLISHED)
    row.status, row.places, row.reward = remote.status, remote.places, remote.reward
    row.currency, row.seen_at = remote.currency[:3], clock.now()
    row.save(update_fields=["status", "places", "reward", "currency", "seen_at"])
    if has_begun:
        stated = remote.payload.get("total_cost")
        note_reservation(
            row,
            places=row.places,
            rewards=row.places * row.reward,
            total=None if stated is None else minor(stated),
        )


def forget_drafts(*, study_id: int, user: User | None = None) -> int:
    """Delete unpublished drafts, there and here, so that the plan can change.

    Raises `NotAllowed` once one is published, and `ProlificError`.
    """
    study = Study.objects.get(pk=study_id)
    client = connect(study_id)
    with claimed(study_id, client) as recruitment:
        project = Workspace.of(recruitment.workspace).project
        rows = list(ProlificStudy.objects.filter(study=study))
        for row in rows:
            remote_id = row.prolific_id or _find_id(client, row, project)
            if remote_id:
                _refuse_if_published(client, remote_id)
        for row in rows:
            if remote_id := row.prolific_id or _find_id(client, row, project):
                delete_draft(client, remote_id)
            row.delete()
        if rows:
            record(study, "draft deleted on Prolific", user=user)
    return len(rows)


def _find_id(client: ProlificClient, row: ProlificStudy, project: str) -> str:
    """The id of a draft whose creation was not confirmed; empty if none was created."""
    remote = find(client, row.internal_name, project)
    return remote.id if remote else ""


def _refuse_if_published(client: ProlificClient, remote_id: str) -> None:
    with contextlib.suppress(NotFound):
        status = client.study(remote_id).status
        if status == SCHEDULED:
            raise NotAllowed("The study is scheduled. Cancel its publication first.")
        if status != UNPUBLISHED:
            raise NotAllowed("The study is published. Stop it instead.")


def delete_draft(client: ProlificClient, remote_id: str) -> None:
    """Delete a draft there. Raises an error only if it is still there afterwards."""
    try:
        client.delete_study(remote_id)
    except NotFound:
        if _is_there(client, remote_id):
            raise


def _is_there(client: ProlificClient, remote_id: str) -> bool:
    try:
        client.study(remote_id)
    except NotFound:
        return False
    return True
