"""Closed forms of how many items and people a study needs, and what people cost."""

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import scipy
from scipy import special

from analysis.stats.core.proportions import wilson_ends
from analysis.stats.core.results import check_share, normal_quantile


def wilson_items(share: float, half_width: float, *, level: float = 0.95) -> int:
    """Fewest items for which Wilson's interval of a share is narrow enough.

    Parameters
    ----------
    share : float
        Expected share, in (0, 1).
    half_width : float
        Largest half of the width, in (0, 0.5).
    level : float, default 0.95

    Returns
    -------
    int

    Examples
    --------
    >>> wilson_items(0.6, 0.05), wilson_items(0.6, 0.03), wilson_items(0.5, 0.055)
    (366, 1021, 314)
    """
    check_share("share", share)
    if not 0 < half_width < 0.5:
        raise ValueError(f"`half_width` must lie in (0, 0.5), got {half_width}.")
    z = normal_quantile(level)

    def is_narrow(n: int) -> bool:
        low, high = wilson_ends(share, n, z)
        return (high - low) / 2 <= half_width

    few, enough = 0, 1
    while not is_narrow(enough):
        few, enough = enough, enough * 2
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if is_narrow(middle) else (middle, enough)
    return enough


def equivalence_items(
    discordant: float, margin: float, *, level: float = 0.05, power: float = 0.8
) -> int:
    """Items for two one-sided tests to show that two equal sides are equivalent.

    Parameters
    ----------
    discordant : float
        Share of items on which only one of the two sides is right.
    margin : float
        Of equivalence, in (0, 1).
    level : float, default 0.05
        Of each one-sided test.
    power : float, default 0.8

    Returns
    -------
    int

    Examples
    --------
    >>> equivalence_items(0.3, 0.05), equivalence_items(0.3, 0.1), equivalence_items(0.2, 0.05)
    (1028, 257, 686)
    """
    check_share("discordant", discordant)
    check_share("margin", margin)
    check_share("level", level)
    check_share("power", power)
    z = float(special.ndtri(1 - level) + special.ndtri((1 + power) / 2))
    return math.ceil(z**2 * discordant / margin**2)


def alpha_sd(n_items: int, answers: int, alpha: float) -> float:
    r"""Standard deviation of Krippendorff's alpha between two equally frequent responses.

    Parameters
    ----------
    n_items : int
        Independent items.
    answers : int
        Answers per item, at least 2.
    alpha : float
        Expected agreement, in (0, 1).

    Returns
    -------
    float

    Notes
    -----
    The number m of k answers for one response is taken as beta-binomial with correlation alpha.
    Then the sd is :math:`2\sqrt{\operatorname{Var}(D)/N}` with the disagreement of an item
    :math:`D=2m(k-m)/k(k-1)`.

    Examples
    --------
    >>> [round(alpha_sd(*design, 0.2), 3) for design in ((300, 3), (1000, 3), (300, 5))]
    [0.038, 0.021, 0.026]
    """
    check_share("alpha", alpha)
    if n_items < 1 or answers < 2:
        raise ValueError("There must be at least one item and two answers per item.")
    counts = np.arange(answers + 1)
    shape = (1 / alpha - 1) / 2
    chance = scipy.stats.betabinom.pmf(counts, answers, shape, shape)
    apart = 2 * counts * (answers - counts) / (answers * (answers - 1))
    variance = float(chance @ apart**2 - (chance @ apart) ** 2)
    return 2 * math.sqrt(max(variance, 0.0) / n_items)


def annotators_needed(
    n_items: int, answers: int, per_annotator: int, *, dropout: float = 0.0
) -> int:
    """Number of annotators needed to answer every item often enough.

    Parameters
    ----------
    n_items, answers, per_annotator : int
        Items, answers per item, and items per annotator.
    dropout : float, default 0
        Share of annotators to invite on top, at least 0.

    Returns
    -------
    int

    Examples
    --------
    >>> annotators_needed(300, 3, 30), annotators_needed(300, 3, 30, dropout=0.1)
    (30, 33)
    """
    if min(n_items, answers, per_annotator) < 1 or dropout < 0:
        raise ValueError("Items, answers and items of an annotator must be at least 1.")
    exact = Decimal(-(-n_items * answers // per_annotator)) * (1 + Decimal(str(dropout)))
    return math.ceil(exact)


@dataclass(frozen=True)
class Cost:
    """Cost of annotators, in minor units of the currency.

    Attributes
    ----------
    rewards, fee, tax, total : int
        Payments to annotators, to the platform, as tax on the platform's fee, and in total.
    """

    rewards: int
    fee: int
    tax: int

    @property
    def total(self) -> int:
        return self.rewards + self.fee + self.tax


def recruiting_cost(
    annotators: int, reward: int, *, fee: Decimal = Decimal(0), tax: Decimal = Decimal(0)
) -> Cost:
    """Rewards, the platform's fee on them, and the tax on the fee.

    Parameters
    ----------
    annotators : int
    reward : int
        Reward per annotator, in minor units.
    fee, tax : Decimal, default 0
        Share of the rewards; share of the fee.

    Returns
    -------
    Cost

    Examples
    --------
    >>> recruiting_cost(30, 450).total
    13500
    >>> recruiting_cost(30, 450, fee=Decimal("0.4"), tax=Decimal("0.2")).total
    19980
    """
    if annotators < 0 or reward < 0 or fee < 0 or tax < 0:
        raise ValueError("Annotators, reward, fee and tax must not be negative.")
    rewards = annotators * reward
    paid = _rounded(rewards * fee)
    return Cost(rewards, paid, _rounded(paid * tax))


def _rounded(amount: Decimal) -> int:
    return int(amount.quantize(Decimal(1), rounding=ROUND_HALF_UP))
