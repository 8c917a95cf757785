"""Campaigns of several studies that start together and share one budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction

from judging.errors import ConflictingValue, Reason
from judging.models import Campaign, JudgeRun
from judging.runs.campaigns import CampaignPlan, start_campaign
from judging.runs.rows.spec import NO_PRICE
from studies.services.studies import lock_study, record

_OTHER_BUDGET = Reason(
    "other_budget",
    "These runs have {there} already. Name the same {field} to continue them, or change it with "
    "--change.",
)
_NOT_SHARED = Reason(
    "not_shared", "A campaign of its own has the {field} “{value}” already. Use another name."
)


@dataclass(frozen=True)
class StudyPlan:
    """A plan and the study that it asks about; the plan itself has no budget."""

    study_id: int
    plan: CampaignPlan


@transaction.atomic
def start_with_shared_budget(
    parts: Sequence[StudyPlan],
    *,
    name: str,
    budget: Decimal | None = None,
    enqueue: bool = True,
    change: bool = False,
    user: User | None = None,
) -> list[Campaign]:
    """Start, or continue, one campaign for each part: all of them or, when one cannot start, none.

    All runs together spend at most `budget` US dollars. The same call again asks nothing new. With
    another budget, or none, it raises `ConflictingValue`, unless it is to `change` what is there
    under this name. Raises what `start_campaign` raises.
    """
    for study_id in sorted({part.study_id for part in parts}):
        lock_study(study_id)
    campaigns = [
        start_campaign(
            study_id=part.study_id, plan=part.plan, enqueue=enqueue, change=change, user=user
        )
        for part in parts
    ]
    runs = JudgeRun.objects.filter(campaigns__in=campaigns).distinct()
    unpriced = runs.filter(judge__price_input=None).values_list("judge__name", flat=True)
    if budget is not None and (names := sorted(set(unpriced))):
        raise ConflictingValue("budget", NO_PRICE, judge=names[0])
    shared, _ = Campaign.objects.get_or_create(
        study=campaigns[0].study, name=name, defaults={"plan": {}, "budget": budget}
    )
    if shared.plan:
        raise ConflictingValue("name", _NOT_SHARED, value=name)
    if shared.budget != budget:
        before, after = (None if one is None else str(one) for one in (shared.budget, budget))
        if not change:
            there = "no budget" if before is None else f"a budget of ${shared.budget:,.2f}"
            raise ConflictingValue("budget", _OTHER_BUDGET, there=there)
        told = {"campaign": name, "field": "budget", "before": before, "after": after}
        record(shared.study, "campaign changed", user=user, **told)
        shared.budget = budget
        shared.save(update_fields=["budget"])
    shared.runs.add(*runs)
    return campaigns
