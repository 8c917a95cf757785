"""Prices and budgets: what requests cost at most, and whether another one has room.

The highest possible cost of a request is stored in the ledger before it is sent. Its actual cost
replaces it in one transaction. Opening a request locks the rows of its run and of the run's
campaigns with a budget, so that two workers never use the same room.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from judging.engine.interface import BudgetInUse, JudgeQuestion, OverBudget, Usage
from judging.models import NANO, Campaign, Judge, JudgeRun, last_lease_of_workers

# Tokens that a chat template or a structured reply form can add to a prompt.
_FRAME_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens; `cached` is that of input from the server's cache."""

    input: Decimal
    output: Decimal
    cached: Decimal

    @classmethod
    def of(cls, judge: Judge, share: Decimal) -> "Prices | None":
        """The prices of a judge, times `share`; None if it has none."""
        if judge.price_input is None or judge.price_output is None:
            return None
        cached = judge.price_input if judge.price_cached_input is None else judge.price_cached_input
        return cls(judge.price_input * share, judge.price_output * share, cached * share)


def price(prices: Prices | None, usage: Usage | None) -> int | None:
    """Cost in billionths of a dollar; None if the judge has no price. No usage costs nothing.

    What the server says it has charged counts more than the prices, but some say 0 although they
    bill later.
    """
    if usage is not None and usage.cost is not None and (usage.cost or prices is None):
        return round(usage.cost * NANO)
    if prices is None:
        return None
    if usage is None:
        return 0
    per_million = prices.input * (usage.prompt_tokens - usage.cached_tokens)
    per_million += prices.cached * usage.cached_tokens
    per_million += prices.output * usage.completion_tokens
    return int(per_million * (NANO // 10**6))


def most_of(question: JudgeQuestion, *, reply_tokens: int) -> Usage:
    """The maximum tokens of a request: no tokenizer makes more tokens of a text than bytes.

    Pictures and sounds count by their rough number of tokens. A server that gives probabilities may
    read the prompt once for each question.
    """
    sent = sum(
        length_in_bytes(message.text) + sum(attachment.tokens for attachment in message.media)
        for message in question.asking
    )
    sent += _FRAME_TOKENS * len(question.asking)
    if question.closed is not None:
        sent = (sent + length_in_bytes(question.closed.words)) * question.closed.questions
    return Usage(sent, reply_tokens)


def length_in_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


# In the parameters of a run, with the amounts below.
REMOVED = "removed_requests"
AMOUNTS = ("nano", "tokens", "retries")


def add_removed(run: JudgeRun, amounts: Mapping[str, int]) -> None:
    """Add amounts to those of a locked run."""
    known = run.parameters.get(REMOVED, {})
    total = {name: known.get(name, 0) + amounts[name] for name in AMOUNTS}
    run.parameters = run.parameters | {REMOVED: total}
    run.save(update_fields=["parameters"])


# One statement, because between two a request could end and be missing from both sums.
_USE = """
SELECT r.id, r.spent_nano, r.tokens, COALESCE(h.nano, 0), COALESCE(h.tokens, 0),
       COALESCE(h.live, 0), COALESCE(h.with_provider, 0)
FROM judging_judgerun r
LEFT JOIN (
    SELECT j.run_id, SUM(a.cost_nano) AS nano,
           SUM(a.prompt_tokens + a.completion_tokens) AS tokens,
           SUM(CASE WHEN j.leased_until <= %s THEN 1 ELSE 0 END) AS live,
           SUM(CASE WHEN j.leased_until > %s THEN 1 ELSE 0 END) AS with_provider
    FROM judging_attempt a
    CROSS JOIN judging_judgment j
    WHERE a.outcome = 'sent' AND j.id = a.judgment_id AND j.run_id IN ({marks})
    GROUP BY j.run_id
) h ON h.run_id = r.id
WHERE r.id IN ({marks})
"""


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of a run's budgets; None without a budget.

    `may_grow`: requests in progress may cost less than reserved.
    """

    nano: int | None
    tokens: int | None
    may_grow: bool


@dataclass(slots=True)
class _Budget:
    """One budget and its use; `name` is empty for the run's own."""

    name: str
    runs: set[int]
    nano: int | None
    tokens: int | None
    spent_nano: int = 0
    spent_tokens: int = 0
    held_nano: int = 0
    held_tokens: int = 0
    live: int = 0  # requests under way whose end comes soon
    with_provider: int = 0  # requests in batches, which may take a day

    @classmethod
    def of(
        cls, name: str, runs: set[int], dollars: Decimal | None, tokens: int | None
    ) -> "_Budget":
        return cls(name, runs, None if dollars is None else int(dollars * NANO), tokens)

    def use(
        self, nano: int, tokens: int, held_nano: int, held_tokens: int, live: int, waiting: int
    ) -> None:
        self.spent_nano, self.spent_tokens = nano, tokens
        self.held_nano, self.held_tokens = held_nano, held_tokens
        self.live, self.with_provider = live, waiting

    def has_room(self, nano: int | None, most: Usage) -> bool:
        if self.nano is not None and (
            nano is None or self.spent_nano + self.held_nano + nano > self.nano
        ):
            return False
        return self.tokens is None or self.spent_tokens + self.held_tokens + most.total <= (
            self.tokens
        )

    def hold(self, nano: int | None, most: Usage) -> None:
        self.held_nano += nano or 0
        self.held_tokens += most.total
        self.live += 1

    def refusal(self, nano: int | None, most: Usage) -> Exception:
        """Why there is no room for another request, which can use up to `most`."""
        if self.nano is not None and nano is None:
            return OverBudget(
                "The judge has no price, so the budget cannot be checked. Set "
                "its input and output price."
            )
        if self.live:
            return BudgetInUse("The requests in progress may use up the rest of the budget.")
        of = f"campaign “{self.name}”, " if self.name else ""
        if self.nano is not None and self.spent_nano + self.held_nano + (nano or 0) > self.nano:
            budget, kind = f"${_dollars(self.nano)}", "budget"
            spent, held = f"${self.spent_nano / NANO:.4f}", f"${self.held_nano / NANO:.4f}"
            one = f"cost up to ${(nano or 0) / NANO:.4f}"
        else:
            budget, kind = f"{self.tokens or 0:,} tokens", "token budget"
            spent, held = f"{self.spent_tokens:,}", f"{self.held_tokens:,}"
            one = f"use up to {most.total:,}"
        held = f"{held} reserved for open batches, " if self.with_provider else ""
        return OverBudget(
            f"The budget of {of}{budget} is too small for another request: {spent} spent, {held}"
            f"and one more can {one}. Start {'it' if self.name else 'the run'} again with a higher "
            f"{kind}."
        )


def _dollars(nano: int) -> str:
    return f"{(Decimal(nano) / NANO).normalize():f}"


class LockedBudgets:
    """The budgets of some runs, locked while their requests are opened."""

    def __init__(self, states: dict[int, str], budgets: list[_Budget]) -> None:
        self.states = states  # of each run
        self._budgets = budgets

    @classmethod
    def lock(cls, run_ids: Iterable[int]) -> "LockedBudgets":
        """Lock the rows of runs, and of the campaigns whose budgets they share, in a fixed order.

        The locks last until the transaction ends.
        """
        runs = [row for pk in sorted(set(run_ids)) for row in _locked(pk)]
        budgets = [
            _Budget.of("", {pk}, dollars, tokens)
            for pk, _, dollars, tokens, _ in runs
            if dollars is not None or tokens is not None
        ]
        if sharing := [pk for pk, *_, shares in runs if shares]:
            budgets += _campaign_budgets(sharing)
        return cls({pk: state for pk, state, *_ in runs}, budgets)

    @property
    def exist(self) -> bool:
        return bool(self._budgets)

    def count(self) -> None:
        """Read the amounts currently spent and reserved."""
        everybody = sorted(set().union(*(budget.runs for budget in self._budgets)))
        if not everybody:
            return
        marks = ", ".join(["%s"] * len(everybody))
        last = connection.ops.adapt_datetimefield_value(last_lease_of_workers())
        with connection.cursor() as cursor:
            cursor.execute(_USE.format(marks=marks), [last, last, *everybody, *everybody])
            uses = {pk: [int(use) for use in row] for pk, *row in cursor.fetchall()}
        for budget in self._budgets:
            budget.use(*map(sum, zip(*(uses[pk] for pk in budget.runs), strict=True)))

    def take(self, run_id: int, nano: int | None, most: Usage) -> Exception | None:
        """Reserve the maximum usage of a run's request; return a refusal if there is no room."""
        budgets = [budget for budget in self._budgets if run_id in budget.runs]
        # Report the budget in which waiting cannot free room.
        refusals = [b.refusal(nano, most) for b in budgets if not b.has_room(nano, most)]
        if refusals:
            return next((r for r in refusals if isinstance(r, OverBudget)), refusals[0])
        for budget in budgets:
            budget.hold(nano, most)
        return None

    def room(self, run_id: int) -> Room:
        budgets = [budget for budget in self._budgets if run_id in budget.runs]
        nano = [b.nano - b.spent_nano - b.held_nano for b in budgets if b.nano is not None]
        tokens = [
            b.tokens - b.spent_tokens - b.held_tokens for b in budgets if b.tokens is not None
        ]
        return Room(
            nano=min(nano, default=None),
            tokens=min(tokens, default=None),
            may_grow=any(b.live or b.with_provider for b in budgets),
        )


def _links() -> QuerySet[Any]:
    return Campaign.runs.through.objects.all()


def _shared() -> QuerySet[Any]:
    return _links().exclude(campaign__budget=None, campaign__token_budget=None)


def _locked(run_id: int) -> QuerySet[JudgeRun, tuple[int, str, Decimal | None, int | None, bool]]:
    """A locked run with its budgets, and whether a campaign shares one."""
    shares = Exists(_shared().filter(judgerun=OuterRef("pk")))
    return (
        JudgeRun.objects.select_for_update(no_key=True, of=("self",))
        .filter(pk=run_id)
        .values_list("pk", "state", "budget", "token_budget", shares)
    )


def _campaign_budgets(run_ids: list[int]) -> list[_Budget]:
    ids = set(_shared().filter(judgerun__in=run_ids).values_list("campaign", flat=True))
    campaigns = list(
        Campaign.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk")
    )
    members: dict[int, set[int]] = defaultdict(set)
    for campaign, run in _links().filter(campaign__in=ids).values_list("campaign", "judgerun"):
        members[campaign].add(run)
    return [_Budget.of(c.name, members[c.pk], c.budget, c.token_budget) for c in campaigns]


def room_of(run_id: int) -> Room:
    """What is left of a run's budgets, locked until the transaction ends."""
    budgets = LockedBudgets.lock([run_id])
    budgets.count()
    return budgets.room(run_id)
