"""The `/v1/files` and `/v1/batches` of the simulated LLM server: a provider's batch mode.

A client uploads a file of requests and starts a batch of it; later the answers are in a separate
file. Batches are kept in memory; for tests they fail or expire on request.
"""

import asyncio
import email
import email.policy
import itertools
import json
from collections.abc import Callable
from typing import Any

FAULTS = ("batch_expires", "batch_fails", "batch_loses")

# Returns status and body of the answer to the body of one request.
Answer = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


class NoSuchThing(LookupError):
    """The requested file, batch or address does not exist."""


class Batches:
    """Uploaded files and started batches; `answer` is called for each line."""

    def __init__(self, answer: Answer, *, seconds: float) -> None:
        self._answer = answer
        self._seconds = seconds
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, dict[str, Any]] = {}
        self._serial = itertools.count(1)
        self._working: set[asyncio.Task[None]] = set()
        self.fault = ""  # the fault of the next batch

    async def respond(
        self, method: str, path: str, query: str, body: bytes, content_type: str
    ) -> bytes:
        """The body of the answer. Raises `NoSuchThing`, or `ValueError` where a body is wrong."""
        routes: dict[tuple[str, str], Callable[[], Any]] = {
            ("POST", "files"): lambda: self._upload(body, content_type),
            ("POST", "batches"): lambda: self._start(json.loads(body)),
            ("GET", "batches"): lambda: self._list(query),
        }
        kind, _, rest = path.removeprefix("/v1/").partition("/")
        if not rest and (route := routes.get((method, kind))):
            return json.dumps(route()).encode()
        name, _, action = rest.partition("/")
        if (method, kind, action) == ("GET", "files", "content") and name in self._files:
            return self._files[name]
        if kind == "batches" and name in self._batches:
            if (method, action) == ("GET", ""):
                return json.dumps(self._batches[name]).encode()
            if (method, action) == ("POST", "cancel"):
                # Ended batches do not change.
                if self._batches[name]["status"] == "in_progress":
                    self._batches[name]["status"] = "cancelling"
                return json.dumps(self._batches[name]).encode()
        raise NoSuchThing(f"There is no {method} {path} here.")

    def _upload(self, body: bytes, content_type: str) -> dict[str, Any]:
        head = f"Content-Type: {content_type}\r\n\r\n".encode()
        parts = email.message_from_bytes(head + body, policy=email.policy.HTTP)
        fields = {
            part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
            for part in parts.iter_parts()
        }
        file = fields.get("file")
        if not isinstance(file, bytes) or fields.get("purpose") != b"batch":
            raise ValueError("a file with the purpose “batch” is expected")
        name = self._store(file)
        return {
            "id": name,
            "object": "file",
            "bytes": len(file),
            "created_at": 0,
            "filename": "batch.jsonl",
            "purpose": "batch",
            "status": "processed",
        }

    def _store(self, content: bytes) -> str:
        name = f"file-{next(self._serial)}"
        self._files[name] = content
        return name

    def _start(self, wanted: dict[str, Any]) -> dict[str, Any]:
        lines = self._files[wanted["input_file_id"]].splitlines()
        if wanted["endpoint"] != "/v1/chat/completions":
            raise ValueError("only /v1/chat/completions is simulated")
        batch = {
            "id": f"batch-{next(self._serial)}",
            "object": "batch",
            "created_at": 0,
            "endpoint": wanted["endpoint"],
            "completion_window": wanted["completion_window"],
            "input_file_id": wanted["input_file_id"],
            "metadata": wanted.get("metadata"),
            "status": "in_progress",
            "output_file_id": None,
            "error_file_id": None,
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }
        self._batches[batch["id"]] = batch
        task = asyncio.get_running_loop().create_task(self._work_off(batch, lines))
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return batch

    def _list(self, query: str) -> dict[str, Any]:
        after = next((part[6:] for part in query.split("&") if part.startswith("after=")), "")
        newest_first = list(reversed(self._batches.values()))
        names = [batch["id"] for batch in newest_first]
        start = names.index(after) + 1 if after in names else 0
        page = newest_first[start : start + 20]
        return {"object": "list", "data": page, "has_more": start + 20 < len(names)}

    async def _work_off(self, batch: dict[str, Any], lines: list[bytes]) -> None:
        fault, self.fault = self.fault, ""
        await asyncio.sleep(self._seconds)
        if fault == "batch_fails":
            problem = {"code": "invalid_file", "message": "The file cannot be read (simulated)."}
            batch |= {"status": "failed", "errors": {"object": "list", "data": [problem]}}
            return
        is_cancelled = batch["status"] == "cancelling"
        until = len(lines) // 2 if fault or is_cancelled else len(lines)
        results: dict[str, list[bytes]] = {"output_file_id": [], "error_file_id": []}
        for text in lines[:until]:
            request = json.loads(text)
            status, body = self._answer(request["body"])
            line = _line(
                request["custom_id"],
                {"status_code": status, "request_id": "simulated", "body": body},
                None,
            )
            results["output_file_id" if status == 200 else "error_file_id"].append(line)
        if fault == "batch_expires" or is_cancelled:
            code = {"code": "batch_expired", "message": "This request could not be executed."}
            for text in lines[until:]:
                line = _line(json.loads(text)["custom_id"], None, code)
                results["error_file_id"].append(line)
        for name, content in results.items():
            batch[name] = self._store(b"\n".join(content)) if content else None
        counts = {"total": len(lines), "completed": len(results["output_file_id"])}
        counts["failed"] = counts["total"] - counts["completed"]
        ended = "expired" if fault == "batch_expires" else "completed"
        batch |= {"status": "cancelled" if is_cancelled else ended, "request_counts": counts}


def _line(custom_id: str, response: object, problem: object) -> bytes:
    return json.dumps(
        {"id": "line", "custom_id": custom_id, "response": response, "error": problem}
    ).encode()
