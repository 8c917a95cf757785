"""The verdict in a terminal: its colours, its width, and the differences as a strip of characters.

A pipe gets plain lines of a fixed width without a strip, so that scripts read the same everywhere.
"""

import os
import shutil
import sys
import textwrap
from argparse import Namespace
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TextIO

from analysis.report.verdict.chart import VerdictChart
from analysis.stats.core.results import Trust

PLAIN_WIDTH = 88
_WIDTHS = (30, 100)  # what reads well
_FEWEST_COLUMNS = 40  # below this, a strip shows nothing
_COLOURS = {Trust.TRUSTED: "32", Trust.NOT_TRUSTED: "31", Trust.INCONCLUSIVE: "33"}


def can_ask(options: Namespace) -> bool:
    """Whether somebody at a terminal can answer a question."""
    is_quiet = options.json or options.markdown or options.doctor
    return not is_quiet and sys.stdin.isatty() and sys.stdout.isatty()


def asked(question: str, answers: Collection[str]) -> str:
    """One of the answers, in lower case; empty after three others."""
    for _ in range(3):
        try:
            reply = input(question).strip().casefold()
        except (EOFError, KeyboardInterrupt):
            break
        if reply in answers:
            return reply
    return ""


@dataclass(frozen=True)
class Terminal:
    """How to write: `width` in columns; `is_shown` to somebody, and whether in colour."""

    width: int = PLAIN_WIDTH
    is_shown: bool = False
    has_colour: bool = False

    @classmethod
    def of(cls, stream: TextIO) -> "Terminal":
        """The terminal behind a stream; NO_COLOR and TERM=dumb leave colours out."""
        if not stream.isatty():
            return cls()
        columns = shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return cls(min(max(columns - 1, _WIDTHS[0]), _WIDTHS[1]), True, not plain)

    def head(self, size: str, reading: Sequence[str]) -> list[str]:
        """What was read. A pipe gets each of these as one line."""
        if not self.is_shown:
            return [size, *(f"  {line}" for line in reading)]
        lines = textwrap.wrap(size, self.width, subsequent_indent="  ")
        for line in reading:
            start = "  " + " " * (len(line) - len(line.lstrip()))
            lines += map(
                self.quiet,
                textwrap.wrap(
                    line.lstrip(),
                    self.width,
                    initial_indent=start,
                    subsequent_indent=f"{start}  ",
                ),
            )
        return lines

    def trust(self, trust: Trust) -> str:
        return self._styled(trust.value, f"1;{_COLOURS[trust]}")

    def quiet(self, text: str) -> str:
        return self._styled(text, "2")

    def _styled(self, text: str, codes: str) -> str:
        return f"\033[{codes}m{text}\033[0m" if self.has_colour else text

    def strip(self, chart: VerdictChart | None) -> list[str]:
        """The chart of the report's first screen; empty in a pipe."""
        if not self.is_shown or chart is None:
            return []
        columns = self.width - 4
        if columns < _FEWEST_COLUMNS:
            return []

        def column(x: float) -> int:
            return min(columns - 1, max(0, round(x / chart.width * (columns - 1))))

        lines = [chart.title, ""]
        for line in chart.lines:
            cells = [" "] * columns
            low, high = map(column, chart.margin)
            cells[low : high + 1] = "░" * (high - low + 1)
            if line.ends:
                start, end = map(column, line.ends)
                cells[start : end + 1] = "─" * (end - start + 1)
            cells[column(chart.zero)] = "┼" if cells[column(chart.zero)] == "─" else "│"
            cells[column(line.at)] = "●"
            lines += [f"  {line.name}: {line.words}", f"  {''.join(cells)}".rstrip()]
        axis, words = [" "] * columns, [" "] * (columns + 4)
        for x, text in chart.ticks:
            axis[column(x)] = "┴"
            start = max(0, column(x) - len(text) // 2)
            words[start : start + len(text)] = text
        lines += [f"  {''.join(axis)}".rstrip(), f"  {''.join(words).rstrip()}"]
        left, right = chart.sides
        return [*lines, self.quiet(f"  ← {left}, {right} →, percentage points"), ""]


def of_output() -> Terminal:
    return Terminal.of(sys.stdout)


def aligned(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    """Columns side by side; one under another where they do not fit."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(wide) + 2 * len(wide) > width:
        head, *rest = rows
        lines = []
        for first, *cells in rest:
            lines.append(f"  {first}")
            for name, cell in zip(head[1:], cells, strict=True):
                mark = " " * 4
                lines += textwrap.wrap(
                    f"{name}: {cell}", width, initial_indent=mark, subsequent_indent=f"{mark}  "
                )
        return lines
    return [
        "  " + "  ".join(cell.ljust(n) for cell, n in zip(row, wide, strict=True)).rstrip()
        for row in rows
    ]
