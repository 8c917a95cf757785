"""The view of every address below `/api/v1/`.

Django Ninja, pydantic and the routes take 0.3 s and 18 MB. Only the first request to the API loads
them, so commands and processes that only serve pages do without.
"""

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_http_methods


@require_http_methods(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
def gateway(request: HttpRequest, route: str) -> HttpResponseBase:
    """Answer a request to the API."""
    from api.v1.serving import serve

    return serve(request, route)
