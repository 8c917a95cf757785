"""Whether a judge gives higher or lower labels than people on the same items."""

import math
from dataclasses import replace

import numpy as np

from ..core.results import FloatArray, IntArray, t_quantile
from ..core.shared_variance import ANNOTATOR, Sharing
from .general_difference import GeneralDifference, general_difference, interval_of, t_tail


def level_shift(
    judge: FloatArray, item: IntArray, person: IntArray, label: FloatArray, sharing: Sharing
) -> GeneralDifference:
    """A judge's labels minus the mean of people's, over the items that both labelled.

    Labels are shares of the scale; NaN is missing. `judge` has one for each item; `item`, `person`
    and `label` describe people's labels. People lean more to one end of a scale than they differ in
    what they prefer, so the test and the interval are those over items and clusters or those over
    people, whichever is wider.
    """
    known = ~np.isnan(judge[item]) & ~np.isnan(label)
    item, person, label = item[known], person[known], label[known]
    counts = np.bincount(item, minlength=sharing.n)
    people = np.bincount(item, label, minlength=sharing.n) / np.maximum(counts, 1)
    overall = general_difference(np.where(counts > 0, judge - people, np.nan), sharing)
    n_people = np.unique(person).size
    if overall.p is None or ANNOTATOR not in sharing.kinds or n_people < 2:
        return overall
    # Each item counts once, shared by the people who labelled it.
    weight = 1 / counts[item]
    rest = np.bincount(person, weight * (judge[item] - label - (overall.value or 0.0)))
    se = math.sqrt(n_people / (n_people - 1) * float((rest**2).sum())) / overall.n
    df = n_people - 1
    if not se:
        return overall
    p = min(1.0, 2 * t_tail(df, abs(overall.value or 0.0) / se))
    if p <= overall.p:
        return overall
    value, wide = overall.value or 0.0, t_quantile(df, 0.975) * se
    ends = max(value - wide, -1.0), min(value + wide, 1.0)
    interval = interval_of(*ends, 0.95, "t over people", sharing)
    return replace(overall, p=p, se=se, df=df, interval=interval)
