"""The file format of `/v1/batches`: one request a line, and one reply a line.

`vllm run-batch` and the batch services of providers read and write it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from judging.backends.completions import read_response
from judging.engine.interface import JudgeQuestion, Reply
from studies.importers.files.bundle import File
from studies.importers.files.faults import MAX_BYTES as MAX_REPLIES
from studies.importers.files.faults import Fault, refused
from studies.importers.files.lines import BadLine, lines_of
from studies.texts.json_values import NotJson, json_value

ENDPOINT: Literal["/v1/chat/completions"] = "/v1/chat/completions"
MAX_BYTES = 190_000_000  # of a file of requests; the format allows 200 MB
MAX_REQUESTS = 50_000  # of one file, as providers accept it

_HASH_LETTERS = 16
# A run's id may contain dashes. No name is longer than 64 letters, the limit of some providers.
_NAME = re.compile(rf"([\w-]{{1,22}})-(\d{{1,18}})-(\d{{1,4}})-([0-9a-f]{{{_HASH_LETTERS}}})", re.A)
_NEVER_ASKED = frozenset({"batch_expired", "batch_cancelled"})
_ENDED_IN_ERROR = 503
_UNCHANGED = "Give the file that the batch wrote, unchanged."


@dataclass(frozen=True, slots=True)
class CustomId:
    """The run, the judgment, the number of the attempt, and the beginning of the prompt's hash."""

    run: str
    judgment: int
    attempt: int
    prompt: str

    @classmethod
    def of(cls, *, run: str, judgment: int, attempt: int, prompt_sha256: str) -> Self:
        return cls(run, judgment, attempt, prompt_sha256[:_HASH_LETTERS])

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The parts of a name; None if it is not from a pack."""
        parts = _NAME.fullmatch(text)
        if parts is None:
            return None
        return cls(parts[1], int(parts[2]), int(parts[3]), parts[4])

    def __str__(self) -> str:
        return f"{self.run}-{self.judgment}-{self.attempt}-{self.prompt}"

    def is_about(self, prompt_sha256: str) -> bool:
        """Whether it names the prompt with this hash."""
        return prompt_sha256.startswith(self.prompt)


def request_line(custom_id: str, body: dict[str, Any]) -> bytes:
    line = {"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body}
    return json.dumps(line).encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """One line of a file of replies; `content` is the body that a server would have sent."""

    file: str
    line: int
    custom_id: str
    status: int
    content: str
    request_id: str
    expired: bool  # the provider never asked it

    def read(self, question: JudgeQuestion, *, is_structured: bool) -> Reply:
        """The reply. Raises a `BackendFault` if there is none."""
        return read_response(
            self.content,
            question,
            status=self.status,
            request_id=self.request_id,
            is_structured=is_structured,
        )

    def fault(self, rule: str, message: str, remedy: str, *, about: str = "") -> Fault:
        """A fault of this reply; `message` continues the sentence that names its place."""
        message = f"Line {self.line}: {message.format(about=about)}"
        return Fault(self.line, "custom_id", rule, message, remedy, self.custom_id, self.file)


def read_file(file: File) -> Iterator[RawReply | Fault]:
    """Every reply of a file, and the fault of each other line.

    Raises `Refused` if the file is of another kind.
    """
    size = 0
    with file.open() as stream:
        try:
            for number, data in enumerate(lines_of(stream, file.name), start=1):
                size += len(data)
                if size > MAX_REPLIES:
                    message = f"the file is larger than {MAX_REPLIES // 2**20} MB."
                    raise refused(file.name, message, "Split it and give the parts.")
                if number == 1 and b'"custom_id"' not in data:
                    raise refused(
                        file.name,
                        "the format of this file is unknown.",
                        "Give the output of vllm run-batch or of a provider's batch: JSON Lines "
                        "with custom_id and response.",
                    )
                if data.strip():
                    yield read_line(file.name, number, data)
        except BadLine as bad:
            yield bad.fault
    if not size:
        raise refused(file.name, "the file is empty.", _UNCHANGED)


def read_line(file: str, number: int, data: bytes) -> RawReply | Fault:
    """The reply on a line, or what is wrong with the line."""
    text = data.decode("utf-8-sig" if number == 1 else "utf-8", "replace")

    def fault(rule: str, message: str, remedy: str = _UNCHANGED) -> Fault:
        return Fault(number, "", rule, message, remedy, text.strip()[:80], file)

    try:
        # Read like a server's answer, which may have numbers that strict JSON does not allow.
        row = json_value(text)
    except NotJson as error:
        if data.endswith(b"\n"):
            return fault("not JSON", f"this is not JSON ({error}).")
        remedy = "Wait until the batch has ended, then copy the whole file again."
        return fault("cut off", "the file ends in the middle of this line.", remedy)
    try:
        if "response" not in row and "error" not in row:
            if "body" in row:
                message = "these are the requests of a pack, not replies."
                remedy = "Send them to a model first, and give the file that it writes."
                return fault("requests", message, remedy)
            raise ValueError("neither response nor error")
        response, problem = row.get("response") or {}, _error(row.get("error"))
        body = response.get("body")
        return RawReply(
            file=file,
            line=number,
            custom_id=str(row["custom_id"]),
            status=int(response.get("status_code") or (200 if body else _ENDED_IN_ERROR)),
            content=json.dumps(body or {"error": problem}),
            request_id=str(response.get("request_id") or ""),
            expired=not response and problem.get("code") in _NEVER_ASKED,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return fault("not a reply", "a reply needs custom_id, and response or error.")


def _error(value: Any) -> Mapping[str, Any]:
    """An error as an object; `vllm` writes its fields at the top level."""
    if isinstance(value, dict):
        inner = value.get("error")
        return inner if isinstance(inner, dict) else value
    return {"message": str(value)} if value else {}
