"""The second round of a jury: each judge sees the reasons of the others and chooses again."""

from collections import defaultdict
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from extras.advice.protocols import Discussion
from judging.errors import BadRun
from judging.models import Campaign, JudgeRun, Jury
from judging.runs.lifecycle import start_run
from judging.runs.rows.spec import RunSpec
from judging.runs.rows.study_facts import RunStudyFacts
from studies.models import Study
from studies.services.studies import lock_study

FIRST_ROUND = Discussion.first_round.name


def first_round_of(study: Study, jury: Jury) -> list[JudgeRun]:
    """The latest runs of the judges of `jury` that were asked alike for reasons and are done.

    Raises `BadRun` if there are none.
    """
    members = {judge.pk: judge for judge in jury.judges.all()}
    found = JudgeRun.objects.filter(
        study=study,
        judge__in=members,
        setting=FIRST_ROUND,
        state=JudgeRun.State.DONE,
        samples=1,
        bias_probe="",
        is_imported=False,
    ).select_related("judge")
    alike: dict[tuple[Any, ...], dict[int, JudgeRun]] = defaultdict(dict)
    for run in found.order_by("pk"):
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
    """Start the second round of a jury, a run for each judge; continue it if there is one.

    `budget` is that of each run. Raises `BadRun`, `BadJudge` or `StudyError`.
    """
    study = lock_study(study_id)
    first_round = first_round_of(study, jury)
    facts = RunStudyFacts(study)
    ids = tuple(run.pk for run in first_round)
    runs = [
        start_run(
            RunSpec.of(
                run,
                setting=Discussion.name,
                discusses=ids,
                wording_id=None,
                anchors=0,
                by_batch=False,
                budget=budget,
            ),
            enqueue=enqueue,
            facts=facts,
            user=user,
        )
        for run in first_round
    ]
    if campaign is not None:
        campaign.runs.add(*runs)
    return runs
