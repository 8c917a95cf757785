"""Turn judgments into engine questions: which may be sent, and which share a reply."""

import hashlib
import json
from itertools import islice

from django.db import connection, transaction
from django.db.models import Count, Max, Q

from judging.engine.interface import SIDES, JudgeQuestion, ShownSide
from judging.engine.messages import prompt_sha256
from judging.errors import BadJudge
from judging.models import Attempt, Judge, JudgeRun, Judgment, PromptTemplate
from judging.prompts.asking import Asking
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.registry import protocol, protocols
from judging.worker.endpoints import key_refusal, serves_key
from judging.worker.ledger import contents_of
from studies.models import Study
from studies.services.studies import forbids_providers
from studies.statements import clock
from studies.statements.bulk import Statements

PAGE = "Items and providers"


def check_sharing(study: Study, judge: Judge) -> None:
    """Raise `BadJudge` if items of the study must not be sent where the judge is asked.

    Or if the study may not use the key that the judge has.
    """
    if judge.providers and forbids_providers(study):
        raise BadJudge(refusal(study, judge))
    if not serves_key(judge, study):
        raise BadJudge(key_refusal(judge))


def refusal(study: Study, judge: Judge) -> str:
    """Why the judge is not asked, and what an owner can do."""
    licence = study.source.get("licence") or "no licence named"
    return (
        f"The items of “{study.slug}” must not be sent to a provider ({licence}), and judge "
        f"“{judge.name}” is at {', '.join(judge.providers)}. Use a model on a server of your "
        f"own, or let an owner of the study confirm it with a reason under Settings, “{PAGE}”."
    )


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
    is_closed = run.judge.capabilities.only_probabilities
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
                closed=asking.closed(judgment.item) if is_closed else None,
            )
        )
    _note_prompts(judgments)
    _freeze_wording(run)
    return questions


def _freeze_wording(run: JudgeRun) -> None:
    if run.wording is not None and run.wording.frozen_at is None:
        own = PromptTemplate.objects.filter(pk=run.wording.pk, frozen_at=None)
        own.update(frozen_at=clock.now())


def _note_prompts(judgments: list[Judgment]) -> None:
    """Store the prompts' hashes, in a tenth of the time of `bulk_update`."""
    with transaction.atomic(), connection.cursor() as cursor:
        statements = Statements(cursor)
        statements.add(
            "UPDATE judging_judgment SET prompt_sha256 = %s WHERE id = %s",
            # In order of id, as judgments are always locked.
            [(each.prompt_sha256, each.pk) for each in sorted(judgments, key=lambda each: each.pk)],
        )
        statements.execute()


def _sides(judgment: Judgment) -> dict[ShownSide, float] | None:
    """The probabilities that an earlier step stored, by the prompt's letters."""
    if judgment.probabilities is None:
        return None
    contents = contents_of(judgment.shown_first)
    stored: dict[str, float] = judgment.probabilities
    return {side: stored[contents[side]] for side in SIDES if contents[side] in stored}


def _seed_of(run: JudgeRun, judgment: Judgment) -> int:
    """The seed of a question, equal for the same question of a run; two samples never share one.

    Anchors have the seed of the question they repeat, so that the request is the same.
    """
    sample = judgment.sample
    if judgment.anchor == Judgment.Anchor.AGAIN:
        sample = (sample - 1) % run.samples + 1
    elif judgment.anchor:
        sample = 1
    name = f"{run.seed}|{judgment.item.key}|{judgment.shown_first}|{sample}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) >> 1


_PORTION = 500
_ENDED = (
    Judgment.State.DONE,
    Judgment.State.UNPARSEABLE,
    Judgment.State.REFUSED,
    Judgment.State.ERROR,
)


def sharing() -> list[str]:
    """Protocols with one reply about several items."""
    return [each.name for each in protocols() if each.shares_requests]


def share_replies(run_id: int) -> None:
    """End the judgments that wait for an ended one.

    Safe to repeat. If a worker is killed before this, the next one finds them.
    """
    run = JudgeRun.objects.filter(pk=run_id, setting__in=sharing()).only("setting").first()
    if run is None:
        return
    asked_by = protocol(run.setting)
    waiting = Judgment.objects.filter(
        run=run_id,
        state=Judgment.State.PENDING,
        asked_with__isnull=False,
        asked_with__state__in=_ENDED,
    )
    found = waiting.select_related("item", "asked_with__item").order_by("pk").iterator(_PORTION)
    while some := list(islice(found, _PORTION)):
        with transaction.atomic(), connection.cursor() as cursor:
            statements = Statements(cursor)
            statements.add(
                "UPDATE judging_judgment SET state = %s, choice = %s, details = %s,"
                " (certainty, raw_text, replies, model_snapshot, fingerprint, prompt_sha256,"
                " error, sent_with_id, answered_at) ="
                " (SELECT o.certainty, o.raw_text, o.replies, o.model_snapshot, o.fingerprint,"
                " o.prompt_sha256, o.error, o.sent_with_id, o.answered_at FROM judging_judgment o"
                " WHERE o.id = judging_judgment.asked_with_id)"
                " WHERE id = %s AND state = 'pending'",
                [_row(asked_by, judgment) for judgment in some],
            )
            statements.execute()


def _row(asked_by: JudgingProtocol, judgment: Judgment) -> tuple[str, str, str | None, int]:
    asked = judgment.asked_with
    assert asked is not None  # noqa: S101 - as the query says
    details = asked.details
    if asked.state == Judgment.State.DONE and details is not None:
        choice = asked_by.choice_of(judgment.item, details)
        details = {**details, "asked_with": asked.item.key}
        return asked.state, choice, json.dumps(details), judgment.pk
    return asked.state, "", None, judgment.pk
