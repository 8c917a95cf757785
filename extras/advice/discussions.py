"""The second round of a jury, in which each judge sees the others' reasons; its button."""

from collections import defaultdict
from decimal import Decimal
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from extras.advice.protocols import Discussion
from judging.errors import BadRun, JudgingError
from judging.models import Campaign, JudgeRun, Jury
from judging.pages.workbench import JuryAction
from judging.runs.costs import CampaignEstimate, estimate_start
from judging.runs.row_creation import RunStudyFacts
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from judging.selectors import get_campaign
from studies.errors import StudyError
from studies.models import Membership, Study
from studies.selectors import get_study
from studies.services.studies import lock_study

FIRST_ROUND = Discussion.first_round.name


def first_round_of(study: Study, jury: Jury) -> list[JudgeRun]:
    """The latest finished runs of the judges of `jury` that asked for reasons in the same way.

    Raises `BadRun` if there are none.
    """
    members = {judge.pk: judge for judge in jury.judges.all()}
    judged = JudgeRun.objects.filter(
        study=study,
        judge__in=members,
        setting=FIRST_ROUND,
        state=JudgeRun.State.DONE,
        samples=1,
        bias_probe="",
        is_imported=False,
    ).select_related("judge")
    alike: dict[tuple[Any, ...], dict[int, JudgeRun]] = defaultdict(dict)
    for run in judged.order_by("pk"):
        asked = run.features, run.orders, run.seed, run.wording_id, run.framing, run.prompt_language
        alike[asked][run.judge_id] = run
    complete = [runs for runs in alike.values() if runs.keys() == members.keys()]
    if not complete:
        names = ", ".join(sorted(judge.name for judge in members.values()))
        raise BadRun(
            f"Jury “{jury.name}” has no first round. Ask each of its judges ({names}) with the "
            f"setting {FIRST_ROUND}, in the same orders and with the same features, one sample "
            "each, and wait until all are done."
        )
    latest = max(complete, key=lambda runs: max(run.pk for run in runs.values()))
    return [latest[pk] for pk in sorted(latest)]


def has_first_round(study: Study, jury: Jury) -> bool:
    try:
        return bool(first_round_of(study, jury))
    except BadRun:
        return False


@transaction.atomic
def start_discussion(
    *,
    study_id: int,
    jury: Jury,
    budget: Decimal | None = None,
    campaign: Campaign | None = None,
    enqueue: bool = True,
    user: User | None = None,
) -> list[JudgeRun]:
    """Start or continue the second round of a jury, with a run for each judge.

    `budget` is that of each run. Raises `BadRun`, `BadJudge` or `StudyError`.
    """
    study = lock_study(study_id)
    facts = RunStudyFacts(study)
    runs = [
        start_run(spec, enqueue=enqueue, facts=facts, user=user)
        for spec in _second_round(study, jury, budget)
    ]
    if campaign is not None:
        campaign.runs.add(*runs)
    return runs


def estimate_discussion(study: Study, jury: Jury) -> CampaignEstimate:
    """About what the second round would cost. Raises `BadRun` if there is no first one."""
    judges = {judge.pk: judge for judge in jury.judges.all()}
    specs = _second_round(study, jury, None)
    return CampaignEstimate([estimate_start(study, judges[spec.judge_id], spec) for spec in specs])


def _second_round(study: Study, jury: Jury, budget: Decimal | None) -> list[RunSpec]:
    first_round = first_round_of(study, jury)
    ids = tuple(run.pk for run in first_round)
    return [
        RunSpec.of(
            run,
            setting=Discussion.name,
            discusses=ids,
            wording_id=None,
            by_batch=False,
            structured=None,
            budget=budget,
        )
        for run in first_round
    ]


@login_required
@require_POST
def discuss(request: HttpRequest, slug: str, campaign_id: str, jury_id: int) -> HttpResponse:
    """Start the second round of a jury, within the budget of the campaign."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    campaign = get_campaign(study, campaign_id)
    jury = get_object_or_404(Jury, study=study, pk=jury_id)
    try:
        runs = start_discussion(
            study_id=study.pk, jury=jury, campaign=campaign, user=cast(User, request.user)
        )
    except (JudgingError, StudyError) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Discussion started: {len(runs)} runs.")
    return redirect("judging:campaign", slug, campaign_id)


def _is_open(campaign: Campaign, jury: Jury) -> bool:
    return has_first_round(campaign.study, jury)


DISCUSS = JuryAction("discuss", "judging/_discuss.html", _is_open)
