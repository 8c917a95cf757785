"""A simulated Prolific over HTTP: `python -m demo.prolific_server --port 8002`.

It speaks the researcher API of version 1 as far as Thirdperson uses it. Nothing is real: the
people, the money and the account are simulated. Below /simulate/ people arrive, finish, return
and time out, webhooks are delivered, behaviours are switched and faults are ordered:
`POST /simulate/faults` with {"method", "path", "fault", "times", "seconds"}.
"""

import argparse
import contextlib
import json
import random
import re
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

import requests

from demo.prolific_world import FILTERS, Delivery, Problem, World

TOKEN = "simulated-token-0000"  # noqa: S105  it opens nothing
FAULTS = (
    "429", "429_wait", "500", "502_html", "401", "404", "dropped_before", "dropped_after",
    "slow", "malformed", "empty",
)  # fmt: skip
_MAX_BODY = 1_000_000


@dataclass
class Fault:
    """What to do to the next `times` requests of this method whose path matches."""

    method: str
    path: str
    name: str
    times: int = 1
    seconds: float = 1.0


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, value: Any, status: int = 200, **headers: str) -> "Reply":
        extra = tuple((name.replace("_", "-"), text) for name, text in headers.items())
        return cls(status, json.dumps(value).encode(), headers=extra)


@dataclass(frozen=True)
class Query:
    """A request, read."""

    method: str
    path: str
    params: dict[str, str]
    body: Any
    ids: tuple[str, ...] = ()


Route = Callable[["SimulatedProlific", Query], Reply]
_ROUTES: list[tuple[str, re.Pattern[str], Route]] = []


def route(method: str, pattern: str) -> Callable[[Route], Route]:
    expression = re.compile(f"^{pattern.replace('<id>', '([0-9a-f]{24})')}$")

    def register(function: Route) -> Route:
        _ROUTES.append((method, expression, function))
        return function

    return register


