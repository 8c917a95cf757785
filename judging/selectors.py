"""Queries for pages, commands and reports about runs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from decimal import Decimal

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Avg, Count, Q, QuerySet, Sum
from django.http import Http404
from django.utils.text import Truncator

from judging.models import NANO, Attempt, Campaign, JudgeRun, Judgment
from studies.models import Membership, Study
from studies.personas import in_few_words, known_keys
from studies.selectors import studies_for
from studies.statements import clock
from studies.statements.kept_figures import kept


@dataclass(frozen=True)
class RunProgress:
    """The number of judgments of a run in each state."""

    done: int = 0
    unparseable: int = 0
    refused: int = 0
    skipped: int = 0
    error: int = 0
    pending: int = 0
    leased: int = 0

    @property
    def total(self) -> int:
        return self.ended + self.left

    @property
    def ended(self) -> int:
        return self.done + self.unparseable + self.refused + self.skipped + self.error

    @property
    def settled(self) -> int:
        """Judgments that are only asked again if a user retries failed ones."""
        return self.ended - self.error

    @property
    def left(self) -> int:
        return self.pending + self.leased

    def __add__(self, other: "RunProgress") -> "RunProgress":
        return RunProgress(
            **{name: count + getattr(other, name) for name, count in asdict(self).items()}
        )


@dataclass(frozen=True)
class RunCost:
    """The usage and cost of a run's requests, from the ledger.

    `estimated` is the part of `dollars` for requests without reported usage: their highest possible
    cost. `dollars` is None if the judge has no price. `saved` is what the server's cache saved, by
    the judge's prices; None if unknown.
    """

    attempts: int
    outcomes: dict[str, int]
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    dollars: Decimal | None
    estimated: Decimal
    mean_latency_ms: int | None
    cached_tokens: int = 0
    saved: Decimal | None = None

    @property
    def cached_percent(self) -> float:
        """The share of input tokens from the server's cache."""
        return 100 * self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def failures(self) -> list[tuple[str, int]]:
        """Outcomes of requests without a reply, in words, with the number of each."""
        others = (Attempt.Outcome.REPLIED, Attempt.Outcome.SENT)
        return [
            (outcome.label, self.outcomes[outcome])
            for outcome in Attempt.Outcome
            if outcome not in others and outcome in self.outcomes
        ]

    @property
    def retries(self) -> int:
        """The number of requests that brought no reply."""
        return sum(count for _, count in self.failures)


@dataclass(frozen=True)
class RunRow:
    """A run as a row of the study's panel; `speed` is judgments that ended in the last minute.

    `features` are those of the run in a few words.
    """

    run: JudgeRun
    progress: RunProgress
    features: str
    speed: int = 0


def has_replies(run_id: int) -> bool:
    return Attempt.objects.filter(judgment__run=run_id, outcome=Attempt.Outcome.REPLIED).exists()


def run_progress(run: JudgeRun) -> RunProgress:
    """Count the judgments of one run by state; one query."""
    return _progress_of([run.pk])[run.pk]


def progress_words(run: JudgeRun, progress: RunProgress) -> str:
    """A run's cost and failures so far, for a progress line."""
    spent = f"${run.spent:.4f}" if run.is_billed else f"{run.tokens:,} tokens"
    counts = {
        "retry" if run.retries == 1 else "retries": run.retries,
        "unreadable": progress.unparseable,
        "refused": progress.refused,
        "failed": progress.error,
    }
    return ", ".join([spent, *(f"{count:,} {word}" for word, count in counts.items() if count)])


def run_rows(study: Study, queryset: QuerySet[JudgeRun]) -> list[RunRow]:
    """Runs of the study as rows, in the order they were made; four queries at most.

    Cost and tokens are columns of the run, so a page that reloads every few seconds never adds up
    the ledger.
    """
    named = queryset.select_related("judge", "wording")
    runs = list(named.defer("wording__exact_texts"))
    for run in runs:
        run.study = study  # saves a query per run
    progress = _recent_progress_of([run.pk for run in runs])
    speeds = speeds_of([run for run in runs if run.is_active])
    known = known_keys(study) if any(run.feature_keys for run in runs) else set()
    return [
        RunRow(run, progress[run.pk], in_few_words(run.features, known), speeds.get(run.pk, 0))
        for run in runs
    ]


