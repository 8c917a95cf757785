"""The figures of a report, each with a title that states what it shows.

Figures are made from report.json as figures of plotly, which refuses a property or a value that it
does not know. A page has them as still pictures, over which plotly draws in the app, with their
numbers as tables below.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.report.quantities import Quantity, Text, clause
from analysis.report.report_json import ReportJson
from analysis.report.tables import compact
from analysis.report.words import run_names

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Every function that needs plotly imports it, because only who draws should wait for it.

CORRECT, WRONG = "#12436D", "#F46A25"
PEOPLE, REFERENCE = "#801650", "#3D3D3D"
# The first judge has the model colour; dash and symbol separate runs in greyscale too.
JUDGES = ("#28A197", "#2073BC", "#8A5A00", "#6B7278", "#A285D1", "#0B5C2E")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
STROKES = {
    "": "",
    "stripes": "",
    "solid": "",
    "dash": "6 4",
    "dot": "2 3",
    "dashdot": "7 3 2 3",
    "longdash": "9 4",
    "longdashdot": "10 3 2 3",
}
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross")
# Of plotly's writers of JSON, the one that gives the same bytes on every machine.
ENGINE = "json"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
NAME_LENGTH = 48


@dataclass(frozen=True)
class FigurePanel:
    """One plot: its title (in small multiples), the drawing, and its text for screen readers.

    `marks` has what the page needs to move the drawing's marks to another threshold.
    """

    title: str
    alt: str
    height: int
    drawing: "go.Figure"
    marks: Mapping[str, Any] | None = None

    @cached_property
    def plot(self) -> Mapping[str, Any]:
        """The drawing as plotly writes it, which copies all of it: the page and files share one."""
        plot: Mapping[str, Any] = self.drawing.to_plotly_json()
        return plot


@dataclass(frozen=True)
class Key:
    """A key entry: the meaning of a colour and a line, drawn above the plots."""

    label: str
    colour: str
    dash: str = ""

    @property
    def strokes(self) -> str:
        """The line as an SVG dash pattern."""
        return STROKES[self.dash]


@dataclass(frozen=True)
class Variant:
    """An optional view of a figure, initially off: label, and layout with and without it."""

    label: str
    on: Mapping[str, Any]
    off: Mapping[str, Any]

    @property
    def on_json(self) -> str:
        return compact(self.on)

    @property
    def off_json(self) -> str:
        return compact(self.off)


@dataclass(frozen=True)
class Figure:
    """Panels under one active title; `table` names the table that holds their numbers.

    `neutral` is the title while a reader tries another threshold, because the active title is a
    finding at the report's threshold. `is_stacked` puts full-width panels below one another.
    """

    name: str
    title: Text
    caption: Text
    table: str
    panels: Sequence[FigurePanel]
    key: Sequence[Key] = ()
    neutral: str = ""
    is_stacked: bool = False
    variant: Variant | None = None

    @property
    def plots(self) -> Iterator[tuple[str, FigurePanel]]:
        """Every panel with its name, which its element on the page and its files have."""
        for number, drawn in enumerate(self.panels, start=1):
            yield f"{self.name}-{number}", drawn

    @property
    def is_multiple(self) -> bool:
        return len(self.panels) > 1

    @property
    def has_threshold(self) -> bool:
        return any(panel.marks for panel in self.panels)


def plain(text: str) -> str:
    """Escape imported text for labels, in which plotly interprets some HTML."""
    short = text if len(text) <= NAME_LENGTH else text[: NAME_LENGTH - 1] + "…"
    return short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def panel(
    title: str,
    alt: str,
    traces: Sequence[Any],
    *,
    height: int,
    marks: Mapping[str, Any] | None = None,
    **layout: Any,
) -> FigurePanel:
    """A plot in the common style; the browser sets its width."""
    import plotly.graph_objects as go

    base = {
        # Only what is named here, nothing of plotly's own theme.
        "template": "none",
        "font": {"family": FONT, "size": 13, "color": "#0b0c0c"},
        "margin": {"l": 52, "r": 16, "t": 12, "b": 44},
        "height": height,
        "showlegend": False,
        "hoverlabel": {"font": {"family": FONT}},
        "bargap": 0.12,
    }
    return FigurePanel(title, alt, height, go.Figure(list(traces), base | layout), marks)


def scatter_trace(**properties: Any) -> "go.Scatter":
    """A trace of points, lines or text, with plotly's names for its properties."""
    import plotly.graph_objects as go

    return go.Scatter(**properties)


