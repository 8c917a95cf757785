"""What a campaign will take, before anything is asked."""

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

from judging.models import Judge, JudgeRun
from judging.services.campaigns import Plan, grid_of
from studies import features as feature_sets
from studies.errors import StudyError
from studies.models import Item, Side, Study
from studies.prompts import build_prompt

_SAMPLED = 20  # items whose prompts are built to learn how long they are
_LETTERS_PER_TOKEN = 4
_REPLY_TOKENS = {"standard": 8, "tie": 8, "certainty": 16}
_PER_MILLION = 10**6


@dataclass(frozen=True)
class JudgeEstimate:
    """What one judge is asked; `dollars` is None where it has no price."""

    judge: Judge
    runs: int
    questions: int
    prompt_tokens: int
    completion_tokens: int
    dollars: Decimal | None


@dataclass(frozen=True)
class Estimate:
    judges: list[JudgeEstimate]

    @property
    def runs(self) -> int:
        return sum(row.runs for row in self.judges)

    @property
    def questions(self) -> int:
        return sum(row.questions for row in self.judges)

    @property
    def tokens(self) -> int:
        return sum(row.prompt_tokens + row.completion_tokens for row in self.judges)

    @property
    def dollars(self) -> Decimal | None:
        """Of the judges with a price; None where none has one."""
        priced = [row.dollars for row in self.judges if row.dollars is not None]
        return sum(priced, Decimal(0)) if priced else None

    @property
    def unpriced(self) -> list[str]:
        return [row.judge.name for row in self.judges if row.dollars is None]


def estimate_plan(study: Study, plan: Plan) -> Estimate:
    """Count questions and guess their tokens from some prompts, at four letters a token.

    What other runs have answered already, replies that must be asked for again and what a model
    thinks are not in it. Raises `BadPlan` or `StudyError`.
    """
    items = list(
        Item.objects.filter(study=study).select_related("persona").order_by("key")[: plan.limit]
    )
    if not items:
        raise StudyError(f"Study “{study.slug}” has no items to judge. Import some first.")
    for item in items:
        item.study = study
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for judge, setting, features, orders in grid_of(study, plan):
        questions = plan.samples * sum(
            2 if orders == JudgeRun.Orders.BOTH and not item.fixed_first else 1 for item in items
        )
        keys = feature_sets.resolve(study, features)
        step = max(1, len(items) // _SAMPLED)
        lengths = [
            len(build_prompt(item, setting=setting, shown_first=Side.R1, features=keys))
            for item in items[::step]
        ]
        mean = sum(lengths) / len(lengths) / _LETTERS_PER_TOKEN
        used = (1, questions, round(questions * mean), questions * _REPLY_TOKENS[setting])
        sums[judge] = [a + b for a, b in zip(sums[judge], used, strict=True)]
    judges = Judge.objects.in_bulk(list(sums), field_name="name")
    return Estimate([_row(judges[name], plan, *counts) for name, counts in sums.items()])


def _row(
    judge: Judge, plan: Plan, runs: int, questions: int, prompt: int, completion: int
) -> JudgeEstimate:
    dollars = None
    if judge.price_input is not None and judge.price_output is not None:
        dollars = (judge.price_input * prompt + judge.price_output * completion) / _PER_MILLION
        if plan.batch:
            dollars *= judge.batch_price
    return JudgeEstimate(judge, runs, questions, prompt, completion, dollars)
