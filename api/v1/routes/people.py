"""Annotators under their exported names, their answers, and the quota."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import ConfigDict, Field

from analysis.exports.columns import ANNOTATORS, names
from analysis.exports.rows import annotation_page, annotator_table
from annotation.models import QuotaGroup
from annotation.seats.quotas import Quota, QuotaQuestion, questions_of, set_quotas
from api.v1.access import EDITOR, READ, WRITE, needs, study_of, user_of
from api.v1.responses import Annotator, Answer, PageOf, PageQuery, page
from studies.models import Study

router = Router(tags=["people"])
_LONGEST = 200


class AboutQuestion(Schema):
    """A question of the page “About you”."""

    model_config = ConfigDict(extra="forbid")

    key: str = Field(min_length=1, max_length=40, pattern=r"^[-a-zA-Z0-9_]+$")
    label: str = Field(min_length=1, max_length=_LONGEST)
    options: dict[str, str] = Field(min_length=1, description="Labels by value, in order.")


class Group(Schema):
    """Places for annotators who match all `criteria`; without criteria, for everyone else."""

    model_config = ConfigDict(extra="forbid")

    target: int = Field(ge=0, le=1_000_000)
    criteria: dict[str, str] = Field({}, description="Values by question key.")


class NewQuota(Schema):
    model_config = ConfigDict(extra="forbid")

    questions: list[AboutQuestion] = Field([], max_length=50)
    groups: list[Group] = Field(max_length=1_000)


class GroupOut(Schema):
    criteria: dict[str, str]
    is_everyone_else: bool
    target: int
    completed: int
    reserved: int = Field(description="Annotators who are working now.")


class QuotaOut(Schema):
    questions: list[AboutQuestion]
    groups: list[GroupOut]


@router.get(
    "studies/{slug}/annotators",
    response=PageOf[Annotator],
    auth=needs(READ),
    operation_id="list_annotators",
)
def annotators(request: HttpRequest, slug: str, query: Query[PageQuery]) -> dict[str, Any]:
    """The annotators by exported name, never with platform ids or free text."""
    study = study_of(request, slug)
    after = query.after("annotators", str) or [""]
    table = annotator_table(study, names(ANNOTATORS), after=after[0], most=query.limit + 1)
    return page(
        "annotators", list(table), query, key=lambda row: [row["rater_id"]], show=lambda row: row
    )


@router.get(
    "studies/{slug}/answers", response=PageOf[Answer], auth=needs(READ), operation_id="list_answers"
)
def answers(request: HttpRequest, slug: str, query: Query[PageQuery]) -> dict[str, Any]:
    """The answers of annotators by item, as in exports; withdrawn ones are left out."""
    study = study_of(request, slug)
    after = query.after("answers", str, str, int)
    table = annotation_page(study, after=tuple(after) if after else None, most=query.limit + 1)
    rows = list(zip(*table, strict=True))
    return page("answers", rows, query, key=lambda row: row[1], show=lambda row: row[0])


@router.get(
    "studies/{slug}/quotas", response=QuotaOut, auth=needs(READ), operation_id="read_quotas"
)
def quotas(request: HttpRequest, slug: str) -> dict[str, Any]:
    """The quota groups with their places, and the questions that they use."""
    return _shown(study_of(request, slug))


@router.put(
    "studies/{slug}/quotas", response=QuotaOut, auth=needs(WRITE), operation_id="set_quotas"
)
def replace(request: HttpRequest, slug: str, body: NewQuota) -> dict[str, Any]:
    """Replace questions and groups; once annotators have entered, only targets can change."""
    study = study_of(request, slug, EDITOR)
    set_quotas(
        study_id=study.pk,
        questions=[
            QuotaQuestion(question.key, question.label, question.options)
            for question in body.questions
        ],
        groups=[Quota(group.target, group.criteria) for group in body.groups],
        user=user_of(request),
    )
    return _shown(study)


def _shown(study: Study) -> dict[str, Any]:
    questions = [
        {"key": question.key, "label": question.label, "options": dict(question.options)}
        for question in questions_of(study)
    ]
    groups = QuotaGroup.objects.filter(study=study)
    return {"questions": questions, "groups": [_group(group) for group in groups]}


def _group(group: QuotaGroup) -> dict[str, Any]:
    return {
        "criteria": group.criteria,
        "is_everyone_else": group.is_everyone_else,
        "target": group.target,
        "completed": group.completed,
        "reserved": group.reserved,
    }
