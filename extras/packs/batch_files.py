"""The file format of `/v1/batches`: one line for each request, one line for each answer.

A provider processes such a file within a day, for about half the price. OpenAI's client submits and
fetches files in a few requests, none of which asks a model.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from judging.backends.backend import leads_to_link_local
from judging.backends.completions import read_response, short, status_fault, without_keys
from judging.backends.openai import NO_KEY, headers_of, only
from judging.engine.interface import BackendFault, JudgeQuestion, Reply

if TYPE_CHECKING:
    import httpx2

ENDPOINT: Literal["/v1/chat/completions"] = "/v1/chat/completions"
MAX_BYTES = 190_000_000  # the format allows 200 MB
_LISTED = 100  # batches per page

State = Literal["working", "ended", "failed"]
_STATES: dict[str, State] = {
    "completed": "ended",
    "expired": "ended",
    "cancelled": "ended",
    "failed": "failed",
}


class BatchError(Exception):
    """The provider refused a request or failed; the message is a sentence.

    `is_final` if asking again would give the same result.
    """

    def __init__(self, message: str, *, is_final: bool) -> None:
        super().__init__(message)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class Status:
    """The progress of a batch; `files` have answers and errors, even if it ended early."""

    provider_id: str
    state: State
    word: str
    answered: int
    files: tuple[str, ...]
    error: str


@dataclass(frozen=True, slots=True)
class BatchLine:
    """The result of one request of a batch."""

    custom_id: str
    status: int
    content: str
    request_id: str
    expired: bool

    def read(self, question: JudgeQuestion, *, is_structured: bool) -> Reply:
        """The reply. Raises a `Fault` if there is none."""
        return read_response(
            self.content,
            question,
            status=self.status,
            request_id=self.request_id,
            is_structured=is_structured,
        )


def request_line(custom_id: str, body: dict[str, Any]) -> bytes:
    line = {"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body}
    return json.dumps(line).encode() + b"\n"


def read_lines(lines: Iterable[str]) -> Iterator[BatchLine]:
    """Read a file of answers or errors, skipping other lines."""
    for text in lines:
        try:
            row = json.loads(text)
            response = row.get("response") or {}
            error = row.get("error") or {}
            yield BatchLine(
                custom_id=str(row["custom_id"]),
                # A line without a response was never answered.
                status=int(response.get("status_code") or 503),
                content=json.dumps(response.get("body") or {"error": error}),
                request_id=str(response.get("request_id") or ""),
                expired=not response and error.get("code") in {"batch_expired", "batch_cancelled"},
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue


class BatchClient:
    """Submits files and fetches their results. Its calls block and raise `BatchError`."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        link_local: bool = False,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        secret: Mapping[str, str] | None = None,
    ) -> None:
        """`headers` and `secret` are sent with every request; no error shows the latter."""
        # Imported here, because it takes a second that most pages and commands do not need.
        import openai

        from judging.backends.connections import certificates

        self._secrets = [api_key, *(secret or {}).values()]
        client = openai.OpenAI(
            base_url=base_url,
            api_key=api_key or NO_KEY,
            default_query=query,
            max_retries=2,
            timeout=openai.Timeout(600.0, connect=10.0),
            http_client=openai.DefaultHttpxClient(
                event_hooks={"request": [] if link_local else [_refuse_link_local]},
                verify=certificates(),
            ),
        )
        key = {"Authorization": f"Bearer {api_key or NO_KEY}"}  # the client sends nothing without
        sent = key | headers_of(base_url, api_key, headers, secret)
        self._client = client.with_options(default_headers=only(sent, client))

    def close(self) -> None:
        self._client.close()

    def submit(self, file: Path, *, metadata: dict[str, str]) -> str:
        """Upload a file and start its batch; return the provider's batch id.

        The client repeats neither step, because a batch started twice is paid twice.
        """
        once = self._client.with_options(max_retries=0)
        with _raising_batch_errors(self._secrets):
            uploaded = once.files.create(file=file, purpose="batch")
            batch = once.batches.create(
                input_file_id=uploaded.id,
                endpoint=ENDPOINT,
                completion_window="24h",
                metadata=metadata,
            )
        return batch.id

    def find(self, *, metadata: dict[str, str]) -> str:
        """The provider's id of the batch with these metadata; empty if there is none."""
        with _raising_batch_errors(self._secrets):
            for batch in self._client.batches.list(limit=_LISTED):
                if metadata.items() <= (batch.metadata or {}).items():
                    return batch.id
        return ""

    def status(self, provider_id: str) -> Status:
        with _raising_batch_errors(self._secrets):
            batch = self._client.batches.retrieve(provider_id)
        problems = (batch.errors.data if batch.errors else None) or []
        files = [file for file in (batch.output_file_id, batch.error_file_id) if file]
        return Status(
            provider_id=batch.id,
            state=_STATES.get(batch.status, "working"),
            word=batch.status,
            answered=batch.request_counts.completed if batch.request_counts else 0,
            files=tuple(files),
            error=short("; ".join(str(problem.message) for problem in problems)),
        )

    def cancel(self, provider_id: str) -> None:
        with _raising_batch_errors(self._secrets):
            self._client.batches.cancel(provider_id)

    def lines(self, file_id: str) -> list[BatchLine]:
        with _raising_batch_errors(self._secrets):
            text = self._client.files.content(file_id).text
        return list(read_lines(text.splitlines()))


def _refuse_link_local(request: "httpx2.Request") -> None:
    """Refuse link-local addresses, even after a redirect."""
    if leads_to_link_local(request.url.host):
        raise BatchError(
            f"{request.url.host} is a link-local or metadata address. Use another address, or ask "
            "the administrator to set JUDGE_LINK_LOCAL=1.",
            is_final=True,
        )


@contextmanager
def _raising_batch_errors(secrets: Sequence[str]) -> Iterator[None]:
    """Raise errors of OpenAI's client as `BatchError`, without what servers must not show."""
    import openai

    try:
        yield
    except openai.APIStatusError as error:
        content = without_keys(error.response.content, secrets)
        fault: BackendFault = status_fault(error.status_code, content)
        is_final = error.status_code in {400, 401, 403, 404, 405, 413, 422}
        raise BatchError(
            f"The server does not accept a batch: {fault}", is_final=is_final
        ) from error
    except openai.APIError as error:
        if isinstance(error.__cause__, BatchError):
            raise error.__cause__ from None
        message = f"The server cannot be reached: {short(error.message)}"
        raise BatchError(message, is_final=False) from error
