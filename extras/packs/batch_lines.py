"""Reads the output of `vllm run-batch` and of the batches of providers: one JSON object a line."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from extras.packs.raw_replies import RawReply
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault
from studies.importers.files.lines import BadLine, lines_of

_UNANSWERED = 503  # stands for the status of a line that was never answered
_NEVER_ASKED = frozenset({"batch_expired", "batch_cancelled"})
_ONE_A_LINE = "Give the file that the batch wrote, unchanged."
_COMPLETE = "Wait until the batch has ended, and copy the whole file again."


def looks_alike(first: Mapping[str, Any]) -> bool:
    """Whether an object is a line of such a file."""
    return "custom_id" in first and ("response" in first or "error" in first)


def is_request(first: Mapping[str, Any]) -> bool:
    """Whether an object is a request of a pack instead of a reply."""
    return "custom_id" in first and "body" in first


def read(file: File) -> Iterator[RawReply | Fault]:
    """Every reply of a file, and the fault of each line that is none."""
    with file.open() as stream:
        try:
            for line, data in enumerate(lines_of(stream, file.name), start=1):
                if data.strip():
                    yield _read_line(file.name, line, data)
        except BadLine as bad:
            yield bad.fault


def _read_line(file: str, line: int, data: bytes) -> RawReply | Fault:
    text = data.decode("utf-8-sig" if line == 1 else "utf-8", "replace")
    try:
        # As a server's answer is read, which may hold numbers that strict JSON does not know.
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        rule, message, remedy = "not JSON", f"this is not JSON ({error}).", _ONE_A_LINE
        if not data.endswith(b"\n"):
            message, remedy = "the file ends in the middle of this line.", _COMPLETE
            rule = "cut off"
        return Fault(line, "", rule, message, remedy, text.strip()[:80], file)
    try:
        return _reply(file, line, row)
    except (KeyError, TypeError, ValueError, AttributeError):
        message = "a reply needs custom_id, and response or error."
        return Fault(line, "", "not a reply", message, _ONE_A_LINE, text.strip()[:80], file)


def _reply(file: str, line: int, row: Mapping[str, Any]) -> RawReply:
    if not looks_alike(row):
        raise ValueError("neither response nor error")
    response, error = row.get("response") or {}, _error(row.get("error"))
    body = response.get("body")
    status = int(response.get("status_code") or (200 if body else _UNANSWERED))
    return RawReply(
        file=file,
        where=f"Line {line}",
        line=line,
        custom_id=str(row["custom_id"]),
        status=status,
        content=json.dumps(body or {"error": error}),
        request_id=str(response.get("request_id") or ""),
        expired=not response and error.get("code") in _NEVER_ASKED,
    )


def _error(value: Any) -> dict[str, Any]:
    """An error as an object; `vllm` writes it with the fields of an error at the top."""
    if isinstance(value, dict):
        inner = value.get("error")
        return inner if isinstance(inner, dict) else value
    return {"message": str(value)} if value else {}
