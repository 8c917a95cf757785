"""A real HTTP server on loopback that answers as a test tells it to.

Standing alone (`python -m tests.judging.llm_server`) it outlives the workers that a test kills.
"""

import argparse
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class Answer:
    """What the server does with one request."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drops: bool = False  # reset the connection instead of answering
    hangs_up: bool = False  # ends the connection behind the answer, without having said so


def prompt_of(body: dict[str, Any]) -> Any:
    """The words of a chat completion, or of a decision in either format."""
    if "messages" in body:
        return body["messages"][0]["content"]
    return body.get("input", body.get("state"))


def decision(body: dict[str, Any], shares: dict[str, float], **more: Any) -> Answer:
    """An answer to every question of a request, in its format; `shares` are of the choice."""
    choice: dict[str, Any] = {"type": "choice", "choice": max(shares, key=lambda n: shares[n])}
    choice |= {"probabilities": shares, "confidence": 0.5} | more.pop("choice", {})
    levels = [0.1, 0.1, 0.2, 0.4, 0.2]
    score: dict[str, Any] = {"type": "score", "score": 2.5, "confidence": 0.3}
    score["probabilities"] = {str(number): share for number, share in enumerate(levels)}
    found = {"choice": choice, "certainty": score}
    usage: dict[str, Any] = {"input_tokens": 100, "output_tokens": 1}
    if "state" in body:
        answers: Any = {name: found[name] for name in body["questions"]}
        more = {"diagnostics": {"choice": {"label_mass": 0.9}}} | more
    else:
        choice["probabilities"] = [{"value": n, "probability": p} for n, p in shares.items()]
        labels = [each["label"] for q in body["questions"] for each in q.get("levels", ())]
        score["probabilities"] = [
            {"label": label, "value": number, "probability": share}
            for number, (label, share) in enumerate(zip(labels, levels, strict=False))
        ]
        answers = [{"name": q["name"], **found[q["name"]]} for q in body["questions"]]
        usage |= {"input_tokens_details": {"cached_tokens": 40}, "total_tokens": 101}
    told = {"model": "decider-1", "answers": answers, "usage": usage} | more
    return Answer(body=json.dumps(told).encode())


def completion(text: str | None, **message: Any) -> Answer:
    finish = message.pop("finish_reason", "stop")
    body = {
        "id": "c-1",
        "object": "chat.completion",
        "model": "mock-2024-05-13",
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    return Answer(body=json.dumps(body).encode())


def error(status: int, message: str = "no", code: str = "", **headers: str) -> Answer:
    body = json.dumps({"error": {"message": message, "code": code or None}}).encode()
    return Answer(status, body, {k.replace("_", "-"): v for k, v in headers.items()})


class _Http(ThreadingHTTPServer):
    request_queue_size = 128  # so many may come at once


class LlmServer:
    """Counts what it is asked; `answer` gets the request's body and its number, from 1.

    It answers at the `routes`, and elsewhere says that there is nothing.
    """

    def __init__(self, *, log: Path | None = None) -> None:
        self.answer: Callable[[dict[str, Any], int], Answer] = lambda body, n: completion("[[A]]")
        self.routes: tuple[str, ...] = ("/chat/completions",)
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []  # with those that are not answered
        self.contents: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.queries: list[str] = []
        self.ports: list[int] = []  # of the client: one for each connection
        self.at_once = 0
        self.most_at_once = 0
        self._lock = threading.Lock()
        self._log = log
        self._http = _Http(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(timeout=60)

    def _take(self, body: dict[str, Any], headers: dict[str, str]) -> int:
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            if self._log is not None:
                with self._log.open("a") as log:
                    log.write(json.dumps(prompt_of(body)) + "\n")
            return len(self.requests)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                is_list = self.path.endswith("/v1/models")
                rows = [{"id": "mock", "owned_by": "test"}]
                body = json.dumps({"object": "list", "data": rows}).encode()
                self._send(Answer(body=body) if is_list else error(404, "no such address"))

            def do_POST(self) -> None:
                received = self.rfile.read(int(self.headers["Content-Length"]))
                path, _, query = self.path.partition("?")
                server.queries.append(query)
                server.paths.append(self.path)
                if not path.endswith(server.routes):
                    self._send(error(404, f"no such address: {self.path}"))
                    return
                server.contents.append(received)
                body = json.loads(received)
                number = server._take(body, {k.lower(): v for k, v in self.headers.items()})
                server.ports.append(self.client_address[1])
                try:
                    self._send(server.answer(body, number))
                finally:
                    with server._lock:
                        server.at_once -= 1

            def _send(self, answer: Answer) -> None:
                time.sleep(answer.delay)
                if answer.drops:
                    # Closing with a linger of zero sends a reset instead of a polite end.
                    linger = struct.pack("ii", 1, 0)
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    self.connection.close()
                    self.close_connection = True
                    return
                try:
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(answer.body)))
                    self.end_headers()
                    self.wfile.write(answer.body)
                    self.close_connection |= answer.hangs_up
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client has gone, as it may

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.1)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--gate", type=Path, help="a file with how many requests are answered")
    options = parser.parse_args()
    server = LlmServer(log=options.log)
    server.routes = ("/chat/completions", "/systemone")

    def answer(body: dict[str, Any], number: int) -> Answer:
        while options.gate and number > int(options.gate.read_text() or 0):
            time.sleep(0.02)
        asks_for_ranking = "[[X > Y > Z]]" in prompt_of(body)
        reply = completion("B > C > A]] [[61]]" if asks_for_ranking else "B]] [[61]]")
        if "questions" in body:
            reply = decision(body, {"A": 0.39, "B": 0.61})
        reply.delay = options.delay
        return reply

    server.answer = answer
    sys.stdout.write(server.url + "\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
