"""A simulated OpenAI-compatible server: `python -m demo.llm_server --port 8001`.

It speaks HTTP/1.1 with kept-alive connections and answers POST /v1/chat/completions, decisions at
/v1/decisions and /v1/systemone (`llm_decisions`), GET /v1/models and the batch mode
(`llm_batches`). With `--decisions-only` it refuses chat models, as some hosts do. Its models are
simulated and read only the prompt. For tests it fails on request: `POST /simulate/faults` with
{"fault": …, "times": n} affects the next n answers, or {"fault": …, "share": 0.3} that share of all
later ones; a fault of a batch affects the next batch. `GET /simulate/requests` shows the requests
so far.
"""

import argparse
import asyncio
import base64
import contextlib
import hashlib
import json
import re
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from math import inf, log
from typing import Any

from demo import llm_batches, llm_decisions
from demo.judges import DECIDER, MODELS, Judges
from demo.llm_batches import Batches, NoSuchThing
from demo.truth import SEED, World, uniform

# Of PNG, JPEG, WebP and WAV, and MP3.
_BEGINNINGS = (b"\x89PNG", b"\xff\xd8\xff", b"RIFF", b"ID3", b"\xff\xfb", b"\xff\xf3")
MAX_BODY = 200_000_000  # a file of a batch; a completion is a few thousand
FAULTS = (
    "rate_limit",
    "storm",
    "server_error",
    "garbage",
    "unparseable",
    "slow",
    "hang",
    "down",
)


@dataclass
class CompletionFault:
    """A fault for a share of the next `times` completions, or of those while it `lasts`.

    It starts after the first `after` requested completions.
    """

    name: str
    times: int | None
    share: float
    lasts: float
    after: int
    seconds: float  # Retry-After of a rate limit, or how slow
    until: float | None = None  # by the event loop's clock, once it has begun

    def hits(self, number: int, now: float) -> bool:
        """Whether the fault affects completion `number`; always the same for the same number."""
        if number <= self.after:
            return False
        if self.until is None:
            self.until = now + self.lasts
        return now < self.until and uniform(0, "fault", self.name, number) < self.share


@dataclass(frozen=True)
class Response:
    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, value: Any, status: int = 200, **headers: str) -> "Response":
        extra = tuple((name.replace("_", "-"), text) for name, text in headers.items())
        return cls(status, json.dumps(value).encode(), extra)


def error(status: int, message: str, **headers: str) -> Response:
    return Response.of(_problem(status, message)[1], status, **headers)


def _problem(status: int, message: str) -> tuple[int, dict[str, Any]]:
    return status, {"error": {"message": message, "type": "simulated_error", "code": None}}


class Disconnect(Exception):
    """Close the connection without an answer, as an unavailable server would."""


