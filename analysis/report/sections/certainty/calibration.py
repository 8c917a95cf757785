"""What every side's certainty is worth, said the same way for people and for judges."""

from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.report.encode import Json, cell, number, pick, put, put_interval
from analysis.stats.certainty.calibration import (
    Binning,
    brier_score,
    calibration_error,
    discrimination,
)
from analysis.stats.certainty.held_out import unreachable_thresholds
from analysis.stats.certainty.risk_coverage import check_threshold, risk_coverage, threshold_sweep
from analysis.stats.core.proportions import wilson_proportion
from studies.prompts import BANDS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Equally many answers per bin, and a bin per value: few values are said, and said often.
OTHER_BINNINGS: tuple[Binning, ...] = ("mass", "distinct")
# Bins of ten that start at the tens, so that the registered threshold 80 is an edge; 100 lies
# with the nineties.
BIN_STARTS = tuple(range(0, 100, 10))


def calibration(certainty: Floats, correct: Ints) -> Json:
    """The summary numbers of the contract, and what else belongs beside them."""
    plain = calibration_error(certainty, correct)
    half = calibration_error(certainty, correct, scale="half")
    others = {
        f"ece_{binning}": calibration_error(certainty, correct, binning=binning)
        for binning in OTHER_BINNINGS
    }
    brier = brier_score(certainty, correct)
    area = discrimination(certainty, correct)
    out = pick(plain, {"ece": "ece", "mce": "mce"})
    out |= pick(brier, {"brier": "value"})
    out |= pick(area, {"auroc": "auroc"})
    out |= pick(risk_coverage(certainty, correct), {"aurc": "aurc", "e_aurc": "e_aurc"})
    out["n"] = plain.n
    put(out, "ece_half_scale", number(half.ece), half.reason)
    for key, found in others.items():
        put(out, key, number(found.ece), found.reason)
    half_brier = brier_score(certainty, correct, scale="half")
    put(out, "brier_half_scale", number(half_brier.value), half_brier.reason)
    precision = ("auprc_correct", "auprc_error")
    out |= pick(area, {key: key for key in precision})
    put(out, "base_rate", number(area.base_rate), area.reason)
    out |= {"right": area.n_right, "wrong": area.n_wrong}
    parts = ("reliability", "resolution", "uncertainty")
    out["brier_parts"] = pick(brier, {part: part for part in parts})
    return out


def histogram(certainty: Floats, correct: Ints) -> list[Json]:
    """Right and wrong answers by certainty in bins of ten, empty bins included."""
    rows = ~np.isnan(certainty) & (correct >= 0)
    start = np.minimum(np.floor(certainty[rows] / 10).astype(np.int64), len(BIN_STARTS) - 1)
    right = correct[rows]
    bins = []
    for number_, low in enumerate(BIN_STARTS):
        inside = start == number_
        bin_: Json = {
            "from": max(low, 1),
            "to": low + 9 if low < BIN_STARTS[-1] else 100,
            "n": int(inside.sum()),
            "correct": int(right[inside].sum()),
        }
        put(bin_, "accuracy", float(right[inside].mean()) if inside.any() else None)
        bins.append(bin_)
    return bins


def reliability(certainty: Floats, correct: Ints) -> list[Json]:
    """Points of the reliability diagram: equal width, non-empty bins, with Wilson intervals."""
    points = []
    for bar in calibration_error(certainty, correct).bins:
        share = wilson_proportion(np.arange(bar.n) < bar.correct)
        points.append({"from": bar.low, "to": bar.high, "confidence": bar.confidence} | cell(share))
    return points


def by_band(certainty: Floats, correct: Ints) -> list[Json]:
    """Accuracy in each of the five named bands; a fraction belongs to the band above it."""
    rows = ~np.isnan(certainty) & (correct >= 0)
    value, right = certainty[rows], correct[rows]
    out = []
    for band in BANDS:
        inside = (value > band.low - 1) & (value <= band.high)
        facts = {"slug": band.slug, "name": band.name, "from": band.low, "to": band.high}
        out.append(facts | cell(wilson_proportion(right[inside])))
    return out


def sweep(certainty: Floats, correct: Ints, *, seed: int, draws: int) -> list[Json]:
    """Coverage and accuracy at every certainty that occurs, with a band that covers the choice."""
    rng = np.random.default_rng(seed)
    points = []
    for point in threshold_sweep(certainty, correct, n_draws=draws, rng=rng):
        entry: Json = {
            "threshold": point.threshold,
            "at": point.n_at,
            "coverage": point.coverage,
            **cell(point.accuracy),
        }
        put_interval(entry, "band", point.band, "too_few_items")
        points.append(entry)
    return points


def both_rules(certainty: Floats, correct: Ints, threshold: float) -> Json:
    """High certainty read as "at least" (ours) and as "above", and how many lie exactly at it."""
    check = check_threshold(certainty, correct, threshold)
    return {"at": check.n_at, "at_least": cell(check.at_least), "above": cell(check.above)}


def chapter(certainty: Floats, correct: Ints, *, threshold: float, seed: int, draws: int) -> Json:
    """Everything that the certainty chapter shows of one side."""
    return {
        "histogram": histogram(certainty, correct),
        "reliability": reliability(certainty, correct),
        "bands": by_band(certainty, correct),
        "sweep": sweep(certainty, correct, seed=seed, draws=draws),
        "unreachable": list(unreachable_thresholds(certainty, correct)),
        "rules": both_rules(certainty, correct, threshold),
        "distribution": distribution(certainty),
        "summary": summary(certainty),
    }


def distribution(certainty: Floats) -> list[list[float]]:
    """Each certainty that occurs, with the share of answers that are at most as certain."""
    values, counts = np.unique(certainty[~np.isnan(certainty)], return_counts=True)
    shares = np.cumsum(counts) / max(int(counts.sum()), 1)
    return [[float(value), float(share)] for value, share in zip(values, shares, strict=True)]


def summary(certainty: Floats) -> Json:
    """Where the certainties lie."""
    values = certainty[~np.isnan(certainty)]
    out: Json = {"n": int(values.size), "distinct": int(np.unique(values).size)}
    facts: dict[str, Any] = {"mean": None, "sd": None, "median": None, "multiples_of_5": None}
    if values.size:
        facts["mean"] = float(values.mean())
        facts["median"] = float(np.median(values))
        facts["multiples_of_5"] = float(np.mean(values % 5 == 0))
    if values.size > 1:
        facts["sd"] = float(values.std(ddof=1))
    for key, value in facts.items():
        put(out, key, value, "too_few_items" if values.size else "empty_group")
    return out
