"""Pictures and sounds on researchers' pages."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString

from studies.media.storage import media_html

register = template.Library()


@register.simple_tag
def media_of(response: Mapping[str, Any], slug: str, lang: str = "") -> SafeString:
    """The pictures and sounds of a response of the study with this short name."""
    return shown(response.get("media", ()), slug, lang)


@register.simple_tag
def shown(media: Any, slug: str, lang: str = "") -> SafeString:
    """Pictures and sounds as an item keeps them; `lang` is the language of their descriptions."""
    return media_html(media, partial(_url, slug), lang=lang)


def _url(slug: str, sha256: str) -> str:
    return reverse("studies:media", args=[slug, sha256])
