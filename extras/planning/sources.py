"""Read the items, prices and pilot answers for a forecast."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import QuerySet

from analysis.data.item_comparisons import runs_to_compare
from analysis.errors import BadParameters
from annotation.prolific.money import with_fees
from judging.errors import JudgingError
from judging.models import Judge, JudgeRun
from judging.runs.costs import estimate_run, usage_of
from judging.runs.spec import RunSpec
from studies.errors import StudyError
from studies.models import Item, Study

if TYPE_CHECKING:
    from analysis.data.arrays import Dataset, RunData
    from analysis.stats.core.results import FloatArray
    from extras.planning.stats.variance_components import PilotAnswers


def items_for_people(study: Study) -> int:
    """The items that annotators answer; in a draft, which has no seats yet, all items.

    A whole set on one screen counts as one. Before items are imported, the number of a preset.
    """
    there, asked = main_items(study).count(), study.human_sample
    return min(asked, there) if asked and there else asked or there


def main_items(study: Study) -> QuerySet[Item]:
    """The items that people answer; of a set that is shown whole, the one with seats."""
    items = Item.objects.filter(study=study)
    return items.filter(seats_needed__gt=0) if study.shows_whole_sets else items


def clusters_of_items(study: Study) -> tuple[list[int], list[int]]:
    """Codes of each item's persona and question, ordered by key."""
    rows = main_items(study).order_by("key").values_list("persona_id", "question")
    personas: dict[int, int] = {}
    questions: dict[str, int] = {}
    return (
        [personas.setdefault(persona, len(personas)) for persona, _ in rows],
        [questions.setdefault(question, len(questions)) for _, question in rows],
    )


@dataclass(frozen=True)
class Rates:
    """The platform's fee on rewards, and the tax on the fee; None if unknown.

    `is_stated` if the platform asked for them in this study.
    """

    fee: Decimal | None
    tax: Decimal | None
    is_stated: bool = False


def rates_of(study: Study) -> Rates:
    """Fee and tax of recruiting; none without a platform."""
    if study.entry != Study.Entry.PROLIFIC:
        return Rates(Decimal(0), Decimal(0))
    paid = with_fees(study, 1_000_000)
    if paid is not None:
        return Rates(Decimal(paid - 1_000_000) / 1_000_000, Decimal(0), is_stated=True)
    return Rates(settings.RECRUITING_FEE, settings.RECRUITING_TAX)  # type: ignore[misc]


def cost_of(study: Study, people: int, rates: Rates, judges: Decimal | None) -> dict[str, Any]:
    """Money in minor units of the study's currency, judges in dollars; None where unknown.

    As `recruiting_cost` of the statistics, which pages do not load: its package needs numpy.
    """
    rewards = people * study.reward
    fee = None if rates.fee is None else _rounded(rewards * rates.fee)
    tax = None if fee is None else _rounded(fee * (rates.tax or Decimal(0)))
    return {
        "currency": study.currency,
        "rewards": rewards,
        "fee": fee,
        "tax": tax,
        "total": None if fee is None or tax is None else rewards + fee + tax,
        "is_stated": rates.is_stated,
        "judge_dollars": None if judges is None else float(judges),
    }


def _rounded(amount: Decimal) -> int:
    return int(amount.quantize(Decimal(1), rounding=ROUND_HALF_UP))


def judge_dollars(study: Study, items: int, judges: int) -> Decimal | None:
    """US dollars for `judges` runs over `items`, at the mean price of the study's runs.

    None if the study has no run yet, or none with a price.
    """
    prices = [
        price for run in runs_to_compare(study) if (price := _dollars_per_item(run)) is not None
    ]
    if not prices:
        return None
    return sum(prices, Decimal(0)) / len(prices) * items * judges


def _dollars_per_item(run: JudgeRun) -> Decimal | None:
    judge: Judge = run.judge
    questions = run.samples * (2 if run.orders == "both" else 1)
    if usage := usage_of(run):
        return usage.dollars(judge, questions, by_batch=run.by_batch)
    try:
        estimate = estimate_run(run, RunSpec.of(run))
    except (StudyError, JudgingError):
        return None
    if estimate.dollars is None or not estimate.questions:
        return None
    return estimate.dollars / estimate.questions * questions


def pilot_answers(slug: str) -> "PilotAnswers":
    """The scorable answers of a pilot, and its best judge.

    Raises `BadParameters` if there are too few.
    """
    import numpy as np

    from analysis.data.dataset import load_dataset
    from analysis.data.verdicts import people_votes, run_verdicts
    from extras.planning.stats.variance_components import PilotAnswers

    data = load_dataset(slug)
    votes = people_votes(data)
    truth = data.scored_truth(offers_tie=data.study.allow_tie).astype(np.int64)[votes.item]
    known = truth >= 0
    if known.sum() < 2:
        raise BadParameters(
            f"Study “{slug}” has no answers to items with a known right answer, so its accuracy "
            "is unknown. Choose another pilot."
        )
    best = _best_run(data)
    return PilotAnswers(
        (votes.choice[known] == truth[known]).astype(np.int64),
        votes.item[known],
        votes.annotator[known],
        np.array(_codes([item.persona for item in data.items])),
        np.array(_codes([item.question for item in data.items])),
        None if best is None else run_verdicts(data, best).correct.astype(np.int64),
    )


def _best_run(data: "Dataset") -> "RunData | None":
    """The run with the most right verdicts, of those that show the whole persona."""
    from analysis.data.verdicts import run_verdicts

    runs = [run for run in data.runs if run.features == "all"]
    return max(
        runs, key=lambda run: int((run_verdicts(data, run).correct == 1).sum()), default=None
    )


@dataclass(frozen=True)
class JudgeReadings:
    """Right readings and all readings of each item, by a run and by the best other judge's."""

    name: str
    right: "FloatArray"
    read: "FloatArray"
    other: str = ""
    other_share: "FloatArray | None" = None

    @property
    def share(self) -> "FloatArray":
        """The share of right readings, NaN without one."""
        import numpy as np

        return np.divide(
            self.right, self.read, out=np.full(self.read.shape, np.nan), where=self.read > 0
        )


def judge_readings(slug: str) -> JudgeReadings | None:
    """How the best judge of a study read its items; None without one that can be scored."""
    from dataclasses import replace

    from analysis.data.dataset import load_dataset

    data = load_dataset(slug)
    best = _best_run(data)
    if best is None:
        return None
    readings = _readings_of(data, best)
    others = replace(data, runs=tuple(run for run in data.runs if run.judge != best.judge))
    if (other := _best_run(others)) is not None:
        readings = replace(readings, other=other.judge, other_share=_readings_of(data, other).share)
    return readings if readings.read.any() else None


def _readings_of(data: "Dataset", run: "RunData") -> JudgeReadings:
    import numpy as np

    rows, n = run.judgments, len(data.items)
    truth = data.scored_truth(offers_tie=run.offers_tie)[rows.item]
    done = (rows.status == "done") & (truth >= 0)
    right = np.bincount(rows.item[done & (rows.choice == truth)], minlength=n)
    read = np.bincount(rows.item[done], minlength=n)
    return JudgeReadings(run.judge, right.astype(np.float64), read.astype(np.float64))


def _codes(values: Sequence[str]) -> list[int]:
    """Codes, equal for equal values; if some values are known, each empty one gets its own."""
    seen: dict[str | int, int] = {}
    known = any(values)
    return [
        seen.setdefault(value if value or not known else number, len(seen))
        for number, value in enumerate(values)
    ]
