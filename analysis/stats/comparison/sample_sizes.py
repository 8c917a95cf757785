"""Sample sizes in closed form.

They treat items as independent. If annotators, personas or questions are shared, multiply
the number of items by the design effect.
"""

import math

from scipy import special

from ..core.results import check_share


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
    check_share("level", level)
    check_share("power", power)
    z, z_power = special.ndtri(1 - level / 2), special.ndtri(power)
    root: float = z * both**0.5 + z_power * (both - apart**2) ** 0.5
    return math.ceil((root / apart) ** 2)


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
    check_share("max_error", max_error)
    check_share("delta", delta)
    return math.ceil(math.log(delta) / math.log1p(-max_error))
