"""Tables that hold the first ones to account: clusters, judges among each other, groups, rules."""

from collections.abc import Mapping
from typing import Any

from analysis.report.sections.accuracy.tables import CONDITIONAL
from analysis.report.tables import Column, Table
from analysis.report.text.numbers import reason, run_names, whole_runs

Report = Mapping[str, Any]
_DIFFERENCE = (
    Column("Difference", "points"),
    Column("95 % interval", "points_range"),
    Column("p", "p"),
    Column("Holm p", "p"),
)


def clusters(report: Report) -> Table:
    human = report["human"]
    sides = [("People, majority", human["majority"])]
    sides += [("People, single answers", human["individual"])]
    sides += zip(run_names(report), report["judges"], strict=True)
    rows = []
    for who, side in sides:
        for part, cell in (("overall", side), ("high", side["high"]), ("low", side["low"])):
            found = cell["clusters"]
            if cell["n"]:
                kinds = (found["personas"], found["questions"], found.get("people"))
                as_best = found.get("ci_as_best")
                rows.append([who, part, cell, *kinds, found["ci"], as_best])
    columns = (
        Column("Who"),
        Column("Certainty"),
        Column("Accuracy", "share"),
        Column("Personas", "count"),
        Column("Questions", "count"),
        Column("People", "count"),
        Column("95 % in general", "percent_range"),
        Column("as the best", "percent_range"),
    )
    return Table(
        "clusters",
        "How many personas and questions each accuracy rests on",
        columns,
        rows,
        "Answers about one persona or one question are alike, and so are those of one person. The "
        "interval in general allows for all three, and the headline uses it; the one below the "
        "accuracy is about these personas and questions alone. As the best: with a lower end that "
        "allows for naming the best of several runs. " + CONDITIONAL,
    )


def several_judges(report: Report) -> Table:
    names, found = run_names(report), report["several_judges"]
    rows = [
        [
            names[pair["first"]],
            names[pair["second"]],
            pair["difference"],
            pair["ci"],
            pair["p"],
            pair["p_holm"],
            pair["p_joint"],
        ]
        for pair in found["pairs"]
    ]
    columns = (
        Column("First"),
        Column("Second"),
        Column("Difference", "points"),
        Column("95 % interval", "points_range"),
        Column("McNemar p", "p"),
        Column("Holm p", "p"),
        Column("Joint p, by persona", "p"),
    )
    return Table(
        "several_judges",
        "Judges against one another",
        columns,
        rows,
        f"On the {found['n']} items that all of them decided. Read a pair only by its adjusted p "
        "values: Holm's over all pairs, and those of the joint bootstrap that draws whole "
        "personas anew.",
    )


def ranks(report: Report) -> Table:
    names = run_names(report)
    rows = [
        [names[entry["run"]], entry["best"], entry["worst"]]
        for entry in report["several_judges"]["ranks"]
    ]
    columns = (Column("Run"), Column("Best rank", "count"), Column("Worst rank", "count"))
    return Table(
        "ranks",
        "Ranks that the data leave open",
        columns,
        rows,
        "All of them hold together with 95 % confidence.",
    )


def group_differences(report: Report) -> list[Table]:
    """One table per grouping, in the order of the groups' own tables."""
    names, shown = run_names(report), whole_runs(report)
    columns = (
        Column("Who"),
        Column("Group"),
        Column("less"),
        *_DIFFERENCE,
    )
    tables = []
    for number, group in enumerate(report["groups"], start=1):
        found = group["differences"]
        sides = [("People, majority", found["people"])]
        sides += [(names[index], found["judges"][index]) for index in shown]
        rows = [
            [who, pair["first"] or "(not said)", pair["second"] or "(not said)"]
            + [pair[key] for key in ("difference", "ci", "p", "p_holm")]
            for who, pairs in sides
            for pair in pairs
        ]
        tables.append(
            Table(
                f"differences_{number}",
                f"Differences by {group['label']}",
                columns,
                rows,
                "Groups of at least 30 items each. Only the Holm p, adjusted over the pairs of "
                "one row name, tells a difference from the luck of many comparisons. Intervals "
                "allow for personas and questions in common.",
            )
        )
    return tables


