"""Views by their names, so that a start loads addresses but no pages."""

from collections.abc import Callable, Iterable
from pkgutil import resolve_name
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver

View = Callable[..., HttpResponseBase]


def view(address: str) -> View:
    """The view “package.module:name”, whose module is imported at its first request.

    What a decorator writes on the view itself, such as `csrf_exempt`, is not seen: name such a view
    in the patterns as it is.
    """
    module, _, name = address.partition(":")

    def call(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        response: HttpResponseBase = resolve_name(address)(request, *arguments, **named)
        return response

    call.__module__, call.__name__, call.__qualname__ = module, name, name
    call.address = address  # type: ignore[attr-defined]
    return call


def load(patterns: Iterable[URLPattern | URLResolver]) -> None:
    """Import the module of every view, as a web server does before people come."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            load(pattern.url_patterns)
        else:
            viewed(pattern.callback)


def viewed(callback: View) -> View:
    """The view itself, of a callback that may be made by `view`."""
    address = getattr(callback, "address", "")
    found: View = resolve_name(address) if address else callback
    return found
