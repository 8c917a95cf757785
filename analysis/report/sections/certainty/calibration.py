"""Calibration and discrimination of certainty, stated or from other sources."""

from collections.abc import Iterator

from analysis.data.arrays import Floats
from analysis.data.verdicts import Ints
from analysis.report.report_json import Json, cell, pick, put
from analysis.report.section import Analysis, ReportJson, Section
from analysis.report.sections.certainty.distribution import (
    certain_sides,
    on_every_side,
)
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries
from analysis.stats.certainty.calibration import (
    Binning,
    brier_score,
    calibration_error,
    discrimination,
)
from analysis.stats.certainty.risk_coverage import check_threshold, risk_coverage

# Equal numbers of answers per bin, and one bin per value, because few values are common.
OTHER_BINNINGS: tuple[Binning, ...] = ("mass", "distinct")


def calibration(certainty: Floats, correct: Ints) -> Json:
    """The summary numbers of every report, with details."""
    plain = calibration_error(certainty, correct)
    half = calibration_error(certainty, correct, scale="half")
    others = {
        f"ece_{binning}": calibration_error(certainty, correct, binning=binning)
        for binning in OTHER_BINNINGS
    }
    brier = brier_score(certainty, correct)
    area = discrimination(certainty, correct)
    out = pick(plain, "ece mce")
    out |= pick(brier, {"brier": "value"})
    out |= pick(area, "auroc")
    out |= pick(risk_coverage(certainty, correct), "aurc e_aurc")
    out["n"] = plain.n
    gap = sum(bar.n * (bar.confidence - bar.accuracy) for bar in plain.bins)
    put(out, "gap", gap / plain.n if plain.n else None, plain.reason)
    put(out, "ece_half_scale", half.ece, half.reason)
    for key, error in others.items():
        put(out, key, error.ece, error.reason)
    half_brier = brier_score(certainty, correct, scale="half")
    put(out, "brier_half_scale", half_brier.value, half_brier.reason)
    precision = ("auprc_correct", "auprc_error")
    out |= pick(area, {key: key for key in precision})
    put(out, "base_rate", area.base_rate, area.reason)
    out |= {"right": area.n_right, "wrong": area.n_wrong}
    parts = ("reliability", "resolution", "uncertainty")
    out["brier_parts"] = pick(brier, {part: part for part in parts})
    return out


def both_rules(certainty: Floats, correct: Ints, threshold: float) -> Json:
    """High certainty as "at least" (ours) and as "above", and the answers exactly at it."""
    check = check_threshold(certainty, correct, threshold)
    return {"at": check.n_at, "at_least": cell(check.at_least), "above": cell(check.above)}


def certainty_table(report: ReportJson) -> Table:
    return table_of_entries(
        "certainty",
        "Use and value of certainty",
        certain_sides(report),
        [
            ("n", "count", "certainty.summary.n"),
            ("Mean", "number", "certainty.summary.mean"),
            ("SD", "number", "certainty.summary.sd"),
            ("Distinct values", "count", "certainty.summary.distinct"),
            ("Exactly at the threshold", "count", "certainty.rules.at"),
            ("Multiples of 5", "percent", "certainty.summary.multiples_of_5"),
            ("ECE", "decimal", "calibration.ece"),
            ("Brier", "decimal", "calibration.brier"),
            ("AUROC", "decimal", "calibration.auroc"),
            ("AURC", "decimal", "calibration.aurc"),
        ],
        "Certainty is read as a probability of certainty / 100. ECE: ten bins of equal width. "
        "Lower is better for ECE, Brier and AURC; AUROC .5 means that certainty says nothing.",
        first="Who",
    )


def measures(report: ReportJson) -> Table:
    return table_of_entries(
        "certainty_measures",
        "More measures of certainty",
        [(who, side["calibration"]) for who, side in certain_sides(report)],
        [
            ("right", "count", "right", "Answers"),
            ("wrong", "count", "wrong", "Answers"),
            ("ten bins", "decimal", "ece", "ECE"),
            ("equal numbers", "decimal", "ece_mass", "ECE"),
            ("by value", "decimal", "ece_distinct", "ECE"),
            ("0 as a coin flip", "decimal", "ece_half_scale", "ECE"),
            ("largest gap", "decimal", "mce", "ECE"),
            ("reliability", "decimal", "brier_parts.reliability", "Brier score ="),
            ("− resolution", "decimal", "brier_parts.resolution", "Brier score ="),
            ("+ uncertainty", "decimal", "brier_parts.uncertainty", "Brier score ="),
            ("right", "decimal", "auprc_correct", "AUPRC"),
            ("wrong", "decimal", "auprc_error", "AUPRC"),
            ("Share right", "decimal", "base_rate"),
            ("E-AURC", "decimal", "e_aurc"),
        ],
        "Few values of certainty occur, so ECE by value has one bin for each. Read as a coin "
        "flip, certainty 0 means one half. Compare AUPRC with the share right (for right "
        "answers) or one minus that (for wrong ones). E-AURC is the excess over the best order "
        "of the same answers.",
        first="Who",
    )


class CalibrationSection(Section):
    """Calibration of every side."""

    name = "calibration"
    analyses = (
        Analysis(
            "calibration",
            tables=(
                "certainty",
                "certainty_histogram",
                "bands",
                "certainty_measures",
            ),
            paths=(
                "human.majority.calibration",
                "human.majority.certainty",
                "human.individual.calibration",
                "human.individual.certainty",
                "judges.*.calibration",
                "judges.*.certainty",
            ),
            main=("human.majority.calibration.ece", "judges.*.calibration.ece"),
            uses=("threshold", "resamples"),
        ),
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return on_every_side(
            study,
            lambda side: {
                "calibration": calibration(side.certainty, side.correct),
                "certainty": {"rules": both_rules(side.certainty, side.correct, study.threshold)},
            },
        )

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield certainty_table(report)
        yield measures(report)
