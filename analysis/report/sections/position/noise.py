"""The share of chance in one reading of a run."""

from collections.abc import Iterator

from analysis.data.arrays import RunData
from analysis.data.verdicts import (
    repeated_readings,
)
from analysis.report.encode import Json, number, put, put_estimate, undefined
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries
from analysis.report.text.names import named_entries
from analysis.stats.comparison.noise import run_noise


def _noise(study: ReportedStudy, run: RunData) -> Json:
    """Measure the share of chance in one reading; only if items were asked repeatedly."""
    keys = ("accuracy_sd", "run_variance", "item_variance", "certainty_sd")
    if run.samples < 2:
        return undefined("one_sample", "same_choice", "flipped", *keys)
    readings, truth = repeated_readings(study.data, run), study.truth_for(run)
    found = run_noise(readings, truth, n_draws=study.draws, rng=study.rng())
    out: Json = {"runs": found.n_runs, "items": found.n_items}
    put_estimate(out, "same_choice", found.same_choice)
    put_estimate(out, "flipped", found.flipped)
    few = found.accuracy_reason or found.reason
    for key in keys:
        reason = found.reason if key == "certainty_sd" else few
        put(out, key, number(getattr(found, key)), reason or "too_few_items")
    return out


def noise(report: Report) -> Table:
    return table_of_entries(
        "noise",
        "What changes when a judge is asked again",
        [
            pair
            for pair in named_entries(report, "judges")
            if pair[1]["noise"]["same_choice"] is not None
        ],
        [
            ("Readings", "count", "noise.runs"),
            ("Items", "count", "noise.items"),
            ("Same choice", "percent", "noise.same_choice"),
            ("Items that flip", "percent", "noise.flipped"),
            ("SD of accuracy", "decimal", "noise.accuracy_sd"),
            ("SD of certainty", "number", "noise.certainty_sd"),
            ("between readings", "decimal", "noise.run_variance", "Variance of being right"),
            ("between items", "decimal", "noise.item_variance", "Variance of being right"),
        ],
        "The baseline for every other change: two readings of one item agree this often.",
    )


class Noise(Section):
    """What changes when a judge is asked again."""

    name = "noise"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"judges": [{"noise": _noise(study, run)} for run in study.data.runs]}

    def tables(self, report: Report) -> Iterator[Table]:
        yield noise(report)
