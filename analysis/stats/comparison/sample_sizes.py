"""Sample sizes in closed form, and draws of items that a judge is likely to get wrong.

Closed forms treat items as independent. If annotators, personas or questions are shared, multiply
the number of items by the design effect.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from ..core.proportions import wilson_ends
from ..core.results import BoolArray, FloatArray, check_level, normal_quantile


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
    _check_share("share", share)
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


def mcnemar_items(
    only_first: float, only_second: float, *, level: float = 0.05, power: float = 0.8
) -> int | None:
    r"""Items for McNemar's test to find a difference (Connor).

    Parameters
    ----------
    only_first, only_second : float
        Shares of items on which only one of the two sides is right.
    level : float, default 0.05
        Of the two-sided test.
    power : float, default 0.8

    Returns
    -------
    int or None
        None if there is no difference to find.

    Notes
    -----
    :math:`n=(z_\alpha\sqrt s+z_\beta\sqrt{s-d^2})^2/d^2` with :math:`s=p_{10}+p_{01}` and
    :math:`d=p_{10}-p_{01}`.

    References
    ----------
    .. [1] R. J. Connor, "Sample Size for Testing Differences in Proportions for the
       Paired-Sample Design", Biometrics 43 (1987), 207-211.

    Examples
    --------
    >>> mcnemar_items(0.2, 0.1), mcnemar_items(0.2, 0.15), mcnemar_items(0.25, 0.2)
    (234, 1097, 1411)
    """
    if min(only_first, only_second) < 0 or only_first + only_second > 1:
        raise ValueError("`only_first` and `only_second` must be shares that add up to at most 1.")
    apart, both = only_first - only_second, only_first + only_second
    if apart == 0:
        return None
    z, z_power = _quantile(1 - level / 2), _quantile(power)
    root: float = z * both**0.5 + z_power * (both - apart**2) ** 0.5
    return math.ceil((root / apart) ** 2)


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
    _check_share("discordant", discordant)
    _check_share("margin", margin)
    z = _quantile(1 - level) + _quantile((1 + power) / 2)
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
    _check_share("alpha", alpha)
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


def _quantile(share: float) -> float:
    check_level(share)
    return float(special.ndtri(share))


def _check_share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"`{name}` must lie in (0, 1), got {value}.")


FLOOR = 0.1  # share of an equal draw's probability


def error_spread(right: npt.ArrayLike) -> FloatArray:
    r"""Standard deviation of being right, :math:`\sqrt{c(1-c)}`, with probability c.

    Parameters
    ----------
    right : array_like of float, shape (n_items,)
        Probability that a judge is right, 0 to 1.

    Returns
    -------
    ndarray of float, shape (n_items,)
        The largest, 1/2, for items without a probability (NaN).

    Examples
    --------
    >>> error_spread([0.5, 0.9, 1.0, np.nan]).round(3).tolist()
    [0.5, 0.3, 0.0, 0.5]
    """
    c = np.clip(np.asarray(right, dtype=np.float64), 0, 1)
    return np.where(np.isnan(c), 0.5, np.sqrt(c * (1 - c)))


def draw_probabilities(spread: npt.ArrayLike, size: int, *, floor: float = FLOOR) -> FloatArray:
    """Probabilities of items in proportion to their `spread`, which add up to `size`.

    Parameters
    ----------
    spread : array_like of float, shape (n_items,)
        0 or more.
    size : int
        Items to draw, from 1 to all of them.
    floor : float, default 0.1
        Every item has at least this share of an equal draw's probability.

    Returns
    -------
    ndarray of float, shape (n_items,)
        At most 1; any excess goes to the other items.

    Examples
    --------
    >>> draw_probabilities([0.5, 0.25, 0.25, 0.0], 2).round(3).tolist()
    [0.975, 0.488, 0.488, 0.05]
    """
    values = np.asarray(spread, dtype=np.float64)
    n = values.size
    if not 1 <= size <= n:
        raise ValueError(f"`size` must be in 1..{n}, got {size}.")
    if (values < 0).any() or np.isnan(values).any():
        raise ValueError("`spread` must be 0 or more.")
    if not 0 < floor <= 1:
        raise ValueError(f"`floor` must lie in (0, 1], got {floor}.")
    if values.sum() <= 0:
        values = np.ones(n)
    least = floor * size / n
    found = np.full(n, least)
    fixed = np.zeros(n, dtype=np.bool_)
    # An item at the floor or at 1 is fixed; the others share what is left, until none is beyond.
    for _ in range(2 * n + 1):
        left = size - found[fixed].sum()
        free = ~fixed
        if not free.any():
            break
        scale = left / max(values[free].sum(), 1e-300)
        tried = values * scale
        over, under = free & (tried > 1), free & (tried < least)
        if not (over.any() or under.any()):
            found[free] = tried[free]
            break
        # The larger of the two excesses decides which bound is met first.
        beyond = (tried[over] - 1).sum() - (least - tried[under]).sum()
        chosen = over if beyond >= 0 else under
        found[chosen] = 1.0 if beyond >= 0 else least
        fixed |= chosen
    return np.asarray(np.clip(found, least, 1.0), dtype=np.float64)


def draw_items(probabilities: npt.ArrayLike, *, rng: np.random.Generator) -> BoolArray:
    """Draw items so that each has exactly its probability; their number is the probabilities' sum.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_items,)
        As from `draw_probabilities`.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of bool, shape (n_items,)
        Which items are drawn.

    Notes
    -----
    Systematic sampling from a random order.

    Examples
    --------
    >>> drawn = draw_items([0.5] * 6 + [1.0], rng=np.random.default_rng(1))
    >>> int(drawn.sum()), bool(drawn[-1])
    (4, True)
    """
    chances = np.asarray(probabilities, dtype=np.float64)
    order = rng.permutation(chances.size)
    reached = np.cumsum(chances[order])
    total = round(float(reached[-1]))
    ticks = rng.random() + np.arange(total)
    # The sum may be off by rounding.
    at = np.minimum(np.searchsorted(reached, ticks, side="right"), chances.size - 1)
    drawn = np.zeros(chances.size, dtype=np.bool_)
    drawn[order[at]] = True
    return drawn


def fewest_items(max_error: float, delta: float = 0.1) -> int:
    r"""Return the smallest number of accepted answers, all right, that can be certified.

    Parameters
    ----------
    max_error : float
        Largest share of errors to allow, in (0, 1).
    delta : float, default 0.1
        Probability with which the certificate may be wrong, in (0, 1).

    Returns
    -------
    int
        Number of answers.

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    :math:`\lceil\ln\delta/\ln(1-\alpha)\rceil`, the smallest :math:`n` with
    :math:`(1-\alpha)^n\le\delta`.

    Examples
    --------
    >>> fewest_items(0.2), fewest_items(0.05, 0.05)
    (11, 59)
    """
    _check_share("max_error", max_error)
    _check_share("delta", delta)
    return math.ceil(math.log(delta) / math.log1p(-max_error))
