"""Actions on a study on Prolific once its draft exists: publish, pause, add, refill.

Repeating a request for places after a crash adds these places only once.
"""

import contextlib
import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import ProlificStudy, Recruitment
from annotation.prolific.api.claims import claimed
from annotation.prolific.api.client import ProlificClient, connect, is_local
from annotation.prolific.api.transport import LaunchRefused, NotAllowed, ProlificError
from annotation.prolific.api.types import (
    ACTIVE,
    COMPLETED,
    SCHEDULED,
    UNPUBLISHED,
    RemoteStudy,
    StudyCost,
)
from annotation.prolific.launch.launch import mirror
from annotation.prolific.launch.launch_plan import (
    LaunchPlan,
    Workspace,
    content_warnings,
    workspace_of,
)
from annotation.prolific.launch.open_places import (
    PAUSED_FULL,
    RESTING,
    good_submissions,
    need_of_drafts,
    need_of_places,
    rows_without_need,
)
from annotation.prolific.launch.targeting import (
    planned_targeting,
    resolve_drafts,
    targeting_of,
)
from annotation.prolific.money import note_reservation
from annotation.prolific.spending import PlacesNeeded, Spending, spending
from studies.models import Study
from studies.money import format_money, major_units
from studies.services.studies import StateNote, mark_simulated, record
from studies.statements import clock


@dataclass(frozen=True)
class PlacesRequest:
    """A request to change the number of places, from one number to another."""

    before: int
    wanted: int


def open_request(row: ProlificStudy, remote: RemoteStudy, *, extra: int) -> PlacesRequest | None:
    """An earlier request for the same places with unknown outcome, if there is one.

    It is void if Prolific shows neither the number before it nor the one after it: then somebody
    changed the places on Prolific.
    """
    if row.places_before is None or row.places_wanted is None:
        return None
    request = PlacesRequest(row.places_before, row.places_wanted)
    is_same = request.wanted - request.before == extra
    return request if is_same and remote.places in (request.before, request.wanted) else None


def store_request(row: ProlificStudy, request: PlacesRequest | None) -> None:
    """Store a request before it is sent; None once it is fulfilled or refused."""
    row.places_before = request.before if request else None
    row.places_wanted = request.wanted if request else None
    row.save(update_fields=["places_before", "places_wanted"])


@dataclasses.dataclass(frozen=True)
class Sum:
    """The amount to pay, and its parts where Prolific states them."""

    amount: int
    currency: str
    cost: StudyCost = dataclasses.field(default_factory=StudyCost)

    def __str__(self) -> str:
        return format_money(self.amount, self.currency)

    @property
    def rewards(self) -> str:
        return format_money(self.cost.rewards, self.currency)

    @property
    def fees(self) -> str:
        return format_money(self.cost.fees, self.currency)

    @property
    def tax(self) -> str:
        return format_money(self.cost.tax, self.currency)

    @property
    def plain(self) -> str:
        """The number as users type it."""
        return f"{major_units(self.amount, self.currency):f}"


def look_at_publishing(
    study: Study, *, follow_up: str = "", need: PlacesNeeded | None = None
) -> tuple[Sum, Spending, Workspace]:
    """What publishing spends: its parts, the need and the balance, and the workspace that pays.

    With the name of a `follow_up`, here and below, the study that brings people back is meant.
    """
    client = connect(study.pk)
    drafts = _drafts(client, study, follow_up)
    recruitment = Recruitment.objects.select_related("study").get(study=study)
    workspace = workspace_of(recruitment, client)
    total = _sum(study, _costs(client, drafts))
    asked = _spending_on_drafts(client, study, recruitment, workspace, drafts, total, need)
    return total, asked, workspace


def _spending_on_drafts(
    client: ProlificClient,
    study: Study,
    recruitment: Recruitment,
    workspace: Workspace,
    drafts: Sequence[tuple[ProlificStudy, RemoteStudy]],
    total: Sum,
    need: PlacesNeeded | None,
) -> Spending:
    rows = [row for row, _ in drafts]
    return spending(
        client,
        study,
        total.amount,
        total.currency,
        need or need_of_drafts(study, LaunchPlan.of(recruitment.plan), rows),
        people=sum(remote.places for _, remote in drafts),
        spent=0,  # on these drafts, so that the amount of publishing is always typed
        workspace=(workspace.id, workspace.title),
    )


