"""Probes: one question before many, to see the request, the reply and the expected cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Min

from judging.engine.messages import as_text
from judging.errors import BadRun
from judging.models import Attempt, Judge, JudgeRun, Judgment
from judging.prompts.asking import messages_of
from judging.protocols.registry import protocol
from judging.runs.costs.usage import duration, usage_in
from judging.worker import chunks


@dataclass(frozen=True)
class Probe:
    """The first question of a run that brought a reply, and the expected usage of the open ones.

    `kept_form` is None if no structured reply was requested, `dollars` if the judge has no
    price, `seconds` if the rest is asked by batch.
    """

    judgment: Judgment
    prompt: str
    reply: str
    asked_for_probabilities: bool
    kept_form: bool | None
    latency_ms: int | None
    left: int
    tokens: int
    seconds: float | None
    dollars: Decimal | None

    @property
    def reading(self) -> str:
        """How the reply was read, in words."""
        if not self.judgment.choice:
            return self.judgment.get_state_display()
        certainty = self.judgment.certainty
        of = f", certainty {certainty}" if certainty else ""
        return f"{self.judgment.get_choice_display()}{of}"

    @property
    def probabilities(self) -> str:
        """Whether option probabilities arrived, in words."""
        if reported := self.judgment.probabilities:
            return ", ".join(f"{option} {share:.3f}" for option, share in reported.items())
        if reason := (self.judgment.details or {}).get("no_probabilities"):
            return f"requested, none stored: {reason}"
        return "requested, none received" if self.asked_for_probabilities else "not requested"

    @property
    def form(self) -> str:
        """Whether the structured reply had the right form, in words."""
        if self.kept_form is None:
            return "not requested"
        return "received as requested" if self.kept_form else "requested, none received"

    @property
    def time(self) -> str:
        return "within a day" if self.seconds is None else duration(self.seconds)


def probe_run(*, run_id: int) -> Probe:
    """Ask the question of a run's probe in this process, if it has none yet, and return the probe.

    The question belongs to the run, so its answer counts and is not paid for again. Raises
    `BadRun` if no reply came.
    """
    run = JudgeRun.objects.select_related("judge", "study").get(pk=run_id)
    if run.probe_first:
        chunks.judge_chunk(run_id=run_id)
        run.refresh_from_db()
    probe = probe_of(run)
    if probe is None:
        reason = run.sentence or "A worker is processing this run. Wait for it, then try again."
        raise BadRun(f"No reply received. {reason}")
    return probe


def probe_of(run: JudgeRun) -> Probe | None:
    """The probe of a run, read from the database; None before a reply came."""
    return probes_of([run]).get(run.pk)


def probes_of(runs: Sequence[JudgeRun]) -> dict[int, Probe]:
    """The probes of those of the runs that have replies, by the run's id; four queries."""
    ids = [run.pk for run in runs]
    replied = Attempt.objects.filter(
        judgment__run__in=ids, judgment__anchor="", outcome=Attempt.Outcome.REPLIED
    )
    first = dict(replied.order_by().values_list("judgment__run").annotate(first=Min("judgment")))
    open_ = Judgment.everything.filter(
        run__in=ids, state__in=Judgment.OPEN, asked_with=None
    ).order_by()
    left = dict(open_.values_list("run").annotate(n=Count("pk")))
    judgments = (
        Judgment.objects.select_related("item__persona")
        .prefetch_related("attempts")
        .in_bulk(first.values())
    )
    return {
        run.pk: _probe(run, judgments[first[run.pk]], left.get(run.pk, 0))
        for run in runs
        if run.pk in first
    }


def _probe(run: JudgeRun, judgment: Judgment, left: int) -> Probe:
    attempts = list(judgment.attempts.all())
    last = [attempt for attempt in attempts if attempt.outcome == Attempt.Outcome.REPLIED][-1]
    usage = usage_in(attempts)
    return Probe(
        judgment=judgment,
        prompt=as_text(messages_of(run, judgment.item, shown_first=judgment.shown_first)),
        reply=last.text,
        asked_for_probabilities=run.judge.probabilities != Judge.Probabilities.NO,
        kept_form=protocol(run.setting).keeps_form(last.text) if run.judge.structured else None,
        latency_ms=last.latency_ms,
        left=left,
        tokens=round(usage.tokens * left),
        seconds=None if run.by_batch else usage.seconds(run.judge, left),
        dollars=usage.dollars(run.judge, left, by_batch=run.by_batch),
    )
