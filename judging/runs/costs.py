"""Costs of runs: usage per question, test questions and estimates."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, cast

from django.contrib.auth.models import User
from django.db.models import Count, Min

from judging.backends.backend import LEAVE_OUT, NO_PROBABILITIES
from judging.backends.known_models import IMAGES, PROBABILITIES, TEMPERATURE, TIES, refused
from judging.engine.messages import as_text, length
from judging.errors import BadRun
from judging.models import Attempt, Judge, JudgeRun, Judgment
from judging.models.judges import USUAL_SLOTS
from judging.prompts.asking import Asking, messages_of
from judging.protocols import framings
from judging.protocols.registry import protocol
from judging.runs.campaigns import CampaignCell, CampaignPlan, cells_of
from judging.runs.reuse import never_asked, take_over
from judging.runs.row_creation import (
    chosen_items,
    count_missing,
    count_sides,
    missing_judgments,
    requests_in,
)
from judging.runs.spec import Reuse, RunSpec, language_for
from judging.runs.start import extended, run_for
from judging.selectors import run_progress
from judging.worker import chunks
from judging.worker.endpoints import asks_form, judge_of
from studies.errors import StudyError
from studies.models import Item, Side, Study
from studies.personas import resolve

_SAMPLED_ANSWERS = 20  # answered questions that represent the others
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
        one_question = judge.price_input * Decimal(self.prompt_tokens)
        one_question += judge.price_output * Decimal(self.completion_tokens)
        share = judge.batch_price if by_batch else Decimal(1)
        return one_question * questions * share / _PER_MILLION

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
    """The usage of a run's first questions; None before one is answered.

    Requests without a reply are included, because they are paid for too.
    """
    ended = [Judgment.State.DONE, Judgment.State.UNPARSEABLE, Judgment.State.REFUSED]
    first = list(
        Judgment.objects.filter(run=run.pk, state__in=ended, reused_from=None, asked_with=None)
        .order_by("pk")
        .values_list("pk", flat=True)[:_SAMPLED_ANSWERS]
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
            continue  # its maximum does not predict its usage
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


@dataclass(frozen=True)
class Probe:
    """A run's first question with a reply, and the expected usage of the open ones.

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
        if (native := self.judgment.native_certainty) is not None:
            of += f", native certainty {native:.1f}"
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
    """Ask a run's test question in this process, unless it was asked, and return the probe.

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
    """The probe of a run from the database; None before a reply."""
    return probes_of([run]).get(run.pk)


def probes_of(runs: Sequence[JudgeRun]) -> dict[int, Probe]:
    """The probes of runs that have replies, by run id; four queries."""
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
        Judgment.objects.select_related("item__persona", "run")
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
        kept_form=protocol(run.setting).keeps_form(last.text) if asks_form(judge_of(run)) else None,
        latency_ms=last.latency_ms,
        left=left,
        tokens=round(usage.tokens * left),
        seconds=None if run.by_batch else usage.seconds(run.judge, left),
        dollars=usage.dollars(run.judge, left, by_batch=run.by_batch),
    )


_SAMPLED_ITEMS = 20  # items whose prompts are built to estimate their length
_LETTERS_PER_TOKEN = 4
_ASSUMED_MS = 2000.0  # of a reply, for a judge that has never replied
_ASSUMED_SLOTS = 8  # requests at a time of a judge that is not there yet


@dataclass(frozen=True)
class RunEstimate:
    """The estimate of starting a run; `dollars` and `seconds` are None if unknown.

    `answered` exist already, `reused` would be copied from other runs. `is_tried` means that
    tokens, money and time come from the run's own replies instead of its prompts. `remarks` say
    what to know before the start.
    """

    judge: Judge
    questions: int
    answered: int
    reused: int
    tokens: int
    dollars: Decimal | None
    seconds: float | None
    is_tried: bool
    remarks: tuple[str, ...] = ()

    @property
    def time(self) -> str:
        return "" if self.seconds is None else duration(self.seconds)


def remarks_on(run: JudgeRun) -> tuple[str, ...]:
    """What to know before a run starts: refusals of its model, an old price, items left out."""
    judge = run.judge
    wanted = {
        TIES: protocol(run.setting).offers_tie,
        PROBABILITIES: judge.probabilities != NO_PROBABILITIES,
        IMAGES: judge.takes_images,
        TEMPERATURE: "temperature" not in str(judge.model_options.get(LEAVE_OUT, "")).split(","),
    }
    refusals = refused(
        judge.model, frozenset(name for name, is_wanted in wanted.items() if is_wanted)
    )
    return (*refusals, *filter(None, [judge.named_price_remark, _not_asked(run)]))


def _not_asked(run: JudgeRun) -> str:
    """How many items lack what the setting asks about; empty if none does."""
    setting = protocol(run.setting)
    if not setting.left_out:
        return ""
    items = Item.objects.filter(study=run.study)
    without = items.filter(**setting.left_out).count()
    words = f"{without:,} of {items.count():,} items are not asked about. {setting.why_left_out}"
    return words if without else ""


@dataclass(frozen=True)
class JudgeEstimate:
    """The estimate of one judge over all its runs."""

    rows: list[RunEstimate]

    @property
    def runs(self) -> int:
        return len(self.rows)

    @property
    def questions(self) -> int:
        return sum(row.questions for row in self.rows)

    @property
    def answered(self) -> int:
        return sum(row.answered + row.reused for row in self.rows)

    @property
    def reused(self) -> int:
        return sum(row.reused for row in self.rows)

    @property
    def tokens(self) -> int:
        return sum(row.tokens for row in self.rows)

    @property
    def judge(self) -> Judge:
        return self.rows[0].judge

    @property
    def dollars(self) -> Decimal | None:
        known = [row.dollars for row in self.rows if row.dollars is not None]
        return sum(known, Decimal(0)) if len(known) == self.runs else None

    @property
    def seconds(self) -> float | None:
        """The total over its runs, because they share its slots."""
        known = [row.seconds for row in self.rows if row.seconds is not None]
        return sum(known) if len(known) == self.runs else None

    @property
    def time(self) -> str:
        return "" if self.seconds is None else duration(self.seconds)


class CampaignEstimate(JudgeEstimate):
    """The estimate of all judges of a campaign."""

    @cached_property
    def judges(self) -> list[JudgeEstimate]:
        rows: dict[str, list[RunEstimate]] = defaultdict(list)
        for row in self.rows:
            rows[row.judge.name].append(row)
        return [JudgeEstimate(of_one) for of_one in rows.values()]

    @property
    def dollars(self) -> Decimal | None:
        """The sum over the judges with a price; None if none has one."""
        priced = [row.dollars for row in self.judges if row.dollars is not None]
        return sum(priced, Decimal(0)) if priced else None

    @property
    def seconds(self) -> float | None:
        """The time of the slowest judge, as judges work in parallel; None if one is unknown."""
        known = [row.seconds for row in self.judges if row.seconds is not None]
        return max(known) if len(known) == len(self.judges) else None

    @property
    def unpriced(self) -> list[str]:
        return [row.judge.name for row in self.judges if row.dollars is None]

    @property
    def remarks(self) -> list[str]:
        """What to know before the start, each once."""
        return list(dict.fromkeys(remark for row in self.rows for remark in row.remarks))

    @property
    def asking(self) -> int:
        """The number of runs that ask something."""
        return sum(bool(row.questions) for row in self.rows)

    @property
    def untried(self) -> int:
        """The number of runs with questions but no reply yet, which a probe would test."""
        return sum(bool(row.questions) and not row.is_tried for row in self.rows)


def estimate_plan(
    study: Study, plan: CampaignPlan, *, user: User | None = None
) -> CampaignEstimate:
    """Count what a campaign would ask now, and estimate tokens, cost and time. Stores nothing.

    If a run has replies, the estimate includes repeated requests and thinking.
    Raises `BadPlan` or `StudyError`.
    """
    return estimate_cells(cells_of(study, plan), user=user)


def estimate_cells(cells: list[CampaignCell], *, user: User | None = None) -> CampaignEstimate:
    """Estimate some runs of a plan."""
    common = _Common(user)
    return CampaignEstimate([estimate_run(cell.run, cell.spec, common) for cell in cells])


def estimate_rest(run: JudgeRun, probe: Probe) -> RunEstimate:
    """Estimate what a probed run asks when it is started."""
    return RunEstimate(
        judge=run.judge,
        questions=probe.left,
        answered=1,
        reused=0,
        tokens=probe.tokens,
        dollars=probe.dollars,
        seconds=probe.seconds,
        is_tried=True,
        remarks=remarks_on(run),
    )


def estimate_run(run: JudgeRun, spec: RunSpec, common: "_Common | None" = None) -> RunEstimate:
    """Count what starting `run`, stored or not, would ask, and estimate tokens, cost and time."""
    common = common or _Common()
    if not common.sample(run.study):
        raise StudyError(f"Study “{run.study.slug}” has no items to judge. Import some first.")
    there = run_progress(run)
    new = count_missing(run, spec.limit, sides=common.sides(run, spec.limit))
    asked_again = there.left + there.error
    if run.pk is not None and protocol(run.setting).shares_requests:
        asked_again = requests_in(run, (*Judgment.OPEN, Judgment.State.ERROR))
    questions = new + asked_again
    reused = len(_taken_over(run, spec, common.user))
    questions -= reused
    usage = None if run.pk is None else usage_of(run)
    expected = usage or _guess(run, common)
    return RunEstimate(
        judge=run.judge,
        questions=questions,
        answered=there.ended - there.error,
        reused=reused,
        tokens=round(expected.tokens * questions),
        dollars=expected.dollars(run.judge, questions, by_batch=spec.by_batch),
        seconds=None if spec.by_batch else expected.seconds(run.judge, questions),
        is_tried=usage is not None,
        remarks=remarks_on(run),
    )


def estimate_start(
    study: Study, judge: Judge, spec: RunSpec, *, user: User | None = None
) -> RunEstimate:
    """Estimate the start of a run, or the continuation of the one that has these parameters."""
    spec.check(judge)
    return estimate_run(run_for(study, judge, spec), spec, _Common(user))


def estimate_extension(run: JudgeRun, spec: RunSpec, *, user: User | None = None) -> RunEstimate:
    """Estimate an extension of a run by items, samples, or the other order."""
    return estimate_run(extended(run, spec), spec, _Common(user))


def _taken_over(run: JudgeRun, spec: RunSpec, user: User | None) -> list[Judgment]:
    if spec.reuse == Reuse.FRESH:
        return []
    missing = missing_judgments(run, spec.limit)
    waiting = [judgment for judgment in missing if judgment.state == Judgment.State.PENDING]
    return take_over(run, [*never_asked(run), *waiting], spec.reuse, user=user)


class _Common:
    """Data shared by estimates of several runs, read once; `user` may see some other studies."""

    def __init__(self, user: User | None = None) -> None:
        self.user = user
        self._known: dict[Any, Any] = {}

    def _once(self, key: Any, find: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = find()
        return self._known[key]

    def sample(self, study: Study) -> list[Item]:
        """Some items, spread over the study; empty if it has none."""

        def find() -> list[Item]:
            keys = list(chosen_items(study, None).values_list("pk", flat=True))
            chosen = keys[:: max(1, len(keys) // _SAMPLED_ITEMS)]
            return list(Item.objects.filter(pk__in=chosen).select_related("persona"))

        return cast(list[Item], self._once(("sample", study.pk), find))

    def items(self, study: Study, limit: int | None) -> int:
        """The number of items that a run asks about."""
        key = "items", study.pk, limit
        return int(self._once(key, lambda: chosen_items(study, limit).count()))

    def sides(self, run: JudgeRun, limit: int | None) -> int:
        """What `count_sides` finds for a run."""
        key = "sides", run.study_id, limit, run.orders
        return int(self._once(key, lambda: count_sides(run.study, limit, run.orders)))

    def latency(self, judge: Judge) -> float:
        """The mean time of a reply in the judge's last run, or an assumption."""

        def find() -> float:
            last = judge.runs.filter(tokens__gt=0).order_by("-pk").first()
            usage = usage_of(last) if last else None
            known = None if usage is None else usage.latency_ms
            return _ASSUMED_MS if known is None else known

        return float(self._once(("latency", judge.pk), find))


