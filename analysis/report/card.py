"""The verdict of a report as a card: one sentence, a strip of differences, and what it rests on.

The app shows it first on a report's page and behind a share link, and `thirdperson check --card`
writes the same. It is drawn by matplotlib, which takes a second to load.
"""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date as Date
from pathlib import Path
from typing import Any, BinaryIO

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing

from analysis.report.drawing import BOXES, lacks_letters, lettered, save_picture
from analysis.report.verdict.chart import VerdictChart
from analysis.report.verdict.first_screen import verdict_of
from analysis.report.words import number_of

# As large as pictures in previews of links; pixels.
WIDTH, HEIGHT, SIDE = 1200, 630, 56
_DPI = 100
_POINT = 72 / _DPI
DOTS_PER_INCH = 200
TEXT, SECONDARY, LINE, BAND, MARK = "#0b0c0c", "#505a5f", "#d8dcde", "#e6eaec", "#12436D"
EDGES = {"yes": "#1a7f37", "no": "#8a1f11", "unknown": "#7a4d00", "none": "#6b7278"}
_STEP = 62  # between the judges of the strip
# Letters in a line of the sentence, and its size, from the largest that fits.
_SIZES = ((44, 40, 2), (54, 33, 3), (66, 27, 4), (84, 22, 6))


@dataclass(frozen=True)
class VerdictCard:
    """What a card says: `kind` is that of the answer, `data` the hash of what it rests on."""

    title: str
    kind: str
    text: str
    chart: VerdictChart | None
    basis: str
    data: str
    is_simulated: bool


def write_card(
    report: Mapping[str, Any], file: Path | BinaryIO, *, date: Date, kind: str = ""
) -> None:
    """Draw the card of a report to a file, as SVG or PNG by `kind` or the ending of the path."""
    draw_card(_card_of(report), file, date=date, kind=kind)


def draw_card(card: VerdictCard, file: Path | BinaryIO, *, date: Date, kind: str = "") -> None:
    with lettered() as fonts:
        drawing = _drawing(card, date, "")
        if lacks_letters(drawing, fonts):
            drawing = _drawing(card, date, BOXES)
        save_picture(drawing, file, kind=kind, dpi=DOTS_PER_INCH)


def basis_of(items: int, people: int, answers: int) -> str:
    parts = [(items, "item"), (people, "person"), (answers, "answer")]
    return ", ".join(number_of(n, what) for n, what in parts)


def _card_of(report: Mapping[str, Any]) -> VerdictCard:
    verdict, inputs = verdict_of(report), report["inputs"]
    answer = verdict.answer
    return VerdictCard(
        title=report["study"]["title"],
        kind=answer.kind,
        text=f"{answer.word}. {answer.sentence}" if answer.word else answer.sentence,
        chart=verdict.chart,
        basis=basis_of(inputs["items"], report["human"]["annotators"], inputs["annotations"]),
        data=inputs["hash"],
        is_simulated=report["study"]["simulated"],
    )


def _drawing(card: VerdictCard, date: Date, note: str) -> Drawing:
    drawing = Drawing(figsize=(WIDTH / _DPI, HEIGHT / _DPI), dpi=_DPI, facecolor="white")
    FigureCanvasAgg(drawing)
    axes = drawing.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.fill_betweenx([0, HEIGHT], 0, 14, color=EDGES[card.kind], linewidth=0)
    _write(axes, SIDE, 58, textwrap.shorten(card.title, 62, placeholder="…"), 22, SECONDARY)
    if card.is_simulated:
        box = {"facecolor": "#fff4d6", "edgecolor": "none", "pad": 5}
        right, words = WIDTH - SIDE, "Simulated data"
        _write(axes, right, 58, words, 20, "#7a4d00", ha="right", weight="bold", bbox=box)
    lines, size = _fitted(card.text)
    for number, line in enumerate(lines):
        _write(axes, SIDE, 126 + 1.3 * size * number, line, size, TEXT, weight="bold")
    if card.chart:
        _strip(axes, card.chart)
    origin = f"{date.day} {date:%B %Y} · data {card.data[:12]} · Thirdperson"
    _write(axes, SIDE, HEIGHT - 28, f"{card.basis} · {origin}", 18, SECONDARY)
    if note:
        _write(axes, SIDE, HEIGHT - 6, note, 12, SECONDARY)
    return drawing


def _fitted(text: str) -> tuple[list[str], int]:
    """The lines of the sentence and their size; a very long one is cut."""
    for letters, size, most in _SIZES:
        lines = textwrap.wrap(text, letters)
        if len(lines) <= most:
            return lines, size
    return textwrap.wrap(text, letters, max_lines=most, placeholder=" …"), size


def _write(
    axes: Axes, x: float, y: float, text: str, size: float, colour: str = TEXT, **more: Any
) -> None:
    axes.text(x, y, text, fontsize=size * _POINT, color=colour, **more)


def _strip(axes: Axes, chart: VerdictChart) -> None:
    """The chart of the report's first screen, wider."""
    scale = (WIDTH - 2 * SIDE) / chart.width
    bottom = HEIGHT - 112
    top = bottom - _STEP * len(chart.lines) - 14

    def place(x: float) -> float:
        return SIDE + scale * x

    left, right = map(place, chart.margin)
    axes.fill_betweenx([top, bottom], left, right, color=BAND, linewidth=0)
    for x, words in chart.ticks:
        axes.plot([place(x)] * 2, [top, bottom], color=LINE, linewidth=1)
        _write(axes, place(x), bottom + 24, words, 16, SECONDARY, ha="center")
    axes.plot([place(chart.zero)] * 2, [top, bottom], color=TEXT, linewidth=1.2)
    zero = place(chart.zero)
    less, more = chart.sides
    _write(axes, zero - 10, top - 10, f"← {less}", 16, SECONDARY, ha="right")
    _write(axes, zero + 10, top - 10, f"{more} →", 16, SECONDARY)
    _write(
        axes,
        WIDTH - SIDE,
        bottom + 48,
        f"{chart.title}, in percentage points with 95 % intervals",
        16,
        SECONDARY,
        ha="right",
    )
    for number, line in enumerate(chart.lines):
        y = top + _STEP * number + 50
        plain = {"facecolor": (1, 1, 1, 0.75), "edgecolor": "none", "pad": 1}
        _write(axes, SIDE, y - 20, line.name, 18, weight="bold", bbox=plain)
        _write(axes, WIDTH - SIDE, y - 20, line.words, 18, ha="right", bbox=plain)
        if line.ends:
            axes.plot([place(end) for end in line.ends], [y, y], color=MARK, linewidth=3)
        axes.plot([place(line.at)], [y], marker="o", markersize=10, color=MARK)
