"""What studies of other sizes show, in closed form and at once, and what their people cost.

Pages compute this, so it needs no numpy.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

from django.db.models import Count
from django.urls import reverse

from analysis.precision import half_width, items_for, times_as_many
from annotation.seats.capacity import people_needed
from annotation.seats.quotas import have_entered
from extras.planning import wording
from extras.planning.sources import cost_of, judge_dollars, main_items, rates_of
from studies.models import Item, Study

WITHOUT_ITEMS, MOST = 10, 100_000
STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)  # of each power of ten, next to the planned size
ANSWERS = (1, 3, 5, 7)
# Of people about somebody else's choice.
TYPICAL_ALPHA = 0.2
# The figure, in units of its viewBox.
LEFT, RIGHT, TOP, BOTTOM = 44, 392, 10, 168


@dataclass(frozen=True)
class PricedSize:
    """A size and what it shows: half widths of the 95 % intervals of an accuracy and of alpha."""

    items: int
    answers: int
    people: int
    accuracy: float
    agreement: float | None
    cost: Mapping[str, Any]

    @property
    def key(self) -> str:
        return f"{self.items}x{self.answers}"

    @property
    def price(self) -> str:
        return wording.cost_words({"cost": self.cost})

    @property
    def within(self) -> str:
        return f"±{self.accuracy * 100:.1f} points"


@dataclass(frozen=True)
class SizeCurve:
    """All sizes by their key, the planned one and the chosen one.

    `labelled` items have an own answer, of `there`; `margin` is the study's, and `enough` the
    smallest size whose accuracy is within it.
    """

    sizes: Mapping[str, PricedSize]
    planned: PricedSize
    chosen: PricedSize
    enough: PricedSize
    margin: float
    there: int
    effect: float

    @property
    def items(self) -> list[int]:
        return sorted({size.items for size in self.sizes.values()})

    @property
    def answers(self) -> list[int]:
        return sorted({size.answers for size in self.sizes.values()})

    @property
    def at_planned_answers(self) -> list[PricedSize]:
        return [self.sizes[f"{items}x{self.planned.answers}"] for items in self.items]

    def place(self, size: PricedSize) -> tuple[float, float]:
        """Where the size stands in the figure: items from left to right, on a logarithmic scale."""
        first, last = math.log(self.items[0]), math.log(self.items[-1])
        across = (math.log(size.items) - first) / (last - first)
        down = 1 - size.accuracy / self.top
        return round(LEFT + across * (RIGHT - LEFT), 1), round(TOP + down * (BOTTOM - TOP), 1)

    @property
    def top(self) -> float:
        """The upper end of the figure's scale."""
        return math.ceil(max(size.accuracy for size in self.sizes.values()) * 20) / 20

    @property
    def line(self) -> str:
        return " ".join(f"{x},{y}" for x, y in map(self.place, self.at_planned_answers))

    @property
    def marker(self) -> tuple[float, float]:
        return self.place(self.chosen)

    @property
    def heights(self) -> list[tuple[float, str]]:
        """Marks of the scale of points: where they stand, and their labels."""
        step = 0.05 if self.top <= 0.2 else 0.1
        steps = range(int(self.top / step + 1e-9) + 1)
        return [
            (
                round(BOTTOM - n * step / self.top * (BOTTOM - TOP), 1),
                f"±{n * step * 100:.0f}" if n else "0",
            )
            for n in steps
        ]

    @property
    def widths(self) -> list[tuple[float, str]]:
        """Marks of the scale of items."""
        sizes = self.at_planned_answers
        last = len(sizes) - 1
        return [
            (self.place(size)[0], f"{size.items:,}")
            for size in (sizes[0], sizes[last // 3], sizes[2 * last // 3], sizes[last])
        ]

    @property
    def ends(self) -> tuple[PricedSize, PricedSize]:
        sizes = self.at_planned_answers
        return sizes[0], sizes[-1]

    @property
    def table(self) -> dict[str, dict[str, Any]]:
        """What the page's script shows of each size."""
        return {key: self.shown(size) for key, size in self.sizes.items()}

    @property
    def now(self) -> dict[str, Any]:
        return self.shown(self.chosen)

    def shown(self, size: PricedSize) -> dict[str, Any]:
        x, y = self.place(size)
        answers = "1 answer" if size.answers == 1 else f"{size.answers} answers"
        return {
            "sentence": tag(size),
            "crowd": f"{size.people:,} people, {answers} for each item",
            "accuracy": size.within,
            "agreement": "no second answer"
            if size.agreement is None
            else f"±{size.agreement:.2f}".replace("0.", "."),
            "people": f"{size.people:,}",
            "cost": size.price,
            "items": size.items,
            "annotations_per_item": size.answers,
            "number": size.people,
            "x": x,
            "y": y,
            "beyond": size.items > self.there,
        }


def tag(size: PricedSize) -> str:
    """The price and what it shows, in one sentence."""
    if not size.cost["rewards"]:
        return f"{size.people:,} people show an accuracy within {size.within}."
    return f"{wording.people_cost(size.cost)} shows an accuracy within {size.within}."


def design_effect(study: Study) -> float:
    """How many times more items it takes because they share personas or questions.

    As in the audit, items with an own answer count, or all while none has one.
    """
    items = main_items(study)
    labelled = items.filter(first_person__in=["r1", "r2"])
    counted = labelled if labelled.exists() else items

    def sizes(name: str) -> Counter[int]:
        rows = counted.exclude(**{name: ""}) if name == "question" else counted
        numbers = rows.order_by().values(name).annotate(n=Count("pk")).values_list("n", flat=True)
        return Counter(dict(enumerate(numbers)))

    n = counted.count()
    return times_as_many(n, sizes("persona"), sizes("question")) if n else 1.0


@cache
def _spread(answers: int) -> float:
    """Standard deviation of alpha from one item, as in `extras.planning.stats.alpha_sd`."""
    shape = (1 / TYPICAL_ALPHA - 1) / 2

    def chance(m: int) -> float:
        beta = math.lgamma(m + shape) + math.lgamma(answers - m + shape)
        beta += math.lgamma(2 * shape) - math.lgamma(answers + 2 * shape) - 2 * math.lgamma(shape)
        return math.comb(answers, m) * math.exp(beta)

    apart = [2 * m * (answers - m) / (answers * (answers - 1)) for m in range(answers + 1)]
    mean = sum(chance(m) * apart[m] for m in range(answers + 1))
    return 2 * math.sqrt(sum(chance(m) * (apart[m] - mean) ** 2 for m in range(answers + 1)))


def alpha_half_width(n: float, answers: int) -> float:
    """Half the width of the 95 % interval of a typical alpha from `n` items that share nothing."""
    return NormalDist().inv_cdf(0.975) * _spread(answers) / math.sqrt(n)


def curve_of(study: Study, *, planned: int, items: str = "", answers: str = "") -> SizeCurve:
    """Sizes around the planned number of items; `items` and `answers` choose one by its key."""
    effect, rates, judges = design_effect(study), rates_of(study), judge_dollars(study, 1, 1)

    def size(items: int, answers: int) -> PricedSize:
        people = people_needed({answers: items}, min(study.items_per_annotator, items))
        alone = items / effect  # as many items that share nothing
        return PricedSize(
            items=items,
            answers=answers,
            people=people,
            accuracy=half_width(alone),
            agreement=alpha_half_width(alone, answers) if answers > 1 else None,
            cost=cost_of(study, people, rates, None if judges is None else judges * items),
        )

    margin, asked = study.equivalence_margin, study.annotations_per_item
    enough = size(math.ceil(items_for(margin) * effect - 1e-9), asked)
    start = min(MOST, planned or WITHOUT_ITEMS)
    most = min(MOST, max(5 * start, enough.items, 200))
    numbers = {round(step * 10**power) for power in range(1, 6) for step in STEPS}
    numbers = {n for n in numbers if n < most} | {start, most}
    by_key = {one.key: one for n in numbers for k in {*ANSWERS, asked} for one in [size(n, k)]}
    now = by_key[f"{start}x{asked}"]
    return SizeCurve(
        sizes=by_key,
        planned=now,
        chosen=by_key.get(f"{items or start}x{answers or asked}", now),
        enough=enough,
        margin=margin,
        there=Item.objects.filter(study=study).count(),
        effect=effect,
    )


def sizes_context(study: Study, *, planned: int, **chosen: str) -> dict[str, Any]:
    """What the page and the launch page show of the curve."""
    return {
        "curve": curve_of(study, planned=planned, **chosen),
        "is_planned": planned > 0,
        "may_use": study.state == Study.State.DRAFT and not have_entered(study),
        "places": reverse("people:places", args=[study.slug]),
    }
