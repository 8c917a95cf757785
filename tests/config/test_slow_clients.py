"""Clients who send half a request, or read nothing, hold up nobody else."""

import re
import socket
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.conf import settings

from config.processes import Processes, web_command
from tests.servers import free_port

ROOT = Path(settings.BASE_DIR)
FORM = (
    b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\n"
    # With the cookie Django reads the form, to compare the token in it.
    b"Cookie: csrftoken=" + b"a" * 32 + b"\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 31\r\n\r\n"
)
BODY = b"username=ada&password=somewords"


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """The web server as an installation starts it, with one process."""
    port, folder = free_port(), tmp_path_factory.mktemp("web")
    with (folder / "log").open("wb") as log:
        processes = Processes(
            log=log,
            environment={
                "DJANGO_SETTINGS_MODULE": "config.settings.dev",
                "VAR_DIR": str(folder),
                "DATABASE_URL": "",
                "PUBLIC_BASE_URL": f"http://localhost:{port}",
            },
        )
        processes.start("web", web_command(port=port, workers=1))
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                page(port)
                break
            except OSError:
                time.sleep(0.2)
        yield port
        processes.stop()


def page(port: int) -> str:
    url = f"http://127.0.0.1:{port}/accounts/password/reset/"
    with urllib.request.urlopen(url, timeout=30) as response:
        return response.read().decode()


def connect(port: int, data: bytes) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(30)
    sock.connect(("127.0.0.1", port))
    sock.sendall(data)
    return sock


SLOW = {
    "half a head": b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Wait: ",
    "half a body": FORM + BODY[:5],
    "half a chunk": b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nff\r\nuser",
    "reads nothing": b"GET /static/vendor/plotly/plotly-basic-4.1.1.min.js HTTP/1.1\r\n"
    b"Host: localhost\r\n\r\n",
}


@pytest.mark.parametrize("data", SLOW.values(), ids=SLOW.keys())
def test_slow_clients_beyond_the_threads_keep_nobody_waiting(port, data):
    with ExitStack() as stack:
        for _ in range(12):
            stack.enter_context(connect(port, data))

        assert "Reset password" in page(port)


def test_slow_clients_are_answered_in_the_end(port):
    with connect(port, FORM) as sock:
        for byte in BODY:
            sock.sendall(bytes([byte]))

        assert sock.recv(100).startswith(b"HTTP/1.1 403")  # It has no token.


def test_two_requests_of_a_connection_are_both_answered(port):
    head = b"GET /accounts/password/reset/ HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(port, head) as sock:
        first = read_answer(sock)
        sock.sendall(head)
        second = read_answer(sock)

    assert first.startswith(b"HTTP/1.1 200")
    assert second.startswith(b"HTTP/1.1 200")


def test_a_large_answer_arrives_whole(port):
    path = ROOT / "static/vendor/plotly/plotly-basic-4.1.1.min.js"
    url = f"http://127.0.0.1:{port}/static/vendor/plotly/plotly-basic-4.1.1.min.js"

    with urllib.request.urlopen(url, timeout=30) as response:
        assert response.read() == path.read_bytes()


def read_answer(sock: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += sock.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
    while len(body) < length:
        body += sock.recv(65536)
    return head


@pytest.mark.nightly
def test_the_proxy_of_compose_waits_for_slow_clients_and_the_web_server_is_behind_it():
    compose = (ROOT / "compose.yaml").read_text("utf-8")
    services = dict(re.findall(r"^  (\w+):\n((?:    .*\n)+)", compose, re.M))
    proxy = (ROOT / "deploy/nginx.conf").read_text("utf-8")

    assert "ports" not in services["web"]
    assert "./deploy/nginx.conf:" in services["proxy"]
    assert "proxy_request_buffering on;" in proxy
    assert "client_header_timeout" in proxy
    # The web server counts by the address that the proxies write.
    assert "X-Forwarded-For $proxy_add_x_forwarded_for" in proxy
    assert 'TRUSTED_PROXIES: "2"' in compose
    # Milder errors of nginx name the query, which holds participants' ids.
    assert re.search(r"error_log \S+ crit;", proxy)
    assert "access_log off;" in proxy
