"""Copying answers that another run has paid for, if the researcher asks for it."""

from collections import defaultdict, deque
from collections.abc import Iterable

from judging.engine.messages import prompt_sha256
from judging.models import Judge, JudgeRun, Judgment
from judging.prompts.asking import Asking
from studies.models import Item

_COPIED = (
    "state",
    "choice",
    "certainty",
    "probabilities",
    "details",
    "earlier_replies",
    "raw_text",
    "model_snapshot",
    "fingerprint",
    "sent_with",
    "answered_at",
)


def reuse_answers(run: JudgeRun) -> int:
    """Answer open questions of `run` from other runs of its study; return how many."""
    taken = take_over(run, never_asked(run))
    fields = [*_COPIED, "prompt_sha256", "reused_from"]
    Judgment.objects.bulk_update(taken, fields, batch_size=500)
    return len(taken)


def never_asked(run: JudgeRun) -> Iterable[Judgment]:
    return Judgment.objects.filter(run=run.pk, state=Judgment.State.PENDING, attempts=None)


def take_over(run: JudgeRun, waiting: Iterable[Judgment]) -> list[Judgment]:
    """Fill in answers of other runs, and return the changed judgments; nothing is stored here.

    Only an answer to the same prompt, by the same model with the same parameters at the same
    address is used. An answer is used once in a run: two samples never share one.
    """
    answers = _answers_of_others(run)
    if not answers:
        return []
    items = {
        item.pk: item for item in Item.objects.filter(study=run.study_id).select_related("persona")
    }
    asking, taken = Asking.of(run), []
    for judgment in sorted(waiting, key=lambda j: (items[j.item_id].key, j.shown_first, j.sample)):
        messages = asking.messages(items[judgment.item_id], shown_first=judgment.shown_first)
        digest = prompt_sha256(messages)
        if found := answers[judgment.item_id, judgment.shown_first, digest]:
            source = found.popleft()
            for field in _COPIED:
                setattr(judgment, field, getattr(source, field))
            judgment.prompt_sha256, judgment.reused_from = digest, source
            taken.append(judgment)
    return taken


def _answers_of_others(run: JudgeRun) -> dict[tuple[int, str, str], deque[Judgment]]:
    """Requested answers by item, order and prompt; none that `run` already has."""
    judge = run.judge
    same = Judge.objects.filter(
        backend=judge.backend,
        model=judge.model,
        base_url=judge.base_url,
        temperature=judge.temperature,
        top_p=judge.top_p,
        max_tokens=judge.max_tokens,
        thinking_tokens=judge.thinking_tokens,
        structured=judge.structured,
        probabilities=judge.probabilities,
        model_options=judge.model_options,
    )
    answered = (
        Judgment.objects.filter(
            run__study=run.study_id,
            run__judge__in=same,
            run__setting=run.setting,
            run__is_imported=False,
            state=Judgment.State.DONE,
            reused_from=None,
        )
        .exclude(run=run.pk)
        .exclude(
            pk__in=Judgment.objects.filter(run=run.pk)
            .exclude(reused_from=None)
            .values("reused_from")
        )
        .select_related("sent_with")
        .order_by("pk")
    )
    answers: dict[tuple[int, str, str], deque[Judgment]] = defaultdict(deque)
    for judgment in answered:
        key = judgment.item_id, judgment.shown_first, judgment.prompt_sha256
        answers[key].append(judgment)
    return answers
