"""Each side's use of the certainty scale, and its accuracy along it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.data.arrays import Floats
from analysis.data.verdicts import Ints, Verdicts
from analysis.report.figures import (
    PEOPLE,
    REFERENCE,
    RIGHT_AND_WRONG,
    Figure,
    FigurePanel,
    Key,
    Variant,
    axis,
    panel,
    plain,
    right_and_wrong,
    scatter_trace,
    share_axis,
    styles,
    vertical,
)
from analysis.report.quantities import Text, clause, joined, say
from analysis.report.rater_tests import held, is_one, of_names
from analysis.report.report_json import Json, cell, put
from analysis.report.rules import TOO_SMALL
from analysis.report.section import ReportJson, Section
from analysis.report.sentences import RANKING
from analysis.report.study import ReportedStudy
from analysis.report.tables import CONDITIONAL, Table, TableColumn, table_of_entries
from analysis.report.words import percent, run_names, whole_runs
from analysis.stats.core.proportions import wilson_proportion
from studies.prompts import BANDS


def _entries(report: ReportJson) -> list[tuple[str, Mapping[str, Any]]]:
    """The entries that state certainty: majority, single answers, and each run."""
    human = report["human"]
    people = [("People, majority", human["majority"]), ("People, single", human["individual"])]
    return [*people, *zip(run_names(report), report["judges"], strict=True)]


def certain_sides(report: ReportJson) -> list[tuple[str, Mapping[str, Any]]]:
    return [(who, side) for who, side in _entries(report) if side["certainty"]["summary"]["n"]]


@dataclass(frozen=True)
class SideOfCertainty:
    """A side that states certainty, and its style in figures."""

    name: str
    entry: ReportJson
    colour: str
    dash: str
    symbol: str
    unit: str
    steps: Sequence[ReportJson]

    @property
    def key(self) -> Key:
        return Key(self.name, self.colour, self.dash)

    @property
    def bars(self) -> Sequence[ReportJson]:
        return self.entry["certainty"]["histogram"]


def drawn_sides(report: ReportJson) -> list[SideOfCertainty]:
    human = report["human"]
    sides = [
        SideOfCertainty(
            name, human[unit], PEOPLE, dash, symbol, counted, report["by_threshold"][unit]
        )
        for name, unit, dash, symbol, counted in (
            ("People, majority", "majority", "solid", "circle", "item"),
            ("People, single", "individual", "dot", "circle-open", "answer"),
        )
    ]
    # Runs that saw less of the persona are in their own section.
    names, drawn = run_names(report), styles(report)
    for index in whole_runs(report):
        steps = report["by_threshold"]["judges"][index]
        sides.append(
            SideOfCertainty(names[index], report["judges"][index], *drawn[index], "item", steps)
        )
    return [side for side in sides if side.entry["certainty"]["summary"]["n"]]


@dataclass(frozen=True, eq=False)
class Stated:
    """One side's answers: certainty, 1 right / 0 wrong / -1 neither, and item, shape (answers,)."""

    certainty: Floats
    correct: Ints
    item: Ints


def on_every_side(study: ReportedStudy, compute: Callable[[Stated], Json]) -> Json:
    """Apply `compute` to the majority, to single answers and to every run, in report order."""
    items = np.arange(len(study.data.items))
    votes = study.votes

    def of(verdicts: Verdicts) -> Json:
        return compute(Stated(verdicts.certainty, verdicts.correct, items))

    single = Stated(votes.certainty, study.correct_alone, votes.item)
    return {
        "human": {"majority": of(study.people), "individual": compute(single)},
        "judges": [of(verdicts) for verdicts in study.judges],
    }


# Bins of ten that start at tens, so that the threshold 80 is an edge; 100 is in the last bin.
BIN_STARTS = tuple(range(0, 100, 10))


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


def bands(certainty: Floats, correct: Ints) -> list[Json]:
    """Accuracy in each of the five named bands; fractions count in the band above."""
    rows = ~np.isnan(certainty) & (correct >= 0)
    value, right = certainty[rows], correct[rows]
    out = []
    for band in BANDS:
        inside = (value > band.low - 1) & (value <= band.high)
        facts = {"slug": band.slug, "name": band.name, "from": band.low, "to": band.high}
        out.append(facts | cell(wilson_proportion(right[inside])))
    return out


def distribution(certainty: Floats) -> list[list[float]]:
    """Each stated certainty, with the share of answers at or below it."""
    values, counts = np.unique(certainty[~np.isnan(certainty)], return_counts=True)
    shares = np.cumsum(counts) / max(int(counts.sum()), 1)
    return [[float(value), float(share)] for value, share in zip(values, shares, strict=True)]


def summary(certainty: Floats) -> Json:
    """Mean, spread and number of the certainties."""
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


def bands_table(report: ReportJson) -> Table:
    sides = certain_sides(report)
    rows = [
        [f"{band['name']} ({band['from']}–{band['to']})"]
        + [side["certainty"]["bands"][index] for _, side in sides]
        for index, band in enumerate(report["bands"])
    ]
    columns = (TableColumn("Band"), *(TableColumn(who, "share") for who, _ in sides))
    return Table("bands", "Accuracy by certainty band", columns, rows if sides else [], CONDITIONAL)