def bar_trace(**properties: Any) -> "go.Bar":
    import plotly.graph_objects as go

    return go.Bar(**properties)


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 8, "font": {"size": 13}},
        "gridcolor": "#e3e6e8",
        "zeroline": False,
        "linecolor": "#6b7278",
        "fixedrange": True,
        "automargin": True,
    } | more


def share_axis(title: str, **more: Any) -> dict[str, Any]:
    return axis(title, tickformat=".0%", **more)


def styles(report: ReportJson) -> list[tuple[str, str, str]]:
    """Colour, dash and symbol of each run: one colour per judge, a dash and symbol per run."""
    judges: dict[str, int] = {}
    runs: dict[str, int] = {}
    lines = []
    for judge in report["judges"]:
        colour = judges.setdefault(judge["judge"], len(judges))
        run = runs[judge["judge"]] = runs.get(judge["judge"], -1) + 1
        # Judges that share a colour (after six) start with another dash.
        line = run + colour // len(JUDGES)
        lines.append(
            (
                JUDGES[colour % len(JUDGES)],
                DASHES[line % len(DASHES)],
                SYMBOLS[line % len(SYMBOLS)],
            )
        )
    return lines


def styled_runs(report: ReportJson) -> list[tuple[str, ReportJson, tuple[str, str, str]]]:
    """Name, entry and style of every run."""
    return list(zip(run_names(report), report["judges"], styles(report), strict=True))


def whiskers(shares: Sequence[Quantity]) -> dict[str, Any]:
    """Error bars from possibly asymmetric intervals."""
    ends = [(share.value, share.interval.ends or (share.value, share.value)) for share in shares]
    return {
        "type": "data",
        "symmetric": False,
        "array": [high - value for value, (_, high) in ends],
        "arrayminus": [value - low for value, (low, _) in ends],
        "thickness": 1.5,
        "width": 4,
    }


def vertical(x: float, colour: str, dash: str = "dash") -> dict[str, Any]:
    line = {"color": colour, "width": 1.5, "dash": dash}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def label(x: float, text: str, y: float) -> dict[str, Any]:
    return {
        "x": x,
        "y": y,
        "yref": "paper",
        "yanchor": "bottom",
        # Text at a share near 1 would be cut off.
        "xanchor": "right" if x > 0.85 else "center",
        "text": text,
        "showarrow": False,
        "font": {"size": 12},
    }


def corner_note(text: str) -> dict[str, Any]:
    """Text in the upper left corner of a plot."""
    return {
        "text": text,
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "top",
        "align": "left",
        "showarrow": False,
        "font": {"size": 11},
        "bgcolor": "rgba(255,255,255,.85)",
    }


def stripes(
    boxes: Iterable[tuple[float, float, float, float]], *, rise: float, step: float
) -> "go.Scatter":
    """White lines over boxes (left, right, bottom, top), rising by `rise` in each, `step` apart.

    Lines, because a browser prints every patterned area as a separate picture.
    """
    xs: list[float | None] = []
    ys: list[float | None] = []
    for left, right, bottom, top in boxes:
        start = math.floor((bottom - rise) / step) + 1
        for foot in (number * step for number in range(start, math.ceil(top / step))):
            ends = (max(0.0, (bottom - foot) / rise), min(1.0, (top - foot) / rise))
            if ends[0] < ends[1]:
                xs += [*(left + (right - left) * end for end in ends), None]
                ys += [*(foot + rise * end for end in ends), None]
    line = {"color": "#ffffff", "width": 1.5}
    return scatter_trace(x=xs, y=ys, mode="lines", line=line, hoverinfo="skip")


# Row names are inside the plot, so the left margin stays small.
ROW_MARGIN = {"l": 12, "r": 16, "t": 24, "b": 44}

BAR = 0.88
# Space above the highest bar for its text, and for the note in the corner.
HEADROOM = 1.5


