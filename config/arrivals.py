"""Checking and normalising of requests before anything else reads them.

PostgreSQL refuses NUL and halves of surrogate pairs, so a query with one would cause a server
error. A CR in a text would end a row in a file written later.
"""

import codecs
import re
from collections.abc import Callable, Iterable
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, QueryDict

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?")


class StorableText:
    """Answer 400 to characters that cannot be stored; change line ends of posted text to LF.

    A view without CSRF protection gets no form and reads its body itself.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        _is_utf8(request)
        _check("The address", [request.path_info])
        if request.META.get("QUERY_STRING"):
            _check("The query of the address", _texts(request.GET))
        _check("A cookie", [*request.COOKIES, *request.COOKIES.values()])
        _check("A header", _headers(request))
        return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> None:
        if request.method != "POST" or getattr(view, "csrf_exempt", False):
            return
        form = _check("The form", _texts(request.POST))
        _check("The name of a file", _names(request))
        if "\r" in form:
            request.POST = _with_plain_ends(request.POST)  # type: ignore[assignment]


def _is_utf8(request: HttpRequest) -> None:
    """Refuse a body that is not in UTF-8, as every page sends it.

    With another codec, the bytes could produce any character.
    """
    name = (request.content_params or {}).get("charset", "utf-8")
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        known = ""
    if known != "utf-8":
        raise BadRequest("Send UTF-8.")


def _headers(request: HttpRequest) -> list[str]:
    return [
        str(text) for name, text in request.META.items() if name.startswith(("HTTP_", "CONTENT_"))
    ]


def _texts(sent: QueryDict) -> list[str]:
    texts = []
    for name, values in sent.lists():
        texts += [name, *values]
    return texts


def _names(request: HttpRequest) -> list[str]:
    return [
        str(getattr(file, "name", ""))
        for field in request.FILES
        for file in request.FILES.getlist(field)
    ]


def _check(where: str, texts: Iterable[str]) -> str:
    """All texts as one, which is searched once; raises `BadRequest` if it cannot be stored."""
    together = "\n".join(texts)
    if _UNSTORABLE.search(together):
        raise BadRequest(f"{where} contains a character that cannot be stored.")
    return together


def _with_plain_ends(sent: QueryDict) -> QueryDict:
    plain = QueryDict(mutable=True)
    for name, values in sent.lists():
        plain.setlist(name, [_LINE_END.sub("\n", text) for text in values])
    return plain
