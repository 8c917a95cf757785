"""Follow-ups: a second study on Prolific that brings the same people back.

It has its own address, completion code and pay, admits only a participant group, and is settled in
the ledger of the first study. It is created in the first study's project, so in a longitudinal
project it is the next wave. What people do there changes nothing about their first part.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import QuerySet

from annotation.errors import EntryRefused
from annotation.models import Annotator, ProlificStudy
from annotation.prolific.api.claims import claimed
from annotation.prolific.api.client import ProlificClient, connect
from annotation.prolific.api.transport import NotAllowed, ProlificError, shaped
from annotation.prolific.api.types import UNPUBLISHED, find_filter
from annotation.prolific.launch.launch import adopt, create, delete_draft, find, group_name, mirror
from annotation.prolific.launch.launch_plan import (
    LaunchPlan,
    Workspace,
    payload,
    with_project,
    workspace_of,
)
from annotation.prolific.launch.publication import add_places
from annotation.prolific.settle.proposals import FollowUp
from annotation.prolific.spending import PlacesNeeded
from annotation.prolific.sync.sync import is_watched, page_client
from studies.models import Study
from studies.services.studies import record

logger = logging.getLogger(__name__)
GROUP_ALLOWLIST = "participant_group_allowlist"
_MOST_PAY, _MOST_MINUTES = 1_000_000, 600


@dataclass(frozen=True)
class Return(FollowUp):
    """What people come back for; `name` also follows the title of the study on Prolific.

    `due` are the people to bring back now. `task` says in a sentence what they do.
    """

    task: str
    address: Callable[[Study], str]
    code: Callable[[Study], str]
    due: Callable[[Study], QuerySet[Annotator]]


def group_members(client: ProlificClient, group: str) -> set[str]:
    """The ids of the participants of a group."""
    rows = client.ask("GET", f"participant-groups/{group}/participants/")
    return shaped(lambda: {str(row["participant_id"]) for row in rows["results"]})


def add_to_group(client: ProlificClient, group: str, participants: Sequence[str]) -> None:
    """Add participants to a group; those who are in it already stay."""
    body = {"participant_ids": list(participants)}
    path = f"participant-groups/{group}/participants/"
    client.send("POST", path, json=body, again=True)


def row_of(study: Study, follow_up: Return) -> ProlificStudy | None:
    """Our row of the follow-up; None before it was created."""
    rows = ProlificStudy.everything.filter(study=study, is_follow_up=True, label=follow_up.name)
    return rows.first()


def draft_follow_up(
    *, study_id: int, follow_up: Return, reward: int, minutes: int, user: User | None = None
) -> ProlificStudy:
    """Create the follow-up's draft for those who are due; costs nothing.

    It is found again if the answer was lost. Raises `NotAllowed` if nobody is due, `ProlificError`.
    """
    if not (1 <= reward <= _MOST_PAY and 1 <= minutes <= _MOST_MINUTES):
        raise NotAllowed(f"Enter the pay, and from 1 to {_MOST_MINUTES} minutes.")
    study = Study.objects.get(pk=study_id)
    client = connect(study_id)
    with claimed(study_id, client) as recruitment:
        row = row_of(study, follow_up)
        if row is not None and row.prolific_id:
            return row
        people = _ids(follow_up.due(study))
        if not people:
            raise NotAllowed("Nobody is due now.")
        workspace = with_project(client, workspace_of(recruitment, client))
        if find_filter(GROUP_ALLOWLIST, client.filters(workspace=workspace.id)) is None:
            raise NotAllowed("Prolific offers no filter for participant groups any more.")
        is_new = row is None
        if row is None:
            row = ProlificStudy.everything.create(
                study=study, label=follow_up.name, is_follow_up=True, reward=reward
            )
        if not row.group_id:
            name = f"{group_name(study_id)}-{follow_up.name.replace(' ', '-')}"
            row.group_id = client.groups(workspace=workspace.id).get(name) or client.create_group(
                name, workspace=workspace.id
            )
            row.save(update_fields=["group_id"])
        add_to_group(client, row.group_id, people)
        places = len(group_members(client, row.group_id))
        remote = create(
            client,
            _body(study, follow_up, row, workspace, places, reward, minutes),
            is_new=is_new,
        )
        adopt(row, remote, user)
    return row


def _ids(people: QuerySet[Annotator]) -> list[str]:
    """The ids on Prolific of those who still have one here."""
    ordered = people.filter(prolific_identity__isnull=False).order_by("pk")
    return list(ordered.values_list("prolific_identity__pid", flat=True))


def _body(
    study: Study,
    follow_up: Return,
    row: ProlificStudy,
    workspace: Workspace,
    places: int,
    reward: int,
    minutes: int,
) -> dict[str, object]:
    allowed = [{"filter_id": GROUP_ALLOWLIST, "selected_values": [row.group_id]}]
    body = payload(
        study,
        LaunchPlan(),
        name=row.internal_name,
        places=places,
        filters=allowed,
        project=workspace.project,
    )
    review = [{"action": "MANUALLY_REVIEW"}]
    code = {"code": follow_up.code(study), "code_type": "COMPLETED", "actions": review}
    note = " <p>This is a simulated study.</p>" if study.is_simulated else ""
    del body["maximum_allowed_time"]  # of the first part; without it, Prolific's own
    return {
        **body,
        "name": f"{study.title}: {follow_up.name}"[:200],
        "description": f"<p>{follow_up.task}</p><p>It takes about {minutes} minutes.</p>{note}",
        "external_study_url": follow_up.address(study),
        "completion_codes": [code],
        "estimated_completion_time": minutes,
        "reward": reward,
    }


def newly_due(study: Study, follow_up: Return, client: ProlificClient) -> tuple[int, int]:
    """How many more places those who are due need by now, and the places that there are.

    Raises `NotAllowed` before the follow-up is published, and `ProlificError`.
    """
    row = _published(study, follow_up, client)
    members = group_members(client, row.group_id)
    wanted = members.union(_ids(follow_up.due(study)))
    return max(0, len(wanted) - row.places), row.places


def need_of(study: Study, follow_up: Return, people: int | None = None) -> PlacesNeeded:
    """How many people the follow-up needs: by default those who are due now."""
    due = len(_ids(follow_up.due(study))) if people is None else people
    are = "1 person is" if due == 1 else f"{due:,} people are"
    return PlacesNeeded(
        due, f"{are} due for their {follow_up.name} and {_HAVE[due == 1]} no place yet."
    )


_HAVE = {True: "has", False: "have"}


def invite(
    *,
    study_id: int,
    follow_up: Return,
    extra: int,
    seen: int,
    confirmed: str = "",
    beyond: bool = False,
    user: User | None = None,
) -> ProlificStudy:
    """Admit those who became due since, with the `extra` places whose cost a user saw.

    Repeating it after a crash adds nobody and no place twice. Raises `NotAllowed`, also by the rule
    of `Spending` with what `confirmed` and `beyond` say, and `ProlificError`.
    """
    study = Study.objects.get(pk=study_id)
    client = connect(study_id)
    with claimed(study_id, client):
        row = _published(study, follow_up, client)
        people = set(_ids(follow_up.due(study)))
        members = group_members(client, row.group_id)
        need = need_of(study, follow_up, max(0, len(people | members) - row.places))
        if new := sorted(people - members):
            add_to_group(client, row.group_id, new)
    return add_places(
        study_id=study_id,
        extra=extra,
        label=follow_up.name,
        seen=seen,
        confirmed=confirmed,
        beyond=beyond,
        need=need,
        user=user,
    )


def _published(study: Study, follow_up: Return, client: ProlificClient) -> ProlificStudy:
    row = row_of(study, follow_up)
    if row is None or not row.prolific_id:
        raise NotAllowed("The follow-up is not on Prolific yet. Create its draft first.")
    mirror(row, client.study(row.prolific_id))
    if row.status == UNPUBLISHED:
        raise NotAllowed("The follow-up is a draft. Publish it first.")
    return row


def discard_follow_up(*, study_id: int, follow_up: Return, user: User | None = None) -> None:
    """Delete the draft, there and here. Raises `NotAllowed` once it is published."""
    study = Study.objects.get(pk=study_id)
    client = connect(study_id)
    with claimed(study_id, client) as recruitment:
        row = row_of(study, follow_up)
        if row is None:
            return
        project = Workspace.of(recruitment.workspace).project
        draft = None if row.prolific_id else find(client, row.internal_name, project)
        remote_id = row.prolific_id or (draft.id if draft else "")
        if remote_id:
            mirror(row, client.study(remote_id))
            if row.status != UNPUBLISHED:
                raise NotAllowed("The follow-up is published. Stop it instead.")
            delete_draft(client, remote_id)
        row.delete()
        record(study, "draft deleted on Prolific", user=user, of=follow_up.name)


def verify_return(study: Study, query: Mapping[str, str]) -> bool:
    """Compare PROLIFIC_PID with the submission to the study that brings people back.

    That study was created on Prolific by hand, so only Prolific knows its submissions. Nobody is
    refused if Prolific does not answer or does not know the session yet; returns whether it
    confirms the session as the participant's. Raises `EntryRefused`.
    """
    if not is_watched(study):
        return False
    pid, session = query.get("PROLIFIC_PID", ""), query.get("SESSION_ID", "")
    if not session:
        raise EntryRefused("SESSION_ID is missing")
    try:
        with page_client(study.pk) as client:
            remote = client.submission(session)
    except ProlificError as error:
        logger.info("study %s: a submission could not be looked up: %s", study.pk, error)
        return False
    if remote.participant != pid:
        raise EntryRefused("SESSION_ID is somebody else's")
    return True