def _drafts(
    client: ProlificClient, study: Study, follow_up: str
) -> list[tuple[ProlificStudy, RemoteStudy]]:
    """The rows that are still drafts on Prolific, checked now."""
    drafts = []
    for row in _bound(study, follow_up):
        remote = client.study(str(row.prolific_id))
        mirror(row, remote)
        if remote.status == UNPUBLISHED:
            drafts.append((row, remote))
    return drafts


def _costs(
    client: ProlificClient, drafts: Iterable[tuple[ProlificStudy, RemoteStudy]]
) -> dict[ProlificStudy, StudyCost]:
    return {row: client.cost(remote.id) for row, remote in drafts}


def _sum(study: Study, costs: Mapping[ProlificStudy, StudyCost]) -> Sum:
    """The sum of the amounts that Prolific states."""
    named = next((cost.currency for cost in costs.values() if cost.currency), "")
    amounts = costs.values()
    parts = StudyCost(
        rewards=sum(cost.rewards for cost in amounts),
        fees=sum(cost.fees for cost in amounts),
        tax=sum(cost.tax for cost in amounts),
    )
    return Sum(parts.total, named or study.currency, parts)


# The log event; its detail `at` is the time. Logs of existing studies contain this text.
SCHEDULED_EVENT = "scheduled on Prolific"


def publish(
    *,
    study_id: int,
    confirmed: str,
    beyond: bool = False,
    at: dt.datetime | None = None,
    follow_up: str = "",
    need: PlacesNeeded | None = None,
    user: User | None = None,
) -> list[ProlificStudy]:
    """Publish the drafts and spend the money; `confirmed` is the sum that a user typed.

    With `at`, Prolific publishes them at that time and takes the money then. A follow-up brings its
    own `need`; with `beyond`, more places than the need are meant.

    The sum counts the unpublished drafts; without any, nothing is done. Raises `NotAllowed` by the
    rule of `Spending`, if the study takes no answers, or if a draft differs from the plan, for
    example because Prolific dropped a filter.
    """
    study = Study.objects.get(pk=study_id)
    if study.state != Study.State.OPEN and not follow_up:
        raise NotAllowed("The study is not open. Open it, then publish.")
    if at is not None and at <= clock.now():
        raise NotAllowed(f"{at:%Y-%m-%d %H:%M %Z} is over. Enter a time in the future.")
    client = connect(study_id)
    with claimed(study_id, client) as recruitment:
        drafts = _drafts(client, study, follow_up)
        if not drafts:
            return _bound(study, follow_up)
        costs = _costs(client, drafts)
        total = _sum(study, costs)
        workspace = workspace_of(recruitment, client)
        if not follow_up:
            _compare(client, study, recruitment, workspace, drafts)
        _spending_on_drafts(client, study, recruitment, workspace, drafts, total, need).check(
            confirmed=confirmed, beyond=beyond
        )
        if is_local():
            mark_simulated(study_id=study.pk, user=user)
        if at is not None:
            for row in costs:
                _transition(client, row, "SCHEDULE_PUBLISH", unless=UNPUBLISHED, at=at)
            record(study, SCHEDULED_EVENT, user=user, cost=total.amount, at=at.isoformat())
            return _bound(study, follow_up)
        for row, cost in costs.items():
            _transition(client, row, "PUBLISH", unless=UNPUBLISHED)
            note_reservation(
                row, places=row.places, rewards=cost.rewards, total=cost.total, user=user
            )
        about = {"of": follow_up} if follow_up else {}
        record(study, "published on Prolific", user=user, cost=total.amount, **about)
    return _bound(study, follow_up)


def scheduled_at(study: Study) -> dt.datetime | None:
    """When the study is published, by its last schedule."""
    last = study.log.filter(event=SCHEDULED_EVENT).order_by("-pk").first()
    return dt.datetime.fromisoformat(last.detail["at"]) if last else None


