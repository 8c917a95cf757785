"""Figures as pictures, for papers and slides."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis.report.figures import Figure, Panel

# PNG at three times the screen size: about 300 dots per inch in a column of a paper.
_PNG_DPI = 300
# Without a time, the same report gives the same bytes.
_METADATA: Mapping[str, Mapping[str, Any]] = {"svg": {"Date": None}, "png": {"Software": None}}


def draw_pictures(figures: Iterable[Figure], folder: Path) -> int:
    """Draw every panel of the figures to `folder` as SVG and PNG; return the number of panels."""
    from analysis.report.files.drawing import drawn

    count = 0
    for figure in figures:
        for name, panel in _named(figure):
            title = panel.title or figure.title
            with drawn(panel.drawing, title=title, key=figure.key) as drawing:
                for kind, metadata in _METADATA.items():
                    path = folder / f"{name}.{kind}"
                    drawing.savefig(path, dpi=_PNG_DPI, metadata=metadata)
            count += 1
    return count


def _named(figure: Figure) -> Iterator[tuple[str, Panel]]:
    """Each panel with the name of its file, as plotly's JSON has it."""
    for number, panel in enumerate(figure.panels, start=1):
        yield f"{figure.name}-{number}", panel
