"""The usage of a question of a run, and of many of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from judging.models import Attempt, Judge, JudgeRun, Judgment
from judging.models.judges import USUAL_SLOTS

_SAMPLED = 20  # answered questions that represent the others
_PER_MILLION = 10**6


@dataclass(frozen=True)
class RunUsage:
    """Tokens and time of one question with all its requests; `latency_ms` is None if unknown."""

    prompt_tokens: float
    completion_tokens: float
    latency_ms: float | None

    @property
    def tokens(self) -> float:
        return self.prompt_tokens + self.completion_tokens

    def dollars(self, judge: Judge, questions: int, *, by_batch: bool) -> Decimal | None:
        """Cost of `questions` questions; None if the judge has no price."""
        if judge.price_input is None or judge.price_output is None:
            return None
        each = judge.price_input * Decimal(self.prompt_tokens)
        each += judge.price_output * Decimal(self.completion_tokens)
        share = judge.batch_price if by_batch else Decimal(1)
        return each * questions * share / _PER_MILLION

    def seconds(self, judge: Judge, questions: int) -> float | None:
        """The time by the strictest limit of the judge's addresses; None if unknown."""
        if self.latency_ms is None:
            return None
        slots = min(judge.slots, USUAL_SLOTS) if judge.concurrency is None else judge.slots
        by_slots = questions * self.latency_ms / 1000 / (slots * len(judge.base_urls))
        by_requests = questions * 60 / judge.rpm if judge.rpm else 0.0
        by_tokens = questions * self.tokens * 60 / judge.tpm if judge.tpm else 0.0
        return max(by_slots, by_requests / len(judge.base_urls), by_tokens / len(judge.base_urls))


def usage_of(run: JudgeRun) -> RunUsage | None:
    """The usage of the first questions of a run; None before one has been answered.

    Requests that brought no reply are included, because they are paid for like the others.
    """
    ended = [Judgment.State.DONE, Judgment.State.UNPARSEABLE, Judgment.State.REFUSED]
    first = list(
        Judgment.objects.filter(run=run.pk, state__in=ended, reused_from=None, asked_with=None)
        .order_by("pk")
        .values_list("pk", flat=True)[:_SAMPLED]
    )
    if not first:
        return None
    return usage_in(Attempt.objects.filter(judgment__in=first), questions=len(first))


def usage_in(attempts: Iterable[Attempt], *, questions: int = 1) -> RunUsage:
    """The mean usage of a question, from the requests of `questions` questions."""
    prompt = completion = 0
    latencies = []
    for attempt in attempts:
        if attempt.outcome == Attempt.Outcome.SENT:
            continue  # its possible maximum does not predict its usage
        prompt += attempt.prompt_tokens or 0
        completion += attempt.completion_tokens or 0
        if attempt.latency_ms is not None:
            latencies.append(attempt.latency_ms)
    mean = sum(latencies) / len(latencies) if latencies else None
    return RunUsage(prompt / questions, completion / questions, mean)


def duration(seconds: float) -> str:
    """A future duration, in words."""
    if seconds < 1.5:
        return "a second" if seconds else "no time"
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
