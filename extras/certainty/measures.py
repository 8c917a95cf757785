"""Measures with intervals, corrections on other items, other certainties, and use of the scale."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Dataset, Floats, RunData
from analysis.data.verdicts import Ints, Verdicts, agreement_certainty, probability_certainty
from analysis.report.report_json import Json, cell, estimate, number, put
from analysis.report.rules import FOLDS, TARGET
from analysis.report.section import Analysis, ReportJson, Section
from analysis.report.sections.certainty.calibration import calibration
from analysis.report.sections.certainty.distribution import Stated, certain_sides, on_every_side
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn, table_of_entries, without_interval
from analysis.report.words import chosen
from analysis.stats.certainty.calibration import discrimination
from analysis.stats.core.votes import Votes
from extras.certainty.stats import (
    centred_certainty,
    certainty_icc,
    certainty_quality,
    folds_by_key,
    held_out_threshold,
    recalibrate,
)


def item_folds(data: Dataset) -> Ints:
    """Fold of each item for corrections, by a hash of its key."""
    return folds_by_key([item.key for item in data.items], FOLDS)


def held_out_items(data: Dataset) -> npt.NDArray[np.bool_]:
    """Items held out when choosing a threshold: about half of the personas, or of one's items."""
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


def recalibration(report: ReportJson) -> Table:
    sides = [(who, side["certainty"]) for who, side in certain_sides(report)]
    # Without variation all resamples are equal, which does not mean certainty.
    nothing = {"ci": None}
    return table_of_entries(
        "recalibration",
        "Value of certainty, as stated and corrected",
        [
            (who, {**side, "skill": nothing if side["recalibration"]["raw"] is None else skill})
            for who, side in sides
            if (skill := side["measures"]["skill"])
        ],
        [
            ("n", "count", "recalibration.n"),
            ("as stated", "decimal", "recalibration.raw", "Brier score"),
            ("isotonic", "decimal", "recalibration.isotonic", "Brier score"),
            ("logistic", "decimal", "recalibration.logistic", "Brier score"),
            ("a constant", "decimal", "recalibration.base_rate", "Brier score"),
            ("Constant minus stated, 95 %", "range", "skill.ci"),
            ("AUROC", "decimal", "measures.auroc.value"),
            ("95 % interval", "range", "measures.auroc.ci"),
        ],
        "Lower Brier scores are better. Corrections are fitted on four fifths of the items and "
        "measured on the rest; the constant is the share of right answers there. If the score as "
        "stated is above the constant's, always stating the same number would be better. "
        "Intervals resample items.",
        first="Who",
    )


def threshold_rules(report: ReportJson) -> Table:
    tau, half = report["parameters"]["threshold"], "Chosen on half, measured on the other"
    return table_of_entries(
        "threshold_rules",
        f"The threshold {tau} ({chosen(report)}), read both ways, and one chosen on half of the "
        "items",
        [
            (who, {**side["certainty"], "at_least": without_interval(rules["at_least"])})
            for who, side in certain_sides(report)
            if (rules := side["certainty"]["rules"])
        ],
        [
            (f"Exactly {tau}", "count", "rules.at"),
            (f"≥ {tau}", "share", "at_least"),
            (f"> {tau}", "share", "rules.above"),
            ("Threshold", "number", "held_out.threshold", half),
            ("choosing half", "share", "held_out.chosen_on", half),
            ("other half", "share", "held_out.measured_on", half),
            ("Coverage", "percent", "held_out.coverage", half),
        ],
        "The lowest certainty that reaches 80 % on one half of the personas, with at least 30 "
        "answers. Only its accuracy on the other half is unbiased.",
        first="Who",
    )


class Validation(Section):
    """Measures with intervals, and corrections and thresholds tested on other items."""

    name = "validation"
    shows = ("threshold_rules", "recalibration")
    keys = """
held_out | object | A threshold chosen on one half of the items and measured on the other.
chosen_on | object | Accuracy on the half on which the threshold was chosen.
measured_on | object | Accuracy on the other half.
n_choosing | count | Answers of the half for choosing.
n_held_out | count | Answers of the half for measuring.
recalibration | object | Calibration error after recalibration, cross-validated.
folds | count | Parts of the cross-validation.
recalibration.raw | number | Calibration error as stated.
isotonic | number | Calibration error after isotonic regression.
logistic | number | Calibration error after logistic regression.
measures | object | Calibration measures with intervals.
squared_error | object | Square of the calibration error, without its bias upwards.
skill | object | Brier score compared with always stating the share of right answers.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
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

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield threshold_rules(report)
        yield recalibration(report)


def _other_certainties(data: Dataset, run: RunData, verdicts: Verdicts) -> Json:
    """Measure two certainties that the model did not state in words."""
    return {
        "probabilities": calibration(probability_certainty(data, run, verdicts), verdicts.correct),
        "agreement": calibration(agreement_certainty(verdicts), verdicts.correct),
    }


class OtherCertainties(Section):
    """Calibration of the probability of an answer, and of the agreement of a run's readings."""

    name = "other_certainties"
    analyses = (Analysis("calibration", paths=("judges.*.other_certainties",)),)
    keys = """
other_certainties | object | Certainty from other sources than the stated number.
probabilities | object | Certainty from the probabilities of the answer.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        runs = zip(study.data.runs, study.judges, strict=True)
        return {
            "judges": [
                {"other_certainties": _other_certainties(study.data, run, verdicts)}
                for run, verdicts in runs
            ]
        }


def scale_use(votes: Votes, correct: Ints) -> Json:
    """Measure how much certainty depends on the item, with and without annotators' levels."""
    centred = centred_certainty(votes)
    out: Json = {
        "icc": estimate(certainty_icc(votes)),
        "icc_centred": estimate(certainty_icc(votes, centred=True)),
    }
    # Only the order affects the area, so differences of -100 to 100 can be rescaled.
    for key, values in (("auroc", votes.certainty), ("auroc_centred", 50 + centred / 2)):
        found = discrimination(values, correct)
        put(out, key, number(found.auroc), found.reason)
    return out


def scale_use_table(report: ReportJson) -> Table:
    found = report["human"]["scale_use"]
    rows = [
        ["As stated", found["icc"]["value"], found["icc"]["ci"], found["auroc"]],
        [
            "Minus each person's mean",
            found["icc_centred"]["value"],
            found["icc_centred"]["ci"],
            found["auroc_centred"],
        ],
    ]
    columns = (
        TableColumn("People's certainty"),
        TableColumn("ICC(1,1)", "decimal"),
        TableColumn("95 % interval", "range"),
        TableColumn("AUROC", "decimal"),
    )
    return Table(
        "scale_use",
        "How people use the scale",
        columns,
        rows if any(row[1] is not None for row in rows) else [],
        "ICC: the share of the variance of certainty that is between items, not between the "
        "people who answered them.",
    )


class ScaleUse(Section):
    """The share of the variance of certainty that is between items."""

    name = "scale_use"
    shows = ("scale_use",)
    keys = """
scale_use | object | How annotators differ in their use of the certainty scale.
icc | object | Share of the variance of certainty that lies between annotators.
icc_centred | object | Share between items after each annotator's mean is subtracted.
auroc_centred | number | The same after subtracting each annotator's mean certainty.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"human": {"scale_use": scale_use(study.votes, study.correct_alone)}}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield scale_use_table(report)


VALIDATION = Validation()
OTHER_CERTAINTIES = OtherCertainties()
SCALE_USE = ScaleUse()
