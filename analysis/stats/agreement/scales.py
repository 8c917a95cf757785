"""Agreement on a scale of more than two steps: weighted kappa, intraclass correlations, classes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.results import Estimate, FloatArray, Reason
from .coefficients import cross_table


def weighted_kappa(one: npt.ArrayLike, other: npt.ArrayLike, agreement: npt.ArrayLike) -> Estimate:
    r"""Cohen's kappa of two sources of answers whose options agree in part.

    Parameters
    ----------
    one, other : array_like of int, shape (n_items,)
        Option of each source; -1 is missing. Items that miss one are left out.
    agreement : array_like of float, shape (n_options, n_options)
        How far two options agree, such as `AnswerScale.agreement`; the identity gives Cohen's
        kappa.

    Returns
    -------
    Estimate
        Without an interval. Undefined below two items (``"too_few_items"``), and if both always
        gave the same single answer (``"no_variation"``).

    Notes
    -----
    :math:`(p_o-p_e)/(1-p_e)` with :math:`p_o=\sum_{cd}W_{cd}p_{cd}` and
    :math:`p_e=\sum_{cd}W_{cd}p_{c\cdot}p_{\cdot d}`.

    References
    ----------
    .. [1] J. Cohen, "Weighted Kappa", Psychological Bulletin 70(4), 1968.

    Examples
    --------
    >>> weights = [[1, 0.75, 0], [0.75, 1, 0.75], [0, 0.75, 1]]
    >>> round(weighted_kappa([0, 1, 2, 2], [0, 1, 1, 2], weights).value, 3)
    0.8
    """
    weights = np.asarray(agreement, dtype=np.float64)
    table = cross_table(one, other, len(weights))
    n = int(table.sum())
    if n < 2:
        return Estimate(None, "too_few_items")
    p = table / n
    observed = float((weights * p).sum())
    chance = float(p.sum(axis=1) @ weights @ p.sum(axis=0))
    if chance > 1 - 1e-12:
        return Estimate(None, "no_variation")
    return Estimate((observed - chance) / (1 - chance))


@dataclass(frozen=True)
class IntraclassCorrelation:
    """Reliability of scores, for raters in general.

    Attributes
    ----------
    single, mean : float or None
        ICC(2,1) of one rater, and ICC(2,k) of the mean of all.
    n_items, n_raters : int
    reason : str or None
        Why both are None.
    """

    single: float | None
    mean: float | None
    n_items: int
    n_raters: int
    reason: Reason | None = None


def intraclass_correlation(scores: npt.ArrayLike) -> IntraclassCorrelation:
    r"""ICC(2,1) and ICC(2,k) for absolute agreement: two-way random effects, no interaction.

    Parameters
    ----------
    scores : array_like of float, shape (n_items, n_raters)
        NaN is missing. Items that miss a score are left out.

    Returns
    -------
    IntraclassCorrelation
        Undefined below two complete items or two raters (``"too_few_items"``), and if all scores
        are equal (``"no_variation"``).

    Notes
    -----
    With the mean squares of items, raters and the rest,
    :math:`\frac{M_i-M_e}{M_i+(k-1)M_e+k(M_r-M_e)/n}` and
    :math:`\frac{M_i-M_e}{M_i+(M_r-M_e)/n}`.

    References
    ----------
    .. [1] P. E. Shrout and J. L. Fleiss, "Intraclass Correlations: Uses in Assessing Rater
       Reliability", Psychological Bulletin 86(2), 1979. Their example is the one below.

    Examples
    --------
    >>> table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9]]
    >>> table.append([6, 2, 4, 7])
    >>> found = intraclass_correlation(table)
    >>> round(found.single, 2), round(found.mean, 2)
    (0.29, 0.62)
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"`scores` must be a matrix, got shape {table.shape}.")
    table = table[~np.isnan(table).any(axis=1)]
    n, k = table.shape
    if n < 2 or k < 2:
        return IntraclassCorrelation(None, None, n, k, "too_few_items")
    centred = table - table.mean()
    of_items, of_raters = centred.mean(axis=1), centred.mean(axis=0)
    rest = centred - of_items[:, None] - of_raters
    items = k * float((of_items**2).sum()) / (n - 1)
    raters = n * float((of_raters**2).sum()) / (k - 1)
    error = float((rest**2).sum()) / ((n - 1) * (k - 1))
    whole = items + (k - 1) * error + k * (raters - error) / n
    mean = items + (raters - error) / n
    if min(whole, mean) < 1e-12:
        return IntraclassCorrelation(None, None, n, k, "no_variation")
    return IntraclassCorrelation((items - error) / whole, (items - error) / mean, n, k)


@dataclass(frozen=True)
class ClassAgreement:
    """How a judge does on one class. None: nobody gave it, so the share is undefined.

    Attributes
    ----------
    prevalence : float
        Share of the reference labels.
    given : float
        Share of the judge's labels.
    recall, precision, f1 : float or None
    n : int
        Reference labels of the class.
    """

    prevalence: float
    given: float
    recall: float | None
    precision: float | None
    f1: float | None
    n: int


def class_agreement(
    reference: npt.ArrayLike, judge: npt.ArrayLike, *, n_options: int
) -> list[ClassAgreement]:
    """Recall, precision and F1 of every class, against one reference label for each item.

    Parameters
    ----------
    reference, judge : array_like of int, shape (n_items,)
        Option of each; -1 is missing. Items that miss one are left out.
    n_options : int

    Returns
    -------
    list of ClassAgreement
        One per option, in order; empty without items.

    Examples
    --------
    >>> first, *_ = class_agreement([0, 0, 1, 2], [0, 1, 1, 2], n_options=3)
    >>> first.recall, first.precision, round(first.f1, 2)
    (0.5, 1.0, 0.67)
    """
    table: FloatArray = cross_table(reference, judge, n_options).astype(np.float64)
    n = int(table.sum())
    if not n:
        return []
    classes = []
    for hit, wanted, chosen in zip(
        np.diag(table).tolist(), table.sum(axis=1).tolist(), table.sum(axis=0).tolist(), strict=True
    ):
        classes.append(
            ClassAgreement(
                prevalence=wanted / n,
                given=chosen / n,
                recall=hit / wanted if wanted else None,
                precision=hit / chosen if chosen else None,
                f1=2 * hit / (wanted + chosen) if wanted + chosen else None,
                n=int(wanted),
            )
        )
    return classes
