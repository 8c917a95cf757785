"""Kinds of certainty on the same items: table, figure, and what each can be trusted with."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from analysis.report.figures import (
    DASHES,
    JUDGES,
    PEOPLE,
    REFERENCE,
    SYMBOLS,
    Figure,
    FigurePanel,
    Key,
    panel,
    plain,
    scatter_trace,
    share_axis,
)
from analysis.report.quantities import (
    Population,
    Quantity,
    Text,
    Words,
    clause,
    joined,
    say,
)
from analysis.report.rater_tests import name_of
from analysis.report.report_json import Json
from analysis.report.results import cannot_tell, items
from analysis.report.rules import TOO_SMALL
from analysis.report.section import Analysis, NumberSource, ReportJson, Section, Sentence
from analysis.report.sentences import MAJORITY, level_of
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.words import percent, run_names
from extras.certainty.kinds import ERRORS, HUMAN, KINDS, TRUTH, certainty_kinds

if TYPE_CHECKING:
    import plotly.graph_objects as go

TRUSTED = "certainty that can be trusted"
LABELS = {
    "native": "native",
    "log_probability": "log-probability",
    "sampled": "sampled",
    "stated": "stated",
    HUMAN: "human",
}


def _names(report: ReportJson) -> Mapping[str, str]:
    names = {f"judges.{place}": name for place, name in enumerate(run_names(report))}
    return names | {MAJORITY: "majority of people"}


def accepted_at(report: ReportJson, trusted: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The last step that holds at the level of this kind of claim; None if none does."""
    level, passed = level_of(report, TRUSTED), None
    for step in trusted["tested"]:
        if step["p_max"] > level:
            break
        passed = step
    return passed


def kinds_table(report: ReportJson) -> Table:
    chapter, names = report["certainty_kinds"], _names(report)
    rows: list[list[Any]] = []
    for row in chapter["rows"]:
        line = [LABELS[row["kind"]], names[row["who"]], row["n"] or chapter["items"]]
        line += [row["accuracy"], row["ece"]]
        for name in ("brier", "auroc", "aurc"):
            line += [row[name], row[f"{name}_ci"]]
        for trusted in row["trusted"]:
            passed = accepted_at(report, trusted)
            line += [
                _share(trusted["observed"], trusted),
                _share(passed["n"] if passed else 0, trusted),
            ]
        together = row.get("with_people", {"value": None, "ci": None})
        rows.append([*line, together["value"], together["ci"]])
    blank: list[Any] = [None] * 16
    for row in chapter["not_compared"]:
        few = f"{names[row['who']]}: not compared, it has too few of the items of the others"
        rows.append([LABELS[row["kind"]], few, row["measured"], *blank])
    wrong = _wrong(report)
    columns = (
        TableColumn("Certainty"),
        TableColumn("Whose"),
        TableColumn("Items", "count"),
        TableColumn("Right" if wrong == "wrong" else "As people", "percent"),
        TableColumn("ECE", "decimal"),
        TableColumn("value", "decimal", "Brier"),
        TableColumn("95 %", "range", "Brier"),
        TableColumn("value", "decimal", "AUROC"),
        TableColumn("95 %", "range", "AUROC"),
        TableColumn("value", "decimal", "AURC"),
        TableColumn("95 %", "range", "AURC"),
        *(
            TableColumn(heading, "percent", f"At most {_error(error)} {wrong}")
            for error in ERRORS
            for heading in ("observed", "holds")
        ),
        TableColumn("Spearman", "decimal", "With people’s certainty"),
        TableColumn("95 %", "range", "With people’s certainty"),
    )
    return Table(
        "certainty_kinds",
        str(_title(report)),
        columns,
        rows if chapter["rows"] or report["judges"] else [],
        _kinds_note(report),
    )


def _title(report: ReportJson) -> Text:
    if not report["certainty_kinds"]["items"]:
        return say("Kinds of certainty")
    return say("Kinds of certainty on the same {of}", of=_of_kinds(report))


