"""Draw plotly figures as pictures by matplotlib, without a browser.

This supports the marks in a report's figures and refuses others, so that no picture is incomplete.
Each plot is a picture of its own, or all plots of a figure are one picture with one key. Plotly's
own pictures need a browser on the machine.
"""

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MultipleLocator
from matplotlib.transforms import Transform, blended_transform_factory, offset_copy

from analysis.report.drawing import BOXES, KINDS, lacks_letters, lettered, save_picture
from analysis.report.figures import Figure, Key
from analysis.report.stills import CannotDraw
from extras.documents.picture_marks import (
    DASH_PATTERNS,
    DPI,
    POINT,
    PictureJson,
    colour_of,
    draw_bars,
    draw_scatter,
    stroke,
    without_markup,
)

# As on a wide screen, in pixels, plotly's unit.
WIDTH = 720
_ANCHORS = {"auto": "center", "left": "left", "center": "center", "right": "right"}
_HEIGHTS = {"auto": "center", "top": "top", "middle": "center", "bottom": "bottom"}
NARROWEST = 300  # pixels of a plot in a row of several
_LETTER = 8.6  # pixels of a letter in the title of a plot
_KEY_LINE = 22  # pixels of a line of the key
_KEY_ENTRY = 340  # pixels of an entry of the key, at least


def write_pictures(figures: Iterable[Figure], folder: Path) -> None:
    """Draw every panel of the figures to `folder` as a picture of its own."""
    for figure in figures:
        for name, panel in figure.plots:
            alone = replace(figure, name=name, panels=[replace(panel, title="")])
            write_picture(alone, folder, title=panel.title or str(figure.title))


def write_picture(
    figure: Figure, folder: Path, *, title: str, columns: int = 1, width: int = WIDTH
) -> None:
    """Draw a figure to `folder` as SVG and PNG; the options are those of `drawn`."""
    with drawn(figure, title=title, columns=columns, width=width) as drawing:
        for kind in KINDS:
            save_picture(drawing, folder / f"{figure.name}.{kind}")


@contextmanager
def drawn(
    figure: Figure, *, title: str = "", columns: int = 1, width: int = WIDTH
) -> Iterator[Drawing]:
    """All plots of a figure as one drawing, in rows of `columns`, with one key above them.

    `width` is at least that of a row; pixels. Raises `CannotDraw` for unsupported marks.
    """
    plots = [(panel.title, panel.plot) for panel in figure.panels]
    columns = min(columns, len(plots))
    wide = max(width, NARROWEST * columns)
    with lettered() as fonts:
        drawing = _drawing(plots, title, figure.key, "", columns, wide)
        if lacks_letters(drawing, fonts):
            drawing = _drawing(plots, title, figure.key, BOXES, columns, wide)
        yield drawing


def _drawing(
    plots: Sequence[tuple[str, PictureJson]],
    title: str,
    key: Sequence[Key],
    note: str,
    columns: int,
    wide: float,
) -> Drawing:
    per_line = max(1, int(wide / _KEY_ENTRY))
    top = (26 if title else 0) + _KEY_LINE * (math.ceil(len(key) / per_line) + bool(note))
    fitting = int((wide / columns - 24) / _LETTER)
    wrapped = [(textwrap.wrap(without_markup(name), fitting)[:2], plot) for name, plot in plots]
    lines = max(len(name) for name, _ in wrapped)
    titled = 10 + 17 * lines if lines else 0
    rows = [wrapped[at : at + columns] for at in range(0, len(plots), columns)]
    heights = [titled + max(plot["layout"]["height"] for _, plot in row) for row in rows]
    high = top + sum(heights)
    drawing = Drawing(figsize=(wide / DPI, high / DPI), dpi=DPI, facecolor="white")
    FigureCanvasAgg(drawing)
    sheets = []
    for row, height in zip(rows, heights, strict=True):
        for column, (name, plot) in enumerate(row):
            box = _Box(wide * column / columns, top + titled, wide / columns, height - titled)
            sheets.append(_Sheet(drawing, plot["layout"], box))
            sheets[-1].draw(plot["data"])
            if name:
                place = ((box.left + 12) / wide, 1 - (top + 8) / high)
                words = "\n".join(name)
                drawing.text(*place, words, fontsize=13 * POINT, va="top", weight="bold")
        top += height
    _draw_head(drawing, title, key, note, per_line)
    for sheet in sheets:
        sheet.make_room()
    return drawing


