"""Validation of certainty: intervals, and corrections and thresholds measured on other items."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Dataset
from analysis.data.verdicts import Floats, Ints
from analysis.report.encode import Json, cell, estimate, number, put
from analysis.report.rules import FOLDS, TARGET
from analysis.report.section import Report, Section
from analysis.report.sections.certainty.sides import Stated, certain_sides, on_every_side
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.text.thresholds import chosen
from analysis.stats.certainty.held_out import held_out_threshold
from analysis.stats.certainty.intervals import certainty_quality
from analysis.stats.certainty.recalibration import folds_by_key, recalibrate


def item_folds(data: Dataset) -> Ints:
    """Fold of each item for corrections, by a hash of its key."""
    return folds_by_key([item.key for item in data.items], FOLDS)


def held_out_items(data: Dataset) -> npt.NDArray[np.bool_]:
    """Items that choose no threshold: about half of the personas, or of one persona's items."""
    keys = [item.persona or item.key for item in data.items]
    if len(set(keys)) == 1:
        keys = [item.key for item in data.items]
    return np.asarray(folds_by_key(keys, 2) == 1, dtype=np.bool_)


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


def recalibration(report: Report) -> Table:
    rows = []
    for who, side in certain_sides(report):
        found, measures = side["certainty"]["recalibration"], side["certainty"]["measures"]
        rows.append(
            [who, found["n"]]
            + [found[key] for key in ("raw", "isotonic", "logistic", "base_rate")]
            # Without variation, resamples are all alike, which is not certainty.
            + [measures["skill"]["ci"] if found["raw"] is not None else None]
            + [measures["auroc"]["value"], measures["auroc"]["ci"]]
        )
    columns = (
        TableColumn("Who"),
        TableColumn("n", "count"),
        TableColumn("as stated", "decimal", "Brier score"),
        TableColumn("isotonic", "decimal", "Brier score"),
        TableColumn("logistic", "decimal", "Brier score"),
        TableColumn("a constant", "decimal", "Brier score"),
        TableColumn("Constant less stated, 95 %", "range"),
        TableColumn("AUROC", "decimal"),
        TableColumn("95 % interval", "range"),
    )
    return Table(
        "recalibration",
        "What certainty is worth, as stated and corrected",
        columns,
        rows,
        "Lower Brier scores are better. Corrections are fitted on four fifths of the items and "
        "measured on the rest; the constant is the share of right answers there. A stated "
        "certainty above the constant is worth less than saying the same number every time. "
        "Intervals resample items.",
    )


def threshold_rules(report: Report) -> Table:
    rows = []
    for who, side in certain_sides(report):
        rules, held = side["certainty"]["rules"], side["certainty"]["held_out"]
        rows.append(
            [
                who,
                rules["at"],
                rules["at_least"],
                rules["above"],
                held["threshold"],
                held["chosen_on"],
                held["measured_on"],
                held["coverage"],
            ]
        )
    tau = report["parameters"]["threshold"]
    columns = (
        TableColumn("Who"),
        TableColumn(f"Exactly {tau}", "count"),
        TableColumn(f"≥ {tau}", "share"),
        TableColumn(f"> {tau}", "share"),
        TableColumn("Threshold", "number", "Chosen on half, measured on the other"),
        TableColumn("choosing half", "share", "Chosen on half, measured on the other"),
        TableColumn("other half", "share", "Chosen on half, measured on the other"),
        TableColumn("Coverage", "percent", "Chosen on half, measured on the other"),
    )
    return Table(
        "threshold_rules",
        f"The threshold {tau} ({chosen(report)}), both ways to read it, and one that saw half",
        columns,
        rows,
        "The lowest certainty that reaches 80 % on one half of the personas, with at least 30 "
        "answers; what it gives on the other half is the only honest one of the two.",
    )


class Validation(Section):
    """Measures with intervals, and corrections and thresholds measured on other items."""

    name = "validation"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        folds, held_out = item_folds(study.data), held_out_items(study.data)

        def checks(side: Stated) -> Json:
            certainty, correct = side.certainty, side.correct
            return {
                "certainty": {
                    "measures": _measures(
                        certainty, correct, side.item, seed=study.seed, draws=study.draws
                    ),
                    "recalibration": _recalibration(certainty, correct, folds[side.item]),
                    "held_out": _held_out(certainty, correct, held_out[side.item]),
                }
            }

        return on_every_side(study, checks)

    def tables(self, report: Report) -> Iterator[Table]:
        yield threshold_rules(report)
        yield recalibration(report)
