"""Tables of certainty: how each side uses it, and what it is worth."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report.sections.accuracy.tables import CONDITIONAL
from analysis.report.tables import Column, Table
from analysis.report.text.numbers import TOO_SMALL, run_names

Report = Mapping[str, Any]


def _sides(report: Report) -> list[tuple[str, Mapping[str, Any]]]:
    """Everybody who states certainty: majority, single answers, and each run."""
    human = report["human"]
    people = [("People, majority", human["majority"]), ("People, single", human["individual"])]
    return [*people, *zip(run_names(report), report["judges"], strict=True)]


def certain_sides(report: Report) -> list[tuple[str, Mapping[str, Any]]]:
    return [(who, side) for who, side in _sides(report) if side["certainty"]["summary"]["n"]]


def bands(report: Report) -> Table:
    sides = certain_sides(report)
    rows = [
        [f"{band['name']} ({band['from']}–{band['to']})"]
        + [side["certainty"]["bands"][index] for _, side in sides]
        for index, band in enumerate(report["bands"])
    ]
    columns = (Column("Band"), *(Column(who, "share") for who, _ in sides))
    return Table("bands", "Accuracy by certainty band", columns, rows if sides else [], CONDITIONAL)


def certainty(report: Report) -> Table:
    rows = []
    for who, side in certain_sides(report):
        summary, calibration = side["certainty"]["summary"], side["calibration"]
        rows.append(
            [who, summary["n"], summary["mean"], summary["sd"], summary["distinct"]]
            + [side["certainty"]["rules"]["at"], summary["multiples_of_5"]]
            + [calibration[key] for key in ("ece", "brier", "auroc", "aurc")]
        )
    columns = (
        Column("Who"),
        Column("n", "count"),
        Column("Mean", "number"),
        Column("SD", "number"),
        Column("Distinct values", "count"),
        Column("Exactly at the threshold", "count"),
        Column("Multiples of 5", "percent"),
        Column("ECE", "decimal"),
        Column("Brier", "decimal"),
        Column("AUROC", "decimal"),
        Column("AURC", "decimal"),
    )
    return Table(
        "certainty",
        "How certainty is used, and what it is worth",
        columns,
        rows,
        "Certainty is read as a probability of certainty / 100. ECE: ten bins of equal width. "
        "Lower is better for ECE, Brier and AURC; AUROC .5 means that certainty says nothing.",
    )


def reliability(report: Report) -> Table:
    rows = [
        [who, f"{point['from']:g}–{point['to']:g}", point["confidence"], point]
        for who, side in certain_sides(report)
        for point in side["certainty"]["reliability"]
    ]
    columns = (
        Column("Who"),
        Column("Certainty"),
        Column("Mean certainty", "percent"),
        Column("Right", "share"),
    )
    return Table("reliability", "Accuracy against stated certainty", columns, rows)


def like_for_like(report: Report) -> Table:
    people: list[list[Any]] = []
    judges: list[list[Any]] = []
    for name, versus in zip(run_names(report), report["comparison"], strict=True):
        panel = versus["certainty"]["like_for_like"]
        if versus["certainty"]["judgments"] == 0:
            continue
        for rows, key, label in (
            (people, "human_single", "One person"),
            (people, "human_majority", "Three people, majority"),
            (judges, "model_single", f"{name}, one reply"),
            (judges, "model_majority", f"{name}, three replies, majority"),
        ):
            side = panel[key]
            row = [label, side["overall"], side["high_share"], side["high"]]
            row += [side["matched_accuracy"], side["matched_accuracy_ci"]]
            # People are the same beside every run, unless a run scores true ties.
            if side["overall"]["n"] and row not in rows:
                rows.append(row)
    rows = people + judges
    columns = (
        Column("Who"),
        Column("Overall", "share"),
        Column("Share high", "percent"),
        Column("High", "share"),
        Column("At people's coverage", "percent"),
        Column("95 % interval", "percent_range"),
    )
    return Table(
        "like_for_like",
        "Like for like: one person beside one reply, majority beside majority",
        columns,
        rows,
        "The mean of three certainties varies less than one: equal judges look different when a "
        "majority is set beside a single reply. “At people's coverage”: accuracy of the most "
        "certain answers, as large a share of all as single people's high answers are; its "
        "interval allows for that share being estimated.",
    )


OWN = "each on its own certain ones"


def high_sets(report: Report) -> Table:
    rows = []
    labels = {
        "both": "both certain",
        "human_only": "only people certain",
        "model_only": "only the judge certain",
        "neither": "neither certain",
    }
    for name, versus in zip(run_names(report), report["comparison"], strict=True):
        sets = versus["certainty"]["high_sets"]
        if sets["n"]:
            for key, label in labels.items():
                cells = sets["cells"][key]
                rows.append([name, label, cells["people"], cells["judge"], None, None, None])
            gap = sets["difference_general"]
            own = [sets["people_on_own"], sets["judge_on_own"]]
            rows.append([name, OWN, *own, gap["value"], gap["ci"], gap["p_holm"]])
    columns = (
        Column("Run"),
        Column("Items where"),
        Column("People", "share"),
        Column("Judge", "share"),
        Column("Difference", "points"),
        Column("95 % in general", "points_range"),
        Column("Holm p", "p"),
    )
    return Table(
        "high_sets",
        "Who is certain where, and right how often",
        columns,
        rows,
        "Each side's own high items are different items that overlap; in the first four rows both "
        "are scored on the same ones. The difference of the last row allows for people, personas "
        f"and questions in common; Holm: over the runs that compete. {CONDITIONAL}",
    )


def sweep(report: Report) -> Table:
    rows: list[list[Any]] = []
    for who, side in certain_sides(report):
        below = 0.0
        for point in side["certainty"]["sweep"]:
            tau = point["threshold"]
            gap = [t for t in side["certainty"]["unreachable"] if below < t < tau]
            rows.append([who, tau, _span(gap), point["at"], point["coverage"], point])
            rows[-1].append(point["band"])
            below = tau
    columns = (
        Column("Who"),
        Column("Certainty from", "number"),
        Column("Unreachable below"),
        Column("Exactly there", "count"),
        Column("Coverage", "percent"),
        Column("Accuracy", "share"),
        Column("Simultaneous band", "range"),
    )
    return Table(
        "thresholds",
        "Every threshold that these answers allow",
        columns,
        rows,
        "A threshold chosen from this table is chosen after the data: its pointwise interval is "
        "too narrow, the simultaneous band is not. Unreachable: no answer has this certainty, so "
        "as a threshold it accepts the same answers as the row, read as ≥ or as >; above the "
        "last row nothing is accepted.",
    )


def coverage(report: Report) -> Table:
    rows = []
    for who, side in certain_sides(report):
        # From the strictest threshold to the most lenient.
        points = side["certainty"]["sweep"][::-1]
        if points:
            rows.append([who, *(_first_to_accept(points, tenth / 10) for tenth in range(1, 11))])
    columns = (
        Column("Who"),
        *(Column(f"{tenth}0 %", "share", "Most certain answers") for tenth in range(1, 11)),
    )
    return Table(
        "coverage",
        "How often the most certain answers are right",
        columns,
        rows,
        "Italics: fewer than 30 answers. “too few”: fewer than 10. Each cell is at the first "
        "threshold that accepts at least so many: equal certainties come in together, so "
        "neighbours may be the same.",
    )


def _first_to_accept(points: Sequence[Report], share: float) -> Report:
    return next((point for point in points if point["coverage"] >= share), points[-1])


def _span(neighbours: Sequence[int]) -> str | None:
    """Neighbouring whole numbers as people write them."""
    if len(neighbours) < 2:
        return str(neighbours[0]) if neighbours else None
    return f"{neighbours[0]}–{neighbours[-1]}"


def _percent_of(bar: Mapping[str, Any]) -> float | None:
    """The accuracy of a bar that is high enough to have one."""
    return bar["accuracy"] if bar["n"] >= TOO_SMALL else None


def histogram(report: Report) -> Table:
    rows = [
        [who, f"{bar['from']}–{bar['to']}", bar["n"], bar["correct"], _percent_of(bar)]
        for who, side in certain_sides(report)
        for bar in side["certainty"]["histogram"]
    ]
    columns = (
        Column("Who"),
        Column("Certainty"),
        Column("Answers", "count"),
        Column("Right", "count"),
        Column("Accuracy", "percent"),
    )
    return Table(
        "certainty_histogram",
        "Right and wrong answers by certainty",
        columns,
        rows,
        f"Accuracy from {TOO_SMALL} answers on.",
    )
