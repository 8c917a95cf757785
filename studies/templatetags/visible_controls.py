"""A template filter that makes invisible characters that change text direction visible."""

import re
import unicodedata

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_CONTROLS = re.compile("([\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])")
# Right-to-left text needs these, and they affect only themselves.
_HARMLESS = "\u061c\u200e\u200f"


@register.filter
def visible(text: object) -> str:
    """The text with a mark for each such character; those that affect other text are removed.

    Models get the text unchanged; a reader would otherwise see different text without noticing.
    Safe HTML stays as it is between them.
    """
    parts = _CONTROLS.split(str(text))
    if len(parts) == 1:
        return str(text)
    like = SafeString if isinstance(text, SafeString) else str
    return mark_safe("".join(_shown(like(part)) for part in parts))  # noqa: S308  all escaped


def _shown(part: str) -> SafeString:
    if not _CONTROLS.fullmatch(part):
        return conditional_escape(part)
    return format_html(
        '{}<span class="control-sign" dir="ltr" title="{}">U+{}</span>',
        part if part in _HARMLESS else "",
        unicodedata.name(part).capitalize(),
        f"{ord(part):04X}",
    )
