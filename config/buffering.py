"""A gunicorn worker whose threads only handle complete requests and never wait for a client.

gunicorn's own threads read a request and write its answer themselves, so that a few clients who
send half a request, or read nothing, block all of them. Here one loop receives every request and
sends every answer; a thread works between the two. Large data waits in an unnamed temporary file.

No option of gunicorn does this: its gthread worker reads in the thread, and gevent or an ASGI
server would run Django's database code under a loop. A proxy in front does it too
(deploy/nginx.conf); this class protects installations that have none.
"""

import contextlib
import re
import resource
import selectors
import socket
import sys
import time
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import Any

from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger, SafeAtoms
from gunicorn.http import get_parser
from gunicorn.workers.gthread import TConn, ThreadWorker

from config.requests import Incoming

# Seconds for the head of a request. The rest of the request and the answer get this time plus their
# length divided by the least accepted speed (bytes a second).
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
HEAD_SECONDS, BODY_SECONDS = 20.0, 30.0
LEAST_SPEED = 10_000
_CHUNK = 65_536
_IN_MEMORY = 262_144
_STOPPING = 2.0


class _Printable(SafeAtoms):
    """Parts of a line of the access log, without the control characters that a path can have."""

    def __init__(self, atoms: dict[str, Any]) -> None:
        super().__init__(atoms)
        for name, value in self.items():
            if isinstance(value, str):
                self[name] = CONTROL.sub(lambda found: f"%{ord(found[0]):02X}", value)


class Lines(Logger):
    """gunicorn's log, where a request writes one line whatever its path holds."""

    atoms_wrapper_class = _Printable


class BufferedAnswer:
    """A replacement for gunicorn's socket: keeps the written bytes until the loop sends them."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.written = SpooledTemporaryFile(max_size=_IN_MEMORY)
        self.length = 0

    def sendall(self, data: bytes) -> None:
        self.length += len(data)
        self.written.write(data)

    def send(self, data: bytes) -> int:
        self.sendall(data)
        return len(data)

    def recv(self, size: int) -> bytes:
        return b""

    def setblocking(self, flag: bool) -> None:
        """Do nothing: only the loop uses the socket."""

    settimeout = setblocking

    def shutdown(self, how: int) -> None:
        """Do nothing: the loop closes the connection when all is sent."""

    def close(self) -> None:
        """Do nothing: the loop closes the connection when all is sent."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class BufferedConnection(TConn):
    """A client: its socket, the incoming request and the outgoing answer."""

    def __init__(self, cfg: Any, sock: socket.socket, client: Any, server: Any) -> None:
        super().__init__(cfg, sock, client, server)
        self.client_sock = sock
        self.initialized = True
        self.incoming = Incoming()
        self.unsent = b""
        self.deadline = 0.0
        self.keeps = False

    def start_answer(self) -> None:
        """Let gunicorn read the received request, and write to a new answer."""
        self.sock = BufferedAnswer(self.client_sock)
        self.parser = get_parser(self.cfg, self.incoming.chunks(), self.client)

    def end_answer(self) -> None:
        self.sock.written.close()
        self.incoming.close()

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self.client_sock.shutdown(socket.SHUT_WR)
        self.client_sock.close()
        self.incoming.close()


class Worker(ThreadWorker):
    """Threads for complete requests; a loop for everything that waits for a client."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A file is sent through `Answer` like everything else.
        self.cfg.set("sendfile", False)
        self.waiting: set[BufferedConnection] = set()
        self._next_look = 0.0

    def load_wsgi(self) -> None:
        super().load_wsgi()
        from config.files_location import refusal  # after Django is set up

        if sentence := refusal():
            sys.stderr.write(f"{sentence}\n")
            sys.exit(Arbiter.WORKER_BOOT_ERROR)  # or the server would start another worker

    def init_process(self) -> None:
        # Every waiting client has a file: as many as the system allows.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        super().init_process()

    def accept(self, listener: socket.socket) -> None:
        try:
            sock, address = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # Another worker was faster, or the client left.
        self.nr_conns += 1
        sock.setblocking(False)
        conn = BufferedConnection(self.cfg, sock, address, listener.getsockname())
        conn.deadline = time.monotonic() + HEAD_SECONDS
        self._wait(conn, selectors.EVENT_READ, self._receive)

    def _wait(self, conn: BufferedConnection, event: int, then: Any) -> None:
        self.waiting.add(conn)
        self.poller.register(conn.client_sock, event, partial(self._ready, conn, then))

    def _ready(self, conn: BufferedConnection, then: Any, sock: socket.socket) -> None:
        try:
            then(conn)
        except BlockingIOError:
            pass
        except OSError:
            self._drop(conn)

    def _stop_waiting(self, conn: BufferedConnection) -> None:
        if conn in self.waiting:
            self.waiting.remove(conn)
            self.poller.unregister(conn.client_sock)

    def _drop(self, conn: BufferedConnection) -> None:
        self._stop_waiting(conn)
        self.nr_conns -= 1
        conn.hang_up()

    def _receive(self, conn: BufferedConnection) -> None:
        """Receive the available bytes; a complete request goes to a thread."""
        data = conn.client_sock.recv(_CHUNK)
        if not data:
            self._drop(conn)
            return
        incoming, now = conn.incoming, time.monotonic()
        had_head, began = incoming.has_head, incoming.is_empty
        incoming.feed(data)
        if began:
            conn.deadline = now + HEAD_SECONDS
        if incoming.has_head and not had_head:
            conn.deadline = now + BODY_SECONDS + incoming.length / LEAST_SPEED
            if incoming.expects_continue and not incoming.is_whole:
                conn.client_sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if incoming.is_whole:
            self._stop_waiting(conn)
            conn.start_answer()
            self.enqueue_req(conn)

    def finish_request(self, conn: BufferedConnection, fs: Any) -> None:
        """Send the answer that a thread has written."""
        with contextlib.suppress(Exception):
            conn.keeps = bool(fs.result()) and self.alive and conn.incoming.is_plain
        conn.sock.written.seek(0)
        conn.deadline = time.monotonic() + BODY_SECONDS + conn.sock.length / LEAST_SPEED
        try:
            self._send(conn)
        except BlockingIOError:
            self._wait(conn, selectors.EVENT_WRITE, self._send)
        except OSError:
            self._drop(conn)

    def _send(self, conn: BufferedConnection) -> None:
        """Send as much as the client accepts; raises `BlockingIOError` when it accepts no more."""
        while data := conn.unsent or conn.sock.written.read(_CHUNK):
            conn.unsent = data
            conn.unsent = data[conn.client_sock.send(data) :]
        self._stop_waiting(conn)
        conn.end_answer()
        if not conn.keeps:
            self.nr_conns -= 1
            conn.hang_up()
            return
        conn.incoming = Incoming()
        conn.deadline = time.monotonic() + self.cfg.keepalive
        self._wait(conn, selectors.EVENT_READ, self._receive)

    def murder_pending(self) -> None:
        """Close connections whose time is over; the loop calls this after every event."""
        super().murder_pending()
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + 1
        if not self.alive:
            for conn in self.waiting:
                conn.deadline = min(conn.deadline, now + _STOPPING)
        for conn in [conn for conn in self.waiting if conn.deadline < now]:
            self._drop(conn)