def _of_kinds(report: ReportJson) -> Population:
    """The items on which all kinds of certainty are compared."""
    n = report["certainty_kinds"]["items"]
    return items(report, "for which every kind has one", n, "certainty_kinds.items")


def _share(n: int | None, trusted: Mapping[str, Any]) -> float | None:
    """A number of accepted answers as a share of all; 0 if none may be accepted."""
    if not trusted["n"]:
        return None
    return (n or 0) / trusted["n"]


def _error(share: float) -> str:
    return f"{share * 100:g} %"


def _wrong(report: ReportJson) -> str:
    return "wrong" if report["certainty_kinds"]["reference"] == TRUTH else "unlike people"


def _kinds_note(report: ReportJson) -> str:
    against = (
        "Right or wrong: by the persona’s own answer. "
        if report["certainty_kinds"]["reference"] == TRUTH
        else "No right answers are known, so “right” means here: as the majority of people. "
    )
    return (
        f"{against}Kinds are never pooled; all rows are about the items for which each of them has "
        "a verdict and a certainty. Native: the probability from a judge that answers with "
        "probabilities; log-probability: of the answer of a judge that writes; sampled: the share "
        "of repeated samples in one order that gave the verdict. Intervals "
        "allow for people, personas and questions in common. At most 5 % wrong: the share of the "
        "items, the most certain first, that can be accepted. Observed is chosen after the data; "
        "“holds” is tested, adjusted for all rows and all claims of this report."
    )


def curves_table(report: ReportJson) -> Table:
    names = _names(report)
    rows = [
        [
            LABELS[row["kind"]],
            names[row["who"]],
            f"{step['from']:.4g}–{step['to']:.4g}",
            step["confidence"],
            step,
            *(step[key] for key in ("accepted", "coverage", "risk")),
        ]
        for row in _drawn(report)
        for step in row["steps"]
    ]
    wrong = _wrong(report)
    columns = (
        TableColumn("Certainty"),
        TableColumn("Whose"),
        TableColumn("from–to", "text", "This tenth"),
        TableColumn("Mean certainty", "percent", "This tenth"),
        TableColumn("Right" if wrong == "wrong" else "As people", "share", "This tenth"),
        TableColumn("Items", "count", "With all more certain"),
        TableColumn("Coverage", "percent", "With all more certain"),
        TableColumn(wrong.capitalize(), "percent", "With all more certain"),
    )
    return Table(
        "certainty_kinds_curves",
        "Kinds of certainty by tenths of the items, the most certain first",
        columns,
        rows,
        "Equal certainties stay together, so a certainty of few values has fewer, larger steps. "
        "One judge for each kind, as drawn; report.json has all.",
    )


def kinds_figure(report: ReportJson) -> Figure | None:
    """Reliability, and risk against coverage, of one judge for each kind."""
    drawn = [row for row in _drawn(report) if row["steps"]]
    if not drawn:
        return None
    names, order = _names(report), list(KINDS)
    styles = {
        kind: (PEOPLE if kind == HUMAN else JUDGES[place], DASHES[place], SYMBOLS[place])
        for place, kind in enumerate(order)
    }
    labels = [f"{LABELS[row['kind']]}: {names[row['who']]}" for row in drawn]
    wrong = _wrong(report)
    right = "right" if wrong == "wrong" else "as people"
    diagonal = scatter_trace(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        hoverinfo="skip",
        line={"color": REFERENCE, "dash": "dash", "width": 1},
    )
    reliable = [
        _line(label, styles[row["kind"]], _large(row["steps"]), "confidence", "accuracy")
        for label, row in zip(labels, drawn, strict=True)
    ]
    risky = [
        _line(label, styles[row["kind"]], _enough(row["steps"]), "coverage", "risk")
        for label, row in zip(labels, drawn, strict=True)
    ]
    return Figure(
        "certainty_kinds",
        _title(report),
        say(
            f"First: share {right} against mean certainty in tenths of the items, the dashed line "
            f"a perfect match. Second: share {wrong} among the most certain items as more are "
            "accepted; grey lines at 5, 10 and 20 %. One judge for each kind: the one with the "
            "most kinds. Points of fewer than 10 items are not drawn."
        ),
        "certainty_kinds_curves",
        [
            _panel(
                f"Certainty and share {right}",
                _in_words(labels, drawn, "confidence", "accuracy"),
                [diagonal, *reliable],
                ("certainty", right),
                1.03,
                (),
            ),
            _panel(
                f"Share {wrong} as more are accepted",
                _in_words(labels, drawn, "coverage", "risk"),
                risky,
                ("share of items accepted", f"{wrong} among them"),
                max(0.25, *(step["risk"] + 0.03 for row in drawn for step in row["steps"])),
                ERRORS,
            ),
        ],
        key=[
            Key(label, *styles[row["kind"]][:2]) for label, row in zip(labels, drawn, strict=True)
        ],
    )


