"""How pages show pictures and sounds."""

from collections.abc import Mapping
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString

from annotation.participants.templates import address
from studies.media import ShownMedia

_TEMPLATE = "participants/media.html"


def html(shown: ShownMedia) -> SafeString:
    """The pictures and sounds of a response or question."""
    files = [_file(each, shown) for each in shown.media]
    return render_to_string(_TEMPLATE, {"media": files, "lang": shown.lang})


def _file(each: Mapping[str, Any], shown: ShownMedia) -> dict[str, Any]:
    """A file for the template: `words` describe it, or `reason` says why nothing does."""
    if shown.to_participants:
        url = address("shown_media:file", shown.slug, each["sha256"])
    else:
        url = reverse("media:file", args=[shown.slug, each["sha256"]])
    return {
        "url": url,
        "is_picture": each["type"].startswith("image/"),
        "words": each.get("description", ""),
        "reason": each.get("no_description", ""),
        "width": each.get("width"),
        "height": each.get("height"),
    }
