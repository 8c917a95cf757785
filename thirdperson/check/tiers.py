"""The tier of each judge by its kappa with people, as in “Judge’s Verdict” (2025).

The statistic belongs to the extra `judges_compared`, so it is only looked up if somebody asks.
"""

from argparse import Namespace
from dataclasses import dataclass

import numpy as np

from analysis.report.rules import DEFAULT_BOOTSTRAP, DEFAULT_SEED
from analysis.report.words import decimal, reason
from analysis.stats import Estimate
from thirdperson.check.labels import BadTable
from thirdperson.check.scale_table import ScaleTable

_MOST_LABELS = 20  # more labels make the tables of all pairs of people large
_FEWEST_PEOPLE = "under 10 people"


@dataclass(frozen=True)
class JudgeTier:
    """A judge's mean kappa with people, next to theirs with each other.

    `z` is the difference in standard deviations of people; `tier` is empty if `why` says why.
    """

    people: int
    kappa: float | None
    people_kappa: float | None
    difference: Estimate
    z: float | None
    tier: str
    why: str

    def cells(self) -> tuple[str, ...]:
        ends = self.difference.interval
        gap = decimal(self.difference.value, 2)
        if ends:
            gap += f" ({decimal(ends.low, 2)} to {decimal(ends.high, 2)})"
        numbers = (decimal(self.kappa, 2), decimal(self.people_kappa, 2), gap, decimal(self.z, 2))
        return (f"{self.people:,}", *numbers, self.tier or f"– ({self.why})")


def tiers(table: ScaleTable, options: Namespace) -> dict[str, JudgeTier]:
    """The tier of each judge, if `--tiers` asks for it."""
    if not options.tiers:
        return {}
    if len(table.scale.names) > _MOST_LABELS:
        raise BadTable(
            f"--tiers compares equal labels, of at most {_MOST_LABELS}; there are "
            f"{len(table.scale.names)}. Leave it out, or group the labels."
        )
    from thirdperson import stats

    several = getattr(stats, "human_likeness_of_several", None)
    if several is None:
        raise BadTable(
            "--tiers needs the extra judges_compared, which is not installed. Leave it out."
        )
    results = several(
        table.votes,
        [*table.judges.values()],
        rng=np.random.default_rng(DEFAULT_SEED if options.seed is None else options.seed),
        n_draws=DEFAULT_BOOTSTRAP if options.bootstrap is None else options.bootstrap,
    )
    tiers = {}
    for judge, likeness in zip(table.judges, results, strict=True):
        tier, why = likeness.tier()
        words = _FEWEST_PEOPLE if why == "too_few_annotators" else reason(why) if why else ""
        tiers[judge] = JudgeTier(
            people=likeness.n_people,
            kappa=likeness.model_kappa,
            people_kappa=likeness.human_kappa,
            difference=likeness.difference,
            z=likeness.z,
            tier=tier or "",
            why=words,
        )
    return tiers