class SimulatedProlific:
    """The routes, the faults, and a log of what was asked."""

    def __init__(self, world: World | None = None, *, token: str = TOKEN) -> None:
        self.world = world or World()
        self.token = token
        self.requests: list[str] = []
        self._faults: list[Fault] = []
        self._random = random.Random(1)  # noqa: S311  a simulation

    def fault(
        self, method: str, path: str, name: str, *, times: int = 1, seconds: float = 1.0
    ) -> None:
        """Spoil the next `times` requests; `path` is a part of the path below /api/v1/."""
        if name not in FAULTS:
            raise ValueError(f"fault must be one of {', '.join(FAULTS)}")
        self._faults.append(Fault(method, path, name, times, seconds))

    def clear_faults(self) -> None:
        self._faults.clear()

    def respond(self, query: Query, authorization: str) -> Reply | None:
        """The reply, or None to break the connection."""
        simulation = query.path.startswith(("/simulate/", "/.well-known/"))  # without a token
        path = query.path if simulation else query.path.removeprefix("/api/v1/").rstrip("/") + "/"
        with self.world.lock:
            fault = None if simulation else self._take_fault(query.method, path)
            if not simulation:
                self.requests.append(f"{query.method} {path}")
        if fault and fault.name == "slow":
            time.sleep(fault.seconds)
        if fault and fault.name not in ("slow", "dropped_after", "malformed", "empty"):
            return self._spoil(fault)
        if not simulation and authorization != f"Token {self.token}":
            return self._error(Problem(401, "Invalid token."))
        with self.world.lock:
            reply = self._answer(query, path)
        if fault and fault.name == "dropped_after":
            return None
        if fault and fault.name == "malformed":
            return Reply(reply.status, reply.body[: len(reply.body) // 2] or b"{")
        if fault and fault.name == "empty":
            return Reply.of({}, reply.status)
        return reply

    def _answer(self, query: Query, path: str) -> Reply:
        try:
            for method, expression, function in _ROUTES:
                if method == query.method and (found := expression.match(path)):
                    return function(
                        self, Query(method, path, query.params, query.body, found.groups())
                    )
            return self._error(Problem(404, "Not found."))
        except Problem as problem:
            return self._error(problem)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            return self._error(Problem(400, f"The request cannot be read: {problem!r}"))

    def _take_fault(self, method: str, path: str) -> Fault | None:
        for fault in self._faults:
            if fault.method in ("*", method) and fault.path in path:
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
                return fault
        return None

    def _spoil(self, fault: Fault) -> Reply | None:
        if fault.name == "dropped_before":
            return None
        if fault.name == "502_html":
            return Reply(502, b"<html><h1>502 Bad Gateway</h1></html>", "text/html")
        if fault.name in ("429", "429_wait"):
            reply = self._error(Problem(429, "Too many requests."))
            wait = (("Retry-After", f"{fault.seconds:g}"),) if fault.name == "429_wait" else ()
            return Reply(reply.status, reply.body, headers=wait)
        return self._error(Problem(int(fault.name), "Simulated."))

    def _error(self, problem: Problem) -> Reply:
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
        return Reply.of(shapes[self.world.behaviour.errors], problem.status)

    def deliver(
        self,
        *,
        twice: bool = False,
        shuffle: bool = False,
        post: Callable[[Delivery], Any] | None = None,
    ) -> int:
        """Post the webhooks that wait; return how many were posted."""

        def arrange(waiting: list[Delivery]) -> list[Delivery]:
            sent = waiting * 2 if twice else list(waiting)
            if shuffle:
                self._random.shuffle(sent)
            return sent

        with self.world.lock:
            deliveries = self.world.take_outbox(arrange)
        for delivery in deliveries:
            (post or _post)(delivery)
        return len(deliveries)


def _post(delivery: Delivery) -> None:
    # As with the real one, what the receiver misses it has to read by itself.
    with contextlib.suppress(requests.RequestException):
        requests.post(delivery.url, data=delivery.body, headers=delivery.headers, timeout=10)


def _page(query: Query, rows: list[Any]) -> Reply:
    page, size = int(query.params.get("page", "1")), int(query.params.get("page_size", "20"))
    pages = max(1, -(-len(rows) // size))
    if not 1 <= page <= pages:
        raise Problem(404, "Invalid page.")
    href = f"/api/v1/{query.path}?page={page + 1}" if page < pages else None
    links = {"next": {"href": href, "title": "Next"}}
    return Reply.of(
        {
            "results": rows[(page - 1) * size : page * size],
            "_links": links,
            "meta": {"count": len(rows)},
        }
    )


@route("GET", "users/me/")
def _me(server: SimulatedProlific, query: Query) -> Reply:
    world = server.world
    return Reply.of(
        {
            "id": "0" * 24,
            "email": "simulated@example.org",
            "name": "Simulated researcher",
            "currency_code": world.currency,
            "balance": world.balance,
            "available_balance": world.balance,
        }
    )


@route("GET", "filters/")
def _filters(server: SimulatedProlific, query: Query) -> Reply:
    return _page(query, FILTERS)


@route("POST", "eligibility-count/")
def _eligible(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of({"count": max(0, 40_000 // 3 ** len(query.body["filters"]))})


@route("POST", "study-cost-calculator/")
def _calculate(server: SimulatedProlific, query: Query) -> Reply:
    body = query.body
    return Reply.of(
        {"total_cost": server.world.total_cost(body["reward"], body["total_available_places"])}
    )


@route("GET", "reward-recommendations/")
def _pay(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of(
        [
            {"currency": "GBP", "min_reward_per_hour": 600, "recommended_reward_per_hour": 900},
            {"currency": "USD", "min_reward_per_hour": 800, "recommended_reward_per_hour": 1200},
        ]
    )


@route("GET", "studies/")
def _studies(server: SimulatedProlific, query: Query) -> Reply:
    world = server.world
    return _page(query, [world.show_study(study_id) for study_id in world.studies])


@route("POST", "studies/")
def _create(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of(server.world.create_study(query.body), 201)


@route("GET", "studies/<id>/")
def _study(server: SimulatedProlific, query: Query) -> Reply:
    server.world.settle_approvals()
    return Reply.of(server.world.show_study(query.ids[0]))


@route("PATCH", "studies/<id>/")
def _patch(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of(server.world.patch_study(query.ids[0], query.body))


@route("POST", "studies/<id>/transition/")
def _transition(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of(server.world.transition_study(query.ids[0], query.body["action"]))


@route("GET", "studies/<id>/cost/")
def _cost(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of(server.world.cost(query.ids[0]))


@route("POST", "studies/<id>/demographic-export/")
def _export(server: SimulatedProlific, query: Query) -> Reply:
    return Reply(200, server.world.demographics(query.ids[0]).encode(), "text/csv")


@route("POST", "participant-groups/")
def _group(server: SimulatedProlific, query: Query) -> Reply:
    group = secrets.token_hex(12)
    server.world.groups[group] = set()
    return Reply.of({"id": group, "name": query.body["name"]}, 201)


@route("GET", "submissions/")
def _submissions(server: SimulatedProlific, query: Query) -> Reply:
    world = server.world
    world.settle_approvals()
    wanted = query.params.get("study")
    own = world.study(wanted)["id"] if wanted else None
    found = [s for s in world.submissions.values() if own is None or s.study == own]
    if world.behaviour.child_studies and own == wanted:
        found = []  # a quota study's people belong to its child
    return _page(query, [world.list_row(s) for s in found])


@route("GET", "submissions/<id>/")
def _submission(server: SimulatedProlific, query: Query) -> Reply:
    server.world.settle_approvals()
    return Reply.of(server.world.detail(server.world.submission_of(query.ids[0])))


@route("POST", "submissions/<id>/transition/")
def _decide(server: SimulatedProlific, query: Query) -> Reply:
    world = server.world
    if query.body["action"] == "REJECT":
        return Reply.of(world.detail(world.reject(query.ids[0], query.body)))
    if query.body["action"] == "APPROVE":
        submission = world.submission_of(query.ids[0])
        if submission.status not in ("AWAITING REVIEW", "APPROVED"):
            raise Problem(400, f"The submission is {submission.status}.")
        world.approve([submission.id])
        world.settle_approvals()
        return Reply.of(world.detail(submission))
    raise Problem(400, "Unknown action.")


@route("POST", "submissions/bulk-approve/")
def _approve(server: SimulatedProlific, query: Query) -> Reply:
    if len(query.body["submission_ids"]) > 1000:
        raise Problem(400, "At most 1,000.")
    server.world.approve(query.body["submission_ids"])
    return Reply.of({"message": "Accepted"})


@route("POST", "submissions/<id>/request-return/")
def _request_return(server: SimulatedProlific, query: Query) -> Reply:
    world = server.world
    return Reply.of(world.detail(world.request_return(query.ids[0], query.body)))


@route("POST", "submissions/bonus-payments/")
def _set_up(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of(server.world.set_up_bonuses(query.body), 201)


@route("POST", "bulk-bonus-payments/<id>/pay/")
def _pay_bonus(server: SimulatedProlific, query: Query) -> Reply:
    server.world.pay_bonuses(query.ids[0])
    return Reply.of({}, 202)


@route("GET", "hooks/secrets/")
def _secrets(server: SimulatedProlific, query: Query) -> Reply:
    secret = server.world.hook_secret
    return _page(query, [{"id": "1" * 24, "value": secret}] if secret else [])


@route("POST", "hooks/secrets/")
def _new_secret(server: SimulatedProlific, query: Query) -> Reply:
    server.world.hook_secret = secrets.token_hex(16)
    return Reply.of({"id": "1" * 24, "value": server.world.hook_secret}, 201)


@route("GET", "hooks/subscriptions/")
def _hooks(server: SimulatedProlific, query: Query) -> Reply:
    rows = [
        {"id": h.id, "event_type": h.event, "target_url": h.url, "is_enabled": h.enabled}
        for h in server.world.hooks.values()
    ]
    return _page(query, rows)


@route("POST", "hooks/subscriptions/")
def _subscribe(server: SimulatedProlific, query: Query) -> Reply:
    hook = server.world.subscribe(query.body)
    row = {"id": hook.id, "event_type": hook.event, "target_url": hook.url, "is_enabled": True}
    many = server.world.behaviour.hooks == "results"
    return Reply.of({"results": [row]} if many else row, 201, X_Hook_Secret=hook.secret)


@route("POST", "hooks/subscriptions/<id>/")
def _confirm(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of({"id": server.world.confirm(query.ids[0], query.body["secret"]).id})


@route("GET", "/.well-known/study/jwks.json")
def _jwks(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of({"keys": [server.world.keys.public()]})


@route("POST", "/simulate/arrive")
def _arrive(server: SimulatedProlific, query: Query) -> Reply:
    found = server.world.arrive(query.body["study"], query.body.get("participant", ""))
    return Reply.of(found)


@route("POST", "/simulate/(finish|return|time-out)")
def _change(server: SimulatedProlific, query: Query) -> Reply:
    world, submission = server.world, query.body["submission"]
    if query.ids[0] == "finish":
        changed = world.finish(submission, query.body.get("code", "NOCODE"))
    elif query.ids[0] == "return":
        changed = world.give_back(submission)
    else:
        changed = world.time_out(submission)
    return Reply.of(world.detail(changed))


@route("POST", "/simulate/faults")
def _order_fault(server: SimulatedProlific, query: Query) -> Reply:
    body = query.body
    server.fault(
        body.get("method", "*"),
        body.get("path", ""),
        body["fault"],
        times=body.get("times", 1),
        seconds=body.get("seconds", 1.0),
    )
    return Reply.of({})


@route("POST", "/simulate/behaviour")
def _behave(server: SimulatedProlific, query: Query) -> Reply:
    for name, value in query.body.items():
        if not hasattr(server.world.behaviour, name):
            raise Problem(400, f"There is no behaviour {name}.")
        setattr(server.world.behaviour, name, value)
    return Reply.of(asdict(server.world.behaviour))


@route("GET", "/simulate/requests")
def _requests(server: SimulatedProlific, query: Query) -> Reply:
    return Reply.of({"requests": server.requests})


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
        # Somebody who waited too long has gone; that is theirs to handle.
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
        """Say nothing: the log of requests is kept in the server."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that was broken on purpose is no news."""


def start(server: SimulatedProlific, *, host: str = "127.0.0.1", port: int = 0) -> Server:
    """Listen in a thread and return the HTTP server; `shutdown` and `server_close` end it."""
    handler = type("Handler", (_Handler,), {"simulated": server})
    http = Server((host, port), handler)
    threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True).start()
    return http


def main() -> int:
    parser = argparse.ArgumentParser(description="A simulated Prolific. No money, no people.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8002, help="0 takes a free port")
    parser.add_argument("--token", default=TOKEN)
    options = parser.parse_args()
    simulated = SimulatedProlific(token=options.token)
    try:
        http = start(simulated, host=options.host, port=options.port)
    except OSError as problem:
        sys.stderr.write(
            f"The simulated Prolific cannot listen on {options.host}:{options.port}: "
            f"{problem.strerror}. Choose another port with --port.\n"
        )
        return 1
    host, port = http.server_address[:2]
    sys.stdout.write(f"http://{host!s}:{port}/api/v1/\n")
    sys.stdout.flush()
    try:
        while True:
            simulated.deliver()
            time.sleep(0.2)
    except KeyboardInterrupt:
        http.shutdown()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
