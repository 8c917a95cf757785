"""A real HTTP server on loopback in the wire formats of Anthropic and Gemini."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Answer(NamedTuple):
    body: bytes
    status: int = 200
    headers: dict[str, str] = {}
    waits: threading.Event | None = None  # answers only when it is set


class Received(NamedTuple):
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


def claude(text: str = "[[A]]", *, stop: str = "end_turn", **usage: Any) -> Answer:
    return _json(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-mock-1",
            "content": [{"type": "text", "text": text}],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 70, "output_tokens": 10} | usage,
        }
    )


def claude_error(status: int, kind: str, message: str = "no", **headers: str) -> Answer:
    return _json({"type": "error", "error": {"type": kind, "message": message}}, status, headers)


def gemini(text: str = "[[A]]", *, finish: str = "STOP", usage: Any = None, **more: Any) -> Answer:
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": finish}
    told = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
    return _json(
        {
            "candidates": [candidate | more],
            "usageMetadata": told | (usage or {}),
            "modelVersion": "gemini-mock-1",
            "responseId": "r-1",
        }
    )


def gemini_blocked() -> Answer:
    return _json({"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "gemini-mock-1"})


def gemini_error(status: int, kind: str, message: str = "no", details: Any = None) -> Answer:
    error = {"code": status, "message": message, "status": kind, "details": details or []}
    return _json({"error": error}, status)


def _json(body: object, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    named = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
    return Answer(json.dumps(body).encode(), status, named)


class ProviderServer:
    """Keeps what it received; `answer` decides by the number of the request, from 1."""

    def __init__(self, answer: Callable[[int], Answer]) -> None:
        self.answer = answer
        self.received: list[Received] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.received.append(Received(self.path, headers, json.loads(body)))
                answer = server.answer(len(server.received))
                if answer.waits is not None:
                    answer.waits.wait(30)
                    return
                self.send_response(answer.status)
                for name, value in ({"Content-Type": "application/json"} | answer.headers).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(timeout=5)
