"""A threshold chosen on half of the items, and measured on the other half."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Dataset, Floats
from analysis.data.verdicts import Ints
from analysis.report.report_json import Json, cell, pick
from analysis.report.rules import TARGET
from analysis.report.section import ReportJson, Section
from analysis.report.sections.certainty.distribution import Stated, certain_sides, on_every_side
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries, without_interval
from analysis.report.words import threshold_standing
from extras.certainty.stats import folds_by_key, held_out_threshold


def held_out_items(data: Dataset) -> npt.NDArray[np.bool_]:
    """Items held out when choosing a threshold: about half of the personas, or of one's items."""
    keys = [item.persona or item.key for item in data.items]
    if len(set(keys)) == 1:
        keys = [item.key for item in data.items]
    return np.asarray(folds_by_key(keys, 2) == 1, dtype=np.bool_)


def _held_out(certainty: Floats, correct: Ints, held_out: npt.NDArray[np.bool_]) -> Json:
    choice = held_out_threshold(certainty, correct, held_out, target=TARGET)
    out: Json = {"target": TARGET}
    out |= pick(choice, "threshold coverage")
    out |= {"n_choosing": choice.n_choosing, "n_held_out": choice.n_held_out}
    return out | {"chosen_on": cell(choice.chosen_on), "measured_on": cell(choice.measured_on)}


def threshold_rules(report: ReportJson) -> Table:
    parameters, half = report["parameters"], "Chosen on half, measured on the other"
    tau, is_late = parameters["threshold"], parameters["threshold_chosen"] == "post hoc"
    standing = "post hoc" if is_late else threshold_standing(report)
    return table_of_entries(
        "threshold_rules",
        f"The threshold {tau} ({standing}), read both ways, and one chosen on half of the items",
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


class HeldOut(Section):
    """A threshold chosen on one half of the items and measured on the other."""

    name = "held_out"
    shows = ("threshold_rules",)
    keys = """
held_out | object | A threshold chosen on one half of the items and measured on the other.
chosen_on | object | Accuracy on the half on which the threshold was chosen.
measured_on | object | Accuracy on the other half.
n_choosing | count | Answers of the half for choosing.
n_held_out | count | Answers of the half for measuring.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        held_out = held_out_items(study.data)

        def checked(side: Stated) -> Json:
            return {
                "certainty": {
                    "held_out": _held_out(side.certainty, side.correct, held_out[side.item])
                }
            }

        return on_every_side(study, checked)

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield threshold_rules(report)


HELD_OUT = HeldOut()
