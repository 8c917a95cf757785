"""Figures as pictures, for papers and slides: an optional package has a browser draw them."""

import logging
from importlib.util import find_spec
from pathlib import Path

import plotly.io

from analysis.errors import AnalysisError

# PNG at three times the screen size: about 300 dots per inch in a column of a paper.
_SCALES = {"svg": 1, "png": 3}
# As wide as on a wide screen. The height is that of each drawing, which kaleido would ignore.
_WIDTH = 720
_WITHOUT = "Or open report.html in any browser: “Cite and download” saves all figures as one ZIP."


def require_pictures() -> None:
    """Raise `AnalysisError` if pictures cannot be drawn."""
    if find_spec("kaleido") is None:
        raise AnalysisError(
            "Pictures need the package kaleido, which is not installed. Install it with "
            f"`pip install kaleido`; it uses the Chromium or Chrome of this machine. {_WITHOUT}"
        )


def draw_pictures(folder: Path) -> int:
    """Draw every plot in `folder`, stored as JSON, as SVG and PNG; return the number of plots.

    Raises `AnalysisError` if no browser can be started.
    """
    for chatty in ("kaleido", "choreographer"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    paths = sorted(folder.glob("*.json"))
    figures = [plotly.io.from_json(path.read_text("utf-8")) for path in paths]
    heights = [figure.layout.height for figure in figures]
    try:
        for format, scale in _SCALES.items():
            names = [path.with_suffix(f".{format}") for path in paths]
            plotly.io.write_images(figures, names, scale=scale, width=_WIDTH, height=heights)
    except RuntimeError as error:
        why = str(error).strip().partition("\n")[0]
        raise AnalysisError(f"No browser could draw the figures: {why} {_WITHOUT}") from error
    return len(paths)
