"""Estimates of a run or a campaign before anything is asked."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.contrib.auth.models import User

from judging.drift.anchors import count_new
from judging.engine.messages import length
from judging.models import Judge, JudgeRun, Judgment
from judging.prompts.asking import Asking
from judging.protocols.registry import protocol
from judging.runs.campaigns import CampaignCell, CampaignPlan, cells_of
from judging.runs.costs.probes import Probe
from judging.runs.costs.usage import RunUsage, duration, usage_of
from judging.runs.rows.extension import extended, run_for
from judging.runs.rows.reuse import never_asked, take_over
from judging.runs.rows.row_creation import (
    chosen_items,
    count_missing,
    count_sides,
    missing_judgments,
)
from judging.runs.rows.shared_requests import requests_in
from judging.runs.rows.spec import Reuse, RunSpec
from judging.selectors import run_progress
from studies.errors import StudyError
from studies.models import Item, Side, Study

_SAMPLED = 20  # items whose prompts are built to estimate their length
_LETTERS_PER_TOKEN = 4
_ASSUMED_MS = 2000.0  # of a reply, for a judge that has never replied


@dataclass(frozen=True)
class RunEstimate:
    """The estimate of starting a run; `dollars` and `seconds` are None if unknown.

    `answered` exist already, `reused` would be copied from other runs. `is_tried` means that
    tokens, money and time come from the run's own replies instead of its prompts.
    """

    judge: Judge
    questions: int
    answered: int
    reused: int
    tokens: int
    dollars: Decimal | None
    seconds: float | None
    is_tried: bool

    @property
    def time(self) -> str:
        return "" if self.seconds is None else duration(self.seconds)


@dataclass(frozen=True)
class JudgeEstimate:
    """The estimate of one judge over all its runs."""

    judge: Judge
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
    def tokens(self) -> int:
        return sum(row.tokens for row in self.rows)

    @property
    def dollars(self) -> Decimal | None:
        each = [row.dollars for row in self.rows if row.dollars is not None]
        return sum(each, Decimal(0)) if len(each) == self.runs else None

    @property
    def time(self) -> str:
        return "" if self.seconds is None else duration(self.seconds)

    @property
    def seconds(self) -> float | None:
        """The sum over its runs, because they share its slots."""
        each = [row.seconds for row in self.rows if row.seconds is not None]
        return sum(each) if len(each) == self.runs else None


@dataclass(frozen=True)
class CampaignEstimate:
    judges: list[JudgeEstimate]

    @property
    def runs(self) -> int:
        return sum(row.runs for row in self.judges)

    @property
    def questions(self) -> int:
        return sum(row.questions for row in self.judges)

    @property
    def answered(self) -> int:
        return sum(row.answered for row in self.judges)

    @property
    def reused(self) -> int:
        return sum(row.reused for judge in self.judges for row in judge.rows)

    @property
    def tokens(self) -> int:
        return sum(row.tokens for row in self.judges)

    @property
    def dollars(self) -> Decimal | None:
        """The sum over the judges with a price; None if none has one."""
        priced = [row.dollars for row in self.judges if row.dollars is not None]
        return sum(priced, Decimal(0)) if priced else None

    @property
    def seconds(self) -> float | None:
        """The time of the slowest judge, as judges work in parallel; None if one is unknown."""
        each = [row.seconds for row in self.judges if row.seconds is not None]
        return max(each) if len(each) == len(self.judges) else None

    @property
    def time(self) -> str:
        return "" if self.seconds is None else duration(self.seconds)

    @property
    def unpriced(self) -> list[str]:
        return [row.judge.name for row in self.judges if row.dollars is None]

    @property
    def asking(self) -> int:
        """The number of runs that ask something."""
        return sum(bool(row.questions) for judge in self.judges for row in judge.rows)

    @property
    def untried(self) -> int:
        """The number of runs that ask something and have no reply yet, which a probe would test."""
        rows = (row for judge in self.judges for row in judge.rows)
        return sum(bool(row.questions) and not row.is_tried for row in rows)


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
    return gather(estimate_run(cell.run, cell.spec, common) for cell in cells)


def gather(found: Iterable[RunEstimate]) -> CampaignEstimate:
    """Estimates of runs by judge."""
    rows: dict[str, list[RunEstimate]] = defaultdict(list)
    for row in found:
        rows[row.judge.name].append(row)
    return CampaignEstimate([JudgeEstimate(one[0].judge, one) for one in rows.values()])


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
    )


def estimate_run(run: JudgeRun, spec: RunSpec, common: "_Common | None" = None) -> RunEstimate:
    """Count what starting `run`, stored or not, would ask, and estimate tokens, cost and time."""
    common = common or _Common()
    if not common.sample(run.study):
        raise StudyError(f"Study “{run.study.slug}” has no items to judge. Import some first.")
    there = run_progress(run)
    new = count_missing(run, spec.limit, sides=common.sides(run, spec.limit))
    items = common.items(run.study, spec.limit) if run.anchors else 0
    anchors = count_new(run, items=items, questions=new)
    asked_again = there.left + there.error
    if run.pk is not None and protocol(run.setting).shares_requests:
        asked_again = requests_in(run, (*Judgment.OPEN, Judgment.State.ERROR))
    questions = new + asked_again + anchors
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
    """What the estimates of several runs share, read once; `user` may see some other studies."""

    def __init__(self, user: User | None = None) -> None:
        self.user = user
        self._samples: dict[int, list[Item]] = {}
        self._latencies: dict[int, float] = {}
        self._sides: dict[tuple[int, int | None, str], int] = {}
        self._items: dict[tuple[int, int | None], int] = {}

    def sample(self, study: Study) -> list[Item]:
        """Some items, spread over the study; empty if it has none."""
        if study.pk not in self._samples:
            keys = list(chosen_items(study, None).values_list("pk", flat=True))
            chosen = keys[:: max(1, len(keys) // _SAMPLED)]
            items = Item.objects.filter(pk__in=chosen).select_related("persona")
            self._samples[study.pk] = list(items)
        return self._samples[study.pk]

    def items(self, study: Study, limit: int | None) -> int:
        """The number of items that a run asks about."""
        key = study.pk, limit
        if key not in self._items:
            self._items[key] = chosen_items(study, limit).count()
        return self._items[key]

    def sides(self, run: JudgeRun, limit: int | None) -> int:
        """What `count_sides` finds for a run."""
        key = run.study_id, limit, run.orders
        if key not in self._sides:
            self._sides[key] = count_sides(run.study, limit, run.orders)
        return self._sides[key]

    def latency(self, judge: Judge) -> float:
        """The mean time of a reply in the judge's last run, or an assumption."""
        if judge.pk not in self._latencies:
            last = judge.runs.filter(tokens__gt=0).order_by("-pk").first()
            usage = usage_of(last) if last else None
            known = None if usage is None else usage.latency_ms
            self._latencies[judge.pk] = _ASSUMED_MS if known is None else known
        return self._latencies[judge.pk]


def _guess(run: JudgeRun, common: _Common) -> RunUsage:
    """The usage of a question, guessed from the length of some prompts at four letters a token."""
    items = common.sample(run.study)
    asking = Asking.of(run)
    asked, steps = asking.reply_format, asking.reply_format.steps
    # The replies to earlier steps are short.
    sent = [
        length(asked.conversation(asking.messages(item, shown_first=Side.R1), ("",) * step))
        for item in items
        for step in range(steps)
    ]
    mean = sum(sent) / len(items) / _LETTERS_PER_TOKEN
    return RunUsage(mean, asking.protocol.reply_tokens, common.latency(run.judge) * steps)
