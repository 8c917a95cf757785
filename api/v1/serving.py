"""Serving a request to the API, from its token to its response; the description of all routes."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from inspect import getclosurevars
from typing import Any, NoReturn

from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse
from django.urls import ResolverMatch, URLResolver
from django.urls.resolvers import RegexPattern
from django.utils.datastructures import MultiValueDict
from ninja import NinjaAPI, Router
from ninja.parser import Parser

from api.problems import MEDIA_TYPE, Problem
from api.requests import answer_once, authenticate, count_request
from api.v1.access import EDITOR, AccessTokenBearer, problem_of, study_of
from studies.extra import Kind
from studies.pages.settings_views import MAY_CREATE
from studies.texts.json_values import NotJson, json_value

JSON, FORM = "application/json", "multipart/form-data"
_UNSTORABLE = frozenset(["\x00", *map(chr, range(0xD800, 0xE000))])


def check_media_type(request: HttpRequest, *, takes_files: bool) -> None:
    """Raise `Problem` 415 if the body does not have the route's media type."""
    expected = FORM if takes_files else JSON
    if request.META.get("CONTENT_LENGTH") in ("", "0", None) or request.content_type == expected:
        return
    raise Problem(415, f"Send the body as {expected}, not as “{request.content_type}”.")


class StorableParser(Parser):
    """Reads bodies, and refuses characters that PostgreSQL cannot store."""

    def parse_body(self, request: HttpRequest) -> Any:
        try:
            document = json_value(request.body, constant=_no_number, pairs=_object)
        except NotJson as error:
            raise Problem(400, f"The body is not JSON: {error}.") from error
        _check(_texts(document))
        return document

    def parse_querydict(
        self, data: MultiValueDict[str, Any], list_fields: list[str], request: HttpRequest
    ) -> Any:
        _check(text for name in data for text in (name, *data.getlist(name)))
        return super().parse_querydict(data, list_fields, request)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole = dict(pairs)
    if len(whole) != len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key “{name[:100]}” appears twice")
    return whole


def _check(texts: Iterator[Any]) -> None:
    for text in texts:
        if isinstance(text, str) and not _UNSTORABLE.isdisjoint(text):
            raise Problem(
                400, "The body has a character that cannot be stored (NUL or a surrogate)."
            )


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for part in value:
                yield from _texts(part)
        case dict():
            for name, part in value.items():
                yield name
                yield from _texts(part)


PREFIX = "/api/v1"
_PROBLEM = {
    "title": "Problem",
    "description": "Problem details (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "The kind of error, for programs."},
        "detail": {"type": "string", "description": "What is wrong and how to fix it."},
        "errors": {
            "type": "array",
            "description": "Each faulty value.",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
_ANY_PROBLEM = {
    "description": "A problem. Nothing of the request was stored.",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[!-~]+$"},
    "description": "Any text, used once. A repeat of the request gets the same response.",
}


def describe(api: NinjaAPI, routers: Iterable[Router]) -> dict[str, Any]:
    """The schema of Ninja, with problems, idempotency keys and scopes of the routes."""
    schema: dict[str, Any] = dict(api.get_openapi_schema(path_prefix=f"{PREFIX}/"))
    schema.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _PROBLEM
    scopes = _scopes(routers)
    for path in schema["paths"].values():
        for method, operation in path.items():
            # OpenAPI 3.1 allows role names here for any kind of security.
            names = scopes[operation["operationId"]]
            operation["security"] = [dict.fromkeys(operation["security"][0], names)]
            operation["responses"]["default"] = _ANY_PROBLEM
            if method == "post":
                operation.setdefault("parameters", []).append(_KEY)
    return schema


def _scopes(routers: Iterable[Router]) -> dict[str, list[str]]:
    return {
        str(operation.operation_id): [*map(str, bearer.scopes)]
        for router in routers
        for view in router.path_operations.values()
        for operation in view.operations
        for bearer in operation.auth_callbacks
        if isinstance(bearer, AccessTokenBearer)
    }


ROUTERS: Kind[Router] = Kind("routes")


class RaisingAPI(NinjaAPI):
    """Raises every exception, even those that Ninja would answer, because `serve` answers all."""

    def on_exception(self, request: HttpRequest, exc: Any) -> NoReturn:
        raise exc


@cache
def api() -> NinjaAPI:
    whole = RaisingAPI(
        title="Thirdperson",
        version="1",
        description="Studies, items, answers, judges, runs, reports and exports. See docs/api.md.",
        urls_namespace="api-v1",
        openapi_url=None,
        docs_url=None,
        parser=StorableParser(),
    )
    for router in ROUTERS:
        whole.add_router("", router)
    return whole


@cache
def _resolver() -> URLResolver:
    patterns, _, _ = api().urls
    return URLResolver(RegexPattern(r""), list(patterns))


@cache
def openapi() -> dict[str, Any]:
    """The description of the API for programs."""
    return describe(api(), ROUTERS)


def find_route(route: str) -> ResolverMatch:
    """The route of an address. Raises `Http404`."""
    return _resolver().resolve(route)


def check_scopes(request: HttpRequest, match: ResolverMatch) -> None:
    """Raise `Problem` unless the token has the scopes of the route."""
    view = getclosurevars(match.func).nonlocals["self"]  # Ninja's own, with the route's operations
    for operation in view.operations:
        if request.method in operation.methods:
            for check in operation.auth_callbacks:
                check(request)


OPENAPI = "openapi.json"
_IMPORTS = "/imports"
_SLOT = re.compile(r"<(?:\w+:)?(\w+)>")
_MOST_FAULTS = 20


def serve(request: HttpRequest, route: str) -> HttpResponseBase:
    """Answer a request; refusals of apps become problems, other errors are raised."""
    try:
        return _serve(request, route)
    except Exception as error:
        problem = problem_of(error)
        if problem is None:
            raise
        return problem.response()


def _check_query(request: HttpRequest, match: ResolverMatch) -> None:
    """Raise `Problem` 422 for an unknown parameter, which may be misspelt."""
    path = f"{PREFIX}/" + _SLOT.sub(r"{\1}", match.route)
    operation = openapi()["paths"].get(path, {}).get((request.method or "").lower())
    if operation is None:
        return  # the route says which methods it has
    known = [
        parameter["name"]
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query"
    ]
    words = f"Use: {', '.join(known)}." if known else "This address takes none."
    if unknown := [name for name in request.GET if name not in known]:
        errors = [
            {"field": name[:100], "message": f"There is no such parameter. {words}"}
            for name in unknown[:_MOST_FAULTS]
        ]
        raise Problem(422, f"A parameter of the address is not known. {words}", errors=errors)


def _serve(request: HttpRequest, route: str) -> HttpResponseBase:
    if request.method == "HEAD":
        request.method = "GET"  # the web server leaves out the body
    if route == OPENAPI and request.method == "GET":
        return JsonResponse(openapi())
    token = authenticate(request)
    count_request(token)
    request.user, request.access_token = token.user, token  # type: ignore[attr-defined]
    match = find_route(route)
    _check_query(request, match)
    check_media_type(request, takes_files=route.endswith(_IMPORTS))
    return answer_once(
        request,
        token.user,
        lambda: match.func(request, *match.args, **match.kwargs),
        lambda: _authorise(request, match),
    )


def _authorise(request: HttpRequest, match: ResolverMatch) -> None:
    """Raise the route's error for a POST that its token or member may no longer make."""
    check_scopes(request, match)
    if slug := match.kwargs.get("slug"):
        study_of(request, slug, EDITOR)
    elif not request.user.has_perm(MAY_CREATE):
        raise Http404
