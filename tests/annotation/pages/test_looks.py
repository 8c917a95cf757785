"""Colours, measured: what people must be able to see stands out from its ground."""

import re
from pathlib import Path

import pytest
from django.conf import settings

CSS = Path(settings.BASE_DIR) / "static/css"
WHITE, BLACK = "#ffffff", "#0b0c0c"


def tokens() -> dict[str, str]:
    root = re.search(r":root \{(.*?)\}", (CSS / "base.css").read_text("utf-8"), re.DOTALL)
    assert root
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", root[1]))


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.2."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("text", "background"),
        ("secondary", "background"),
        ("link", "background"),
        ("link", "selected"),
        ("text", "selected"),
        ("error", "background"),
        ("warning", "warning-fill"),
        ("background", "warning"),
        ("background", "link"),
        ("ok", "background"),
    ],
)
def test_text_has_enough_contrast(text, ground):
    known = tokens()

    assert contrast(known[text], known[ground]) >= 4.5


@pytest.mark.parametrize(
    ("line", "ground"), [("border", "background"), ("link", "selected"), ("border", "selected")]
)
def test_control_borders_have_enough_contrast(line, ground):
    known = tokens()

    assert contrast(known[line], known[ground]) >= 3


def test_focus_is_visible_on_every_background():
    """A yellow line and a black one beside it: one of the two stands out everywhere."""
    known = tokens()

    assert contrast(known["focus"], BLACK) >= 3
    for ground in (WHITE, BLACK, known["link"], known["selected"], known["warning-fill"]):
        assert max(contrast(known["focus"], ground), contrast(BLACK, ground)) >= 3, ground