def histogram_table(report: ReportJson) -> Table:
    return table_of_entries(
        "certainty_histogram",
        "Right and wrong answers by certainty",
        [
            (
                who,
                {
                    **bar,
                    "bin": f"{bar['from']}–{bar['to']}",
                    "share": bar["accuracy"] if bar["n"] >= TOO_SMALL else None,
                },
            )
            for who, side in certain_sides(report)
            for bar in side["certainty"]["histogram"]
            if bar["n"]
        ],
        [
            ("Certainty", "text", "bin"),
            ("Answers", "count", "n"),
            ("Right", "count", "correct"),
            ("Accuracy", "percent", "share"),
        ],
        f"Accuracy from {TOO_SMALL} answers on.",
        first="Who",
    )


def histograms(report: ReportJson) -> Figure | None:
    """Figure 2 of the source article: right below, wrong above, accuracy on each bar."""
    sides = drawn_sides(report)
    if not any(bar["n"] for side in sides for bar in side.bars):
        return None
    # Sides that count items share one scale; there are several single answers per item.
    tallest = {
        unit: max((bar["n"] for side in sides if side.unit == unit for bar in side.bars), default=0)
        for unit in ("item", "answer")
    }
    return Figure(
        "histograms",
        _histograms_title(report),
        say(
            "Answers by stated certainty in bins of ten, with the accuracy in % on bars of ten or "
            "more answers. Answers without a known truth are not shown."
        ),
        "certainty_histogram",
        [_histogram(side, max(1, tallest[side.unit])) for side in sides],
        key=RIGHT_AND_WRONG,
        neutral="Right and wrong answers by certainty",
        variant=Variant(
            "Only from 40, as in the source article",
            {"xaxis.range": [3.5, 9.6]},
            {"xaxis.range": [-0.6, 9.6]},
        ),
    )


def _histograms_title(report: ReportJson) -> Text:
    parts = []
    for often, names in zip(("more", "less"), held(report, RANKING), strict=True):
        are = "is" if is_one(names) else "are"
        form = f"{{names}} {are} correct {often} often when certain"
        parts += [clause(form, names=of_names(names))] if names else []
    if not parts:
        return say("Right and wrong answers by certainty")
    return say("{parts}", parts=joined(parts, last=", "))


def _histogram(side: SideOfCertainty, top: int) -> FigurePanel:
    bars = [
        (
            f"{bar['from']}–{bar['to']}",
            bar["correct"],
            bar["n"] - bar["correct"],
            f"{bar['accuracy'] * 100:.0f}" if bar["n"] >= TOO_SMALL else "",
        )
        for bar in side.bars
    ]
    parts = (("All", side.entry), ("High", side.entry["high"]), ("Low", side.entry["low"]))
    corner = "<br>".join(
        f"{label} {percent(part['accuracy'] if part['n'] >= TOO_SMALL else None)} "
        f"({part['correct']}/{part['n']})"
        for label, part in parts
    )
    words = (f"{bin_}: {hits} right, {misses} wrong" for bin_, hits, misses, _ in bars)
    return right_and_wrong(
        side.name,
        f"{side.name}, by certainty: " + ", ".join(words),
        bars,
        top=top,
        unit=f"{side.unit}s",
        note=corner,
        marks={
            "kind": "corner",
            "all": [side.entry["correct"], side.entry["n"]],
            "steps": [
                [step["from"]]
                + [step[part][key] for part in ("high", "low") for key in ("correct", "n")]
                for step in side.steps
            ],
        },
    )


def certainty_curves(report: ReportJson) -> Figure | None:
    """Distribution functions of certainty: annotators' single answers, and each run's items."""
    # Single answers, because a mean of three annotators varies less.
    sides = [side for side in drawn_sides(report) if side.name != "People, majority"]
    traces = []
    for side in sides:
        points = side.entry["certainty"]["distribution"]
        traces.append(
            scatter_trace(
                x=[point[0] for point in points],
                y=[point[1] for point in points],
                name=plain(side.name),
                mode="lines",
                line={"color": side.colour, "dash": side.dash, "width": 2, "shape": "hv"},
                hovertemplate=plain(side.name) + "<br>%{y:.0%} are at most %{x:.0f}<extra></extra>",
            )
        )
    if len(traces) < 2:
        return None
    tau = report["parameters"]["threshold"]
    people = "of people's single answers and " if sides[0].name == "People, single" else ""
    drawing = panel(
        "",
        "Share of answers with at most a given certainty: "
        + "; ".join(
            f"{side.name} mean {side.entry['certainty']['summary']['mean']:.0f}" for side in sides
        ),
        traces,
        height=340,
        marks={"kind": "line"},
        xaxis=axis("certainty", range=[0, 101], dtick=20),
        yaxis=share_axis("answers at or below it", range=[0, 1.02]),
        shapes=[vertical(tau, REFERENCE)],
    )
    return Figure(
        "certainty_curves",
        say("How certain people and judges are"),
        say(
            f"Cumulative share by stated certainty, {people}of the items that a judge decided; the "
            "dashed line marks the threshold of high certainty."
        ),
        "certainty",
        [drawing],
        key=[side.key for side in sides],
    )


class DistributionSection(Section):
    """Certainties in bins of ten, in named bands, and cumulated."""

    name = "certainty_distribution"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return on_every_side(
            study,
            lambda side: {
                "certainty": {
                    "histogram": histogram(side.certainty, side.correct),
                    "bands": bands(side.certainty, side.correct),
                    "distribution": distribution(side.certainty),
                    "summary": summary(side.certainty),
                }
            },
        )

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield bands_table(report)
        yield histogram_table(report)

    def figures(self, report: ReportJson) -> Iterator[Figure | None]:
        yield histograms(report)
        yield certainty_curves(report)
