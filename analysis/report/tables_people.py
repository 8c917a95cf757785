"""Tables about people and items: how far people agree, who they are by pseudonym, every item."""

from collections.abc import Mapping
from typing import Any

from analysis.report.tables import Column, Kind, Table
from analysis.report.words import reason, run_names

Report = Mapping[str, Any]


def agreement(report: Report) -> Table:
    found = report["human"]["agreement"]
    sheets, name = found["bootstrap"], f"Sheets of {found['bootstrap']['size']}"
    # Name, where the value lies, its key, and where its interval lies.
    measures = (
        ("Pairs of people who agree", found, "percent", found["percent_ci"]),
        ("… expected from accuracy alone", found["from_accuracy"], "agreement", None),
        (
            "Krippendorff's alpha",
            found["krippendorff_alpha"],
            "value",
            found["krippendorff_alpha"]["ci"],
        ),
        ("Fleiss' kappa", found, "fleiss_kappa", None),
        ("Gwet's AC1", found, "gwet_ac1", None),
        ("Brennan-Prediger", found, "brennan_prediger", None),
        ("Items with one voice", found["unanimous"], "share", None),
        (f"{name}: mean agreement", sheets, "mean", sheets["ci"]),
        (f"{name}: standard deviation", sheets, "sd", None),
        (
            "Alpha of certainty (interval)",
            found,
            "certainty_alpha",
            found["certainty_alpha_ci"],
        ),
    )
    rows = [
        [
            label,
            where[key],
            interval,
            "" if where[key] is not None else reason(where[f"{key}_reason"]),
        ]
        for label, where, key, interval in measures
    ]
    columns = [Column("Measure"), Column("Value", "decimal"), Column("95 % interval", "range")]
    if any(row[-1] for row in rows):
        columns.append(Column("Why undefined"))
    rows = [row[: len(columns)] for row in rows]
    return Table(
        "agreement",
        "How far people agree",
        tuple(columns),
        rows if report["human"]["answers"] else [],
        "Intervals resample items. A sheet is one annotator pair on each of 30 items drawn "
        "without replacement: its standard deviation is the spread of one sheet, not the error of "
        "the mean.",
    )


def raters(report: Report) -> Table:
    fields: tuple[tuple[str, Kind, str], ...] = (
        ("Answers", "count", "answers"),
        ("As the majority of others", "percent", "with_others"),
        ("As another person", "percent", "pair_agreement"),
        ("Mean certainty", "number", "certainty_mean"),
        ("SD", "number", "certainty_sd"),
        ("AUROC", "decimal", "auroc"),
        ("Favourite option", "percent", "favourite_share"),
        ("Share A", "percent", "share_a"),
        ("Median seconds", "number", "median_seconds"),
    )
    columns = (
        Column("Person"),
        Column("Accuracy", "share"),
        *(Column(heading, kind) for heading, kind, _ in fields),
    )
    rows = [
        [row["rater"], row, *(row[key] for _, _, key in fields)]
        for row in report["human"]["raters"]
    ]
    return Table(
        "raters",
        "How each person worked, by pseudonym",
        columns,
        rows,
        "Signs to look at, never grounds to reject anybody: who disagrees with others may know "
        "better. AUROC needs ten right and ten wrong answers with a certainty.",
    )


def items(report: Report) -> Table:
    rows = []
    for row in report["items"]:
        votes = " ".join(f"{key}:{count}" for key, count in row["votes"].items())
        line = [row["item"], row["topic"], row["question"], row["truth"], votes]
        for side in (row["people"], *row["judges"]):
            line += [side["choice"], side["certainty"]]
        rows.append(line)
    columns = [
        Column("Item"),
        Column("Topic"),
        Column("Question"),
        Column("Truth"),
        Column("Votes"),
    ]
    for who in ("People", *run_names(report)):
        columns += [Column("choice", "text", who), Column("certainty", "number", who)]
    return Table("items", "Every item", tuple(columns), rows)
