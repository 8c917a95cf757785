"""The program's scripts, styles and pictures: their names, and pages that include them."""

import base64
import hashlib
import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import HttpRequest, HttpResponse
from whitenoise.storage import (  # type: ignore[import-untyped]
    CompressedManifestStaticFilesStorage,
)


class StaticFiles(CompressedManifestStaticFilesStorage):
    """Each name contains a hash of the content, also where one script imports another.

    Otherwise a script of a new version could import an old one from a cache.
    """

    support_js_module_import_aggregation = True


_STYLES = re.compile(r'<link rel="stylesheet" href="([^"]+)">')
_MODULE = re.compile(r'<script type="module" src="([^"]+)"></script>')
_IMPORT = re.compile(r'^import \{[^}]*\} from "(\./[^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(async )?function )", re.MULTILINE)


def files_inside(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Inline styles and scripts in a participant's page if the browser is unlikely to have them.

    Somebody who comes from elsewhere, or reloads a page, would wait for a second round of requests
    before anything shows: two seconds on a slow phone. The files are still loaded afterwards, for
    the next pages. The page's policy allows the inlined parts by their hashes, and nothing else
    runs.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if (
            request.path_info.startswith("/s/")
            and _begins_here(request)
            and response.status_code == 200
            and response.headers.get("Content-Type", "").startswith("text/html")
        ):
            _put_inside(response)
        return response

    return middleware


def _begins_here(request: HttpRequest) -> bool:
    """Whether a page is opened from elsewhere or reloaded, as newer browsers say."""
    told = request.headers.get
    is_from_here = told("Sec-Fetch-Site") == "same-origin" and not told("Cache-Control")
    return told("Sec-Fetch-Dest") == "document" and not is_from_here


def _put_inside(response: HttpResponse) -> None:
    page = response.content.decode()
    hashes: dict[str, list[str]] = {"style-src": ["'self'"], "script-src": ["'self'"]}
    # A script that another one imports is inlined with that one.
    texts = {url: _text(url) for url in _MODULE.findall(page)}
    imported = {_neighbour(url, name) for url in texts for name in _IMPORT.findall(texts[url])}

    def with_text(rule: str, tag: str, text: str) -> str:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        hashes[rule].append(f"'sha256-{digest}'")
        return f"<{tag}>{text}</{tag.split()[0]}>"

    def styles(match: re.Match[str]) -> str:
        later = f'<link rel="stylesheet" href="{match[1]}" media="print">'
        return with_text("style-src", "style", _text(match[1])) + later

    def module(match: re.Match[str]) -> str:
        later = f'<link rel="modulepreload" href="{match[1]}">'
        if match[1] in imported:
            return later
        return with_text("script-src", 'script type="module"', _with_imports(match[1])) + later

    response.content = _MODULE.sub(module, _STYLES.sub(styles, page)).encode()
    response.headers["Content-Length"] = str(len(response.content))
    changes = {rule: " ".join(values) for rule, values in hashes.items()}
    response.policy_changes = getattr(response, "policy_changes", {}) | changes  # type: ignore[attr-defined]


def _with_imports(url: str) -> str:
    """A module as one text, with its imports in front."""
    return _IMPORT.sub(
        lambda match: _EXPORT.sub("", _with_imports(_neighbour(url, match[1]))), _text(url)
    )


def _neighbour(url: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(url), name))


def _text(url: str) -> str:
    name = url.removeprefix(settings.STATIC_URL)
    path = staticfiles_storage.path(name) if settings.STATIC_ROOT else finders.find(name)
    return Path(str(path)).read_text()