@dataclass(frozen=True)
class _Box:
    """The pixels of a plot in a drawing, from its upper left corner."""

    left: float
    top: float
    width: float
    height: float


class _Sheet:
    """The axes of a plot in its box of a drawing."""

    def __init__(self, drawing: Drawing, layout: PictureJson, box: _Box) -> None:
        self.drawing, self.layout, self.box = drawing, layout, box
        margin = layout["margin"]
        self.left, self.right = margin["l"], margin["r"]
        self.top, self.bottom = margin["t"], margin["b"]
        self.axes: dict[str, Axes] = {}
        for name in ("yaxis", "yaxis2"):
            if name in layout:
                first = self.axes.get("y")
                self.axes[name.replace("axis", "")] = drawing.add_axes((0, 0, 1, 1), sharex=first)
        self._place()

    def _place(self) -> None:
        """Place each axis by its margins and domain."""
        whole, high = self.drawing.get_size_inches() * DPI
        width = self.box.width - self.left - self.right
        tall = self.box.height - self.top - self.bottom
        bottom = high - self.box.top - self.box.height + self.bottom
        for name, axes in self.axes.items():
            low, top = self._axis(name).get("domain") or (0, 1)
            foot, rise = bottom + low * tall, (top - low) * tall
            left = self.box.left + self.left
            axes.set_position((left / whole, foot / high, width / whole, rise / high))

    def _axis(self, name: str) -> PictureJson:
        axis: PictureJson = self.layout[f"{name[0]}axis{name[1:]}"]
        return axis

    def make_room(self) -> None:
        """Widen the margins until all axis labels fit, as plotly does."""
        renderer = self.drawing.canvas.get_renderer()  # type: ignore[attr-defined]
        foot = self.drawing.get_size_inches()[1] * DPI - self.box.top - self.box.height
        for axes in self.axes.values():
            extent = axes.get_tightbbox(renderer)
            if extent is not None:
                self.left += max(0, self.box.left + 4 - extent.x0)
                self.bottom += max(0, foot + 4 - extent.y0)
                self.right += max(0, extent.x1 - self.box.left - self.box.width + 4)
        self._place()

    def draw(self, traces: Sequence[PictureJson]) -> None:
        for axes in self.axes.values():
            axes.set_axisbelow(True)
            for spine in axes.spines.values():
                spine.set_visible(False)
        floors: dict[Any, float] = {}
        for order, trace in enumerate(traces, start=2):
            axes = self.axes[trace.get("yaxis", "y")]
            if trace["type"] == "bar":
                draw_bars(axes, trace, floors if self.layout.get("barmode") == "stack" else {})
            elif trace["type"] == "scatter":
                draw_scatter(axes, trace, order)
            else:
                raise CannotDraw(f"Pictures do not support traces of the type {trace['type']}.")
        for name, axes in self.axes.items():
            _set_axis(axes, self.layout["xaxis"], "x")
            _set_axis(axes, self._axis(name), "y")
        for shape in self.layout.get("shapes", ()):
            self._draw_shape(shape)
        for note in self.layout.get("annotations", ()):
            self._write_note(note)

    def _system(self, item: PictureJson) -> tuple[Axes, Transform]:
        """The axes of a shape or a note, and the transform from its coordinates."""
        axes = self.axes.get(item.get("yref", "y"), self.axes["y"])
        across = axes.transAxes if item.get("xref") == "paper" else axes.transData
        upward = axes.transAxes if item.get("yref") == "paper" else axes.transData
        return axes, blended_transform_factory(across, upward)

    def _draw_shape(self, shape: PictureJson) -> None:
        if shape["type"] != "line":
            raise CannotDraw(f"Pictures do not support shapes of the type {shape['type']}.")
        axes, system = self._system(shape)
        ends = ((shape["x0"], shape["x1"]), (shape["y0"], shape["y1"]))
        axes.add_line(Line2D(*ends, transform=system, zorder=1.5, **stroke(shape["line"])))

    def _write_note(self, note: PictureJson) -> None:
        axes, system = self._system(note)
        box = None
        if "bgcolor" in note:
            pad = note.get("borderpad", 1)
            box = {"facecolor": colour_of(note["bgcolor"]), "edgecolor": "none", "pad": pad}
        shift = offset_copy(system, self.drawing, y=note.get("yshift", 0) * POINT, units="points")
        axes.text(
            note["x"],
            note["y"],
            without_markup(note["text"]),
            transform=shift,
            ha=_ANCHORS[note.get("xanchor", "auto")],
            va=_HEIGHTS[note.get("yanchor", "auto")],
            fontsize=note["font"]["size"] * POINT,
            color=note["font"].get("color", "#0b0c0c"),
            bbox=box,
            zorder=20,
        )


