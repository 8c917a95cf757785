"""Tables of accuracy: at a glance, by certainty as the source article prints it, by group."""

from collections.abc import Mapping
from typing import Any

from analysis.report.tables import Column, Table
from analysis.report.words import run_names, whole_runs

Report = Mapping[str, Any]

CONDITIONAL = (
    "Italics: fewer than 30 answers. “too few”: fewer than 10. “–” (0/0): none. "
    "Below each accuracy (in %): correct/total and the 95 % interval."
)


def at_a_glance(report: Report) -> Table:
    people = report["human"]
    rows = [
        ["People, majority", people["majority"], None, None, people["majority"]["ties"]],
        ["People, single answers", people["individual"], None, None, None],
    ]
    for name, judge, versus in zip(
        run_names(report), report["judges"], report["comparison"], strict=True
    ):
        difference = versus["difference"]
        rows.append([name, judge, difference["value"], difference["ci"], judge["excluded"]["tie"]])
    columns = (
        Column("Who"),
        Column("Accuracy", "share"),
        Column("Less the majority", "points"),
        Column("95 % interval", "points_range"),
        Column("Undecided", "count"),
    )
    return Table(
        "at_a_glance",
        "Accuracy of people and of every run",
        columns,
        rows,
        CONDITIONAL + " The difference is taken on the items that both decided; its interval "
        "(Tango) holds for these annotators.",
    )


def table_a(report: Report) -> Table:
    """As Table 2 of the source article, with a row for each topic: raters × high and low."""
    people = report["human"]["majority"]
    columns = [Column("Data")]
    rows: list[list[Any]] = [[report["study"]["title"]]]
    topics = [row for group in report["groups"] if group["by"] == "topic" for row in group["rows"]]
    rows += [[topic["value"] or "(no topic)"] for topic in topics]
    names = run_names(report)
    sides = [("People", people, [topic["people"] for topic in topics])]
    for index in whole_runs(report):
        of_topics = [topic["judges"][index] for topic in topics]
        sides.append((names[index], report["judges"][index], of_topics))
    for name, side, of_topics in sides:
        # A run that states no certainty has neither cell.
        if side is not people and side["high"]["n"] + side["low"]["n"] == 0:
            continue
        columns += [Column("High", "share", name), Column("Low", "share", name)]
        for row, cells in zip(rows, (side, *of_topics), strict=True):
            row += [cells["high"], cells["low"]]
    return Table(
        "table_a",
        "Table A. Accuracy at high and low certainty",
        tuple(columns),
        rows,
        f"High: certainty of at least {report['parameters']['threshold']}. {CONDITIONAL}",
    )


def table_b(report: Report) -> Table:
    return _judge_beside_people(
        report, "table_b", "Table B. Judges beside the majority of people", "majority"
    )


def table_b_single(report: Report) -> Table:
    return _judge_beside_people(
        report, "table_b_single", "Table B, with people's single answers", "individual"
    )


def _judge_beside_people(report: Report, name: str, title: str, unit: str) -> Table:
    sides = [
        ("People", report["human"][unit]),
        *zip(run_names(report), report["judges"], strict=True),
    ]
    rows = [[who, side["high"], side["low"], side] for who, side in sides]
    columns = (
        Column("Who"),
        Column("High", "share"),
        Column("Low", "share"),
        Column("Overall", "share"),
    )
    return Table(
        name,
        title,
        columns,
        rows,
        f"High: certainty of at least {report['parameters']['threshold']}, which is high but in "
        f"the band “Confident”. {CONDITIONAL}",
    )


def groups(report: Report) -> list[Table]:
    tables = []
    names, shown = run_names(report), whole_runs(report)
    sides = ["People, majority", *(names[index] for index in shown)]
    for number, group in enumerate(report["groups"], start=1):
        rows = [
            [row["value"] or "(not said)", row["items"], row["people"]]
            + [row["judges"][index] for index in shown]
            for row in group["rows"]
        ]
        columns = (
            Column(group["label"]),
            Column("Items", "count"),
            *(Column(side, "share") for side in sides),
        )
        tables.append(
            Table(f"group_{number}", f"Accuracy by {group['label']}", columns, rows, CONDITIONAL)
        )
    return tables
