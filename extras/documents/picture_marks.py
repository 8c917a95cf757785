"""The marks of plotly figures, drawn by matplotlib: bars, lines, symbols and their colours."""

import html
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from analysis.report.stills import CannotDraw

PictureJson = Mapping[str, Any]

# Plotly's unit is a pixel.
DPI = 100
POINT = 72 / DPI  # of a pixel
DASH_PATTERNS: dict[str, Any] = {
    "solid": "solid",
    "dash": (0, (6, 4)),
    "dot": (0, (1.5, 2.5)),
    "dashdot": (0, (7, 3, 2, 3)),
    "longdash": (0, (9, 4)),
    "longdashdot": (0, (10, 3, 2, 3)),
}
_SYMBOLS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "x": "X",
    "cross": "P",
    "star": "*",
    "line-ns": "|",
}


def draw_bars(axes: Axes, trace: PictureJson, floors: dict[Any, float]) -> None:
    """Bars, stacked on earlier traces if `floors` has their tops."""
    along = trace["y"] if trace.get("orientation") == "h" else trace["x"]
    lengths = trace["x"] if trace.get("orientation") == "h" else trace["y"]
    starts = trace.get("base") or [floors.get(place, 0) for place in along]
    style = {"color": trace["marker"]["color"], "alpha": trace.get("opacity"), "linewidth": 0}
    if trace.get("orientation") == "h":
        axes.barh(along, lengths, trace["width"], left=starts, **style)
    else:
        axes.bar(along, lengths, trace["width"], bottom=starts, **style)
    for place, length, start in zip(along, lengths, starts, strict=True):
        floors[place] = start + length
    if trace.get("textposition") == "outside":
        size = trace["textfont"]["size"] * POINT
        for place, text in zip(along, trace["text"], strict=True):
            axes.text(
                place, floors[place], without_markup(text), ha="center", va="bottom", fontsize=size
            )


def draw_scatter(axes: Axes, trace: PictureJson, order: int) -> None:
    xs, ys = (_numbers(trace[side]) for side in ("x", "y"))
    mode = trace["mode"]
    marker = trace.get("marker", {})
    for side in ("x", "y"):
        if f"error_{side}" in trace:
            _draw_error(axes, trace, side, order)
    if "lines" in mode:
        line = trace["line"]
        steps = "steps-post" if line.get("shape") == "hv" else "default"
        axes.plot(xs, ys, drawstyle=steps, zorder=order, **stroke(line))
    if "markers" in mode:
        _draw_marks(axes, xs, ys, marker, order)
    if "text" in mode:
        font = trace["textfont"]
        style = {"fontsize": font["size"] * POINT, "color": font.get("color", "#0b0c0c")}
        for x, y, text in zip(xs, ys, trace["text"], strict=True):
            axes.text(x, y, without_markup(text), ha="center", va="center", zorder=order, **style)


def _draw_marks(
    axes: Axes, xs: Sequence[float], ys: Sequence[float], marker: PictureJson, order: int
) -> None:
    """Marks of any size and symbol, because a matplotlib scatter has only one symbol."""
    count = len(xs)
    sizes, symbols = (
        style if isinstance(style, list) else [style] * count
        for style in (marker.get("size", 6), marker.get("symbol", "circle"))
    )
    for symbol in dict.fromkeys(symbols):
        places = [place for place in range(count) if symbols[place] == symbol]
        axes.scatter(
            [xs[place] for place in places],
            [ys[place] for place in places],
            s=[(sizes[place] * POINT) ** 2 for place in places],
            marker=_symbol(symbol),
            alpha=marker.get("opacity"),
            zorder=order + 0.5,
            **_surface(marker, symbol),
        )


def _surface(marker: PictureJson, symbol: str) -> dict[str, Any]:
    """Colours and outline of a mark: filled, open, or a line."""
    colour, edge = marker["color"], marker.get("line", {})
    if symbol.startswith("line-"):
        return {"color": colour, "linewidths": edge["width"] * POINT}
    if symbol.endswith("-open"):
        return {"facecolors": "#ffffff", "edgecolors": colour, "linewidths": 2 * POINT}
    outline = edge.get("color", colour)
    width = edge.get("width", 0) * POINT
    return {"facecolors": colour, "edgecolors": outline, "linewidths": width}


def _symbol(name: str) -> str:
    symbol = _SYMBOLS.get(name.removesuffix("-open"))
    if symbol is None:
        raise CannotDraw(f"Pictures do not support the symbol {name}.")
    return symbol


def _draw_error(axes: Axes, trace: PictureJson, side: str, order: int) -> None:
    error = trace[f"error_{side}"]
    ends = [_numbers(error["arrayminus"]), _numbers(error["array"])]
    axes.errorbar(
        _numbers(trace["x"]),
        _numbers(trace["y"]),
        xerr=ends if side == "x" else None,
        yerr=ends if side == "y" else None,
        fmt="none",
        ecolor=error.get("color", trace["marker"]["color"]),
        elinewidth=error["thickness"] * POINT,
        capsize=error["width"] * POINT,
        zorder=order,
    )


def _numbers(values: Sequence[Any]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def stroke(line: PictureJson) -> dict[str, Any]:
    return {
        "color": line["color"],
        "linewidth": line.get("width", 2) * POINT,
        "linestyle": DASH_PATTERNS[line.get("dash", "solid")],
    }


def colour_of(text: str) -> Any:
    """A colour for matplotlib; `rgba(255,255,255,.8)` is the only other form in use."""
    match = re.fullmatch(r"rgba\((\d+),(\d+),(\d+),([\d.]+)\)", text)
    if match is None:
        return text
    red, green, blue, alpha = map(float, match.groups())
    return (red / 255, green / 255, blue / 255, alpha)


def without_markup(text: str) -> str:
    """A label without the HTML that plotly interprets."""
    return html.unescape(re.sub(r"</?b>", "", text.replace("<br>", "\n")))