def aggregation(report: Report) -> Table:
    rows = [
        [entry["rule"], entry, entry["undecided"], _reached(entry)]
        for entry in report["human"]["aggregation"]
    ]
    columns = (
        Column("Rule"),
        Column("Accuracy", "share"),
        Column("Undecided", "count"),
        Column("Steps"),
    )
    return Table(
        "aggregation",
        "One answer of many, by other rules",
        columns,
        rows if report["human"]["answers"] else [],
        "Every other table uses the first rule. Intervals (Wilson) hold for these people. "
        "Dawid-Skene gives everybody a confusion matrix of their own, which a few dozen answers "
        "each do not carry: there read one-coin (one accuracy per person) or MACE (people "
        "either know or spam). GLAD adds how hard each item is. None of these four knows the "
        "truth: mistakes that most people share are right answers to them. The vote weighted by "
        "accuracy does know it, of all items but the one that it answers, so it is no rule for "
        f"items without known answers. {CONDITIONAL}",
    )


def _reached(entry: Report) -> str | None:
    """Steps that a model was given, and whether it settled; other rules take none."""
    if "steps" not in entry:
        return None
    if entry["steps"] is None:
        return reason(entry["steps_reason"])
    steps = f"{entry['steps']}"
    return steps if entry["converged"] else f"{steps}, {reason('not_settled')}: no result"


def annotator_groups(report: Report) -> list[Table]:
    """Accuracy and differences by what annotators say of themselves."""
    tables = []
    for number, group in enumerate(report["annotator_groups"], start=1):
        rows = [
            [row["value"] or "(not said)", row["people"], row["answers"]] for row in group["rows"]
        ]
        columns = (
            Column(group["label"]),
            Column("People", "count"),
            Column("Single answers", "share"),
        )
        title = f"People's accuracy by their own {group['label']}"
        few = group["left_out"]
        note = f"Left out are groups of fewer than five people ({few} people). {CONDITIONAL}"
        tables.append(Table(f"annotators_{number}", title, columns, rows, note))
        pairs = [
            [pair["first"] or "(not said)", pair["second"] or "(not said)"]
            + [pair[key] for key in ("difference", "ci", "p", "p_holm")]
            for pair in group["differences"]
        ]
        tables.append(
            Table(
                f"annotator_differences_{number}",
                f"Differences by annotators' {group['label']}",
                (Column("Group"), Column("less"), *_DIFFERENCE),
                pairs,
                "Only the Holm p tells a difference from the luck of many comparisons. Intervals "
                "allow for items, people, personas and questions in common.",
            )
        )
    return tables


def verbosity(report: Report) -> Table:
    human = report["human"]
    sides = [("People, majority", human["verbosity"])]
    sides += [
        (name, judge["verbosity"])
        for name, judge in zip(run_names(report), report["judges"], strict=True)
    ]
    rows = []
    for who, found in sides:
        if found["n"]:
            row: list[Any] = [who, found["n"], found["longer_chosen"], found["longer_true"]]
            for part in (found["difference"], found["per_doubling"]):
                row += [part["value"], part["ci"]]
            rows.append(row)
    columns = (
        Column("Who"),
        Column("Items", "count"),
        Column("is chosen", "percent", "The longer response"),
        Column("is right", "percent", "The longer response"),
        Column("Difference", "points"),
        Column("95 % interval", "points_range"),
        Column("Log odds per doubling", "decimal"),
        Column("95 %", "range"),
    )
    return Table(
        "verbosity",
        "Is the longer response chosen more often than it is right?",
        columns,
        rows,
        "Length in characters; responses of one length are left out. The difference (Tango) takes "
        "items as independent. Log odds of choosing a response for each time it is twice as long, "
        "among items with the same right response: above 0 length itself pulls.",
    )
