"""Win rates and strengths of systems, and win rates corrected for a judge's errors."""

from functools import partial

import numpy as np

from analysis.promises import Counts, MethodCheck, compared, covers
from analysis.stats import Sharing, corrected_win_rates, system_strengths, win_rates

from ..worlds.systems import planted, true_rates


def rates(rng: np.random.Generator, counts: Counts, *, accuracy: float) -> None:
    of_rates, of_strengths = true_rates()
    contests, people, judge, persona = planted(rng, accuracy=accuracy)
    sharing = Sharing.of_items(persona.size, {"persona": persona})
    # The errors are known on one third of the items.
    some = np.where(rng.random(persona.size) < 1 / 3, people, -1)
    for name, found, truth in (
        ("win rate", [each.rate for each in win_rates(contests, people, sharing)], of_rates),
        ("strength", system_strengths(contests, people, sharing).strengths, of_strengths),
        ("corrected", corrected_win_rates(contests, judge, some, sharing).rates, of_rates),
        ("uncorrected", [each.rate for each in win_rates(contests, judge, sharing)], of_rates),
    ):
        for each, at in zip(found, truth, strict=True):
            counts.covered(name, each.interval, float(at))


CHECKS = tuple(
    MethodCheck(
        f"four systems, a judge right on {100 * accuracy:.0f} %",
        "60 personas with tastes of their own × 6 items; the judge’s errors are known on a third.",
        partial(rates, accuracy=accuracy),
        {
            "win rate": covers(),
            "strength": covers(),
            "corrected": covers(),
            "uncorrected": compared(),
        },
        quick=40,
        full=1500,
    )
    for accuracy in (0.7, 0.85)
)
