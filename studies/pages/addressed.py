"""Views by their names, so that a start loads addresses but no pages.

A page and what its forms do have one address: the field `action` of a form names the view.
"""

from collections.abc import Callable, Iterable
from pkgutil import resolve_name
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, ResolverMatch, URLPattern, URLResolver, resolve
from django.views.decorators.http import require_POST

View = Callable[..., HttpResponseBase]
PROGRESS = "progress"


class UnknownButton(BadRequest):
    """A form was sent by a button that its page does not have."""


def pressed(request: HttpRequest, field: str, *known: str) -> str:
    """The button of a form that was pressed, of those that are known; "" for the form itself.

    Another value never counts as one of them: a page of an older version, still open, or a program
    would start something that nobody asked for.
    """
    value = request.POST.get(field, "")
    if value and value not in known:
        raise UnknownButton(field)
    return value


def view(address: str, *actions: str, progress: str = "", **others: str) -> View:
    """The view “package.module:name”, whose module is imported at its first request.

    A POST whose field `action` is one of `actions` goes to the view of that name in the module, and
    one of `others` to the view that it names, there or in another module; any other is refused. A
    page that waits for a job fetches its own address with `?progress`, which the view `progress`
    answers. What a decorator writes on the view itself, such as `csrf_exempt`, is not seen: name
    such a view in the patterns itself.
    """
    module, _, name = address.partition(":")
    named = {**dict(zip(actions, actions, strict=True)), **others}
    forms = {action: to if ":" in to else f"{module}:{to}" for action, to in named.items()}
    waiting = progress if ":" in progress or not progress else f"{module}:{progress}"

    def call(request: HttpRequest, *arguments: Any, **parts: Any) -> HttpResponseBase:
        chosen = forms.get(pressed(request, "action", *forms)) if forms else None
        if waiting and request.method == "GET" and PROGRESS in request.GET:
            chosen = waiting
        response: HttpResponseBase = resolve_name(chosen or address)(request, *arguments, **parts)
        return response

    call.__module__, call.__name__, call.__qualname__ = module, name, name
    call.address, call.forms = address, forms  # type: ignore[attr-defined]
    call.progress = waiting  # type: ignore[attr-defined]
    return call


def load(patterns: Iterable[URLPattern | URLResolver]) -> None:
    """Import the module of every view, as a web server does before people come."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            load(pattern.url_patterns)
        else:
            viewed(pattern.callback)
            form_views(pattern.callback)
            progress_view(pattern.callback)


def viewed(callback: View) -> View:
    """The view itself, of a callback that may be made by `view`."""
    address = getattr(callback, "address", "")
    page: View = resolve_name(address) if address else callback
    return page


def form_views(callback: View) -> dict[str, View]:
    """The views of a page's forms, by what their field `action` says."""
    forms: dict[str, str] = getattr(callback, "forms", {})
    return {action: resolve_name(address) for action, address in forms.items()}


def progress_view(callback: View) -> View | None:
    """The view of the progress for which a page waits, if it does."""
    address = getattr(callback, "progress", "")
    return resolve_name(address) if address else None


class FormOfPage:
    """A part of addresses: a page and what the field `action` of one of its forms says."""

    # As deep as pages are: finding the page of a form tries these patterns again.
    regex = r"(?:[\w-]+/){1,7}[\w-]+"

    def to_python(self, value: str) -> tuple[ResolverMatch, str]:
        page, _, action = value.rpartition("/")
        action = action.replace("-", "_")
        try:
            match = resolve(f"/{page}/")
        except Resolver404:
            raise ValueError(value) from None
        if action not in getattr(match.func, "forms", {}):
            raise ValueError(value)
        return match, action

    def to_url(self, value: str) -> str:
        return value


@require_POST
def form_of_page(request: HttpRequest, form: tuple[ResolverMatch, str]) -> HttpResponseBase:
    """Do what a form of a page does, for programs that post to the page and that name below it."""
    match, action = form
    sent = request.POST.copy()
    sent["action"] = action
    request.POST = sent  # type: ignore[assignment]
    request.resolver_match = match
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return response
