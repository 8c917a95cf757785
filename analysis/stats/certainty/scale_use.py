"""Use of the certainty scale by people and models."""

import numpy as np
from scipy import stats

from analysis.stats.core.checks import check_level
from analysis.stats.core.count_rows import ratio
from analysis.stats.core.results import Estimate, FloatArray, Interval
from analysis.stats.core.votes import Votes


def certainty_icc(votes: Votes, *, centred: bool = False, level: float = 0.95) -> Estimate:
    r"""Share of the variance of certainty that is between items: ICC(1,1).

    Parameters
    ----------
    votes : Votes
        Choices with certainties of people, or of runs of a judge; missing ones are left out.
    centred : bool, default False
        Subtract each annotator's mean certainty first, so that it does not matter who is
        generally certain; see `centred_certainty`.
    level : float, default 0.95

    Returns
    -------
    Estimate
        At most 1; negative if answers to one item differ more than answers to different
        items. Undefined below two items with two certainties (``"too_few_items"``) and if all
        are equal (``"no_variation"``). The interval is exact for normal certainties and equally
        many per item, and has a note if their number differs.

    Notes
    -----
    One-way analysis of variance: :math:`\frac{MSB-MSW}{MSB+(k_0-1)MSW}` with
    :math:`k_0=\frac{1}{n-1}\left(N-\frac{\sum m_i^2}{N}\right)`, the number of certainties per item
    if that is constant. The interval turns the F quantiles of :math:`MSB/MSW` into limits.
    The one-way model is meant for different annotators on different items, so blocks of
    annotators need no other model.

    References
    ----------
    .. [1] P. E. Shrout and J. L. Fleiss, "Intraclass Correlations: Uses in Assessing Rater
       Reliability", Psychological Bulletin 86(2), 1979.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0], [0, 1], [1, 1]], [[90, 80], [20, 30], [60, 55]])
    >>> round(certainty_icc(votes).value, 4)
    0.9593
    """
    check_level(level)
    values = centred_certainty(votes) if centred else votes.certainty
    given = ~np.isnan(values)
    item, value = votes.item[given], values[given]
    m = np.bincount(item, minlength=votes.n_items)
    paired = m >= 2
    n_items = int(paired.sum())
    if n_items < 2:
        return Estimate(None, "too_few_items")
    item, value, m = item[paired[item]], value[paired[item]], m[paired]
    codes = np.cumsum(paired) - 1
    means = np.bincount(codes[item], value) / m
    n = value.size
    between = float(m @ (means - value.mean()) ** 2) / (n_items - 1)
    within = float(((value - means[codes[item]]) ** 2).sum()) / (n - n_items)
    if between + within < 1e-12:
        return Estimate(None, "no_variation")
    k = (n - float(m @ m) / n) / (n_items - 1)
    icc = (between - within) / (between + (k - 1) * within)
    if min(between, within) < 1e-12:
        return Estimate(icc, interval_reason="no_variation")
    f = stats.f(n_items - 1, n - n_items)
    low_f, high_f = (between / within / float(f.ppf(q)) for q in ((1 + level) / 2, (1 - level) / 2))
    interval = Interval(
        (low_f - 1) / (low_f + k - 1),
        (high_f - 1) / (high_f + k - 1),
        level,
        "analysis of variance F",
        n_items,
        int(np.unique(votes.annotator[given]).size),
        note="approximate: items have different numbers of certainties" if np.ptp(m) else None,
    )
    return Estimate(icc, interval=interval)


def centred_certainty(votes: Votes) -> FloatArray:
    """Certainty minus the mean certainty of the same annotator, shape (n,); NaN where missing.

    The rest says on which items a person is more certain than usual, whatever part of the scale
    they use.

    Parameters
    ----------
    votes : Votes
        Choices with certainties.

    Returns
    -------
    ndarray of float, shape (n,)
        In points of certainty, one per vote; NaN without a certainty.

    Examples
    --------
    >>> centred_certainty(Votes.from_matrix([[0, 0], [1, 1]], [[90, 40], [70, 60]])).tolist()
    [10.0, -10.0, -10.0, 10.0]
    """
    given = ~np.isnan(votes.certainty)
    sums = np.bincount(votes.annotator[given], votes.certainty[given], minlength=votes.n_annotators)
    n = np.bincount(votes.annotator[given], minlength=votes.n_annotators)
    means = ratio(sums.astype(np.float64), n.astype(np.float64))
    return np.asarray(votes.certainty - means[votes.annotator])
