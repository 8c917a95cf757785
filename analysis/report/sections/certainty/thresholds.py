"""Accuracy and coverage at every threshold of certainty, and their validation on other items."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Dataset, Floats
from analysis.data.verdicts import Ints
from analysis.report.figures import Figure, Key, panel, plain, scatter_trace, share_axis, styles
from analysis.report.report_json import Json, cell, estimate, number, put, put_interval
from analysis.report.rules import FOLDS, TARGET, TOO_SMALL
from analysis.report.section import ReportJson, Section
from analysis.report.sections.certainty.distribution import (
    SideOfCertainty,
    Stated,
    certain_sides,
    drawn_sides,
    on_every_side,
)
from analysis.report.sentences import RANKING, held, of_names
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn, in_general, without_interval
from analysis.report.words import chosen, percent, run_names, whole_runs
from analysis.stats.certainty.held_out import (
    folds_by_key,
    held_out_threshold,
    recalibrate,
    unreachable_thresholds,
)
from analysis.stats.certainty.intervals import certainty_quality
from analysis.stats.certainty.risk_coverage import check_threshold, threshold_sweep


def sweep(certainty: Floats, correct: Ints, *, seed: int, draws: int) -> list[Json]:
    """Coverage and accuracy at every stated certainty, with a simultaneous band."""
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
    """High certainty as "at least" (ours) and as "above", and the answers exactly at it."""
    check = check_threshold(certainty, correct, threshold)
    return {"at": check.n_at, "at_least": cell(check.at_least), "above": cell(check.above)}


def sweep_table(report: ReportJson) -> Table:
    rows: list[list[Any]] = []
    for who, side in certain_sides(report):
        below = 0.0
        for point in side["certainty"]["sweep"]:
            tau = point["threshold"]
            gap = [t for t in side["certainty"]["unreachable"] if below < t < tau]
            rows.append([who, tau, _span(gap), point["at"], point["coverage"]])
            rows[-1].append(without_interval(point))
            rows[-1].append(point["band"])
            below = tau
    columns = (
        TableColumn("Who"),
        TableColumn("Certainty from", "number"),
        TableColumn("Unreachable below"),
        TableColumn("Exactly there", "count"),
        TableColumn("Coverage", "percent"),
        TableColumn("Accuracy", "share"),
        TableColumn("Simultaneous band", "range"),
    )
    return Table(
        "thresholds",
        "All possible thresholds",
        columns,
        rows,
        "A threshold chosen from this table is chosen after the data, so its pointwise interval "
        "is too narrow; the simultaneous band is valid. Unreachable: no answer has this "
        "certainty, so as a threshold it accepts the same answers as the row, read as ≥ or as >; "
        "above the last row nothing is accepted.",
    )


def coverage(report: ReportJson) -> Table:
    rows = []
    for who, side in certain_sides(report):
        # From the strictest threshold to the most lenient.
        points = side["certainty"]["sweep"][::-1]
        if points:
            accepted = (_first_to_accept(points, tenth / 10) for tenth in range(1, 11))
            rows.append([who, *map(without_interval, accepted)])
    columns = (
        TableColumn("Who"),
        *(TableColumn(f"{tenth}0 %", "share", "Most certain answers") for tenth in range(1, 11)),
    )
    return Table(
        "coverage",
        "Accuracy of the most certain answers",
        columns,
        rows,
        "Italics: fewer than 30 answers. “too few”: fewer than 10. Each cell uses the first "
        "threshold that accepts at least this many answers: equal certainties enter together, so "
        "neighbouring cells may be equal.",
    )


def _first_to_accept(points: Sequence[ReportJson], share: float) -> ReportJson:
    return next((point for point in points if point["coverage"] >= share), points[-1])


def _span(neighbours: Sequence[int]) -> str | None:
    """Consecutive whole numbers as a range."""
    if len(neighbours) < 2:
        return str(neighbours[0]) if neighbours else None
    return f"{neighbours[0]}–{neighbours[-1]}"


def paper_compat(report: ReportJson) -> Table:
    rows = [
        [who, side["no_certainty"], in_general(side["low"]), side["paper_compat"]["low"]]
        for who, side in certain_sides(report)
        if side["no_certainty"]
    ]
    columns = (
        TableColumn("Who"),
        TableColumn("Without certainty", "count"),
        TableColumn("Low", "share"),
        TableColumn("Low, including those", "share"),
    )
    return Table(
        "paper_compat",
        "Low certainty, with and without missing certainties",
        columns,
        rows,
        "Elsewhere, an answer without certainty is neither high nor low. The code released with "
        "the source article reads it as 0, so as low (“paper_compat”).",
    )


def risk_coverage_figure(report: ReportJson) -> Figure | None:
    """Accuracy of accepted answers as the threshold falls."""
    tau = report["parameters"]["threshold"]
    traces, words, shown = [], [], []
    for side in drawn_sides(report):
        points = [p for p in side.entry["certainty"]["sweep"] if p["n"] >= TOO_SMALL]
        if side.unit != "item" or not points:
            continue
        name, colour = side.name, side.colour
        shown += [p["accuracy"] for p in points]
        traces.append(
            scatter_trace(
                x=[p["coverage"] for p in points],
                y=[p["accuracy"] for p in points],
                name=plain(name),
                meta="line",
                mode="lines" if len(points) > 1 else "markers",
                marker={"color": colour},
                line={"color": colour, "dash": side.dash, "width": 2, "shape": "linear"},
                customdata=[[p["threshold"], p["n"]] for p in points],
                hovertemplate=plain(name)
                + "<br>≥ %{customdata[0]:.0f}: %{y:.1%} of %{customdata[1]}<extra></extra>",
            )
        )
        marked = [p for p in points if p["threshold"] >= tau][:1]
        words += [f"{name} {percent(at['accuracy'])} at {percent(at['coverage'])}" for at in marked]
        traces.append(
            scatter_trace(
                x=[at["coverage"] for at in marked],
                y=[at["accuracy"] for at in marked],
                name=plain(name),
                meta="mark",
                mode="markers",
                marker={
                    "color": colour,
                    "symbol": side.symbol,
                    "size": 12,
                    "line": {"color": "#0b0c0c", "width": 1.5},
                },
                showlegend=False,
                hovertemplate=f"{plain(name)} at the threshold: %{{y:.1%}}<extra></extra>",
            )
        )
    if not traces:
        return None
    stars = certified_marks(report)
    traces += stars
    alt = f"Accuracy by share of accepted answers. {certified_words(report)}"
    drawing = panel(
        "",
        f"{alt} At certainty {tau}: {'; '.join(words) or 'too few answers to mark'}",
        traces,
        height=380,
        marks={"kind": "coverage", "alt": alt},
        xaxis=share_axis("share of answers accepted", range=[0, 1.02]),
        yaxis=share_axis(
            # Room for a whole mark at 100 %.
            "right among them",
            range=[min(shown) - 0.05, min(1.0, max(shown) + 0.05) + 0.02],
        ),
    )
    return Figure(
        "risk_coverage",
        _coverage_title(report),
        "Accuracy of the most certain answers as more are accepted; the marks are at the "
        "threshold of high certainty"
        + (", stars at a certified one. " if stars else "; no threshold is certified. ")
        + "Thresholds that accept fewer than 10 answers are not drawn. "
        "AURC: the mean share of wrong answers over all coverages, lower is better.",
        "thresholds",
        [drawing],
        key=[
            Key(f"{side.name}{_area(side)}", side.colour, side.dash)
            for side in drawn_sides(report)
            if side.unit == "item"
        ],
        neutral="Accuracy when only certain answers are accepted",
    )


def _area(side: SideOfCertainty) -> str:
    area = side.entry["calibration"]["aurc"]
    return "" if area is None else f" (AURC {area:.3f})"


def _coverage_title(report: ReportJson) -> str:
    raises, lowers = held(report, RANKING)
    parts = [
        f"{which} accuracy for {of_names(names)}"
        for which, names in (("raises", raises), ("lowers", lowers))
        if names
    ]
    if not parts:
        return "Accuracy when only certain answers are accepted"
    return f"Accepting only certain answers {', '.join(parts)}"


def certified_marks(report: ReportJson) -> list[dict[str, Any]]:
    """Stars at the runs' certified thresholds, which stay when a reader tries another one."""
    names, drawn = run_names(report), styles(report)
    return [
        scatter_trace(
            x=[found["coverage"]],
            y=[found["accuracy"]],
            name=plain(names[index]),
            meta="certified",
            mode="markers",
            marker={
                "color": drawn[index][0],
                "symbol": "star",
                "size": 16,
                "line": {"color": "#0b0c0c", "width": 1.5},
            },
            showlegend=False,
            hovertemplate=f"{plain(names[index])}, certified from {found['threshold']:.0f}: "
            "%{y:.1%} of %{x:.1%}<extra></extra>",
        )
        for index, found in _certified(report)
    ]


