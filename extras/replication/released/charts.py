"""Figures 2 and 3: accuracy of the answers at each certainty, one panel per file.

Bars are as in the paper: tens, cut to 40 to 90, right answers below and wrong ones on top,
accuracy above. Certainty on another scale keeps that scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.report.figures import RIGHT_AND_WRONG, Figure, Panel, right_and_wrong
from analysis.report.tables import Table, TableColumn
from analysis.report.text.numbers import decimal
from extras.replication.released.counts import has_certainty, has_hundred_scale, share
from extras.replication.released.result_files import ReleasedAnswer, ResultName

TITLES = {
    "figure2": (
        "Figure 2: certainty and accuracy with the whole persona",
        "Answers of A or B by stated certainty in tens, cut to 40–90 as in the paper; the accuracy "
        "stands above each bar. Only the files in the folder.",
    ),
    "figure3": (
        "Figure 3: the same with fewer features, or without a persona",
        "A prompt that asked for certainty from 1 to 5 keeps that scale.",
    ),
}


@dataclass(frozen=True)
class Bars:
    """The bars of one file: label, right and wrong answers of each, and the text in the corner."""

    title: str
    summary: str
    bars: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper and what its panels show; `words` replace its title and caption."""

    name: str
    panels: tuple[Bars, ...]
    words: tuple[str, str] | None = None

    @property
    def title(self) -> str:
        return (self.words or TITLES[self.name])[0]

    @property
    def figure(self) -> Figure:
        """The figure as the report draws it."""
        return Figure(
            self.name,
            *(self.words or TITLES[self.name]),
            self.name,
            [_drawn(panel) for panel in self.panels],
            key=RIGHT_AND_WRONG,
        )


def charts(files: Mapping[str, Sequence[ReleasedAnswer]]) -> tuple[PaperFigure, ...]:
    """Figure 2 (whole personas) and Figure 3 (fewer or no features), if files for them exist."""
    panels: dict[str, list[Bars]] = {name: [] for name in TITLES}
    for file, rows in files.items():
        name = ResultName.parse(file)
        if name is None or name.with_tie or not any(has_certainty(row) for row in rows):
            continue
        whole = name.with_persona and name.features == "All features"
        counted = [row for row in rows if row.answer in ("A", "B")]
        panels["figure2" if whole else "figure3"].append(
            Bars(name.title, _summary(counted), certainty_bars(rows))
        )
    return tuple(PaperFigure(name, tuple(shown)) for name, shown in panels.items() if shown)


def certainty_bars(rows: Sequence[ReleasedAnswer]) -> tuple[tuple[str, int, int], ...]:
    """Label, right and wrong answers of each bar; only A and B count, as in the paper.

    >>> from dataclasses import replace
    >>> row = ReleasedAnswer("A", "A", "A", 85, "85", 100, False, True, "")
    >>> certainty_bars([row, replace(row, certainty=12), replace(row, certainty=100, truth="B")])
    (('40', 1, 0), ('80', 1, 0), ('90', 0, 1))
    """
    bars: dict[int, list[bool]] = {}
    for row in rows:
        if row.answer not in ("A", "B") or row.certainty is None or not has_certainty(row):
            continue
        at = row.certainty
        if has_hundred_scale(row):
            at = min(max(at // 10, 4), 9) * 10
        bars.setdefault(at, []).append(row.correct)
    return tuple(
        (str(at), sum(right), len(right) - sum(right)) for at, right in sorted(bars.items())
    )


def bars_table(chart: PaperFigure) -> Table:
    """The numbers of a figure as a table."""
    rows = [
        [panel.title, label, right, wrong, right / (right + wrong)]
        for panel in chart.panels
        for label, right, wrong in panel.bars
    ]
    columns = (
        TableColumn("File"),
        TableColumn("Certainty"),
        TableColumn("Right", "count"),
        TableColumn("Wrong", "count"),
        TableColumn("Accuracy", "decimal"),
    )
    return Table(chart.name, chart.title, columns, rows)


def _drawn(panel: Bars) -> Panel:
    bars = "; ".join(f"{label}: {right} right, {wrong} wrong" for label, right, wrong in panel.bars)
    return right_and_wrong(
        panel.title,
        f"{panel.title}. {bars}",
        [
            (label, right, wrong, decimal(right / (right + wrong), 2))
            for label, right, wrong in panel.bars
        ],
        top=max(right + wrong for _, right, wrong in panel.bars),
        unit="answers",
        note=panel.summary,
    )


def _summary(rows: Sequence[ReleasedAnswer]) -> str:
    overall = share(rows)
    if not all(has_hundred_scale(row) for row in rows):
        scale = max(row.scale or 100 for row in rows)
        return f"All {decimal(overall['accuracy'])}<br>certainty from 1 to {scale}: no band at 80"
    parts = [f"All {decimal(overall['accuracy'])}"]
    for band, high in (("High", True), ("Low", False)):
        part = share(row for row in rows if ((row.certainty or 0) >= 80) == high)
        parts.append(f"{band} {decimal(part['accuracy'])} ({part['correct']}/{part['n']})")
    return "<br>".join(parts)