def _drawn(report: ReportJson) -> list[ReportJson]:
    """One row for each kind, of the judge that has the most kinds."""
    rows = report["certainty_kinds"]["rows"]
    kinds_of = {row["who"]: sum(other["who"] == row["who"] for other in rows) for row in rows}
    drawn = (
        max(same, key=lambda row: kinds_of[row["who"]])
        for kind in KINDS
        if (same := [row for row in rows if row["kind"] == kind])
    )
    return list(drawn)


def _large(steps: Sequence[ReportJson]) -> list[ReportJson]:
    return [step for step in steps if step["n"] >= TOO_SMALL]


def _enough(steps: Sequence[ReportJson]) -> list[ReportJson]:
    return [step for step in steps if step["accepted"] >= TOO_SMALL]


def _line(
    label: str, style: tuple[str, str, str], points: Sequence[ReportJson], x: str, y: str
) -> "go.Scatter":
    colour, dash, symbol = style
    return scatter_trace(
        x=[point[x] for point in points],
        y=[point[y] for point in points],
        mode="lines+markers",
        line={"color": colour, "dash": dash, "width": 2},
        marker={"color": colour, "symbol": symbol, "size": 8},
        customdata=[[point["from"], point["n"], point["accepted"]] for point in points],
        hovertemplate=plain(label)
        + "<br>from %{customdata[0]:.4g}: %{x:.0%}, %{y:.1%}<br>%{customdata[1]} items here, "
        "%{customdata[2]} accepted<extra></extra>",
    )


def _panel(
    title: str,
    alt: str,
    traces: Sequence[Any],
    axes: tuple[str, str],
    top: float,
    levels: Sequence[float],
) -> FigurePanel:
    line = {"color": REFERENCE, "width": 1, "dash": "dot"}
    return panel(
        title,
        f"{title}. {alt}",
        traces,
        height=330,
        xaxis=share_axis(axes[0], range=[0, 1.03]),
        yaxis=share_axis(axes[1], range=[0, min(1.03, top)]),
        shapes=[
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}
            for y in levels
        ],
    )


def _in_words(labels: Sequence[str], drawn: Sequence[ReportJson], x: str, y: str) -> str:
    ends = (
        (label, row["steps"][0], row["steps"][-1]) for label, row in zip(labels, drawn, strict=True)
    )
    return "; ".join(
        f"{label}: {percent(first[y])} at {percent(first[x])}, {percent(last[y])} at "
        f"{percent(last[x])}"
        for label, first, last in ends
    )


def trust_sentence(report: ReportJson) -> Text | None:
    """How many items each certainty can be trusted with; a claim, of those that hold."""
    chapter = report["certainty_kinds"]
    tested = [
        step for row in chapter["rows"] for step in row["trusted"] if step["p_max"] is not None
    ]
    if not tested:
        return None
    errors = [
        Quantity("margin", None, error, f"certainty_kinds.rows.0.trusted.{place}.error")
        for place, error in enumerate(ERRORS)
    ]
    trusted = [_who_can(report, place) for place in range(len(ERRORS))]
    wrong = Words(_wrong(report))
    if not any(trusted):
        return say(
            "{open}: for none do the {items} show that at most {errors} % of the most certain "
            "answers are {wrong}.",
            open=cannot_tell(clause("any certainty can be trusted")),
            items=_of_kinds(report),
            errors=joined([clause("{x}", x=x) for x in errors], last=" or "),
            wrong=wrong,
        )
    parts = [
        clause("with at most {x} % {wrong}, {who}", x=x, wrong=wrong, who=who or Words("none"))
        for x, who in zip(errors, trusted, strict=True)
    ]
    return say(
        "How many of the same {items} can be left to answers that are certain enough: {parts}.",
        items=_of_kinds(report),
        parts=joined(parts, "; ", "; "),
    )


