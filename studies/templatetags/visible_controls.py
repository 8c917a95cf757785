"""Signs that change the direction of text and cannot be seen are shown."""

import re
import unicodedata

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_CONTROLS = re.compile("([\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])")
# Writing from right to left needs these, and they move nothing beyond themselves.
_HARMLESS = "\u061c\u200e\u200f"


@register.filter
def visible(text: object) -> str:
    """The text with a mark for each such sign; those that could turn other text are taken out.

    Models get the text as it is; here a person would read something else without noticing.
    """
    parts = _CONTROLS.split(str(text))
    if len(parts) == 1:
        return str(text)
    return mark_safe("".join(_shown(part) for part in parts))  # noqa: S308  every part is escaped


def _shown(part: str) -> SafeString:
    if not _CONTROLS.fullmatch(part):
        return escape(part)
    return format_html(
        '{}<span class="control-sign" dir="ltr" title="{}">U+{}</span>',
        part if part in _HARMLESS else "",
        unicodedata.name(part).capitalize(),
        f"{ord(part):04X}",
    )