def _guess(run: JudgeRun, common: _Common) -> RunUsage:
    """The usage of a question, guessed from the length of some prompts at four letters a token."""
    prompt, completion, steps = _guessed_tokens(run, common.sample(run.study))
    return RunUsage(prompt, completion, common.latency(run.judge) * steps)


def _guessed_tokens(run: JudgeRun, items: Sequence[Item]) -> tuple[float, int, int]:
    """Tokens in and out of a question, and the requests that it takes."""
    asking = Asking.of(run)
    asked, steps = asking.reply_format, asking.reply_format.steps
    # The replies to earlier steps are short.
    sent = [
        length(asked.conversation(asking.messages(item, shown_first=Side.R1), ("",) * step))
        for item in items
        for step in range(steps)
    ]
    mean = sum(sent) / len(items) / _LETTERS_PER_TOKEN
    return mean, asking.protocol.reply_tokens, steps


@dataclass(frozen=True)
class PlannedUsage:
    """What planned runs ask of one judge, whichever it is, without what it thinks first."""

    questions: int
    prompt_tokens: float
    completion_tokens: float
    requests: int

    def dollars(self, price_input: Decimal, price_output: Decimal) -> Decimal:
        """At prices in US dollars per million tokens."""
        paid = price_input * Decimal(self.prompt_tokens)
        return (paid + price_output * Decimal(self.completion_tokens)) / _PER_MILLION

    @property
    def seconds(self) -> float:
        """With the usual requests at a time, if each takes as long as is assumed."""
        return self.requests * _ASSUMED_MS / 1000 / _ASSUMED_SLOTS


def planned_usage(study: Study, runs: Iterable[tuple[str, str, str]]) -> PlannedUsage | None:
    """The usage of runs that are not there yet, each a setting, features and orders.

    None before the study has items. Raises `StudyError` or `JudgingError` for what cannot be asked.
    """
    common = _Common()
    if not (items := common.sample(study)):
        return None
    questions = requests = 0
    sent = received = 0.0
    for setting, features, orders in runs:
        run = JudgeRun(
            study=study,
            setting=setting,
            features=features,
            feature_keys=resolve(study, features),
            framing=framings.OBSERVER,
            prompt_language=language_for(study, ""),
            orders=orders,
        )
        prompt, completion, steps = _guessed_tokens(run, items)
        asked = common.sides(run, None)
        questions, requests = questions + asked, requests + asked * steps
        sent, received = sent + asked * prompt, received + asked * completion
    return PlannedUsage(questions, sent, received, requests)
