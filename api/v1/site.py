"""Every route of version 1."""

from functools import cache
from inspect import getclosurevars
from typing import Any, NoReturn

from django.http import HttpRequest
from django.urls import ResolverMatch, URLResolver
from django.urls.resolvers import RegexPattern
from ninja import NinjaAPI, Router

from api.v1.bodies import StorableParser
from api.v1.openapi import describe
from api.v1.routes import exports, imports, items, judges, people, reports, runs, studies

ROUTERS: dict[str, Router] = {
    "studies": studies.router,
    "items": items.router,
    "imports": imports.router,
    "people": people.router,
    "judges": judges.router,
    "runs": runs.router,
    "reports": reports.router,
    "exports": exports.router,
}


class RaisingAPI(NinjaAPI):
    """Raises every exception, also those that Ninja would answer: `api.v1.serving` answers all."""

    def on_exception(self, request: HttpRequest, exc: Any) -> NoReturn:
        raise exc


@cache
def api() -> NinjaAPI:
    found = RaisingAPI(
        title="Thirdperson",
        version="1",
        description="Studies, items, answers, judges, runs, reports and exports. See docs/api.md.",
        urls_namespace="api-v1",
        openapi_url=None,
        docs_url=None,
        parser=StorableParser(),
    )
    for tag, router in ROUTERS.items():
        found.add_router("", router, tags=[tag])
    return found


@cache
def _resolver() -> URLResolver:
    patterns, _, _ = api().urls
    return URLResolver(RegexPattern(r""), list(patterns))


@cache
def openapi() -> dict[str, Any]:
    """The description of the API for programs."""
    return describe(api(), ROUTERS.values())


def find_route(route: str) -> ResolverMatch:
    """The route of an address. Raises `Http404`."""
    return _resolver().resolve(route)


def check_scopes(request: HttpRequest, found: ResolverMatch) -> None:
    """Raise `Problem` unless the token has the scopes that the route needs."""
    view = getclosurevars(found.func).nonlocals["self"]  # Ninja's own, with the route's operations
    for operation in view.operations:
        if request.method in operation.methods:
            for check in operation.auth_callbacks:
                check(request)
