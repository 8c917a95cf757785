"""Judgments as the questions that the engine asks."""

import hashlib

from django.db import connection, transaction
from django.db.models import Count, Max, Q

from judging.engine.interface import SIDES, JudgeQuestion, Side
from judging.engine.messages import prompt_sha256
from judging.models import Attempt, JudgeRun, Judgment, PromptTemplate
from judging.prompts.asking import Asking
from judging.worker.records.ledger import contents_of
from studies.statements import clock
from studies.statements.prepared import Statements


def questions_of(run: JudgeRun, judgments: list[Judgment]) -> list[JudgeQuestion]:
    """Build the prompts and store which prompt each judgment was asked with."""
    failed = Count("pk", filter=~Q(outcome__in=[Attempt.Outcome.REPLIED, Attempt.Outcome.SENT]))
    attempts = {
        judgment: (last, failed)
        for judgment, last, failed in Attempt.objects.filter(judgment__in=judgments)
        .order_by("judgment")
        .values_list("judgment")
        .annotate(last=Max("number"), failed=failed)
    }
    asking = Asking.of(run)
    is_lenient = run.reading == JudgeRun.Reading.LENIENT
    questions = []
    for judgment in judgments:
        messages = asking.messages(judgment.item, shown_first=judgment.shown_first)
        judgment.prompt_sha256 = prompt_sha256(messages)
        last, failures = attempts.get(judgment.pk, (0, 0))
        questions.append(
            JudgeQuestion(
                id=judgment.pk,
                messages=messages,
                protocol=asking.reply_format_of(judgment.item, shown_first=judgment.shown_first),
                seed=_seed_of(run, judgment),
                replies=judgment.replies,
                attempts=last,
                has_failed=failures > 0,
                earlier=tuple(judgment.earlier_replies or ())
                or asking.earlier(judgment.item, shown_first=judgment.shown_first),
                is_lenient=is_lenient,
                probabilities=_sides(judgment),
            )
        )
    _note_prompts(judgments)
    _freeze_wording(run)
    return questions


def _freeze_wording(run: JudgeRun) -> None:
    """From its first question on, a wording of the study's own stays as it is."""
    if run.wording is not None and run.wording.frozen_at is None:
        own = PromptTemplate.objects.filter(pk=run.wording.pk, frozen_at=None)
        own.update(frozen_at=clock.now())


def _note_prompts(judgments: list[Judgment]) -> None:
    """Store the prompts' hashes, in a tenth of the time of `bulk_update`."""
    with transaction.atomic(), connection.cursor() as cursor:
        statements = Statements(cursor)
        statements.add(
            "UPDATE judging_judgment SET prompt_sha256 = %s WHERE id = %s",
            # By their ids, as everybody locks judgments.
            [(each.prompt_sha256, each.pk) for each in sorted(judgments, key=lambda each: each.pk)],
        )
        statements.execute()


def _sides(judgment: Judgment) -> dict[Side, float] | None:
    """The probabilities that an earlier step stored, by the prompt's letters."""
    if judgment.probabilities is None:
        return None
    contents = contents_of(judgment.shown_first)
    stored: dict[str, float] = judgment.probabilities
    return {side: stored[contents[side]] for side in SIDES if contents[side] in stored}


def _seed_of(run: JudgeRun, judgment: Judgment) -> int:
    """The seed of a question, equal for the same question of a run; two samples never share one.

    Anchors have the seed of the question that they repeat: each is the same request again.
    """
    sample = judgment.sample
    if judgment.anchor == Judgment.Anchor.AGAIN:
        sample = (sample - 1) % run.samples + 1
    elif judgment.anchor:
        sample = 1
    name = f"{run.seed}|{judgment.item.key}|{judgment.shown_first}|{sample}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) >> 1
