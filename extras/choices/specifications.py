"""Chapter on other choices: table and curve of the headline under every specification."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.report.figures import (
    CORRECT,
    REFERENCE,
    WRONG,
    Figure,
    Key,
    Panel,
    axis,
    panel,
    scatter_trace,
)
from analysis.report.report_json import Json
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.words import points
from extras.choices.multiverse import EXCLUSIONS, TIES, UNITS, multiverse

CLAIMS = {"all": "all items", "certain": "where certain"}


STATES = {
    "better": "judge better",
    "worse": "judge worse",
    "equivalent": "equivalent",
    "cannot_tell": "cannot tell",
    "too_few": "too few to say",
}


def multiverse_table(report: ReportJson) -> Table:
    rows = [
        [
            CLAIMS[claim["claim"]],
            TIES[row["ties"]],
            f"≥ {row['threshold']:g}" if "threshold" in row else None,
            EXCLUSIONS[row["exclusions"]],
            UNITS[row["unit"]],
            row["n"],
            row["n_people"],
            row["difference"],
            row["ci"],
            STATES[row["state"]],
            _holds(row),
        ]
        for claim in report["multiverse"]["claims"]
        for row in claim["specifications"]
    ]
    return Table(
        "multiverse",
        "The headline under other choices",
        (
            TableColumn("Comparison over"),
            TableColumn("Ties"),
            TableColumn("High"),
            TableColumn("Answers"),
            TableColumn("What varies"),
            TableColumn("Judge’s items", "count"),
            TableColumn("people’s", "count"),
            TableColumn("Judge minus people, points", "points"),
            TableColumn("95 % interval", "points_range"),
            TableColumn("Conclusion"),
            TableColumn("Same as the headline"),
        ),
        rows,
        "The first row of each comparison is the one in the headline: items, people, personas "
        "and questions all vary. Where only one of them varies, intervals are t intervals over "
        "it; where items vary and no tie counts half, Tango's and McNemar's, for these "
        "annotators only. With several judges Holm's p must be at most .05 in every row. Hasty: "
        "a median time under a third of the median person's. One-sided: nine of ten answers on "
        "one side of the screen, with at least ten answers." + _left_out(report),
    )


def _holds(row: Mapping[str, Any]) -> str | None:
    if row["reported"]:
        return "headline"
    if row["holds"] is None:
        return None
    return "yes" if row["holds"] else "no"


def _left_out(report: ReportJson) -> str:
    """A note on the options that were left out, and why."""
    words = {**TIES, **EXCLUSIONS, **UNITS}
    claims = report["multiverse"]["claims"]
    options = {
        f"{words[option['option']]} ({option['because']})"
        for claim in claims[:1]
        for option in claim["left_out"]
    }
    return f" Left out for all items: {'; '.join(sorted(options))}." if options else ""


MARGIN = {"l": 46, "r": 12, "t": 12, "b": 12}


CURVE, ROW = 200, 26


WORDS: Mapping[str, Mapping[Any, str]] = {"ties": TIES, "exclusions": EXCLUSIONS, "unit": UNITS}


def specification_curve(report: ReportJson) -> Figure | None:
    """One panel for each claim of the headline that can be compared."""
    claims = [claim for claim in report["multiverse"]["claims"] if claim["of"] > 1]
    if not claims:
        return None
    holds = all(claim["holds"] == claim["of"] for claim in claims)
    first = claims[0]
    title = (
        "The headline is the same under every choice tried"
        if holds
        else f"{first['holds']} of {first['of']} specifications agree with the headline"
    )
    return Figure(
        "multiverse",
        title,
        "Judge minus people in percentage points with 95 % intervals, one column per "
        "specification, in rising order. Dots below show its choices; the square is the "
        "specification in the headline.",
        "multiverse",
        [_panel(claim) for claim in claims],
        (
            Key("same conclusion as the headline", CORRECT),
            Key("another conclusion", WRONG, "stripes"),
        ),
    )


def _panel(claim: Mapping[str, Any]) -> Panel:
    rows = [row for row in claim["specifications"] if row["holds"] is not None]
    rows.sort(key=lambda row: row["difference"])
    options = [
        (axis_name, option)
        for axis_name, values in claim["axes"].items()
        if len(values) > 1
        for option in (sorted(values) if axis_name == "threshold" else values)
        if any(row[axis_name] == option for row in rows)
    ]
    below = ROW * len(options) + 8
    height = CURVE + below + MARGIN["t"] + MARGIN["b"]
    share = below / (CURVE + below)
    low, high = rows[0]["difference"], rows[-1]["difference"]
    where = CLAIMS[claim["claim"]]
    return panel(
        f"{claim['judge']}, {where}: the same in {claim['holds']} of {claim['of']}",
        f"{claim['of']} specifications of the comparison over {where}: differences from "
        f"{points(low)} to {points(high)} points; {claim['holds']} agree with the headline.",
        [*_curve(rows), *_dots(rows, options)],
        height=height,
        margin=MARGIN,
        xaxis=axis(visible=False, range=[-0.7, len(rows) - 0.3], anchor="y2"),
        yaxis=axis(tickformat=".0%", domain=[share, 1]),
        yaxis2=axis(
            domain=[0, share],
            range=[len(options) - 0.4, -0.9],
            showticklabels=False,
            showgrid=False,
            showline=False,
            ticks="",
        ),
        shapes=[_zero()],
        annotations=[_name(place, option) for place, option in enumerate(options)],
    )


def _curve(rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    traces = []
    for holds, colour, symbol in ((True, CORRECT, "circle"), (False, WRONG, "diamond")):
        places = [place for place, row in enumerate(rows) if row["holds"] is holds]
        chosen = [rows[place] for place in places]
        values = [row["difference"] for row in chosen]
        traces.append(
            scatter_trace(
                x=places,
                y=values,
                mode="markers",
                marker={
                    "color": colour,
                    "symbol": ["square" if row["reported"] else symbol for row in chosen],
                    "size": [13 if row["reported"] else 7 for row in chosen],
                    "line": {"width": 1, "color": "#ffffff"},
                },
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [row["ci"][1] - row["difference"] for row in chosen],
                    "arrayminus": [row["difference"] - row["ci"][0] for row in chosen],
                    "thickness": 1.2,
                    "width": 0,
                    "color": colour,
                },
                hovertemplate="%{y:+.1%}<extra></extra>",
            )
        )
    return traces


def _dots(rows: Sequence[Mapping[str, Any]], options: Sequence[tuple[str, Any]]) -> list[Any]:
    """A dot for each option of a specification, in the shape used in the curve above."""
    traces = []
    for holds, colour, symbol in ((True, CORRECT, "circle"), (False, WRONG, "diamond")):
        dots = [
            (column, place)
            for place, (name, option) in enumerate(options)
            for column, row in enumerate(rows)
            if row[name] == option and row["holds"] is holds
        ]
        traces.append(
            scatter_trace(
                x=[column for column, _ in dots],
                y=[place for _, place in dots],
                yaxis="y2",
                mode="markers",
                marker={"size": 5, "color": colour, "symbol": symbol},
                hoverinfo="skip",
            )
        )
    return traces


def _name(place: int, option: tuple[str, Any]) -> dict[str, Any]:
    """The option's name above its row of dots, to fit on a phone."""
    name, value = option
    text = f"high from {value:g}" if name == "threshold" else WORDS[name][value]
    return {
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": place,
        "yref": "y2",
        "yshift": 11,
        "text": text,
        "showarrow": False,
        "font": {"size": 11, "color": "#505a5f"},
    }


