"""A request to the API from its token to its response."""

import re

from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse
from django.urls import ResolverMatch

from api.bearer import authenticate, count_request
from api.idempotency import answer_once
from api.problems import Problem
from api.v1.bodies import check_media_type
from api.v1.faults import problem_of
from api.v1.openapi import PREFIX
from api.v1.routes.access import EDITOR, study_of
from api.v1.site import check_scopes, find_route, openapi
from studies.pages.settings_views import MAY_CREATE

OPENAPI = "openapi.json"
_IMPORTS = "/imports"
_SLOT = re.compile(r"<(?:\w+:)?(\w+)>")
_MOST_FAULTS = 20


def serve(request: HttpRequest, route: str) -> HttpResponseBase:
    """Answer a request; what an app refuses becomes a problem, any other error is raised."""
    try:
        return _serve(request, route)
    except Exception as error:
        problem = problem_of(error)
        if problem is None:
            raise
        return problem.response()


def _check_query(request: HttpRequest, found: ResolverMatch) -> None:
    """Raise `Problem` 422 for a parameter that is not described: it may be misspelt."""
    path = f"{PREFIX}/" + _SLOT.sub(r"{\1}", found.route)
    operation = openapi()["paths"].get(path, {}).get((request.method or "").lower())
    if operation is None:
        return  # the route says which methods it has
    known = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
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
    found = find_route(route)
    _check_query(request, found)
    check_media_type(request, takes_files=route.endswith(_IMPORTS))
    return answer_once(
        request,
        token.user,
        lambda: found.func(request, *found.args, **found.kwargs),
        lambda: _authorise(request, found),
    )


def _authorise(request: HttpRequest, found: ResolverMatch) -> None:
    """Raise what the route itself would, for a POST whose token or member may do it no more."""
    check_scopes(request, found)
    if slug := found.kwargs.get("slug"):
        study_of(request, slug, EDITOR)
    elif not request.user.has_perm(MAY_CREATE):
        raise Http404
