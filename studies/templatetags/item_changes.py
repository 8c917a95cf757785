"""The links that change items, where a study has no answers; otherwise the reason."""

from typing import Any

from django import template

from studies.importers.items.storage import why_not
from studies.models import Membership
from studies.pages.listing import role_of

register = template.Library()


@register.inclusion_tag("studies/_item_changes.html", takes_context=True)
def item_changes(context: template.Context) -> dict[str, Any]:
    """For the item of the page, or for all items; viewers see nothing."""
    study = context["study"]
    may_edit = role_of(context["user"], study) != Membership.Role.VIEWER
    return {
        "study": study,
        "item": context.get("item"),
        "may_edit": may_edit,
        "why_not": why_not(study) if may_edit else "",
    }