def certified_words(report: ReportJson) -> str:
    """The certified thresholds as text, for screen readers."""
    names = run_names(report)
    stars = [
        f"{names[index]} from {found['threshold']:.0f}, {percent(found['accuracy'])} at "
        f"{percent(found['coverage'])}"
        for index, found in _certified(report)
    ]
    return f"Certified: {'; '.join(stars)}." if stars else "No threshold is certified."


def _certified(report: ReportJson) -> list[tuple[int, ReportJson]]:
    found = [(index, report["selective"][index]) for index in whole_runs(report)]
    return [(index, entry) for index, entry in found if entry["threshold"] is not None]


class Thresholds(Section):
    """Coverage and accuracy of every threshold."""

    name = "thresholds"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return on_every_side(
            study,
            lambda side: {
                "certainty": {
                    "sweep": sweep(
                        side.certainty, side.correct, seed=study.seed, draws=study.draws
                    ),
                    "unreachable": list(unreachable_thresholds(side.certainty, side.correct)),
                    "rules": both_rules(side.certainty, side.correct, study.threshold),
                }
            },
        )

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield sweep_table(report)
        yield coverage(report)
        yield paper_compat(report)

    def figures(self, report: ReportJson) -> Iterator[Figure | None]:
        yield risk_coverage_figure(report)


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
    rows = []
    for who, side in certain_sides(report):
        found, measures = side["certainty"]["recalibration"], side["certainty"]["measures"]
        rows.append(
            [who, found["n"]]
            + [found[key] for key in ("raw", "isotonic", "logistic", "base_rate")]
            # Without variation all resamples are equal, which does not mean certainty.
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
        TableColumn("Constant minus stated, 95 %", "range"),
        TableColumn("AUROC", "decimal"),
        TableColumn("95 % interval", "range"),
    )
    return Table(
        "recalibration",
        "Value of certainty, as stated and corrected",
        columns,
        rows,
        "Lower Brier scores are better. Corrections are fitted on four fifths of the items and "
        "measured on the rest; the constant is the share of right answers there. If the score as "
        "stated is above the constant's, always stating the same number would be better. "
        "Intervals resample items.",
    )


def threshold_rules(report: ReportJson) -> Table:
    rows = []
    for who, side in certain_sides(report):
        rules, held = side["certainty"]["rules"], side["certainty"]["held_out"]
        rows.append(
            [
                who,
                rules["at"],
                without_interval(rules["at_least"]),
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
        f"The threshold {tau} ({chosen(report)}), read both ways, and one chosen on half of the "
        "items",
        columns,
        rows,
        "The lowest certainty that reaches 80 % on one half of the personas, with at least 30 "
        "answers. Only its accuracy on the other half is unbiased.",
    )


class Validation(Section):
    """Measures with intervals, and corrections and thresholds tested on other items."""

    name = "validation"

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
