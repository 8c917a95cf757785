"""One question before many: what a run sends, what comes back, and what the rest will take."""

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Sum

from judging.engine.parsing import read_form
from judging.errors import BadRun
from judging.models import NANO, Attempt, Judge, JudgeRun, Judgment
from judging.services import chunks
from studies.prompts import build_prompt


@dataclass(frozen=True)
class Probe:
    """The first question of a run that brought a reply, and what the open ones are expected to use.

    `kept_form` is None where no structured reply was asked for, `dollars` where the judge has no
    price.
    """

    judgment: Judgment
    prompt: str
    reply: str
    asked_for_probabilities: bool
    kept_form: bool | None
    left: int
    tokens: int
    seconds: float
    dollars: Decimal | None


def has_replies(run: JudgeRun) -> bool:
    return Attempt.objects.filter(judgment__run=run, outcome=Attempt.Outcome.REPLIED).exists()


def probe_run(*, run_id: int) -> Probe:
    """Ask the first question of a run in this process and pause it; nothing else is sent.

    The question is one of the run's own: its answer counts, and is not paid for again. A run that
    has replies is not asked anything, and one that is being worked off is not paused. Raises
    `BadRun` when no reply came.
    """
    run = JudgeRun.objects.select_related("judge", "study").get(pk=run_id)
    if run.state == JudgeRun.State.QUEUED:
        if not has_replies(run):
            chunks.judge_chunk(run_id=run_id, is_probe=True)
        chunks.stop(
            run_id=run_id,
            state=JudgeRun.State.PAUSED,
            sentence="Paused after its probe; the same command goes on.",
        )
        run.refresh_from_db()
    return _probe_of(run)


def _probe_of(run: JudgeRun) -> Probe:
    replied = Attempt.objects.filter(judgment__run=run, outcome=Attempt.Outcome.REPLIED)
    first = replied.order_by("judgment", "number").first()
    if first is None:
        raise BadRun(f"No reply came. {run.sentence or 'Workers are at the run: wait for them.'}")
    judgment = Judgment.objects.select_related("item__persona").get(pk=first.judgment_id)
    last = replied.filter(judgment=judgment).latest("number")
    used = Attempt.objects.filter(judgment=judgment).aggregate(
        prompt=Sum("prompt_tokens"), completion=Sum("completion_tokens"), nano=Sum("cost_nano")
    )
    left = run.judgments.filter(state__in=Judgment.OPEN).count()
    tokens = ((used["prompt"] or 0) + (used["completion"] or 0)) * left
    judgment.item.study = run.study
    return Probe(
        judgment=judgment,
        prompt=build_prompt(
            judgment.item,
            setting=run.setting,
            shown_first=judgment.shown_first,
            features=run.feature_keys,
        ),
        reply=last.text,
        asked_for_probabilities=run.judge.probabilities != Judge.Probabilities.NO,
        kept_form=read_form(last.text) is not None if run.judge.structured else None,
        left=left,
        tokens=tokens,
        seconds=_seconds(run.judge, left, tokens, last.latency_ms or 0),
        dollars=Decimal(used["nano"] or 0) * left / NANO if run.judge.is_priced else None,
    )


def _seconds(judge: Judge, left: int, tokens: int, latency_ms: int) -> float:
    """How long the open questions take by whatever holds them back most."""
    by_slots = left * latency_ms / 1000 / judge.concurrency
    by_requests = left * 60 / judge.rpm if judge.rpm else 0.0
    by_tokens = tokens * 60 / judge.tpm if judge.tpm else 0.0
    return max(by_slots, by_requests, by_tokens)