def right_and_wrong(
    title: str,
    alt: str,
    bars: Sequence[tuple[str, int, int, str]],
    *,
    top: float,
    unit: str,
    note: str,
    marks: Mapping[str, Any] | None = None,
) -> FigurePanel:
    """Answers by certainty: bars with right answers below, wrong ones above, and text on top.

    `top` is the highest bar of all panels that share a scale; `note` is shown in the corner.
    """
    labels, right, wrong, texts = (list(part) for part in zip(*bars, strict=True))
    places = list(range(len(bars)))
    hover = "%{customdata}<br>%{y} %{fullData.name}<extra></extra>"
    half = BAR / 2
    return panel(
        title,
        alt,
        [
            bar_trace(
                x=places,
                y=right,
                name="right",
                width=BAR,
                marker={"color": CORRECT},
                customdata=labels,
                hovertemplate=hover,
            ),
            bar_trace(
                x=places,
                y=wrong,
                name="wrong",
                width=BAR,
                marker={"color": WRONG},
                customdata=labels,
                hovertemplate=hover,
                text=texts,
                textposition="outside",
                textfont={"size": 10},
                cliponaxis=False,
            ),
            stripes(
                (
                    (place - half, place + half, below, below + above)
                    for place, below, above in zip(places, right, wrong, strict=True)
                ),
                rise=0.12 * top,
                step=0.035 * top,
            ),
        ],
        height=260,
        marks=marks,
        barmode="stack",
        xaxis=axis(
            "stated certainty, from",
            tickvals=places,
            # A bin's start, because there is no room for both ends; pointing at a bar shows both.
            ticktext=[label.partition("–")[0] for label in labels],
            tickangle=0,
            tickfont={"size": 11},
            showgrid=False,
            range=[-0.6, len(bars) - 0.4],
        ),
        yaxis=axis(unit, range=[0, top * HEADROOM]),
        annotations=[corner_note(note)],
    )


RIGHT_AND_WRONG = (Key("right", CORRECT), Key("wrong", WRONG, "stripes"))


def row_axis(rows: int) -> dict[str, Any]:
    """An axis with rows from the top, and room for a name above each row."""
    return axis(range=[rows - 0.5, -0.9], showticklabels=False, dtick=1)


def row_label(row: int, name: str, text: str) -> dict[str, Any]:
    """The name and figure of a row, above its mark to fit on a phone."""
    return {
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": row,
        "yshift": 15,
        "text": f"{plain(name)}  <b>{text}</b>",
        "showarrow": False,
        "font": {"size": 12},
        "bgcolor": "rgba(255,255,255,.8)",
        "borderpad": 1,
    }


def rows_of_shares(
    alt: str,
    rows: Sequence[tuple[str, Quantity, str, str]],
    *,
    row_height: int,
    hover: str = "",
    more: Sequence[Any] = (),
    **layout: Any,
) -> FigurePanel:
    """A share with its interval in each row: its name, the share, colour and symbol of its mark."""
    names, shares = [name for name, *_ in rows], [share for _, share, *_ in rows]
    words = [str(clause("{x} of {x.size}", x=share)) for share in shares]
    marks = [
        scatter_trace(
            x=[share.value],
            y=[row],
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 11},
            error_x=whiskers([share]),
            hovertemplate=f"{plain(name)}<br>{hover}{words[row]}<extra></extra>",
        )
        for row, (name, share, colour, symbol) in enumerate(rows)
    ]
    return panel(
        "",
        alt + "; ".join(map(" ".join, zip(names, words, strict=True))),
        [*marks, *more],
        height=70 + row_height * len(rows),
        yaxis=row_axis(len(rows)),
        annotations=list(map(row_label, range(len(rows)), names, words)),
        margin=ROW_MARGIN,
        **layout,
    )


def plots_json(figures: Iterable[Figure]) -> str:
    """The plots for the page as plotly JSON by name, each with its `marks`."""
    from plotly.io.json import to_json_plotly

    plots = {
        name: {**drawn.plot, "marks": drawn.marks}
        for figure in figures
        for name, drawn in figure.plots
    }
    return str(to_json_plotly(plots, engine=ENGINE))


def write_figures(figures: Sequence[Figure], folder: Path) -> None:
    """Write every plot as plotly JSON, for readers who want another size or format.

    Pictures of them are drawn by matplotlib, because plotly itself needs a browser for that.
    """
    from plotly.io.json import to_json_plotly

    folder.mkdir(parents=True)
    for figure in figures:
        for name, drawn in figure.plots:
            text = to_json_plotly(drawn.plot, engine=ENGINE)
            (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