def _draw_head(drawing: Drawing, title: str, key: Sequence[Key], note: str, per_line: int) -> None:
    """The title, a note and the key, from the upper left corner."""
    width, height = drawing.get_size_inches() * DPI
    top = height - 4.0
    if title:
        drawing.text(
            12 / width,
            (top - 2) / height,
            without_markup(title),
            fontsize=14 * POINT,
            fontweight="bold",
            va="top",
        )
        top -= 26
    if note:
        place = (12 / width, (top - 2) / height)
        drawing.text(*place, note, fontsize=12 * POINT, color="#505a5f", va="top")
        top -= _KEY_LINE
    if key:
        drawing.legend(
            handles=[_key_mark(entry) for entry in key],
            loc="upper left",
            bbox_to_anchor=(4 / width, top / height),
            ncols=per_line,
            frameon=False,
            fontsize=12 * POINT,
            borderpad=0.2,
        )


def _key_mark(entry: Key) -> Any:
    label = without_markup(entry.label)
    if entry.dash in DASH_PATTERNS:
        return Line2D([], [], color=entry.colour, linestyle=DASH_PATTERNS[entry.dash], label=label)
    hatch = "///" if entry.dash == "stripes" else None
    return Patch(facecolor=entry.colour, edgecolor="#ffffff", hatch=hatch, label=label)


def _set_axis(axes: Axes, layout: PictureJson, side: str) -> None:
    """Range, ticks, grid and title of one axis."""
    axis = axes.xaxis if side == "x" else axes.yaxis
    size = layout.get("tickfont", {}).get("size", 13) * POINT
    if "range" in layout:
        set_range = axes.set_xlim if side == "x" else axes.set_ylim
        set_range(*layout["range"])
    if layout.get("visible") is False:
        axis.set_visible(False)
        return
    if "tickvals" in layout:
        texts = layout.get("ticktext") or map(str, layout["tickvals"])
        axis.set_ticks(layout["tickvals"], [without_markup(text) for text in texts])
    else:
        if "dtick" in layout:
            axis.set_major_locator(MultipleLocator(layout["dtick"]))
        if "tickformat" in layout:
            axis.set_major_formatter(FuncFormatter(_formatter(layout["tickformat"])))
    axis.set_tick_params(length=0, labelsize=size)
    if not layout.get("showticklabels", True):
        axis.set_tick_params(labelleft=False, labelbottom=False)
    if layout.get("side") == "top":
        axes.xaxis.tick_top()
    if layout.get("showgrid", True):
        axis.grid(color=layout["gridcolor"], linewidth=0.8)
    title = layout["title"]["text"]
    if title:
        axis.set_label_text(without_markup(title), fontsize=layout["title"]["font"]["size"] * POINT)


def _formatter(pattern: str) -> Any:
    """A function that writes a tick in plotly's pattern, which is Python's; as in texts, “30 %”."""
    return lambda value, _: format(value, pattern).replace("%", " %")
