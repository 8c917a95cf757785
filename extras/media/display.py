"""How pages show pictures and sounds."""

from collections.abc import Mapping
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString

from annotation.participants.templates import address
from studies.media import ShownMedia

_TEMPLATE = "participants/media.html"


def html(group: ShownMedia) -> SafeString:
    """The pictures and sounds of a response or question."""
    files = [_file(medium, group) for medium in group.media]
    return render_to_string(_TEMPLATE, {"media": files, "lang": group.lang})


def _file(medium: Mapping[str, Any], group: ShownMedia) -> dict[str, Any]:
    """A file for the template: `words` describe it, or `reason` says why nothing does."""
    if group.to_participants:
        url = address("shown_media:file", group.slug, medium["sha256"])
    else:
        url = reverse("media:file", args=[group.slug, medium["sha256"]])
    return {
        "url": url,
        "is_picture": medium["type"].startswith("image/"),
        "words": medium.get("description", ""),
        "reason": medium.get("no_description", ""),
        "width": medium.get("width"),
        "height": medium.get("height"),
    }
