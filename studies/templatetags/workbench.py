"""The frame of a study's pages."""

from typing import Any

from django import template
from django.urls import reverse

from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.pages.workbench import ADMINISTRATION, MAIN_LINKS, PageLink, navigation, pages_here

register = template.Library()
_SAY_NEXT = ("studies:detail", "studies:launch")


@register.inclusion_tag("studies/_navigation.html", takes_context=True)
def study_navigation(context: template.Context) -> dict[str, Any]:
    """The sections of the study of this page."""
    request = context["request"]
    match = request.resolver_match
    view_name = match.view_name if match else ""
    study, user = context["study"], context["user"]
    may_edit = role_of(user, study) != Membership.Role.VIEWER
    where = {"view_name": view_name, "path": request.path}
    is_set_up = may_edit and study.state == Study.State.DRAFT
    return {
        "links": navigation(study, **where),
        "pages": pages_here(study, **where, may_edit=may_edit),
        # These pages of a draft say themselves what is next.
        "next_step": study if is_set_up and view_name not in _SAY_NEXT else None,
    }


@register.simple_tag(takes_context=True)
def administration_address(context: template.Context) -> str:
    """Where “Administration” leads this user; empty for most."""
    user = context["user"]
    own = [link.address() for link in ADMINISTRATION] if user.is_superuser else []
    return own[0] if own else reverse("admin:index") if user.is_staff else ""


@register.simple_tag
def main_links() -> list[PageLink]:
    """Links of extras at the top of each page."""
    return [*MAIN_LINKS]
