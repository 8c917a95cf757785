"""Routes of improvements: what one would cost, start one, follow it, read its result."""

from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import ConfigDict, Field

from api.problems import Problem
from api.v1.access import EDITOR, READ, SPEND, needs, study_of, user_of
from api.v1.responses import JobOut, PageOf, PageQuery, job_fields, page
from extras.improving import requests
from extras.improving.models import Improvement
from extras.improving.tasks import improve
from judging.errors import BadJudge
from studies.errors import StudyError
from studies.models import Study
from studies.services.extras import turn_on

ROUTER = Router(tags=["improvements"])
Learned = Literal["examples", "guidelines", "rules", "fields"]


class NewImprovement(Schema):
    """What is learned from people's answers, and how it is tried."""

    model_config = ConfigDict(extra="forbid")

    run: str = Field(
        max_length=64, description="The run whose wording is improved; empty: the first that can."
    )
    writer: str = Field(
        "", max_length=120, description="The judge that writes guidelines; empty: that of the run."
    )
    annotator: str = Field(
        "", max_length=64, description="Pseudonym: learn from this annotator's answers alone."
    )
    learn: list[Learned] = Field(["examples", "guidelines", "rules", "fields"], max_length=4)
    most: int = Field(requests.USUAL_MOST, description="Wordings that are tried at most.")
    items: int = Field(requests.USUAL_ITEMS, description="Items on which each is judged first.")
    sealed: int = Field(requests.USUAL_SHARE, description="Percent of the personas.")
    gain: int = Field(requests.USUAL_GAIN, description="Points that the trial must find.")
    budget: Decimal | None = Field(
        None, gt=0, le=1_000_000, decimal_places=4, description="US dollars."
    )


class ImprovementEstimate(Schema):
    learn: int = Field(description="Items to learn from.")
    sealed: int = Field(description="Sealed items.")
    needed: dict[int, int] = Field(description="Sealed items that each gain in points needs.")
    guidelines: int = Field(description="Requests for guidelines.")
    learning: int = Field(description="Questions on the part to learn from.")
    trial: int = Field(description="Questions on the sealed part.")
    tokens: int
    dollars: float | None = Field(description="Null if a judge has no price.")
    remarks: list[str]


class ImprovementOut(JobOut):
    run: str
    annotator: str = Field(description="Pseudonym; empty if all people's answers were split.")
    opened_at: datetime | None = Field(description="When the sealed part was opened.")
    opening: int = Field(description="How often it had been opened for this judge by then.")
    sealed_sha256: str
    candidates: list[dict[str, Any]] = Field(description="As in report.json, once it is done.")
    better: str = Field(description="What was shown to be better; empty if nothing was.")


@ROUTER.get(
    "studies/{slug}/improvements",
    response=PageOf[ImprovementOut],
    auth=needs(READ),
    operation_id="list_improvements",
)
def list_improvements(request: HttpRequest, slug: str, query: Query[PageQuery]) -> dict[str, Any]:
    """The improvements of a study in the order of their creation."""
    rows = _of(study_of(request, slug)).order_by("pk")
    if after := query.after("improvements", int):
        rows = rows.filter(pk__gt=after[0])
    return page(
        "improvements",
        list(rows[: query.limit + 1]),
        query,
        key=lambda row: [row.pk],
        show=_shown,
    )


@ROUTER.post(
    "studies/{slug}/improvements/estimate",
    response=ImprovementEstimate,
    auth=needs(READ),
    operation_id="estimate_improvement",
)
def estimate(request: HttpRequest, slug: str, body: NewImprovement) -> dict[str, Any]:
    """Sizes and the highest cost, without storing or asking anything; for editors."""
    cost = requests.estimate_improvement(_wish(study_of(request, slug, EDITOR), body))
    return asdict(cost) | {
        "learn": cost.size.learn,
        "sealed": cost.size.sealed,
        "needed": cost.size.needed,
    }


@ROUTER.post(
    "studies/{slug}/improvements",
    response={201: ImprovementOut},
    auth=needs(SPEND),
    operation_id="start_improvement",
)
def start(request: HttpRequest, slug: str, body: NewImprovement) -> Status[dict[str, Any]]:
    """Split people's answers, and let a worker learn and try wordings. It can cost money."""
    study = study_of(request, slug, EDITOR)
    improvement = requests.request_improvement(
        _wish(study, body), budget=body.budget, user=user_of(request)
    )
    turn_on(study, "improving", user=user_of(request))
    improve.delay_on_commit(improvement.pk)  # type: ignore[attr-defined]
    return Status(201, _shown(improvement))


@ROUTER.get(
    "studies/{slug}/improvements/{improvement}",
    response=ImprovementOut,
    auth=needs(READ),
    operation_id="read_improvement",
)
def read(request: HttpRequest, slug: str, improvement: str) -> dict[str, Any]:
    """An improvement with its progress or its result."""
    return _shown(get_object_or_404(_of(study_of(request, slug)), public_id=improvement))


def _of(study: Study) -> Any:
    return Improvement.objects.filter(study=study).select_related("run").defer("parts")


def _wish(study: Study, body: NewImprovement) -> requests.ImprovementWish:
    try:
        run = requests.run_named(study, body.run)
    except StudyError as error:
        raise _refusal("run", error) from error
    try:
        return requests.wish_of(
            run,
            annotator=body.annotator,
            writer=body.writer,
            learn=body.learn if "learn" in body.model_fields_set else None,
            most=body.most,
            items=body.items,
            share=body.sealed,
            gain=body.gain,
        )
    except BadJudge as error:
        raise _refusal("writer", error) from error


def _refusal(field: str, error: Exception) -> Problem:
    return Problem(422, str(error), errors=[{"field": field, "message": str(error)}])


def _shown(one: Improvement) -> dict[str, Any]:
    return job_fields(one, one.public_id) | {
        "run": one.run.public_id,
        "annotator": one.annotator,
        "opened_at": one.opened_at,
        "opening": one.opening,
        "sealed_sha256": one.sealed_sha256,
        "candidates": one.results.get("candidates", []),
        "better": one.results.get("better") or "",
    }