def _zero() -> dict[str, Any]:
    line = {"color": REFERENCE, "width": 1.5, "dash": "dash"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0, "line": line}


def _choices(report: ReportJson) -> Iterator[tuple[str, str]]:
    """Warn if the headline depends on a choice."""
    for claim in report["multiverse"]["claims"]:
        if claim["holds"] < claim["of"]:
            what = "all items" if claim["claim"] == "all" else "the items that each is certain of"
            yield (
                f"multiverse_{claim['claim']}",
                f"The comparison over {what} depends on choices: it has the same result in "
                f"{claim['holds']} of {claim['of']} specifications.",
            )


class ChoicesSection(Section):
    """The headline under every specification."""

    name = "choices"
    title = "Other choices"
    inside = "The finding under all combinations of choices"
    needs = ("headline", "certainty_headline", "paired_difference", "high_sets")
    keys = """
multiverse | object | The answer under every combination of other choices.
multiverse.sentence | text | The result as a sentence.
claims | list | One entry for each part of the answer.
claim | text | The part.
holds | count or flag | Specifications with the same conclusion; of one, whether it has it.
of | count | Specifications.
axes | object | The choices and their options.
axis | text | The choice.
option | text | Its option.
because | text | Why it was left out.
specifications | list | One entry for each combination.
specifications.* | text | The option in the specification.
n_people | count | Annotators whose answers count.
specifications.reported | flag | Whether it is the one in the headline.
exclusions | text | Whose answers count.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"multiverse": multiverse(earlier, study.data, study.shared)}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield multiverse_table(report)

    def figures(self, report: ReportJson) -> Iterator[Figure | None]:
        yield specification_curve(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for code, text in _choices(report):
            yield Sentence.of("limit", text, code)

    def caveat(self, report: ReportJson) -> str:
        for claim in report["multiverse"]["claims"]:
            if claim["claim"] == "all" and claim["holds"] < claim["of"]:
                if report["headline"]["state"] in {"cannot_tell", "too_few"}:
                    other = claim["of"] - claim["holds"]
                    return f"{other} of {claim['of']} specifications give an answer."
                return f"The finding holds in {claim['holds']} of {claim['of']} specifications."
        return ""


CHOICES = ChoicesSection()
