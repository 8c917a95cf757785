"""Pages that another page of this site shows in a frame."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.clickjacking import xframe_options_sameorigin


def framed_here(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Let only this site show the page in a frame; every other page refuses frames."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response.policy_changes = {"frame-ancestors": "'self'"}  # type: ignore[attr-defined]
        return response

    return xframe_options_sameorigin(wrapper)


def with_frames(response: HttpResponse) -> HttpResponse:
    """Let a page show pages of this site in frames."""
    response.policy_changes = {"frame-src": "'self'"}  # type: ignore[attr-defined]
    return response
