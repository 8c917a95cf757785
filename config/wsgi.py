"""The site for a web server, loaded whole: gunicorn does it once and forks its workers from it."""

import gc
import logging
import os
import sys
from collections.abc import Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

# A thread that comes back from the database continues after half a millisecond instead of five,
# however busy the others are. On SQLite everyone else who writes waits for it.
sys.setswitchinterval(0.0005)

_site = get_wsgi_application()
from annotation.participants import templates  # noqa: E402  after Django is set up
from studies.pages.addressed import load  # noqa: E402

# Nothing loaded here is garbage, and a collection would visit all of it many times.
gc.disable()
load(get_resolver().url_patterns)  # the first visitor would wait for the modules of pages
templates.load()
# What workers have from here on stays in memory that they share, and no collection visits it.
gc.freeze()
gc.enable()
access = logging.getLogger("config.access")


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """The site, with a line of the log for each answer: its path without the query."""

    def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
        client, method = environ["REMOTE_ADDR"], environ["REQUEST_METHOD"]
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
        size = dict(headers).get("Content-Length", "-")
        access.info('%s "%s %s" %s %s', client, method, path, status[:3], size)
        return start_response(status, headers, *rest)

    return _site(environ, start)
