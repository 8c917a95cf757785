"""A request to the API from its token to its response."""

from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse
from django.urls import ResolverMatch

from api.bearer import authenticate, count_request
from api.idempotency import answer_once
from api.v1.bodies import check_media_type
from api.v1.faults import problem_of
from api.v1.routes.access import EDITOR, study_of
from api.v1.site import check_scopes, find_route, openapi
from studies.pages.settings_views import MAY_CREATE

OPENAPI = "openapi.json"
_IMPORTS = "/imports"


def serve(request: HttpRequest, route: str) -> HttpResponseBase:
    """Answer a request; what an app refuses becomes a problem, any other error is raised."""
    try:
        return _serve(request, route)
    except Exception as error:
        problem = problem_of(error)
        if problem is None:
            raise
        return problem.response()


def _serve(request: HttpRequest, route: str) -> HttpResponseBase:
    if request.method == "HEAD":
        request.method = "GET"  # the web server leaves out the body
    if route == OPENAPI and request.method == "GET":
        return JsonResponse(openapi())
    token = authenticate(request)
    count_request(token)
    request.user, request.access_token = token.user, token  # type: ignore[attr-defined]
    found = find_route(route)
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
