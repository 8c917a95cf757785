"""Runs that saw less of the persona, compared with the same judge's run that saw all of it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.data.arrays import RunData
from analysis.data.verdicts import Verdicts, repeated_readings
from analysis.report.quantities import Quantity, bare, say
from analysis.report.report_json import Json, estimate, pick, put, put_estimate, put_interval
from analysis.report.section import Analysis, ReportJson, Section
from analysis.report.sentences import THRESHOLD
from analysis.report.study import ReportedStudy, identity, put_holm
from analysis.report.tables import CONDITIONAL, Table, TableColumn, in_general, table_of_entries
from analysis.report.words import asked_name, features_words
from analysis.stats.comparison.differences import paired_difference
from analysis.stats.comparison.noise import change_beyond_noise
from analysis.stats.comparison.paired import count_pairs, mcnemar
from analysis.stats.core.proportions import wilson_proportion


def ablations(study: ReportedStudy) -> list[Json]:
    """One entry per run with less than the whole persona, with p values adjusted within a judge."""
    data, verdicts = study.data, study.judges
    whole = {
        (run.judge, run.setting, *run.way): index
        for index, run in reversed(list(enumerate(data.runs)))
        if run.features == "all"
    }
    entries = []
    for index, run in enumerate(data.runs):
        base = whole.get((run.judge, run.setting, *run.way))
        if base is None or run.features == "all":
            continue
        entry = identity(run) | {"compared_with": data.runs[base].run}
        entry |= _pair(verdicts[base], verdicts[index])
        entry["beyond_noise"] = _beyond_noise(study, data.runs[base], run)
        entries.append(entry)
    for family in {(asked_name(entry), entry["setting"]) for entry in entries}:
        members = [entry for entry in entries if (asked_name(entry), entry["setting"]) == family]
        put_holm(members)
        for entry in members:
            entry["family"] = len(members)
    return entries


def _pair(full: Verdicts, less: Verdicts) -> Json:
    pairs = count_pairs(full.correct, less.correct)
    difference = paired_difference(pairs)
    answered = (full.answer >= 0) & (less.answer >= 0)
    same = wilson_proportion((full.answer == less.answer)[answered])
    certain = ~np.isnan(full.certainty) & ~np.isnan(less.certainty)
    drop = (full.certainty - less.certainty)[certain]
    out: Json = {"n": pairs.n}
    put(out, "accuracy_lost", difference.value, difference.reason)
    put_interval(out, "ci", difference.interval, difference.reason)
    test = mcnemar(pairs)
    put(out, "p", test.p, test.reason)
    put_estimate(out, "same_choice", same)
    out["same_choice_n"] = same.n
    put(out, "certainty_drop", float(drop.mean()) if drop.size else None)
    out["certainty_n"] = int(drop.size)
    return out


def _beyond_noise(study: ReportedStudy, full: RunData, less: RunData) -> Json:
    """Disagreement of two readings across the runs beyond that within a run."""
    one, other = (repeated_readings(study.data, run) for run in (full, less))
    change = change_beyond_noise(one, other, n_draws=study.draws, rng=study.rng())
    # With one reading per item, a change cannot be separated from noise.
    asked_once = change.excess.reason and min(full.samples, less.samples) < 2
    reason = "one_sample" if asked_once else change.excess.reason
    out = estimate(change.excess, "excess") | {"n": change.n_items}
    out |= pick(change, "within across", reason)
    if reason is not None:
        out["excess_reason"] = out["ci_reason"] = reason
    return out


def ablation_cells(report: ReportJson) -> Table:
    """Figure 3 of the source article as a table: judges by all, fewer and no features."""
    runs: dict[tuple[str, str], dict[str, tuple[ReportJson, ReportJson | None]]] = {}
    for judge in report["judges"]:
        own = runs.setdefault((asked_name(judge), judge["setting"]), {})
        change = next((e for e in report["ablations"] if e["run"] == judge["run"]), None)
        if judge["features"] == "all" or change is not None:
            own.setdefault(judge["features"], (judge, change))
    ablated = {key: own for key, own in runs.items() if len(own) > 1}
    features = sorted({name for own in ablated.values() for name in own}, key=_size)
    columns = [TableColumn("Judge")]
    for name in features:
        head = features_words(name)
        columns += [
            TableColumn("High", "share", head),
            TableColumn("Low", "share", head),
            TableColumn("Share high", "percent", head),
        ]
        if name != "all":
            columns.append(TableColumn("Change", "points", head))
    several = len({setting for _, setting in ablated}) > 1
    rows = []
    for (judge, setting), own in sorted(ablated.items()):
        row: list[Any] = [f"{judge} ({setting})" if several else judge]
        for name in features:
            row += _ablated(*own.get(name, (None, None)), is_whole=name == "all")
        rows.append(row)
    return Table(
        "ablation_cells",
        "Accuracy and certainty when the judge sees less of the persona",
        tuple(columns),
        rows,
        say(
            "High: a certainty of at least {level}. Share high: of the answers with a certainty. "
            "Change: accuracy minus accuracy with the whole persona, on the items that both "
            "decided. {conditional}",
            level=Quantity("level", None, report["parameters"]["threshold"], THRESHOLD),
            conditional=bare(CONDITIONAL),
        ),
    )


NOTHING = {"n": 0, "correct": 0, "accuracy": None, "ci": None}


def _ablated(judge: ReportJson | None, change: ReportJson | None, *, is_whole: bool) -> list[Any]:
    cells: list[Any] = [NOTHING, NOTHING, None]
    if judge is not None:
        stated = judge["high"]["n"] + judge["low"]["n"]
        share = judge["high"]["n"] / stated if stated else None
        cells = [in_general(judge["high"]), in_general(judge["low"]), share]
    if is_whole:
        return cells
    lost = None if change is None else change["accuracy_lost"]
    return [*cells, None if lost is None else -lost]


def _size(features: str) -> tuple[int, int, str]:
    """Sort key: the whole persona first, then fewer and fewer features, and none last."""
    if features in {"all", "none"}:
        return (0 if features == "all" else 2, 0, features)
    return (1, -len(features.split(",")), features)


def ablations_table(report: ReportJson) -> Table:
    return table_of_entries(
        "ablations",
        "Accuracy lost when the judge sees less of the persona",
        [
            (asked_name(entry), {**entry, "features": features_words(entry["features"])})
            for entry in report["ablations"]
        ],
        [
            ("Setting", "text", "setting"),
            ("Features shown", "text", "features"),
            ("Items", "count", "n"),
            ("Accuracy lost", "points", "accuracy_lost"),
            ("95 % interval", "points_range", "ci"),
            ("McNemar p", "p", "p"),
            ("Holm p", "p", "p_holm"),
            ("Same choice", "percent", "same_choice"),
            ("Certainty lost", "number", "certainty_drop"),
            ("within a run", "percent", "beyond_noise.within", "Two readings agree"),
            ("across", "percent", "beyond_noise.across", "Two readings agree"),
            ("Change beyond noise", "points", "beyond_noise.excess"),
            ("95 %", "points_range", "beyond_noise.ci"),
        ],
        "Each run compared with the run of the same judge and setting with all features, item by "
        "item. Holm: adjusted over the feature sets of one judge and setting. If both runs were "
        "read several times, the last columns separate a change from noise between readings: 0 "
        "if the features change nothing, however noisy the judge is.",
        first="Judge",
    )


class Ablations(Section):
    """Loss of accuracy when judges see less of the persona."""

    name = "ablations"
    title = "Ablations"
    analyses = (
        Analysis(
            "ablations",
            tables=("ablations", "ablation_cells"),
            paths=("ablations",),
        ),
    )

    def is_needed(self, report: ReportJson) -> bool:
        return bool(report["ablations"])

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"ablations": ablations(study)}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield ablation_cells(report)
        yield ablations_table(report)
