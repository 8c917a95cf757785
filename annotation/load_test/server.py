"""The web server that a load test measures: one of its own, or one that runs on this machine."""

import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from annotation.errors import AnnotationError
from annotation.load_test.process import ServerFailed, ServerProcess

_ROOT = Path(__file__).resolve().parent.parent.parent
_LOCAL = {"127.0.0.1", "localhost"}


class CannotMeasure(AnnotationError):
    """The server cannot be measured; the message says why and what to do."""


@dataclass(frozen=True)
class LoadTarget:
    """A web server, the headers it expects, and its processes if they are known."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)
    processes: list[int] = field(default_factory=list)


@contextmanager
def own_server(slug: str) -> Iterator[LoadTarget]:
    """A web server on a free port, as `make run` starts it; `slug` is a study that it serves."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    # An empty variable counts as not set, also if the file .env has it.
    environment = os.environ | {
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "PUBLIC_BASE_URL": url,
        "SECRET_KEY": settings.SECRET_KEY,
        "ALLOWED_HOSTS": "",
        "CSRF_TRUSTED_ORIGINS": "",
        "TRUST_PROXY": "",
    }
    command = [sys.executable, "-m", "config.processes", "web"]
    server = ServerProcess(command, cwd=_ROOT, env=environment)
    try:
        server.wait_until_ready(f"{url}/s/{slug}/", requests=20)
        yield LoadTarget(url, processes=[server.pid] if Path("/proc/self/stat").exists() else [])
    except ServerFailed as error:
        raise CannotMeasure(str(error)) from error
    finally:
        server.stop()


def running_server(url: str) -> LoadTarget:
    """The web server at `url`, which must be on this machine. Raises `CannotMeasure`."""
    address = urlsplit(url)
    if address.scheme != "http" or address.hostname not in _LOCAL:
        raise CannotMeasure(
            f"{url} is not a web server on this machine. Give its local address, for example "
            "http://127.0.0.1:8000. A load test never sends requests to another machine."
        )
    public = urlsplit(settings.PUBLIC_BASE_URL)
    if public.scheme != "https":
        return LoadTarget(url.rstrip("/"))
    # What a proxy in front of the server would say.
    headers = {
        "Host": public.netloc,
        "X-Forwarded-Proto": "https",
        "Referer": f"{settings.PUBLIC_BASE_URL}/",
    }
    return LoadTarget(url.rstrip("/"), headers)


def check_database(target: LoadTarget, slug: str) -> None:
    """Raise `CannotMeasure` if the server does not know the study: it has another database."""
    request = urllib.request.Request(f"{target.url}/s/{slug}/", headers=target.headers)  # noqa: S310
    try:
        urllib.request.urlopen(request, timeout=30).close()  # noqa: S310
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise CannotMeasure(
                f"The server at {target.url} uses another database than this command. Run the "
                "command with the settings (DATABASE_URL, VAR_DIR) of the server."
            ) from error
    except OSError as error:
        raise CannotMeasure(f"Nothing answers at {target.url}. Check the port.") from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
