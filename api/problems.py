"""Errors of the API as problem details (RFC 9457), whatever raised them."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

MEDIA_TYPE = "application/problem+json"
PREFIX = "/api/"
_DETAILS = {
    400: "The request could not be read. Check its address, headers and body.",
    404: "There is nothing at this address, or this token may not see it.",
    405: (
        "This address does not support this method. The header Allow lists those that it supports."
    ),
    413: "The request is larger than the server accepts.",
    500: "The server failed. Nothing of this request was stored. The server's log has the details.",
    503: "The database is busy or unavailable. Send the request again.",
}
_CODES = {
    400: "bad_request",
    401: "not_authenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "rate_limited",
    500: "server_error",
    503: "unavailable",
}


class Problem(Exception):
    """An error of the API; `code` is for programs, `detail` says what to fix."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        code: str = "",
        errors: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.errors = status, detail, list(errors)
        self.code = code or _CODES[status]
        self.headers = dict(headers or {})

    def response(self) -> JsonResponse:
        body: dict[str, Any] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
        }
        if self.errors:
            body["errors"] = self.errors
        return JsonResponse(body, status=self.status, content_type=MEDIA_TYPE, headers=self.headers)


def problems_of_the_api(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Give every error below `/api/` the same form, even those of Django and other middleware."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not request.path_info.startswith(PREFIX) or response.status_code < 400:
            return response
        if response.headers.get("Content-Type", "") == MEDIA_TYPE:
            return response
        status = response.status_code if response.status_code in _DETAILS else 400
        problem = Problem(status, _DETAILS[status])
        if allowed := response.headers.get("Allow"):
            problem.headers["Allow"] = allowed
        if wait := response.headers.get("Retry-After"):
            problem.headers["Retry-After"] = wait
        return problem.response()

    return middleware
