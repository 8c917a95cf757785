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
    """Counts what it is asked; `answer` gets the request's body and its number, from 1."""

    def __init__(self, *, log: Path | None = None) -> None:
        self.answer: Callable[[dict[str, Any], int], Answer] = lambda body, n: completion("[[A]]")
        self.requests: list[dict[str, Any]] = []
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
                    log.write(json.dumps(body["messages"][0]["content"]) + "\n")
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
                if not path.endswith("/chat/completions"):
                    self._send(error(404, f"no such address: {self.path}"))
                    return
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

    def answer(body: dict[str, Any], number: int) -> Answer:
        while options.gate and number > int(options.gate.read_text() or 0):
            time.sleep(0.02)
        asks_for_ranking = "[[X > Y > Z]]" in body["messages"][0]["content"]
        reply = completion("B > C > A]] [[61]]" if asks_for_ranking else "B]] [[61]]")
        reply.delay = options.delay
        return reply

    server.answer = answer
    sys.stdout.write(server.url + "\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
