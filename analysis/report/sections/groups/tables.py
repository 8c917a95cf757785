"""Tables of groups and prices: personas, who judges whom, ablations as the article prints them."""

from collections.abc import Mapping
from typing import Any

from analysis.report.sections.accuracy.tables import CONDITIONAL
from analysis.report.tables import Column, Table
from analysis.report.text.numbers import features_words, run_names, whole_runs

Report = Mapping[str, Any]


def personas(report: Report) -> Table:
    """Every persona feature in one table, as the heat map shows them."""
    names, shown = run_names(report), whole_runs(report)
    rows = [
        [table["label"], row["value"] or "(not said)", row["items"], row["people"]]
        + [row["judges"][index] for index in shown]
        for table in report["groups"]
        if table["by"] == "feature"
        for row in table["rows"]
    ]
    columns = (
        Column("Feature"),
        Column("Value"),
        Column("Items", "count"),
        *(Column(who, "share") for who in ("People, majority", *(names[i] for i in shown))),
    )
    return Table("personas", "Accuracy by persona feature", columns, rows, CONDITIONAL)


def who_judges_whom(report: Report) -> list[Table]:
    """One table per pair of characteristics: annotators down, personas across."""
    return [
        Table(
            f"whom_{number}",
            f"Who judges whom: {found['annotator']} of the annotator, {found['persona']} of the "
            "persona",
            (
                Column(f"Annotator: {found['annotator']}"),
                Column("People", "count"),
                *(
                    Column(value, "share", f"Persona: {found['persona']}")
                    for value in found["columns"]
                ),
            ),
            [[row["value"], row["people"], *row["cells"]] for row in found["rows"]],
            _whom_note(found),
        )
        for number, found in enumerate(report["who_judges_whom"], start=1)
    ]


def _whom_note(found: Report) -> str:
    n = found["left_out"]
    who = "1 person" if n == 1 else f"{n} people"
    left_out = f" Left out: {who} of smaller or unknown groups." if n else ""
    return (
        "Single answers. Intervals allow for items, people, personas and questions in common. "
        f"Groups of at least five annotators.{left_out} {CONDITIONAL}"
    )


def own_group(report: Report) -> Table:
    """Personas of the annotator's own group beside all others."""
    rows = [
        [f"{found['annotator']} / {found['persona']}", found["own"], found["other"]]
        for found in report["who_judges_whom"]
        if found["own"] is not None
    ]
    columns = (
        Column("Annotator / persona"),
        Column("Same group", "share"),
        Column("Another group", "share"),
    )
    return Table(
        "own_group",
        "Are people better at judging for those who are like them?",
        columns,
        rows,
        "Same group: both have the same word for the characteristic. Single answers. "
        + CONDITIONAL,
    )


def ablation_cells(report: Report) -> Table:
    """As Figure 3 of the source article: judges down; all, fewer and no features across."""
    runs: dict[tuple[str, str], dict[str, tuple[Report, Report | None]]] = {}
    for judge in report["judges"]:
        own = runs.setdefault((judge["judge"], judge["setting"]), {})
        change = next((e for e in report["ablations"] if e["run"] == judge["run"]), None)
        if judge["features"] == "all" or change is not None:
            own.setdefault(judge["features"], (judge, change))
    ablated = {key: own for key, own in runs.items() if len(own) > 1}
    features = sorted({name for own in ablated.values() for name in own}, key=_size)
    columns = [Column("Judge")]
    for name in features:
        head = features_words(name)
        columns += [
            Column("High", "share", head),
            Column("Low", "share", head),
            Column("Share high", "percent", head),
        ]
        if name != "all":
            columns.append(Column("Change", "points", head))
    several = len({setting for _, setting in ablated}) > 1
    rows = []
    for (judge, setting), own in sorted(ablated.items()):
        row: list[Any] = [f"{judge} ({setting})" if several else judge]
        for name in features:
            row += _ablated(*own.get(name, (None, None)), is_whole=name == "all")
        rows.append(row)
    return Table(
        "ablation_cells",
        "Accuracy and certainty as the judge sees less of the person",
        tuple(columns),
        rows,
        f"High: a certainty of at least {report['parameters']['threshold']}. Share high: of the "
        "answers with a certainty. Change: accuracy less that with the whole persona, on the items "
        f"that both decided. {CONDITIONAL}",
    )


NOTHING = {"n": 0, "correct": 0, "accuracy": None, "ci": None}


def _ablated(judge: Report | None, change: Report | None, *, is_whole: bool) -> list[Any]:
    cells: list[Any] = [NOTHING, NOTHING, None]
    if judge is not None:
        stated = judge["high"]["n"] + judge["low"]["n"]
        share = judge["high"]["n"] / stated if stated else None
        cells = [judge["high"], judge["low"], share]
    if is_whole:
        return cells
    lost = None if change is None else change["accuracy_lost"]
    return [*cells, None if lost is None else -lost]


def _size(features: str) -> tuple[int, int, str]:
    """The whole persona first, then fewer and fewer features, and none last."""
    if features in {"all", "none"}:
        return (0 if features == "all" else 2, 0, features)
    return (1, -len(features.split(",")), features)


def price(report: Report) -> Table:
    """What a right answer costs, of people and of judges."""
    pay, people = report["human"]["pay"], report["human"]
    rows: list[list[Any]] = []
    if pay["rewards"] is not None:
        for who, side in (
            ("People, single answers", "individual"),
            ("People, majority", "majority"),
        ):
            correct = people[side]["correct"]
            each = pay["rewards"] / correct if correct else None
            rows.append([who, pay["currency"], pay["rewards"], correct, each])
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        cost = judge["cost"]
        rows.append([name, "USD", cost["usd"], judge["correct"], cost["usd_per_correct"]])
    columns = (
        Column("Who"),
        Column("Currency"),
        Column("Paid", "money", currency_in=1),
        Column("Right labels", "count"),
        Column("Per right label", "money", currency_in=1),
    )
    known = [row for row in rows if row[2] is not None]
    return Table(
        "price",
        "What a right label costs",
        columns,
        known,
        "People: rewards of those who finished, before platform fees and taxes; a label of the "
        "majority takes several answers. Judges: what providers charged, by the prices that are "
        "set for them; 0 where a model of one's own has no price. Labels without a truth to score "
        "them by are paid for, too, but cannot be right.",
    )
