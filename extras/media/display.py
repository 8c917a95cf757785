"""How pages show pictures, sounds and films."""

from collections.abc import Mapping
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString

from annotation.participants.templates import address
from studies.media import ShownMedia, is_film

_TEMPLATE = "participants/media.html"


def html(group: ShownMedia) -> SafeString:
    """The pictures, sounds and films of a response or question."""
    files = [_file(medium, group) for medium in group.media]
    return render_to_string(_TEMPLATE, {"media": files, "lang": group.lang})


def _file(medium: Mapping[str, Any], group: ShownMedia) -> dict[str, Any]:
    """A file for the template: `words` describe it, or `reason` says why nothing does."""
    captions = medium.get("captions")
    return {
        "url": _url(medium["sha256"], group),
        "captions": _url(captions["sha256"], group) if captions else "",
        "is_picture": medium["type"].startswith("image/"),
        "is_film": is_film(medium["type"]),
        "has_sound": medium.get("has_sound"),
        "words": medium.get("description", ""),
        "reason": medium.get("no_description", ""),
        "width": medium.get("width"),
        "height": medium.get("height"),
    }


def _url(sha256: str, group: ShownMedia) -> str:
    if group.address is not None:
        return group.address(sha256)
    if group.to_participants:
        return address("shown_media:file", group.slug, sha256)
    return reverse("media:file", args=[group.slug, sha256])
