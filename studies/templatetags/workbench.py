"""The frame of a study's pages."""

from typing import Any

from django import template

from studies.pages.workbench.navigation import navigation

register = template.Library()


@register.inclusion_tag("studies/_navigation.html", takes_context=True)
def study_navigation(context: template.Context) -> dict[str, Any]:
    """The sections of the study of this page."""
    request = context["request"]
    match = request.resolver_match
    view_name = match.view_name if match else ""
    return {"links": navigation(context["study"], view_name=view_name, path=request.path)}
