"""Figures as still pictures, for a page that is a file: without plotly.js, which is 1.2 MB.

They are drawn from the figures of plotly, with the marks that reports use and no others. In the
app, plotly draws over them.
"""

import html
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.report.figures import STROKES

PlotJson = Mapping[str, Any]
Point = tuple[float, float]

WIDTH = 360  # units, about one per pixel on a phone
_TEXT, _GRID = "#0b0c0c", "#e3e6e8"
_LETTER = 6.5  # units of a letter of a tick
_TICKS = 5  # about so many where a figure does not say which
_LINE = 1.3  # of the font size, from one line of text to the next
_ANCHORS = {"auto": "middle", "center": "middle", "left": "start", "right": "end"}
_PLUS: Sequence[Point] = (
    *((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4)),
    *((0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)),
)
# The corners of a mark whose radius is 1.
_SYMBOLS: Mapping[str, Sequence[Point]] = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "triangle-up": ((0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
    "cross": _PLUS,
    "x": [((x - y) * 0.71, (x + y) * 0.71) for x, y in _PLUS],
    "star": [
        (size * math.sin(corner * math.pi / 5), -size * math.cos(corner * math.pi / 5))
        for corner, size in enumerate((1.3, 0.55) * 5)
    ],
    "line-ns": ((0, -1), (0, 1)),
}


class CannotDraw(ValueError):
    """The plot has a mark that pictures do not have, or leaves to plotly what they need."""


def still(plot: PlotJson) -> str:
    """Draw a plot as an SVG element. Raises `CannotDraw`."""
    for trace in plot["data"]:
        if trace["type"] not in ("bar", "scatter"):
            raise CannotDraw(f"Still pictures have no traces of the type {trace['type']}.")
    try:
        return _Still(plot).text()
    except (KeyError, TypeError) as error:
        raise CannotDraw(f"Still pictures have no such plot: {error!r}.") from None


class _Axis:
    """The places of values from `start` to `end`, in units of the picture."""

    def __init__(self, layout: PlotJson, values: Sequence[float], start: float, end: float) -> None:
        self.layout, self.start, self.end = layout, start, end
        self.title = layout.get("title", {}).get("text", "")
        if "range" in layout:
            self.low, self.high = layout["range"]
        else:
            low, high = min(values, default=0), max(values, default=1)
            room = 0.06 * (high - low) or 0.5
            # Bars stand on their axis.
            self.low, self.high = low - (room if low else 0), high + room

    def __call__(self, value: float) -> float:
        return self.at_share((value - self.low) / (self.high - self.low))

    def at_share(self, share: float) -> float:
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Values with their labels; without labels if the axis has none."""
        layout = self.layout
        if not layout.get("visible", True):
            return []
        if "tickvals" in layout:
            values = layout["tickvals"]
            texts = layout.get("ticktext") or [str(value) for value in values]
        else:
            low, high = sorted((self.low, self.high))
            step = layout.get("dtick") or _round_step((high - low) / _TICKS)
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            values = [round(number * step, 10) for number in range(first, last + 1)]
            pattern = layout.get("tickformat", "g")
            texts = [format(value, pattern).replace("%", " %") for value in values]
        if not layout.get("showticklabels", True):
            texts = [""] * len(values)
        return list(zip(values, texts, strict=True))

    def room(self, *, last: bool = False) -> float:
        """Half the width of the first or the last label."""
        ticks = self.ticks()
        return len(_plain(ticks[-last][1])) * _LETTER / 2 if ticks else 0


class _Still:
    def __init__(self, plot: PlotJson) -> None:
        self.layout: dict[str, Any] = {"xaxis": {}, "yaxis": {}} | plot["layout"]
        self.traces: list[PlotJson] = list(plot["data"])
        for side in ("x", "y"):
            self._number_names(side)
        self.floors = list(_floors(self.traces, is_stacked=self.layout.get("barmode") == "stack"))
        self.height, margin = self.layout["height"], self.layout["margin"]
        self.top, self.bottom = margin["t"], self.height - margin["b"]
        upright = [name for name in ("yaxis", "yaxis2") if name in self.layout]
        self.y = {name.replace("axis", ""): self._upright(name) for name in upright}
        self.x = _Axis(self.layout["xaxis"], self._values("x"), 0, WIDTH)
        # The edges move until all labels fit, as in plotly.
        self.left = max(margin["l"], 4 + self.x.room(), *map(_width, self.y.values()))
        self.right = WIDTH - max(margin["r"], 4 + self.x.room(last=True))
        self.x.start, self.x.end = self.left, self.right
        view = {"class": "still", "viewBox": f"0 0 {WIDTH} {self.height}"}
        self.svg = ElementTree.Element("svg", view | {"font-family": "system-ui, sans-serif"})
        # Marks outside the axes are cut off, as in plotly.
        box = (self.left, self.top, self.right - self.left, self.bottom - self.top)
        place = dict(zip(("x", "y", "width", "height"), map(_number, box), strict=True))
        self.inside = ElementTree.Element("svg", place | {"viewBox": " ".join(place.values())})

    def _number_names(self, side: str) -> None:
        """Give each name on an axis a number, with the name as its tick."""
        values = [value for trace in self.traces for value in trace[side]]
        if not any(isinstance(value, str) for value in values):
            return
        numbers = {name: number for number, name in enumerate(dict.fromkeys(values))}
        self.traces = [
            {**trace, side: [numbers[name] for name in trace[side]]} for trace in self.traces
        ]
        ticks = {"tickvals": [*numbers.values()], "ticktext": [*numbers]}
        ends = {"range": [-0.5, len(numbers) - 0.5]}
        self.layout[f"{side}axis"] = ends | self.layout[f"{side}axis"] | ticks

    def _upright(self, name: str) -> _Axis:
        low, high = self.layout[name].get("domain") or (0, 1)
        tall = self.bottom - self.top
        ends = (self.bottom - low * tall, self.bottom - high * tall)
        return _Axis(self.layout[name], self._values("y", name.replace("axis", "")), *ends)

    def _values(self, side: str, of: str = "") -> list[float]:
        """All that an axis without a range has to show."""
        values: list[float] = []
        for trace, floors in zip(self.traces, self.floors, strict=True):
            if of and trace.get("yaxis", "y") != of:
                continue
            numbers = [value for value in trace[side] if value is not None]
            if trace["type"] == "bar" and side == _lengths(trace):
                tops = [floor + length for floor, length in zip(floors, numbers, strict=True)]
                numbers = [*floors, *tops]
            if error := trace.get(f"error_{side}"):
                ends = zip(numbers, error["arrayminus"], error["array"], strict=True)
                numbers = [end for at, less, more in ends for end in (at - less, at + more)]
            values += numbers
        return values

    def text(self) -> str:
        for axis in self.y.values():
            self._draw_axis(axis, is_upright=True)
        self._draw_axis(self.x, is_upright=False)
        self.svg.append(self.inside)
        for shape in self.layout.get("shapes", ()):
            if shape["type"] != "line":
                raise CannotDraw(f"Still pictures have no shapes of the type {shape['type']}.")
            first, last = (self._place(shape, shape[f"x{n}"], shape[f"y{n}"]) for n in (0, 1))
            _line(self.inside, first, last, _stroke(shape["line"]))
        for trace, floors in zip(self.traces, self.floors, strict=True):
            if trace["type"] == "bar":
                self._draw_bars(trace, floors)
            else:
                self._draw_scatter(trace)
        for note in self.layout.get("annotations", ()):
            self._write_note(note)
        return ElementTree.tostring(self.svg, encoding="unicode")

    def _write(
        self, at: Point, text: str, size: float, anchor: str = "middle", **style: Any
    ) -> None:
        """Lines and bold parts are all that texts of figures mark; `at` is on the first line."""
        for number, line in enumerate(text.split("<br>")):
            place = {"x": at[0], "y": at[1] + number * size * _LINE}
            font = {"font-size": size, "text-anchor": anchor, "fill": _TEXT}
            element = _add(self.svg, "text", place | font | style)
            for part in filter(None, re.split(r"(<b>.*?</b>)", line)):
                weight = {"font-weight": "bold"} if part.startswith("<b>") else {}
                _add(element, "tspan", weight).text = _plain(part)

    def _draw_axis(self, axis: _Axis, *, is_upright: bool) -> None:
        is_above = axis.layout.get("side") == "top"
        size = axis.layout.get("tickfont", {}).get("size", 13)
        for value, words in axis.ticks():
            place = axis(value)
            if axis.layout.get("showgrid", True):
                ends = ((self.left, place), (self.right, place))
                if not is_upright:
                    ends = ((place, self.top), (place, self.bottom))
                _line(self.svg, *ends, {"stroke": axis.layout.get("gridcolor", _GRID)})
            if words and is_upright:
                self._write((self.left - 5, place + size / 3), words, size, "end")
            elif words:
                self._write((place, self.top - 6 if is_above else self.bottom + 16), words, size)
        middle = axis.at_share(0.5)
        if axis.title and is_upright:
            self._write((0, 0), axis.title, 13, transform=f"translate(12 {middle:g}) rotate(-90)")
        elif axis.title:
            self._write((middle, self.top - 22 if is_above else self.height - 8), axis.title, 13)

    def _place(self, mark: PlotJson, x: float, y: float) -> Point:
        """Where an end of a line or a note is."""
        across = self.x.at_share(x) if mark.get("xref") == "paper" else self.x(x)
        if mark.get("yref") == "paper":
            return across, self.bottom - y * (self.bottom - self.top)
        return across, self.y[mark.get("yref", "y")](y)

    def _write_note(self, note: PlotJson) -> None:
        x, y = self._place(note, note["x"], note["y"])
        size = note["font"]["size"]
        more = note["text"].count("<br>") * size * _LINE
        below = {"top": 0.9 * size, "bottom": -0.25 * size - more}
        y += below.get(note.get("yanchor", ""), 0.35 * size - more / 2) - note.get("yshift", 0)
        style = {"fill": note["font"].get("color", _TEXT)}
        if "bgcolor" in note:  # over lines it stands on white
            style |= {"paint-order": "stroke", "stroke": "#ffffff", "stroke-width": "4"}
        self._write((x, y), note["text"], size, _ANCHORS[note.get("xanchor", "auto")], **style)

    def _draw_bars(self, trace: PlotJson, floors: Sequence[float]) -> None:
        upright, lengths = self.y[trace.get("yaxis", "y")], _lengths(trace)
        places = trace["x" if lengths == "y" else "y"]
        texts = trace.get("text") or [""] * len(places)
        colours = _for_all(trace["marker"]["color"], len(places))
        half = trace.get("width", 1 - self.layout["bargap"]) / 2
        bars = zip(places, trace[lengths], floors, texts, colours, strict=True)
        for place, length, floor, words, colour in bars:
            wide, tall = (place - half, place + half), (floor, floor + length)
            if lengths == "x":
                wide, tall = tall, wide
            left, right = sorted(map(self.x, wide))
            top, bottom = sorted(map(upright, tall))
            box = {"x": left, "y": top, "width": right - left, "height": bottom - top}
            style = {"fill": colour, "opacity": trace.get("opacity")}
            if length:
                _add(self.inside, "rect", box | style)
            if words:
                self._write(((left + right) / 2, top - 3), words, trace["textfont"]["size"])

    def _draw_scatter(self, trace: PlotJson) -> None:
        upright, mode = self.y[trace.get("yaxis", "y")], trace["mode"]
        points = [
            None if x is None or y is None else (self.x(x), upright(y))
            for x, y in zip(trace["x"], trace["y"], strict=True)
        ]
        for side in ("x", "y"):
            if f"error_{side}" in trace:
                self._draw_errors(trace, side, points)
        if "lines" in mode:
            path = _path(points, is_stepped=trace["line"].get("shape") == "hv")
            style = {"d": path, "fill": "none"} | _stroke(trace["line"])
            _add(self.inside, "path", style)
        marker = {"size": 6, "symbol": "circle", "color": None} | trace.get("marker", {})
        own_values = {
            name: _for_all(marker[name], len(points)) for name in ("size", "symbol", "color")
        }
        for number, point in enumerate(points):
            if point and "markers" in mode:
                own = {name: values[number] for name, values in own_values.items()}
                self._draw_mark(point, marker | own)
            if point and "text" in mode:
                font = trace["textfont"]
                at = (point[0], point[1] + font["size"] / 3)
                colour = font.get("color", _TEXT)
                self._write(at, trace["text"][number], font["size"], fill=colour)

    def _draw_mark(self, at: Point, marker: PlotJson) -> None:
        radius, symbol, colour = marker["size"] / 2, marker["symbol"], marker["color"]
        edge, name = marker.get("line", {}), symbol.removesuffix("-open")
        style = {"fill": colour, "opacity": marker.get("opacity")}
        if edge.get("width"):
            style |= {"stroke": edge.get("color", colour), "stroke-width": edge["width"]}
        if name == "line-ns":
            style |= {"stroke": colour}
        elif name != symbol:
            style |= {"fill": "#ffffff", "stroke": colour, "stroke-width": 2}
        if name == "circle":
            _add(self.inside, "circle", {"cx": at[0], "cy": at[1], "r": radius} | style)
        elif name in _SYMBOLS:
            corners = [(at[0] + radius * x, at[1] + radius * y) for x, y in _SYMBOLS[name]]
            _add(self.inside, "path", {"d": f"{_path(corners)}Z"} | style)
        else:
            raise CannotDraw(f"Still pictures have no symbol {symbol}.")

    def _draw_errors(self, trace: PlotJson, side: str, points: Sequence[Point | None]) -> None:
        error = trace[f"error_{side}"]
        axis = self.x if side == "x" else self.y[trace.get("yaxis", "y")]
        colour = error.get("color", trace["marker"]["color"])
        style = {"stroke": colour, "stroke-width": error["thickness"]}
        cap = error["width"]
        values = zip(trace[side], error["arrayminus"], error["array"], points, strict=True)
        for value, less, more, point in values:
            if point is None:
                continue
            x, y = point
            ends = [axis(value - less), axis(value + more)]
            if side == "x":
                lines = [((ends[0], y), (ends[1], y))]
                lines += [((end, y - cap), (end, y + cap)) for end in ends]
            else:
                lines = [((x, ends[0]), (x, ends[1]))]
                lines += [((x - cap, end), (x + cap, end)) for end in ends]
            for line in lines:
                _line(self.inside, *line, style)


def _lengths(trace: PlotJson) -> str:
    """The side on which bars have their lengths."""
    return "x" if trace.get("orientation") == "h" else "y"


def _for_all(value: Any, n: int) -> Sequence[Any]:
    """The value of each of `n` marks, where all may have the same."""
    return value if isinstance(value, list | tuple) else [value] * n


def _floors(traces: Sequence[PlotJson], *, is_stacked: bool) -> Iterator[list[float]]:
    """Where the bars of each trace begin: at 0, at their base, or on those of earlier traces."""
    tops: dict[Any, float] = {}
    for trace in traces:
        if trace["type"] != "bar":
            yield []
            continue
        lengths = trace[_lengths(trace)]
        places = trace["y" if lengths is trace["x"] else "x"]
        below = tops if is_stacked else {}
        floors = list(trace.get("base") or [below.get(place, 0) for place in places])
        for place, floor, length in zip(places, floors, lengths, strict=True):
            tops[place] = floor + length
        yield floors


def _width(axis: _Axis) -> float:
    """What the labels and the title of an upright axis need."""
    longest = max((len(_plain(text)) for _, text in axis.ticks()), default=0)
    return longest * _LETTER + (26 if axis.title else 8)


def _add(
    parent: ElementTree.Element, tag: str, attributes: Mapping[str, Any]
) -> ElementTree.Element:
    texts = {
        name: value if isinstance(value, str) else _number(value)
        for name, value in attributes.items()
        if value is not None
    }
    return ElementTree.SubElement(parent, tag, texts)


def _line(parent: ElementTree.Element, first: Point, last: Point, style: Mapping[str, Any]) -> None:
    ends = {"x1": first[0], "y1": first[1], "x2": last[0], "y2": last[1]}
    _add(parent, "line", ends | dict(style))


def _path(points: Sequence[Point | None], *, is_stepped: bool = False) -> str:
    """A line through points, with a gap at each missing one."""
    parts, last = [], None
    for point in points:
        if point is not None:
            x, y = map(_number, point)
            on = f"H{x}V{y}" if is_stepped else f"L{x} {y}"
            parts.append(on if last else f"M{x} {y}")
        last = point
    return "".join(parts)


def _stroke(line: PlotJson) -> dict[str, Any]:
    dashes = STROKES[line.get("dash", "solid")] or None
    return {
        "stroke": line["color"],
        "stroke-width": line.get("width", 2),
        "stroke-dasharray": dashes,
    }


def _round_step(about: float) -> float:
    """1, 2 or 5 times a power of ten, at least `about`."""
    power = 10.0 ** math.floor(math.log10(about))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= about * 0.999)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _plain(text: str) -> str:
    """A label without the HTML that plotly interprets."""
    return html.unescape(re.sub(r"</?b>", "", text))