def _compare(
    client: ProlificClient,
    study: Study,
    recruitment: Recruitment,
    workspace: Workspace,
    drafts: Iterable[tuple[ProlificStudy, RemoteStudy]],
) -> None:
    """Compare each draft with the plan and the live filters. Raises `LaunchRefused`."""
    plan = LaunchPlan.of(recruitment.plan)
    planned = {
        label: (places, resolved)
        for label, places, resolved in resolve_drafts(
            study, plan, client, workspace.id, group_id=recruitment.group_id
        )
    }
    problems = []
    for row, remote in drafts:
        places, resolved = planned.get(row.label, (0, None))
        if resolved is None:
            problems.append(f"The launch plan has no group “{row.label}”.")
            continue
        problems += resolved.problems
        if remote.payload.get("project", workspace.project) != workspace.project:
            problems.append(
                "The draft is not in the project of the launch plan, "
                f"{workspace.project_title}. Another workspace may pay for it."
            )
        if targeting_of(remote.payload) != planned_targeting(resolved):
            problems.append("The draft's filters on Prolific differ from the launch plan.")
        warned = remote.payload.get("content_warnings") or []
        if warned != content_warnings(study).get("content_warnings", []):
            problems.append("The draft's content warning does not match the items.")
        if (remote.places, remote.reward) != (places, study.reward):
            problems.append("The places or the reward of the draft differ from the launch plan.")
    if problems:
        again = "Delete the draft, then launch again."
        raise LaunchRefused([*dict.fromkeys(problems), again])


def change(
    *, study_id: int, action: str, follow_up: str = "", user: User | None = None
) -> list[ProlificStudy]:
    """PAUSE, START or STOP the study on Prolific, where that is currently possible.

    CANCEL_PUBLISH, and the two that stop recruiting, make a scheduled study a draft again.
    """
    study = Study.objects.get(pk=study_id)
    if changed := _change(study, action, user, follow_up):
        return changed
    rows = _bound(study, follow_up)
    states = ", ".join(dict.fromkeys(row.status.lower() for row in rows))
    raise NotAllowed(f"The study is {states} on Prolific: nothing to {action.lower()}.")


_WAYS = {
    "PAUSE": {"ACTIVE"},
    "START": {"PAUSED"},
    "STOP": {"ACTIVE", "PAUSED"},
    "CANCEL_PUBLISH": {SCHEDULED},
}


def _change(
    study: Study, action: str, user: User | None, follow_up: str = ""
) -> list[ProlificStudy]:
    """Do the action on each of the study's rows for which it is possible; return these rows."""
    client = connect(study.pk)
    changed: list[ProlificStudy] = []
    unneeded = _unneeded(study)
    with claimed(study.pk, client):
        for row in _bound(study, follow_up):
            mirror(row, client.study(str(row.prolific_id)))
            cancels = row.status == SCHEDULED and action != "START"
            sent = "CANCEL_PUBLISH" if cancels else action
            if row.status in _WAYS[sent]:
                if sent == "START" and row in unneeded:
                    raise NotAllowed(NOBODY_NEEDED)
                _transition(client, row, sent, unless=row.status)
                changed.append(row)
        if changed:
            note_returns_seen(study_id=study.pk)
            done = f"{action.lower()} on Prolific"
            record(study, f"{done}: {follow_up}" if follow_up else done, user=user)
    return changed


NOBODY_NEEDED = (
    "The study needs nobody else: all answers are in, or the quota groups are full. People who "
    "came now would be paid for answers that it does not need. To recruit more, open more places "
    "under “Places and quota”, or switch off “Pause recruiting on Prolific when all answers are "
    "in” in the settings."
)


def _unneeded(study: Study) -> list[ProlificStudy]:
    """The rows that must not recruit, because nobody else is needed there."""
    if not study.pause_when_full:
        return []
    return rows_without_need(study, ProlificStudy.objects.filter(study=study))