class SimulatedServer:
    """The routes, the faults, and the count of how often each prompt was sent."""

    def __init__(
        self,
        world: World,
        *,
        latency: float = 0.0,
        batch_seconds: float = 2.0,
        decisions_only: bool = False,
    ) -> None:
        self._judges = Judges(world)
        self._chat_models = () if decisions_only else MODELS
        self._decisions_only = decisions_only
        self._latency = latency
        self._batches = Batches(self._answer, seconds=batch_seconds)
        self._received = 0
        self._asked: Counter[tuple[str, str]] = Counter()
        self._alike: Counter[tuple[str, str, int | None]] = Counter()  # the key includes the seed
        self._seeds: set[tuple[str, str, int]] = set()
        self._outcomes: Counter[str] = Counter()
        self._fault: CompletionFault | None = None
        self._routes: dict[tuple[str, str], Callable[[bytes], Awaitable[Response]]] = {
            ("POST", "/v1/chat/completions"): self._complete,
            ("POST", "/v1/decisions"): partial(self._complete, wire="openai"),
            ("POST", "/v1/systemone"): partial(self._complete, wire="systemone"),
            ("GET", "/v1/models"): self._models,
            ("POST", "/simulate/faults"): self._set_fault,
            ("GET", "/simulate/requests"): self._requests,
        }

    async def respond(
        self, method: str, path: str, body: bytes, content_type: str = ""
    ) -> Response:
        path, _, query = path.partition("?")
        try:
            if path.startswith(("/v1/files", "/v1/batches")):
                answer = await self._batches.respond(method, path, query, body, content_type)
                return Response(200, answer)
            if route := self._routes.get((method, path)):
                return await route(body)
        except NoSuchThing as problem:
            return error(404, str(problem))
        except (ValueError, KeyError, TypeError) as problem:
            return error(400, f"The request cannot be read: {problem}")
        return error(404, f"There is no {method} {path} here.")

    async def _models(self, body: bytes) -> Response:
        names = (*self._chat_models, DECIDER)
        data = [{"id": name, "object": "model", "owned_by": "simulated"} for name in names]
        return Response.of({"object": "list", "data": data})

    async def _set_fault(self, body: bytes) -> Response:
        wanted = json.loads(body)
        name = wanted["fault"]
        if name in llm_batches.FAULTS:
            self._batches.fault = name
        elif name in FAULTS:
            lasts = wanted.get("lasts")
            times = wanted.get("times", 1 if lasts is None and "share" not in wanted else None)
            fault = CompletionFault(
                name,
                times,
                share=wanted.get("share", 1.0),
                lasts=inf if lasts is None else lasts,
                after=wanted.get("after", 0),
                seconds=wanted.get("seconds", 1.0),
            )
            self._fault = None if times == 0 else fault
        else:
            known = ", ".join((*FAULTS, *llm_batches.FAULTS))
            return error(400, f"fault must be one of {known}")
        return Response.of({"fault": name})

    async def _requests(self, body: bytes) -> Response:
        repeats = {str(times): n for times, n in Counter(self._asked.values()).items()}
        told = {
            "received": self._received,
            "outcomes": dict(self._outcomes),
            "repeats": self._alike.total() - len(self._alike),
        }
        return Response.of({**told, "prompts_by_times_asked": repeats})

    async def _complete(self, body: bytes, wire: str = "") -> Response:
        """Answer a chat completion, or a decision in the format `wire`."""
        request = json.loads(body)
        prompt = llm_decisions.text_of(request) if wire else _prompt_of(request)
        self._received += 1
        self._alike[request["model"], prompt, request.get("seed")] += 1
        fault = self._take_fault()
        slow = fault is not None and fault.name in {"slow", "hang"}
        await asyncio.sleep(fault.seconds if fault and slow else self._latency)
        if fault and not slow:
            self._outcomes[fault.name] += 1
            if fault.name != "unparseable":
                return _spoil(fault)
            if wire:
                return Response.of(
                    llm_decisions.decide(request, wire, self._judges, is_refusal=True)
                )
            text = "Both replies have their merits (simulated)."
            return Response.of(_completion(request["model"], prompt, text, number=self._received))
        status, answer = self._decide(request, wire) if wire else self._answer(request)
        return Response.of(answer, status)

    def _decide(self, request: dict[str, Any], wire: str) -> tuple[int, dict[str, Any]]:
        """Status and body of a decision."""
        model = request["model"]
        if model not in (*MODELS, DECIDER):
            return _problem(404, f"The model {model} does not exist.")
        if self._decisions_only and model in MODELS:
            return _problem(400, f"{model} is a chat model. This host serves decision models only.")
        try:
            answer = llm_decisions.decide(request, wire, self._judges, is_refusal=False)
        except llm_decisions.BadDecision as problem:
            status, body = _problem(400, str(problem))
            return status, {"error": body["error"] | {"param": problem.param}}
        self._asked[model, llm_decisions.text_of(request)] += 1
        self._outcomes["answered"] += 1
        return 200, answer

    def _answer(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body for one request, sent by itself or in a file."""
        model = request["model"]
        if model not in self._chat_models:
            known = ", ".join(self._chat_models) or "only decision models here"
            return _problem(404, f"The model {model} does not exist; there are {known}.")
        prompt = _prompt_of(request)
        self._asked[model, prompt] += 1
        seed = request.get("seed", "")
        text = self._judges.reply(
            model, prompt, attempt=self._attempt(model, prompt, seed), sample=seed
        )
        if "response_format" in request:
            text = _in_form(text)
        self._outcomes["answered"] += 1
        answer = _completion(model, prompt, text, number=self._outcomes["answered"])
        if request.get("logprobs"):
            share = self._judges.letter_probability(model, prompt)
            answer["choices"][0]["logprobs"] = _log_probabilities(text, share)
        return 200, answer

    def _attempt(self, model: str, prompt: str, seed: object) -> int:
        """Number of times that this request was sent, including this one.

        Two items can have the same prompt, and come in any order. A client that gives seeds repeats
        a request with the next seed, so the previous seed shows which item the request belongs to.
        """
        if not isinstance(seed, int):
            return self._asked[model, prompt]
        self._seeds.add((model, prompt, seed))
        return 2 if (model, prompt, seed - 1) in self._seeds else 1

    def _take_fault(self) -> CompletionFault | None:
        fault = self._fault
        now = asyncio.get_running_loop().time()
        if fault is None or not fault.hits(self._received, now):
            return None
        if fault.times is not None:
            fault.times -= 1
            if fault.times == 0:
                self._fault = None
        return fault


def _prompt_of(request: dict[str, Any]) -> str:
    return "\n".join(_text_of(message["content"]) for message in request["messages"])


def _text_of(content: str | list[dict[str, Any]]) -> str:
    """The text of a message; a picture or sound counts by its bytes. Raises `ValueError`."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] if part["type"] == "text" else _seen(part) for part in content)


def _seen(part: dict[str, Any]) -> str:
    if part["type"] == "image_url":
        head, _, data = part["image_url"]["url"].partition(";base64,")
        if not head.startswith("data:image/"):
            raise ValueError("a picture must be a data URL")
    else:
        data = part["input_audio"]["data"]
    content = base64.b64decode(data, validate=True)
    if not content.startswith(_BEGINNINGS):
        raise ValueError("a picture or sound has other bytes than its type says")
    return f"<{hashlib.sha256(content).hexdigest()}>"


def _in_form(text: str) -> str:
    """A reply as structured output, without a verdict if the reply has none."""
    letter = re.search(r"\b([ABC])\]\]", text)
    number = re.search(r"\[\[(\d+)\]\]", text)
    form: dict[str, Any] = {"answer": letter[1] if letter else None}
    if number:
        form["certainty"] = int(number[1])
    return json.dumps(form)


def _log_probabilities(text: str, share: float) -> dict[str, Any]:
    """Tokens of a reply: the letter of its verdict, with another one, and what surrounds it."""
    letter = re.search(r'[ABC](?=\]\]|")', text)
    at = letter.start() if letter else len(text)
    tokens = []
    for piece in filter(None, (text[:at], text[at : at + 1], text[at + 1 :])):
        tops = {piece: 0.0}
        if letter and piece == letter[0]:
            tops = {piece: log(share), "B" if piece == "A" else "A": log(1 - share)}
        top_logprobs = [{"token": top, "logprob": p, "bytes": None} for top, p in tops.items()]
        tokens.append(top_logprobs[0] | {"top_logprobs": top_logprobs})
    return {"content": tokens, "refusal": None}


def _spoil(fault: CompletionFault) -> Response:
    if fault.name == "rate_limit":
        return error(429, "Too many requests (simulated).", Retry_After=f"{fault.seconds:g}")
    if fault.name == "storm":
        return error(429, "Too many requests, without a retry time (simulated).")
    if fault.name == "server_error":
        return error(500, "The server had an error (simulated).")
    if fault.name == "garbage":
        return Response(200, b"<html>This is no completion</html>")
    raise Disconnect


def _completion(model: str, prompt: str, text: str, *, number: int) -> dict[str, Any]:
    prompt_tokens, completion_tokens = len(prompt) // 4 + 1, len(text) // 4 + 1
    return {
        "id": f"simulated-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": f"{model}-simulated-1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
        "system_fingerprint": "simulated",
    }


async def _serve_connection(
    server: SimulatedServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer the requests of one connection in order until it closes."""
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, Disconnect):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            request_line, *lines = head.rstrip("\r\n").split("\r\n")
            method, path, _ = request_line.split(" ", 2)
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines)
            }
            length = int(headers.get("content-length", "0"))
            if length > MAX_BODY:
                break
            body = await reader.readexactly(length)
            content_type = headers.get("content-type", "")
            writer.write(_encode(await server.respond(method, path, body, content_type)))
            await writer.drain()
            if headers.get("connection", "").lower() == "close":
                break
    writer.close()


def _encode(response: Response) -> bytes:
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(response.body))),
        *response.headers,
    ]
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 {response.status} Simulated\r\n{lines}\r\n".encode("latin-1") + response.body


async def serve(server: SimulatedServer, *, host: str, port: int) -> None:
    """Listen until SIGTERM or SIGINT; print the address on the first line of the output."""
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a callback of start_server runs in a task
        connections.add(task)
        task.add_done_callback(connections.discard)
        with contextlib.suppress(asyncio.CancelledError):  # the server ends
            await _serve_connection(server, reader, writer)

    listener = await asyncio.start_server(connected, host, port, limit=1_000_000)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    address = listener.sockets[0].getsockname()
    sys.stdout.write(f"http://{address[0]}:{address[1]}/v1\n")
    sys.stdout.flush()
    await stop.wait()
    listener.close()
    for task in connections:
        task.cancel()
    await asyncio.gather(*connections, return_exceptions=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="A simulated OpenAI-compatible server.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8001, help="0 takes a free port")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds an answer takes")
    parser.add_argument(
        "--decisions-only", action="store_true", help="serve no chat model, and no chat completions"
    )
    parser.add_argument("--batch-seconds", type=float, default=2.0, help="how long a batch takes")
    options = parser.parse_args()
    server = SimulatedServer(
        World(options.seed),
        latency=options.latency,
        batch_seconds=options.batch_seconds,
        decisions_only=options.decisions_only,
    )
    try:
        asyncio.run(serve(server, host=options.host, port=options.port))
    except OSError as problem:
        sys.stderr.write(
            f"The simulated LLM server cannot listen on {options.host}:{options.port}: "
            f"{problem.strerror}. Choose another port with --port.\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
