"""Tables of accuracy: at a glance, by certainty as the source article prints it, by group."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report.tables import Column, Table
from analysis.report.text.numbers import run_names, whole_runs

Report = Mapping[str, Any]

HIGH = "High: a certainty of at least the threshold."
CONDITIONAL = (
    "Italics: fewer than 30 answers. “too few”: fewer than 10. “–” (0/0): none. "
    "Accuracies in %, with correct/total; on the page and in the CSV with the 95 % interval too."
)


def in_general(side: Report) -> Report:
    """An accuracy with the interval that allows for people, personas and questions in common."""
    # Reports of early versions, which are compared with later ones, have no such interval.
    return {**side, "ci": side.get("clusters", side)["ci"]}


def at_a_glance(report: Report) -> Table:
    people = report["human"]
    majority, single = (in_general(people[key]) for key in ("majority", "individual"))
    rows = [
        ["People, majority", majority, None, None, majority["ties"]],
        ["People, single answers", single, None, None, None],
    ]
    for name, judge, versus in zip(
        run_names(report), report["judges"], report["comparison"], strict=True
    ):
        gap, share = versus["difference_general"], in_general(judge)
        rows.append([name, share, gap["value"], gap["ci"], judge["excluded"]["tie"]])
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
        CONDITIONAL + " The difference is taken on the items that both decided. All intervals "
        "allow for people, personas and questions in common: they are about others like these.",
    )


def table_a(report: Report) -> Table:
    """As Table 2 of the source article, with a row for each topic: raters × high and low."""
    steps = report["by_threshold"]
    topics = [row for group in report["groups"] if group["by"] == "topic" for row in group["rows"]]
    values = [topic["value"] or "(no topic)" for topic in topics]
    rows: list[list[Any]] = [[name] for name in (report["study"]["title"], *values)]
    columns = [Column("Data")]
    names = run_names(report)
    people = [report["human"]["majority"], *(topic["people"] for topic in topics)]
    steps_of_people = [steps["majority"], *(topic["people"] for topic in steps["topics"])]
    sides = [("People", people, steps_of_people)]
    for index in whole_runs(report):
        cells = [report["judges"][index], *(topic["judges"][index] for topic in topics)]
        of_topics = (topic["judges"][index] for topic in steps["topics"])
        sides.append((names[index], cells, [steps["judges"][index], *of_topics]))
    for name, cells, changes in sides:
        # A run that states no certainty has neither cell.
        if cells is not people and cells[0]["high"]["n"] + cells[0]["low"]["n"] == 0:
            continue
        columns += [Column("High", "share", name), Column("Low", "share", name)]
        for row, side, change in zip(rows, cells, changes, strict=True):
            row += high_and_low(side, change)
    return Table(
        "table_a",
        "Table A. Accuracy at high and low certainty",
        tuple(columns),
        rows,
        f"{HIGH} {CONDITIONAL}",
        threshold=threshold_words(report),
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
    steps = report["by_threshold"]
    sides = [("People", report["human"][unit], steps[unit])]
    sides += zip(run_names(report), report["judges"], steps["judges"], strict=True)
    rows = [[who, *high_and_low(side, change), side] for who, side, change in sides]
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
        f"{HIGH} A certainty of 80 is high but in the band “Confident”. {CONDITIONAL}",
        threshold=threshold_words(report),
    )


def high_and_low(side: Report, steps: Sequence[Report]) -> list[Report]:
    """A side's two cells, each with what it becomes at other thresholds."""
    return [
        {**side[part], "tried": [{"from": step["from"], **step[part]} for step in steps]}
        for part in ("high", "low")
    ]


def threshold_words(report: Report) -> str:
    """The threshold and how it came about: “80, set before the data”."""
    parameters = report["parameters"]
    kind = "explored" if parameters["explored"] else threshold_standing(report)
    return f"{parameters['threshold']}, {kind}"


def threshold_standing(report: Report) -> str:
    """How the study's own threshold came about; only a plan before the data registers anything."""
    changes = report["registration"]["late_changes"]
    if any(change["setting"] == "threshold" for change in changes):
        return "changed after the first data"
    plan = report["registration"]["plan"]
    return "registered" if plan and plan["before_data"] else "set before the data"


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
