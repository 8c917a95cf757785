"""The built page and its files, and the link to it from the page for signing in."""

from pathlib import Path

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from studies.pages.workbench import PageLink

_KINDS = {
    ".bin": "application/octet-stream",
    ".css": "text/css",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".txt": "text/plain; charset=utf-8",
}
# WebAssembly is compiled here and on no other page.
_POLICY = {"script-src": "'self' 'wasm-unsafe-eval'", "worker-src": "'self'"}


def built_folder() -> Path:
    return Path(settings.VAR_DIR) / "check-page"


def _address() -> str:
    return reverse("check_page:page") if (built_folder() / "index.html").is_file() else ""


LINK = PageLink("check_page", "Check a judge with a table of labels, without an account", _address)


@require_safe
def page(request: HttpRequest, name: str = "index.html") -> HttpResponseBase:
    """A file of the page, which keeps all of them for use offline by a script of its own."""
    folder = built_folder()
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    if name == "index.html" and name not in files:
        return render(request, "check_page/not_built.html")
    path = files.get(name)
    if path is None or path.suffix not in _KINDS:
        raise Http404
    response = FileResponse(path.open("rb"), content_type=_KINDS[path.suffix])
    response.policy_changes = _POLICY  # type: ignore[attr-defined]
    return response
