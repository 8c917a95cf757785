"""Drawings by matplotlib: the letters that they need, and how they are saved.

The same drawing gives the same bytes. Cards are drawn with this, and pictures of figures.
"""

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from matplotlib import font_manager, rc_context
from matplotlib.figure import Figure as Drawing
from matplotlib.text import Text

KINDS = ("svg", "png")
# PNG at three times the screen size: about 300 dots per inch in a column of a paper.
_PNG_DPI = 300
# No time stamp, so that the same report gives the same bytes.
_METADATA: Mapping[str, Mapping[str, Any]] = {"svg": {"Date": None}, "png": {"Software": None}}
# The font that matplotlib brings has no Chinese, Japanese or Korean letters.
_FONT = "DejaVu Sans"
_OTHER_FONTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Zen Hei")
BOXES = "Boxes are characters missing from the server's fonts. The tables show them."
_STYLE: dict[Any, Any] = {
    "text.parse_math": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "thirdperson",
    "axes.unicode_minus": True,
    "axes.edgecolor": "#6b7278",
    "hatch.color": "#ffffff",
}


@contextmanager
def lettered() -> Iterator[list[str]]:
    """Matplotlib in the style of all pictures; returns the names of the fonts."""
    fonts = _fonts()
    with rc_context({**_STYLE, "font.family": fonts}), warnings.catch_warnings():
        # Characters that no font has become boxes, and a note in the picture says so.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield fonts


def lacks_letters(drawing: Drawing, fonts: Sequence[str]) -> bool:
    """Whether the drawing has a character that no font has."""
    letters = {letter for text in drawing.findobj(Text) for letter in text.get_text()}
    known = [font_manager.get_font(font_manager.findfont(name)) for name in fonts]
    return any(
        letter.isprintable() and not any(font.get_char_index(ord(letter)) for font in known)
        for letter in letters
    )


def save_picture(
    drawing: Drawing, file: Path | BinaryIO, *, kind: str = "", dpi: int = _PNG_DPI
) -> None:
    """Save a drawing as SVG or PNG, by default by the ending of the path."""
    kind = kind or Path(str(file)).suffix.removeprefix(".")
    drawing.savefig(file, format=kind, dpi=dpi, metadata=_METADATA[kind])


def _fonts() -> list[str]:
    known = {font.name for font in font_manager.fontManager.ttflist}
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    return [_FONT, *(name for name in _OTHER_FONTS if name in known)]
