"""A raw reply of a model, whatever program wrote it down."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from judging.backends.batch import BatchLine
from studies.importers.files.faults import Fault

# Parameters of a request that programs state in their logs. A reply that was made with another
# value is not a reply to the request of the pack.
COMPARED = ("temperature", "top_p", "max_tokens", "max_completion_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """One reply of a file. `custom_id` or `prompt_sha256` tells to which request it belongs.

    `where` names its place in the file, `line` its line if the file has one for each reply.
    `identity` distinguishes it from other replies to the same prompt. `stated` are parameters of
    its request, as far as the file states them; the names are those of a chat completion.
    """

    file: str
    where: str
    line: int | None
    custom_id: str = ""
    prompt_sha256: str = ""
    identity: str = ""
    status: int
    content: str
    request_id: str = ""
    expired: bool = False
    stated: Mapping[str, Any] = field(default_factory=dict)

    def as_batch_line(self) -> BatchLine:
        return BatchLine(
            custom_id=self.custom_id,
            status=self.status,
            content=self.content,
            request_id=self.request_id,
            expired=self.expired,
        )

    def fault(self, rule: str, message: str, remedy: str, *, value: str = "") -> Fault:
        """A fault of this reply; `message` continues the sentence that names its place."""
        return Fault(
            self.line, "custom_id", rule, f"{self.where}: {message}", remedy, value, self.file
        )
