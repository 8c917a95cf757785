"""Propose, carry out, decline.

A proposal is checked like the request that it stands for, and stores nothing else. Carrying it out
sends that request as the person who presses the button, with that person's role.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from extras.agents.models import KEPT_OPEN, Proposal, ProposalKind, ProposalState
from studies.errors import StudyError
from studies.models.studies import AccessToken, Study
from studies.services.extras import turn_on
from studies.services.studies import lock_study, record, seen_of
from studies.statements import clock

if TYPE_CHECKING:
    from ninja import Schema

MOST_OPEN = 20


class ProposalError(StudyError):
    """The proposal cannot be made, or was already decided."""


@dataclass(frozen=True)
class ProposedRequest:
    """The body of a request, and the function of the API that answers it."""

    schema: "type[Schema]"
    send: Callable[[HttpRequest, str, Any], Any]


def request_of(kind: str) -> ProposedRequest:
    # The API is loaded by its first use, not at start.
    from api.v1.routes import runs, studies

    requests = {
        ProposalKind.RUN: ProposedRequest(runs.NewRun, runs.start),
        ProposalKind.STATE: ProposedRequest(studies.NewState, studies.state),
    }
    return requests[ProposalKind(kind)]


def refusal_of(error: Exception) -> str:
    """What the API says of an exception; empty if it is an error of the program."""
    from api.v1.access import problem_of

    problem = problem_of(error)
    if problem is None:
        return ""
    return " ".join([problem.detail, *(str(fault["message"]) for fault in problem.errors)])


def open_proposals(study: Study) -> QuerySet[Proposal]:
    """Those that somebody can still decide about."""
    since = clock.now() - KEPT_OPEN
    return Proposal.objects.filter(study=study, state=ProposalState.WAITING, created_at__gt=since)


@transaction.atomic
def propose(
    *, study: Study, token: AccessToken, kind: ProposalKind, body: dict[str, Any], reason: str
) -> Proposal:
    """Store a proposal, or return the same one that still waits. Raises `ProposalError`."""
    lock_study(study.pk)
    waiting = open_proposals(study)
    for known in waiting:
        if (known.kind, known.body) == (kind, body):
            return known
    if len(waiting) >= MOST_OPEN:
        raise ProposalError(
            f"{MOST_OPEN} proposals wait for a decision. Somebody has to decide about them first."
        )
    turn_on(study, "agents", user=token.user)
    proposal = Proposal.objects.create(
        study=study,
        kind=kind,
        body=body,
        reason=reason[:500],
        token=token.name,
        proposed_by=token.user,
    )
    record(study, "proposal by an agent", user=token.user, proposal=proposal.public_id, kind=kind)
    return proposal


def cost_of(request: HttpRequest, proposal: Proposal) -> dict[str, Any] | None:
    """What a proposed run would ask and cost now; None for anything else."""
    if proposal.kind != ProposalKind.RUN:
        return None
    from api.v1.routes.runs import NewRun, estimate

    costs = estimate(request, proposal.study.slug, NewRun(**proposal.body))
    names = ("questions", "answered", "reused", "tokens", "dollars", "seconds", "remarks")
    return {name: getattr(costs, name) for name in names}


def obstacle_of(proposal: Proposal) -> str:
    """Why a change of state cannot be carried out here; empty for anything else."""
    study, state = proposal.study, proposal.body.get("state")
    if proposal.kind != ProposalKind.STATE:
        return ""
    if study.state == state:
        return f"The study is {study.get_state_display()} already."
    if study.state == Study.State.DRAFT:
        # Its launch checks ask servers, and some need a reason in the words of a person.
        return "A draft opens on its own page, which shows its launch checks."
    return ""


def cost_seen(cost: Mapping[str, Any] | None) -> str:
    """What a button confirms: the questions and their price."""
    return seen_of(*([cost["questions"], str(cost["dollars"])] if cost else []))


@transaction.atomic
def carry_out(request: HttpRequest, proposal: Proposal, *, seen: str) -> None:
    """Send the request of a proposal once. Raises what the API raises, and changes nothing then."""
    _decide(request, proposal, ProposalState.DONE)
    if obstacle := obstacle_of(proposal):
        raise ProposalError(obstacle)
    if seen != cost_seen(cost_of(request, proposal)):
        raise ProposalError(
            "The cost changed since you opened this page. Check it, then press again. Nothing "
            "was started."
        )
    asked = request_of(proposal.kind)
    asked.send(request, proposal.study.slug, asked.schema(**proposal.body))


@transaction.atomic
def decline(request: HttpRequest, proposal: Proposal) -> None:
    _decide(request, proposal, ProposalState.DECLINED)


def _decide(request: HttpRequest, proposal: Proposal, state: ProposalState) -> None:
    study = lock_study(proposal.study_id)
    # One conditional UPDATE, so that of two presses only one counts.
    user = cast(User, request.user)
    decided = (
        open_proposals(study)
        .filter(pk=proposal.pk)
        .update(state=state, decided_by=user, decided_at=clock.now())
    )
    if not decided:
        raise ProposalError("This proposal has expired, or somebody has decided about it already.")
    record(study, f"proposal {state.label}", user=user, proposal=proposal.public_id)
