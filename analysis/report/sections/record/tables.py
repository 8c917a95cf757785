"""Tables about people and items: how far people agree, who they are by pseudonym, every item."""

from collections.abc import Mapping
from typing import Any

from analysis.report.tables import Column, Kind, Table
from analysis.report.text.numbers import reason, run_names

Report = Mapping[str, Any]


def agreement(report: Report) -> Table:
    found = report["human"]["agreement"]
    sheets, name = found["bootstrap"], f"Sheets of {found['bootstrap']['size']}"
    # Name, where the value lies, its key, and the key of its interval.
    measures: list[tuple[str, Report, str, str | None]] = [
        ("Pairs of people who agree", found, "percent", "percent_ci"),
        ("… expected from accuracy alone", found["from_accuracy"], "agreement", None),
        ("Krippendorff's alpha", found["krippendorff_alpha"], "value", "ci"),
        ("… with pairs drawn anew, not items", found["krippendorff_alpha"], "value", "pairs_ci"),
        ("Fleiss' kappa", found, "fleiss_kappa", "fleiss_kappa_ci"),
        ("Gwet's AC1", found, "gwet_ac1", "gwet_ac1_ci"),
        ("Brennan-Prediger", found, "brennan_prediger", "brennan_prediger_ci"),
        ("Items with one voice", found["unanimous"], "share", None),
        (f"{name}: mean agreement", sheets, "mean", "ci"),
        (f"{name}: standard deviation", sheets, "sd", None),
        (f"{name}, all pairs: standard deviation", sheets["all_pairs"], "sd", None),
        ("Alpha of certainty (interval)", found, "certainty_alpha", "certainty_alpha_ci"),
        (
            "Alpha of certainty (ordinal)",
            found,
            "certainty_alpha_ordinal",
            "certainty_alpha_ordinal_ci",
        ),
        ("AC2 of the five certainty bands", found, "certainty_bands_ac2", "certainty_bands_ac2_ci"),
    ]
    if report["study"]["allow_tie"]:
        alpha = ("Krippendorff's alpha, without ties", found["without_ties"], "value", "ci")
        measures.insert(4, alpha)
    rows = [
        [
            label,
            where[key],
            where[interval] if interval else None,
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
        "Intervals resample items. AC1 and Brennan-Prediger count the options that were offered, "
        "chosen or not, and AC2 weighs bands by their squared distance. A sheet is one annotator "
        "pair on each of 30 items drawn without replacement: its standard deviation is the spread "
        "of one sheet, not the error of the mean. With all pairs of its items a sheet is steadier. "
        "Drawing pairs anew takes those of one item for independent: its interval is too narrow.",
    )


def single_intervals(report: Report) -> Table:
    single = report["human"]["individual"]
    rows = [
        [label, single[band], single[band]["pigeonhole_ci"]]
        for band, label in (("high", "High certainty"), ("low", "Low certainty"))
        if single[band]["n"]
    ]
    columns = (
        Column("Single answers of people"),
        Column("Accuracy", "share"),
        Column("Pigeonhole 95 %", "percent_range"),
    )
    return Table(
        "single_intervals",
        "Single answers by another interval",
        columns,
        rows,
        "The pigeonhole bootstrap draws people and items anew, each on their own. It is "
        "conservative: up to 1.7 times too wide where answers have nothing in common.",
    )


def people(report: Report) -> Table:
    """Who came, and which answers count; of the others, why not."""
    human = report["human"]
    left_out = human["not_counted"]
    rows = [[f"People: {state.replace('_', ' ')}", n] for state, n in human["people"].items()]
    rows += [
        ["People who count", human["annotators"]],
        ["Answers that count", human["answers"]],
        ["Surplus answers (the item had enough)", left_out["surplus"]],
        ["Answers of people who left", left_out["released"]],
        ["Withdrawn answers", left_out["withdrawn"]],
        ["People excluded by the researchers", left_out["excluded_people"]],
        ["Answers excluded by the researchers", left_out["excluded"]],
    ]
    rows += [
        [f"Items with {votes} {'answer' if votes == '1' else 'answers'}", n]
        for votes, n in human["coverage"].items()
    ]
    columns = (Column("What"), Column("How many", "count"))
    return Table("people", "Who came, and which answers do not count", columns, rows)


def quotas(report: Report) -> Table:
    rows = [[cell["group"], cell["wanted"], cell["finished"]] for cell in report["human"]["quotas"]]
    columns = (Column("Group"), Column("Wanted", "count"), Column("Finished", "count"))
    return Table("quotas", "People wanted of each group", columns, rows)


def exclusions(report: Report) -> Table:
    """Accuracy before and after researchers left people out; no rows where they left out none."""
    human, before = report["human"], report["human"]["before_exclusions"]
    sides = (("People, majority", "majority"), ("People, single", "individual"))
    rows = [[who, before[key], human[key]] for who, key in sides if before[key] is not None]
    columns = (
        Column("Who"),
        Column("before", "share", "Accuracy"),
        Column("after", "share", "Accuracy"),
    )
    return Table(
        "exclusions",
        "Accuracy before and after exclusions",
        columns,
        rows,
        f"Before: {before['answers']:,} answers of {before['annotators']:,} people. After: "
        f"{human['answers']:,} answers of {human['annotators']:,} people. Only exclusions by the "
        "researchers; withdrawn answers are gone from both.",
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
        ("Longest run on a side", "count", "longest_run"),
        ("Bits per answer", "decimal", "bits"),
        ("Median seconds", "number", "median_seconds"),
    )
    columns = (
        Column("Person"),
        Column("Accuracy", "share"),
        *(Column(heading, kind) for heading, kind, _ in fields),
        Column("seen", "count", "Attention checks"),
        Column("failed", "count", "Attention checks"),
    )
    rows = [
        [row["rater"], row, *(row[key] for _, _, key in fields), *row["checks"].values()]
        for row in report["human"]["raters"]
    ]
    return Table(
        "raters",
        "How each person worked, by pseudonym",
        columns,
        rows,
        "Signs to look at, never grounds to reject anybody: who disagrees with others may know "
        "better. AUROC needs ten right and ten wrong answers with a certainty. The longest run is "
        "of answers on one side of the screen, in the order in which the person saw the items. "
        "Bits: what one answer tells of the right one by the model of Dawid and Skene, 0 for "
        "somebody who ignores the items; from a few dozen answers it is rough.",
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
