"""Tables that hold the first ones to account: clusters, thresholds, corrections, comparisons."""

from collections.abc import Mapping
from typing import Any

from analysis.report.tables import Column, Table
from analysis.report.tables_accuracy import CONDITIONAL
from analysis.report.tables_certainty import certain_sides
from analysis.report.words import reason, run_names, whole_runs

Report = Mapping[str, Any]


def _beside_people(report: Report) -> list[tuple[str, Report]]:
    """Name and comparison of the runs that saw the whole persona; report.json has all of them."""
    names = run_names(report)
    return [(names[index], report["comparison"][index]) for index in whole_runs(report)]


def clusters(report: Report) -> Table:
    human = report["human"]
    sides = [("People, majority", human["majority"]), ("People, single", human["individual"])]
    sides += zip(run_names(report), report["judges"], strict=True)
    rows = []
    for who, side in sides:
        for part, cell in (("overall", side), ("high", side["high"]), ("low", side["low"])):
            found = cell["clusters"]
            if cell["n"]:
                rows.append([who, part, cell, found["personas"], found["questions"], found["ci"]])
    columns = (
        Column("Who"),
        Column("Certainty"),
        Column("Accuracy", "share"),
        Column("Personas", "count"),
        Column("Questions", "count"),
        Column("95 %, personas and questions shared", "percent_range"),
    )
    return Table(
        "clusters",
        "How many personas and questions each accuracy rests on",
        columns,
        rows,
        "Answers about one persona or one question are alike. The last interval allows for that "
        "(and for people who answered several items); the one below the accuracy is about these "
        "personas and questions alone. With few of either it is wide, and rightly so. "
        + CONDITIONAL,
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
        Column("Difference", "points"),
        Column("95 % interval", "points_range"),
        Column("p", "p"),
        Column("Holm p", "p"),
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


def threshold_rules(report: Report) -> Table:
    rows = []
    for who, side in certain_sides(report):
        rules, held = side["certainty"]["rules"], side["certainty"]["held_out"]
        rows.append(
            [
                who,
                rules["at"],
                rules["at_least"],
                rules["above"],
                held["threshold"],
                held["chosen_on"],
                held["measured_on"],
                held["coverage"],
            ]
        )
    tau = report["parameters"]["threshold"]
    columns = (
        Column("Who"),
        Column(f"Exactly {tau}", "count"),
        Column(f"≥ {tau}", "share"),
        Column(f"> {tau}", "share"),
        Column("Threshold", "number", "Chosen on half, measured on the other"),
        Column("choosing half", "share", "Chosen on half, measured on the other"),
        Column("other half", "share", "Chosen on half, measured on the other"),
        Column("Coverage", "percent", "Chosen on half, measured on the other"),
    )
    return Table(
        "threshold_rules",
        f"The threshold {tau} ({chosen(report)}), both ways to read it, and one that saw half",
        columns,
        rows,
        "The lowest certainty that reaches 80 % on one half of the personas, with at least 30 "
        "answers; what it gives on the other half is the only honest one of the two.",
    )


def chosen(report: Report) -> str:
    return f"set {report['parameters']['threshold_chosen']}".replace("set post hoc", "post hoc")


def recalibration(report: Report) -> Table:
    rows = []
    for who, side in certain_sides(report):
        found, measures = side["certainty"]["recalibration"], side["certainty"]["measures"]
        rows.append(
            [who, found["n"]]
            + [found[key] for key in ("raw", "isotonic", "logistic", "base_rate")]
            + [measures["skill"]["ci"], measures["auroc"]["value"], measures["auroc"]["ci"]]
        )
    columns = (
        Column("Who"),
        Column("n", "count"),
        Column("as stated", "decimal", "Brier score"),
        Column("isotonic", "decimal", "Brier score"),
        Column("logistic", "decimal", "Brier score"),
        Column("a constant", "decimal", "Brier score"),
        Column("Constant less stated, 95 %", "range"),
        Column("AUROC", "decimal"),
        Column("95 % interval", "range"),
    )
    return Table(
        "recalibration",
        "What certainty is worth, as stated and corrected",
        columns,
        rows,
        "Lower Brier scores are better. Corrections are fitted on four fifths of the items and "
        "measured on the rest; the constant is the share of right answers there. A stated "
        "certainty above the constant is worth less than saying the same number every time. "
        "Intervals draw items anew.",
    )


def scale_use(report: Report) -> Table:
    found = report["human"]["scale_use"]
    rows = [
        ["As stated", found["icc"]["value"], found["icc"]["ci"], found["auroc"]],
        [
            "Less each person's mean",
            found["icc_centred"]["value"],
            found["icc_centred"]["ci"],
            found["auroc_centred"],
        ],
    ]
    columns = (
        Column("People's certainty"),
        Column("ICC(1,1)", "decimal"),
        Column("95 % interval", "range"),
        Column("AUROC", "decimal"),
    )
    return Table(
        "scale_use",
        "How people use the scale",
        columns,
        rows if any(row[1] is not None for row in rows) else [],
        "ICC: the share of the variance of certainty that lies between items and not between the "
        "people who answered them.",
    )


def interaction(report: Report) -> Table:
    rows = []
    for name, versus in _beside_people(report):
        found = versus["certainty"]["interaction"]
        if found["interaction"]["value"] is not None:
            rows.append(
                [
                    name,
                    found["n"],
                    found["people"]["value"],
                    found["model"]["value"],
                    found["interaction"]["value"],
                    found["interaction"]["ci"],
                    found["p"],
                ]
            )
    columns = (
        Column("Run"),
        Column("Answers", "count"),
        Column("people", "decimal", "Log odds ratio of high certainty"),
        Column("judge", "decimal", "Log odds ratio of high certainty"),
        Column("Judge less people", "decimal"),
        Column("95 % interval", "range"),
        Column("p", "p"),
    )
    return Table(
        "interaction",
        "Does high certainty say more from the judge than from a person?",
        columns,
        rows,
        "A sensitivity analysis: logistic regression of being right on who answers, high "
        "certainty, and both, over single answers; its variance allows for items, people, "
        "personas and questions in common. Above 0: the judge's high certainty says more.",
    )


def worth(report: Report) -> Table:
    rows = []
    for name, versus in _beside_people(report):
        found = versus["worth"]
        if found["judge_accuracy"] is not None:
            rows.append(
                [
                    name,
                    found["n"],
                    found["judge_accuracy"],
                    _people(found),
                    _range(found),
                    found["ceiling"],
                ]
            )
    columns = (
        Column("Run"),
        Column("Items", "count"),
        Column("Accuracy", "percent"),
        Column("Worth people"),
        Column("95 % interval"),
        Column("Majority of very many", "percent"),
    )
    return Table(
        "worth",
        "How many people a judge is worth",
        columns,
        rows,
        "The number of people whose majority is as accurate on the same items: counted as far as "
        "items have answers, beyond that from a beta distribution of the items' difficulty. "
        "Intervals draw items anew and take people as a random sample.",
    )


def _people(found: Report) -> str:
    if found["people"] is None:
        return {"below one": "less than one", "above any": "more than any number"}.get(
            found["place"], reason(found["people_reason"])
        )
    return f"{found['people']:.1f}"


def _range(found: Report) -> str:
    low = "less than one" if found["low"] is None else f"{found['low']:.1f}"
    high = "any number" if found["high"] is None else f"{found['high']:.1f}"
    return f"{low} to {high}"


def mixes(report: Report) -> Table:
    rows = [
        [
            name,
            mix["policy"],
            mix["people"],
            mix["threshold"],
            mix["answers_per_item"],
            mix["accuracy"],
        ]
        for name, versus in _beside_people(report)
        for mix in versus["mixes"]
    ]
    columns = (
        Column("Run"),
        Column("Who labels"),
        Column("People asked", "count"),
        Column("below certainty", "number"),
        Column("Answers of people per item", "decimal"),
        Column("Accuracy", "percent"),
    )
    return Table(
        "mixes",
        "Best mixtures of people and judge at each price",
        columns,
        rows,
        "Mixtures that no cheaper one reaches, a tie counting one half. The price is people's "
        "answers per item; the judge's own cost stands in its table. These are accuracies on "
        "these items: the best of many is partly luck.",
    )


def shared_guess(report: Report) -> Table:
    keys = ("people_follow", "right", "model_follows_right", "model_follows_wrong")
    rows = []
    for name, versus in _beside_people(report):
        found = versus["shared_guess"]
        if found["right"]["value"] is not None:
            row: list[Any] = [name, found["n"]]
            for key in keys:
                row += [found[key]["value"], found[key]["ci"]]
            rows.append(row)
    columns = [Column("Run"), Column("Items", "count")]
    for group in (
        "c: people follow the guess",
        "r: the guess is right",
        "Judge follows a right guess",
        "… and a wrong one",
    ):
        columns += [Column("share", "decimal", group), Column("95 %", "range", group)]
    return Table(
        "shared_guess",
        "One guess that all share",
        tuple(columns),
        rows,
        "The model of a common guess per item. A judge that follows wrong guesses as often as "
        "right ones shares the stereotype; one that knows better does not.",
    )


def leave_one_out(report: Report) -> Table:
    rows = []
    for name, versus in _beside_people(report):
        found = versus["leave_one_out"]
        if found["n"]:
            rows.append(
                [
                    name,
                    found["n"],
                    found["judge_agreement"],
                    found["people_agreement"],
                    found["difference"],
                    found["ci"],
                ]
            )
    columns = (
        Column("Run"),
        Column("Answers", "count"),
        Column("Judge", "percent", "As the majority of the others"),
        Column("Person", "percent", "As the majority of the others"),
        Column("Difference", "points"),
        Column("95 % interval", "points_range"),
    )
    return Table(
        "leave_one_out",
        "Judge and person against the majority of the others",
        columns,
        rows,
        "For every answer of a person, the majority of the other people of the item; where they "
        "tie the answer is left out. The interval allows for items and people in common.",
    )


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
        "either know or spam). GLAD adds how hard each item is. None of them knows the truth: "
        f"mistakes that most people share are right answers to all four. {CONDITIONAL}",
    )


def _reached(entry: Report) -> str | None:
    """Steps that a model was given, and whether it settled; other rules take none."""
    if "steps" not in entry:
        return None
    if entry["steps"] is None:
        return reason(entry["steps_reason"])
    return f"{entry['steps']}" if entry["converged"] else f"{entry['steps']}, not settled"