def pause_full(*, study_id: int) -> int:
    """Pause recruiting where nobody else is needed; return how many studies were paused.

    A change that is in progress comes first: the next reading tries again.
    """
    study = Study.objects.get(pk=study_id)
    active = ProlificStudy.objects.filter(study=study, status=ACTIVE)
    if not active.exists() or not any(row.status == ACTIVE for row in _unneeded(study)):
        return 0
    client, paused = connect(study_id), 0
    with contextlib.suppress(NotAllowed), claimed(study_id, client):
        for row in _unneeded(study):
            mirror(row, client.study(str(row.prolific_id)))
            if row.status == ACTIVE:
                _transition(client, row, "PAUSE", unless=ACTIVE)
                record(study, PAUSED_FULL, group=row.label)
                paused += 1
    return paused


def note_returns_seen(*, study_id: int) -> int:
    """Note that a user has seen to Prolific's report of many returns."""
    reported = ProlificStudy.objects.filter(study=study_id, many_returns_at__isnull=False)
    return reported.update(many_returns_at=None)


# Statuses in which nobody new gets a place.
_AT_REST = (*RESTING, COMPLETED)
_FOLLOWING = {
    Study.State.OPEN: ("START", "started"),
    Study.State.PAUSED: ("PAUSE", "paused"),
    Study.State.CLOSED: ("STOP", "stopped"),
}


def follow_state(study: Study, user: User | None) -> StateNote | None:
    """Start, pause or stop recruiting on Prolific with the study; report a failure."""
    published = ProlificStudy.objects.filter(study=study, prolific_id__isnull=False).exclude(
        status__in=("", UNPUBLISHED)
    )
    if not published.exists():
        return None
    action, done = _FOLLOWING[Study.State(study.state)]
    problem = ""
    try:
        if changed := _change(study, action, user):
            if any(row.status == UNPUBLISHED for row in changed):
                return StateNote("The scheduled publication on Prolific was cancelled.")
            return StateNote(f"Recruiting on Prolific was {done} too.")
        running = published.exclude(status__in=_AT_REST).values_list("status", flat=True)
        if action != "START" and (status := running.first()):
            problem = f"It is {status.lower()} there."
    except ProlificError as error:
        problem = str(error)
    if not problem:
        return None
    people = (
        ""
        if action == "START"
        else f" People may still arrive, although the study is {study.state}."
    )
    return StateNote(
        f"Recruiting could not be {done} on Prolific. {problem}{people} Try again on the page "
        "“Recruit on Prolific”.",
        is_problem=True,
    )


def add_places(
    *,
    study_id: int,
    extra: int,
    label: str = "",
    seen: int | None = None,
    confirmed: str = "",
    beyond: bool = False,
    need: PlacesNeeded | None = None,
    user: User | None = None,
) -> ProlificStudy:
    """Add places: read their number, add, write the absolute number; one request at a time.

    `seen` is the number when a user agreed to the cost, from `look_at_places`. If there are already
    `extra` more, they were added before and are not added again. The request is stored before it is
    sent: after a crash, the same call ends at the same number.

    `confirmed` is the amount that a user typed; with `beyond`, more places than the need are meant.
    A follow-up brings its own `need`. Raises `NotAllowed`, also by the rule of `Spending`, and
    `ProlificError`.
    """
    if not 1 <= extra <= 10_000:
        raise NotAllowed("Enter how many places to add, from 1 to 10,000.")
    study = Study.objects.get(pk=study_id)
    client = connect(study_id)
    with claimed(study_id, client) as recruitment:
        row = ProlificStudy.everything.filter(
            study=study, label=label, prolific_id__isnull=False
        ).first()
        if row is None:
            raise NotAllowed("The study is not on Prolific yet. Launch it first.")
        remote = client.study(str(row.prolific_id))
        mirror(row, remote)
        earlier = open_request(row, remote, extra=extra)
        before = earlier.before if earlier else remote.places if seen is None else seen
        wanted = before + extra
        if remote.places == wanted and earlier is None:
            return row
        if remote.places not in (before, wanted):
            raise NotAllowed(
                f"There are {remote.places} places now, not {before}. Check the cost again."
            )
        if remote.places == wanted:
            total = _cost_of_places(client, row, extra)
        else:
            asked = _spending_on_places(client, recruitment, row, extra, need)
            asked.check(confirmed=confirmed, beyond=beyond)
            total = asked.amount
            store_request(row, PlacesRequest(before, wanted))
            _set_places(client, row, wanted)
        with transaction.atomic():
            store_request(row, None)
            note_reservation(row, places=extra, rewards=extra * row.reward, total=total, user=user)
            record(study, "places added on Prolific", user=user, places=extra)
    return row


