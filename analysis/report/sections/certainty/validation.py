"""Certainty held to account: with intervals, corrected out of sample, a threshold on other items.

Everything is about one side's answers, said the same way for people and for judges.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Dataset
from analysis.data.verdicts import Floats, Ints
from analysis.report.encode import Json, cell, estimate, number, put
from analysis.stats.certainty.calibration import discrimination
from analysis.stats.certainty.held_out import held_out_threshold
from analysis.stats.certainty.intervals import certainty_quality
from analysis.stats.certainty.recalibration import folds_by_key, recalibrate
from analysis.stats.certainty.scale_use import centred_certainty, certainty_icc
from analysis.stats.core.votes import Votes

FOLDS = 5
# Accuracy that the held-out threshold has to reach on the half that chooses it.
TARGET = 0.8


def item_folds(data: Dataset) -> Ints:
    """Fold of each item for corrections, by a hash of its key."""
    return folds_by_key([item.key for item in data.items], FOLDS)


def held_out_items(data: Dataset) -> npt.NDArray[np.bool_]:
    """Items that choose no threshold: about half of the personas, or of the items of one."""
    personas = [item.persona for item in data.items]
    keys = personas if len(set(personas)) > 1 else [item.key for item in data.items]
    return np.asarray(folds_by_key(keys, 2) == 1, dtype=np.bool_)


def checks(
    certainty: Floats,
    correct: Ints,
    item: Ints,
    *,
    folds: Ints,
    held_out: npt.NDArray[np.bool_],
    seed: int,
    draws: int,
) -> Json:
    """One entry of `certainty`, `correct` and `item` per answer; folds and halves by item."""
    return {
        "measures": _measures(certainty, correct, item, seed=seed, draws=draws),
        "recalibration": _recalibration(certainty, correct, folds[item]),
        "held_out": _held_out(certainty, correct, held_out[item]),
    }


def scale_use(votes: Votes, correct: Ints) -> Json:
    """How far certainty belongs to the item, and what a person's own level hides."""
    centred = centred_certainty(votes)
    out: Json = {
        "icc": estimate(certainty_icc(votes)),
        "icc_centred": estimate(certainty_icc(votes, centred=True)),
    }
    # Only the order counts for the area, so differences of -100 to 100 may be put on the scale.
    for key, values in (("auroc", votes.certainty), ("auroc_centred", 50 + centred / 2)):
        found = discrimination(values, correct)
        put(out, key, number(found.auroc), found.reason)
    return out


def _measures(certainty: Floats, correct: Ints, item: Ints, *, seed: int, draws: int) -> Json:
    found = certainty_quality(
        certainty, correct, item, rng=np.random.default_rng(seed), n_draws=draws
    )
    names: Sequence[str] = ("ece", "squared_error", "brier", "skill", "auroc")
    return {"n": found.n, "few": found.few} | {
        name: estimate(getattr(found, name)) for name in names
    }


def _recalibration(certainty: Floats, correct: Ints, folds: Ints) -> Json:
    """Brier scores as stated, corrected on other items, and of a constant."""
    isotonic = recalibrate(certainty, correct, folds, method="isotonic")
    logistic = recalibrate(certainty, correct, folds, method="logistic")
    out: Json = {"n": isotonic.n, "folds": FOLDS}
    put(out, "raw", number(isotonic.raw), isotonic.reason)
    put(out, "isotonic", number(isotonic.recalibrated), isotonic.reason)
    put(out, "logistic", number(logistic.recalibrated), logistic.reason)
    put(out, "base_rate", number(isotonic.base_rate), isotonic.reason)
    return out


def _held_out(certainty: Floats, correct: Ints, held_out: npt.NDArray[np.bool_]) -> Json:
    found = held_out_threshold(certainty, correct, held_out, target=TARGET)
    out: Json = {"target": TARGET}
    put(out, "threshold", number(found.threshold), found.reason)
    put(out, "coverage", number(found.coverage), found.reason)
    out |= {"n_choosing": found.n_choosing, "n_held_out": found.n_held_out}
    return out | {"chosen_on": cell(found.chosen_on), "measured_on": cell(found.measured_on)}