def labels_of(runs: Sequence[JudgeRun]) -> dict[int, str]:
    """A name for each of these runs by id, for lists of choices.

    The judge's name is followed only by differences between its runs; otherwise identical runs get
    the start of their id.
    """
    of_judge: dict[str, list[JudgeRun]] = {}
    for run in runs:
        of_judge.setdefault(run.judge.name, []).append(run)
    labels = {}
    for name, same in of_judge.items():
        facts = {run.pk: _facts_of(run) for run in same}
        differ = [
            place
            for place, values in enumerate(zip(*facts.values(), strict=True))
            if len(set(values)) > 1
        ]
        words = {
            pk: tuple(filter(None, (facts_of_run[p] for p in differ)))
            for pk, facts_of_run in facts.items()
        }
        counts = Counter(words.values())
        for run in same:
            parts = list(words[run.pk])
            if counts[words[run.pk]] > 1:
                parts.append(run.public_id[:6])
            labels[run.pk] = f"{name}: {', '.join(parts)}" if parts else name
    return labels


def _facts_of(run: JudgeRun) -> list[str]:
    features = {"all": "all features", "none": "no features"}.get(run.features, run.features)
    is_probed = run.bias_probe and f"probe {run.bias_probe}"
    sampled = {name: run.parameters.get(name) for name in ("model", "temperature", "top_p")}
    return [
        run.get_setting_display(),
        Truncator(features).chars(60),
        str(run.wording) if run.wording else "the protocol’s words",
        run.framing,
        is_probed or "no probe",
        run.prompt_language,
        f"{run.reading} reading",
        "both orders" if run.orders == run.Orders.BOTH else f"{run.get_orders_display()} order",
        "1 sample" if run.samples == 1 else f"{run.samples} samples",
        "imported" if run.is_imported else "asked here",
        *(f"{name.replace('_', ' ')} {value}" for name, value in sampled.items()),
        f"seed {run.seed}",
        "for the report" if run.in_report else "not for the report",
    ]


def speeds_of(runs: list[JudgeRun]) -> dict[int, int]:
    """Judgments of each run that ended in the last minute; one query."""
    since = clock.now() - timedelta(minutes=1)
    ended = Judgment.objects.filter(run__in=runs, answered_at__gte=since, reused_from=None)
    return dict(ended.order_by().values_list("run").annotate(n=Count("pk")))


def last_requests(run: JudgeRun, count: int = 20) -> QuerySet[Attempt]:
    """The newest requests of a run, newest first."""
    attempts = Attempt.objects.filter(judgment__run=run).select_related("judgment__item")
    return attempts.order_by("-pk")[:count]


def last_judgments(run: JudgeRun, count: int = 20) -> QuerySet[Judgment]:
    """The judgments of a run that ended most recently, newest first."""
    ended = run.judgments.filter(answered_at__isnull=False).select_related("item")
    return ended.order_by("-answered_at")[:count]


def campaign_progress(campaign: Campaign) -> RunProgress:
    """Count the judgments of all runs of a campaign by state; one query."""
    counts = (
        Judgment.objects.filter(run__campaigns=campaign)
        .order_by()
        .values_list("state")
        .annotate(n=Count("pk"))
    )
    return RunProgress(**dict(counts))


@dataclass(frozen=True)
class CampaignUse:
    """The usage of all runs of a campaign together; judges without a price are named."""

    dollars: Decimal
    tokens: int
    unpriced: list[str]


def campaign_use(campaign: Campaign) -> CampaignUse:
    sums = campaign.runs.aggregate(nano=Sum("spent_nano"), tokens=Sum("tokens"))
    unpriced = campaign.runs.filter(judge__price_input=None).order_by("judge__name")
    return CampaignUse(
        dollars=Decimal(sums["nano"] or 0) / NANO,
        tokens=sums["tokens"] or 0,
        unpriced=list(unpriced.values_list("judge__name", flat=True).distinct()),
    )


def campaigns_of(study: Study) -> QuerySet[Campaign]:
    """The campaigns of a study that have a plan."""
    return Campaign.objects.filter(study=study).exclude(plan={})


def get_campaign(study: Study, public_id: str) -> Campaign:
    """A campaign of `study`, otherwise 404."""
    try:
        return campaigns_of(study).get(public_id=public_id)
    except Campaign.DoesNotExist:
        raise Http404 from None


