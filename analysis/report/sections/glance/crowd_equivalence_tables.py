"""Tables of what a judge is worth: in people, in mixtures, in the place of one of them."""

from collections.abc import Mapping
from typing import Any

from analysis.report.tables import Column, Table
from analysis.report.text.numbers import beside_people, reason

Report = Mapping[str, Any]


def worth(report: Report) -> Table:
    rows = []
    for name, versus in beside_people(report):
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
            mix["ci"],
            mix["often_best"],
        ]
        for name, versus in beside_people(report)
        for mix in versus["mixes"]
    ]
    columns = (
        Column("Run"),
        Column("Who labels"),
        Column("People asked", "count"),
        Column("below certainty", "number"),
        Column("Answers of people per item", "decimal"),
        Column("Accuracy", "percent"),
        Column("95 % interval", "percent_range"),
        Column("Best in", "percent"),
    )
    return Table(
        "mixes",
        "Best mixtures of people and judge at each price",
        columns,
        rows,
        "Mixtures that no cheaper one reaches, a tie counting one half. The price is people's "
        "answers per item; the judge's own cost stands in its table. Intervals draw items anew. "
        "The best of many is partly luck: “best in” is the share of resamples in which the mixture "
        "is still one that no cheaper one reaches.",
    )


def shared_guess(report: Report) -> Table:
    keys = ("people_follow", "right", "model_follows_right", "model_follows_wrong")
    rows = []
    for name, versus in beside_people(report):
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
    for name, versus in beside_people(report):
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
