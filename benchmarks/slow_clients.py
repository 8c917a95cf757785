"""Waiting time of other clients while some send half a request or read nothing.

    python -m benchmarks.slow_clients [COUNT …]

Starts a web server on a free port, opens COUNT such connections, and requests the sign-in page
twenty times, half a second apart at most, with a limit of ten seconds each.
"""

import os
import socket
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from benchmarks._machine import free_ports
from config.processes import Processes, web_command

_PAGE = "/accounts/password/reset/"
_ASKED, _PATIENCE = 20, 10.0
_POST = (
    b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
    # With the cookie, Django reads the form to compare its token.
    b"Cookie: csrftoken=" + b"a" * 32 + b"\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\nusername=ada&"
)
_READ_NOTHING = (
    b"GET /static/vendor/plotly/plotly-basic-4.1.1.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
)


def half_a_head(sock: socket.socket) -> None:
    sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Wait: ")


def half_a_body(sock: socket.socket) -> None:
    sock.sendall(_POST)


def reads_nothing(sock: socket.socket) -> None:
    sock.sendall(_READ_NOTHING)


KINDS: tuple[Callable[[socket.socket], None], ...] = (half_a_head, half_a_body, reads_nothing)


def open_connections(port: int, count: int, kind: Callable[[socket.socket], None]) -> list:
    found = []
    for _ in range(count):
        sock = socket.socket()
        # A small window, so that unread data stay with the server.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(_PATIENCE)
        sock.connect(("127.0.0.1", port))
        kind(sock)
        found.append(sock)
    return found


def ask(port: int) -> float | None:
    """Seconds until the page arrives; None if nothing came."""
    begun = time.monotonic()
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{_PAGE}", timeout=_PATIENCE) as page:
            page.read()
    except OSError:
        return None
    return time.monotonic() - begun


def measure(count: int, kind: Callable[[socket.socket], None]) -> list[float | None]:
    """How long each page took while `count` slow clients of a kind were connected."""
    port = free_ports(1)[0]
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "wb") as log:
        processes = Processes(
            log=log,
            environment={
                "VAR_DIR": folder,
                "DATABASE_URL": "",
                "PUBLIC_BASE_URL": f"http://localhost:{port}",
            },
        )
        processes.start("web", web_command(port=port))
        try:
            while ask(port) is None:
                time.sleep(0.3)
            # Both processes have loaded the program before anything is measured.
            with ThreadPoolExecutor(16) as pool:
                list(pool.map(ask, [port] * 64))
            clients = open_connections(port, count, kind)
            time.sleep(0.5)
            times: list[float | None] = []
            for _ in range(_ASKED):
                times.append(ask(port))
                if times[-3:] == [None] * 3:
                    break
            for sock in clients:
                sock.close()
        finally:
            processes.stop()
    return times


def in_words(times: list[float | None]) -> str:
    answered = [t for t in times if t is not None]
    words = f"{len(answered)} of {len(times)} answered"
    if answered:
        words += f", median {1000 * statistics.median(answered):.0f} ms"
        words += f", longest {1000 * max(answered):.0f} ms"
    return words


def main() -> None:
    for count in [int(text) for text in sys.argv[1:]] or [0, 20, 100, 300]:
        for kind in KINDS:
            name = kind.__name__.replace("_", " ")
            sys.stdout.write(f"{count:>4} × {name:<14} {in_words(measure(count, kind))}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