def _who_can(report: ReportJson, place: int) -> Text | None:
    """Up to three certainties that hold at one share of errors, most items first."""
    names, holding = _names(report), []
    for at, row in enumerate(report["certainty_kinds"]["rows"]):
        trusted = row["trusted"][place]
        if passed := accepted_at(report, trusted):
            path = f"certainty_kinds.rows.{at}.trusted.{place}.tested"
            path += f".{trusted['tested'].index(passed)}"
            kind, who = f"{LABELS[row['kind']]} ", name_of(row["who"], names[row["who"]])
            text = clause(
                "{n} by the {kind}certainty of {who} (from {threshold})",
                n=Quantity("count", _of_kinds(report), passed["n"], f"{path}.n"),
                kind=Words("" if row["kind"] == HUMAN else kind),
                who=Words("people") if row["kind"] == HUMAN else who,
                threshold=Quantity("number", None, passed["threshold"], f"{path}.threshold"),
            )
            holding.append((-passed["n"], at, text))
    if not holding:
        return None
    best = [text for *_, text in sorted(holding)[:3]]
    more = [clause("others with fewer")] if len(holding) > len(best) else []
    return joined([*best, *more], last=" and " if more else ", ")


class KindsOfCertainty(Section):
    """Every kind of certainty on the same items, and how many each can be trusted with."""

    name = "kinds_of_certainty"
    has_claims = True
    analyses = (
        Analysis(
            "calibration",
            tables=("certainty_kinds", "certainty_kinds_curves"),
            paths=("certainty_kinds",),
        ),
    )
    shows = ("certainty_kinds",)
    keys = """
certainty_kinds | object | Kinds of certainty on the same items.
certainty_kinds.reference | text | What right means: truth, or majority (as the majority of people).
certainty_kinds.items | count | Items that every row is about.
certainty_kinds.rows | list | One entry for each kind of certainty of each run, and for people.
certainty_kinds.kind | text | The kind: native, log_probability, sampled, stated or human.
measured | count | Items on which the rater has this certainty.
with_people | object | Spearman's correlation of this certainty with that of people.
certainty_kinds.rows.steps | list | Tenths of the items, the most certain first.
steps.from | certainty | Lowest certainty of the tenth.
steps.to | certainty | Highest certainty of the tenth.
steps.confidence | share | Mean certainty of the tenth.
steps.accepted | count | Items down to here.
risk | share | Share of wrong answers among the items down to here.
trusted | list | How many of the most certain items can be accepted at each share of errors.
trusted.error | share | The largest share of errors to allow.
observed | count | Most certain items with a small enough share of errors; chosen after the data.
trusted.tested | list | Steps that were tested, up to the first that fails.
not_compared | list | Certainties that are known for too few of the items of the others.
not_measured | list | Kinds that are missing, with the runs that could have them.
not_measured.raters | list | Places of the runs; empty if a new judge, or people, are needed.
not_measured.raters.* | text | One of them.
"""
    sources = (NumberSource("certainty_kinds", "certainty_kinds"),)

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"certainty_kinds": certainty_kinds(study)}

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        rows = report["certainty_kinds"]["rows"]
        return {TRUSTED: [trusted["p_max"] for row in rows for trusted in row["trusted"]]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield kinds_table(report)
        yield curves_table(report)

    def figures(self, report: ReportJson) -> Iterator[Figure | None]:
        yield kinds_figure(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if text := trust_sentence(report):
            yield Sentence("finding", text)


KINDS_OF_CERTAINTY = KindsOfCertainty()
