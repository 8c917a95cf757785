"""Pictures and sounds as pages show them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

TEMPLATE = "includes/media.html"


@dataclass(frozen=True)
class ShownMedia:
    """One picture or sound; `words` describe it, or `reason` says why nothing does."""

    url: str
    is_picture: bool
    words: str
    reason: str
    width: int | None
    height: int | None


def media_html(
    media: Iterable[Mapping[str, Any]], url_of: Callable[[str], str], *, lang: str = ""
) -> SafeString:
    """The pictures and sounds of a response or of a question; `url_of` takes a checksum.

    `lang` is the language of their descriptions, if it is not that of the page.
    """
    if not media:
        return SafeString()
    return render_to_string(
        TEMPLATE, {"media": [_shown(each, url_of) for each in media], "lang": lang}
    )


def _shown(each: Mapping[str, Any], url_of: Callable[[str], str]) -> ShownMedia:
    return ShownMedia(
        url=url_of(each["sha256"]),
        is_picture=each["type"].startswith("image/"),
        words=each.get("description", ""),
        reason=each.get("no_description", ""),
        width=each.get("width"),
        height=each.get("height"),
    )
