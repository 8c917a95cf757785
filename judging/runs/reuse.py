"""Answers that other runs have paid for, copied instead of asking again."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Q, Sum

from judging.engine.messages import prompt_sha256
from judging.models import NANO, Attempt, JudgeRun, Judgment
from judging.prompts.asking import Asking, protocol_sha256
from judging.protocols.registry import protocol
from judging.runs.spec import Reuse
from studies.models import Choice, Item, Side
from studies.selectors import studies_for

_COPIED = (
    "state",
    "certainty",
    "details",
    "earlier_replies",
    "raw_text",
    "model_snapshot",
    "fingerprint",
    "sent_with",
    "answered_at",
)
_TURNED = ("choice", "probabilities")  # named by responses, which can be swapped
_PORTION = 500


def reuse_answers(run: JudgeRun, reuse: Reuse, *, user: User | None = None) -> int:
    """Answer open questions of `run` from other runs; return how many."""
    taken = take_over(run, never_asked(run), reuse, user=user)
    fields = [*_COPIED, *_TURNED, "prompt_sha256", "reused_from"]
    Judgment.objects.bulk_update(taken, fields, batch_size=_PORTION)
    return len(taken)


def never_asked(run: JudgeRun) -> Iterable[Judgment]:
    return Judgment.objects.filter(run=run.pk, state=Judgment.State.PENDING, attempts=None)


def take_over(
    run: JudgeRun, waiting: Iterable[Judgment], reuse: Reuse, *, user: User | None = None
) -> list[Judgment]:
    """Fill in answers of other runs, and return the changed judgments; nothing is stored here.

    Only an answer to the same prompt at the same address, of a run whose `protocol_sha256` is the
    same, is used; with `Reuse.IDENTICAL` also only one that had the same
    seed, unless the temperature is 0. An answer is used once in a run: two samples never share
    one. `user` takes answers only of studies that they may see.
    """
    sources = _sources_of(run, user)
    asked = protocol(run.setting)
    # A reply about a set answers several judgments, and its options can be numbered differently
    # there. A prompt that continues from the judge's own reply does not show it.
    if reuse == Reuse.FRESH or not sources or asked.shares_requests or asked.needs_others:
        return []
    reusing = Judgment.objects.filter(run=run.pk).exclude(reused_from=None)
    used = set(reusing.values_list("reused_from", flat=True)) if run.pk else set()
    same_seed = reuse == Reuse.IDENTICAL and run.judge.temperature > 0
    taken = []
    questions = _questions(run, waiting)
    while some := list(islice(questions, _PORTION)):
        answers = _answers_to({question.prompt for question in some}, sources, used)
        for question in some:
            source = question.answer_among(answers[question.prompt], same_seed=same_seed)
            if source is not None:
                used.add(source.pk)
                taken.append(question.answered_by(source))
    return taken


@dataclass(frozen=True, slots=True)
class _Unanswered:
    """A waiting judgment, with its prompt hash and the parts of its seed."""

    judgment: Judgment
    prompt: str
    seed: tuple[Any, ...]

    def answer_among(self, answers: deque[Judgment], *, same_seed: bool) -> Judgment | None:
        """The first answer that can be used; it is removed from `answers`."""
        for answer in answers:
            if not same_seed or _seed_of(answer.run, answer.item, answer) == self.seed:
                answers.remove(answer)
                return answer
        return None

    def answered_by(self, source: Judgment) -> Judgment:
        """The judgment with the answer of `source`, whose sides may be swapped."""
        judgment = self.judgment
        for field in _COPIED:
            setattr(judgment, field, getattr(source, field))
        turns = source.shown_first != judgment.shown_first
        judgment.choice = _turned(source.choice) if turns else source.choice
        judgment.probabilities = source.probabilities
        if turns and source.probabilities is not None:
            shares: Mapping[str, float] = source.probabilities
            judgment.probabilities = {_turned(name): share for name, share in shares.items()}
        judgment.prompt_sha256, judgment.reused_from = self.prompt, source
        return judgment


def _turned(choice: str) -> str:
    """The response on the same side when both have changed places."""
    return {Choice.R1: Choice.R2, Choice.R2: Choice.R1}.get(Choice(choice), Choice(choice)).value


def _seed_of(run: JudgeRun, item: Item, judgment: Judgment) -> tuple[Any, ...]:
    return run.seed, item.key, judgment.shown_first, judgment.sample


def _questions(run: JudgeRun, waiting: Iterable[Judgment]) -> Iterator[_Unanswered]:
    waiting = list(waiting)
    items = _items({judgment.item_id for judgment in waiting})
    asking = Asking.of(run)
    for judgment in sorted(waiting, key=lambda j: (items[j.item_id].key, j.shown_first, j.sample)):
        item = items[judgment.item_id]
        digest = prompt_sha256(asking.messages(item, shown_first=judgment.shown_first))
        yield _Unanswered(judgment, digest, _seed_of(run, item, judgment))


def _items(ids: set[int]) -> dict[int, Item]:
    rest, items = iter(sorted(ids)), dict[int, Item]()
    while some := list(islice(rest, _PORTION)):
        items |= Item.objects.select_related("persona").in_bulk(some)
    return items


def _sources_of(run: JudgeRun, user: User | None) -> list[int]:
    runs = JudgeRun.objects.filter(
        setting=run.setting, judge__base_url=run.judge.base_url, is_imported=False
    )
    if user is not None:
        runs = runs.filter(Q(study=run.study_id) | Q(study__in=studies_for(user)))
    alike, runs = protocol_sha256(run), runs.exclude(pk=run.pk).select_related("judge", "study")
    return [source.pk for source in runs if protocol_sha256(source) == alike]


def _answers_to(
    prompts: set[str], sources: Sequence[int], used: set[Any]
) -> dict[str, deque[Judgment]]:
    """Requested answers by prompt, the oldest first."""
    answered = (
        Judgment.objects.filter(
            prompt_sha256__in=prompts,
            state=Judgment.State.DONE,
            reused_from=None,
            run__in=sources,
            shown_first__in=Side.values,
        )
        .select_related("run", "item")
        .order_by("pk")
    )
    answers: dict[str, deque[Judgment]] = defaultdict(deque)
    for judgment in answered:
        if judgment.pk not in used:
            answers[judgment.prompt_sha256].append(judgment)
    return answers


@dataclass(frozen=True)
class Saving:
    """Reused answers of a run, and the original cost of their requests."""

    judgments: int
    tokens: int
    dollars: Decimal | None  # None if a price is unknown


def saving_of(run: JudgeRun) -> Saving | None:
    """What a run saved by reusing answers; None if it reused none."""
    taken = Judgment.objects.filter(run=run.pk, reused_from__isnull=False)
    if not taken.exists():
        return None
    sums = Attempt.objects.filter(judgment__reused_by__run=run.pk).aggregate(
        nano=Sum("cost_nano"),
        sent=Sum("prompt_tokens"),
        got=Sum("completion_tokens"),
        unknown=Count("pk", filter=Q(cost_nano=None)),
    )
    dollars = None if sums["unknown"] else Decimal(sums["nano"] or 0) / NANO
    return Saving(taken.count(), (sums["sent"] or 0) + (sums["got"] or 0), dollars)