def _cost_of_places(client: ProlificClient, row: ProlificStudy, extra: int) -> int | None:
    """The cost of places with fees and tax; None if Prolific does not state it now."""
    try:
        return client.calculate_cost(reward=row.reward, places=extra)
    except ProlificError:
        return None


def _spending_on_places(
    client: ProlificClient,
    recruitment: Recruitment,
    row: ProlificStudy,
    extra: int,
    need: PlacesNeeded | None,
) -> Spending:
    study, workspace = recruitment.study, workspace_of(recruitment, client)
    return spending(
        client,
        study,
        client.calculate_cost(reward=row.reward, places=extra),
        row.paid_in,
        need or need_of_places(study, row.label),
        people=extra,
        workspace=(workspace.id, workspace.title),
    )


def look_at_places(
    row: ProlificStudy, *, extra: int, need: PlacesNeeded | None = None
) -> tuple[int, Spending]:
    """The current number of places, and what `extra` more would spend.

    With an unfinished request for as many, the number is the one before it. Raises `ProlificError`.
    """
    client = connect(row.study_id)
    remote = client.study(str(row.prolific_id))
    earlier = open_request(row, remote, extra=extra)
    if earlier is None:
        mirror(row, remote)
    recruitment = Recruitment.objects.select_related("study").get(study=row.study_id)
    asked = _spending_on_places(client, recruitment, row, extra, need)
    return earlier.before if earlier else remote.places, asked


def _set_places(client: ProlificClient, row: ProlificStudy, wanted: int) -> None:
    """Write the number of places; after a lost answer, read whether it was changed."""
    try:
        mirror(row, client.set_places(str(row.prolific_id), wanted))
    except ProlificError as error:
        if not error.outcome_unknown:
            store_request(row, None)
            raise
        mirror(row, client.study(str(row.prolific_id)))
        if row.places != wanted:
            raise


def refill(*, study_id: int, user: User | None = None) -> int:
    """Start an ended or paused study with returned places; return how many it refills.

    Prolific refills places of an active study itself, but pauses a full study when somebody
    awaiting review returns or is rejected. Raises `NotAllowed` if nobody could take part here, and
    `ProlificError`.
    """
    study = Study.objects.get(pk=study_id)
    if study.state != Study.State.OPEN:
        raise NotAllowed(f"The study is {study.state} here. Open it, then refill its places.")
    client = connect(study_id)
    unneeded = _unneeded(study)
    started = 0
    with claimed(study_id, client):
        for row in _bound(study):
            mirror(row, client.study(str(row.prolific_id)))
            short = row.places - good_submissions(row)
            if row.status in RESTING and short > 0 and row in unneeded:
                raise NotAllowed(NOBODY_NEEDED)
            if row.status in RESTING and short > 0:
                _transition(client, row, "START", unless=row.status)
                started += short
        if started:
            record(study, "refilled on Prolific", user=user, places=started)
    return started


def _bound(study: Study, follow_up: str = "") -> list[ProlificStudy]:
    wanted = ProlificStudy.everything.filter(study=study, is_follow_up=bool(follow_up))
    rows = list(wanted.filter(prolific_id__isnull=False))
    if follow_up:
        rows = [row for row in rows if row.label == follow_up]
    if not rows:
        raise NotAllowed("The study is not on Prolific yet. Launch it first.")
    return rows


def _transition(
    client: ProlificClient,
    row: ProlificStudy,
    action: str,
    *,
    unless: str,
    at: dt.datetime | None = None,
) -> None:
    """Send a transition once; after a lost answer, the status says whether it was done.

    It was not done if the status is still `unless`. `at` is when it takes effect.
    """
    try:
        remote = client.transition_study(
            str(row.prolific_id), action, at=at.isoformat() if at else ""
        )
    except ProlificError as error:
        if not error.outcome_unknown:
            raise
        remote = client.study(str(row.prolific_id))
        mirror(row, remote)
        if remote.status == unless:
            raise
    mirror(row, remote)
