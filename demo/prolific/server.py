"""The simulated Prolific over HTTP: faults, webhooks, and a log of the requests.

It implements the researcher API of version 1 as far as Thirdperson uses it. Below /simulate/
participants arrive, finish, return and time out, behaviours are switched and faults are requested:
`POST /simulate/faults` with {"method", "path", "fault", "times", "seconds"}.
"""

import contextlib
import dataclasses
import json
import random
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

import requests

from demo.prolific import routes, simulate  # noqa: F401  they register themselves
from demo.prolific.faults import AFTERWARDS, RequestFault
from demo.prolific.records import Delivery, Refusal
from demo.prolific.routing import Platform, Query, RoutedReply, answer
from demo.prolific.world import ProlificWorld

TOKEN = "simulated-token-0000"  # noqa: S105  it opens nothing
# The token of another researcher, who has a workspace of their own.
LAB_TOKEN = "simulated-token-1111"  # noqa: S105
LAB = {"id": "2" * 24, "title": "Second lab"}
_MAX_BODY = 1_000_000
_TRIES = 12


class SimulatedProlific(Platform):
    """The simulated Prolific behind its HTTP interface.

    `patience` is the first wait, in seconds, before a webhook that failed is tried again.
    """

    def __init__(
        self, world: ProlificWorld | None = None, *, token: str = TOKEN, patience: float = 1.0
    ) -> None:
        super().__init__(world or ProlificWorld())
        self.token = token
        # Other tokens, with the workspaces that they access; the first one accesses all others.
        self.more_tokens: dict[str, set[str]] = {}
        self.under_way = 0
        self._patience = patience
        self._random = random.Random(1)  # noqa: S311  a simulation

    def fault(
        self, method: str, path: str, name: str, *, times: int = 1, seconds: float = 1.0
    ) -> None:
        """Damage the next `times` requests; `path` is a part of the path below /api/v1/."""
        self.faults.order(RequestFault(method, path, name, times, seconds))

    def respond(self, query: Query, authorization: str) -> RoutedReply | None:
        """The reply, or None to break the connection. `under_way` counts replies in progress."""
        with self.world.lock:
            self.under_way += 1
        try:
            return self._respond(query, authorization)
        finally:
            with self.world.lock:
                self.under_way -= 1

    def _respond(self, query: Query, authorization: str) -> RoutedReply | None:
        simulation = query.path.startswith(("/simulate/", "/.well-known/"))  # without a token
        path = query.path if simulation else query.path.removeprefix("/api/v1/").rstrip("/") + "/"
        with self.world.lock:
            fault = None if simulation else self.faults.take(query.method, path)
            if not simulation:
                self.requests.append(f"{query.method} {path}")
        if fault and fault.name == "slow":
            time.sleep(fault.seconds)
        if fault and fault.name not in AFTERWARDS:
            return self._spoil(fault)
        accessed = self._accessed(authorization)
        if accessed is None and not simulation:
            return self._error(Refusal(401, "Invalid token."))
        query = dataclasses.replace(query, workspaces=accessed or frozenset())
        with self.world.lock:
            reply = self._answer(query, path)
        if fault and fault.name == "dropped_after":
            return None
        if fault and fault.name == "malformed":
            return RoutedReply(reply.status, reply.body[: len(reply.body) // 2] or b"{")
        if fault and fault.name == "empty":
            return RoutedReply.of({}, reply.status)
        return reply

    def add_lab(self, token: str = LAB_TOKEN) -> str:
        """Add a second workspace that only this token accesses; return its id."""
        with self.world.lock:
            if LAB not in self.world.workspaces:
                self.world.workspaces.append(dict(LAB))
            self.more_tokens[token] = {LAB["id"]}
        return LAB["id"]

    def _accessed(self, authorization: str) -> frozenset[str] | None:
        """The workspaces of a token; None if it is unknown."""
        token = authorization.removeprefix("Token ")
        if token in self.more_tokens:
            return frozenset(self.more_tokens[token])
        if token != self.token:
            return None
        others = {one for owned in self.more_tokens.values() for one in owned}
        return frozenset(row["id"] for row in self.world.workspaces if row["id"] not in others)

    def _answer(self, query: Query, path: str) -> RoutedReply:
        try:
            values = query.params | (query.body if isinstance(query.body, dict) else {})
            if not self.world.workspaces_of(path, values) <= query.workspaces and (
                not path.startswith(("/simulate/", "/.well-known/"))
            ):
                raise Refusal(404, "Not found.")
            reply = answer(self, query, path)
        except Refusal as problem:
            return self._error(problem)
        # Reading changes things as well: asynchronous actions happen then.
        self.world.save()
        return reply

    def _spoil(self, fault: RequestFault) -> RoutedReply | None:
        if fault.name == "dropped_before":
            return None
        if fault.name == "502_html":
            return RoutedReply(502, b"<html><h1>502 Bad Gateway</h1></html>", "text/html")
        if fault.name in ("429", "429_wait"):
            reply = self._error(Refusal(429, "Too many requests."))
            wait = (("Retry-After", f"{fault.seconds:g}"),) if fault.name == "429_wait" else ()
            return RoutedReply(reply.status, reply.body, headers=wait)
        return self._error(Refusal(int(fault.name), "Simulated."))

    def _error(self, problem: Refusal) -> RoutedReply:
        inner = {
            "status": problem.status,
            "error_code": 140001,
            "title": "Simulated Prolific",
            "detail": problem.detail,
            "additional_information": "",
            "traceback": "",
            "interactive": False,
        }
        shapes = {
            "wrapped": {"error": inner},
            "flat": inner,
            "simple": {"message": "Simulated Prolific", "detail": str(problem.detail)},
        }
        return RoutedReply.of(shapes[self.world.behaviour.errors], problem.status)

    # Webhooks

    def deliver(
        self,
        *,
        twice: bool = False,
        shuffle: bool = False,
        post: Callable[[Delivery], Any] | None = None,
    ) -> int:
        """Post the webhooks that are due; return how many were posted.

        `post` returns False when the receiver did not accept it: that webhook is posted again
        later, up to eleven times, each wait twice as long.
        """
        now = time.monotonic()
        with self.world.lock:
            due = [delivery for delivery in self.world.outbox if delivery.due <= now]
            self.world.outbox = [d for d in self.world.outbox if d.due > now]
        sent = due * 2 if twice else list(due)
        if shuffle:
            self._random.shuffle(sent)
        for delivery in sent:
            if (post or _post)(delivery) is False and delivery.tries + 1 < _TRIES:
                wait = self._patience * 2**delivery.tries * self._random.uniform(0.75, 1.25)
                again = dataclasses.replace(
                    delivery, tries=delivery.tries + 1, due=time.monotonic() + wait
                )
                with self.world.lock:
                    self.world.outbox.append(again)
        return len(sent)


def _post(delivery: Delivery) -> bool:
    """Whether the receiver has accepted it."""
    try:
        answer = requests.post(
            delivery.url, data=delivery.body, headers=delivery.headers, timeout=10
        )
    except requests.RequestException:
        return False
    return answer.ok


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "SimulatedProlific"
    wbufsize = -1  # one packet an answer: two would wait for each other
    simulated: ClassVar[SimulatedProlific]

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(min(length, _MAX_BODY))
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            body = None
        query = Query(self.command, parts.path, dict(parse_qsl(parts.query)), body)
        reply = self.simulated.respond(query, self.headers.get("Authorization", ""))
        if reply is None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        # The client waited too long and closed the connection; it has to handle that.
        with contextlib.suppress(ConnectionError):
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(reply.body)))
            for name, value in reply.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

    do_GET = do_POST = do_PATCH = do_DELETE = _handle

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the server itself keeps the log of requests."""


class ProlificServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error: the connection was broken on purpose."""


def start(server: SimulatedProlific, *, host: str = "127.0.0.1", port: int = 0) -> ProlificServer:
    """Listen in a thread and return the HTTP server; `shutdown` and `server_close` end it."""
    handler = type("Handler", (_Handler,), {"simulated": server})
    http = ProlificServer((host, port), handler)
    threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True).start()
    return http