def recent_progress(run: JudgeRun) -> RunProgress:
    """`run_progress` for pages: for large runs, possibly some seconds old."""
    return _recent_progress_of([run.pk])[run.pk]


def recent_cost(run: JudgeRun) -> RunCost:
    """`run_cost` for pages: for large runs, possibly some seconds old."""
    return kept("cost", run.pk, count=lambda: run_cost(run), rows=lambda cost: cost.attempts)


def _recent_progress_of(run_ids: list[int]) -> dict[int, RunProgress]:
    return kept(
        "progress",
        *run_ids,
        count=lambda: _progress_of(run_ids),
        rows=lambda all_progress: sum(progress.total for progress in all_progress.values()),
    )


def _progress_of(run_ids: list[int]) -> dict[int, RunProgress]:
    counts: dict[int, dict[str, int]] = {pk: {} for pk in run_ids}
    for run_id, state, n in (
        Judgment.objects.filter(run__in=run_ids)
        .order_by()
        .values_list("run", "state")
        .annotate(n=Count("pk"))
    ):
        counts[run_id][state] = n
    return {pk: RunProgress(**states) for pk, states in counts.items()}


def run_cost(run: JudgeRun) -> RunCost:
    """Add up the ledger of one run; two queries. In-flight requests are counted, not priced."""
    attempts = Attempt.objects.filter(judgment__run=run)
    outcomes = dict(attempts.order_by().values_list("outcome").annotate(n=Count("pk")))
    ended = ~Q(outcome=Attempt.Outcome.SENT)
    sums = attempts.aggregate(
        prompt=Sum("prompt_tokens", filter=ended),
        completion=Sum("completion_tokens", filter=ended),
        reasoning=Sum("reasoning_tokens"),
        cached=Sum("cached_tokens"),
        nano=Sum("cost_nano", filter=ended),
        estimated=Sum("cost_nano", filter=ended & Q(cost_is_estimate=True)),
        latency=Avg("latency_ms", filter=Q(outcome=Attempt.Outcome.REPLIED)),
    )
    return RunCost(
        attempts=sum(outcomes.values()),
        outcomes=outcomes,
        prompt_tokens=sums["prompt"] or 0,
        completion_tokens=sums["completion"] or 0,
        reasoning_tokens=sums["reasoning"] or 0,
        dollars=Decimal(sums["nano"] or 0) / NANO if run.is_billed else None,
        estimated=Decimal(sums["estimated"] or 0) / NANO,
        mean_latency_ms=None if sums["latency"] is None else round(sums["latency"]),
        cached_tokens=sums["cached"] or 0,
        saved=_saved(run, sums["cached"] or 0),
    )


def _saved(run: JudgeRun, cached_tokens: int) -> Decimal | None:
    """US dollars that cached input cost less than other input; None without both prices."""
    judge = run.judge
    if not run.is_billed or judge.price_input is None or judge.price_cached_input is None:
        return None
    share = judge.batch_price if run.by_batch else Decimal(1)
    return (judge.price_input - judge.price_cached_input) * share * cached_tokens / 10**6


def may_edit(user: User | AnonymousUser, slug: str) -> bool:
    return studies_for(user, role=Membership.Role.EDITOR).filter(slug=slug).exists()


def get_run(study: Study, public_id: str) -> JudgeRun:
    """A run of `study`, otherwise 404."""
    try:
        return JudgeRun.objects.select_related("judge", "study").get(
            study=study, public_id=public_id
        )
    except JudgeRun.DoesNotExist:
        raise Http404 from None


def judgments_page(run: JudgeRun, *, state: str = "", query: str = "") -> QuerySet[Judgment]:
    """The judgments of a run for its page, filtered by state and by item key."""
    judgments = (
        # Filtered by study, so that the index gives the order of item keys.
        run.judgments.filter(item__study=run.study_id)
        .select_related("item__persona", "reused_from__run")
        .prefetch_related("attempts")
    )
    if state == "open":
        judgments = judgments.filter(state__in=Judgment.OPEN)
    elif state in Judgment.State.values:
        judgments = judgments.filter(state=state)
    if query:
        judgments = judgments.filter(item__key__icontains=query)
    return judgments
