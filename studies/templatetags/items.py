"""Items on researchers' pages: pictures and sounds, edit links, language."""

from collections.abc import Mapping
from typing import Any

from django import template

from studies.media import media_html
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.pages.workbench import ITEM_LINKS
from studies.prompts import language_note

register = template.Library()
register.filter("language_note", language_note)


@register.simple_tag
def media_of(response: Mapping[str, Any], slug: str, lang: str = "") -> str:
    """The pictures and sounds of a response of the study with this short name."""
    return shown(response.get("media", ()), slug, lang)


@register.simple_tag
def shown(media: Any, slug: str, lang: str = "") -> str:
    """Pictures and sounds as an item keeps them; `lang` is the language of their descriptions."""
    return media_html(media, slug, lang)


@register.simple_tag
def item_links(study: Study, key: str = "") -> list[tuple[str, str]]:
    """Words and address of the pages that change an item, or all items."""
    return [(link.words, at) for link in ITEM_LINKS.of(study) if (at := link.address(study, key))]


@register.inclusion_tag("studies/_item_changes.html", takes_context=True)
def item_changes(context: template.Context) -> dict[str, Any]:
    """The links that edit the page's item, or all items; viewers see none.

    For a study with answers, the reason why items cannot change.
    """
    # Every process loads the tags, but few import items.
    from studies.importers.items.storage import why_not

    study = context["study"]
    may_edit = role_of(context["user"], study) != Membership.Role.VIEWER
    return {
        "study": study,
        "item": context.get("item"),
        "may_edit": may_edit,
        "why_not": why_not(study) if may_edit else "",
    }
